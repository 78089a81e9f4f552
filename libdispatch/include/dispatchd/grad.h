/* dispatchd/grad.h -- functions for embedders: run backward, and read the gradients of tensors and
 * the graphs that autograd has recorded (torch.autograd). */
#ifndef DISPATCHD_GRAD_H
#define DISPATCHD_GRAD_H

#include "dispatch.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {                         /* dp_backward_options.flags */
       DP_BACKWARD_RETAIN = 1, /* keep the graph for another backward (retain_graph) */
       DP_BACKWARD_CREATE = 2, /* record a graph of the gradients (create_graph) */
       /* with `inputs`: add to the gradients of the inputs (Tensor.grad) and leave `grads` unset;
        * dp_tensor_retain_grad() is called for inputs that are no leaves */
       DP_BACKWARD_ADD = 4,
       /* fail at the first step whose result is not finite although the gradients that it got are
        * (torch.autograd.detect_anomaly) */
       DP_BACKWARD_CHECK_NAN = 8
};

/* One operator in the graph, as a dry backward found it. */
typedef struct dp_backward_dry_op {
    const char *op;       /* "aten::mul.Tensor"; "as_strided": see dp_grad_node */
    uint64_t calls;       /* recorded calls that backward differentiates */
    uint64_t saved_bytes; /* bytes of the tensors that they saved; saved twice counts twice */
    bool missing;         /* the operator has no formula for a gradient that is wanted */
} dp_backward_dry_op;

/* The results of a dry backward.  Set `size` to the size of this struct. */
typedef struct dp_backward_dry {
    uint32_t size;
    /* largest number of bytes at one time: of the storages that the graph has saved and not yet
     * released, each once, and of those that backward makes */
    uint64_t peak_bytes;
    uint64_t saved_bytes;    /* of the storages that the graph has saved, each once */
    dp_backward_dry_op *ops; /* [n_ops] in the context's arena, in the order of backward */
    size_t n_ops;
} dp_backward_dry;

/* Arguments of dp_backward(), like those of torch.autograd.backward and torch.autograd.grad.  Set
 * `size` to the size of this struct. */
typedef struct dp_backward_options {
    uint32_t size;
    uint32_t flags;            /* DP_BACKWARD_* */
    dp_tensor *const *tensors; /* [n] tensors to differentiate */
    /* [n] gradients of `tensors`; if the array or an item is NULL, the gradient is 1, and the
     * tensor must have one real element */
    dp_tensor *const *gradients;
    size_t n;
    dp_tensor *const *inputs; /* [n_inputs] tensors whose gradients are wanted */
    size_t n_inputs;
    /* [n_inputs] out: gradients of the inputs, owned by the caller; NULL: undefined, which means
     * zero.  Not used without inputs or with DP_BACKWARD_ADD. */
    dp_tensor **grads;
    /* out; not NULL: a dry backward over tensors without memory, which computes no elements and
     * changes nothing.  `grads` is not set.  An operator without a formula does not fail. */
    dp_backward_dry *dry;
} dp_backward_options;

/* Compute gradients.  If n_inputs is not 0, they are returned in `grads`; otherwise they are added
 * to the gradients of all leaves that the graph leads to.  In both cases, tensors with retained
 * gradients (dp_tensor_retain_grad()) get theirs.  DP_ERUNTIME: a tensor requires no gradient, or
 * an earlier backward has released the graph, or a tensor was written after the graph had saved it.
 * Or, with DP_BACKWARD_CHECK_NAN, a gradient is not finite.
 * DP_ENOTIMPL: an operator has no derivative.  DP_ECANCELLED, DP_EDEADLINE: the request must stop
 * (dp_checkpoint()).  If the gradient of a recorded call fails, the error's message names the call:
 * its operator, request and step. */
DP_API int dp_backward(dp_ctx *ctx, const dp_backward_options *o);

/* Return the gradient of `t` (Tensor.grad), owned by the caller; NULL: there is none.  Leaves have
 * a gradient, and tensors with dp_tensor_retain_grad(). */
DP_API dp_tensor *dp_tensor_grad(const dp_tensor *t);
/* Replace the gradient of `t` by `grad`; NULL removes it.  DP_ERUNTIME: `grad` does not have the
 * shape, dtype and device of `t`. */
