/* bucketization.c -- searchsorted and bucketize, which find the positions of values in sorted
 * tensors (aten/src/ATen/native/Bucketization.cpp).
 *
 * Both operands are converted to their common dtype, and then to int64, float32 or float64, which
 * can represent all its values. */
#include "index/gather_scatter.h"

/* Refuse complex dtypes, which have no order. */
static int check_ordered(dp_ctx *ctx, const char *what, dp_dtype dtype)
{
    if (dtype != DP_BOOL && !dp_dtype_is_complex(dtype))
        return 0;
    return dp_fail(ctx, DP_ERUNTIME, "\"%s\" not implemented for '%s'", what, dp_dtype_name(dtype));
}

/* -- searchsorted -- */

/* number of values that are looked up at a time, so that no lookup waits for the loads of
 * another */
enum { TOGETHER = 8 };

typedef struct searching {
    dp_view values, from; /* contiguous, of the same dtype */
    /* order of the elements in each row of `from`; NULL: the row is sorted */
    const int64_t *sorter;
    /* elements of a row of `from`; number of values that are looked up in it */
    int64_t row, asked;
    bool right;
    dp_view out; /* contiguous */
} searching;

/* Define a function that finds the positions of `n` <= TOGETHER values v, each in the row that
 * begins at first[k].  It bisects the range [low, low + left) of each value without a branch, at
 * PyTorch's positions, so that rows with NaN give the same results.  After the loop, `left` is at
 * most 1. */
