/* histogram.c -- checks, bin edges and densities of histograms; histogram_bins.c counts
 * (aten/src/ATen/native/Histogram.cpp).
 *
 * Operators: histc, histogram, _histogramdd_bin_edges, _histogramdd_from_bin_cts,
 * _histogramdd_from_bin_tensors. */
#include "histogram_bins.h"
#include "core/dense.h"
#include "core/elements.h"
#include "core/pack.h"
#include <string.h>

/* -- histograms -- */

/* Arguments and state of one call.  A point is `dims` elements along the last dimension of `self`;
 * if `flat`, each element of self is a point. */
typedef struct histogram {
    dp_tensor *self, *weight; /* weight may be NULL */
    bool flat, density;
    int dims, method;             /* coordinates of a point; BINS_* */
    int64_t n;                    /* number of points */
    dp_tensor *edges[DP_DIM_MAX]; /* owned bin edges of each dimension */
} histogram;

static void release_edges(histogram *h)
{
    for (int d = 0; d < DP_DIM_MAX; d++)
        h->edges[d] = dp_tensor_unref(h->edges[d]);
}

static int begin_flat(histogram *h)
{
    DP_VIEW(x, h->self);

    h->flat = true;
    h->dims = 1;
    h->n = x.numel;
    return 0;
}

/* Set h->dims and h->n from self.  DP_ERUNTIME: self has fewer than two dimensions, or `n_bins`,
 * the number of bin lists of the call, is not the last size of self or exceeds DP_DIM_MAX. */
static int begin_points(dp_ctx *ctx, histogram *h, size_t n_bins)
{
    DP_VIEW(x, h->self);

    if (x.ndim < 2)
        return dp_fail(
            ctx, DP_ERUNTIME,
            "torch.histogramdd: input tensor should have at least 2 dimensions, but got %d",
            x.ndim);
    if (x.sizes[x.ndim - 1] != (int64_t)n_bins)
        return dp_fail(ctx, DP_ERUNTIME,
                       "torch.histogramdd: expected %" PRId64
                       " sequences of bin edges for a %" PRId64
                       "-dimensional histogram but got %zu",
                       x.sizes[x.ndim - 1], x.sizes[x.ndim - 1], n_bins);
    int rc = check_ndim(ctx, n_bins);
    if (rc < 0)
        return rc;
    h->dims = (int)n_bins;
    h->n = x.numel == 0 ? 0 : x.numel / h->dims; /* dims may be 0 if numel is 0 */
    return 0;
}

static int check_weight(dp_ctx *ctx, const histogram *h)
{
    char a[DP_SHAPE_TEXT], b[DP_SHAPE_TEXT];
    DP_VIEW(x, h->self);
    if (h->weight == NULL)
        return 0;
    DP_VIEW(w, h->weight);
    int ndim = h->flat ? x.ndim : x.ndim - 1;
    bool same = h->flat ? w.numel == x.numel : w.ndim == ndim || (w.ndim == 0 && ndim == 1);

    if (w.dtype != x.dtype)
        return dp_fail(ctx, DP_ERUNTIME,
                       "torch.histogramdd: if weight tensor is provided, input tensor and weight "
                       "tensor should have the same dtype, but got input(%s), and weight(%s)",
                       dp_dtype_name(x.dtype), dp_dtype_name(w.dtype));
    for (int d = 0; same && !h->flat && d < ndim; d++)
        same = (w.ndim ? w.sizes[d] : 1) == x.sizes[d];
    if (same)
        return 0;
    return dp_fail(
        ctx, DP_ERUNTIME,
        "torch.histogramdd: if weight tensor is provided it should have the same shape as "
        "the input tensor excluding its innermost dimension, but got input with shape %s "
        "and weight with shape %s",
        dp_shape_text(a, x.sizes, (size_t)x.ndim), dp_shape_text(b, w.sizes, (size_t)w.ndim));
}

/* Set *least and *most to the least and the greatest coordinate `d` of points [n, dims]; NaN if one
 * of these coordinates is NaN. */
static void find_range(const histogram *h, const double *points, int d, double *least, double *most)
{
    for (int64_t i = 0; i < h->n; i++) {
        double v = points[i * h->dims + d];
        if (i == 0 || isnan(v) || v < *least)
            *least = v;
        if (i == 0 || isnan(v) || v > *most)
            *most = v;
        if (isnan(v))
            return;
    }
}

