/* history.h -- internal declarations of libdispatch/autograd: the history of a tensor (how it was
 * computed), and the nodes of the autograd graph (torch/csrc/autograd/{variable,function}.h).
 *
 * A node records one call of an operator, like torch.autograd.graph.Node.  A leaf is a tensor that
 * no recorded call computed.  A tensor's `history` word is 0, or points to the node of the call
 * that computed the tensor, or to a dpi_meta.  Leaves that require a gradient and tensors that have
 * a gradient have a dpi_meta.  A node has an edge for each tensor among the arguments of the call:
 * the edge leads to that tensor's node or, if the tensor is a leaf, to the tensor.  No edge leads
 * from a node to the tensors that its call returned, so tensors and nodes form no cycle.
 *
 * The base of a view is the tensor that owns the elements (Tensor._base).  A geometry is the sizes,
 * strides and offset of a tensor. */
#ifndef DPI_HISTORY_H
#define DPI_HISTORY_H

#include "dispatch/call/ctx.h"
#include "formula.h"
#include "tensor/room.h"
#include "tensor/saved.h"
#include <dispatchd/grad.h>
#include <pthread.h>

#pragma GCC visibility push(hidden)

typedef struct dpi_node dpi_node;
typedef struct dpi_kept dpi_kept;
typedef struct dpi_kept_item dpi_kept_item;

/* The destination of a gradient: return `nr` of a node, or a leaf.  An edge in a node holds a
 * reference to `to`. */
typedef struct dpi_edge {
    void *to;    /* dpi_node, or dp_tensor if `leaf`; NULL: the tensor requires no gradient */
    uint32_t nr; /* index in dpi_node.rets */
    bool leaf;
} dpi_edge;

/* A tensor that a node's call returned; each item of a returned list counts.  This suffices to
 * check the tensor's gradient, or to make a gradient of zeros. */
typedef struct dpi_node_ret {
    dp_dtype dtype;
    dp_device device;
    int32_t ndim;
    uint32_t sizes; /* index of the first size in dpi_node.dims */
    bool defined;   /* false: the return is None or no tensor */
} dpi_node_ret;

/* The saved value of one input of a node's formula (formula.h). */
typedef struct dpi_slot {
    enum { DPI_SLOT_NONE, DPI_SLOT_VALUE, DPI_SLOT_TENSOR, DPI_SLOT_TENSORS } kind;
    uint32_t n; /* TENSORS: length of `list` */
    union {
        dp_value value; /* owned: dp_value_free() */
        dpi_saved tensor;
        dpi_saved *list; /* owned; an item whose geometry is NULL was None */
    };
} dpi_slot;

typedef enum {
    DPI_NODE_FORMULA, /* runs its formula */
    DPI_NODE_MISSING, /* fails: the operator has no formula */
    DPI_NODE_STRIDED, /* history of a view whose base was written: as_strided of the base */
    DPI_NODE_SLICES   /* history of a base that was written through a view (CopySlices) */
} dpi_node_kind;

struct dpi_node {
    atomic_uint refs;
    dpi_node_kind kind;
    uint32_t topo;        /* 1 + the largest topo of the nodes that the edges lead to */
    uint64_t created;     /* serial number in the thread that made the node */
    const dp_op *op;      /* the operator that was called, for errors */
    dpi_origin *origin;   /* name of the request that called `op`; owned; NULL: unknown */
    int64_t step;         /* number of the program's step that called `op`; -1: no program did */
    dpi_formula *formula; /* FORMULA; owned */
    dpi_node *inner;      /* SLICES: node of the call that wrote the view; owned */
    uint32_t inner_ret, inner_edge;        /* SLICES: return and edge of `inner` for the view */
    struct dpi_geometry_copy *base, *view; /* STRIDED, SLICES: their geometries; owned */
    dp_account *account;                   /* account that the node is charged to; NULL: none */
    size_t bytes;                          /* bytes charged: this struct and its arrays */
    void *block;                           /* memory to free; the aligned node lies inside it */
    uint64_t saved_bytes; /* bytes of the elements of the tensors that were saved in `slots` */
    bool released;        /* the saved tensors were released after a backward */
    uint32_t n_edges, n_rets, n_slots, n_args;
    dpi_edge *edges;     /* [n_edges] one for each tensor among the arguments */
    dpi_node_ret *rets;  /* [n_rets] */
    dpi_slot *slots;     /* [n_slots] values saved for the formula (dpi_source.slot) */
    uint32_t *arg_edges; /* [n_args + 1] index in `edges` of each argument's first tensor */
    int64_t *dims;       /* sizes of all returns, one return after another */
    _Atomic(dpi_kept_item *) kept; /* list of returns with retain_grad() (retain.c) */
    dpi_node *next_dead;           /* next node in a list of nodes to free */
};

