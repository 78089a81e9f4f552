/* history.c -- the history word of tensors (history.h): which node or leaf it means, and functions
 * for a tensor's requires_grad and gradient. */
#include "history.h"
#include "tensor/room.h"
#include <sched.h>

enum { LOCK = 1, META = 2, NR_SHIFT = 2, NR_MAX = 15 };
#define POINTER(word) ((void *)((word) & ~(uintptr_t)(DPI_NODE_ALIGN - 1)))

/* -- the history word -- */

/* Lock t's word and return it without the lock's bit. */
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

/* Release the node or dpi_meta of a tensor that has ended. */
DPI_HOT static void word_end(uintptr_t w)
{
    dpi_meta *m = meta_of(w);

    if (m == NULL) {
        dpi_node_unref(POINTER(w));
        return;
    }
    dpi_cycle_end(m);
    dpi_node_unref(m->node);
    dp_tensor_unref(m->grad);
    dpi_hooks_unref(m->hooks);
    if (m->kept != NULL)
        dpi_kept_end(m->kept);
    dpi_memory_free(m, DPI_NODE_ALIGN);
}

__attribute__((constructor)) static void listen(void)
{
    dpi_on_history_end(word_end);
}

static dp_tensor *mutable(const dp_tensor *t)
{
    return (dp_tensor *)(uintptr_t)t; /* only its history word changes */
}

dpi_meta *dpi_meta_make(dp_tensor *t)
{
    dpi_meta *new = dpi_memory_alloc(DPI_NODE_ALIGN);
    uintptr_t w = word_lock(t);
    dpi_meta *m = meta_of(w);

    if (m == NULL && new != NULL) {
        *new = (dpi_meta){.node = POINTER(w), .nr = (uint32_t)(w >> NR_SHIFT & NR_MAX)};
        m = new;
        w = (uintptr_t)m | META;
        new = NULL;
    }
    word_unlock(t, w);
    dpi_memory_free(new, DPI_NODE_ALIGN);
    return m;
}

bool dpi_meta_keep(dp_tensor *t, dpi_kept *k)
{
    uintptr_t w = word_lock(t);
    dpi_meta *m = meta_of(w);
    bool first = m->kept == NULL;

    if (first) {
        if (m->grad != NULL)
            dpi_kept_set(k, m->grad);
        m->grad = dp_tensor_unref(m->grad);
        __atomic_store_n(&m->kept, k, __ATOMIC_RELEASE);
    }
    word_unlock(t, w);
    return first;
}

dpi_hooks *dpi_meta_hooks(const dp_tensor *t)
{
    if (dpi_meta_find(t) == NULL)
        return NULL;
    uintptr_t w = word_lock(mutable(t));
    dpi_hooks *h = dpi_hooks_ref(meta_of(w)->hooks);
    word_unlock(mutable(t), w);
    return h;
}

bool dpi_meta_hooks_replace(dp_tensor *t, const dpi_hooks *before, dpi_hooks *after)
{
    uintptr_t w = word_lock(t);
    dpi_hooks *now = meta_of(w)->hooks;
    if (now == before)
        meta_of(w)->hooks = after;
    word_unlock(t, w);
    if (now == before)
        dpi_hooks_unref(now);
    return now == before;
}

const dpi_meta *dpi_meta_find(const dp_tensor *t)
{
    return meta_of(atomic_load_explicit(&t->history, memory_order_acquire));
}

/* Has t no history, and does only the caller hold t?  Then no other thread can look at its word. */
static bool is_new(dp_tensor *t)
{
    return __atomic_load_n(&t->refs, __ATOMIC_RELAXED) == 1 && t->root == NULL &&
           atomic_load_explicit(&t->history, memory_order_relaxed) == 0;
}

DPI_HOT int dpi_history_set(dp_ctx *ctx, dp_tensor *t, dpi_node *n, uint32_t nr)
{
    dpi_node *previous = NULL;

    if (nr > NR_MAX && dpi_meta_make(t) == NULL) {
        dpi_node_unref(n);
        return dpi_no_memory(&ctx->error, "history");
    }
    uint32_t version = (uint32_t)dpi_version_of(t);
    if (DPI_LIKELY(nr <= NR_MAX && is_new(t))) {
        word_unlock(t, (uintptr_t)n | (uintptr_t)nr << NR_SHIFT);
        t->view_version = version;
        t->keys.functionality |= DPI_GRAD_BIT;
        dpi_ctx_note_grad(ctx);
        return 0;
    }
    uintptr_t w = word_lock(t);
    dpi_meta *m = meta_of(w);
    if (m != NULL) {
        previous = m->node;
        m->nr = nr;
        __atomic_store_n(&m->requires_grad, false, __ATOMIC_RELAXED); /* no longer a leaf */
        __atomic_store_n(&m->node, n, __ATOMIC_RELAXED);
    } else {
        previous = POINTER(w);
        w = (uintptr_t)n | (uintptr_t)nr << NR_SHIFT;
    }
    word_unlock(t, w);
    dpi_node_unref(previous);
    /* last: a thread that reads the new view_version also reads the new history */
    __atomic_store_n(&t->view_version, version, __ATOMIC_RELEASE);
    dp_tensor_set_may_grad(ctx, t, true);
    return 0;
}

