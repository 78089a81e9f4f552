/* history.h -- internal declarations of libdispatch/autograd: the history of a tensor, and the
 * nodes of the graph that backward walks (torch/csrc/autograd/{variable,function}.h).
 *
 * A tensor's `history` word is 0, or points to the node of the operator that computed the tensor,
 * or to a dpi_meta.  A tensor has a dpi_meta if it is a leaf that requires a gradient, has or
 * retains a gradient, or is a return whose index (dpi_edge.nr) is above 15.  An edge of a node
 * leads to the node or leaf of one tensor among the operator's arguments.  Nodes do not point to
 * the tensors that their operator returned, so tensors and nodes form no cycle. */
#ifndef DPI_HISTORY_H
#define DPI_HISTORY_H

#include "dispatch/call/ctx.h"
#include "formula.h"
#include "tensor/room.h"
#include "tensor/saved.h"
#include <dispatchd/grad.h>
#include <pthread.h>

#pragma GCC visibility push(hidden)

/* alignment of dpi_node and dpi_meta: 6 bits of the history word are free */
enum { DPI_NODE_ALIGN = 64 };

typedef struct dpi_node dpi_node;
typedef struct dpi_kept dpi_kept;
typedef struct dpi_kept_item dpi_kept_item;
typedef struct dpi_hooks dpi_hooks;
typedef struct dpi_checkpoint dpi_checkpoint;

/* The destination of a gradient: return `nr` of a node, or a leaf.  Holds a reference to `to`. */
typedef struct dpi_edge {
    void *to;    /* a dpi_node, or with `leaf` a dp_tensor; NULL: no gradient is wanted */
    uint32_t nr; /* index of the node's return, lists counted item by item */
    bool leaf;
} dpi_edge;

/* One return of a node: enough to check its gradient, or to make a gradient of zeros. */
typedef struct dpi_node_ret {
    dp_dtype dtype;
    dp_device device;
    int32_t ndim;
    uint32_t sizes; /* index of the first size in dpi_node.dims */
    bool defined;   /* the return was a tensor */
} dpi_node_ret;

/* One input of a formula, saved when the operator was called. */
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
    DPI_NODE_MISSING, /* fails: the operator has no formula; or dpi_apply_once() made the node */
    DPI_NODE_STRIDED, /* of a view whose base was written: computes the base's gradient */
    DPI_NODE_SLICES   /* of a base that was written through a view (CopySlices) */
} dpi_node_kind;

struct dpi_node {
    atomic_uint refs;
    dpi_node_kind kind;
    uint32_t topo;      /* 1 + the largest topo of the nodes that the edges lead to */
    uint64_t created;   /* serial number */
    const dp_op *op;    /* the operator that was called, for errors */
    dpi_origin *origin; /* the request that called `op`; owned; NULL: unknown */
    int64_t step;       /* step of the program that called `op`; -1: none */
    dpi_formula *formula;
    dpi_node *inner;                /* SLICES: the node of the operator that wrote; owned */
    uint32_t inner_ret, inner_edge; /* return and edge of `inner` that are the written view */
    struct dpi_geometry_copy *base, *view; /* STRIDED, SLICES; owned */
    dp_account *account;                   /* charged for the node; may be NULL */
    size_t bytes;                          /* size of the node's block */
    void *block;                           /* from dp_malloc(); the node lies aligned in it */
    /* The call was recorded while a program ran that backward runs again: the slots have no tensors
     * (checkpoint.h).  With a reference; dpi_node_lock() protects it; NULL: the slots have them, or
     * they were released. */
    dpi_checkpoint *checkpoint;
    uint32_t checkpoint_nr; /* number of the call in the checkpoint; 0: it has none */
    bool released;          /* its saved tensors were released; dpi_node_lock() protects it */
    atomic_uchar locked;    /* dpi_node_lock() */
    uint32_t n_edges, n_rets, n_slots, n_args;
    dpi_edge *edges;     /* [n_edges] by tensor among the arguments */
    dpi_node_ret *rets;  /* [n_rets] */
    dpi_slot *slots;     /* [n_slots] values that the formula saves (dpi_source.slot) */
    uint32_t *arg_edges; /* [n_args + 1] index in edges of the first tensor of each argument */
    int64_t *dims;       /* sizes of all returns */
    _Atomic(dpi_kept_item *) kept; /* the returns whose gradients tensors keep (retain.c) */
    dpi_node *next_dead;           /* links nodes that are to be freed */
};

