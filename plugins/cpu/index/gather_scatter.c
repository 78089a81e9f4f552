/* gather_scatter.c -- loops over a tensor, an index along one of its dimensions, and a second
 * tensor.
 *
 * Reads run over all elements, in any order, on several threads.  Writes are parallel only over the
 * other dimensions: one thread handles all indices along the indexed dimension, so no two threads
 * write one element, and repeated indices are written in order.  The strides of self decide which
 * of the two loops is the inner one. */
#include "gather_scatter.h"
#include "lib/poll.h"
#include <dispatchd/iter.h>
#include "gather_scatter_loops.h"

/* -- geometry -- */

static void begin(gs_call *a, dp_tensor *self, int64_t dim, dp_tensor *index)
{
    DP_VIEW(x, self);

    memset(a, 0, sizeof(*a));
    a->dim = (int)dim;
    a->self = self;
    a->index = index;
    a->size = x.ndim > 0 ? x.sizes[dim] : 1;
    a->code = DP_ERUNTIME;
    a->what = "";
}

void gs_init_each(gs_call *a, dp_tensor *self, int64_t dim, dp_tensor *index)
{
    DP_VIEW(i, index);

    begin(a, self, dim, index);
    a->ndim = i.ndim > 0 ? i.ndim : 1;
    a->shape[0] = 1;
    dp_copy_n(a->shape, i.sizes, (size_t)i.ndim, sizeof(int64_t));
    dp_copy_n(a->steps, i.strides, (size_t)i.ndim, sizeof(int64_t));
}

void gs_init_vector(gs_call *a, dp_tensor *self, int64_t dim, dp_tensor *index)
{
    DP_VIEW(x, self);
    DP_VIEW(i, index);

    begin(a, self, dim, index);
    a->ndim = x.ndim > 0 ? x.ndim : 1;
    dp_copy_n(a->shape, x.sizes, (size_t)x.ndim, sizeof(int64_t));
    a->shape[dim] = i.numel;
    a->steps[dim] = i.ndim > 0 ? i.strides[0] : 0;
}

/* View `t`, whose strides are steps [ndim], with a->shape.  The stride of a->dim is 0 if `fixed` or
 * `line`; with `line`, its size is 1. */
static int spread(dp_ctx *ctx, const gs_call *a, dp_tensor *t, const int64_t *steps, bool fixed,
                  bool line, dp_tensor **out)
{
    int64_t shape[DP_DIM_MAX], strides[DP_DIM_MAX];

    memcpy(shape, a->shape, sizeof(shape));
    dp_copy_n(strides, steps, (size_t)a->ndim, sizeof(int64_t));
    if (fixed || line)
        strides[a->dim] = 0;
    if (line)
        shape[a->dim] = 1;
    return dp_as_strided(ctx, t, a->ndim, shape, strides, dp_tensor_offset(t), out);
}

/* Set strides [a->ndim] to the strides of `t`, or to 0 if t has one element and no dimensions. */
static void strides_of(const gs_call *a, dp_tensor *t, int64_t *strides)
{
    DP_VIEW(x, t);

    dp_zero_n(strides, (size_t)a->ndim, sizeof(int64_t));
    dp_copy_n(strides, x.strides, (size_t)x.ndim, sizeof(int64_t));
}

/* -- indices -- */

typedef struct search {
    int64_t size, index; /* size of self in dim; an index that is out of range, if `found` */
    int found;
} search;

static void find_outside(char *const *data, const int64_t *strides, int64_t n, void *user)
{
    search *s = user;

    if (__atomic_load_n(&s->found, __ATOMIC_RELAXED) || gs_inside(data[0], strides[0], n, s->size))
        return;
    for (int64_t i = 0; i < n; i++) {
        int64_t index = *(const int64_t *)(data[0] + i * strides[0]);
        if (index >= 0 && index < s->size)
            continue;
        __atomic_store_n(&s->index, index, __ATOMIC_RELAXED);
        __atomic_store_n(&s->found, 1, __ATOMIC_RELAXED);
        return;
    }
}

