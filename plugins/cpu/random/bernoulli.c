/* bernoulli.c -- bernoulli and bernoulli_ (aten/src/ATen/native/Distributions.cpp). */
#include "draw.h"
#include "core/dense.h"
#include "core/elements.h"
#include <string.h>

enum {
    CHECKED = 64 * DRAW_BLOCK
}; /* number of elements between two checks whether the request is cancelled */

#define BERNOULLI_TYPES (DENSE_NUMBERS | DENSE_BIT(DP_BOOL))

/* Draw bools: whether 53 random bits, as a number in [0, 1), are less than d->a. */
static int make_bernoulli(dp_ctx *ctx, const draw *d, void *out, int64_t n)
{
    double u[DRAW_BLOCK], p = d->a;
    uint8_t *x = out;
    int rc = 0;

    for (int64_t at = 0; rc == 0 && at < n; at += DRAW_BLOCK) {
        int64_t some = n - at < DRAW_BLOCK ? n - at : DRAW_BLOCK;
        rc = dp_generator_uniform(ctx, DP_FLOAT64, u, (size_t)some);
        for (int64_t i = 0; rc == 0 && i < some; i++)
            x[at + i] = u[i] < p;
    }
    return rc;
}

/* aten::bernoulli_.float(Tensor(a!) self, float p=0.5, *, Generator? generator=None) ->
 * Tensor(a!) */
static int bernoulli_float(dp_ctx *ctx, dp_tensor *self, double p, dp_generator *g)
{
    if (!(p >= 0 && p <= 1))
        return dp_refuse(ctx, DP_ERUNTIME, "bernoulli_ expects p to be in [0, 1], but got p=%g", p);
    return draw_fill(ctx, "bernoulli_scalar_cpu_", BERNOULLI_TYPES, self, g,
                     &(draw){.make = make_bernoulli, .made = DP_BOOL, .a = p});
}

static int check_odds(dp_ctx *ctx, const double *p, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!(p[i] >= 0 && p[i] <= 1))
            return dp_fail(ctx, DP_ERUNTIME,
                           "Expected p_in >= 0 && p_in <= 1 to be true, but got false: p_in is %g",
                           p[i]);
    return 0;
}

/* Replace each of p [n] by 1 or 0: whether a random number, of 53 bits or of 24, is less than p. */
static int decide(dp_ctx *ctx, double *p, int64_t n, bool wide)
{
    double u[DRAW_BLOCK];
    float *narrow = (float *)u;
    int rc = 0;

    for (int64_t at = 0; rc == 0 && at < n; at += DRAW_BLOCK) {
        int64_t some = n - at < DRAW_BLOCK ? n - at : DRAW_BLOCK;
        rc = dp_generator_uniform(ctx, wide ? DP_FLOAT64 : DP_FLOAT32, u, (size_t)some);
        for (int64_t i = 0; rc == 0 && i < some; i++)
            p[at + i] = (wide ? u[i] : (double)narrow[i]) < p[at + i];
        if (rc == 0 && at % CHECKED == 0)
            rc = dp_checkpoint(ctx);
    }
    return rc;
}

static int check_bernoulli(dp_ctx *ctx, dp_tensor *self, dp_tensor *p)
{
    int64_t sizes[DP_DIM_MAX];
    char want[DP_SHAPE_TEXT], got[DP_SHAPE_TEXT];
    DP_VIEW(x, self);
    DP_VIEW(y, p);
    int rc = draw_check(ctx, "bernoulli_tensor_cpu_self_", BERNOULLI_TYPES, self);

    if (rc == 0)
        rc = dp_broadcast_shapes(ctx, x.ndim, x.sizes, y.ndim, y.sizes, sizes);
    if (rc == 0 &&
        (y.ndim > x.ndim || memcmp(sizes, x.sizes, (size_t)x.ndim * sizeof(int64_t)) != 0))
        rc = dp_fail(ctx, DP_ERUNTIME,
                     "expected p of a shape that broadcasts to self's %s but got %s",
                     dp_shape_text(want, x.sizes, (size_t)x.ndim),
                     dp_shape_text(got, y.sizes, (size_t)y.ndim));
    return rc < 0 ? rc : dense_check_type(ctx, "bernoulli_tensor_cpu_p_", y.dtype, DENSE_FLOATS);
}

/* aten::bernoulli_.Tensor(Tensor(a!) self, Tensor p, *, Generator? generator=None) -> Tensor(a!)
 * p broadcasts to self. */
static int bernoulli_tensor(dp_ctx *ctx, dp_tensor *self, dp_tensor *p, dp_generator *g)
{
    dp_tensor *odds = NULL;
    int rc = check_bernoulli(ctx, self, p);
    DP_VIEW(y, p);

    if (rc < 0 || dp_memoryless(ctx))
        return rc < 0 ? dp_refuse(ctx, rc, NULL) : 0;
    rc = dp_empty_like(ctx, self, DP_FLOAT64, DP_PRESERVE,
                       /* `odds` has the strides of self, so that numbers are drawn in the order of
                        * self's memory */
                       &odds);
    if (rc == 0)
        rc = dp_copy(ctx, odds, p);
    if (rc == 0) {
        DP_VIEW(o, odds);
        rc = check_odds(ctx, o.data, o.numel);
    }
    if (rc < 0) {
        dp_tensor_unref(odds);
        return dp_refuse(ctx, rc, NULL);
    }
    DP_VIEW(o, odds);
    rc = dp_generator_enter(ctx, g, o.device);
    if (rc == 0) {
        rc = decide(ctx, o.data, o.numel, y.dtype == DP_FLOAT64);
        dp_generator_leave(ctx);
    }
    if (rc == 0)
        rc = dp_copy(ctx, self, odds);
    dp_tensor_unref(odds);
    return rc;
}

/* aten::bernoulli.out(Tensor self, *, Generator? generator=None, Tensor(a!) out) -> Tensor(a!) */
static int bernoulli_out(dp_ctx *ctx, dp_tensor *self, dp_generator *g, dp_tensor *out)
{
    DP_VIEW(x, self);
    int rc = dp_resize(ctx, out, x.ndim, x.sizes, DP_PRESERVE);

    return rc < 0 ? dp_refuse(ctx, rc, NULL) : bernoulli_tensor(ctx, out, self, g);
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("bernoulli_.float", bernoulli_float, (T, f, og), ()),
                DP_IMPL_UNBOXED("bernoulli_.Tensor", bernoulli_tensor, (T, T, og), ()),
                DP_IMPL_UNBOXED("bernoulli.out", bernoulli_out, (T, og, T), ()))
