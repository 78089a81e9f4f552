/* segment_reduce.c -- segment_reduce, which reduces segments of neighbouring elements along a
 * dimension, and its gradient (aten/src/ATen/native/SegmentReduce.cpp).  16-bit floats are rounded
 * after every operation.
 *
 * Operators: segment_reduce, _segment_reduce_backward. */
#include "index/gather_scatter.h"
#include "core/dense.h"
#include "core/pack.h"
#include <dispatchd/dtypes.h>

typedef enum reduction { MAX, MEAN, MIN, SUM, PROD } reduction;

/* One call.  All tensors are contiguous.  `data` has sizes [outer, n, inner], where n is the size
 * of the reduced dimension; `output` and its gradient have sizes [outer, count, inner], where count
 * is the number of segments. */
typedef struct segments {
    reduction op;
    bool has_initial;
    double initial;
    int64_t outer, n, inner, count;
    const int64_t *begin; /* [outer, count + 1]: first index of each segment, then the end */
    const void *data, *grad;
    void *output, *grad_data; /* one of them is the result, the other an input or unused */
} segments;

#define SEGMENTED(X) DP_DTYPES_FLOATING(X) DP_DTYPES_REDUCED_FLOATING(X)

#define REDUCE(name, dtype, memory, value, load, store)                                            \
    static value start_##name(const segments *s)                                                   \
    {                                                                                              \
        static const double none[] = {                                                             \
            [MAX] = -HUGE_VAL, [MEAN] = 0, [MIN] = HUGE_VAL, [SUM] = 0, [PROD] = 1};               \
        return load(store((value)(s->has_initial ? s->initial : none[s->op])));                    \
    }                                                                                              \
    static value step_##name(reduction op, value a, value b)                                       \
    {                                                                                              \
        switch (op) {                                                                              \
        case MAX:                                                                                  \
            return b != b ? b : a < b ? b : a;                                                     \
        case MIN:                                                                                  \
            return b != b ? b : b < a ? b : a;                                                     \
        case PROD:                                                                                 \
            return load(store(a * b));                                                             \
        default:                                                                                   \
            return load(store(a + b));                                                             \
        }                                                                                          \
    }                                                                                              \
    static void reduce_##name(int64_t first, int64_t end, void *user)                              \
    {                                                                                              \
        const segments *s = user;                                                                  \
        for (int64_t unit = first; unit < end; unit++) {                                           \
            int64_t outer = unit / s->count, k = unit % s->count;                                  \
            const int64_t *at = s->begin + outer * (s->count + 1) + k;                             \
            for (int64_t i = 0; i < s->inner; i++) {                                               \
                value sum = start_##name(s);                                                       \
                const memory *x = (const memory *)s->data + outer * s->n * s->inner + i;           \
                for (int64_t j = at[0]; j < at[1]; j++)                                            \
                    sum = step_##name(s->op, sum, load(x[j * s->inner]));                          \
                if (s->op == MEAN && at[1] > at[0])                                                \
                    sum /= load(store((value)(at[1] - at[0])));                                    \
                else if (s->op == MEAN && !s->has_initial)                                         \
                    sum = (value)NAN;                                                              \
                ((memory *)s->output)[unit * s->inner + i] = store(sum);                           \
            }                                                                                      \
        }                                                                                          \
    }
SEGMENTED(REDUCE)

/* -- gradients: from one element of the output to the `n` elements of its segment, whose stride is
 * `step` elements -- */

