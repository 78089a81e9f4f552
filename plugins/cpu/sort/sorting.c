/* sorting.c -- sort, argsort, topk, kthvalue, median, nanmedian and mode
 * (aten/src/ATen/native/Sorting.cpp, TensorCompare.cpp). */
#include "lines.h"
#include "core/dense.h"

#define NUMBERS (DENSE_NUMBERS)

/* Check that the elements of `out` do not share memory with one another and, if `apart` or if it
 * overlaps only partly, not with self. */
static int check_memory(dp_ctx *ctx, dp_tensor *self, dp_tensor *out, bool apart)
{
    int overlap = dp_overlap(out, self);

    return check_apart(ctx, out, &self, apart || overlap == 2);
}

/* Call ln_run(); if a result shares memory with self, call it with a copy of self. */
static int run(dp_ctx *ctx, const ln_call *c, dp_tensor *values, dp_tensor *indices)
{
    ln_call own = *c;
    DP_VIEW(x, c->self);
    if (x.ndim == 0) { /* a 0-dim tensor, of any dtype, is its own result */
        int copied = dp_copy(ctx, values, c->self);
        return copied < 0 ? copied : dp_invoke(ctx, "aten::zero_", "T>", indices);
    }
    bool shared = dp_overlap(values, c->self) != 0 || dp_overlap(indices, c->self) != 0;
    int rc = shared ? dp_invoke(ctx, "aten::clone", "T>T", c->self, &own.self) : 0;

    if (rc == 0)
        rc = ln_run(ctx, &own, values, indices);
    if (shared && own.self != c->self)
        dp_tensor_unref(own.self);
    return rc;
}

/* Return `rc`; if it is an error and the results were not given, release them. */
static int end(int rc, bool given, dp_tensor **values, dp_tensor **indices)
{
    if (rc < 0 && !given) {
        *values = dp_tensor_unref(*values);
        *indices = dp_tensor_unref(*indices);
    }
    return rc;
}

/* Make or resize both results to sizes [ndim]; strides may be NULL. */
static int set_outputs(dp_ctx *ctx, const ln_call *c, bool apart, int ndim, const int64_t *sizes,
                       const int64_t *strides, dp_tensor **values, dp_tensor **indices)
{
    bool given = *values != NULL;
    DP_VIEW(x, c->self);
    int rc = dp_set_output(ctx, values, ndim, sizes, strides, x.dtype, x.device);

    if (rc == 0)
        rc = dp_set_output(ctx, indices, ndim, sizes, strides, DP_INT64, x.device);
    if (rc == 0 && given)
        rc = check_memory(ctx, c->self, *values, apart);
    if (rc == 0 && given)
        rc = check_memory(ctx, c->self, *indices, apart);
    return rc < 0 ? dp_refuse(ctx, rc, NULL) : 0;
}

/* -- sort, topk -- */

/* Resize given results to the shape of self; a result that had another shape gets self's order of
 * dimensions. */
static int resize_like(dp_ctx *ctx, const ln_call *c, dp_tensor **values, dp_tensor **indices)
{
    dp_tensor *like;
    DP_VIEW(x, c->self);
    int rc = dp_empty_like(ctx, c->self, DP_DTYPE_NONE, DP_PRESERVE, &like);

    if (rc < 0)
        return rc;
    DP_VIEW(v, like);
    rc = set_outputs(ctx, c, false, x.ndim, x.sizes, v.strides, values, indices);
    dp_tensor_unref(like);
    return rc;
}

/* Run sort.  Equal elements keep their order, whether or not the call asks for it. */
static int sort_lines(dp_ctx *ctx, ln_call *c, dp_tensor **values, dp_tensor **indices)
{
    bool given = *values != NULL;
    DP_VIEW(x, c->self);
    int rc = wrap_dim(ctx, &c->dim, x.ndim);

    if (rc == 0 && x.ndim > 0)
        rc = dense_check_type(ctx, "sorting_kernel_method_name", x.dtype, DENSE_ALL);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    if (given)
        rc = resize_like(ctx, c, values, indices);
    else if ((rc = dp_empty_like(ctx, c->self, DP_DTYPE_NONE, DP_PRESERVE, values)) == 0)
        rc = dp_empty_like(ctx, c->self, DP_INT64, DP_PRESERVE, indices);
    if (rc == 0)
        rc = run(ctx, c, *values, *indices);
    return end(rc, given, values, indices);
}

/* aten::sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False)
 *     -> (Tensor values, Tensor indices) */
static int sort(dp_ctx *ctx, dp_tensor *self, const bool *stable, int64_t dim, bool descending,
                dp_tensor **values, dp_tensor **indices)
{
    ln_call c = {.op = LN_SORT,
                 .self = self,
                 .dim = dim,
                 .descending = descending,
                 .stable = stable != NULL && *stable};

    *values = *indices = NULL;
    return sort_lines(ctx, &c, values, indices);
}

