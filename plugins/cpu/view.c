/* view.c -- the views that PyTorch registers for each backend: view, as_strided, unfold. */
#include "../dims.h"
#include <string.h>

/* aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a) */
static int view(dp_ctx *ctx, dp_tensor *self, const int64_t *shape, size_t n, dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX];
    DP_VIEW(x, self);
    int rc = infer_size(ctx, x.numel, shape, n, sizes);

    if (rc == 0)
        rc = dp_view_sizes(ctx, self, (int)n, sizes, out);
    if (rc < 0 || *out != NULL)
        return rc;
    return dp_fail(ctx, DP_ERUNTIME,
                   "view size is not compatible with input tensor's size and stride (at least one "
                   "dimension spans across two contiguous subspaces). Use .reshape(...) instead.");
}

static int check_strides(dp_ctx *ctx, const int64_t *sizes, size_t n, const int64_t *strides,
                         size_t n_strides)
{
    char size[DP_SHAPE_TEXT], stride[DP_SHAPE_TEXT];

    if (n != n_strides)
        return dp_fail(ctx, DP_ERUNTIME, "mismatch in length of strides and shape: %s and %s",
                       dp_shape_text(stride, strides, n_strides), dp_shape_text(size, sizes, n));
    int rc = check_ndim(ctx, n);
    for (size_t i = 0; rc == 0 && i < n; i++)
        if (strides[i] < 0)
            return dp_fail(
                ctx, DP_ERUNTIME,
                "as_strided: Negative strides are not supported at the moment, got strides: %s",
                dp_shape_text(stride, strides, n));
    return rc;
}

/* aten::as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None)
 *     -> Tensor(a) */
static int as_strided(dp_ctx *ctx, dp_tensor *self, const int64_t *sizes, size_t n,
                      const int64_t *strides, size_t n_strides, const int64_t *offset,
                      dp_tensor **out)
{
    int rc = check_strides(ctx, sizes, n, strides, n_strides);
    return rc < 0 ? rc
                  : dp_as_strided(ctx, self, (int)n, sizes, strides,
                                  offset ? *offset : dp_tensor_offset(self), out);
}

/* aten::_reshape_alias(Tensor(a) self, SymInt[] size, SymInt[] stride) -> Tensor(a) */
static int reshape_alias(dp_ctx *ctx, dp_tensor *self, const int64_t *sizes, size_t n,
                         const int64_t *strides, size_t n_strides, dp_tensor **out)
{
    return as_strided(ctx, self, sizes, n, strides, n_strides, NULL, out);
}

/* aten::unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)
 * Windows of `size` elements, one every `step` elements of dim; a window is a new last
 * dimension. */
static int unfold(dp_ctx *ctx, dp_tensor *self, int64_t dim, int64_t size, int64_t step,
                  dp_tensor **out)
{
    DP_VIEW(x, self);
    int64_t sizes[DP_DIM_MAX + 1], strides[DP_DIM_MAX + 1];
    int rc = wrap_dim(ctx, &dim, x.ndim);

    if (rc < 0)
        return rc;
    int64_t have = x.ndim ? x.sizes[dim] : 1, stride = x.ndim ? x.strides[dim] : 1;
    if (size < 0 || size > have)
        return dp_fail(ctx, DP_ERUNTIME,
                       "maximum size for tensor at dimension %" PRId64 " is %" PRId64
                       " but size is %" PRId64,
                       dim, have, size);
    if (step <= 0)
        return dp_fail(ctx, DP_ERUNTIME, "step is %" PRId64 " but must be > 0", step);
    rc = check_ndim(ctx, (size_t)x.ndim + 1);
    if (rc < 0)
        return rc;
    memcpy(sizes, x.sizes, (size_t)x.ndim * sizeof(int64_t));
    memcpy(strides, x.strides, (size_t)x.ndim * sizeof(int64_t));
    sizes[x.ndim] = size;
    strides[x.ndim] = stride;
    if (x.ndim > 0) {
        sizes[dim] = (have - size) / step + 1;
        if (__builtin_mul_overflow(stride, step, &strides[dim]))
            return dp_fail(ctx, DP_ERUNTIME, "step %" PRId64 " is too large", step);
    }
    return dp_as_strided(ctx, self, x.ndim + 1, sizes, strides, dp_tensor_offset(self), out);
}

/* -- a tensor's own sizes and storage -- */

/* aten::resize_(Tensor(a!) self, SymInt[] size, *, MemoryFormat? memory_format=None)
 *     -> Tensor(a!) */
