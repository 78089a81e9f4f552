/* history.c -- nodes, edges, and the history word of tensors (history.h).
 *
 * A history word is 0, a pointer to a node with the index of the return in its low bits, or a
 * pointer to a dpi_meta with bit META.  Bit LOCK is set while a thread reads or changes the word.
 *
 * Over 500 lines: every function that knows the format of the word is here. */
#include "history.h"
#include "base/account.h"
#include "tensor/room.h"
#include <sched.h>

enum { LOCK = 1, META = 2, NR_SHIFT = 2, NR_MAX = 15, NODE_ALIGN = 64, MALLOC_ALIGN = 16 };
#define POINTER(word) ((void *)((word) & ~(uintptr_t)(NODE_ALIGN - 1)))

static _Thread_local uint64_t nodes_created;

uint64_t dp_grad_nodes(void)
{
    return (uint64_t)dpi_tally_sum(DPI_TALLY_NODES);
}

/* -- nodes -- */

static size_t padded(size_t bytes)
{
    return (bytes + 15) & ~(size_t)15;
}

int dpi_node_new(dp_ctx *ctx, dpi_node_kind kind, const dp_op *op, uint32_t n_edges,
                 uint32_t n_rets, uint32_t n_slots, uint32_t n_args, uint32_t n_dims,
                 dpi_node **out)
{
    size_t at[5], bytes = padded(sizeof(dpi_node));
    const size_t parts[5] = {n_edges * sizeof(dpi_edge), n_rets * sizeof(dpi_node_ret),
                             n_slots * sizeof(dpi_slot), (n_args + 1) * sizeof(uint32_t),
                             n_dims * sizeof(int64_t)};

    for (int i = 0; i < 5; i++) {
        at[i] = bytes;
        bytes += padded(parts[i]);
    }
    if (ctx->account != NULL) {
        int rc = dp_account_charge(ctx->account, DP_HOLDER_HISTORY, 1, bytes, &ctx->error);
        if (rc < 0)
            return rc;
    }
    void *allocated = dp_malloc(bytes + NODE_ALIGN - MALLOC_ALIGN);
    if (allocated == NULL) {
        if (ctx->account != NULL)
            dp_account_refund(ctx->account, DP_HOLDER_HISTORY, 1, bytes);
        return dpi_no_memory(&ctx->error, "history");
    }
    char *block = (char *)(((uintptr_t)allocated + NODE_ALIGN - 1) & ~(uintptr_t)(NODE_ALIGN - 1));
    memset(block, 0, bytes);
    dpi_node *n = (dpi_node *)(void *)block;
    n->block = allocated;
    atomic_init(&n->refs, 1);
    n->kind = kind;
    n->op = op;
    n->bytes = bytes;
    n->origin = dpi_ctx_origin(ctx);
    n->step = dpi_ctx_step(ctx);
    n->created = ++nodes_created;
    n->account = ctx->account != NULL ? dp_account_ref(ctx->account) : NULL;
    n->n_edges = n_edges;
    n->n_rets = n_rets;
    n->n_slots = n_slots;
    n->n_args = n_args;
    n->edges = (dpi_edge *)(void *)(block + at[0]);
    n->rets = (dpi_node_ret *)(void *)(block + at[1]);
    n->slots = (dpi_slot *)(void *)(block + at[2]);
    n->arg_edges = (uint32_t *)(void *)(block + at[3]);
    n->dims = (int64_t *)(void *)(block + at[4]);
    dpi_tally_add(DPI_TALLY_NODES, 1);
    *out = n;
    return 0;
}

dpi_node *dpi_node_ref(dpi_node *n)
{
    atomic_fetch_add_explicit(&n->refs, 1, memory_order_relaxed);
    return n;
}

void dpi_slot_clear(dpi_slot *s)
{
    if (s->kind == DPI_SLOT_VALUE)
        dp_value_free(&s->value);
    if (s->kind == DPI_SLOT_TENSOR)
        dpi_saved_clear(&s->tensor);
    if (s->kind == DPI_SLOT_TENSORS) {
        for (uint32_t i = 0; i < s->n; i++)
            dpi_saved_clear(&s->list[i]);
        dp_free(s->list);
    }
    s->kind = DPI_SLOT_NONE;
}

void dpi_node_release(dpi_node *n)
{
    for (uint32_t i = 0; i < n->n_slots; i++) {
        n->released |= n->slots[i].kind == DPI_SLOT_TENSOR || n->slots[i].kind == DPI_SLOT_TENSORS;
        if (n->slots[i].kind != DPI_SLOT_VALUE)
            dpi_slot_clear(&n->slots[i]);
    }
    if (n->inner != NULL)
        dpi_node_release(n->inner);
}

