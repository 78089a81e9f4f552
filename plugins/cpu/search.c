/* search.c -- searchsorted and bucketize: where values belong among sorted ones
 * (aten/src/ATen/native/Bucketization.cpp).
 *
 * Both sides are brought to their common dtype, and from there to int64 or float64, which hold every
 * value of it. */
#include "along.h"
#include "order.h"

/* Refuses what has no order. */
static int check_ordered(dp_ctx *ctx, const char *what, dp_dtype dtype)
{
    if (dtype != DP_BOOL && !dp_dtype_is_complex(dtype))
        return 0;
    return dp_fail(ctx, DP_ERUNTIME, "\"%s\" not implemented for '%s'", what, dp_dtype_name(dtype));
}

/* -- searchsorted -- */

typedef struct searching {
    dp_view values, from;  /* packed, both int64 or both float64 */
    const int64_t *sorter; /* the order of `from` in each row; NULL: as it lies */
    int64_t row, asked;    /* elements of a row of `from`; values that are looked up in it */
    bool right;
    dp_view out; /* packed */
} searching;

#define LOOKUP(name, type)                                                                         \
    static int64_t name(const searching *s, int64_t first, type value)                             \
    {                                                                                              \
        const type *from = (const type *)s->from.data + first;                                     \
        int64_t low = 0, high = s->row;                                                            \
        while (low < high) {                                                                       \
            int64_t mid = low + (high - low) / 2;                                                  \
            type at = from[s->sorter ? s->sorter[first + mid] : mid];                              \
            if (s->right ? at > value : at >= value)                                               \
                high = mid;                                                                        \
            else                                                                                   \
                low = mid + 1;                                                                     \
        }                                                                                          \
        return low;                                                                                \
    }
LOOKUP(lookup_int, int64_t)
LOOKUP(lookup_double, double)

static void search_range(int64_t begin, int64_t end, void *user)
{
    const searching *s = user;

    for (int64_t i = begin; i < end; i++) {
        int64_t first = s->from.ndim == 1 ? 0 : i / s->asked * s->row;
        int64_t at = s->from.dtype == DP_INT64
                         ? lookup_int(s, first, ((const int64_t *)s->values.data)[i])
                         : lookup_double(s, first, ((const double *)s->values.data)[i]);
        if (s->out.dtype == DP_INT32)
            ((int32_t *)s->out.data)[i] = (int32_t)at;
        else
            ((int64_t *)s->out.data)[i] = at;
    }
}

/* What a call asks for. */
typedef struct search {
    dp_tensor *from, *values, *sorter; /* sorter may be NULL */
    bool right;
    dp_dtype dtype; /* of the result */
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

static int check_sorter(dp_ctx *ctx, const search *s)
{
    along a;
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
    if (x.ndim == 0)
        return 0;
    along_each(&a, s->from, x.ndim - 1, s->sorter);
    a.what = "torch.searchsorted(): sorter index out of range: ";
    return along_check(ctx, &a);
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

static int find_places(dp_ctx *ctx, const search *s, dp_tensor **out)
{
    dp_tensor *from = NULL, *values = NULL, *sorter = NULL, *both[] = {s->from, s->values};
    DP_VIEW(v, s->values);
    dp_dtype dtype = dp_result_type(both, 2);
    int rc = check_search(ctx, s);

    if (rc == 0 && s->sorter)
        rc = check_sorter(ctx, s);
    if (rc == 0 && v.numel > 0)
        rc = check_ordered(ctx, "searchsorted_out_cpu", dtype);
    if (rc == 0)
        rc = dp_empty(ctx, s->dtype, v.device, v.ndim, v.sizes, DP_CONTIGUOUS, out);
    if (rc < 0 || v.numel == 0 || dp_memoryless(ctx))
        return rc;
    rc = order_widen(ctx, s->from, dtype, &from);
    if (rc == 0)
        rc = order_widen(ctx, s->values, dtype, &values);
    if (rc == 0 && s->sorter)
        rc = dp_invoke(ctx, "aten::contiguous", "T>T", s->sorter, &sorter);
    if (rc == 0)
        rc = fill_places(ctx, s, from, values, sorter, *out);
    dp_tensor_unref(from);
    dp_tensor_unref(values);
    dp_tensor_unref(sorter);
    return along_end(rc, false, out);
}

/* aten::searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False,
 *     bool right=False, str? side=None, Tensor? sorter=None) -> Tensor */
static int searchsorted(dp_ctx *ctx, dp_tensor *from, dp_tensor *self, bool out_int32, bool right,
                        dp_str side, dp_tensor *sorter, dp_tensor **out)
{
    bool named = side.s != NULL, to_right = named && along_is(side, "right");
    search s = {from, self, sorter, right || to_right, out_int32 ? DP_INT32 : DP_INT64};

    if (named && !to_right && !along_is(side, "left"))
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