/* aten::sort.values_stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False,
 *     Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices) */
static int sort_out(dp_ctx *ctx, dp_tensor *self, const bool *stable, int64_t dim, bool descending,
                    dp_tensor *values, dp_tensor *indices)
{
    ln_call c = {.op = LN_SORT,
                 .self = self,
                 .dim = dim,
                 .descending = descending,
                 .stable = stable != NULL && *stable};

    return sort_lines(ctx, &c, &values, &indices);
}

/* aten::argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor */
static int argsort(dp_ctx *ctx, dp_tensor *self, bool stable, int64_t dim, bool descending,
                   dp_tensor **out)
{
    dp_tensor *values;
    int rc = dp_invoke(ctx, "aten::sort.stable", "Tobib>TT", self, &stable, dim, (int)descending,
                       &values, out);

    if (rc == 0)
        dp_tensor_unref(values);
    return rc;
}

static int top_lines(dp_ctx *ctx, ln_call *c, dp_tensor **values, dp_tensor **indices)
{
    int64_t sizes[DP_DIM_MAX];
    bool given = *values != NULL;
    DP_VIEW(x, c->self);
    int rc = wrap_dim(ctx, &c->dim, x.ndim);

    if (rc == 0 && (c->k < 0 || c->k > (x.ndim ? x.sizes[c->dim] : 1)))
        rc = dp_fail(ctx, DP_ERUNTIME, "selected index k out of range");
    if (rc == 0 && x.ndim > 0)
        rc = dense_check_type(ctx, "topk_cpu", x.dtype, NUMBERS);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    dp_copy_n(sizes, x.sizes, (size_t)x.ndim, sizeof(int64_t));
    if (x.ndim > 0)
        sizes[c->dim] = c->k;
    rc = set_outputs(ctx, c, false, x.ndim, sizes, NULL, values, indices);
    if (rc == 0)
        rc = run(ctx, c, *values, *indices);
    return end(rc, given, values, indices);
}

/* aten::topk(Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True)
 *     -> (Tensor values, Tensor indices) */
static int topk(dp_ctx *ctx, dp_tensor *self, int64_t k, int64_t dim, bool largest, bool sorted,
                dp_tensor **values, dp_tensor **indices)
{
    ln_call c = {LN_TOP, self, dim, k, largest, sorted, false};

    *values = *indices = NULL;
    return top_lines(ctx, &c, values, indices);
}

/* aten::topk.values(Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True, *,
 *     Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices) */
static int topk_out(dp_ctx *ctx, dp_tensor *self, int64_t k, int64_t dim, bool largest, bool sorted,
                    dp_tensor *values, dp_tensor *indices)
{
    ln_call c = {LN_TOP, self, dim, k, largest, sorted, false};

    return top_lines(ctx, &c, &values, &indices);
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("sort.stable", sort, (T, ob, i, b), (T, T)),
                DP_IMPL_UNBOXED("sort.values_stable", sort_out, (T, ob, i, b, T, T), ()),
                DP_IMPL_UNBOXED("argsort.stable", argsort, (T, b, i, b), (T)),
                DP_IMPL_UNBOXED("topk", topk, (T, i, i, b, b), (T, T)),
                DP_IMPL_UNBOXED("topk.values", topk_out, (T, i, i, b, b, T, T), ()))

/* -- one element of each line -- */

/* names of the operator and of its loops in error messages, and the dtypes that it takes */
typedef struct one_names {
    const char *call, *loop;
    unsigned types;
    bool apart; /* `values` must not share memory with self */
} one_names;

static int check_one(dp_ctx *ctx, const ln_call *c, const one_names *names)
{
    DP_VIEW(x, c->self);
    int64_t n = x.ndim ? x.sizes[c->dim] : 1;

    if (n == 0)
        return dp_fail(ctx, DP_EINDEX,
                       "%s(): Expected reduction dim %" PRId64 " to have non-zero size.",
                       names->call, c->dim);
    if (c->op == LN_KTH && (c->k < 0 || c->k >= n))
        return dp_fail(ctx, DP_ERUNTIME,
                       "kthvalue(): selected number k out of range for dimension %" PRId64, c->dim);
    if (c->op == LN_KTH && x.ndim == 0)
        return 0;
    return dense_check_type(ctx, names->loop, x.dtype, names->types);
}

static int one_of_lines(dp_ctx *ctx, ln_call *c, const one_names *names, bool keepdim,
                        dp_tensor **values, dp_tensor **indices)
{
    int64_t sizes[DP_DIM_MAX];
    bool given = *values != NULL;
    int ndim = 0;
    DP_VIEW(x, c->self);
    int rc = wrap_dim(ctx, &c->dim, x.ndim);

    if (rc == 0)
        rc = check_one(ctx, c, names);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    for (int d = 0; d < x.ndim; d++)
        if (d != c->dim || keepdim)
            sizes[ndim++] = d == c->dim ? 1 : x.sizes[d];
    rc = set_outputs(ctx, c, names->apart, ndim, sizes, NULL, values, indices);
    if (rc == 0)
        rc = run(ctx, c, *values, *indices);
    return end(rc, given, values, indices);
}

