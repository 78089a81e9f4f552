/* blas.c -- mv, and the out= variants of dot and vdot (aten/src/ATen/native/Blas.cpp). */
#include "core/composite.h"

static int mv_into(dp_ctx *ctx, dp_tensor *self, dp_tensor *vec, dp_tensor *out)
{
    return dp_invoke(ctx, "aten::addmv.out", "TTTssT>", out, self, vec, dp_int(0), dp_int(1), out);
}

/* aten::mv(Tensor self, Tensor vec) -> Tensor
 * self [n, m], vec [m] -> [n]. */
static int mv(dp_ctx *ctx, dp_tensor *self, dp_tensor *vec, dp_tensor **out)
{
    const int64_t one = 1;
    DP_VIEW(x, self);
    DP_VIEW(y, vec);
    int rc = dp_empty(ctx, y.dtype, y.device, 1, x.ndim > 0 ? x.sizes : &one, DP_CONTIGUOUS, out);

    if (rc == 0 && (rc = mv_into(ctx, self, vec, *out)) < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* aten::mv.out: the output is resized before it is added to, so that it fits as addmv's self. */
static int mv_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *vec, dp_tensor *out)
{
    DP_VIEW(x, self);
    int rc = 0;

    if (x.ndim == 2)
        rc = dp_set_output(ctx, &out, 1, x.sizes, NULL, DP_DTYPE_NONE, x.device);
    return rc == 0 ? mv_into(ctx, self, vec, out) : rc;
}

static int dot_into(dp_ctx *ctx, const char *op, dp_tensor *self, dp_tensor *other, dp_tensor *out)
{
    dp_tensor *made = NULL;
    DP_VIEW(x, self);
    DP_VIEW(y, out);

    if (x.dtype != y.dtype)
        return dp_refuse(ctx, DP_ERUNTIME, "result dtype %s does not match input dtype %s",
                         dp_dtype_name(y.dtype), dp_dtype_name(x.dtype));
    int rc = dp_invoke(ctx, op, "TT>T", self, other, &made);
    return give_cast(ctx, rc, made, out);
}

static int dot_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *tensor, dp_tensor *out)
{
    return dot_into(ctx, "aten::dot", self, tensor, out);
}

static int vdot_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, dp_tensor *out)
{
    return dot_into(ctx, "aten::vdot", self, other, out);
}

DP_LIBRARY_META(aten, CompositeExplicitAutograd, DP_IMPL_UNBOXED("mv", mv, (T, T), (T)),
                DP_IMPL_UNBOXED("mv.out", mv_out, (T, T, T), ()),
                DP_IMPL_UNBOXED("dot.out", dot_out, (T, T, T), ()),
                DP_IMPL_UNBOXED("vdot.out", vdot_out, (T, T, T), ()))
