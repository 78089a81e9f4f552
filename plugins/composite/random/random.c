/* random.c -- factory functions of random tensors, which call the in-place operators
 * (aten/src/ATen/native/TensorFactories.cpp).
 *
 * Operators: rand, rand_like, randint, randint_like, randn, randn_like, randperm. */
#include "core/composite.h"

/* -- kinds of random numbers -- */

typedef enum { UNIFORM, NORMAL, WHOLE } kind;
typedef struct source {
    kind kind;
    int64_t low, high; /* range, for WHOLE */
    dp_generator *g;
} source;

static int fill(dp_ctx *ctx, dp_tensor *t, const source *s)
{
    if (s->kind == WHOLE)
        return dp_invoke(ctx, "aten::random_.from", "Tioiog>", t, s->low, &s->high, s->g);
    return dp_invoke(ctx, s->kind == UNIFORM ? "aten::uniform_" : "aten::normal_", "Tffog>", t, 0.0,
                     1.0, s->g);
}

/* Fill the new tensor *t, unless `rc` is an error.  On failure, *t is released. */
static int filled(dp_ctx *ctx, int rc, dp_tensor **t, const source *s)
{
    if (rc < 0)
        return rc;
    rc = fill(ctx, *t, s);
    return release_on_error(rc, t);
}

static int empty(dp_ctx *ctx, const int64_t *sizes, size_t n, const options *o, dp_tensor **out)
{
    return dp_invoke(ctx, "aten::empty.memory_format", "lioioioioboi>T", sizes, n, o->dtype,
                     o->layout, o->device, o->pin, (const int64_t *)NULL, out);
}

static int filled_out(dp_ctx *ctx, const int64_t *sizes, size_t n, dp_tensor *out, const source *s)
{
    int rc = check_ndim(ctx, n);

    if (rc == 0)
        rc = dp_resize(ctx, out, (int)n, sizes, DP_PRESERVE);
    return rc < 0 ? rc : fill(ctx, out, s);
}

/* aten::<name>(<arguments>, int[] size, *, Generator? generator, ScalarType? dtype=None, Layout?
 *     layout=None, Device? device=None, bool? pin_memory=None) -> Tensor, the same without a
 *     generator, and their
 * out=; `...`: the source.  PARAMS: a comma and the arguments. */
#define FACTORY(id, ...)                                                                           \
    static int id(dp_ctx *ctx PARAMS, const int64_t *sizes, size_t n, OPTIONS_PARAMS,              \
                  dp_tensor **out)                                                                 \
    {                                                                                              \
        return filled(ctx, empty(ctx, sizes, n, &OPTIONS, out), out, &(source){__VA_ARGS__});      \
    }                                                                                              \
    static int id##_generator(dp_ctx *ctx PARAMS, const int64_t *sizes, size_t n, dp_generator *g, \
                              OPTIONS_PARAMS, dp_tensor **out)                                     \
    {                                                                                              \
        return filled(ctx, empty(ctx, sizes, n, &OPTIONS, out), out,                               \
                      &(source){__VA_ARGS__, .g = g});                                             \
    }                                                                                              \
    static int id##_out(dp_ctx *ctx PARAMS, const int64_t *sizes, size_t n, dp_tensor *out)        \
    {                                                                                              \
        return filled_out(ctx, sizes, n, out, &(source){__VA_ARGS__});                             \
    }                                                                                              \
    static int id##_generator_out(dp_ctx *ctx PARAMS, const int64_t *sizes, size_t n,              \
                                  dp_generator *g, dp_tensor *out)                                 \
    {                                                                                              \
        return filled_out(ctx, sizes, n, out, &(source){__VA_ARGS__, .g = g});                     \
    }

#define PARAMS
FACTORY(rand_, .kind = UNIFORM)
FACTORY(randn, .kind = NORMAL)
#undef PARAMS
#define PARAMS , int64_t high
FACTORY(randint, .kind = WHOLE, .high = high)
#undef PARAMS
#define PARAMS , int64_t low, int64_t high
FACTORY(randint_low, .kind = WHOLE, .low = low, .high = high)
#undef PARAMS

/* aten::rand_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None,
 *     bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor */
static int rand_like(dp_ctx *ctx, dp_tensor *self, OPTIONS_PARAMS, const int64_t *format,
                     dp_tensor **out)
{
    return filled(ctx, like(ctx, self, &OPTIONS, format, out), out, &(source){.kind = UNIFORM});
}

/* aten::randn_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device?
 *     device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor */
static int randn_like(dp_ctx *ctx, dp_tensor *self, OPTIONS_PARAMS, const int64_t *format,
                      dp_tensor **out)
{
    return filled(ctx, like(ctx, self, &OPTIONS, format, out), out, &(source){.kind = NORMAL});
}

