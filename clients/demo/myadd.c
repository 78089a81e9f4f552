/* myadd.c -- the demo's first plugin: defines an operator and its kernel for the CPU. */
#include <dispatchd/plugin.h>
#include <dispatchd/iter.h>

DP_PLUGIN(myadd, "1.0")

/* Add `n` elements.  `data[0]` is the result, `data[1]` and `data[2]` are the inputs; strides in
 * bytes. */
static void add_loop(char *const *data, const int64_t *strides, int64_t n, void *user)
{
    (void)user;
    for (int64_t i = 0; i < n; i++) {
        float a = *(const float *)(data[1] + i * strides[1]);
        float b = *(const float *)(data[2] + i * strides[2]);
        *(float *)(data[0] + i * strides[0]) = a + b;
    }
}

/* Add `self` and `other`, float32 of any shape, broadcast against each other. */
static int myadd(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, dp_tensor **out)
{
    dp_tensor *ins[] = {self, other};
    dp_iter_config config = dp_iter_of(DP_ITER_BINARY, 1, out, 2, ins);
    dp_iter it;

    config.common_dtype = dp_some_dtype(DP_FLOAT32);
    int rc = dp_iter_init(ctx, &config, &it);
    return rc ? rc : dp_iter_run_1d(ctx, &it, add_loop, NULL);
}

DP_LIBRARY(myops, DP_DEF("myadd(Tensor self, Tensor other) -> Tensor"))
DP_LIBRARY_IMPL(myops, CPU, DP_IMPL_UNBOXED("myadd", myadd, (T, T), (T)))
