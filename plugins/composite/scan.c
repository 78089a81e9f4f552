/* scan.c -- cummax, cummin and logcumsumexp by way of their kernels. */
#include "composite.h"

/* values and indices have self's shape. */
static int extremes(dp_ctx *ctx, const char *helper, dp_tensor *self, int64_t dim,
                    dp_tensor *values, dp_tensor *indices)
{
    DP_VIEW(x, self);

    if (x.ndim > 0) /* dim is looked at where there are elements, as in PyTorch */
        return x.numel ? dp_invoke(ctx, helper, "TTTi>", self, values, indices, dim) : 0;
    int rc = dp_invoke(ctx, "aten::fill_.Tensor", "TT>", values, self);
    return rc == 0 ? dp_invoke(ctx, "aten::fill_.Scalar", "Ts>", indices, dp_int(0)) : rc;
}

static int extremes_new(dp_ctx *ctx, const char *helper, dp_tensor *self, int64_t dim,
                        dp_tensor **values, dp_tensor **indices)
{
    int rc = dp_empty_like(ctx, self, DP_DTYPE_NONE, DP_CONTIGUOUS, values);

    if (rc < 0)
        return rc;
    rc = dp_empty_like(ctx, self, DP_INT64, DP_CONTIGUOUS, indices);
    if (rc == 0)
        rc = extremes(ctx, helper, self, dim, *values, *indices);
    if (rc < 0) {
        *values = dp_tensor_unref(*values);
        *indices = dp_tensor_unref(*indices);
    }
    return rc;
}

static int extremes_into(dp_ctx *ctx, const char *helper, dp_tensor *self, int64_t dim,
                         dp_tensor *values, dp_tensor *indices)
{
    DP_VIEW(x, self);
    int rc = dp_set_output(ctx, &values, x.ndim, x.sizes, NULL, x.dtype, x.device);

    if (rc == 0)
        rc = dp_set_output(ctx, &indices, x.ndim, x.sizes, NULL, DP_INT64, x.device);
    return rc == 0 ? extremes(ctx, helper, self, dim, values, indices) : rc;
}

#define EXTREMES(name)                                                                             \
    static int name(dp_ctx *ctx, dp_tensor *self, int64_t dim, dp_tensor **values,                 \
                    dp_tensor **indices)                                                           \
    {                                                                                              \
        return extremes_new(ctx, "aten::_" #name "_helper", self, dim, values, indices);           \
    }                                                                                              \
    static int name##_out(dp_ctx *ctx, dp_tensor *self, int64_t dim, dp_tensor *values,            \
                          dp_tensor *indices)                                                      \
    {                                                                                              \
        return extremes_into(ctx, "aten::_" #name "_helper", self, dim, values, indices);          \
    }                                                                                              \
    DP_LIBRARY_META(aten, CompositeExplicitAutograd, DP_IMPL_UNBOXED(#name, name, (T, i), (T, T)), \
                    DP_IMPL_UNBOXED(#name ".out", name##_out, (T, i, T, T), ()))
EXTREMES(cummax)
EXTREMES(cummin)

/* aten::logcumsumexp(Tensor self, int dim) -> Tensor */
static int logcumsumexp(dp_ctx *ctx, dp_tensor *self, int64_t dim, dp_tensor **out)
{
    return dp_invoke(ctx, "aten::_logcumsumexp", "Ti>T", self, dim, out);
}

/* aten::logcumsumexp.out(Tensor self, int dim, *, Tensor(a!) out) -> Tensor(a!) */
static int logcumsumexp_out(dp_ctx *ctx, dp_tensor *self, int64_t dim, dp_tensor *out)
{
    return dp_invoke(ctx, "aten::_logcumsumexp.out", "TiT>", self, dim, out);
}

DP_LIBRARY_META(aten, CompositeExplicitAutograd,
                DP_IMPL_UNBOXED("logcumsumexp", logcumsumexp, (T, i), (T)),
                DP_IMPL_UNBOXED("logcumsumexp.out", logcumsumexp_out, (T, i, T), ()))
