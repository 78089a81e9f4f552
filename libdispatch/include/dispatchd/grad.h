/* dispatchd/grad.h -- backward, and the gradients of tensors (torch.autograd), for embedders. */
#ifndef DISPATCHD_GRAD_H
#define DISPATCHD_GRAD_H

#include "dispatch.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {                         /* dp_backward_options.flags */
       DP_BACKWARD_RETAIN = 1, /* keep the graph for another backward (retain_graph) */
       DP_BACKWARD_CREATE = 2, /* record a graph of the gradients (create_graph) */
       /* with `inputs`: add to the gradients of the inputs, and return none; an input that is no
        * leaf keeps its gradients from then on (dp_tensor_retain_grad) */
       DP_BACKWARD_ADD = 4
};

/* Arguments of dp_backward(), those of torch.autograd.backward and torch.autograd.grad.  Set `size`
 * first. */
typedef struct dp_backward_options {
    uint32_t size;
    uint32_t flags;            /* DP_BACKWARD_* */
    dp_tensor *const *tensors; /* [n] tensors to differentiate */
    /* [n] gradients of `tensors`; if this or an item is NULL, the gradient is 1, and the tensor
     * must have one element */
    dp_tensor *const *gradients;
    size_t n;
    dp_tensor *const *inputs; /* [n_inputs] tensors whose gradients are wanted */
    size_t n_inputs;
    /* [n_inputs] set by dp_backward(), owned by the caller; NULL: the gradient is undefined
     * (zero).  Not used without inputs, or with DP_BACKWARD_ADD. */
    dp_tensor **grads;
} dp_backward_options;

/* Compute gradients.  If n_inputs is not 0, they are returned in `grads`; otherwise they are added
 * to the gradients of all leaves.  Tensors that keep their gradients (dp_tensor_retain_grad) get
 * them in both cases.  DP_ERUNTIME: a tensor was not computed from one that requires a gradient, or
 * the graph was freed, or a saved tensor was written after it was saved.  DP_ENOTIMPL: an operator
 * has no derivative.  DP_ECANCELLED, DP_EDEADLINE: the request must stop (dp_checkpoint()).  An
 * error in the gradient of a recorded call names the call: its operator, request and step. */
DP_API int dp_backward(dp_ctx *ctx, const dp_backward_options *o);

/* Return the gradient that backward has accumulated for leaf `t` (Tensor.grad), owned by the
 * caller; NULL: there is none. */
DP_API dp_tensor *dp_tensor_grad(const dp_tensor *t);
/* Replace the gradient of `t` by `grad`; NULL removes it.  DP_ERUNTIME: `grad` does not have the
 * shape, dtype and device of `t`. */
DP_API int dp_tensor_set_grad(dp_ctx *ctx, dp_tensor *t, dp_tensor *grad);
/* Return the name of the operator that computed `t` (Tensor.grad_fn), "aten::mul.Tensor"; NULL: `t`
 * is a leaf. */
DP_API const char *dp_tensor_grad_fn(const dp_tensor *t);

/* -- graphs, for readers -- */

typedef struct dp_grad_node {
    dp_tensor *leaf;      /* borrowed; NULL: a call, which the next members describe */
    const char *op;       /* operator, or "as_strided" of a view that was made anew */
    const char *request;  /* dp_ctx_set_request(); NULL: unknown */
    int64_t step;         /* dp_ctx_set_step(); -1: none */
    uint64_t saved_bytes; /* elements that it saved for backward; those saved twice count twice */
    bool released;        /* backward has used and released what it saved */
} dp_grad_node;

/* The gradient of tensor `input` of node `from`, counted over all arguments, goes to return `nr` of
 * node `to`, or to leaf `to`. */
typedef struct dp_grad_edge {
    uint32_t from, input, to, nr;
} dp_grad_edge;

typedef struct dp_grad_graph {
    dp_grad_node *nodes; /* [n_nodes] calls and leaves, nearest to the roots first */
    dp_grad_edge *edges; /* [n_edges] */
    dp_grad_edge *roots; /* [n_roots] `to` and `nr` of each of the tensors */
    uint32_t n_nodes, n_edges;
    size_t n_roots;
} dp_grad_graph;

/* List the history of `tensors` [n]: *out, owned.  What it points to lives as long as it.
 * DP_ERUNTIME: a tensor requires no gradient.  DP_ERESOURCE: it has more than `max_nodes` nodes and
 * leaves, or more than 16 times as many edges. */
DP_API int dp_grad_graph_new(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, uint32_t max_nodes,
                             dp_grad_graph **out);
DP_API dp_grad_graph *dp_grad_graph_free(dp_grad_graph *g); /* NULL is fine; returns NULL */

/* Return the graph as text for Graphviz, in arena `a`.  handles [n_nodes]: numbers to print for
 * leaves; 0 or `handles` NULL: none.  NULL: no memory. */
DP_API const char *dp_grad_graph_dot(const dp_grad_graph *g, const uint64_t *handles, dp_arena *a);

/* Name the request that runs, so that history and the errors of backward can say which request
 * recorded a call: by `text`, which is borrowed until this is called again or dp_ctx_reset(), or by
 * a number.  If both are NULL, the request has no name.  Texts are cut after 64 bytes. */
DP_API void dp_ctx_set_request(dp_ctx *ctx, const char *text, const int64_t *number);
/* Let history also say the step of the request's program that runs, which is read from *step,
 * such as dp_run.step.  NULL: no program runs. */
DP_API void dp_ctx_set_step(dp_ctx *ctx, const int64_t *step);

/* Return the number of graph nodes that exist in the process. */
DP_API uint64_t dp_grad_nodes(void);

#ifdef __cplusplus
}
#endif
#endif
