/* pool_run.c -- pooling over the windows of tensors (pool.h). */
#include "pool.h"
#include <string.h>

bool pool_is_empty(dp_ctx *ctx, const pooling *p)
{
    const int64_t sizes[] = {p->to.n, p->to.channels, p->to.size[0], p->to.size[1], p->to.size[2]};
    const int64_t ins[] = {p->from.n, p->from.channels, p->from.size[0], p->from.size[1],
                           p->from.size[2]};

    return dp_memoryless(ctx) ||
           (dp_sizes_product(1, sizes, 5) == 0 && dp_sizes_product(1, ins, 5) == 0);
}

wn_axis *pool_axes(dp_ctx *ctx, int64_t n)
{
    return dense_array(ctx, n, WN_AXES * sizeof(wn_axis));
}

int pool_copy(dp_ctx *ctx, const pooling *p, dp_tensor *self, dp_tensor **out)
{
    dp_tensor *x;
    space_out y;
    space from = p->from, to = p->to;

    from.computed = to.computed = from.dtype;
    int rc = space_begin(ctx, &y, &to, p->batched, out, &self, 1);
    if (rc < 0)
        return rc;
    if (!pool_is_empty(ctx, p) && (rc = space_get(ctx, &from, self, &x)) == 0) {
        int64_t bytes = space_inner(&from) * (int64_t)dp_dtype_size(from.dtype);
        rc = wn_copy(ctx, p->axes, space_planes(&from), bytes, space_data(x), space_data(y.work));
        dp_tensor_unref(x);
    }
    return space_end(ctx, rc, &y);
}

static void fill_job(wn_job *job, const space *from, const wn_axis *axes)
{
    *job = (wn_job){.axes = axes,
                    .planes = space_planes(from),
                    .inner = space_inner(from),
                    .dtype = from->computed};
    /* a complex sum is computed as sums of real and imaginary parts */
    if (dp_dtype_is_complex(from->computed)) {
        job->inner *= 2;
        job->dtype = from->computed == DP_COMPLEX64 ? DP_FLOAT32 : DP_FLOAT64;
    }
}

int pool_max(dp_ctx *ctx, const pooling *p, dp_tensor *self, dp_tensor **out, dp_tensor **indices)
{
    space places = p->to;
    space_out y, at;
    dp_tensor *x = NULL;
    wn_job job;

    places.dtype = places.computed = DP_INT64;
    int rc = space_begin(ctx, &y, &p->to, p->batched, out, &self, 1);
    if (rc < 0)
        return rc;
    rc = space_begin(ctx, &at, &places, p->batched, indices, &self, 1);
    if (rc < 0)
        return space_end(ctx, rc, &y);
    if (!pool_is_empty(ctx, p) && (rc = space_get(ctx, &p->from, self, &x)) == 0) {
        fill_job(&job, &p->from, p->axes);
        job.x = space_data(x);
        job.y = space_data(y.work);
        job.index = space_data(at.work);
        job.by_plane = p->by_plane;
        rc = wn_run(ctx, &job);
    }
    dp_tensor_unref(x);
    rc = space_end(ctx, rc, &y);
    int second = space_end(ctx, rc, &at);
    if (rc == 0 && second < 0 && !y.given)
        *out = dp_tensor_unref(*out);
    return second;
}

/* Compute the sums of `from` into `to`, by `axes`. */
static int add(dp_ctx *ctx, const space *from, const wn_axis *axes, dp_tensor *self, dp_tensor *out)
{
    dp_tensor *x;
    wn_job job;
    int rc = space_get(ctx, from, self, &x);

    if (rc < 0)
        return rc;
    fill_job(&job, from, axes);
    job.x = space_data(x);
    job.y = space_data(out);
    rc = wn_run(ctx, &job);
    dp_tensor_unref(x);
    return rc;
}

int pool_add(dp_ctx *ctx, const pooling *p, dp_tensor *self, dp_tensor **out)
{
    space_out y;
    int rc = space_begin(ctx, &y, &p->to, p->batched, out, &self, 1);

    if (rc < 0)
        return rc;
    if (!pool_is_empty(ctx, p))
        rc = add(ctx, &p->from, p->axes, self, y.work);
    return space_end(ctx, rc, &y);
}

