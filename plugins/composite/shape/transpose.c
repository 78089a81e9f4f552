/* transpose.c -- transposes by their short names: adjoint, mT, mH, matrix_H, numpy_T
 * (aten/src/ATen/native/TensorShape.cpp). */
#include "core/chain.h"

/* aten::numpy_T(Tensor(a) self) -> Tensor(a)
 * Reverses the order of the dimensions. */
static int numpy_T(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    int64_t dims[DP_DIM_MAX];
    DP_VIEW(x, self);

    if (x.ndim != 2 && x.ndim != 0)
        dp_warn(ctx,
                "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is "
                "deprecated and it will throw an error in a future release.");
    for (int d = 0; d < x.ndim; d++)
        dims[d] = x.ndim - 1 - d;
    return dp_invoke(ctx, "aten::permute", "Tli>T", self, dims, (size_t)x.ndim, out);
}

/* Exchange the last two dimensions; `conjugate`: conjugate complex numbers. */
static int adjoint_of(dp_ctx *ctx, const char *name, dp_tensor *self, bool conjugate,
                      dp_tensor **out)
{
    chain c = {.ctx = ctx};
    DP_VIEW(x, self);

    if (x.ndim == 1)
        return dp_fail(
            ctx, DP_ERUNTIME,
            "tensor.%s is only supported on matrices or batches of matrices. Got 1-D tensor.",
            name);
    if (x.ndim == 0 && !(conjugate && dp_dtype_is_complex(x.dtype)))
        return dp_invoke(ctx, "aten::alias", "T>T", self, out);
    if (x.ndim > 0)
        self = CHAIN(&c, "aten::transpose.int", "Tii>T", self, (int64_t)-2, (int64_t)-1);
    if (conjugate && dp_dtype_is_complex(x.dtype))
        self = CHAIN(&c, "aten::conj", "T>T", self);
    return chain_end(&c, self, out);
}

/* aten::mT(Tensor(a) self) -> Tensor(a) */
static int mT(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    return adjoint_of(ctx, "mT", self, false, out);
}

/* aten::mH(Tensor(a) self) -> Tensor(a) */
static int mH(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    return adjoint_of(ctx, "mH", self, true, out);
}

/* aten::adjoint(Tensor(a) self) -> Tensor(a) */
static int adjoint(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    return adjoint_of(ctx, "adjoint()", self, true, out);
}

/* aten::matrix_H(Tensor(a) self) -> Tensor(a) */
static int matrix_H(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    DP_VIEW(x, self);

    if (x.ndim == 2 || x.ndim == 0)
        return adjoint_of(ctx, "H", self, true, out);
    return dp_fail(ctx, DP_ERUNTIME,
                   "tensor.H is only supported on matrices (2-D tensors). Got %d-D tensor.%s",
                   x.ndim, x.ndim > 2 ? " For batches of matrices, consider using tensor.mH" : "");
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL_UNBOXED("numpy_T", numpy_T, (T), (T)),
                DP_IMPL_UNBOXED("mT", mT, (T), (T)), DP_IMPL_UNBOXED("mH", mH, (T), (T)),
                DP_IMPL_UNBOXED("adjoint", adjoint, (T), (T)),
                DP_IMPL_UNBOXED("matrix_H", matrix_H, (T), (T)))