/* Sizes, strides and offset of a tensor, without its storage. */
typedef struct dpi_geometry_copy {
    dp_dtype dtype;
    dp_device device;
    uint64_t math_bits; /* dpi_math_bits() of the tensor */
    int32_t ndim;
    int64_t offset;
    int64_t dims[]; /* [2 * ndim] sizes, then strides */
} dpi_geometry_copy;
static inline size_t dpi_geometry_copy_bytes(int32_t ndim)
{
    return sizeof(dpi_geometry_copy) + dp_size_times(2 * (uint64_t)ndim, sizeof(int64_t));
}
dpi_geometry_copy *dpi_geometry_copy_new(const dp_tensor *t); /* owned; NULL: no memory */

/* History of a leaf that requires a gradient, of a tensor that has or retains a gradient, and of a
 * return whose index `nr` is above 15. */
typedef struct dpi_meta {
    dpi_node *node; /* NULL: a leaf */
    uint32_t nr;
    bool requires_grad;
    dp_tensor *grad; /* owned; the gradient, or NULL; always NULL with `kept` */
    dpi_kept *kept;  /* holds the gradient of a computed tensor that retains it; NULL: none */
    /* used by cycle.c: the account whose list has or had this dpi_meta; a reference; NULL: it was
     * never listed */
    dp_account *listed;
    struct dpi_meta *next, **link; /* in the list of `listed`; `link` NULL: not in the list */
    dpi_hooks *hooks;              /* of a leaf; with a reference; NULL: none */
} dpi_meta;
_Static_assert(sizeof(dpi_meta) <= DPI_NODE_ALIGN,
               "dpi_meta_make() allocates DPI_NODE_ALIGN bytes");

/* Make a node, one block of memory.  `n_dims`: number of sizes of all returns
 * together.  DP_ERESOURCE: no memory, or over the account's limit for history. */
int dpi_node_new(dp_ctx *ctx, dpi_node_kind kind, const dp_op *op, uint32_t n_edges,
                 uint32_t n_rets, uint32_t n_slots, uint32_t n_args, uint32_t n_dims,
                 dpi_node **out);
/* Hash the address of a node or tensor, for tables whose size is a power of two. */
static inline uint32_t dpi_address_hash(const void *p)
{
    return (uint32_t)(((uint64_t)(uintptr_t)p >> 4) * 0x9e3779b97f4a7c15u >> 32);
}
static inline uint32_t dpi_edge_topo(dpi_edge e)
{
    return e.to == NULL || e.leaf ? 0 : ((const dpi_node *)e.to)->topo;
}
/* Make `e` edge `i` of new node `n`.  The reference is taken. */
static inline void dpi_node_set_edge(dpi_node *n, uint32_t i, dpi_edge e)
{
    uint32_t topo = dpi_edge_topo(e) + 1;

    n->edges[i] = e;
    n->topo = n->topo > topo ? n->topo : topo;
}
/* Store dtype, device and sizes of t, return `nr` of n's operator, in `n`.  *dims: number of sizes
 * stored in `n` so far. */
