/* not_finite.c -- NaN and infinities as results: they are values, not errors. */
#include <dispatchd/plugin.h>
#include <math.h>

DP_PLUGIN(not_finite, "1.0")

static int tensor(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    static const double values[] = {NAN, INFINITY, -INFINITY, -0.0};
    int rc = dp_empty_like(ctx, self, DP_FLOAT64, DP_CONTIGUOUS, out);
    if (rc < 0)
        return rc;
    DP_VIEW(y, *out);
    for (int64_t i = 0; i < y.numel; i++)
        ((double *)y.data)[i] = values[i % 4];
    return 0;
}

static int number(dp_ctx *ctx, dp_tensor *self, double *out)
{
    (void)ctx;
    (void)self;
    *out = NAN;
    return 0;
}

DP_LIBRARY(not_finite, DP_DEF("tensor(Tensor self) -> Tensor"),
           DP_DEF("number(Tensor self) -> float"))
DP_LIBRARY_IMPL(not_finite, CPU, DP_IMPL_UNBOXED("tensor", tensor, (T), (T)),
                DP_IMPL_UNBOXED("number", number, (T), (f)))