static int walk_index(dp_ctx *ctx, const gs_call *a, uint32_t flags, search *s)
{
    dp_iter it;
    dp_tensor *index = a->index;
    dp_iter_config c = dp_iter_of(flags, 0, NULL, 1, &index);
    int rc = dp_iter_init(ctx, &c, &it);

    return rc < 0 ? rc : dp_iter_run_1d(ctx, &it, find_outside, s);
}

/* Report an index that is out of range; the first one in row-major order. */
static int report(dp_ctx *ctx, const gs_call *a)
{
    search s = {a->size, 0, 0};
    int rc = walk_index(ctx, a, DP_ITER_LINEAR | DP_ITER_SERIAL, &s);

    if (rc < 0)
        return rc;
    return dp_fail(ctx, a->code,
                   "%sindex %" PRId64 " is out of bounds for dimension %d with size %" PRId64,
                   a->what, s.index, a->dim, a->size);
}

int gs_check(dp_ctx *ctx, gs_call *a)
{
    search s = {a->size, 0, 0};
    int rc = walk_index(ctx, a, 0, &s);

    a->checked = true;
    return rc < 0 || !s.found ? rc : report(ctx, a);
}

static void wrap_indices(char *const *data, const int64_t *strides, int64_t n, void *user)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t *index = (int64_t *)(data[0] + i * strides[0]);
        *index += *index < 0 ? *(const int64_t *)user : 0;
    }
}