static inline void dpi_node_set_return(dpi_node *n, uint32_t nr, const dp_tensor *t, uint32_t *dims)
{
    const dpi_geometry *g = dpi_geometry_of(t);

    n->rets[nr] = (dpi_node_ret){t->dtype, g->storage->device, g->ndim, *dims, true};
    for (int d = 0; d < g->ndim; d++)
        n->dims[*dims + (uint32_t)d] = g->sizes[d];
    *dims += (uint32_t)g->ndim;
}
dpi_node *dpi_node_ref(dpi_node *n);
void dpi_node_unref(dpi_node *n);   /* NULL is fine.  Never recursive. */
void dpi_node_release(dpi_node *n); /* release the saved tensors after backward has used them */
/* Lock the saved tensors of `n`, which may be read under the lock unless n->released.  Hold the
 * lock only for a short time, because other threads poll it. */
void dpi_node_lock(dpi_node *n);
void dpi_node_unlock(dpi_node *n);
/* Release the saved tensors of `s`, whose kind stays. */
static inline void dpi_slot_release(dpi_slot *s)
{
    if (s->kind == DPI_SLOT_TENSOR)
        dpi_saved_clear(&s->tensor);
    if (s->kind == DPI_SLOT_TENSORS) {
        for (uint32_t i = 0; s->list != NULL && i < s->n; i++)
            dpi_saved_clear(&s->list[i]);
        dp_free(s->list);
        s->list = NULL;
    }
}
static inline void dpi_slot_clear(dpi_slot *s)
{
    if (s->kind == DPI_SLOT_VALUE)
        dp_value_free(&s->value);
    dpi_slot_release(s);
    s->kind = DPI_SLOT_NONE;
}
/* Release the saved tensors of new node `n`, for its checkpoint.  False: it saves none. */
bool dpi_node_drop_saved(dpi_node *n);

void dpi_nodes_free(dpi_node *n); /* free a list of nodes that have no references */

/* Greatest number of nodes that a thread frees when it releases a graph; drop.c frees the
 * others. */
enum { DPI_NODES_FREED_AT_ONCE = 1024 };
/* Let another thread free `n`, a node without references, with `free`, which is always the same
 * function.  False: that thread cannot be started. */
bool dpi_node_drop(dpi_node *n, void (*free)(dpi_node *));
void dpi_node_drop_wait(void); /* wait until that thread has nothing to do */

dpi_edge dpi_edge_ref(dpi_edge e);
void dpi_edge_unref(dpi_edge e);

/* Get the edge that t's history word has, with a reference; {NULL}: t has no history, or is a leaf
 * that requires no gradient.  The edge of a view is out of date if the base was written after the
 * edge was recorded (dpi_edge_of()). */
dpi_edge dpi_edge_recorded(const dp_tensor *t);
/* May t have an edge?  False: t has no history and is no view, or its dtype can have no gradient.
 * Takes no lock. */
static inline bool dpi_may_have_edge(const dp_tensor *t)
{
    return (atomic_load_explicit(&t->history, memory_order_relaxed) != 0 || t->root != NULL) &&
           dpi_differentiable(t->dtype);
}
/* Is t a view whose base was written since t's history was recorded? */
static inline bool dpi_is_outdated(const dp_tensor *t)
{
    return t->root != NULL &&
           (uint32_t)dpi_version_of(t) != __atomic_load_n(&t->view_version, __ATOMIC_ACQUIRE);
}
/* Does t require a gradient, or was t, or t's base, computed from a tensor that does? */
bool dpi_needs_grad(const dp_tensor *t);
/* Is t a leaf that requires a gradient? */
bool dpi_is_grad_leaf(const dp_tensor *t);
/* Make return `nr` of `n` t's history.  The reference to `n` is taken, on failure too.
 * DP_ERESOURCE: no memory. */
int dpi_history_set(dp_ctx *ctx, dp_tensor *t, dpi_node *n, uint32_t nr);
/* Make t a leaf that requires no gradient.  A gradient that t has stays. */
void dpi_history_clear(dp_tensor *t);
/* Return t's dpi_meta, and make it if t has none; NULL: no memory.  It is valid as long as t. */
dpi_meta *dpi_meta_make(dp_tensor *t);
const dpi_meta *dpi_meta_find(const dp_tensor *t); /* NULL: t has none */
/* Check that `grad` has the shape, dtype and device of t, and memory if t has.  DP_ERUNTIME: it
 * has not. */
