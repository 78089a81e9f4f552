/* addmm_activation.c -- _addmm_activation, which calls addmm and relu or gelu
 * (aten/src/ATen/native/LinearAlgebra.cpp). */
#include "core/composite.h"

static int activate(dp_ctx *ctx, int rc, bool gelu, dp_tensor *t)
{
    return rc < 0 ? rc : dp_invoke(ctx, gelu ? "aten::gelu_" : "aten::relu_", "T>", t);
}

/* aten::_addmm_activation(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1,
 *     bool use_gelu=False) -> Tensor */
static int addmm_activation(dp_ctx *ctx, dp_tensor *self, dp_tensor *a, dp_tensor *b, dp_value beta,
                            dp_value alpha, bool gelu, dp_tensor **out)
{
    int rc = dp_invoke(ctx, "aten::addmm", "TTTss>T", self, a, b, beta, alpha, out);

    if (rc == 0 && (rc = activate(ctx, rc, gelu, *out)) < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* aten::_addmm_activation.out(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar
 *     alpha=1, bool use_gelu=False, Tensor(a!) out) -> Tensor(a!) */
static int addmm_activation_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *a, dp_tensor *b,
                                dp_value beta, dp_value alpha, bool gelu, dp_tensor *out)
{
    int rc = dp_invoke(ctx, "aten::addmm.out", "TTTssT>", self, a, b, beta, alpha, out);
    return activate(ctx, rc, gelu, out);
}

DP_LIBRARY_META(aten, CPU,
                DP_IMPL_UNBOXED("_addmm_activation", addmm_activation, (T, T, T, s, s, b), (T)),
                DP_IMPL_UNBOXED("_addmm_activation.out", addmm_activation_out,
                                (T, T, T, s, s, b, T), ()))