/* Set h->edges[d] to the edges of `bins` bins of equal width from `first` to `last`. */
static int make_edges(dp_ctx *ctx, histogram *h, int d, int64_t bins, double first, double last)
{
    int64_t n = bins + 1;
    DP_VIEW(x, h->self);
    int rc = dp_empty(ctx, x.dtype, x.device, 1, &n, DP_CONTIGUOUS, &h->edges[d]);

    return rc < 0 ? rc
                  : dp_invoke(ctx, "aten::linspace.out", "ssiT>", dp_double(first), dp_double(last),
                              n, h->edges[d]);
}

/* Set *first and *last to the range of dimension `d`: from `range` if it is given, else from
 * `points`, else [0, 1].  An empty range is widened by 0.5 at both ends. */
static int range_of_dim(dp_ctx *ctx, const histogram *h, const dp_value *range,
                        const double *points, int d, double *first, double *last)
{
    *first = 0, *last = 1;
    if (range->tag != DP_TAG_NONE) {
        *first = as_double(dp_list_item(range, (size_t)(2 * d)));
        *last = as_double(dp_list_item(range, (size_t)(2 * d) + 1));
    } else if (points != NULL) {
        find_range(h, points, d, first, last);
    }
    if (!isfinite(*first) || !isfinite(*last))
        return dp_fail(ctx, DP_ERUNTIME,
                       "torch.histogramdd: dimension %d's range [%g, %g] is not finite", d, *first,
                       *last);
    if (*first > *last)
        return dp_fail(ctx, DP_ERUNTIME,
                       "torch.histogramdd: min should not exceed max, but got min %g max %g for "
                       "dimension %d",
                       *first, *last, d);
    if (*first == *last) {
        *first -= 0.5;
        *last += 0.5;
    }
    return 0;
}

/* Make h->edges for bins [h->dims] of equal width, in `range`; None: in the range of the points. */
static int linear_edges(dp_ctx *ctx, histogram *h, const int64_t *bins, const dp_value *range)
{
    pack p = {.ctx = ctx};
    double first, last;
    DP_VIEW(x, h->self);
    int rc = 0;

    if (range->tag != DP_TAG_NONE && range->len != 2 * (uint32_t)h->dims)
        return dp_fail(ctx, DP_ERUNTIME,
                       "torch.histogramdd: for a %d-dimensional histogram range should have %d "
                       "elements, but got %u",
                       h->dims, 2 * h->dims, range->len);
    for (int d = 0; rc == 0 && d < h->dims; d++)
        if (bins[d] < 0 || bins[d] == INT64_MAX)
            rc = dp_fail(ctx, DP_ERUNTIME, "bins must be > 0, but got %" PRId64 " for dimension %d",
                         bins[d], d);
    if (rc == 0 && range->tag == DP_TAG_NONE && h->n > 0)
        rc = dense_check_type(ctx, "histogramdd", x.dtype, DP_DTYPE_BITS(DP_DTYPES_FLOATING));
    if (rc < 0)
        return rc;
    bool own = range->tag == DP_TAG_NONE && h->n > 0;
    const double *points = pack_get(&p, own ? h->self : NULL, DP_FLOAT64);
    for (int d = 0; p.rc == 0 && d < h->dims; d++) {
        p.rc = range_of_dim(ctx, h, range, points, d, &first, &last);
        if (p.rc == 0)
            p.rc = make_edges(ctx, h, d, bins[d], first, last);
    }
    return pack_end(&p);
}

/* Set h->edges to copies of the given edges, bins [h->dims]. */
static int copy_edges(dp_ctx *ctx, histogram *h, dp_tensor *const *bins)
{
    DP_VIEW(x, h->self);
    int rc = 0;

    for (int d = 0; rc == 0 && d < h->dims; d++) {
        DP_VIEW(b, bins[d]);
        if (b.dtype != x.dtype)
            return dp_fail(
                ctx, DP_ERUNTIME,
                "torch.histogramdd: input tensor and bins tensors should have the same "
                "dtype, but got input with dtype %s and bins for dimension %d with dtype %s",
                dp_dtype_name(x.dtype), d, dp_dtype_name(b.dtype));
        if (b.ndim != 1)
            return dp_fail(ctx, DP_ERUNTIME,
                           "torch.histogramdd: bins tensor should have one dimension, but got %d "
                           "dimensions in the bins tensor for dimension %d",
                           b.ndim, d);
        if (b.numel == 0)
            return dp_fail(
                ctx, DP_ERUNTIME,
                "torch.histogramdd: bins tensor should have at least 1 element, but got 0 "
                "elements in the bins tensor for dimension %d",
                d);
        rc = dp_empty(ctx, x.dtype, x.device, 1, &b.numel, DP_CONTIGUOUS, &h->edges[d]);
        if (rc == 0)
            rc = dp_copy(ctx, h->edges[d], bins[d]);
    }
    return rc;
}

