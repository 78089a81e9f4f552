/* engine.h -- the state of one backward pass (a backward, for short), and declarations that
 * engine.c shares with tasks.c, inputs.c and the files that compute with gradients: gradient.c and
 * leaf.c.  Parameter `create`: backward records what it computes (DP_BACKWARD_CREATE). */
#ifndef DPI_ENGINE_H
#define DPI_ENGINE_H

#include "checkpoint.h"
#include "history.h"

#pragma GCC visibility push(hidden)

/* A node or a leaf that a gradient has reached or, with inputs, may reach. */
typedef struct dpi_task {
    dpi_edge at;    /* nr is 0; holds a reference */
    uint32_t first; /* index of the task's first gradient in dpi_engine.grads */
    uint32_t n;     /* number of the node's returns; 1 for a leaf */
    union {
        uint32_t spare; /* of a task that has ended: the next value of dpi_engine.spare */
        /* with inputs: 1 + the first input that is a return of the node, or the leaf; 0: none */
        uint32_t input;
    };
    bool queued;
    bool needed; /* with inputs: an input, or a node that leads to one */
} dpi_task;

/* An input: a tensor whose gradient is wanted. */
typedef struct dpi_backward_input {
    uint32_t task;   /* UINT32_MAX: no gradient can reach it */
    uint32_t nr;     /* return of the task's node */
    uint32_t next;   /* 1 + the next input of the same task; 0: none */
    dp_tensor *grad; /* owned; NULL: no gradient has reached the input */
} dpi_backward_input;

/* for small graphs: items in dpi_engine itself, without allocation */
enum { DPI_FEW_TASKS = 16, DPI_FEW_SLOTS = 64 };

typedef struct dpi_dry dpi_dry;

/* One backward. */
typedef struct dpi_engine {
    dp_ctx *ctx;
    const dp_backward_options *o;
    struct dpi_engine *outer; /* the backward in whose formulas this one runs; NULL: none */
    dpi_task *tasks;
    uint32_t n_tasks, cap_tasks;
    dp_tensor **grads; /* [n_grads] summed gradients of all tasks; NULL: none yet */
    uint32_t n_grads, cap_grads;
    /* [mask + 1] hash table of tasks by address of node or leaf; 0: free, else task + 1 */
    uint32_t *index;
    uint32_t mask;
    uint32_t spare; /* 1 + a task of one return that can be used again; 0: none */
    uint32_t *heap; /* [n_heap] queued tasks; the order is in tasks.c */
    uint32_t n_heap, cap_heap;
    dpi_backward_input *inputs; /* [o->n_inputs] */
    dpi_hook *told;             /* [n_told] watchers of gradients (hook.c); owned */
    uint32_t n_told, cap_told;
    dpi_retained retained; /* gradients of computed tensors that retain them (retain.c) */
    dpi_recomputes recomputes;
    dpi_dry *dry; /* with o->dry: what dry.c counts; owned */
    bool create;
    bool add;     /* add to gradients of tensors: of all leaves, or of the inputs */
    bool commits; /* the walk has ended, and tensors get their gradients */
    /* Memory of `index`, `tasks`, `grads` and `heap` of a small graph; dpi_engine_init() zeroes
     * only `few_slots`. */
    uint32_t few_slots[DPI_FEW_SLOTS];
    dpi_task few_tasks[DPI_FEW_TASKS];
    dp_tensor *few_grads[DPI_FEW_TASKS];
    uint32_t few_heap[DPI_FEW_TASKS];
} dpi_engine;

/* -- tasks.c -- */

void dpi_engine_init(dpi_engine *g, dp_ctx *ctx, const dp_backward_options *o);
void dpi_engine_fini(dpi_engine *g); /* release the tasks and their gradients */
/* Find the task of the node or leaf that `e` leads to, or add one: *out. */
int dpi_engine_task(dpi_engine *g, dpi_edge e, uint32_t *out);
/* Get the entry of dpi_engine.index for the node or leaf `p`; it is 0 if there is no task. */
uint32_t *dpi_engine_slot(const dpi_engine *g, const void *p);
/* End task `t` of a node that has run.  No gradient reaches the node again, since all nodes with
 * edges to it have run before it.  With inputs, the task stays, because its `needed` is still
 * read. */
void dpi_engine_end(dpi_engine *g, uint32_t t);
/* Queue the task `t` of a node. */
int dpi_engine_queue(dpi_engine *g, uint32_t t);
/* Take the next task out of the queue, which is not empty. */
uint32_t dpi_engine_next(dpi_engine *g);

/* -- hook.c -- */

