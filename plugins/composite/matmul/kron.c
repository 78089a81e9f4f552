/* kron.c -- kron, computed as one mul of reshaped factors
 * (aten/src/ATen/native/LinearAlgebra.cpp). */
#include "core/composite.h"

/* View `t` with `ndim` dimensions (sizes of 1 are added in front), and with a dimension of size 1
 * after each or, with `offset` 1, before each. */
static int spread(dp_ctx *ctx, dp_tensor *t, int ndim, int offset, dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX];
    DP_VIEW(x, t);

    for (int i = 0; i < ndim; i++) {
        int d = i - (ndim - x.ndim);
        sizes[2 * i + offset] = d < 0 ? 1 : x.sizes[d];
        sizes[2 * i + 1 - offset] = 1;
    }
    return dp_invoke(ctx, "aten::reshape", "Tli>T", t, sizes, (size_t)ndim * 2, out);
}

/* Compute [a, b ...] x [c, d ...] -> [a c, b d ...]; sizes of 1 are added in front of the shorter
 * shape.  `view` is the operator that gives the product its shape. */
static int kron_by(dp_ctx *ctx, const char *view, dp_tensor *self, dp_tensor *other,
                   dp_tensor **out)
{
    temps s = {0};
    int64_t sizes[DP_DIM_MAX];
    DP_VIEW(x, self);
    DP_VIEW(y, other);
    int n = x.ndim > y.ndim ? x.ndim : y.ndim, rc = check_ndim(ctx, (size_t)n * 2);

    for (int i = 0; i < n; i++) {
        int dx = i - (n - x.ndim), dy = i - (n - y.ndim);
        sizes[i] = (dx < 0 ? 1 : x.sizes[dx]) * (dy < 0 ? 1 : y.sizes[dy]);
    }
    if (rc == 0)
        rc = spread(ctx, self, n, 0, temps_next(&s));
    if (rc == 0)
        rc = spread(ctx, other, n, 1, temps_next(&s));
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::mul.Tensor", "TT>T", s.made[0], s.made[1], temps_next(&s));
    if (rc == 0)
        rc = dp_invoke(ctx, view, "Tli>T", temps_last(&s), sizes, (size_t)n, out);
    temps_fini(&s);
    return rc;
}

/* aten::kron(Tensor self, Tensor other) -> Tensor */
static int kron(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, dp_tensor **out)
{
    return kron_by(ctx, "aten::_unsafe_view", self, other, out);
}

/* PyTorch multiplies into a view of `out`, so no layout of the factors is refused here. */
static int kron_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, dp_tensor *out)
{
    dp_tensor *made = NULL;
    int rc = kron_by(ctx, "aten::reshape", self, other, &made);
    return give_cast(ctx, refuse_recorded(ctx, rc, &made), made, out);
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL_UNBOXED("kron", kron, (T, T), (T)),
                DP_IMPL_UNBOXED("kron.out", kron_out, (T, T, T), ()))
