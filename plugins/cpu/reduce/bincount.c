/* bincount.c -- the operator bincount: the frequency of each value
 * (aten/src/ATen/native/SummaryOps.cpp). */
#include "core/dense.h"
#include "core/pack.h"

/* Check the values x [n] and set *bins to the number of bins: the greatest value + 1, but at least
 * `minlength`.  DP_ERUNTIME: a value is negative, or is INT64_MAX. */
static int count_bins(dp_ctx *ctx, const int64_t *x, int64_t n, int64_t minlength, int64_t *bins)
{
    int64_t least = 0, most = -1;

    for (int64_t i = 0; i < n; i++) {
        least = x[i] < least ? x[i] : least;
        most = x[i] > most ? x[i] : most;
    }
    if (least < 0)
        return dp_fail(ctx, DP_ERUNTIME,
                       "bincount only supports 1-d non-negative integral inputs.");
    if (most == INT64_MAX)
        return dp_fail(ctx, DP_ERUNTIME,
                       "maximum value of input overflowed, it should be < %" PRId64, INT64_MAX);
    *bins = most + 1 > minlength ? most + 1 : minlength;
    return 0;
}

/* Set element v of `made` to the number of elements of x [n] that are v, or to the sum of their
 * weights if `weights` [n] is not NULL. */
static void fill_bins(const int64_t *x, const void *weights, int64_t n, dp_tensor *made)
{
    DP_VIEW(out, made);

    if (out.numel > 0)
        dp_zero_n(out.data, (size_t)out.numel, dp_dtype_size(out.dtype));
    for (int64_t i = 0; i < n; i++)
        if (weights == NULL)
            ((int64_t *)out.data)[x[i]]++;
        else if (out.dtype == DP_FLOAT32)
            ((float *)out.data)[x[i]] += ((const float *)weights)[i];
        else
            ((double *)out.data)[x[i]] += ((const double *)weights)[i];
}

static int check_bincount(dp_ctx *ctx, const dp_view *x, dp_tensor *weights, int64_t minlength)
{
    int rc = dense_check_type(ctx, "bincount_cpu", x->dtype, DENSE_INTEGERS);

    if (rc < 0)
        return rc;
    if (minlength < 0)
        return dp_fail(ctx, DP_ERUNTIME, "minlength should be >= 0");
    if (x->ndim != 1)
        return dp_fail(ctx, DP_ERUNTIME,
                       "bincount only supports 1-d non-negative integral inputs.");
    if (weights == NULL || x->numel == 0)
        return 0;
    DP_VIEW(w, weights);
    if (w.ndim == 1 && w.sizes[0] == x->sizes[0])
        return 0;
    return dp_fail(ctx, DP_ERUNTIME, "weights should be 1-d and have the same length as input");
}

/* aten::bincount(Tensor self, Tensor? weights=None, int minlength=0) -> Tensor
 * The result is int64 without weights or if self is empty; else it is float32 for float32 weights,
 * float64 for other weights. */
static int bincount(dp_ctx *ctx, dp_tensor *self, dp_tensor *weights, int64_t minlength,
                    dp_tensor **out)
{
    pack p = {.ctx = ctx};
    dp_tensor *made = NULL;
    dp_dtype dtype = DP_INT64;
    int64_t bins = minlength;
    DP_VIEW(x, self);
    int rc = check_bincount(ctx, &x, weights, minlength);

    *out = NULL;
    if (rc < 0)
        return rc;
    if (x.numel == 0)
        weights = NULL;
    if (weights != NULL) {
        DP_VIEW(w, weights);
        dtype = w.dtype == DP_FLOAT32 ? DP_FLOAT32 : DP_FLOAT64;
    }
    const void *weighed = pack_get(&p, weights, dtype);
    /* a copy: another thread may write to self between count_bins() and fill_bins() */
    const int64_t *values = pack_own(&p, self, DP_INT64);
    if (p.rc == 0)
        p.rc = count_bins(ctx, values, x.numel, minlength, &bins);
    pack_new(&p, dtype, 1, &bins, &made);
    if (p.rc == 0)
        fill_bins(values, weighed, x.numel, made);
    pack_give(&p, made, dtype, out);
    return pack_end(&p);
}

DP_LIBRARY_IMPL(aten, CPU, DP_IMPL_UNBOXED("bincount", bincount, (T, oT, i), (T)))