/* aten::kthvalue.values(Tensor self, int k, int dim=-1, bool keepdim=False, *, Tensor(a!) values,
 *     Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices) */
static int kthvalue(dp_ctx *ctx, dp_tensor *self, int64_t k, int64_t dim, bool keepdim,
                    dp_tensor *values, dp_tensor *indices)
{
    static const one_names names = {"kthvalue", "kthvalue_cpu", NUMBERS, true};
    ln_call c = {.op = LN_KTH, .self = self, .dim = dim, .k = k > INT64_MIN ? k - 1 : -1};

    return one_of_lines(ctx, &c, &names, keepdim, &values, &indices);
}

/* aten::mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices) */
static int mode(dp_ctx *ctx, dp_tensor *self, int64_t dim, bool keepdim, dp_tensor **values,
                dp_tensor **indices)
{
    static const one_names names = {"mode", "mode_cpu", DENSE_ALL, false};
    ln_call c = {.op = LN_MODE, .self = self, .dim = dim};

    *values = *indices = NULL;
    return one_of_lines(ctx, &c, &names, keepdim, values, indices);
}

static int median_of_lines(dp_ctx *ctx, ln_op op, dp_tensor *self, int64_t dim, bool keepdim,
                           dp_tensor *values, dp_tensor *indices)
{
    static const one_names names = {"median", "median_out", NUMBERS, false};
    ln_call c = {.op = op, .self = self, .dim = dim};

    return one_of_lines(ctx, &c, &names, keepdim, &values, &indices);
}

/* aten::median.dim_values(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) values,
 *     Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices) */
static int median_out(dp_ctx *ctx, dp_tensor *self, int64_t dim, bool keepdim, dp_tensor *values,
                      dp_tensor *indices)
{
    return median_of_lines(ctx, LN_MEDIAN, self, dim, keepdim, values, indices);
}

/* aten::nanmedian.dim_values(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) values,
 *     Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices) */
static int nanmedian_out(dp_ctx *ctx, dp_tensor *self, int64_t dim, bool keepdim, dp_tensor *values,
                         dp_tensor *indices)
{
    return median_of_lines(ctx, LN_NANMEDIAN, self, dim, keepdim, values, indices);
}

/* Set the median of no elements: NaN, converted to the dtype of self. */
static int median_of_none(dp_ctx *ctx, dp_tensor *value)
{
    dp_tensor *nan;
    int rc = dp_scalar_tensor(ctx, dp_double(NAN), DP_FLOAT32, &nan);

    if (rc == 0)
        rc = dp_copy(ctx, value, nan);
    if (rc == 0)
        dp_tensor_unref(nan);
    return rc;
}

static int median_of_all(dp_ctx *ctx, ln_op op, dp_tensor *self, dp_tensor **out)
{
    dp_tensor *flat = NULL, *index = NULL;
    DP_VIEW(x, self);
    int rc = dense_check_type(ctx, "median_cpu", x.dtype, x.numel ? NUMBERS : UINT32_MAX);

    *out = NULL;
    if (rc == 0)
        rc = dp_empty(ctx, x.dtype, x.device, 0, NULL, DP_CONTIGUOUS, out);
    if (rc == 0)
        rc = dp_empty(ctx, DP_INT64, x.device, 0, NULL, DP_CONTIGUOUS, &index);
    if (rc == 0 && x.numel == 0)
        rc = median_of_none(ctx, *out);
    else if (rc == 0 &&
             (rc = dp_invoke(ctx, "aten::reshape", "Tli>T", self, &x.numel, (size_t)1, &flat)) == 0)
        rc = ln_run(ctx, &(ln_call){.op = op, .self = flat}, *out, index);
    dp_tensor_unref(flat);
    dp_tensor_unref(index);
    if (rc < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* aten::median(Tensor self) -> Tensor */
static int median(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    return median_of_all(ctx, LN_MEDIAN, self, out);
}

/* aten::nanmedian(Tensor self) -> Tensor */
static int nanmedian(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    return median_of_all(ctx, LN_NANMEDIAN, self, out);
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("kthvalue.values", kthvalue, (T, i, i, b, T, T), ()),
                DP_IMPL_UNBOXED("mode", mode, (T, i, b), (T, T)),
                DP_IMPL_UNBOXED("median.dim_values", median_out, (T, i, b, T, T), ()),
                DP_IMPL_UNBOXED("nanmedian.dim_values", nanmedian_out, (T, i, b, T, T), ()),
                DP_IMPL_UNBOXED("median", median, (T), (T)),
                DP_IMPL_UNBOXED("nanmedian", nanmedian, (T), (T)))
