/* viewed.c -- view roots are the host's: what a kernel returns where its schema marks a view gets
 * the version and the root of the argument. */
#include "viewed.h"
#include "ctx.h"

/* A wrapper may have the version of what it is made of, so only its root says that it has
 * joined. */
static bool wrapper_has_to_join(const dpi_entry *e, const dp_tensor *t, const dp_tensor *of)
{
    const dp_tensor *root = e->detached ? NULL : of->root != NULL ? of->root : of;

    return (t->version != of->version || t->root != root) && dpi_share_storage(t, of);
}

/* A view is made by the innermost kernel that the schema says so of: the others find that it has
 * joined.  What shares no memory with the argument is a copy (reshape), or the argument itself. */
static bool has_to_join(const dpi_entry *e, const dp_tensor *t, const dp_tensor *of)
{
    if (t == of)
        return false;
    if (DPI_UNLIKELY((t->keys.backend | of->keys.backend) & DPI_WRAPPER_BIT))
        return wrapper_has_to_join(e, t, of);
    return t->version != of->version && dpi_storage_of(t) == dpi_storage_of(of);
}

/* A tensor that others hold, too, must not change under them: another one takes its place. */
static __attribute__((cold, noinline)) int replace(dp_ctx *ctx, dp_tensor **t)
{
    const dpi_geometry *g = dpi_geometry_of(*t);
    dp_wrapper w = {.size = sizeof(w)};
    dp_tensor *other;
    int rc = dp_wrapper_get(*t, &w) ? dpi_wrapper_new(&w, &other, &ctx->error)
                                    : dpi_as_strided(*t, g->ndim, g->sizes, g->strides, g->offset,
                                                     &other, &ctx->error);

    if (rc < 0)
        return rc;
    dp_tensor_unref(*t);
    *t = other;
    return 0;
}

/* How it was made: what the mode says comes before one or several. */
static int creation_now(const dp_ctx *ctx, int creation)
{
    const dp_mode *m = ctx->state->mode;

    return m->inference ? DP_CREATED_INFERENCE : m->no_grad ? DP_CREATED_NO_GRAD : creation;
}

static int join(dp_ctx *ctx, const dpi_entry *e, dp_tensor **t, dp_tensor *of, int creation)
{
    if (*t == NULL || of == NULL || !has_to_join(e, *t, of))
        return 0;
    if (__atomic_load_n(&(*t)->refs, __ATOMIC_ACQUIRE) != 1) {
        int rc = replace(ctx, t);
        if (rc < 0)
            return rc;
    }
    dpi_tensor_join(*t, of, e->detached, creation_now(ctx, creation));
    return 0;
}

void dpi_viewed_made(dp_ctx *ctx, dp_tensor *t, dp_tensor *out)
{
    const dpi_kernel *k = dpi_ctx_kernel(ctx);

    if (k == NULL || !(k->flags & DP_FLAG_VIEWS))
        return;
    const dpi_entry *e = dpi_snapshot_entry(dpi_ctx_snapshot(ctx), dpi_ctx_running(ctx));
    if (e->views_one)
        dpi_tensor_join(out, t, e->detached, creation_now(ctx, DP_CREATED_DEFAULT));
}

/* The tensors of one return, each with the argument, or with that of its place in a list. */
static int join_all(dp_ctx *ctx, const dpi_entry *e, const dp_value *arg, dp_value *ret)
{
    bool many = arg->tag == DP_TAG_TENSORS;
    int rc = 0;

    if (ret->tag == DP_TAG_TENSOR && arg->tag == DP_TAG_TENSOR)
        return join(ctx, e, &ret->u.t, arg->u.t, DP_CREATED_DEFAULT);
    if (ret->tag != DP_TAG_TENSORS || (!many && arg->tag != DP_TAG_TENSOR))
        return 0;
    for (uint32_t i = 0; rc == 0 && i < ret->len; i++) {
        dp_tensor *of = !many ? arg->u.t : i < arg->len ? arg->u.tensors[i] : NULL;
        dp_tensor **at =
            (dp_tensor **)(uintptr_t)&ret->u.tensors[i]; /* settled: the host's memory */
        rc = join(ctx, e, at, of, DP_CREATED_MULTIPLE);
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