/* Divide `hist` by the widths of the bins of dimension `d`. */
static int divide_by_lengths(dp_ctx *ctx, const histogram *h, dp_tensor *hist, int d)
{
    dp_tensor *lower = NULL, *upper = NULL, *length = NULL, *shaped = NULL;
    int64_t sizes[DP_DIM_MAX];
    DP_VIEW(e, h->edges[d]);
    int rc = dp_invoke(ctx, "aten::narrow", "Tiii>T", h->edges[d], (int64_t)0, (int64_t)0,
                       e.numel - 1, &lower);

    for (int i = 0; i < h->dims; i++)
        sizes[i] = i == d ? e.numel - 1 : 1;
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::narrow", "Tiii>T", h->edges[d], (int64_t)0, (int64_t)1,
                       e.numel - 1, &upper);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::sub.Tensor", "TTs>T", upper, lower, dp_int(1), &length);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::reshape", "Tli>T", length, sizes, (size_t)h->dims, &shaped);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::div_.Tensor", "TT>", hist, shaped);
    dp_tensor_unref(lower);
    dp_tensor_unref(upper);
    dp_tensor_unref(length);
    dp_tensor_unref(shaped);
    return rc;
}

static int to_density(dp_ctx *ctx, const histogram *h, dp_tensor *hist)
{
    dp_tensor *total = NULL;
    int rc = dp_invoke(ctx, "aten::sum", "T>T", hist, &total);

    if (rc == 0)
        rc = dp_invoke(ctx, "aten::div_.Tensor", "TT>", hist, total);
    dp_tensor_unref(total);
    for (int d = 0; rc == 0 && d < h->dims; d++)
        rc = divide_by_lengths(ctx, h, hist, d);
    return rc;
}

/* Count the points of `h` in the bins of `hist`; if h->density, convert the counts to densities. */
static int fill_histogram(dp_ctx *ctx, histogram *h, dp_tensor *hist)
{
    binning c = {.n = h->n, .dims = h->dims, .method = h->method};
    pack p = {.ctx = ctx};
    DP_VIEW(x, h->self);

    c.points = pack_get(&p, h->self, x.dtype);
    c.weights = pack_get(&p, h->weight, x.dtype);
    for (int d = 0; d < h->dims; d++) {
        DP_VIEW(e, h->edges[d]);
        c.edges[d] = e.data;
        c.n_edges[d] = e.numel;
    }
    if (p.rc == 0)
        p.rc = bins_count(ctx, &c, hist);
    if (p.rc == 0 && h->density)
        p.rc = to_density(ctx, h, hist);
    return pack_end(&p);
}

/* Compute the histogram of `h`, whose edges are set, into *hist; NULL: a new tensor is made. */
static int write_histogram(dp_ctx *ctx, histogram *h, dp_tensor **hist)
{
    int64_t sizes[DP_DIM_MAX];
    bool given = *hist != NULL;
    DP_VIEW(x, h->self);
    int rc = check_weight(ctx, h);

    for (int d = 0; rc == 0 && d < h->dims; d++) {
        DP_VIEW(e, h->edges[d]);
        sizes[d] = e.numel - 1;
        if (sizes[d] == 0)
            rc = dp_fail(ctx, DP_ERUNTIME,
                         "torch.histogramdd(): bins must be > 0, but got 0 for dimension %d", d);
    }
    if (rc == 0)
        rc = dense_check_type(ctx, "histogram_cpu", x.dtype, DENSE_FLOATS);
    if (rc == 0)
        rc = dp_set_output(ctx, hist, h->dims, sizes, NULL, x.dtype, x.device);
    rc = rc < 0 ? dp_refuse(ctx, rc, NULL) : fill_histogram(ctx, h, *hist);
    if (rc < 0 && !given)
        *hist = dp_tensor_unref(*hist);
    return rc;
}