DP_API int dp_tensor_set_grad(dp_ctx *ctx, dp_tensor *t, dp_tensor *grad);
/* Add a hook to `t`, a leaf that requires a gradient or a tensor with dp_tensor_retain_grad():
 * backward replaces the gradient of `t` by what `op` returns for it, before anything else gets it
 * (Tensor.register_hook).  `op` takes the gradient as its first argument, and has defaults for all
 * others.  Several hooks run in the order in which they were added.  They end with `t`.  `op` NULL:
 * remove all hooks of `t`.  DP_ERUNTIME: `t` can have no hooks.  DP_ETYPE: `op` does not fit.
 * DP_ERESOURCE: over DP_LIMIT_HOOKS, or no memory. */
DP_API int dp_tensor_hook(dp_ctx *ctx, dp_tensor *t, const dp_op *op);
DP_API uint32_t dp_tensor_hooks(const dp_tensor *t); /* number of its hooks */

/* A function that is called when backward has computed the gradients of some tensors.  Any thread
 * may use it. */
typedef struct dp_grad_watcher dp_grad_watcher;
/* Make a watcher: `fn` is called with `name`, the number that was given for the tensor, at the end
 * of each backward that computes a gradient of the tensor and does not fail.  It runs on the thread
 * of the backward, for one gradient at a time, and must neither block nor call functions that use
 * the watcher.  Owned: dp_grad_watcher_end().  NULL: no memory. */
DP_API dp_grad_watcher *dp_grad_watcher_new(void (*fn)(void *arg, uint64_t name), void *arg);
/* End the watcher and release it: when this function returns, `fn` runs no more, and is not called
 * again.  NULL is fine; returns NULL. */
DP_API dp_grad_watcher *dp_grad_watcher_end(dp_grad_watcher *w);
/* Let `w` know of the gradients of `t`, a leaf that requires a gradient or a tensor with
 * dp_tensor_retain_grad(), until `t` or `w` ends.  Returns 1, or 0 if `w` watched `t` before, under
 * a name that is replaced.  DP_ERUNTIME: `t` is neither.  DP_ERESOURCE: over DP_LIMIT_HOOKS, or no
 * memory. */
DP_API int dp_tensor_watch_grad(dp_ctx *ctx, dp_tensor *t, dp_grad_watcher *w, uint64_t name);
/* Undo dp_tensor_watch_grad(); no effect if `w` does not watch `t`.  DP_ERESOURCE: no memory. */
DP_API int dp_tensor_unwatch_grad(dp_ctx *ctx, dp_tensor *t, const dp_grad_watcher *w);

/* Return the name of the operator that computed `t` (Tensor.grad_fn), such as "aten::mul.Tensor";
 * NULL: `t` is a leaf. */
DP_API const char *dp_tensor_grad_fn(const dp_tensor *t);

/* -- gradients compared with finite differences (torch.autograd.gradcheck) -- */

struct dp_program; /* in program.h */

/* Arguments of dp_grad_check().  Set `size` to the size of this struct. */
typedef struct dp_grad_check_options {
    uint32_t size;
    const dp_op *op;                  /* operator to check; NULL: `program` */
    const struct dp_program *program; /* program to check, if `op` is NULL */
    /* [n_args] arguments of the operator, as dp_bind() makes them, or inputs of the program.  Those
     * tensors are checked that require a gradient or, if none does, all that are floating-point or
     * complex.  They are copied, as float64 and complex128, and stay as they are. */
    const dp_value *args;
    uint32_t n_args;
    bool second; /* check gradients of the gradients (torch.autograd.gradgradcheck) */
    double eps;  /* step of the finite differences; 0: 1e-6 */
    /* two values agree if they differ by at most atol + rtol * |numerical|; 0: 1e-5 and 1e-3 */
    double atol, rtol;
    uint64_t max_elements; /* largest number of elements of the inputs and outputs together */
    bool finite_only;      /* compare nothing if an output is not finite: see `finite` */
} dp_grad_check_options;

/* Results of dp_grad_check().  Set `size` to the size of this struct.  Everything that it points to
 * is in the context's arena. */
typedef struct dp_grad_check_report {
    uint32_t size;
    bool passes;
    bool called;       /* the operator or program has returned once; false: it failed */
    bool finite;       /* all elements of the outputs were finite then */
    bool backward;     /* backward has returned once */
    uint64_t compared; /* derivatives that were compared */
    /* if it does not pass: the first derivative that differs, in order of inputs, of their elements
     * and of outputs */
    const char *input, *output;          /* "self", "tensors[1]", "result", "gradient of self" */
    const int64_t *input_at, *output_at; /* indices of the elements */
    int32_t input_ndim, output_ndim;
    bool input_complex, output_complex;
    bool imaginary; /* derivative of the imaginary part of the output; false: of the real part */
    /* real and imaginary part; that is 0 if the input is real.  For a complex input, the derivative
     * by its real part is the real part, and that by its imaginary part the imaginary part, which
     * is PyTorch's convention. */
    double numerical[2], analytical[2];
} dp_grad_check_report;

