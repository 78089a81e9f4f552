/* cat.c -- tensors one behind the other. */
#include "elements.h"

/* -- cat -- */

/* cat ignores empty 1-dim tensors, whatever the other shapes are: a rule kept from old PyTorch. */
static bool is_skipped(const dp_view *x)
{
    return x->ndim == 1 && x->sizes[0] == 0;
}

/* Shape of cat's result: that of the first tensor not skipped, with the sizes of `dim` summed
 * up. */
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
            memcpy(sizes, x.sizes, (size_t)x.ndim * sizeof(int64_t));
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

/* The memory format that all tensors suggest; contiguous if they differ. */
static dp_memory_format common_format(dp_tensor *const *tensors, size_t n)
{
    dp_memory_format format = dp_tensor_suggest_format(tensors[0]);

    for (size_t i = 1; i < n; i++)
        if (dp_tensor_suggest_format(tensors[i]) != format)
            return DP_CONTIGUOUS;
    return format;
}

static dp_device device_of(const dp_tensor *t)
{
    DP_VIEW(x, t);
    return x.device;
}

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

/* aten::cat(Tensor[] tensors, int dim=0) -> Tensor */
static int cat(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, int64_t dim, dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX], at = 0;
    int ndim;
    dp_tensor *made;

    if (n == 0)
        return dp_fail(ctx, DP_ERUNTIME, "torch.cat(): expected a non-empty list of Tensors");
    int rc = joined_shape(ctx, tensors, n, &dim, sizes, &ndim);
    if (rc == 0)
        rc = dp_empty(ctx, dp_result_type(tensors, n), device_of(tensors[0]), ndim, sizes,
                      common_format(tensors, n), &made);
    if (rc < 0)
        return rc;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        DP_VIEW(x, tensors[i]);
        if (is_skipped(&x))
            continue;
        rc = x.numel > 0 ? put(ctx, made, tensors[i], dim, at) : 0;
        at += x.sizes[dim];
    }
    if (rc < 0)
        dp_tensor_unref(made);
    else
        *out = made;
    return rc;
}

/* cat of an empty list has no backend to go to: this registration gives it cat's own error. */
DP_LIBRARY_META(aten, CompositeExplicitAutogradNonFunctional,
                DP_IMPL_UNBOXED("cat", cat, (lT, i), (T)))
DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("cat", cat, (lT, i), (T)))
