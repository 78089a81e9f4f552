/* linear_combination.c -- linear combinations of tensors (aten/src/ATen/native/LinearAlgebra.cpp).
 *
 * Operators: _compute_linear_combination. */
#include "matrices.h"

static int check(dp_ctx *ctx, const dp_view *x, const dp_view *c)
{
    if (x->ndim == 0 || x->numel == 0)
        return dp_fail(ctx, DP_ERUNTIME, "Empty tensor not supported");
    if (c->ndim != 2 || c->sizes[1] != x->sizes[0])
        return dp_fail(ctx, c->ndim < 2 ? DP_EINDEX : DP_ERUNTIME,
                       "_compute_linear_combination: coefficients have %d dimensions%s", c->ndim,
                       c->ndim == 2 ? ", and not a column for each of input's tensors" : ", not 2");
    return 0;
}

/* Compute *out, owned, = coefficients [m, k] times input [k, ...], of sizes [m, ...].  Dtypes
 * without a matrix product (float16, bool) are multiplied and summed by elements. */
static int combine(dp_ctx *ctx, dp_tensor *input, dp_tensor *coefficients, dp_tensor **out)
{
    const int64_t last = 1;
    int64_t sizes[DP_DIM_MAX], dtype;
    dp_tensor *c = NULL, *rows = NULL, *wide = NULL, *each = NULL, *made = NULL;
    DP_VIEW(x, input);
    DP_VIEW(k, coefficients);
    bool plain = x.dtype == DP_FLOAT16 || x.dtype == DP_BOOL;
    const int64_t flat[] = {x.sizes[0], x.numel / x.sizes[0]};
    int rc = dp_invoke(ctx, "aten::to.dtype", "Ti>T", coefficients, (int64_t)x.dtype, &c);

    dtype = x.dtype;
    dp_copy_n(sizes, x.sizes, (size_t)x.ndim, sizeof(int64_t));
    sizes[0] = k.sizes[0];
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::reshape", "Tli>T", input, flat, (size_t)2, &rows);
    if (rc == 0 && !plain)
        rc = dp_invoke(ctx, "aten::mm", "TT>T", c, rows, &made);
    if (rc == 0 && plain)
        rc = dp_invoke(ctx, "aten::unsqueeze", "Ti>T", c, (int64_t)-1, &wide);
    if (rc == 0 && plain)
        rc = dp_invoke(ctx, "aten::mul.Tensor", "TT>T", wide, rows, &each);
    if (rc == 0 && plain)
        rc = dp_invoke(ctx, "aten::sum.dim_IntList", "Toliboi>T", each, &last, (size_t)1,
                       (int)false, &dtype, &made);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::reshape", "Tli>T", made, sizes, (size_t)x.ndim, out);
    dp_tensor *const gone[] = {c, rows, wide, each, made};
    for (int i = 0; i < 5; i++)
        dp_tensor_unref(gone[i]);
    return rc;
}

/* aten::_compute_linear_combination(Tensor input, Tensor coefficients) -> Tensor */
static int combination(dp_ctx *ctx, dp_tensor *input, dp_tensor *coefficients, dp_tensor **out)
{
    DP_VIEW(x, input);
    DP_VIEW(c, coefficients);
    int rc = check(ctx, &x, &c);

    return rc == 0 ? combine(ctx, input, coefficients, out) : rc;
}

/* aten::_compute_linear_combination.out(Tensor input, Tensor coefficients, *, Tensor(a!) out)
 *     -> Tensor(a!)
 * The combination is added to out, which must have its shape. */
static int combination_out(dp_ctx *ctx, dp_tensor *input, dp_tensor *coefficients, dp_tensor *out)
{
    char want[DP_SHAPE_TEXT], got[DP_SHAPE_TEXT];
    dp_tensor *made = NULL;
    DP_VIEW(o, out);
    int rc = combination(ctx, input, coefficients, &made);

    if (rc == 0) {
        DP_VIEW(m, made);
        if (m.dtype != o.dtype || m.ndim != o.ndim ||
            memcmp(m.sizes, o.sizes, (size_t)m.ndim * sizeof(int64_t)) != 0)
            rc = dp_fail(ctx, DP_ERUNTIME,
                         "_compute_linear_combination: expected out of %s and shape %s but got %s "
                         "and %s",
                         dp_dtype_name(m.dtype), dp_shape_text(want, m.sizes, (size_t)m.ndim),
                         dp_dtype_name(o.dtype), dp_shape_text(got, o.sizes, (size_t)o.ndim));
    }
    if (rc < 0) {
        dp_tensor_unref(made);
        return dp_refuse(ctx, rc, NULL);
    }
    rc = dp_invoke(ctx, "aten::add_.Tensor", "TTs>", out, made, dp_int(1));
    dp_tensor_unref(made);
    return rc;
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("_compute_linear_combination", combination, (T, T), (T)),
                DP_IMPL_UNBOXED("_compute_linear_combination.out", combination_out, (T, T, T), ()))
