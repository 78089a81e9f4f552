/* view_dtype.c -- views of the same bytes as another dtype: view_as_real, view_as_complex,
 * view.dtype. */
#include "lib/dims.h"
#include <string.h>

static int check_plain(dp_ctx *ctx, const dp_tensor *self, dp_key key, const char *text)
{
    if (!dp_keyset_has(dp_tensor_keys(self), key))
        return 0;
    return dp_fail(ctx, DP_ERUNTIME, "%s", text);
}

/* aten::view_as_real(Tensor(a) self) -> Tensor(a) */
static int view_as_real(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX + 1], strides[DP_DIM_MAX + 1];
    DP_VIEW(x, self);
    int rc = check_ndim(ctx, (size_t)x.ndim + 1);

    if (rc == 0 && !dp_dtype_is_complex(x.dtype))
        rc = dp_fail(ctx, DP_ERUNTIME, "view_as_real is only supported for complex tensors");
    if (rc == 0)
        rc =
            check_plain(ctx, self, DP_KEY(DP_F_Conjugate),
                        "view_as_real doesn't work on unresolved conjugated tensors.  To resolve "
                        "the conjugate tensor so you can view it as real, use self.resolve_conj(); "
                        "however, be warned that the resulting tensor will NOT alias the "
                        "original.");
    if (rc < 0)
        return rc;
    dp_copy_n(sizes, x.sizes, (size_t)x.ndim, sizeof(int64_t));
    for (int d = 0; d < x.ndim; d++)
        strides[d] = x.strides[d] * 2;
    sizes[x.ndim] = 2;
    strides[x.ndim] = 1;
    return dp_view_as(ctx, self, x.dtype == DP_COMPLEX64 ? DP_FLOAT32 : DP_FLOAT64, 0, x.ndim + 1,
                      sizes, strides, dp_tensor_offset(self) * 2, out);
}

static int check_pairs(dp_ctx *ctx, const dp_view *x, int64_t offset)
{
    int last = x->ndim - 1;

    if (x->dtype != DP_FLOAT32 && x->dtype != DP_FLOAT64)
        return dp_fail(ctx, DP_ERUNTIME,
                       "view_as_complex is only supported for half, float and double tensors, but "
                       "got a tensor of scalar type: %s",
                       dp_dtype_name(x->dtype));
    if (x->ndim == 0)
        return dp_fail(ctx, DP_ERUNTIME, "Input tensor must have one or more dimensions");
    if (x->sizes[last] != 2)
        return dp_fail(ctx, DP_ERUNTIME, "Tensor must have a last dimension of size 2");
    if (x->strides[last] != 1)
        return dp_fail(ctx, DP_ERUNTIME, "Tensor must have a last dimension with stride 1");
    for (int d = 0; d < last; d++)
        if (x->strides[d] % 2 != 0)
            return dp_fail(ctx, DP_ERUNTIME,
                           "Tensor must have a stride divisible by 2 for all but last dimension");
    if (offset % 2 != 0)
        return dp_fail(ctx, DP_ERUNTIME, "Tensor must have a storage_offset divisible by 2");
    return 0;
}

/* aten::view_as_complex(Tensor(a) self) -> Tensor(a) */
static int view_as_complex(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    int64_t strides[DP_DIM_MAX], offset = dp_tensor_offset(self);
    DP_VIEW(x, self);
    int rc = check_pairs(ctx, &x, offset);

    if (rc < 0)
        return rc;
    for (int d = 0; d < x.ndim - 1; d++)
        strides[d] = x.strides[d] / 2;
    return dp_view_as(ctx, self, x.dtype == DP_FLOAT32 ? DP_COMPLEX64 : DP_COMPLEX128, 0,
                      x.ndim - 1, x.sizes, strides, offset / 2, out);
}

/* -- view.dtype -- */