/* A tensor's geometry, without a reference to its storage. */
typedef struct dpi_geometry_copy {
    dp_dtype dtype;
    dp_device device;
    uint64_t math_bits; /* dpi_math_bits() of the tensor */
    int32_t ndim;
    int64_t offset;
    int64_t dims[]; /* [2 * ndim] sizes, then strides */
} dpi_geometry_copy;
/* Return the size of a dpi_geometry_copy of `ndim` dimensions. */
static inline size_t dpi_geometry_copy_bytes(int32_t ndim)
{
    return sizeof(dpi_geometry_copy) + dp_size_times(2 * (uint64_t)ndim, sizeof(int64_t));
}
/* Copy the geometry of t.  The caller frees the copy with dp_free().  NULL: no memory. */
dpi_geometry_copy *dpi_geometry_copy_new(const dp_tensor *t);

/* History that does not fit into a tensor's history word: that of leaves that require a gradient,
 * of tensors that have a gradient, and of returns with an index over 15. */
typedef struct dpi_meta {
    dpi_node *node;     /* owned; NULL: the tensor is a leaf */
    uint32_t nr;        /* index of the tensor among the returns of `node` */
    bool requires_grad; /* the tensor is a leaf that requires a gradient */
    dp_tensor *grad;    /* owned; Tensor.grad; NULL: none, or `kept` has it */
    dpi_kept *kept;     /* owned; gradient of a tensor with retain_grad(); NULL: not called */
} dpi_meta;

/* Make a node without edges: *out, owned.  The node and its arrays are one block of memory.
 * `n_dims`: number of dimensions of all returns together.  DP_ERESOURCE: no memory, or over the
 * account's limit for history. */
int dpi_node_new(dp_ctx *ctx, dpi_node_kind kind, const dp_op *op, uint32_t n_edges,
                 uint32_t n_rets, uint32_t n_slots, uint32_t n_args, uint32_t n_dims,
                 dpi_node **out);
dpi_node *dpi_node_ref(dpi_node *n);
void dpi_node_unref(dpi_node *n);   /* NULL is fine.  A long chain of nodes needs no deep stack. */
void dpi_node_release(dpi_node *n); /* release the saved tensors after backward has read them */
void dpi_slot_clear(dpi_slot *s);

/* Free nodes that have no references, linked by next_dead, and the nodes to which each of them had
 * the last reference. */
void dpi_nodes_free(dpi_node *n);

/* Number of nodes that a thread frees itself when it releases a graph.  The thread of drop.c frees
 * the others. */
enum { DPI_NODES_FREED_AT_ONCE = 1024 };
/* Let the thread of drop.c free `n`, a node without references.  False: that thread cannot be
 * started. */
bool dpi_node_drop(dpi_node *n);
void dpi_node_drop_wait(void); /* wait until that thread has freed all its nodes */

dpi_edge dpi_edge_ref(dpi_edge e);
void dpi_edge_unref(dpi_edge e);
uint32_t dpi_edge_topo(dpi_edge e); /* topo of the node that `e` leads to; 0 for a leaf or NULL */

/* Get the edge to t's node or, if t is a leaf, to t, as the history word says, with a reference;
 * {NULL}: t requires no gradient.  If t is a view whose base was written since, that edge is out of
 * date: see dpi_edge_of(). */
