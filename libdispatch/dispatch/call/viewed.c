/* viewed.c -- make returns that the schema marks as views join their argument.
 *
 * To join means to get the argument's version counter and root (dpi_tensor_join).  The root of a
 * view is the tensor that is no view itself: PyTorch's Tensor._base. */
#include "viewed.h"
#include "ctx.h"

/* Must wrapper `t` still join `base`?  A wrapper may already have the version of a tensor that it
 * is made of, so the version alone does not show that it has joined: the root is compared, too. */
static bool wrapper_must_join(const dpi_entry *e, const dp_tensor *t, const dp_tensor *base)
{
    const dp_tensor *root = e->detached ? NULL : base->root != NULL ? base->root : base;

    return (t->version != base->version || t->root != root) && dpi_share_storage(t, base);
}

/* Must `t`, a return of a kernel, still join `base`, an argument?  `t` joins after the innermost
 * kernel whose schema marks it as a view; after outer kernels it has joined already.  A return that
 * is the argument itself does not join, nor does a copy (reshape), which shares no memory with the
 * argument. */
static bool must_join(const dpi_entry *e, const dp_tensor *t, const dp_tensor *base)
{
    if (t == base)
        return false;
    if (DPI_UNLIKELY((t->keys.backend | base->keys.backend) & DPI_WRAPPER_BIT))
        return wrapper_must_join(e, t, base);
    return t->version != base->version && dpi_storage_of(t) == dpi_storage_of(base);
}

/* Replace *t by a new view.  Others have references to *t, and to join would change it for them. */
static __attribute__((cold, noinline)) int replace(dp_ctx *ctx, dp_tensor **t)
{
    const dpi_geometry *g = dpi_geometry_of(*t);
    dp_wrapper w = {.size = sizeof(w)};
    dp_tensor *copy;
    int rc = dp_wrapper_get(*t, &w)
                 ? dpi_wrapper_new(&w, &copy, &ctx->error)
                 : dpi_as_strided(*t, g->ndim, g->sizes, g->strides, g->offset, &copy, &ctx->error);

    if (rc < 0)
        return rc;
    dp_tensor_unref(*t);
    *t = copy;
    return 0;
}

/* Return how a view was created (DP_CREATED_*).  The mode has precedence over `creation`. */
static int creation_in_mode(const dp_ctx *ctx, int creation)
{
    const dp_mode *m = ctx->state->mode;

    return m->inference ? DP_CREATED_INFERENCE : m->no_grad ? DP_CREATED_NO_GRAD : creation;
}

static int join(dp_ctx *ctx, const dpi_entry *e, dp_tensor **t, dp_tensor *base, int creation)
{
    if (*t == NULL || base == NULL || !must_join(e, *t, base))
        return 0;
    if (__atomic_load_n(&(*t)->refs, __ATOMIC_ACQUIRE) != 1) {
        int rc = replace(ctx, t);
        if (rc < 0)
            return rc;
    }
    dpi_tensor_join(*t, base, e->detached, creation_in_mode(ctx, creation));
    return 0;
}

void dpi_viewed_made(dp_ctx *ctx, dp_tensor *t, dp_tensor *out)
{
    const dpi_kernel *k = dpi_ctx_kernel(ctx);

    if (k == NULL || !(k->flags & DP_FLAG_VIEWS))
        return;
    const dpi_entry *e = dpi_snapshot_entry(dpi_ctx_snapshot(ctx), dpi_ctx_running(ctx));
    if (e->views_one)
        dpi_tensor_join(out, t, e->detached, creation_in_mode(ctx, DP_CREATED_DEFAULT));
}

/* Join the tensors of one return with the argument.  If the argument is a list, join tensor i with
 * its tensor i. */
static int join_all(dp_ctx *ctx, const dpi_entry *e, const dp_value *arg, dp_value *ret)
{
    bool is_list = arg->tag == DP_TAG_TENSORS;
    int rc = 0;

    if (ret->tag == DP_TAG_TENSOR && arg->tag == DP_TAG_TENSOR)
        return join(ctx, e, &ret->u.t, arg->u.t, DP_CREATED_DEFAULT);
    if (ret->tag != DP_TAG_TENSORS || (!is_list && arg->tag != DP_TAG_TENSOR))
        return 0;
    for (uint32_t i = 0; rc == 0 && i < ret->len; i++) {
        dp_tensor *base = !is_list ? arg->u.t : i < arg->len ? arg->u.tensors[i] : NULL;
        dp_tensor **at =
            /* writable: dpi_values_settle() has copied the list */
            (dp_tensor **)(uintptr_t)&ret->u.tensors[i];
        rc = join(ctx, e, at, base, DP_CREATED_MULTIPLE);
    }
    return rc;
}

int dpi_viewed_join(dp_ctx *ctx, const dpi_entry *e, const dp_value *args, dp_value *rets)
{
    const dp_schema *s = e->schema;
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < e->n_rets; i++)
        if (s->ret_view[i] >= 0 && s->ret_alias[i] < 0)
            rc = join_all(ctx, e, &args[s->ret_view[i]], &rets[i]);
    return rc;
}