/* Convert sizes and strides to those of elements that are `times` as large. */
static int in_larger(dp_ctx *ctx, const dp_view *x, int64_t times, dp_dtype dtype, int64_t *sizes,
                     int64_t *strides, int64_t *offset)
{
    int last = x->ndim - 1;

    if (x->sizes[last] % times != 0)
        return dp_fail(ctx, DP_ERUNTIME,
                       "self.size(-1) must be divisible by %" PRId64
                       " to view %s as %s (different element sizes), but got %" PRId64,
                       times, dp_dtype_name(x->dtype), dp_dtype_name(dtype), x->sizes[last]);
    if (*offset % times != 0)
        return dp_fail(ctx, DP_ERUNTIME,
                       "self.storage_offset() must be divisible by %" PRId64
                       " to view %s as %s (different element sizes), but got %" PRId64,
                       times, dp_dtype_name(x->dtype), dp_dtype_name(dtype), *offset);
    for (int d = 0; d < last; d++) {
        if (strides[d] % times != 0)
            return dp_fail(ctx, DP_ERUNTIME,
                           "self.stride(%d) must be divisible by %" PRId64
                           " to view %s as %s (different element sizes), but got %" PRId64,
                           d, times, dp_dtype_name(x->dtype), dp_dtype_name(dtype), strides[d]);
        strides[d] /= times;
    }
    sizes[last] /= times;
    *offset /= times;
    return 0;
}

static int in_smaller(dp_ctx *ctx, const dp_view *x, int64_t times, int64_t *sizes,
                      int64_t *strides, int64_t *offset)
{
    bool over = __builtin_mul_overflow(*offset, times, offset);

    for (int d = 0; d < x->ndim - 1; d++)
        over |= __builtin_mul_overflow(strides[d], times, &strides[d]);
    over |= __builtin_mul_overflow(sizes[x->ndim - 1], times, &sizes[x->ndim - 1]);
    return over ? dp_fail(ctx, DP_ERUNTIME, "view: sizes or strides do not fit int64") : 0;
}

static int resized(dp_ctx *ctx, const dp_view *x, dp_dtype dtype, int64_t *sizes, int64_t *strides,
                   int64_t *offset)
{
    size_t own = dp_dtype_size(x->dtype), wanted = dp_dtype_size(dtype);

    if (own == wanted)
        return 0;
    if (x->ndim == 0)
        return dp_fail(ctx, DP_ERUNTIME,
                       "self.dim() cannot be 0 to view %s as %s (different element sizes)",
                       dp_dtype_name(x->dtype), dp_dtype_name(dtype));
    if (x->strides[x->ndim - 1] != 1)
        return dp_fail(ctx, DP_ERUNTIME,
                       "self.stride(-1) must be 1 to view %s as %s (different element sizes), but "
                       "got %" PRId64,
                       dp_dtype_name(x->dtype), dp_dtype_name(dtype), x->strides[x->ndim - 1]);
    return own < wanted ? in_larger(ctx, x, (int64_t)(wanted / own), dtype, sizes, strides, offset)
                        : in_smaller(ctx, x, (int64_t)(own / wanted), sizes, strides, offset);
}

/* aten::view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a) */
static int view_dtype(dp_ctx *ctx, dp_tensor *self, int64_t dtype, dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX], strides[DP_DIM_MAX], offset = dp_tensor_offset(self);
    DP_VIEW(x, self);
    int rc = 0;

    if (dtype != x.dtype)
        rc = check_plain(ctx, self, DP_KEY(DP_F_Conjugate),
                         "torch.Tensor.view is not supported for conjugate view tensors when "
                         "converting to a different dtype.");
    if (rc == 0 && dtype != x.dtype)
        rc = check_plain(ctx, self, DP_KEY(DP_F_Negative),
                         "torch.Tensor.view is not supported for tensors with negative bit set "
                         "when converting to a different dtype.");
    dp_copy_n(sizes, x.sizes, (size_t)x.ndim, sizeof(int64_t));
    dp_copy_n(strides, x.strides, (size_t)x.ndim, sizeof(int64_t));
    if (rc == 0)
        rc = resized(ctx, &x, (dp_dtype)dtype, sizes, strides, &offset);
    return rc < 0 ? rc
                  : dp_view_as(ctx, self, (dp_dtype)dtype, 0, x.ndim, sizes, strides, offset, out);
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("view_as_real", view_as_real, (T), (T)),
                DP_IMPL_UNBOXED("view_as_complex", view_as_complex, (T), (T)))
DP_LIBRARY_META(aten, CompositeExplicitAutograd,
                DP_IMPL_UNBOXED("view.dtype", view_dtype, (T, i), (T)))