#define LOOKUP(type)                                                                               \
    __attribute__((always_inline)) static inline void lookup_##type(                               \
        const type *from, const int64_t *sorter, const int64_t *first, int64_t row, const type *v, \
        int n, bool right, int64_t *low)                                                           \
    {                                                                                              \
        int64_t left[TOGETHER];                                                                    \
        for (int k = 0; k < n; k++)                                                                \
            low[k] = first[k], left[k] = row;                                                      \
        for (int64_t least = row; least > 0; least = (least - 1) / 2)                              \
            for (int k = 0; k < n; k++) {                                                          \
                int64_t half = left[k] >> 1, mid = low[k] + half;                                  \
                type at = from[sorter ? first[k] + sorter[mid] : mid];                             \
                int64_t more = !(right ? at > v[k] : at >= v[k]);                                  \
                low[k] += (half + 1) & -more;                                                      \
                left[k] = (left[k] - more) >> 1;                                                   \
            }                                                                                      \
        for (int k = 0; k < n; k++) {                                                              \
            int64_t mid = low[k] - (left[k] == 0);                                                 \
            mid = mid < first[k] ? first[k] : mid;                                                 \
            type at = from[sorter ? first[k] + sorter[mid] : mid];                                 \
            low[k] += (left[k] > 0) & !(right ? at > v[k] : at >= v[k]);                           \
            low[k] -= first[k];                                                                    \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static void search_##type(const searching *s, const int64_t *first, int64_t i, int n,          \
                              int64_t *low)                                                        \
    {                                                                                              \
        const type *from = s->from.data, *v = (const type *)s->values.data + i;                    \
        if (s->sorter || n < TOGETHER)                                                             \
            for (int k = 0; k < n; k++)                                                            \
                lookup_##type(from, s->sorter, first + k, s->row, v + k, 1, s->right, low + k);    \
        else if (s->right)                                                                         \
            lookup_##type(from, NULL, first, s->row, v, TOGETHER, true, low);                      \
        else                                                                                       \
            lookup_##type(from, NULL, first, s->row, v, TOGETHER, false, low);                     \
    }
LOOKUP(int64_t)
LOOKUP(float)
LOOKUP(double)

/* Search for `n` values, from value `i` on. */
static void search_few(const searching *s, const int64_t *first, int64_t i, int n, int64_t *low)
{
    if (s->row == 0)
        dp_zero_n(low, (size_t)n, sizeof(*low));
    else if (s->from.dtype == DP_INT64)
        search_int64_t(s, first, i, n, low);
    else if (s->from.dtype == DP_FLOAT32)
        search_float(s, first, i, n, low);
    else
        search_double(s, first, i, n, low);
}

static void search_range(int64_t begin, int64_t end, void *user)
{
    const searching *s = user;
    int64_t low[TOGETHER], first[TOGETHER] = {0};
    int64_t row = begin / s->asked, in_row = begin % s->asked;

    for (int64_t i = begin; i < end; i += TOGETHER) {
        int n = end - i < TOGETHER ? (int)(end - i) : TOGETHER;
        for (int k = 0; k < n && s->from.ndim > 1; k++) {
            first[k] = row * s->row;
            row += ++in_row == s->asked;
            in_row = in_row == s->asked ? 0 : in_row;
        }
        search_few(s, first, i, n, low);
        for (int k = 0; k < n; k++)
            if (s->out.dtype == DP_INT32)
                ((int32_t *)s->out.data)[i + k] = (int32_t)low[k];
            else
                ((int64_t *)s->out.data)[i + k] = low[k];
    }
}

/* arguments of a call */
typedef struct search {
    dp_tensor *from, *values, *sorter; /* sorter may be NULL */
    bool right;
    dp_dtype dtype; /* dtype of the result */
} search;

static int check_search(dp_ctx *ctx, const search *s)
{
    char a[DP_SHAPE_TEXT], b[DP_SHAPE_TEXT];
    DP_VIEW(x, s->from);
    DP_VIEW(v, s->values);
    bool fits = x.ndim == v.ndim;

    if (v.ndim == 0 && x.ndim != 1)
        return dp_fail(
            ctx, DP_ERUNTIME,
            "torch.searchsorted(): input value can be a scalar only when boundaries tensor "
            "dimension is 1, but we got boundaries tensor dim(%d) and input value's dim(0) "
            "numel(1)",
            x.ndim);
    if (x.ndim == 0)
        return dp_fail(
            ctx, DP_ERUNTIME,
            "torch.searchsorted(): boundaries tensor should have positive dimension, but "
            "got 0 dimension");
    for (int d = 0; fits && d < x.ndim - 1; d++)
        fits = x.sizes[d] == v.sizes[d];
    if (x.ndim != 1 && !fits)
        return dp_fail(
            ctx, DP_ERUNTIME,
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 "
            "dimensions of boundaries tensor and input value tensor must match, but we got "
            "boundaries tensor %s and input value tensor %s",
            dp_shape_text(a, x.sizes, (size_t)x.ndim), dp_shape_text(b, v.sizes, (size_t)v.ndim));
    if (s->dtype == DP_INT32 && x.sizes[x.ndim - 1] >= INT32_MAX)
        return dp_fail(
            ctx, DP_ERUNTIME,
            "torch.searchsorted(): the size of boundaries' last dimension should be less "
            "than %d, but we got %" PRId64,
            INT32_MAX, x.sizes[x.ndim - 1]);
    return 0;
}

/* Check the sorter, and set *copy, owned, to a contiguous copy, so that no other thread can change
 * it after the check. */
static int check_sorter(dp_ctx *ctx, const search *s, dp_tensor **copy)
{
    const int64_t packed = DP_CONTIGUOUS;
    gs_call a;
    char p[DP_SHAPE_TEXT], q[DP_SHAPE_TEXT];
    DP_VIEW(x, s->from);
    DP_VIEW(o, s->sorter);

    if (o.ndim != x.ndim || memcmp(o.sizes, x.sizes, (size_t)x.ndim * sizeof(int64_t)) != 0)
        return dp_fail(ctx, DP_ERUNTIME,
                       "torch.searchsorted(): boundary and sorter must have the same size, but got "
                       "boundary tensor %s and got sorter tensor %s",
                       dp_shape_text(p, x.sizes, (size_t)x.ndim),
                       dp_shape_text(q, o.sizes, (size_t)o.ndim));
    if (o.dtype != DP_INT64)
        return dp_fail(
            ctx, DP_ERUNTIME,
            "torch.searchsorted(): sorter must be a tensor of long dtype but got dtype %s",
            dp_dtype_name(o.dtype));
    int rc = dp_invoke(ctx, "aten::clone", "Toi>T", s->sorter, &packed, copy);
    if (rc < 0 || x.ndim == 0)
        return rc;
    gs_init_each(&a, s->from, x.ndim - 1, *copy);
    a.what = "torch.searchsorted(): sorter index out of range: ";
    return gs_check(ctx, &a);
}

static int fill_places(dp_ctx *ctx, const search *s, dp_tensor *from, dp_tensor *values,
                       dp_tensor *sorter, dp_tensor *out)
{
    DP_VIEW(x, from);
    DP_VIEW(v, values);
    DP_VIEW(y, out);
    searching job = {v,        x, NULL, x.sizes[x.ndim - 1], v.ndim ? v.sizes[v.ndim - 1] : 1,
                     s->right, y};

    if (sorter) {
        DP_VIEW(o, sorter);
        job.sorter = o.data;
    }
    return dp_parallel_for(ctx, 0, v.numel, 1024, search_range, &job);
}

/* Set *out, owned, to `t` converted to `dtype`, and then to a dtype that can represent all its
 * values; contiguous. */
static int widen(dp_ctx *ctx, dp_tensor *t, dp_dtype dtype, dp_tensor **out)
{
    dp_dtype wide = dp_dtype_is_integral(dtype, true) ? DP_INT64
                    : dtype == DP_FLOAT64             ? DP_FLOAT64
                                                      : DP_FLOAT32;
    dp_tensor *cast, *exact = NULL;
    DP_VIEW(x, t);

    if (x.dtype == wide && dtype == wide && dp_tensor_is_contiguous(t, DP_CONTIGUOUS)) {
        *out = dp_tensor_ref(t);
        return 0;
    }
    int rc = dp_invoke(ctx, "aten::to.dtype", "Ti>T", t, (int64_t)dtype, &cast);

    if (rc == 0) {
        rc = dp_invoke(ctx, "aten::to.dtype", "Ti>T", cast, (int64_t)wide, &exact);
        dp_tensor_unref(cast);
    }
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::contiguous", "T>T", exact, out);
    dp_tensor_unref(exact);
    return rc;
}

static int find_places(dp_ctx *ctx, const search *s, dp_tensor **out)
{
    dp_tensor *from = NULL, *values = NULL, *sorter = NULL, *both[] = {s->from, s->values};
    DP_VIEW(v, s->values);
    dp_dtype dtype = dp_result_type(both, 2);
    int rc = check_search(ctx, s);

    *out = NULL;
    if (rc == 0 && s->sorter)
        rc = check_sorter(ctx, s, &sorter);
    if (rc == 0 && v.numel > 0)
        rc = check_ordered(ctx, "searchsorted_out_cpu", dtype);
    if (rc == 0)
        rc = dp_empty(ctx, s->dtype, v.device, v.ndim, v.sizes, DP_CONTIGUOUS, out);
    bool any = v.numel > 0 && !dp_memoryless(ctx);
    if (rc == 0 && any)
        rc = widen(ctx, s->from, dtype, &from);
    if (rc == 0 && any)
        rc = widen(ctx, s->values, dtype, &values);
    if (rc == 0 && any)
        rc = fill_places(ctx, s, from, values, sorter, *out);
    dp_tensor_unref(from);
    dp_tensor_unref(values);
    dp_tensor_unref(sorter);
    return gs_end(rc, false, out);
}

/* aten::searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False,
 *     bool right=False, str? side=None, Tensor? sorter=None) -> Tensor */
static int searchsorted(dp_ctx *ctx, dp_tensor *from, dp_tensor *self, bool out_int32, bool right,
                        dp_str side, dp_tensor *sorter, dp_tensor **out)
{
    bool named = side.s != NULL, to_right = named && gs_is(side, "right");
    search s = {from, self, sorter, right || to_right, out_int32 ? DP_INT32 : DP_INT64};

    if (named && !to_right && !gs_is(side, "left"))
        return dp_fail(ctx, DP_ERUNTIME,
                       "torch.searchsorted(): side can only be 'left' or 'right' but got %.*s",
                       (int)side.len, side.s);
    if (named && right && !to_right)
        return dp_fail(
            ctx, DP_ERUNTIME,
            "torch.searchsorted(): side and right can't be set to opposites, got side of "
            "left while right was True");
    return find_places(ctx, &s, out);
}

/* aten::searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False,
 *     bool right=False, str? side=None, Tensor? sorter=None) -> Tensor */
static int searchsorted_scalar(dp_ctx *ctx, dp_tensor *from, dp_value self, bool out_int32,
                               bool right, dp_str side, dp_tensor *sorter, dp_tensor **out)
{
    dp_tensor *t;
    int rc = dp_scalar_tensor(ctx, self, DP_DTYPE_NONE, &t);

    if (rc < 0)
        return rc;
    dp_tensor_set_wrapped(t, true);
    rc = searchsorted(ctx, from, t, out_int32, right, side, sorter, out);
    dp_tensor_unref(t);
    return rc;
}

/* aten::bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False)
 *     -> Tensor */
static int bucketize(dp_ctx *ctx, dp_tensor *self, dp_tensor *boundaries, bool out_int32,
                     bool right, dp_tensor **out)
{
    search s = {boundaries, self, NULL, right, out_int32 ? DP_INT32 : DP_INT64};
    DP_VIEW(b, boundaries);

    if (b.ndim != 1)
        return dp_fail(ctx, DP_ERUNTIME, "boundaries tensor must be 1 dimension, but got dim(%d)",
                       b.ndim);
    return find_places(ctx, &s, out);
}

/* aten::bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False)
 *     -> Tensor */
static int bucketize_scalar(dp_ctx *ctx, dp_value self, dp_tensor *boundaries, bool out_int32,
                            bool right, dp_tensor **out)
{
    dp_tensor *t;
    int rc = dp_scalar_tensor(ctx, self, DP_DTYPE_NONE, &t);

    if (rc < 0)
        return rc;
    dp_tensor_set_wrapped(t, true);
    rc = bucketize(ctx, t, boundaries, out_int32, right, out);
    dp_tensor_unref(t);
    return rc;
}

DP_LIBRARY_META(aten, CPU,
                DP_IMPL_UNBOXED("searchsorted.Tensor", searchsorted, (T, T, b, b, oS, oT), (T)),
                DP_IMPL_UNBOXED("searchsorted.Scalar", searchsorted_scalar, (T, s, b, b, oS, oT),
                                (T)),
                DP_IMPL_UNBOXED("bucketize.Tensor", bucketize, (T, T, b, b), (T)),
                DP_IMPL_UNBOXED("bucketize.Scalar", bucketize_scalar, (s, T, b, b), (T)))