/* List of nodes without references that this thread is to free.  node_free() may release the last
 * reference to another node: dpi_node_unref() then only adds that node to the list, for the loop in
 * free_dead_nodes().  Without the list, a long chain of nodes would need a deep recursion. */
static _Thread_local dpi_node *dead;
static _Thread_local bool freeing;

static void node_free(dpi_node *n)
{
    for (uint32_t i = 0; i < n->n_slots; i++)
        dpi_slot_clear(&n->slots[i]);
    for (uint32_t i = 0; i < n->n_edges; i++)
        dpi_edge_unref(n->edges[i]);
    dpi_kept_items_free(atomic_load_explicit(&n->kept, memory_order_relaxed));
    dpi_node_unref(n->inner);
    dpi_formula_unref(n->formula);
    dpi_origin_unref(n->origin);
    dp_free(n->base);
    dp_free(n->view);
    if (n->account != NULL) {
        dp_account_refund(n->account, DP_HOLDER_HISTORY, 1, n->bytes);
        dp_account_close(n->account);
    }
    dp_free(n->block);
    dpi_tally_add(DPI_TALLY_NODES, -1);
}

/* Free the first `most` nodes of the list, and give the others to the thread of drop.c.  If that
 * thread cannot be started, free all. */
static void free_dead_nodes(uint64_t most)
{
    dpi_node *n;

    freeing = true;
    while ((n = dead) != NULL) {
        dead = n->next_dead;
        if (most > 0)
            most--;
        else if (dpi_node_drop(n))
            continue;
        node_free(n);
    }
    freeing = false;
}

void dpi_nodes_free(dpi_node *n)
{
    dead = n;
    free_dead_nodes(UINT64_MAX);
}

void dpi_node_unref(dpi_node *n)
{
    if (n == NULL || atomic_fetch_sub_explicit(&n->refs, 1, memory_order_acq_rel) != 1)
        return;
    n->next_dead = dead;
    dead = n;
    if (!freeing)
        free_dead_nodes(DPI_NODES_FREED_AT_ONCE);
}

/* -- edges -- */

dpi_edge dpi_edge_ref(dpi_edge e)
{
    if (e.to != NULL && e.leaf)
        dp_tensor_ref(e.to);
    else if (e.to != NULL)
        dpi_node_ref(e.to);
    return e;
}

void dpi_edge_unref(dpi_edge e)
{
    if (e.leaf)
        dp_tensor_unref(e.to);
    else
        dpi_node_unref(e.to);
}

uint32_t dpi_edge_topo(dpi_edge e)
{
    return e.to == NULL || e.leaf ? 0 : ((const dpi_node *)e.to)->topo;
}

/* -- the history word -- */

/* Lock t's history word, and return the word without bit LOCK. */
static uintptr_t word_lock(dp_tensor *t)
{
    for (;;) {
        uintptr_t w = atomic_load_explicit(&t->history, memory_order_relaxed);
        if (!(w & LOCK) &&
            atomic_compare_exchange_weak_explicit(&t->history, &w, w | LOCK, memory_order_acquire,
                                                  memory_order_relaxed))
            return w;
        if (w & LOCK)
            sched_yield();
    }
}

static void word_unlock(dp_tensor *t, uintptr_t w)
{
    atomic_store_explicit(&t->history, w, memory_order_release);
}

static dpi_meta *meta_of(uintptr_t w)
{
    return w & META ? POINTER(w) : NULL;
}

/* Release the node or dpi_meta of a tensor that is being freed.  `w`: its history word. */
static void word_end(uintptr_t w)
{
    dpi_meta *m = meta_of(w);

    if (m == NULL) {
        dpi_node_unref(POINTER(w));
        return;
    }
    dpi_node_unref(m->node);
    dp_tensor_unref(m->grad);
    if (m->kept != NULL)
        dpi_kept_end(m->kept);
    dpi_memory_free(m, NODE_ALIGN);
}

__attribute__((constructor)) static void listen(void)
{
    dpi_on_history_end(word_end);
}

static dp_tensor *mutable(const dp_tensor *t)
{
    return (dp_tensor *)(uintptr_t)t; /* callers change t's history word only */
}

dpi_meta *dpi_meta_make(dp_tensor *t)
{
    dpi_meta *new = dpi_memory_alloc(NODE_ALIGN);
    uintptr_t w = word_lock(t);
    dpi_meta *m = meta_of(w);

    if (m == NULL && new != NULL) {
        *new = (dpi_meta){.node = POINTER(w), .nr = (uint32_t)(w >> NR_SHIFT & NR_MAX)};
        m = new;
        w = (uintptr_t)m | META;
        new = NULL;
    }
    word_unlock(t, w);
    dpi_memory_free(new, NODE_ALIGN);
    return m;
}