#define BACKWARD(name, dtype, memory, value, load, store)                                          \
    /* Set `to` to `grad` where x is `output` or NaN.  If these are several elements and `grad` */ \
    /* is above 0, divide it by their number; PyTorch, too, does not divide negative gradients. */ \
    static void extremes_##name(const memory *x, int64_t n, int64_t step, value output,            \
                                value grad, memory *to)                                            \
    {                                                                                              \
        int64_t count = 0;                                                                         \
        for (int64_t j = 0; j < n * step; j += step) {                                             \
            value v = load(x[j]);                                                                  \
            if (v == v && v != output)                                                             \
                continue;                                                                          \
            to[j] = store(grad);                                                                   \
            count++;                                                                               \
        }                                                                                          \
        for (int64_t j = 0; count > 1 && j < n * step; j += step)                                  \
            if (load(to[j]) > 0)                                                                   \
                to[j] = store(load(to[j]) / load(store((value)count)));                            \
    }                                                                                              \
    static void factors_##name(const segments *s, const memory *x, int64_t n, int64_t step,        \
                               value output, value grad, memory *to)                               \
    {                                                                                              \
        value whole = load(store(grad * output));                                                  \
        for (int64_t j = 0; j < n * step; j += step) {                                             \
            value v = load(x[j]), product = start_##name(s);                                       \
            if (v == v && v != 0) {                                                                \
                to[j] = store(whole / v);                                                          \
                continue;                                                                          \
            }                                                                                      \
            for (int64_t k = 0; k < n * step; k += step)                                           \
                if (k != j)                                                                        \
                    product = load(store(product * load(x[k])));                                   \
            to[j] = store(grad * product);                                                         \
        }                                                                                          \
    }                                                                                              \
    static void backward_##name(int64_t first, int64_t end, void *user)                            \
    {                                                                                              \
        const segments *s = user;                                                                  \
        for (int64_t unit = first; unit < end; unit++) {                                           \
            int64_t outer = unit / s->count, k = unit % s->count;                                  \
            const int64_t *at = s->begin + outer * (s->count + 1) + k;                             \
            for (int64_t i = 0; at[1] > at[0] && i < s->inner; i++) {                              \
                int64_t n = at[1] - at[0], from = (outer * s->n + at[0]) * s->inner + i;           \
                const memory *x = (const memory *)s->data + from;                                  \
                memory *to = (memory *)s->grad_data + from;                                        \
                value grad = load(((const memory *)s->grad)[unit * s->inner + i]);                 \
                value output = load(((const memory *)s->output)[unit * s->inner + i]);             \
                if (s->op == MAX || s->op == MIN)                                                  \
                    extremes_##name(x, n, s->inner, output, grad, to);                             \
                else if (s->op == PROD)                                                            \
                    factors_##name(s, x, n, s->inner, output, grad, to);                           \
                else                                                                               \
                    for (int64_t j = 0; j < n; j++)                                                \
                        to[j * s->inner] =                                                         \
                            store(s->op == MEAN ? grad / load(store((value)n)) : grad);            \
            }                                                                                      \
        }                                                                                          \
    }
SEGMENTED(BACKWARD)

static const struct {
    dp_range_fn reduce, backward;
} loops[DP_DTYPE_END] = {
#define LOOPS(name, dtype, ...) [dtype] = {reduce_##name, backward_##name},
    SEGMENTED(LOOPS)};

/* -- bounds of segments -- */

typedef struct segment_call {
    dp_tensor *data, *lengths, *offsets; /* lengths or offsets may be NULL */
    dp_str reduce;
    int64_t axis;
    bool unsafe;
    const dp_value *initial; /* NULL: not given */
} segment_call;

static int find_reduction(dp_ctx *ctx, dp_str reduce, reduction *op)
{
    static const struct {
        const char *name;
        reduction op;
    } names[] = {{"max", MAX}, {"mean", MEAN}, {"min", MIN}, {"sum", SUM}, {"prod", PROD}};

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (gs_is(reduce, names[i].name)) {
            *op = names[i].op;
            return 0;
        }
    return dp_fail(
        ctx, DP_ERUNTIME,
        "segment_reduce(): unsupported reduction '%.*s': one of max, mean, min, sum and prod "
        "is wanted",
        (int)reduce.len, reduce.s);
}

/* Check `at`, the lengths or offsets of call `c`: its last dimension must be the axis, the
 * dimensions before the axis must have the sizes of data `x`, its dtype must be int32 or int64, and
 * there must be at least one offset.  DP_ERUNTIME: `at` is refused. */
static int check_bounds(dp_ctx *ctx, const segment_call *c, const dp_view *x, const dp_view *at)
{
    const char *what = c->offsets ? "offsets" : "lengths";
    char a[DP_SHAPE_TEXT], b[DP_SHAPE_TEXT];

    if (c->axis != at->ndim - 1)
        return dp_fail(
            ctx, DP_ERUNTIME,
            "segment_reduce(): Expected axis to be the last dimension of %s but got %" PRId64 ".",
            what, c->axis);
    for (int d = 0; d < c->axis; d++)
        if (at->sizes[d] != x->sizes[d])
            return dp_fail(ctx, DP_ERUNTIME,
                           "segment_reduce(): %s of shape %s do not go with data of shape %s", what,
                           dp_shape_text(a, at->sizes, (size_t)at->ndim),
                           dp_shape_text(b, x->sizes, (size_t)x->ndim));
    if (at->dtype != DP_INT32 && at->dtype != DP_INT64)
        return dp_fail(ctx, DP_ERUNTIME,
                       "\"_segment_reduce_%s_cpu_kernel1\" not implemented for '%s'", what,
                       dense_type_name(at->dtype));
    if (c->offsets && at->sizes[at->ndim - 1] == 0)
        return dp_fail(ctx, DP_ERUNTIME, "segment_reduce(): there are no offsets");
    return 0;
}