int dpi_grad_check(dp_ctx *ctx, const dp_tensor *t, const dp_tensor *grad);
/* Replace the gradient of t, which has a dpi_meta, by `grad`, with a reference of its own; NULL:
 * none.  Cannot fail. */
void dpi_grad_put(dp_ctx *ctx, dp_tensor *t, dp_tensor *grad);

/* Let t, which has a dpi_meta, keep its gradient in k from now on.  The reference to k is taken.
 * False: t has a dpi_kept already, and the reference to k is not taken. */
bool dpi_meta_keep(dp_tensor *t, dpi_kept *k);
static inline dpi_kept *dpi_kept_of(const dp_tensor *t) /* NULL: t has none */
{
    const dpi_meta *m = dpi_meta_find(t);

    return m != NULL ? __atomic_load_n(&m->kept, __ATOMIC_ACQUIRE) : NULL;
}

/* -- cycle.c -- */

/* List m, whose tensor has a gradient with history, at the context's account, if there is one. */
void dpi_cycle_add(dp_ctx *ctx, dpi_meta *m);
void dpi_cycle_end(dpi_meta *m); /* m's tensor has ended: take m out of its list */

/* -- kept.c -- */

/* The gradient of a computed tensor that retains it (Tensor.retain_grad).  The tensor refers to the
 * dpi_kept, and so does the node whose return the tensor is: backward finds the dpi_kept without
 * the tensor, so that nodes need not point to tensors. */
struct dpi_kept {
    atomic_uint refs;
    pthread_mutex_t lock; /* protects the members below */
    /* node whose return the tensor is, only to be compared; NULL: the tensor ended */
    const dpi_node *at;
    uint32_t nr;
    dp_tensor *grad;     /* owned; NULL: none yet */
    dp_account *account; /* charged for this struct and its dpi_kept_items; NULL: none */
};

/* One entry in the list dpi_node.kept.  Entries are added, and stay until the node is freed. */
struct dpi_kept_item {
    dpi_kept_item *next;
    dpi_kept *kept;   /* with a reference */
    uint32_t nr;      /* return of the node that the tensor was when the entry was added */
    dpi_hooks *hooks; /* with a reference; kept->lock protects it; NULL: none */
};

/* Make a dpi_kept: *out, owned.  DP_ERESOURCE: no memory, or over the account's limit for
 * history. */
int dpi_kept_new(dp_ctx *ctx, dpi_kept **out);
dpi_kept *dpi_kept_ref(dpi_kept *k);
void dpi_kept_unref(dpi_kept *k);
/* Release the reference of a tensor that has ended, and the gradient with it. */
void dpi_kept_end(dpi_kept *k);
dp_tensor *dpi_kept_grad(dpi_kept *k); /* owned; NULL: none */
/* Replace the gradient by `grad`, with a reference of its own; NULL: none. */
void dpi_kept_set(dpi_kept *k, dp_tensor *grad);
/* Replace the gradient of a tensor that may have ended: then nothing is stored. */
void dpi_kept_store(dpi_kept *k, dp_tensor *grad);
/* Add k, whose tensor is about to become return `nr` of `n`, to n's list.  k NULL: do nothing.
 * DP_ERESOURCE: no memory, or over the account's limit for history. */
int dpi_kept_follow(dp_ctx *ctx, dpi_kept *k, dpi_node *n, uint32_t nr);
/* Return the gradient of k's tensor among `grads` of n's returns, borrowed; NULL: the tensor is no
 * return of n, or this return has no gradient. */
dp_tensor *dpi_kept_pick(dpi_kept *k, const dpi_node *n, dp_tensor *const *grads);
void dpi_kept_items_free(dpi_kept_item *item);

/* -- watcher.c -- */