static dp_tensor *tensor_of(dp_value v)
{
    return v.tag == DP_TAG_TENSOR ? v.u.t : NULL;
}

/* Return both results of the operator histogram, or write them to the out= arguments, which follow
 * the call's first `n` arguments.  `rc` is the code of the earlier steps.  Release the edges. */
static int end_flat(dp_call *call, histogram *h, uint32_t n, int rc)
{
    bool given = call->n_args > n;
    dp_tensor *hist = given ? call->args[n].u.t : NULL;
    dp_tensor *edges = given ? call->args[n + 1].u.t : NULL;
    DP_VIEW(x, h->self);

    if (rc == 0 && given) {
        DP_VIEW(e, h->edges[0]);
        rc = dp_set_output(call->ctx, &edges, 1, e.sizes, NULL, x.dtype, x.device);
        if (rc == 0)
            rc = check_apart(call->ctx, edges, NULL, 0);
    }
    rc = rc < 0 ? dp_refuse(call->ctx, rc, NULL) : write_histogram(call->ctx, h, &hist);
    if (rc == 0 && given)
        rc = dp_copy(call->ctx, edges, h->edges[0]);
    if (rc == 0 && !given) {
        call->rets[0] = dp_tensor_value(hist);
        call->rets[1] = dp_tensor_value(dp_tensor_ref(h->edges[0]));
    }
    release_edges(h);
    return rc;
}

/* aten::histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None,
 *     bool density=False) -> (Tensor hist, Tensor bin_edges) */
static int histogram_bins(dp_call *call)
{
    histogram h = {.self = call->args[0].u.t,
                   .weight = tensor_of(call->args[3]),
                   .density = call->args[4].u.b,
                   .method = BINS_LINEAR_LOCAL};
    int rc = begin_flat(&h);

    if (rc == 0)
        rc = linear_edges(call->ctx, &h, &call->args[1].u.i, &call->args[2]);
    return end_flat(call, &h, 5, rc);
}

/* aten::histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, bool density=False)
 *     -> (Tensor hist, Tensor bin_edges) */
static int histogram_edges(dp_call *call)
{
    histogram h = {.self = call->args[0].u.t,
                   .weight = tensor_of(call->args[2]),
                   .density = call->args[3].u.b,
                   .method = BINS_SEARCH};
    int rc = begin_flat(&h);

    if (rc == 0)
        rc = copy_edges(call->ctx, &h, &call->args[1].u.t);
    return end_flat(call, &h, 4, rc);
}

/* aten::_histogramdd_bin_edges(Tensor self, int[] bins, *, float[]? range=None, Tensor?
 *     weight=None, bool density=False) -> Tensor[] */
static int bin_edges(dp_call *call)
{
    histogram h = {.self = call->args[0].u.t};
    int rc = begin_points(call->ctx, &h, call->args[1].len);
    dp_tensor **list = NULL;

    if (rc == 0)
        rc = linear_edges(call->ctx, &h, call->args[1].u.ints, &call->args[2]);
    if (rc == 0 && (list = dp_alloc(call->ctx, sizeof(h.edges))) == NULL)
        rc = DP_ERESOURCE;
    if (rc < 0) {
        release_edges(&h);
        return rc;
    }
    memcpy(list, h.edges, sizeof(h.edges));
    call->rets[0] = dp_tensors(list, (size_t)h.dims);
    return 0;
}

/* aten::_histogramdd_from_bin_cts(Tensor self, int[] bins, *, float[]? range=None, Tensor?
 *     weight=None, bool density=False) -> Tensor */
static int from_counts(dp_call *call)
{
    histogram h = {.self = call->args[0].u.t,
                   .weight = tensor_of(call->args[3]),
                   .density = call->args[4].u.b,
                   .method = BINS_LINEAR_LOCAL};
    dp_tensor *hist = NULL;
    int rc = begin_points(call->ctx, &h, call->args[1].len);

    if (rc == 0)
        rc = linear_edges(call->ctx, &h, call->args[1].u.ints, &call->args[2]);
    if (rc == 0)
        rc = write_histogram(call->ctx, &h, &hist);
    release_edges(&h);
    if (rc == 0)
        call->rets[0] = dp_tensor_value(hist);
    return rc;
}

/* aten::_histogramdd_from_bin_tensors(Tensor self, Tensor[] bins, *, Tensor? weight=None,
 *     bool density=False) -> Tensor */