/* Compute begin [count + 1] from one row of lengths or offsets, `given`.
 * DP_ERUNTIME: a segment is not inside the data, or the lengths do not sum to `n` and the call is
 * not `unsafe` (the argument of segment_reduce). */
static int find_row_bounds(dp_ctx *ctx, const segment_call *c, const segments *s,
                           const int64_t *given, int64_t *begin)
{
    begin[0] = c->offsets ? given[0] : 0;
    for (int64_t k = 0; k < s->count; k++) {
        if (!c->offsets && given[k] < 0)
            return dp_fail(ctx, DP_ERUNTIME, "lengths contains negative value!");
        if (c->offsets)
            begin[k + 1] = given[k + 1];
        else if (__builtin_add_overflow(begin[k], given[k], &begin[k + 1]))
            begin[k + 1] = INT64_MAX;
        if (begin[k] < 0 || begin[k + 1] < begin[k] || begin[k + 1] > s->n)
            return dp_fail(ctx, DP_ERUNTIME,
                           "segment_reduce(): a segment goes from %" PRId64 " to %" PRId64
                           ", but data has size %" PRId64 " along axis",
                           begin[k], begin[k + 1], s->n);
    }
    if (!c->offsets && !c->unsafe && begin[s->count] != s->n)
        return dp_fail(ctx, DP_ERUNTIME,
                       "segment_reduce(): Expected all rows of lengths along axis to sum to "
                       "data.size(lengths.dim()-1) when !unsafe.");
    return 0;
}

static int find_bounds(dp_ctx *ctx, const segment_call *c, segments *s)
{
    dp_tensor *at = c->offsets ? c->offsets : c->lengths;
    pack p = {.ctx = ctx};
    const int64_t *given = pack_own(&p, at, DP_INT64);
    int64_t *begin = pack_array(&p, s->outer * (s->count + 1), sizeof(int64_t));
    DP_VIEW(v, at);
    int64_t row = v.ndim ? v.sizes[v.ndim - 1] : 0;

    s->begin = begin;
    for (int64_t i = 0; p.rc == 0 && i < s->outer; i++)
        p.rc = find_row_bounds(ctx, c, s, given + i * row, begin + i * (s->count + 1));
    return pack_end(&p);
}

/* Check the call and set `s`, except the pointers to the elements of tensors. */
static int begin_segments(dp_ctx *ctx, segment_call *c, segments *s)
{
    DP_VIEW(x, c->data);
    int rc = wrap_dim(ctx, &c->axis, x.ndim);

    *s = (segments){.outer = 1, .inner = 1};
    if (rc == 0)
        rc = find_reduction(ctx, c->reduce, &s->op);
    if (rc == 0 && c->lengths == NULL && c->offsets == NULL)
        rc = dp_fail(ctx, DP_ERUNTIME,
                     "segment_reduce(): Either lengths or offsets must be defined.");
    if (rc < 0)
        return rc;
    DP_VIEW(at, c->offsets ? c->offsets : c->lengths);
    if (x.ndim == 0 || at.ndim > x.ndim)
        return dp_fail(ctx, DP_ERUNTIME, "Expected data.dim() >= lengths.dim(), %d and %d", x.ndim,
                       at.ndim);
    rc = check_bounds(ctx, c, &x, &at);
    if (rc == 0)
        rc = dense_check_type(ctx, "_segment_reduce_cpu", x.dtype,
                              DENSE_FLOATS | DENSE_BIT(DP_FLOAT16));
    if (rc < 0)
        return rc;
    for (int d = 0; d < x.ndim; d++)
        *(d < c->axis ? &s->outer : &s->inner) *= d == c->axis ? 1 : x.sizes[d];
    s->n = x.sizes[c->axis];
    s->count = at.sizes[at.ndim - 1] - (c->offsets != NULL);
    if (c->initial != NULL && (rc = check_fits(ctx, *c->initial, x.dtype)) < 0)
        return rc;
    s->has_initial = c->initial != NULL;
    s->initial = c->initial ? as_double(*c->initial) : 0;
    return dp_memoryless(ctx) ? 0 : find_bounds(ctx, c, s);
}