/* aten::randint_like.low_dtype(Tensor self, int low, int high, *, ScalarType? dtype=None,
 *     Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat?
 *     memory_format=None) -> Tensor */
static int randint_like_low(dp_ctx *ctx, dp_tensor *self, int64_t low, int64_t high, OPTIONS_PARAMS,
                            const int64_t *format, dp_tensor **out)
{
    return filled(ctx, like(ctx, self, &OPTIONS, format, out), out,
                  &(source){.kind = WHOLE, .low = low, .high = high});
}

/* aten::randint_like(Tensor self, int high, *, ScalarType? dtype=None, Layout? layout=None,
 *     Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor */
static int randint_like(dp_ctx *ctx, dp_tensor *self, int64_t high, OPTIONS_PARAMS,
                        const int64_t *format, dp_tensor **out)
{
    return randint_like_low(ctx, self, 0, high, dtype, layout, device, pin, format, out);
}

/* -- randperm -- */

/* aten::randperm.generator(int n, *, Generator? generator, ScalarType? dtype=4, Layout?
 *     layout=None, Device? device=None, bool? pin_memory=None) -> Tensor */
static int randperm_generator(dp_ctx *ctx, int64_t n, dp_generator *g, OPTIONS_PARAMS,
                              dp_tensor **out)
{
    int rc = empty(ctx, &n, 1, &OPTIONS, out);

    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::randperm.generator_out", "iogT>", n, g, *out);
    return release_on_error(rc, out);
}

/* aten::randperm(int n, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None,
 *     bool? pin_memory=None) -> Tensor */
static int randperm(dp_ctx *ctx, int64_t n, OPTIONS_PARAMS, dp_tensor **out)
{
    return randperm_generator(ctx, n, NULL, dtype, layout, device, pin, out);
}

/* aten::randperm.out(int n, *, Tensor(a!) out) -> Tensor(a!) */
static int randperm_out(dp_ctx *ctx, int64_t n, dp_tensor *out)
{
    return dp_invoke(ctx, "aten::randperm.generator_out", "iogT>", n, (dp_generator *)NULL, out);
}

DP_LIBRARY_META(
    aten, CompositeExplicitAutograd, DP_IMPL_UNBOXED("rand", rand_, (li, oi, oi, oi, ob), (T)),
    DP_IMPL_UNBOXED("rand.generator", rand__generator, (li, og, oi, oi, oi, ob), (T)),
    DP_IMPL_UNBOXED("rand.out", rand__out, (li, T), ()),
    DP_IMPL_UNBOXED("randn", randn, (li, oi, oi, oi, ob), (T)),
    DP_IMPL_UNBOXED("randn.generator", randn_generator, (li, og, oi, oi, oi, ob), (T)),
    DP_IMPL_UNBOXED("randint", randint, (i, li, oi, oi, oi, ob), (T)),
    DP_IMPL_UNBOXED("randint.generator", randint_generator, (i, li, og, oi, oi, oi, ob), (T)),
    DP_IMPL_UNBOXED("randint.out", randint_out, (i, li, T), ()),
    DP_IMPL_UNBOXED("randint.generator_out", randint_generator_out, (i, li, og, T), ()),
    DP_IMPL_UNBOXED("randint.low", randint_low, (i, i, li, oi, oi, oi, ob), (T)),
    DP_IMPL_UNBOXED("randint.low_generator", randint_low_generator, (i, i, li, og, oi, oi, oi, ob),
                    (T)),
    DP_IMPL_UNBOXED("randint.low_out", randint_low_out, (i, i, li, T), ()),
    DP_IMPL_UNBOXED("randint.low_generator_out", randint_low_generator_out, (i, i, li, og, T), ()),
    DP_IMPL_UNBOXED("rand_like", rand_like, (T, oi, oi, oi, ob, oi), (T)),
    DP_IMPL_UNBOXED("randn_like", randn_like, (T, oi, oi, oi, ob, oi), (T)),
    DP_IMPL_UNBOXED("randint_like", randint_like, (T, i, oi, oi, oi, ob, oi), (T)),
    DP_IMPL_UNBOXED("randint_like.low_dtype", randint_like_low, (T, i, i, oi, oi, oi, ob, oi), (T)),
    DP_IMPL_UNBOXED("randperm", randperm, (i, oi, oi, oi, ob), (T)),
    DP_IMPL_UNBOXED("randperm.generator", randperm_generator, (i, og, oi, oi, oi, ob), (T)),
    DP_IMPL_UNBOXED("randperm.out", randperm_out, (i, T), ()))
DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("rand.generator_out", rand__generator_out, (li, og, T), ()),
                DP_IMPL_UNBOXED("randn.out", randn_out, (li, T), ()),
                DP_IMPL_UNBOXED("randn.generator_out", randn_generator_out, (li, og, T), ()))
