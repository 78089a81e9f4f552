/* cat.c -- concatenation of tensors: the operator cat (aten/src/ATen/native/TensorShape.cpp). */
#include "core/elements.h"

enum { GRAIN_BYTES = 131072 }; /* number of bytes that take longer to copy than waking a thread */

/* -- cat -- */

/* Test whether cat ignores the tensor: it ignores empty 1-dim tensors, for compatibility with old
 * PyTorch. */
static bool is_skipped(const dp_view *x)
{
    return x->ndim == 1 && x->sizes[0] == 0;
}

/* Set the shape of cat's result: the shape of the first tensor that is not skipped, with the sum of
 * the sizes in `dim`. */
static int joined_shape(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, int64_t *dim,
                        int64_t *sizes, int *ndim)
{
    bool found = false;

    *ndim = 1;
    sizes[0] = 0;
    for (size_t i = 0; i < n; i++) {
        DP_VIEW(x, tensors[i]);
        if (x.ndim == 0)
            return dp_fail(ctx, DP_ERUNTIME,
                           "zero-dimensional tensor (at position %zu) cannot be concatenated", i);
        if (is_skipped(&x))
            continue;
        if (!found) {
            int rc = wrap_dim(ctx, dim, x.ndim);
            if (rc < 0)
                return rc;
            dp_copy_n(sizes, x.sizes, (size_t)x.ndim, sizeof(int64_t));
            *ndim = x.ndim;
            found = true;
            continue;
        }
        if (x.ndim != *ndim)
            return dp_fail(ctx, DP_ERUNTIME,
                           "Tensors must have same number of dimensions: got %d and %d", *ndim,
                           x.ndim);
        for (int d = 0; d < x.ndim; d++)
            if (d != *dim && x.sizes[d] != sizes[d])
                return dp_fail(ctx, DP_ERUNTIME,
                               "Sizes of tensors must match except in dimension %" PRId64
                               ". Expected size %" PRId64 " but got size %" PRId64
                               " for tensor number %zu in the list.",
                               *dim, sizes[d], x.sizes[d], i);
        if (__builtin_add_overflow(sizes[*dim], x.sizes[*dim], &sizes[*dim]))
            return dp_fail(ctx, DP_ERUNTIME,
                           "the sizes in dimension %" PRId64 " sum up to over 2^63", *dim);
    }
    *dim = found ? *dim : 0;
    return 0;
}

/* Return the memory format that all tensors suggest; contiguous if they differ. */
static dp_memory_format common_format(dp_tensor *const *tensors, size_t n)
{
    dp_memory_format format = dp_tensor_suggest_format(tensors[0]);

    for (size_t i = 1; i < n; i++)
        if (dp_tensor_suggest_format(tensors[i]) != format)
            return DP_CONTIGUOUS;
    return format;
}

/* -- contiguous tensors: rows of bytes -- */

/* A concatenation whose rows each consist of a row of every part, one after the other. */
typedef struct joining {
    size_t n;
    const char **from; /* [n] addresses of the parts */
    int64_t *ends;     /* [n] end of each part in a row, in bytes */
    char *to;
} joining;

/* Copy bytes [begin, end) of the result. */
static void join_bytes(int64_t begin, int64_t end, void *user)
{
    const joining *j = user;
    int64_t row = j->ends[j->n - 1];

    for (int64_t at = begin; at < end;) {
        int64_t in_row = at % row, r = at / row;
        size_t low = 0, high = j->n - 1; /* the first part that ends after in_row */
        while (low < high) {
            size_t mid = (low + high) / 2;
            low = j->ends[mid] > in_row ? low : mid + 1;
            high = j->ends[mid] > in_row ? mid : high;
        }
        for (; low < j->n && at < end; low++) {
            int64_t first = low ? j->ends[low - 1] : 0, size = j->ends[low] - first;
            int64_t skip = at - r * row - first,
                    n = size - skip < end - at ? size - skip : end - at;
            memcpy(j->to + at, j->from[low] + r * size + skip, (size_t)n);
            at += n;
        }
    }
}

static bool all_contiguous(dp_tensor *const *tensors, size_t n, const dp_tensor *out)
{
    DP_VIEW(y, out);
    bool same = y.device == DP_DEVICE_CPU && dp_tensor_is_contiguous(out, DP_CONTIGUOUS);

    for (size_t i = 0; same && i < n; i++) { /* memory of other devices is copied by dp_copy() */
        DP_VIEW(x, tensors[i]);
        same = x.dtype == y.dtype && x.device == DP_DEVICE_CPU &&
               dp_tensor_is_contiguous(tensors[i], DP_CONTIGUOUS);
    }
    return same;
}