static int run_segments(dp_ctx *ctx, segments *s, dp_range_fn loop)
{
    double each = (double)s->inner * ((double)s->n / (double)(s->count ? s->count : 1) + 1);

    return dp_memoryless(ctx)
               ? 0
               : dp_parallel_for(ctx, 0, s->outer * s->count, dense_grain(each), loop, s);
}

/* -- operators -- */

/* aten::segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None,
 *     Tensor? offsets=None, int axis=0, bool unsafe=False, Scalar? initial=None) -> Tensor */
static int segment_reduce(dp_ctx *ctx, dp_tensor *data, dp_str reduce, dp_tensor *lengths,
                          dp_tensor *indices, dp_tensor *offsets, int64_t axis, bool unsafe,
                          const dp_value *initial, dp_tensor **out)
{
    segment_call c = {data, lengths, offsets, reduce, axis, unsafe, initial};
    pack p = {.ctx = ctx};
    int64_t sizes[DP_DIM_MAX];
    segments s;
    DP_VIEW(x, data);

    *out = NULL;
    if (indices != NULL)
        return dp_fail(ctx, DP_ERUNTIME,
                       "segment_reduce(): indices based reduction is not supported yet.");
    int rc = begin_segments(ctx, &c, &s);
    if (rc < 0)
        return rc;
    dp_copy_n(sizes, x.sizes, (size_t)x.ndim, sizeof(int64_t));
    sizes[c.axis] = s.count;
    dp_tensor *made = NULL;
    s.data = pack_get(&p, data, x.dtype);
    s.output = pack_new(&p, x.dtype, x.ndim, sizes, &made);
    if (p.rc == 0)
        p.rc = run_segments(ctx, &s, loops[x.dtype].reduce);
    pack_give(&p, made, x.dtype, out);
    return pack_end(&p);
}

/* Check that `output` and `grad` have the dtype and the number of dimensions of data, and the
 * number of elements of a result.  DP_ERUNTIME: one of them does not. */
static int check_results(dp_ctx *ctx, const segment_call *c, const segments *s, dp_tensor *output,
                         dp_tensor *grad)
{
    char shape[DP_SHAPE_TEXT];
    dp_tensor *both[] = {output, grad};
    DP_VIEW(x, c->data);

    for (int i = 0; i < 2; i++) {
        DP_VIEW(y, both[i]);
        int rc = dense_check_same(ctx, x.dtype, y.dtype);
        if (rc < 0)
            return rc;
        if (y.ndim != x.ndim || y.numel != s->outer * s->count * s->inner)
            return dp_fail(
                ctx, DP_ERUNTIME,
                "segment_reduce(): expected %s with %" PRId64 " segments but got shape %s",
                i ? "grad" : "output", s->count, dp_shape_text(shape, y.sizes, (size_t)y.ndim));
    }
    return 0;
}

/* aten::_segment_reduce_backward(Tensor grad, Tensor output, Tensor data, str reduce, *,
 *     Tensor? lengths=None, Tensor? offsets=None, int axis=0, Scalar? initial=None) -> Tensor */
static int backward(dp_ctx *ctx, dp_tensor *grad, dp_tensor *output, dp_tensor *data, dp_str reduce,
                    dp_tensor *lengths, dp_tensor *offsets, int64_t axis, const dp_value *initial,
                    dp_tensor **out)
{
    /* Only the gradient of a product reads `initial`. */
    const dp_value *used = gs_is(reduce, "prod") ? initial : NULL;
    segment_call c = {data, lengths, offsets, reduce, axis, true, used};
    dp_tensor *made = NULL;
    pack p = {.ctx = ctx};
    segments s;
    DP_VIEW(v, data);
    int rc = begin_segments(ctx, &c, &s);

    *out = NULL;
    if (rc == 0)
        rc = check_results(ctx, &c, &s, output, grad);
    if (rc < 0)
        return rc;
    s.data = pack_get(&p, data, v.dtype);
    s.output = pack_get(&p, output, v.dtype);
    s.grad = pack_get(&p, grad, v.dtype);
    s.grad_data = pack_zeros(&p, v.dtype, v.ndim, v.sizes, &made);
    if (p.rc == 0)
        p.rc = run_segments(ctx, &s, loops[v.dtype].backward);
    pack_give(&p, made, v.dtype, out);
    return pack_end(&p);
}

DP_LIBRARY_META(
    aten, CPU, DP_IMPL_UNBOXED("segment_reduce", segment_reduce, (T, S, oT, oT, oT, i, b, os), (T)),
    DP_IMPL_UNBOXED("_segment_reduce_backward", backward, (T, T, T, S, oT, oT, i, os), (T)))
