/* casts.c -- the cast cache of a context (casts.h): a table in which each key has one place. */
#include "casts.h"
#include <string.h>

typedef struct kept_cast {
    dpi_cast_key key;
    dp_tensor *cast; /* with a reference; NULL: the place is empty */
} kept_cast;

struct dpi_casts {
    kept_cast kept[DPI_CASTS];
};

dpi_cast_key dpi_cast_key_of(const dp_tensor *t, dp_dtype to, bool no_grad)
{
    const dpi_geometry *g = dpi_geometry_of(t);
    dpi_cast_key k;

    memset(&k, 0, sizeof(k)); /* the padding, too, since same() compares bytes */
    k.tensor = dp_tensor_id(t);
    k.storage = dp_tensor_storage_id(t);
    k.version = dpi_version_of(t);
    k.geometry = g;
    k.offset = g->offset;
    k.dtype = to;
    k.no_grad = no_grad;
    return k;
}

static inline bool same(const dpi_cast_key *a, const dpi_cast_key *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

/* The place of `k`: ids are consecutive numbers, so parameters of one network seldom collide. */
static inline kept_cast *place(struct dpi_casts *c, const dpi_cast_key *k)
{
    return &c->kept[(k->tensor * 2 + k->no_grad) % DPI_CASTS];
}

dp_tensor *dpi_casts_find(const dp_ctx *ctx, const dpi_cast_key *k)
{
    const kept_cast *p = ctx->casts != NULL ? place(ctx->casts, k) : NULL;

    return p != NULL && p->cast != NULL && same(&p->key, k) ? p->cast : NULL;
}

void dpi_casts_keep(dp_ctx *ctx, const dpi_cast_key *k, dp_tensor *cast)
{
    if (ctx->casts == NULL && (ctx->casts = dp_calloc(1, sizeof(*ctx->casts))) == NULL)
        return;
    kept_cast *p = place(ctx->casts, k);
    dp_tensor *old = p->cast;

    p->key = *k;
    p->cast = dp_tensor_ref(cast);
    dp_tensor_unref(old);
}

void dpi_casts_drop(dp_ctx *ctx)
{
    struct dpi_casts *c = ctx->casts;

    ctx->casts = NULL;
    for (size_t i = 0; i < DPI_CASTS; i++)
        dp_tensor_unref(c->kept[i].cast);
    dp_free(c);
}