void dpi_history_clear(dp_tensor *t)
{
    uintptr_t w = word_lock(t);
    dpi_meta *m = meta_of(w);
    dpi_node *previous = m != NULL ? m->node : POINTER(w);

    if (m != NULL) {
        __atomic_store_n(&m->requires_grad, false, __ATOMIC_RELAXED);
        __atomic_store_n(&m->node, NULL, __ATOMIC_RELAXED);
    } else {
        w = 0;
    }
    word_unlock(t, w);
    dpi_node_unref(previous);
}

DPI_HOT dpi_edge dpi_edge_recorded(const dp_tensor *t)
{
    dpi_edge e = {0};

    uintptr_t w = atomic_load_explicit(&t->history, memory_order_acquire);
    if (w == 0)
        return e;
    const dpi_meta *m = meta_of(w);
    /* A leaf needs no lock: the edge leads to t itself, and the dpi_meta stays as long as t. */
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

/* -- functions for embedders -- */

bool dp_tensor_requires_grad(const dp_tensor *t)
{
    dpi_edge e = dpi_edge_recorded(t);
    bool recorded = e.to != NULL;

    dpi_edge_unref(e);
    return recorded || (dpi_is_outdated(t) && dpi_needs_grad(t->root));
}

bool dp_tensor_is_leaf(const dp_tensor *t)
{
    dpi_edge e = dpi_edge_recorded(t);
    bool leaf = e.to == NULL || e.leaf;

    dpi_edge_unref(e);
    return leaf && !(dpi_is_outdated(t) && dpi_needs_grad(t->root));
}

const char *dp_tensor_grad_fn(const dp_tensor *t)
{
    dpi_edge e = dpi_edge_recorded(t);
    const dpi_node *n = e.leaf ? NULL : e.to;
    bool view = n != NULL ? n->op == NULL : dpi_is_outdated(t) && dpi_needs_grad(t->root);
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
    if (dpi_geometry_of(grad)->parts != NULL && dpi_geometry_of(t)->parts == NULL)
        return dp_error_set(&ctx->error, DP_ERUNTIME,
                            "assigned grad is of kind '%s', a tensor made of tensors, but its "
                            "tensor of %s is none",
                            dpi_storage_of(grad)->kind, dp_dtype_name(t->dtype));
    if (dpi_is_memoryless(grad) && !dpi_is_memoryless(t))
        return dp_error_set(&ctx->error, DP_ERUNTIME,
                            "assigned grad is fake: it has no memory, but its tensor of %s has",
                            dp_dtype_name(t->dtype));
    if (grad->dtype == t->dtype && dpi_storage_of(grad)->device == dpi_storage_of(t)->device &&
        dpi_same_sizes(dpi_geometry_of(grad), dpi_geometry_of(t)))
        return 0;
    const dpi_geometry *has = dpi_geometry_of(grad), *of = dpi_geometry_of(t);
    char shape[DP_SHAPE_TEXT], want[DP_SHAPE_TEXT], device[DP_KEY_NAME_MAX], on[DP_KEY_NAME_MAX];

    return dp_error_set(
        &ctx->error, DP_ERUNTIME,
        "assigned grad has another shape, dtype or device than its tensor: %s %s "
        "on %s for %s %s on %s",
        dp_dtype_name(grad->dtype), dp_shape_text(shape, has->sizes, (size_t)has->ndim),
        dp_device_name(has->storage->device, device), dp_dtype_name(t->dtype),
        dp_shape_text(want, of->sizes, (size_t)of->ndim), dp_device_name(of->storage->device, on));
}

void dpi_grad_put(dp_ctx *ctx, dp_tensor *t, dp_tensor *grad)
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
    if (grad != NULL && dpi_needs_grad(grad))
        dpi_cycle_add(ctx, meta_of(w));
}

int dp_tensor_set_grad(dp_ctx *ctx, dp_tensor *t, dp_tensor *grad)
{
    if (grad == t) /* it would keep itself alive */
        return dp_error_set(&ctx->error, DP_ERUNTIME, "can't assign Variable as its own grad");
    int rc = grad != NULL ? dpi_grad_check(ctx, t, grad) : 0;

    if (rc == 0 && dpi_meta_make(t) == NULL)
        rc = dpi_no_memory(&ctx->error, "a gradient");
    if (rc == 0)
        dpi_grad_put(ctx, t, grad);
    return rc;
}

void dp_tensor_detach(dp_tensor *t)
{
    dpi_history_clear(t);
}

int64_t dp_tensor_output_nr(const dp_tensor *t)
{
    dpi_edge e = dpi_edge_recorded(t);

    dpi_edge_unref(e);
    return e.leaf ? 0 : e.nr;
}

int dpi_fail_no_history(dp_ctx *ctx, size_t i)
{
    return dp_error_set(
        &ctx->error, DP_ERUNTIME,
        "element %zu of tensors does not require grad and does not have a grad_fn%s", i,
        dpi_registry_records(ctx->reg) ? ""
                                       : ", and no plugin records calls: load plugin autograd");
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