/* Compare the gradients that dp_backward() computes with finite differences.  DP_ERUNTIME: the
 * operator writes an argument, no argument is floating-point or complex, no output requires a
 * gradient, or two calls differ.  DP_ERESOURCE: over max_elements.  Fails as the operator, the
 * program and dp_backward() do. */
DP_API int dp_grad_check(dp_ctx *ctx, const dp_grad_check_options *o, dp_grad_check_report *out);

/* -- the graph that autograd has recorded, for programs that show it -- */

/* A node of the graph: a recorded call of an operator, or a leaf. */
typedef struct dp_grad_node {
    dp_tensor *leaf; /* borrowed; NULL: the node is a call, and the next members describe it */
    /* name of the operator; "as_strided": a view whose base was written after the view was made */
    const char *op;
    const char *request;  /* request that made the call (dp_ctx_set_request()); NULL: unknown */
    int64_t step;         /* program step that made the call (dp_ctx_set_step()); -1: none */
    uint64_t saved_bytes; /* bytes of the tensors saved for backward; saved twice counts twice */
    bool released;        /* backward has read and released the saved tensors */
    uint32_t n_returns;   /* of a call: number of tensors that it can have returned */
} dp_grad_node;

/* Tensor `input` among the arguments of node `from` (a tensor in a list counts, too) is return `nr`
 * of node `to`, or leaf `to`.  The gradient of that tensor goes to node `to`.  Nodes are indices in
 * dp_grad_graph.nodes. */
typedef struct dp_grad_edge {
    uint32_t from, input, to, nr;
} dp_grad_edge;

typedef struct dp_grad_graph {
    dp_grad_node *nodes; /* [n_nodes] calls and leaves, nearest to the roots first */
    dp_grad_edge *edges; /* [n_edges] */
    dp_grad_edge *roots; /* [n_roots] only `to` and `nr`: where each of `tensors` is computed */
    uint32_t n_nodes, n_edges;
    size_t n_roots;
} dp_grad_graph;

/* List the graph that computed `tensors` [n]: *out, owned.  Everything that *out points to is valid
 * until dp_grad_graph_free().  DP_ERUNTIME: a tensor requires no gradient.  DP_ERESOURCE: the graph
 * has more than `max_nodes` nodes, or more than 16 times `max_nodes` edges; or no memory. */
DP_API int dp_grad_graph_new(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, uint32_t max_nodes,
                             dp_grad_graph **out);
DP_API dp_grad_graph *dp_grad_graph_free(dp_grad_graph *g); /* NULL is fine; returns NULL */

/* Dtype and shape of a tensor that a recorded call returned. */
typedef struct dp_grad_return {
    dp_dtype dtype;
    int32_t ndim;
    const int64_t *sizes; /* [ndim] borrowed from the graph */
} dp_grad_return;
/* Describe return `nr` of node `node` of `g`.  False: it was no tensor, or there is no such
 * return. */
DP_API bool dp_grad_graph_return(const dp_grad_graph *g, uint32_t node, uint32_t nr,
                                 dp_grad_return *out);

/* Return the graph as text for Graphviz (dot), allocated in arena `a`; NULL: no memory.  handles
 * [n_nodes]: number to print at each leaf; 0: none.  `handles` may be NULL. */
DP_API const char *dp_grad_graph_dot(const dp_grad_graph *g, const uint64_t *handles, dp_arena *a);

/* Name the request that runs, so that the graph and the errors of backward can say which request
 * made a recorded call.  The name is `text` or, if that is NULL, *number; both NULL: no name.
 * `text` is borrowed until the next call of this function or of dp_ctx_reset(), and cut after 64
 * bytes. */
DP_API void dp_ctx_set_request(dp_ctx *ctx, const char *text, const int64_t *number);
/* Let the graph also say which step of a program made a recorded call.  The number is read from
 * *step (such as dp_run.step) at each call.  NULL: no program runs. */
DP_API void dp_ctx_set_step(dp_ctx *ctx, const int64_t *step);

/* Release the gradients that have history themselves (DP_BACKWARD_CREATE) and that leaves got in
 * contexts of account `a`: such a gradient and its leaf keep each other alive.  Call this at the
 * end of a session, when none of its requests runs. */
DP_API void dp_grad_end(dp_account *a);

/* Return the number of nodes of all recorded graphs in the process. */
DP_API uint64_t dp_grad_nodes(void);

#ifdef __cplusplus
}
#endif
#endif
