/* vander.c -- vander and linalg_vander, which make Vandermonde matrices
 * (aten/src/ATen/native/BatchLinearAlgebra.cpp, LinearAlgebra.cpp). */
#include "core/composite.h"

/* Set *out, owned, to powers 0 to n - 1 of x [...], along a new last dimension; n > 1. */
static int powers(dp_ctx *ctx, dp_tensor *x, int64_t n, dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX + 1], one[DP_DIM_MAX + 1];
    dp_tensor *column = NULL, *wide = NULL, *product = NULL, *ones = NULL;
    DP_VIEW(a, x);
    const int64_t dtype = dp_dtype_is_integral(a.dtype, true) ? DP_INT64 : a.dtype,
                  device = a.device;
    int rc = check_ndim(ctx, (size_t)a.ndim + 1);

    if (rc < 0)
        return rc;
    dp_copy_n(sizes, a.sizes, (size_t)a.ndim, sizeof(int64_t));
    dp_copy_n(one, a.sizes, (size_t)a.ndim, sizeof(int64_t));
    sizes[a.ndim] = n - 1;
    one[a.ndim] = 1;
    rc = dp_invoke(ctx, "aten::unsqueeze", "Ti>T", x, (int64_t)-1, &column);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::expand", "Tlib>T", column, sizes, (size_t)a.ndim + 1, (int)false,
                       &wide);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::cumprod", "Ti>T", wide, (int64_t)-1, &product);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::ones", "lioioioi>T", one, (size_t)a.ndim + 1, &dtype, NULL,
                       &device, &ones);
    if (rc == 0) {
        dp_tensor *const parts[] = {ones, product};
        rc = dp_invoke(ctx, "aten::cat", "lTi>T", parts, (size_t)2, (int64_t)-1, out);
    }
    dp_tensor *const gone[] = {column, wide, product, ones};
    for (int i = 0; i < 4; i++)
        dp_tensor_unref(gone[i]);
    return rc;
}

/* aten::linalg_vander(Tensor x, *, int? N=None) -> Tensor */
static int linalg_vander(dp_ctx *ctx, dp_tensor *x, const int64_t *N, dp_tensor **out)
{
    DP_VIEW(a, x);
    int64_t n = N ? *N : a.ndim > 0 ? a.sizes[a.ndim - 1] : 1;

    if (a.dtype == DP_BOOL)
        return dp_fail(ctx, DP_ERUNTIME,
                       "linalg.vander supports floating point, complex, and integer tensors, but "
                       "got Bool");
    if (n <= 1)
        return dp_fail(ctx, DP_ERUNTIME, "N must be greater than 1.");
    if (a.ndim > 0)
        return powers(ctx, x, n, out);
    dp_tensor *row = NULL;
    int rc = dp_invoke(ctx, "aten::unsqueeze", "Ti>T", x, (int64_t)0, &row);
    if (rc == 0)
        rc = powers(ctx, row, n, out);
    dp_tensor_unref(row);
    return rc;
}

/* aten::vander(Tensor x, int? N=None, bool increasing=False) -> Tensor
 * Without a power of x to compute, the ones are a new tensor, so that they are contiguous. */
static int vander(dp_ctx *ctx, dp_tensor *x, const int64_t *N, bool increasing, dp_tensor **out)
{
    const int64_t last = -1;
    dp_tensor *made = NULL;
    DP_VIEW(a, x);

    if (a.ndim != 1)
        return dp_fail(ctx, DP_ERUNTIME, "x must be a one-dimensional tensor.");
    int64_t n = N ? *N : a.sizes[0];
    if (n < 0)
        return dp_fail(ctx, DP_ERUNTIME, "N must be non-negative.");
    if (n < 2) {
        const int64_t sizes[2] = {a.sizes[0], n},
                      dtype = dp_dtype_is_integral(a.dtype, true) ? DP_INT64 : a.dtype;
        return dp_invoke(ctx, "aten::new_ones", "Tlioi>T", x, sizes, (size_t)2, &dtype, out);
    }
    if (increasing)
        return powers(ctx, x, n, out);
    int rc = powers(ctx, x, n, &made);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::flip", "Tli>T", made, &last, (size_t)1, out);
    dp_tensor_unref(made);
    return rc;
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL_UNBOXED("vander", vander, (T, oi, b), (T)),
                DP_IMPL_UNBOXED("linalg_vander", linalg_vander, (T, oi), (T)))