bool dpi_meta_keep(dp_tensor *t, dpi_kept *k)
{
    uintptr_t w = word_lock(t);
    dpi_meta *m = meta_of(w);
    bool first = m->kept == NULL;

    if (first) {
        k->grad = m->grad;
        m->grad = NULL;
        m->kept = k;
    }
    word_unlock(t, w);
    return first;
}

const dpi_meta *dpi_meta_find(const dp_tensor *t)
{
    return meta_of(atomic_load_explicit(&t->history, memory_order_acquire));
}

/* Has t no history, and has only the caller a reference to t?  Then no other thread can read its
 * history word. */
static bool is_new(dp_tensor *t)
{
    return __atomic_load_n(&t->refs, __ATOMIC_RELAXED) == 1 && t->root == NULL &&
           atomic_load_explicit(&t->history, memory_order_relaxed) == 0;
}

int dpi_history_set(dp_ctx *ctx, dp_tensor *t, dpi_node *n, uint32_t nr)
{
    dpi_node *previous = NULL;

    if (nr > NR_MAX && dpi_meta_make(t) == NULL) {
        dpi_node_unref(n);
        return dpi_no_memory(&ctx->error, "history");
    }
    t->view_version = (uint32_t)dpi_version_of(t);
    if (nr <= NR_MAX && is_new(t)) {
        word_unlock(t, (uintptr_t)n | (uintptr_t)nr << NR_SHIFT);
    } else {
        uintptr_t w = word_lock(t);
        dpi_meta *m = meta_of(w);
        if (m != NULL) {
            previous = m->node;
            m->nr = nr;
            /* t is a leaf no longer. */
            __atomic_store_n(&m->requires_grad, false, __ATOMIC_RELAXED);
            __atomic_store_n(&m->node, n, __ATOMIC_RELAXED);
        } else {
            previous = POINTER(w);
            w = (uintptr_t)n | (uintptr_t)nr << NR_SHIFT;
        }
        word_unlock(t, w);
        dpi_node_unref(previous);
    }
    dp_tensor_set_may_grad(ctx, t, true);
    return 0;
}

void dpi_history_clear(dp_tensor *t)
{
    uintptr_t w = word_lock(t);
    dpi_meta *m = meta_of(w);
    dpi_node *previous = m != NULL ? m->node : POINTER(w);

    if (m != NULL) {
        m->node = NULL;
        m->requires_grad = false;
    } else {
        w = 0;
    }
    word_unlock(t, w);
    dpi_node_unref(previous);
}

dpi_edge dpi_edge_recorded(const dp_tensor *t)
{
    dpi_edge e = {0};

    uintptr_t w = atomic_load_explicit(&t->history, memory_order_acquire);
    if (w == 0)
        return e;
    const dpi_meta *m = meta_of(w);
    /* A leaf needs no lock: the edge leads to t itself, and t's dpi_meta is valid as long as t. */
    if (m != NULL && __atomic_load_n(&m->node, __ATOMIC_RELAXED) == NULL) {
        if (__atomic_load_n(&m->requires_grad, __ATOMIC_RELAXED))
            e = (dpi_edge){dp_tensor_ref(mutable(t)), 0, true};
        return e;
    }
    w = word_lock(mutable(t));
    m = meta_of(w);
    if (m == NULL)
        e = (dpi_edge){POINTER(w), (uint32_t)(w >> NR_SHIFT & NR_MAX), false};
    else if (m->node != NULL)
        e = (dpi_edge){m->node, m->nr, false};
    else if (m->requires_grad)
        e = (dpi_edge){mutable(t), 0, true};
    dpi_edge_ref(e);
    word_unlock(mutable(t), w);
    return e;
}

bool dpi_needs_grad(const dp_tensor *t)
{
    dpi_edge e = dpi_edge_recorded(t);
    bool needs = e.to != NULL;

    dpi_edge_unref(e);
    return needs || (t->root != NULL && dpi_needs_grad(t->root));
}

bool dpi_is_grad_leaf(const dp_tensor *t)
{
    dpi_edge e = dpi_edge_recorded(t);
    bool leaf = e.leaf;

    dpi_edge_unref(e);
    return leaf;
}

/* -- functions of grad.h and api.h -- */

/* Is t a view whose base was written since t's history was recorded? */
static bool is_outdated(const dp_tensor *t)
{
    return t->root != NULL && (uint32_t)dpi_version_of(t) != t->view_version;
}

bool dp_tensor_requires_grad(const dp_tensor *t)
{
    dpi_edge e = dpi_edge_recorded(t);
    bool recorded = e.to != NULL;

    dpi_edge_unref(e);
    return recorded || (is_outdated(t) && dpi_needs_grad(t->root));
}

