/* lu_unpack.c -- the matrices P, L and U that packed LU factors and pivots represent, and linalg_lu
 * (aten/src/ATen/native/BatchLinearAlgebra.cpp).
 *
 * Operators: linalg_lu, lu_unpack. */
#include "matrices.h"

/* Process one matrix; at[0]: pivots, at[1]: the permutation; row i of the product is row
 * permutation[i] of A. */
static void permute_one(const mx_batch *b, char *const *at, char *work)
{
    const dp_view *a = b->user;
    int64_t m = mx_rows(a), k = m < mx_cols(a) ? m : mx_cols(a), *order = (int64_t *)at[1];
    const int32_t *pivots = (const int32_t *)at[0];

    (void)work;
    for (int64_t i = 0; i < m; i++)
        order[i] = i;
    for (int64_t i = 0; i < k; i++) {
        int64_t other = pivots[i] - 1, row = order[i];
        order[i] = order[other];
        order[other] = row;
    }
}

static int check_pivots(dp_ctx *ctx, dp_tensor *pivots, int64_t m)
{
    DP_VIEW(p, pivots);
    const int32_t *data = p.data;

    for (int64_t i = 0; data != NULL && i < p.numel; i++)
        if (data[i] < 1 || data[i] > m)
            return dp_fail(ctx, DP_ERUNTIME,
                           "pivots passed to lu_unpack must be between 1 and LU.size(-2) "
                           "inclusive.Did you properly pass the result of lu_factor?");
    return 0;
}

/* Set the ones of P, whose elements are 0. */
static int set_ones(dp_ctx *ctx, dp_tensor *P, dp_tensor *order)
{
    dp_tensor *row = NULL;
    int rc = dp_invoke(ctx, "aten::unsqueeze", "Ti>T", order, (int64_t)-2, &row);

    if (rc == 0)
        rc = dp_invoke(ctx, "aten::scatter_.value", "TiTs>", P, (int64_t)-2, row, dp_int(1));
    dp_tensor_unref(row);
    return rc;
}

/* Set P from the pivots, which are checked; `a` is the view of LU. */
static int unpack_pivots(dp_ctx *ctx, dp_tensor *P, dp_tensor *pivots, const dp_view *a)
{
    dp_tensor *order = NULL;
    mx_batch b;
    int rc = mx_empty(ctx, DP_INT64, a->device, a->ndim - 1, a->sizes, false, &order);

    if (rc == 0) {
        mx_begin(&b, permute_one, a, a->ndim - 2, a->sizes);
        b.plain = true;
        mx_add(&b, pivots, 1);
        mx_add(&b, order, 1);
        b.cost = (double)mx_rows(a);
        rc = mx_run(ctx, &b);
    }
    if (rc == 0)
        rc = mx_zero(ctx, P);
    if (rc == 0)
        rc = set_ones(ctx, P, order);
    dp_tensor_unref(order);
    return rc;
}

/* Set `to` to the triangle of the first `size` rows or columns of `from`; the diagonal of L is
 * 1. */
static int triangle(dp_ctx *ctx, dp_tensor *to, dp_tensor *from, bool upper)
{
    dp_tensor *part = NULL, *diagonal = NULL;
    DP_VIEW(t, to);
    int rc = dp_invoke(ctx, "aten::narrow", "Tiii>T", from, (int64_t)(upper ? -2 : -1), (int64_t)0,
                       upper ? mx_rows(&t) : mx_cols(&t), &part);

    if (rc == 0 && upper)
        rc = dp_invoke(ctx, "aten::triu.out", "TiT>", part, (int64_t)0, to);
    else if (rc == 0)
        rc = dp_invoke(ctx, "aten::tril.out", "TiT>", part, (int64_t)-1, to);
    if (rc == 0 && !upper)
        rc = dp_invoke(ctx, "aten::diagonal", "Tiii>T", to, (int64_t)0, (int64_t)-2, (int64_t)-1,
                       &diagonal);
    if (rc == 0 && !upper)
        rc = dp_invoke(ctx, "aten::fill_.Scalar", "Ts>", diagonal, dp_int(1));
    dp_tensor_unref(part);
    dp_tensor_unref(diagonal);
    return rc;
}

/* Make outputs P [..., m, m], L [..., m, k] and U [..., k, n] for the view of LU; outputs that are
 * not wanted have no elements. */
