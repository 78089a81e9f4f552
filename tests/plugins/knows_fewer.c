/* knows_fewer.c -- kernels as they were built before bfloat16 came: the host never calls them with
 * it. */
#define DP_DTYPES_KNOWN 0x7effull /* all but 15 */
#include <dispatchd/plugin.h>

DP_PLUGIN(knows_fewer, "1.0")

static int same(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    (void)ctx;
    *out = dp_tensor_ref(self);
    return 0;
}

static int fill_(dp_ctx *ctx, dp_tensor *self)
{
    dp_tensor *zero = NULL;
    int rc = dp_scalar_tensor(ctx, dp_int(7), DP_DTYPE_NONE, &zero);

    if (rc == 0)
        rc = dp_copy(ctx, self, zero);
    dp_tensor_unref(zero);
    return rc;
}

static int view(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    DP_VIEW(x, self);
    return dp_as_strided(ctx, self, x.ndim, x.sizes, x.strides, dp_tensor_offset(self), out);
}

static int count(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, int64_t *out)
{
    (void)ctx;
    (void)tensors;
    *out = (int64_t)n;
    return 0;
}

static int number(dp_ctx *ctx, dp_tensor *self, int64_t dtype, int64_t *out)
{
    (void)ctx;
    (void)self;
    *out = dtype;
    return 0;
}

DP_LIBRARY(knows_fewer, DP_DEF("same(Tensor self) -> Tensor"),
           DP_DEF("fill_(Tensor(a!) self) -> Tensor(a!)"),
           DP_DEF("view(Tensor(a) self) -> Tensor(a)"), DP_DEF("count(Tensor[] tensors) -> int"),
           DP_DEF("number(Tensor self, ScalarType dtype) -> int"))
DP_LIBRARY_IMPL(knows_fewer, CPU, DP_IMPL_UNBOXED("same", same, (T), (T)),
                DP_IMPL_UNBOXED("fill_", fill_, (T), ()),
                DP_IMPL_UNBOXED("count", count, (lT), (i)),
                DP_IMPL_UNBOXED("number", number, (T, i), (i)))
DP_LIBRARY_VIEWS(knows_fewer, CPU, DP_IMPL_UNBOXED("view", view, (T), (T)))