/* Set *out, owned, to grad, divided as the sums were. */
static int divide(dp_ctx *ctx, const pooling *p, dp_tensor *grad, dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX];
    wn_axis axes[WN_AXES];
    int rc = 0;

    for (int d = 0; rc == 0 && d < WN_AXES; d++) {
        rc = wn_same(ctx, &axes[d], p->to.size[d]);
        axes[d].divide = p->axes[d].divide;
    }
    if (rc == 0)
        rc = dp_empty(ctx, p->to.computed, p->to.device, space_sizes(&p->to, p->batched, sizes),
                      sizes, p->to.format, out);
    if (rc == 0 && (rc = add(ctx, &p->to, axes, grad, *out)) < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

static int add_back(dp_ctx *ctx, const pooling *p, dp_tensor *grad, dp_tensor *out)
{
    wn_axis axes[WN_AXES];
    dp_tensor *divided;
    int rc = 0;

    for (int d = 0; rc == 0 && d < WN_AXES; d++)
        rc = wn_transposed(ctx, &p->axes[d], 0, &axes[d]);
    if (rc == 0)
        rc = divide(ctx, p, grad, &divided);
    if (rc < 0)
        return rc;
    rc = add(ctx, &p->to, axes, divided, out);
    dp_tensor_unref(divided);
    return rc;
}

int pool_add_back(dp_ctx *ctx, const pooling *p, dp_tensor *grad, dp_tensor **out)
{
    space_out y;
    int rc = space_begin(ctx, &y, &p->from, p->batched, out, &grad, 1);

    if (rc < 0)
        return rc;
    if (!pool_is_empty(ctx, p))
        rc = add_back(ctx, p, grad, y.work);
    return space_end(ctx, rc, &y);
}

int pool_turn(dp_ctx *ctx, const pooling *p, size_t bytes, pooling *back)
{
    int rc = 0;

    *back = *p;
    back->from = p->to;
    back->to = p->from;
    if (p->axes == NULL)
        return 0;
    back->axes = pool_axes(ctx, 1);
    if (back->axes == NULL)
        return DP_ERESOURCE;
    for (int d = 0; rc == 0 && d < WN_AXES; d++)
        rc = wn_transposed(ctx, &p->axes[d], bytes, &back->axes[d]);
    return rc;
}

int pool_check_grad(dp_ctx *ctx, const pooling *p, dp_tensor *t)
{
    int64_t sizes[DP_DIM_MAX];
    char want[DP_SHAPE_TEXT], got[DP_SHAPE_TEXT];
    int ndim = space_sizes(&p->to, p->batched, sizes);
    DP_VIEW(v, t);

    if (v.ndim == ndim && memcmp(v.sizes, sizes, (size_t)ndim * sizeof(int64_t)) == 0)
        return 0;
    return dp_fail(ctx, DP_ERUNTIME, "%s: expected a gradient of size %s, but got one of size %s",
                   p->name, dp_shape_text(want, sizes, (size_t)ndim),
                   dp_shape_text(got, v.sizes, (size_t)v.ndim));
}

/* -- selection by indices -- */

enum { BLOCK = 32 }; /* greatest number of inner channels that are written at a time */

typedef struct scatter {
    const char *x;
    const int64_t *index;
    char *y;
    int64_t planes, inner, blocks;
    int64_t from, to; /* range of positions of a plane */
    bool add;
    int64_t bad; /* an index that is out of range */
    int outside;
} scatter;

static void note_bad(scatter *s, int64_t index)
{
    __atomic_store_n(&s->bad, index, __ATOMIC_RELAXED);
    __atomic_store_n(&s->outside, 1, __ATOMIC_RELAXED);
}

/* Define the writing of w <= inner elements of each of n rows of x to the elements at `index`,
 * which must be less than `places`.  False: an index is out of range. */
#define SCATTER_ROWS(T, to)                                                                        \
    for (int64_t i = 0; i < n; i++, x += inner, index += inner)                                    \
        for (int64_t c = 0; c < w; c++) {                                                          \
            if ((uint64_t)index[c] >= places) {                                                    \
                note_bad(s, index[c]);                                                             \
                return false;                                                                      \
            }                                                                                      \
            y[index[c] * inner + c] to x[c];                                                       \
        }
/* Define a loop that sets a plane to zeros just before it is written, while it is in the cache. */
#define SCATTER(name, T)                                                                           \
    static inline __attribute__((always_inline)) bool name##_rows(                                 \
        scatter *s, const T *restrict x, const int64_t *restrict index, T *restrict y,             \
        int64_t inner, int64_t w)                                                                  \
    {                                                                                              \
        const int64_t n = s->from;                                                                 \
        const uint64_t places = (uint64_t)s->to;                                                   \
        if (inner == w)                                                                            \
            dp_zero_n(y, dp_size_times(places, w), sizeof(T));                                     \
        for (uint64_t i = 0; inner != w && i < places; i++)                                        \
            dp_zero_n(y + (int64_t)i * inner, (size_t)w, sizeof(T));                               \
        if (s->add)                                                                                \
            SCATTER_ROWS(T, +=)                                                                    \
        else                                                                                       \
            SCATTER_ROWS(T, =)                                                                     \
        return true;                                                                               \
    }                                                                                              \
    static void name(int64_t begin, int64_t end, void *user)                                       \
    {                                                                                              \
        scatter *s = user;                                                                         \
        bool inside = true;                                                                        \
        for (int64_t u = begin; inside && u < end; u++) {                                          \
            int64_t plane = u / s->blocks, c = u % s->blocks * BLOCK;                              \
            int64_t left = s->inner - c, at = plane * s->from * s->inner + c;                      \
            const T *x = (const T *)s->x + at;                                                     \
            T *y = (T *)s->y + plane * s->to * s->inner + c;                                       \
            if (s->inner == 1)                                                                     \
                inside = name##_rows(s, x, s->index + at, y, 1, 1);                                \
            else                                                                                   \
                inside =                                                                           \
                    name##_rows(s, x, s->index + at, y, s->inner, left < BLOCK ? left : BLOCK);    \
        }                                                                                          \
    }