static int make_outputs(dp_ctx *ctx, outs *o, const dp_view *a, bool factors, bool pivots)
{
    int64_t sizes[DP_DIM_MAX], none = 0, m = mx_rows(a), n = mx_cols(a), k = m < n ? m : n;
    const int64_t shapes[3][2] = {{m, m}, {m, k}, {k, n}};
    int d = a->ndim, rc = 0;

    dp_copy_n(sizes, a->sizes, (size_t)d, sizeof(int64_t));
    for (int i = 0; i < 3 && rc == 0; i++) {
        bool wanted = i == 0 ? pivots : factors;
        sizes[d - 2] = shapes[i][0];
        sizes[d - 1] = shapes[i][1];
        rc = mx_out(ctx, o, i, a->dtype, wanted ? d : 1, wanted ? sizes : &none, false);
    }
    return rc;
}

/* Set *out, owned, to a copy of the pivots, which no other thread can change, with the batch of
 * `a`. */
static int own_pivots(dp_ctx *ctx, dp_tensor *pivots, const dp_view *a, dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX], m = mx_rows(a), n = mx_cols(a);
    char text[DP_SHAPE_TEXT];
    DP_VIEW(p, pivots);
    int d = a->ndim - 1;

    dp_copy_n(sizes, a->sizes, (size_t)d, sizeof(int64_t));
    sizes[d - 1] = m < n ? m : n;
    if (p.ndim != d || memcmp(p.sizes, sizes, (size_t)d * sizeof(int64_t)) != 0)
        return dp_fail(ctx, DP_ERUNTIME,
                       "torch.lu_unpack: LU_pivots has shape %s, which is not that of LU's pivots",
                       dp_shape_text(text, p.sizes, (size_t)p.ndim));
    int rc = mx_empty(ctx, DP_INT32, a->device, d, sizes, false, out);
    if (rc == 0)
        rc = dp_copy(ctx, *out, pivots);
    return rc == 0 ? check_pivots(ctx, *out, m) : rc;
}

/* Write the factors in LU to the outputs. */
static int write_factors(dp_ctx *ctx, outs *o, dp_tensor *lu)
{
    int rc = triangle(ctx, o->t[1], lu, false);
    return rc == 0 ? triangle(ctx, o->t[2], lu, true) : rc;
}

/* aten::lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True)
 *     -> (Tensor P, Tensor L, Tensor U) */
static int run_unpack(dp_ctx *ctx, const dp_value *args, outs *o)
{
    bool factors = args[2].u.b, wants = args[3].u.b;
    dp_tensor *pivots = NULL, *lu = dp_tensor_ref(args[0].u.t);
    DP_VIEW(a, lu);
    DP_VIEW(p, args[1].u.t);
    int rc = mx_check_dims(ctx, &a, "torch.lu_unpack");

    if (rc == 0 && wants && p.dtype != DP_INT32)
        rc = dp_fail(ctx, DP_ERUNTIME,
                     "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of "
                     "torch.int32 dtype.\nNote: this function is intended to be used with the "
                     "output produced by torch.linalg.lu_factor");
    if (rc == 0 && wants)
        rc = own_pivots(ctx, args[1].u.t, &a, &pivots);
    if (rc == 0)
        rc = make_outputs(ctx, o, &a, factors, wants);
    if (rc == 0 && (o->aside[1] || o->aside[2])) {
        dp_tensor_unref(lu);
        lu = NULL;
        rc = mx_columns(ctx, args[0].u.t, &lu);
    }
    o->written |= rc == 0;
    if (rc == 0 && factors)
        rc = write_factors(ctx, o, lu);
    if (rc == 0 && wants)
        rc = unpack_pivots(ctx, o->t[0], pivots, &a);
    dp_tensor_unref(pivots);
    dp_tensor_unref(lu);
    return rc;
}
MX_KERNEL(lu_unpack, 4, run_unpack)

/* aten::linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U) */
static int run_lu(dp_ctx *ctx, const dp_value *args, outs *o)
{
    dp_tensor *lu = NULL, *pivots = NULL, *info = NULL;
    bool pivot = args[1].u.b;
    DP_VIEW(a, args[0].u.t);
    int rc = mx_check_dims(ctx, &a, "linalg.lu");

    if (rc == 0)
        rc = make_outputs(ctx, o, &a, true, pivot);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::linalg_lu_factor_ex", "Tbb>TTT", args[0].u.t, (int)pivot,
                       (int)false, &lu, &pivots, &info);
    o->written |= rc == 0;
    if (rc == 0)
        rc = write_factors(ctx, o, lu);
    if (rc == 0 && pivot)
        rc = unpack_pivots(ctx, o->t[0], pivots, &a);
    dp_tensor_unref(lu);
    dp_tensor_unref(pivots);
    dp_tensor_unref(info);
    return rc;
}
MX_KERNEL(linalg_lu, 2, run_lu)

DP_LIBRARY_META(aten, CPU, DP_IMPL("lu_unpack", lu_unpack), DP_IMPL("lu_unpack.out", lu_unpack),
                DP_IMPL("linalg_lu", linalg_lu), DP_IMPL("linalg_lu.out", linalg_lu))
