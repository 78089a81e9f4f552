/* template.c -- a complete plugin with a namespace, an operator and a CPU kernel.  Copy this folder
 * to start a plugin of your own. */
#include <dispatchd/plugin.h>
#include <dispatchd/iter.h>

DP_PLUGIN(template, "1.0")

/* Multiply `n` elements by the float at `user`.  The result comes first: its elements are at
 * data[0], those of self at data[1].  `strides` are in bytes. */
static void scale_loop(char *const *data, const int64_t *strides, int64_t n, void *user)
{
    float factor = *(const float *)user;

    for (int64_t i = 0; i < n; i++)
        *(float *)(data[0] + i * strides[0]) = factor * *(const float *)(data[1] + i * strides[1]);
}

/* scale(Tensor self, float factor) -> Tensor.  `self` is float32 and may have any shape and
 * strides; the result is a new tensor with self's shape. */
static int scale(dp_ctx *ctx, dp_tensor *self, double factor, dp_tensor **out)
{
    float f = (float)factor;
    dp_iter it;
    DP_VIEW(x, self);
    dp_iter_config config = dp_iter_of(DP_ITER_UNARY, 1, out, 1, &self);

    if (x.dtype != DP_FLOAT32)
        return dp_fail(ctx, DP_ETYPE, "expected float32 but got %s", dp_dtype_name(x.dtype));
    int rc = dp_iter_init(ctx, &config, &it);
    return rc ? rc : dp_iter_run_1d(ctx, &it, scale_loop, &f);
}

DP_LIBRARY(tutorial, DP_DEF("scale(Tensor self, float factor) -> Tensor"))
DP_LIBRARY_IMPL(tutorial, CPU, DP_IMPL_UNBOXED("scale", scale, (T, f), (T)))