SCATTER(scatter_f32, float)
SCATTER(scatter_f64, double)

static int run_scatter(dp_ctx *ctx, const pooling *p, bool add, dp_tensor *x, dp_tensor *index,
                       dp_tensor *y)
{
    DP_VIEW(out, y);
    scatter s = {.x = space_data(x), .index = space_data(index), .y = out.data, .add = add};

    s.planes = space_planes(&p->from);
    s.inner = space_inner(&p->from);
    s.blocks = (s.inner + BLOCK - 1) / BLOCK;
    s.from = space_places(&p->to);
    s.to = space_places(&p->from);
    if (out.numel == 0 && s.from > 0) {
        s.bad = *s.index;
        s.outside = 1;
    }
    int rc = out.numel == 0
                 ? 0
                 : dp_parallel_for(ctx, 0, s.planes * s.blocks,
                                   dense_grain((double)(s.from + s.to / 8) * BLOCK),
                                   p->from.computed == DP_FLOAT32 ? scatter_f32 : scatter_f64, &s);
    if (rc < 0 || !s.outside)
        return rc;
    return dp_fail(ctx, DP_ERUNTIME,
                   "%s: Found an invalid max index: %" PRId64
                   " (output volumes are of size %" PRId64 "x%" PRId64 "x%" PRId64 ")",
                   p->name, s.bad, p->from.size[0], p->from.size[1], p->from.size[2]);
}

int pool_scatter(dp_ctx *ctx, const pooling *p, bool add, dp_tensor *grad, dp_tensor *indices,
                 dp_tensor **out)
{
    dp_tensor *x = NULL, *index = NULL;
    dp_tensor *const ins[] = {grad, indices};
    space places = p->to;
    space_out y;

    places.computed = DP_INT64;
    int rc = space_begin(ctx, &y, &p->from, p->batched, out, ins, 2);
    if (rc < 0)
        return rc;
    if (!pool_is_empty(ctx, p)) {
        rc = space_get(ctx, &p->to, grad, &x);
        if (rc == 0)
            rc = space_get(ctx, &places, indices, &index);
        if (rc == 0)
            rc = run_scatter(ctx, p, add, x, index, y.work);
    }
    dp_tensor_unref(x);
    dp_tensor_unref(index);
    return space_end(ctx, rc, &y);
}
