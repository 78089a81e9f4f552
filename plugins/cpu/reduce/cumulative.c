/* cumulative.c -- cumulative operators (scans) along one dimension
 * (aten/src/ATen/native/ReduceOps.cpp).
 *
 * The result has the shape of the input.  If the input has another dtype than the result, its
 * elements are first converted and stored in the result, and the loop then runs in place.  A
 * bfloat16 result is computed as float32; a float16 result is refused, as in PyTorch.
 *
 * Operators: _cummax_helper, _cummin_helper, cumprod, cumsum, _logcumsumexp. */
#include "cumulative.h"
#include "core/dense.h"
#include "core/elements.h"
#include <stdlib.h>
#include <string.h>

/* one scan, shared by all threads */
typedef struct sc_job {
    const dp_ctx *ctx;
    sc_loop loop;
    dp_view x, out, index; /* index.ndim < 0: no index output */
    int dim;               /* dimension that is scanned; a line is all elements along it */
    int across;            /* dimension along which lines are neighbours; -1: none */
    int64_t n;             /* elements of a line */
    int64_t width;         /* lines along `across` */
    int64_t blocks;        /* blocks of at most SC_WIDE lines along `across` */
} sc_job;

static int64_t byte_stride(const dp_view *v, int d)
{
    return v->strides[d] * (int64_t)dp_dtype_size(v->dtype);
}

/* -- running -- */

/* Return the address in `v` of the first element of line `at` along `across`; `outer` is the index
 * in the dimensions other than `dim` and `across`, flattened in row-major order. */
static char *start_of(const dp_view *v, const sc_job *j, int64_t outer, int64_t at)
{
    char *p = v->data;

    if (j->across >= 0)
        p += at * byte_stride(v, j->across);
    for (int d = v->ndim - 1; d >= 0; d--) {
        if (d == j->dim || d == j->across)
            continue;
        p += outer % v->sizes[d] * byte_stride(v, d);
        outer /= v->sizes[d];
    }
    return p;
}

static void run_blocks(int64_t begin, int64_t end, void *user)
{
    const sc_job *j = user;
    bool indexed = j->index.ndim >= 0;

    for (int64_t b = begin; b < end; b++) {
        int64_t at = b % j->blocks * SC_WIDE, w = j->width - at, outer = b / j->blocks;
        sc_lines l = {.ctx = j->ctx,
                      .x = start_of(&j->x, j, outer, at),
                      .out = start_of(&j->out, j, outer, at),
                      .index = indexed ? start_of(&j->index, j, outer, at) : NULL,
                      .n = j->n,
                      .w = w < SC_WIDE ? w : SC_WIDE};
        if (j->x.ndim > 0) {
            l.x_step = byte_stride(&j->x, j->dim);
            l.out_step = byte_stride(&j->out, j->dim);
            l.index_step = indexed ? byte_stride(&j->index, j->dim) : 0;
        }
        if (j->across >= 0) {
            l.x_line = byte_stride(&j->x, j->across);
            l.out_line = byte_stride(&j->out, j->across);
            l.index_line = indexed ? byte_stride(&j->index, j->across) : 0;
        }
        j->loop(&l);
    }
}

/* Return the dimension of size > 1 with the smallest stride, except `dim`; -1: there is none. */
static int innermost_dim(const dp_view *x, int dim)
{
    int found = -1;

    for (int d = 0; d < x->ndim; d++)
        if (d != dim && x->sizes[d] > 1 &&
            (found < 0 || llabs(x->strides[d]) <= llabs(x->strides[found])))
            found = d;
    return found;
}

static int run_loop(dp_ctx *ctx, sc_job *j)
{
    if (j->out.numel == 0 || dp_memoryless(ctx))
        return 0;
    j->n = j->out.ndim ? j->out.sizes[j->dim] : 1;
    j->across = innermost_dim(&j->out, j->dim);
    j->width = j->across < 0 ? 1 : j->out.sizes[j->across];
    j->blocks = (j->width + SC_WIDE - 1) / SC_WIDE;
    int64_t units = j->out.numel / j->n / j->width * j->blocks;
    return dp_parallel_for(ctx, 0, units, dense_grain((double)j->out.numel / (double)units),
                           run_blocks, j);
}

/* -- preparing -- */

/* arguments of one operator call */
typedef struct sc_call {
    int op;           /* SC_* */
    const char *name; /* name of the operator in error messages */
    dp_tensor *self;
    int64_t dim;
    dp_dtype dtype; /* dtype of the result */
} sc_call;

static int find_loop(dp_ctx *ctx, const sc_call *c, sc_loop *loop)
{
    int column = pw_types[c->dtype].place;

    *loop = c->dtype >= 0 && c->dtype < DP_DTYPE_END && pw_types[c->dtype].bytes > 0 &&
                    c->dtype != DP_FLOAT16
                ? CPU_CHOSEN(sc_loops)[c->op].loop[column]
                : NULL;
    return *loop ? 0
                 : dp_fail(ctx, DP_ERUNTIME, "\"%s_out_cpu\" not implemented for '%s'", c->name,
                           dense_type_name(c->dtype));
}