int gs_indices(dp_ctx *ctx, dp_tensor *index, int64_t size, bool wrap, dp_tensor **out)
{
    dp_iter it;
    DP_VIEW(i, index);

    if (i.dtype == DP_INT64 && !wrap) {
        *out = dp_tensor_ref(index);
        return 0;
    }
    int rc = dp_empty(ctx, DP_INT64, i.device, i.ndim, i.sizes, DP_CONTIGUOUS, out);
    if (rc < 0)
        return rc;
    rc = dp_copy(ctx, *out, index);
    if (rc == 0 && wrap) {
        dp_iter_config c = dp_iter_of(DP_ITER_NULLARY, 1, out, 0, NULL);
        rc = dp_iter_init(ctx, &c, &it);
        rc = rc < 0 ? rc : dp_iter_run_1d(ctx, &it, wrap_indices, &size);
    }
    if (rc < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* -- reading -- */

/* Return the stride of self in a->dim, in bytes. */
static int64_t step_of(const gs_call *a, const int64_t *steps, size_t size)
{
    return steps[a->dim] * (int64_t)size;
}

int gs_gather(dp_ctx *ctx, gs_call *a, dp_tensor *out)
{
    int64_t self_steps[DP_DIM_MAX], out_steps[DP_DIM_MAX];
    dp_tensor *ins[2] = {0}, *to = NULL;
    dp_iter it;
    DP_VIEW(y, out);
    size_t size = dp_dtype_size(y.dtype);

    if (y.numel == 0)
        return 0;
    strides_of(a, a->self, self_steps);
    strides_of(a, out, out_steps);
    gs_job job = {size, a->size, step_of(a, self_steps, size), 0, NULL, NULL};
    int rc = spread(ctx, a, a->self, self_steps, true, false, &ins[0]);
    if (rc == 0)
        rc = spread(ctx, a, a->index, a->steps, false, false, &ins[1]);
    if (rc == 0)
        rc = spread(ctx, a, out, out_steps, false, false, &to);
    if (rc == 0) {
        dp_iter_config c = dp_iter_of(
            DP_ITER_ANY_DTYPE | DP_ITER_NO_RESIZE | DP_ITER_NO_OVERLAP_CHECK, 1, &to, 2, ins);
        rc = dp_iter_init(ctx, &c, &it);
    }
    if (rc == 0)
        rc = dp_iter_run(ctx, &it, gs_gather_rows, &job);
    dp_tensor_unref(ins[0]);
    dp_tensor_unref(ins[1]);
    dp_tensor_unref(to);
    return rc == 0 && job.outside ? report(ctx, a) : rc;
}

/* -- writing -- */

/* BLOCK: elements along the other dimensions that a thread handles at a time for each index */
enum { BLOCK = 512, GRAIN = 32768 };

typedef struct putting {
    const dp_ctx *ctx;
    gs_job job;
    int64_t n, index_step, src_step; /* number of indices along dim; strides along dim */
} putting;

static void put_row(putting *p, char *dst, const char *at, const char *src, const int64_t *steps,
                    int64_t n)
{
    int64_t most = steps[1] == 0 ? n : BLOCK;

    for (int64_t begin = 0; begin < n; begin += most) {
        int64_t m = n - begin < most ? n - begin : most;
        for (int64_t i = 0, end; i < p->n && (end = poll_next(p->ctx, i, p->n)) > i;)
            for (; i < end; i++)
                p->job.run(&p->job, dst + begin * steps[0], steps[0],
                           at + begin * steps[1] + i * p->index_step, steps[1],
                           src + begin * steps[2] + i * p->src_step, steps[2], m);
    }
}

static void put_line(putting *p, char *dst, const char *at, const char *src)
{
    for (int64_t i = 0, end; i < p->n && (end = poll_next(p->ctx, i, p->n)) > i; i = end)
        p->job.run(&p->job, dst, 0, at + i * p->index_step, p->index_step, src + i * p->src_step,
                   p->src_step, end - i);
}

static void put_rows(char **data, const int64_t *strides, int64_t n0, int64_t n1, void *user)
{
    putting *p = user;
    bool lines = n0 == 1 || p->job.step < strides[0];

    for (int64_t j = 0; j < n1; j++) {
        char *dst = data[0] + j * strides[3];
        const char *at = data[1] + j * strides[4], *src = data[2] + j * strides[5];
        for (int64_t i = 0; lines && i < n0; i++)
            put_line(p, dst + i * strides[0], at + i * strides[1], src + i * strides[2]);
        if (!lines)
            put_row(p, dst, at, src, strides, n0);
    }
}

static int put_all(dp_ctx *ctx, gs_call *a, dp_tensor *const *operands, putting *p)
{
    dp_iter it;
    dp_iter_config c = dp_iter_of(DP_ITER_ANY_DTYPE | DP_ITER_ANY_DEVICE, 0, NULL, 3, operands);

    c.grain = (uint32_t)(p->n < GRAIN ? GRAIN / p->n : 1);
    int rc = dp_iter_init(ctx, &c, &it);
    if (rc == 0)
        rc = dp_iter_run(ctx, &it, put_rows, p);
    return rc == 0 && p->job.outside ? report(ctx, a) : rc;
}

int gs_scatter(dp_ctx *ctx, gs_call *a, gs_op op, dp_tensor *src, dp_tensor *alpha)
{
    int64_t self_steps[DP_DIM_MAX], src_steps[DP_DIM_MAX], places = 1;
    dp_tensor *operands[3] = {0};
    DP_VIEW(x, a->self);
    size_t size = dp_dtype_size(x.dtype);

    for (int d = 0; d < a->ndim; d++)
        places *= a->shape[d] != 0;
    if (places == 0)
        return 0;
    const void *number = NULL;
    if (alpha) {
        DP_VIEW(k, alpha);
        number = k.data;
    }
    strides_of(a, a->self, self_steps);
    strides_of(a, src, src_steps);
    putting p = {
        ctx,
        {size, a->size, step_of(a, self_steps, size), 0, gs_find_scatter_loop(op, x.dtype), number},
        a->shape[a->dim],
        a->steps[a->dim] * (int64_t)sizeof(int64_t),
        step_of(a, src_steps, size)};
    int rc = spread(ctx, a, a->self, self_steps, true, true, &operands[0]);
    if (rc == 0)
        rc = spread(ctx, a, a->index, a->steps, true, true, &operands[1]);
    if (rc == 0)
        rc = spread(ctx, a, src, src_steps, true, true, &operands[2]);
    if (rc == 0)
        rc = put_all(ctx, a, operands, &p);
    for (int i = 0; i < 3; i++)
        dp_tensor_unref(operands[i]);
    return rc;
}

/* -- results -- */

int gs_end(int rc, bool given, dp_tensor **out)
{
    if (rc < 0 && !given)
        *out = dp_tensor_unref(*out);
    return rc;
}

int gs_start(dp_ctx *ctx, gs_call *a, dp_tensor *const *others, int n, dp_tensor **out)
{
    bool given = *out != NULL;
    dp_tensor *self = a->self;
    DP_VIEW(x, self);
    int rc = dp_set_output(ctx, out, x.ndim, x.sizes, NULL, x.dtype, x.device);

    if (rc == 0 && given)
        rc = check_apart(ctx, *out, others, n);
    if (rc == 0 && given && !a->checked)
        rc = gs_check(ctx, a);
    if (rc < 0)
        return gs_end(dp_refuse(ctx, rc, NULL), given, out);
    a->self = *out;
    if (*out != self && (rc = dp_copy(ctx, *out, self)) < 0)
        dp_refuse(ctx, rc, NULL);
    return gs_end(rc, given, out);
}

/* Divide `out`, which has sums, by `counts`; counts that are 0 are first set to 1. */
static int divide_by_counts(dp_ctx *ctx, dp_tensor *out, dp_tensor *counts)
{
    dp_tensor *none = NULL;
    DP_VIEW(x, out);
    bool inexact = dp_dtype_is_floating(x.dtype) || dp_dtype_is_complex(x.dtype);
    int rc = dp_invoke(ctx, "aten::eq.Scalar", "Ts>T", counts, dp_int(0), &none);

    if (rc == 0)
        rc = dp_invoke(ctx, "aten::masked_fill_.Scalar", "TTs>", counts, none, dp_int(1));
    if (rc == 0)
        rc = inexact ? dp_invoke(ctx, "aten::div_.Tensor", "TT>", out, counts)
                     : dp_invoke(ctx, "aten::div_.Tensor_mode", "TToS>", out, counts,
                                 (dp_str){"floor", 5});
    dp_tensor_unref(none);
    return rc;
}

int gs_mean(dp_ctx *ctx, const char *add, dp_tensor *out, int64_t dim, dp_tensor *index,
            dp_tensor *src, bool exclude_self)
{
    dp_tensor *counts = NULL, *ones = NULL;
    int rc = dp_invoke(ctx, "aten::ones_like", "T>T", src, &ones);

    if (rc == 0)
        rc = dp_invoke(ctx, exclude_self ? "aten::zeros_like" : "aten::ones_like", "T>T", out,
                       &counts);
    if (rc == 0)
        rc = dp_invoke(ctx, add, "TiTT>", counts, dim, index, ones);
    if (rc == 0)
        rc = divide_by_counts(ctx, out, counts);
    dp_tensor_unref(counts);
    dp_tensor_unref(ones);
    return rc;
}

bool gs_is(dp_str text, const char *word)
{
    return text.len == strlen(word) && memcmp(text.s, word, text.len) == 0;
}

/* Return the least number of a dtype or, if `greatest`, the greatest. */
static dp_value extreme(dp_dtype dtype, bool greatest)
{
    int bits = 8 * (int)dp_dtype_size(dtype);

    if (dtype == DP_BOOL)
        return dp_bool(greatest);
    /* complex dtypes are refused later */
    if (dp_dtype_is_floating(dtype) || dp_dtype_is_complex(dtype))
        return dp_double(greatest ? HUGE_VAL : -HUGE_VAL);
    if (dtype == DP_UINT8)
        return dp_int(greatest ? UINT8_MAX : 0);
    return dp_int(greatest ? INT64_MAX >> (64 - bits) : INT64_MIN >> (64 - bits));
}

bool gs_find_reduce(dp_str reduce, dp_dtype dtype, gs_reduce *r)
{
    *r = (gs_reduce){GS_ADD, false, dp_int(0)};
    if (gs_is(reduce, "sum"))
        return true;
    if (gs_is(reduce, "prod"))
        *r = (gs_reduce){GS_MUL, false, dp_int(1)};
    else if (gs_is(reduce, "mean"))
        r->mean = true;
    else if (gs_is(reduce, "amax"))
        *r = (gs_reduce){GS_MAX, false, extreme(dtype, false)};
    else if (gs_is(reduce, "amin"))
        *r = (gs_reduce){GS_MIN, false, extreme(dtype, true)};
    else
        return false;
    return true;
}