static int resize_(dp_ctx *ctx, dp_tensor *self, const int64_t *sizes, size_t n,
                   const int64_t *format)
{
    int rc = check_ndim(ctx, n);

    if (rc == 0 && format && *format == DP_PRESERVE)
        rc = dp_fail(ctx, DP_ERUNTIME, "Unsupported memory format Preserve");
    if (rc == 0 && format)
        rc = check_format(ctx, *format, (int)n);
    if (rc == 0)
        rc = dp_resize(ctx, self, (int)n, sizes, format ? (dp_memory_format)*format : DP_PRESERVE);
    return rc < 0 ? dp_refuse(ctx, rc, NULL) : 0;
}

/* aten::set_.source_Tensor(Tensor(a!) self, Tensor source) -> Tensor(a!) */
static int set_tensor(dp_ctx *ctx, dp_tensor *self, dp_tensor *source)
{
    DP_VIEW(x, source);
    int rc = self == source ? 0
                            : dp_set_storage(ctx, self, source, dp_tensor_offset(source), x.ndim,
                                             x.sizes, x.strides);
    return rc < 0 ? dp_refuse(ctx, rc, NULL) : 0;
}

/* aten::set_(Tensor(a!) self) -> Tensor(a!): no elements, in a storage of its own */
static int set_empty(dp_ctx *ctx, dp_tensor *self)
{
    int64_t none[1] = {0};
    dp_tensor *empty;
    DP_VIEW(x, self);
    int rc = dp_empty(ctx, x.dtype, x.device, 1, none, DP_CONTIGUOUS, &empty);

    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    rc = set_tensor(ctx, self, empty);
    dp_tensor_unref(empty);
    return rc;
}

/* aten::_local_scalar_dense(Tensor self) -> Scalar
 * The first element of self as a Scalar, converted to the widest dtype of its kind. */
static int local_scalar_dense(dp_ctx *ctx, dp_tensor *self, dp_value *out)
{
    static const dp_dtype wide[DP_DTYPE_END] = {
        [DP_UINT8] = DP_INT64,           [DP_INT8] = DP_INT64,
        [DP_INT16] = DP_INT64,           [DP_INT32] = DP_INT64,
        [DP_INT64] = DP_INT64,           [DP_FLOAT16] = DP_FLOAT64,
        [DP_BFLOAT16] = DP_FLOAT64,      [DP_FLOAT32] = DP_FLOAT64,
        [DP_FLOAT64] = DP_FLOAT64,       [DP_COMPLEX64] = DP_COMPLEX128,
        [DP_COMPLEX128] = DP_COMPLEX128, [DP_BOOL] = DP_BOOL};
    DP_VIEW(x, self);
    dp_value v = dp_none();

    if (x.numel == 0)
        return dp_fail(ctx, DP_ERUNTIME, "a Tensor with 0 elements cannot be converted to Scalar");
    dp_convert_fn convert = dp_converter(wide[x.dtype], x.dtype);
    if (dp_dtype_is_complex(x.dtype)) {
        double *parts = dp_alloc(ctx, 2 * sizeof(double)); /* freed when the call ends */
        if (parts == NULL)
            return DP_ERESOURCE;
        convert((char *)parts, sizeof(double[2]), x.data, 0, 1);
        *out = (dp_value){DP_TAG_COMPLEX, 2, {.doubles = parts}};
        return 0;
    }
    convert((char *)&v.u, sizeof(v.u), x.data, 0, 1);
    *out = wide[x.dtype] == DP_INT64     ? dp_int(v.u.i)
           : wide[x.dtype] == DP_FLOAT64 ? dp_double(v.u.d)
                                         : dp_bool(v.u.b);
    return 0;
}

DP_LIBRARY_VIEWS(aten, CPU, DP_IMPL_UNBOXED("view", view, (T, li), (T)),
                 DP_IMPL_UNBOXED("as_strided", as_strided, (T, li, li, oi), (T)),
                 DP_IMPL_UNBOXED("_reshape_alias", reshape_alias, (T, li, li), (T)),
                 DP_IMPL_UNBOXED("unfold", unfold, (T, i, i, i), (T)),
                 DP_IMPL_UNBOXED("resize_", resize_, (T, li, oi), ()),
                 DP_IMPL_UNBOXED("set_.source_Tensor", set_tensor, (T, T), ()),
                 DP_IMPL_UNBOXED("set_", set_empty, (T), ()))
DP_LIBRARY_IMPL(aten, CPU, DP_IMPL_UNBOXED("_local_scalar_dense", local_scalar_dense, (T), (s)))