/* Scan self into `out`, which has the shape of self and a dtype that `loop` takes. */
static int scan_into(dp_ctx *ctx, const sc_call *c, sc_loop loop, dp_tensor *out, dp_tensor *index)
{
    sc_job j = {.ctx = ctx, .loop = loop, .dim = (int)c->dim};
    DP_VIEW(x, c->self);
    DP_VIEW(y, out);
    int rc = 0;

    j.x = j.out = y;
    j.index.ndim = -1;
    if (index != NULL) {
        DP_VIEW(i, index);
        j.index = i;
    }
    if (x.dtype == y.dtype)
        j.x = x;
    else
        rc = dp_copy(ctx, out, c->self);
    return rc == 0 ? run_loop(ctx, &j) : rc;
}

/* Scan self into `out`, which has the shape of self.  The scan writes to a temporary tensor if the
 * loop does not take the dtype of out, or if out may overlap self without having exactly the same
 * elements (dp_overlap() > 1). */
static int scan(dp_ctx *ctx, const sc_call *c, dp_tensor *out, dp_tensor *index)
{
    dp_tensor *work = NULL, *cast = NULL;
    sc_loop loop;
    DP_VIEW(x, c->self);
    DP_VIEW(y, out);
    sc_call own = *c;
    int rc = find_loop(ctx, c, &loop);

    if (rc < 0)
        return rc;
    dp_dtype dtype = pw_types[c->dtype].dtype;
    bool rounds = c->dtype != dtype && x.dtype != c->dtype; /* input is first rounded to 16 bits */
    if (rounds)
        rc = dp_empty_like(ctx, c->self, c->dtype, DP_PRESERVE, &cast);
    if (rc == 0 && rounds && (rc = dp_copy(ctx, cast, c->self)) == 0)
        own.self = cast;
    if (rc == 0 && (y.dtype != dtype || dp_overlap(out, own.self) > 1))
        rc = dp_empty(ctx, dtype, x.device, x.ndim, x.sizes, DP_CONTIGUOUS, &work);
    if (rc == 0 && work != NULL && index != NULL && (rc = check_apart(ctx, out, NULL, 0)) < 0)
        dp_refuse(ctx, rc, NULL);
    if (rc == 0)
        rc = scan_into(ctx, &own, loop, work ? work : out, index);
    if (rc == 0 && work != NULL && (rc = dp_copy(ctx, out, work)) < 0 && index == NULL)
        dp_refuse(ctx, rc, NULL);
    dp_tensor_unref(cast);
    dp_tensor_unref(work);
    return rc;
}

/* -- cumsum, cumprod -- */

/* Run cumsum or cumprod into *out; NULL: a new tensor is made.  The dtype of the result is that of
 * *out, else *dtype, else int64 for integers and bool, else that of self. */
static int cumulate(dp_ctx *ctx, sc_call *c, const int64_t *dtype, dp_tensor **out)
{
    dp_tensor *given = *out;
    sc_loop loop;
    DP_VIEW(x, c->self);
    int rc = wrap_dim(ctx, &c->dim, x.ndim);

    if (rc < 0)
        return rc;
    c->dtype = dtype ? (dp_dtype)*dtype : dp_dtype_is_integral(x.dtype, true) ? DP_INT64 : x.dtype;
    if (given != NULL) {
        DP_VIEW(y, given);
        if (dtype != NULL && y.dtype != c->dtype)
            return dp_fail(ctx, DP_ERUNTIME,
                           "Expected out tensor to have dtype %s, but got %s instead",
                           dp_dtype_name(c->dtype), dp_dtype_name(y.dtype));
        c->dtype = y.dtype;
        rc = check_apart(ctx, given, NULL, 0);
        if (rc < 0)
            return rc;
    }
    rc = find_loop(ctx, c, &loop);
    if (rc == 0)
        rc = dp_set_output(ctx, out, x.ndim, x.sizes, NULL, c->dtype, x.device);
    if (rc == 0)
        rc = scan(ctx, c, *out, NULL);
    if (rc < 0 && given == NULL)
        *out = dp_tensor_unref(*out);
    return rc;
}