bool dp_tensor_is_leaf(const dp_tensor *t)
{
    dpi_edge e = dpi_edge_recorded(t);
    bool leaf = e.to == NULL || e.leaf;

    dpi_edge_unref(e);
    return leaf && !(is_outdated(t) && dpi_needs_grad(t->root));
}

const char *dp_tensor_grad_fn(const dp_tensor *t)
{
    dpi_edge e = dpi_edge_recorded(t);
    const dpi_node *n = e.leaf ? NULL : e.to;
    bool view = n != NULL ? n->op == NULL : is_outdated(t) && dpi_needs_grad(t->root);
    const char *name = view ? "as_strided" : n != NULL ? n->op->name : NULL;

    dpi_edge_unref(e);
    return name;
}

dp_tensor *dp_tensor_grad(const dp_tensor *t)
{
    uintptr_t w;
    dp_tensor *grad = NULL;

    if (dpi_meta_find(t) == NULL)
        return NULL;
    w = word_lock(mutable(t));
    const dpi_meta *m = meta_of(w);
    if (m->kept != NULL)
        grad = dpi_kept_grad(m->kept);
    else if (m->grad != NULL)
        grad = dp_tensor_ref(m->grad);
    word_unlock(mutable(t), w);
    return grad;
}

int dpi_grad_check(dp_ctx *ctx, const dp_tensor *t, const dp_tensor *grad)
{
    if (grad->dtype == t->dtype && dpi_storage_of(grad)->device == dpi_storage_of(t)->device &&
        dpi_same_sizes(dpi_geometry_of(grad), dpi_geometry_of(t)))
        return 0;
    return dp_error_set(&ctx->error, DP_ERUNTIME,
                        "assigned grad has another shape, dtype or device than its tensor: %s of "
                        "%d dimensions for %s of %d",
                        dp_dtype_name(grad->dtype), dpi_geometry_of(grad)->ndim,
                        dp_dtype_name(t->dtype), dpi_geometry_of(t)->ndim);
}

void dpi_grad_put(dp_tensor *t, dp_tensor *grad)
{
    uintptr_t w = word_lock(t);
    dpi_kept *kept = meta_of(w)->kept;
    dp_tensor *previous = meta_of(w)->grad;
    if (kept == NULL)
        meta_of(w)->grad = grad != NULL ? dp_tensor_ref(grad) : NULL;
    word_unlock(t, w);
    if (kept != NULL)
        dpi_kept_set(kept, grad);
    else
        dp_tensor_unref(previous);
}

int dp_tensor_set_grad(dp_ctx *ctx, dp_tensor *t, dp_tensor *grad)
{
    int rc = grad != NULL ? dpi_grad_check(ctx, t, grad) : 0;

    if (rc == 0 && dpi_meta_make(t) == NULL)
        rc = dpi_no_memory(&ctx->error, "a gradient");
    if (rc == 0)
        dpi_grad_put(t, grad);
    return rc;
}

void dp_tensor_detach(dp_tensor *t)
{
    uintptr_t w = word_lock(t);
    dpi_meta *m = meta_of(w);
    dpi_node *previous = m != NULL ? m->node : POINTER(w);

    if (m != NULL) {
        m->node = NULL;
        m->nr = 0;
        m->requires_grad = false;
    } else {
        w = 0;
    }
    word_unlock(t, w);
    dpi_node_unref(previous);
}

int64_t dp_tensor_output_nr(const dp_tensor *t)
{
    dpi_edge e = dpi_edge_recorded(t);

    dpi_edge_unref(e);
    return e.leaf ? 0 : e.nr;
}

int dp_tensor_set_requires_grad(dp_ctx *ctx, dp_tensor *t, bool on)
{
    if (!dp_tensor_is_leaf(t)) {
        if (on)
            return 0;
        return dp_error_set(
            &ctx->error, DP_ERUNTIME,
            "you can only change requires_grad flags of leaf variables. If you want "
            "to use a computed variable in a subgraph that doesn't require "
            "differentiation use var_no_grad = var.detach().");
    }
    if (on && !dpi_differentiable(t->dtype))
        return dp_error_set(&ctx->error, DP_ERUNTIME,
                            "only Tensors of floating point and complex dtype can require "
                            "gradients, not %s",
                            dp_dtype_name(t->dtype));
    if (!on && dpi_meta_find(t) == NULL)
        return 0;
    dpi_meta *m = dpi_meta_make(t);
    if (m == NULL)
        return dpi_no_memory(&ctx->error, "requires_grad");
    __atomic_store_n(&m->requires_grad, on, __ATOMIC_RELAXED);
    if (on)
        dp_tensor_set_may_grad(ctx, t, true);
    return 0;
}