dpi_edge dpi_edge_recorded(const dp_tensor *t);
/* May t require a gradient?  False: surely not.  Faster than dpi_edge_of(), since it takes no
 * lock. */
static inline bool dpi_may_have_edge(const dp_tensor *t)
{
    return (atomic_load_explicit(&t->history, memory_order_relaxed) != 0 || t->root != NULL) &&
           dpi_differentiable(t->dtype);
}
/* Does t require a gradient, or was t, or t's base, computed from a tensor that does? */
bool dpi_needs_grad(const dp_tensor *t);
/* Is t a leaf that requires a gradient? */
bool dpi_is_grad_leaf(const dp_tensor *t);
/* Record in t's history that t is return `nr` of `n`.  The caller's reference to `n` is taken, on
 * failure too.  DP_ERESOURCE: no memory. */
int dpi_history_set(dp_ctx *ctx, dp_tensor *t, dpi_node *n, uint32_t nr);
/* Make t a leaf that requires no gradient.  If t has a gradient, the gradient stays. */
void dpi_history_clear(dp_tensor *t);
/* Get t's dpi_meta; make it if t has none.  Valid as long as t.  NULL: no memory. */
dpi_meta *dpi_meta_make(dp_tensor *t);
const dpi_meta *dpi_meta_find(const dp_tensor *t); /* NULL: t has none */
/* Check that `grad` has the shape, dtype and device of t.  DP_ERUNTIME: it has not. */
int dpi_grad_check(dp_ctx *ctx, const dp_tensor *t, const dp_tensor *grad);
/* Replace the gradient of t, which has a dpi_meta, by `grad`, with a reference of its own; NULL:
 * none.  Cannot fail. */
void dpi_grad_put(dp_tensor *t, dp_tensor *grad);

/* Store the gradient of t, which has a dpi_meta, in k from now on.  The caller's reference to k is
 * taken.  False: t has a dpi_kept already, and k is not taken. */
bool dpi_meta_keep(dp_tensor *t, dpi_kept *k);
static inline dpi_kept *dpi_kept_of(const dp_tensor *t) /* NULL: t has none */
{
    const dpi_meta *m = dpi_meta_find(t);

    return m != NULL ? m->kept : NULL;
}

/* -- kept.c -- */

/* The gradient of a tensor that is no leaf but keeps its gradient (Tensor.retain_grad).  Both the
 * tensor and its node refer to this struct.  So backward can store the gradient, although a node
 * does not point to the tensors that its call returned. */
struct dpi_kept {
    atomic_uint refs;
    pthread_mutex_t lock; /* protects the members below */
    const dpi_node *at;   /* the tensor's node, only to compare pointers; NULL: tensor was freed */
    uint32_t nr;          /* index of the tensor among the returns of `at` */
    dp_tensor *grad;      /* owned; NULL: none yet */
};

/* An entry in the list dpi_node.kept.  Entries are added, but not removed before the node is
 * freed. */
struct dpi_kept_item {
    dpi_kept_item *next;
    dpi_kept *kept; /* with a reference */
};

dpi_kept *dpi_kept_new(void); /* NULL: no memory */
dpi_kept *dpi_kept_ref(dpi_kept *k);
void dpi_kept_unref(dpi_kept *k);
/* The tensor of k is being freed: release the gradient and the tensor's reference to k. */
void dpi_kept_end(dpi_kept *k);
dp_tensor *dpi_kept_grad(dpi_kept *k); /* owned; NULL: none */
/* Replace the gradient by `grad`, to which k takes a reference of its own; NULL removes it. */
void dpi_kept_set(dpi_kept *k, dp_tensor *grad);
/* Replace the gradient as dpi_kept_set() does, but do nothing if the tensor was freed. */
void dpi_kept_store(dpi_kept *k, dp_tensor *grad);
/* The tensor of k is about to become return `nr` of `n`: add k to n's list.  Nothing happens if k
 * is NULL.  DP_ERESOURCE: no memory. */
int dpi_kept_follow(dp_ctx *ctx, dpi_kept *k, dpi_node *n, uint32_t nr);
/* Return the gradient of k's tensor, borrowed, from `grads`, the gradients of n's returns.  NULL:
 * the tensor is no return of n any more, or its gradient is undefined. */