static int from_edges(dp_call *call)
{
    histogram h = {.self = call->args[0].u.t,
                   .weight = tensor_of(call->args[2]),
                   .density = call->args[3].u.b,
                   .method = BINS_SEARCH};
    dp_tensor *hist = NULL;
    int rc = begin_points(call->ctx, &h, call->args[1].len);

    if (rc == 0)
        rc = copy_edges(call->ctx, &h, call->args[1].u.tensors);
    if (rc == 0)
        rc = write_histogram(call->ctx, &h, &hist);
    release_edges(&h);
    if (rc == 0)
        call->rets[0] = dp_tensor_value(hist);
    return rc;
}

DP_LIBRARY_META(aten, CPU, DP_IMPL("histogram.bin_ct", histogram_bins),
                DP_IMPL("histogram.bin_ct_out", histogram_bins),
                DP_IMPL("histogram.bins_tensor", histogram_edges),
                DP_IMPL("histogram.bins_tensor_out", histogram_edges),
                DP_IMPL("_histogramdd_bin_edges", bin_edges),
                DP_IMPL("_histogramdd_from_bin_cts", from_counts),
                DP_IMPL("_histogramdd_from_bin_tensors", from_edges))

/* -- histc -- */

/* Complete the range of histc: if *first and *last are equal, take the range of the elements, and
 * widen that range by 1 at both ends if its ends are equal, too. */
static int histc_range(dp_ctx *ctx, const histogram *h, double *first, double *last)
{
    if (*first == *last && h->n > 0 && !dp_memoryless(ctx)) {
        pack p = {.ctx = ctx};
        const double *points = pack_get(&p, h->self, DP_FLOAT64);
        if (p.rc == 0)
            find_range(h, points, 0, first, last);
        int rc = pack_end(&p);
        if (rc < 0)
            return rc;
    }
    if (*first == *last) {
        *first -= 1;
        *last += 1;
    }
    if (!isfinite(*first) || !isfinite(*last))
        return dp_fail(ctx, DP_ERUNTIME, "torch.histc: range of [%g, %g] is not finite", *first,
                       *last);
    if (*first > *last)
        return dp_fail(ctx, DP_ERUNTIME, "torch.histc: max must be larger than min");
    return 0;
}

/* Run histc into *out; NULL: a new tensor is made. */
static int write_histc(dp_ctx *ctx, dp_tensor *self, int64_t bins, dp_value min, dp_value max,
                       dp_tensor **out)
{
    histogram h = {.self = self, .flat = true, .dims = 1, .method = BINS_LINEAR};
    double first, last;
    DP_VIEW(x, self);
    int rc = dense_check_type(ctx, "histogram_cpu", x.dtype, DENSE_FLOATS);

    h.n = x.numel;
    if (rc == 0 && (bins <= 0 || bins == INT64_MAX))
        rc = dp_fail(ctx, DP_ERUNTIME,
                     "torch.histogramdd(): bins must be > 0, but got %" PRId64 " for dimension 0",
                     bins);
    if (rc == 0 && (min.tag == DP_TAG_COMPLEX || max.tag == DP_TAG_COMPLEX))
        rc = dp_fail(ctx, DP_ERUNTIME, "histc takes no complex numbers");
    if (rc < 0)
        return rc;
    first = as_double(min), last = as_double(max);
    rc = histc_range(ctx, &h, &first, &last);
    if (rc == 0)
        rc = make_edges(ctx, &h, 0, bins, first, last);
    if (rc == 0)
        rc = write_histogram(ctx, &h, out);
    release_edges(&h);
    return rc;
}

/* aten::histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor */
static int histc(dp_ctx *ctx, dp_tensor *self, int64_t bins, dp_value min, dp_value max,
                 dp_tensor **out)
{
    *out = NULL;
    return write_histc(ctx, self, bins, min, max, out);
}

/* aten::histc.out(Tensor self, int bins=100, Scalar min=0, Scalar max=0, *, Tensor(a!) out)
 *     -> Tensor(a!) */
static int histc_out(dp_ctx *ctx, dp_tensor *self, int64_t bins, dp_value min, dp_value max,
                     dp_tensor *out)
{
    return write_histc(ctx, self, bins, min, max, &out);
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("histc", histc, (T, i, s, s), (T)),
                DP_IMPL_UNBOXED("histc.out", histc_out, (T, i, s, s, T), ()))