dp_grad_watcher *dpi_watcher_ref(dp_grad_watcher *w);
void dpi_watcher_unref(dp_grad_watcher *w); /* NULL is fine */
bool dpi_watcher_ended(const dp_grad_watcher *w);
/* Call the watcher's function, unless the watcher has ended. */
void dpi_watcher_tell(dp_grad_watcher *w, uint64_t name);

/* -- hooks of a gradient: hook_list.c, hook.c, and where they are kept: history.c, kept.c -- */

/* A hook of a tensor: an operator that changes the gradient, or a watcher of the gradient. */
typedef struct dpi_hook {
    const dp_op *op;          /* NULL: the hook is a watcher */
    dp_grad_watcher *watcher; /* with a reference in a list; NULL: the hook is an operator */
    uint64_t name;            /* of the tensor, for the watcher */
} dpi_hook;

/* The hooks of one tensor.  A list does not change: hooks are added by replacing it. */
struct dpi_hooks {
    atomic_uint refs;
    uint32_t n;
    dp_account *account; /* charged for this struct; NULL: none */
    size_t bytes;
    dpi_hook of[]; /* [n] in the order in which they run */
};
/* How a list of hooks differs from the one that it replaces.  Watchers that have ended are left
 * out, too. */
typedef struct dpi_hooks_change {
    bool drop_ops;               /* leave out all operators */
    const dp_grad_watcher *drop; /* leave out this watcher; NULL: none */
    dpi_hook add;                /* add it at the end; both pointers NULL: add nothing */
} dpi_hooks_change;
/* Make the list that follows `before`, which may be NULL: *out, owned; NULL: no hook is left.
 * DP_ERESOURCE: over DP_LIMIT_HOOKS operators or watchers, or over the account's limit for history,
 * or no memory. */
int dpi_hooks_new(dp_ctx *ctx, const dpi_hooks *before, const dpi_hooks_change *change,
                  dpi_hooks **out);
uint32_t dpi_hooks_ops(const dpi_hooks *h); /* number of operators in `h`, which may be NULL */
dpi_hooks *dpi_hooks_ref(dpi_hooks *h);     /* NULL is fine */
void dpi_hooks_unref(dpi_hooks *h);         /* NULL is fine */
/* Return the hooks of leaf t, with a reference; NULL: none. */
dpi_hooks *dpi_meta_hooks(const dp_tensor *t);
/* Replace the hooks of leaf t, which has a dpi_meta, if they are `before`.  False: they are not.
 * The reference to `after` is taken on success; it may be NULL. */
bool dpi_meta_hooks_replace(dp_tensor *t, const dpi_hooks *before, dpi_hooks *after);
/* Return the hooks in `i`, with a reference; NULL: none, or the tensor has ended. */
dpi_hooks *dpi_kept_hooks(const dpi_kept_item *i);
bool dpi_kept_hooks_replace(dpi_kept_item *i, const dpi_hooks *before, dpi_hooks *after);

/* -- retain.c -- */

/* Gradients that one backward has computed for tensors that retain them. */
typedef struct dpi_retained {
    struct dpi_retained_grad *items; /* [n]; owned */
    uint32_t n, cap;
} dpi_retained;
/* Collect, from the gradients `grads` of n's returns, those that tensors retain.  DP_ERESOURCE: no
 * memory. */
int dpi_retained_add(dp_ctx *ctx, dpi_retained *r, const dpi_node *n, dp_tensor *const *grads);
/* Compute what the tensors' gradients will be.  Changes no tensor. */
int dpi_retained_sum(dp_ctx *ctx, dpi_retained *r);
void dpi_retained_store(dpi_retained *r); /* make the sums the tensors' gradients */
void dpi_retained_fini(dpi_retained *r);

/* -- view.c -- */

/* Get the edge to which t's gradient goes, with a reference; {NULL}: t needs none.  If t is a view
 * whose base was written after t's history was recorded, t gets new history first.  DP_ERUNTIME:
 * such a view cannot be used, because of the way in which it was made (t->creation). */