dp_tensor *dpi_kept_pick(dpi_kept *k, const dpi_node *n, dp_tensor *const *grads);
void dpi_kept_items_free(dpi_kept_item *item);

/* -- retain.c -- */

/* Gradients that one backward has computed for tensors with retain_grad(). */
typedef struct dpi_retained {
    struct dpi_retained_grad *items; /* [n]; owned */
    uint32_t n, cap;
} dpi_retained;
/* Add to r the gradients of n's returns with retain_grad().  `grads`: the gradients of all its
 * returns.  DP_ERESOURCE: no memory. */
int dpi_retained_add(dp_ctx *ctx, dpi_retained *r, const dpi_node *n, dp_tensor *const *grads);
/* Add the tensors' previous gradients to those in r.  No tensor is changed yet. */
int dpi_retained_sum(dp_ctx *ctx, dpi_retained *r);
void dpi_retained_store(dpi_retained *r); /* store the sums as the tensors' gradients */
void dpi_retained_fini(dpi_retained *r);

/* -- view.c -- */

/* Get the edge to t's node or, if t is a leaf, to t, with a reference; {NULL}: t requires no
 * gradient.  If t is a view whose base was written since, t gets a new node first.  DP_ERUNTIME:
 * PyTorch refuses this because of how t was created (in no_grad mode, for example). */
int dpi_edge_of(dp_ctx *ctx, const dp_tensor *t, dpi_edge *out);
/* Record that the call of `n` wrote t in place: t becomes return `nr` of `n`.  `edge`: index of n's
 * edge for t.  If t is a view, its base gets a node of kind SLICES instead.  `n` gets further
 * references; the caller keeps its own. */
int dpi_history_rebase(dp_ctx *ctx, dp_tensor *t, dpi_node *n, uint32_t nr, uint32_t edge);
/* Make the node of the view that was written when its base got node `slices`: *out, owned. */
int dpi_view_of_slices(dp_ctx *ctx, dpi_node *slices, dpi_node **out);
/* Check that a recorded call of `op` may write t in place.  DP_ERUNTIME: PyTorch forbids it. */
int dpi_check_inplace(dp_ctx *ctx, const dp_op *op, const dp_tensor *t);

/* -- apply.c: run one node -- */

/* Results and options of dpi_node_apply(). */
typedef struct dpi_applied {
    dp_tensor **grads;  /* [n_edges] out: gradients of the edges, owned; NULL: undefined */
    const bool *wanted; /* [n_edges] in: the edge's gradient is to be computed */
    bool create_graph;  /* record the calls of the formula */
    dpi_node *slices;   /* node of kind SLICES if its `inner` is run, else NULL */
} dpi_applied;
/* Compute the gradients of n's wanted edges.  `grads`: the gradients of its returns, borrowed. */
int dpi_node_apply(dp_ctx *ctx, dpi_node *n, dp_tensor *const *grads, dpi_applied *out);
/* Backward failed at `n`: append the call that n records to the message of the context's error.
 * Returns the error's code. */
int dpi_name_call(dp_ctx *ctx, const dpi_node *n);
/* Call an operator that returns one tensor: *out, owned. */
int dpi_call_one(dp_ctx *ctx, const char *name, const dp_value *args, size_t n, dp_tensor **out);
/* Call operator `op` and replace *t by the tensor that it returns.  The first argument is *t, which
 * this function stores in args[0]; the caller sets the other arguments. */
int dpi_replace(dp_ctx *ctx, const char *op, dp_value *args, size_t n, dp_tensor **t);
/* Copy the elements of `from` to `to` (aten::copy_). */
int dpi_copy_into(dp_ctx *ctx, dp_tensor *to, dp_tensor *from);
/* Make a tensor of zeros: *out, owned. */
int dpi_zeros(dp_ctx *ctx, int ndim, const int64_t *sizes, dp_dtype dtype, dp_device device,
              dp_tensor **out);

#pragma GCC visibility pop

#endif