static int join(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, int64_t dim, dp_tensor *out)
{
    DP_VIEW(y, out);
    joining j = {0, dp_alloc_n(ctx, n, sizeof(char *)), dp_alloc_n(ctx, n, sizeof(int64_t)),
                 y.data};
    int64_t inner = (int64_t)dp_dtype_size(y.dtype), end = 0;

    if (j.from == NULL || j.ends == NULL)
        return DP_ERESOURCE;
    for (int d = (int)dim + 1; d < y.ndim; d++)
        inner *= y.sizes[d];
    for (size_t i = 0; i < n; i++) {
        DP_VIEW(x, tensors[i]);
        if (x.numel == 0)
            continue;
        end += x.sizes[dim] * inner;
        j.from[j.n] = x.data;
        j.ends[j.n++] = end;
    }
    return dp_parallel_for(ctx, 0, y.numel * (int64_t)dp_dtype_size(y.dtype), GRAIN_BYTES,
                           join_bytes, &j);
}

/* -- other tensors -- */

/* Copy `part` into out, starting at index `at` of dim. */
static int put(dp_ctx *ctx, dp_tensor *out, const dp_tensor *part, int64_t dim, int64_t at)
{
    dp_tensor *there;
    DP_VIEW(x, part);
    DP_VIEW(y, out);
    int rc = dp_as_strided(ctx, out, x.ndim, x.sizes, y.strides,
                           dp_tensor_offset(out) + at * y.strides[dim], &there);

    if (rc < 0)
        return rc;
    rc = dp_copy(ctx, there, part);
    dp_tensor_unref(there);
    return rc;
}

static int put_all(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, int64_t dim, dp_tensor *out)
{
    int64_t at = 0;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < n; i++) {
        DP_VIEW(x, tensors[i]);
        if (is_skipped(&x))
            continue;
        rc = x.numel > 0 ? put(ctx, out, tensors[i], dim, at) : 0;
        at += x.sizes[dim];
    }
    return rc;
}

/* -- cat -- */

/* Set the strides of `format` for these sizes.  False: the format is contiguous. */
static bool format_strides(dp_memory_format format, int ndim, const int64_t *sizes,
                           int64_t *strides)
{
    int64_t step = ndim > 1 ? sizes[1] : 1;

    if (format == DP_CONTIGUOUS)
        return false;
    strides[1] = 1;
    for (int d = ndim - 1; d > 1; d--) {
        strides[d] = step;
        step *= sizes[d];
    }
    strides[0] = step;
    return true;
}

/* Make or resize *out.  A given *out must have a dtype to which the result can be cast. */
static int set_result(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, int ndim,
                      const int64_t *sizes, dp_tensor **out)
{
    int64_t strides[DP_DIM_MAX];
    dp_dtype dtype = dp_result_type(tensors, n);
    bool given = *out != NULL;
    DP_VIEW(x, tensors[0]);

    if (given) {
        DP_VIEW(y, *out);
        if (!dp_can_cast(dtype, y.dtype))
            return dp_fail(ctx, DP_ERUNTIME,
                           "torch.cat(): input types can't be cast to the desired output type %s",
                           dp_dtype_name(y.dtype));
        dtype = y.dtype;
    }
    bool laid = format_strides(common_format(tensors, n), ndim, sizes, strides);
    int rc = dp_set_output(ctx, out, ndim, sizes, laid ? strides : NULL, dtype, x.device);
    return rc < 0 || !given ? rc : check_apart(ctx, *out, tensors, (int)n);
}

/* Run cat into *out; NULL: it is set to a new tensor. */
static int write_cat(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, int64_t dim, dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX];
    int ndim;
    bool given = *out != NULL;

    if (n == 0)
        return dp_refuse(ctx, DP_ERUNTIME, "torch.cat(): expected a non-empty list of Tensors");
    int rc = joined_shape(ctx, tensors, n, &dim, sizes, &ndim);
    if (rc == 0)
        rc = set_result(ctx, tensors, n, ndim, sizes, out);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    DP_VIEW(y, *out);
    if (y.numel > 0 && !dp_memoryless(ctx))
        rc = all_contiguous(tensors, n, *out) ? join(ctx, tensors, n, dim, *out)
                                              : put_all(ctx, tensors, n, dim, *out);
    if (rc < 0 && !given)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* aten::cat(Tensor[] tensors, int dim=0) -> Tensor */
static int cat(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, int64_t dim, dp_tensor **out)
{
    *out = NULL;
    return write_cat(ctx, tensors, n, dim, out);
}

/* aten::cat.out(Tensor[] tensors, int dim=0, *, Tensor(a!) out) -> Tensor(a!) */
static int cat_out(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, int64_t dim, dp_tensor *out)
{
    return write_cat(ctx, tensors, n, dim, &out);
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("cat", cat, (lT, i), (T)),
                DP_IMPL_UNBOXED("cat.out", cat_out, (lT, i, T), ()))