int dpi_edge_of_view(dp_ctx *ctx, const dp_tensor *t, dpi_edge *out);
static inline int dpi_edge_of(dp_ctx *ctx, const dp_tensor *t, dpi_edge *out)
{
    if (DPI_UNLIKELY(t->root != NULL))
        return dpi_edge_of_view(ctx, t, out);
    *out = dpi_edge_recorded(t);
    return 0;
}
/* Set the history of t, return `nr` of `n`, whose operator wrote t in place; `edge`: n's edge of
 * t.  If t is a view, its base gets a node of kind SLICES. */
int dpi_history_rebase(dp_ctx *ctx, dp_tensor *t, dpi_node *n, uint32_t nr, uint32_t edge);
/* Make a node of kind STRIDED for a view that was written: *out, owned.  `slices`: the node of its
 * base, of kind SLICES. */
int dpi_view_of_slices(dp_ctx *ctx, dpi_node *slices, dpi_node **out);
/* Check that operator `op` may write t (NULL: no tensor) in place while the call is recorded.
 * DP_ERUNTIME: it may not. */
int dpi_check_inplace(dp_ctx *ctx, const dp_op *op, const dp_tensor *t);

/* -- record.c -- */

/* Run a call below its key and record it with `formula`; NULL: the operator's own.  The arguments
 * from `n_own` on are not passed to the operator; a formula may save them as it saves arguments. */
int dpi_record_with(dp_call *call, uint32_t n_own, dpi_formula *formula);

/* -- apply.c: run one node -- */

typedef struct dpi_applied {
    dp_tensor **grads;  /* [n_edges] out: owned; NULL: undefined gradient */
    const bool *wanted; /* [n_edges] */
    bool create_graph;
    /* of this backward: what checkpoints have computed again */
    struct dpi_recomputes *recomputes;
    dpi_node *slices; /* the node whose `inner` runs; NULL: a node of the graph itself runs */
} dpi_applied;
/* Compute the gradients of n's wanted edges from `grads` of its returns, which are borrowed. */
int dpi_node_apply(dp_ctx *ctx, dpi_node *n, dp_tensor *const *grads, dpi_applied *out);
/* Fail because tensor `i` of those to differentiate has no history.  Returns the error's code. */
int dpi_fail_no_history(dp_ctx *ctx, size_t i);
/* Call an operator that returns one tensor: *out, owned. */
int dpi_call_one(dp_ctx *ctx, const char *name, const dp_value *args, size_t n, dp_tensor **out);
/* Replace *t by what operator `op` returns for *t and the arguments from args[1]; args[0] is
 * set. */
int dpi_replace(dp_ctx *ctx, const char *op, dp_value *args, size_t n, dp_tensor **t);
/* Write the elements of `from` to `to`. */
int dpi_copy_into(dp_ctx *ctx, dp_tensor *to, dp_tensor *from);
/* Make a tensor of zeros: *out, owned. */
int dpi_zeros(dp_ctx *ctx, int ndim, const int64_t *sizes, dp_dtype dtype, dp_device device,
              dp_tensor **out);

/* -- once.c -- */

/* Call `apply` for a node whose formula has `once`, without recording.  If a tensor that `n` saved,
 * or one of `grads`, has history, the gradients get a node of kind MISSING as history, which fails
 * when backward reaches it; else the gradients get no history. */
typedef int (*dpi_apply_fn)(dp_ctx *ctx, dpi_node *n, dp_tensor *const *grads, dpi_applied *out);
int dpi_apply_once(dp_ctx *ctx, dpi_node *n, dp_tensor *const *grads, dpi_applied *out,
                   dpi_apply_fn apply);
/* Fail with DP_ERUNTIME, because backward has reached `n`, a node that dpi_apply_once() made. */
int dpi_fail_once(dp_ctx *ctx, const dpi_node *n);

#pragma GCC visibility pop

#endif