#define CUMULATED(name, OP)                                                                        \
    static int name(dp_ctx *ctx, dp_tensor *self, int64_t dim, const int64_t *dtype,               \
                    dp_tensor **out)                                                               \
    {                                                                                              \
        sc_call c = {OP, #name, self, dim, 0};                                                     \
        *out = NULL;                                                                               \
        return cumulate(ctx, &c, dtype, out);                                                      \
    }                                                                                              \
    static int name##_out(dp_ctx *ctx, dp_tensor *self, int64_t dim, const int64_t *dtype,         \
                          dp_tensor *out)                                                          \
    {                                                                                              \
        sc_call c = {OP, #name, self, dim, 0};                                                     \
        return cumulate(ctx, &c, dtype, &out);                                                     \
    }                                                                                              \
    static int name##_in_place(dp_ctx *ctx, dp_tensor *self, int64_t dim, const int64_t *dtype)    \
    {                                                                                              \
        sc_call c = {OP, #name, self, dim, 0};                                                     \
        return cumulate(ctx, &c, dtype, &self);                                                    \
    }
CUMULATED(cumsum, SC_SUM)
CUMULATED(cumprod, SC_PROD)

/* -- logcumsumexp -- */

static int run_logcumsumexp(dp_ctx *ctx, dp_tensor *self, int64_t dim, dp_tensor **out)
{
    dp_tensor *given = *out;
    sc_loop loop;
    DP_VIEW(x, self);
    sc_call c = {SC_LOGSUMEXP, "logcumsumexp", self, dim, x.dtype};
    int rc = wrap_dim(ctx, &c.dim, x.ndim);

    if (rc == 0)
        rc = find_loop(ctx, &c, &loop);
    if (rc == 0)
        rc = dp_set_output(ctx, out, x.ndim, x.sizes, NULL, x.dtype, x.device);
    if (rc == 0)
        rc = scan(ctx, &c, *out, NULL);
    if (rc < 0 && given == NULL)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* aten::_logcumsumexp(Tensor self, int dim) -> Tensor */
static int logcumsumexp(dp_ctx *ctx, dp_tensor *self, int64_t dim, dp_tensor **out)
{
    *out = NULL;
    return run_logcumsumexp(ctx, self, dim, out);
}

/* aten::_logcumsumexp.out(Tensor self, int dim, *, Tensor(a!) out) -> Tensor(a!) */
static int logcumsumexp_out(dp_ctx *ctx, dp_tensor *self, int64_t dim, dp_tensor *out)
{
    return run_logcumsumexp(ctx, self, dim, &out);
}

/* -- cummax, cummin -- */

/* Run cummax or cummin into `values` and `indices`.  DP_ERUNTIME: one of them does not have the
 * shape of `self`, or indices are not int64. */
static int extremes(dp_ctx *ctx, int op, const char *name, dp_tensor *self, dp_tensor *values,
                    dp_tensor *indices, int64_t dim)
{
    char shape[DP_SHAPE_TEXT], out_shape[DP_SHAPE_TEXT];
    DP_VIEW(x, self);
    DP_VIEW(y, values);
    DP_VIEW(i, indices);
    sc_call c = {op, name, self, dim, x.dtype};
    int rc = wrap_dim(ctx, &c.dim, x.ndim);

    for (const dp_view *v = &y; rc == 0 && v != NULL; v = v == &y ? &i : NULL)
        if (v->ndim != x.ndim ||
            (x.ndim > 0 && memcmp(v->sizes, x.sizes, (size_t)x.ndim * sizeof(int64_t)) != 0))
            rc = dp_fail(ctx, DP_ERUNTIME, "%s: expected %s of self's shape %s but got %s", name,
                         v == &y ? "values" : "indices",
                         dp_shape_text(shape, x.sizes, (size_t)x.ndim),
                         dp_shape_text(out_shape, v->sizes, (size_t)v->ndim));

    if (rc == 0 && i.dtype != DP_INT64)
        rc = dp_fail(ctx, DP_ERUNTIME, "%s: expected indices of int64 but got %s", name,
                     dp_dtype_name(i.dtype));
    return rc == 0 ? scan(ctx, &c, values, indices) : rc;
}

/* aten::_cummax_helper(Tensor self, Tensor(a!) values, Tensor(b!) indices, int dim) -> () */
static int cummax(dp_ctx *ctx, dp_tensor *self, dp_tensor *values, dp_tensor *indices, int64_t dim)
{
    return extremes(ctx, SC_MAX, "cummax", self, values, indices, dim);
}

/* aten::_cummin_helper(Tensor self, Tensor(a!) values, Tensor(b!) indices, int dim) -> () */
static int cummin(dp_ctx *ctx, dp_tensor *self, dp_tensor *values, dp_tensor *indices, int64_t dim)
{
    return extremes(ctx, SC_MIN, "cummin", self, values, indices, dim);
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("cumsum", cumsum, (T, i, oi), (T)),
                DP_IMPL_UNBOXED("cumsum.out", cumsum_out, (T, i, oi, T), ()),
                DP_IMPL_UNBOXED("cumsum_", cumsum_in_place, (T, i, oi), ()),
                DP_IMPL_UNBOXED("cumprod", cumprod, (T, i, oi), (T)),
                DP_IMPL_UNBOXED("cumprod.out", cumprod_out, (T, i, oi, T), ()),
                DP_IMPL_UNBOXED("cumprod_", cumprod_in_place, (T, i, oi), ()),
                DP_IMPL_UNBOXED("_logcumsumexp", logcumsumexp, (T, i), (T)),
                DP_IMPL_UNBOXED("_logcumsumexp.out", logcumsumexp_out, (T, i, T), ()),
                DP_IMPL_UNBOXED("_cummax_helper", cummax, (T, T, T, i), ()),
                DP_IMPL_UNBOXED("_cummin_helper", cummin, (T, T, T, i), ()))