/* Run the hooks on the gradients `grads` of n's returns, and replace these by the results. */
int dpi_hooks_of_node(dpi_engine *g, const dpi_node *n, dp_tensor **grads);
/* Run the hooks of the leaves that gradients have reached. */
int dpi_hooks_of_leaves(dpi_engine *g);
/* Tell the watchers whose gradients were computed, if backward has succeeded, and release them. */
void dpi_watchers_tell(dpi_engine *g, bool succeeded);

/* -- dry.c: for dp_backward_options.dry -- */

/* Let what this thread makes without memory count, until dpi_dry_free(). */
int dpi_dry_new(dpi_engine *g);
/* Count what the nodes of all tasks have saved. */
int dpi_dry_begin(dpi_engine *g);
/* Do as dpi_node_apply(), and count the node.  If its operator has no formula, the gradients are
 * zeros. */
int dpi_dry_apply(dpi_engine *g, dpi_node *n, dp_tensor *const *grads, dpi_applied *out);
/* Count what `n` has saved as released. */
void dpi_dry_release(dpi_engine *g, dpi_node *n);
int dpi_dry_report(dpi_engine *g); /* write *g->o->dry */
void dpi_dry_free(dpi_engine *g);

/* -- inputs.c -- */

/* Add a task for each node and leaf that can be reached from the tasks. */
int dpi_engine_reach(dpi_engine *g);

/* Mark the tasks that lead to an input, and find the task and return of each input. */
int dpi_inputs_find(dpi_engine *g);
/* Store in dpi_backward_input.grad the gradients of task `t` that belong to inputs. */
void dpi_inputs_capture(dpi_engine *g, uint32_t t);
/* Give the gradients of the inputs to the caller of backward. */
void dpi_inputs_give(dpi_engine *g);
void dpi_inputs_fini(dpi_engine *g);

/* -- gradient.c -- */

/* Get the gradient of o->tensors[i] with which backward starts: *out, owned.  This is
 * o->gradients[i] or, if the caller gave none, 1.  DP_ERUNTIME: the given gradient has another
 * shape than the tensor, or one is complex and the other is not; or none was given, and the tensor
 * is complex or has not exactly one element. */
int dpi_gradient_of_root(dp_ctx *ctx, const dp_backward_options *o, size_t i, dp_tensor **out);
/* Replace *grad by a gradient with the shape and dtype of the return or leaf that `e` leads to: sum
 * the broadcast dimensions, take the real part for a real tensor, cast. */
int dpi_gradient_fit(dp_ctx *ctx, dpi_edge e, dp_tensor **grad);
/* Add `grad` to *sum.  The reference to `grad` is taken, on failure too. */
int dpi_gradient_add(dp_ctx *ctx, bool create, dp_tensor **sum, dp_tensor *grad);

/* -- anomaly.c: for DP_BACKWARD_CHECK_NAN -- */

/* Fail if one of the gradients returned [n->n_edges] by `n` is not finite, although all that it got
 * are: got [n->n_rets].  Those returned are first fitted to their edges. */
int dpi_anomaly_check(dp_ctx *ctx, const dpi_node *n, dp_tensor *const *got, dp_tensor **returned);
/* Fail if `returned`, by the hook `op`, is not finite, although `got` is. */
int dpi_anomaly_check_hook(dp_ctx *ctx, const dp_op *op, dp_tensor *got, dp_tensor *returned);
/* Do as dpi_gradient_add(), for the gradient of the return or leaf that `e` leads to, and fail if
 * the sum is not finite, although both gradients are. */
int dpi_anomaly_add(dp_ctx *ctx, bool create, dpi_edge e, dp_tensor **sum, dp_tensor *grad);

/* -- leaf.c -- */

/* A leaf and the gradient that one backward computed for it. */
typedef struct dpi_leaf_grad {
    dp_tensor *leaf; /* borrowed */
    /* owned; gradient to add; after dpi_leaves_sum() the sum; NULL: another item has it, because
     * both leaves have one tensor as gradient */
    dp_tensor *grad;
    /* owned; the gradient that the leaf has, to which the sum is written; NULL: `grad` itself
     * becomes the leaf's gradient */
    dp_tensor *have;
} dpi_leaf_grad;
/* Compute what the gradients of the leaves in l [n] will be.  Changes no leaf.  `dry`: the sums are
 * fakes, and no leaf gets them. */
int dpi_leaves_sum(dp_ctx *ctx, bool create, bool dry, dpi_leaf_grad *l, uint32_t n);
/* Make the sums the gradients of the leaves.  Fails only if a device does. */
int dpi_leaves_store(dp_ctx *ctx, dpi_leaf_grad *l, uint32_t n);
void dpi_leaves_release(dpi_leaf_grad *l, uint32_t n);

#pragma GCC visibility pop

#endif
