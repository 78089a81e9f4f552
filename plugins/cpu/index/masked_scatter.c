/* masked_scatter.c -- masked_scatter, and masked_fill with a tensor, which write the elements where
 * a mask is true (aten/src/ATen/native/TensorAdvancedIndexing.cpp). */
#include "take_put.h"
#include <dispatchd/iter.h>

static int check_mask(dp_ctx *ctx, dp_tensor *mask, const char *name)
{
    DP_VIEW(m, mask);

    if (m.dtype == DP_BOOL || m.dtype == DP_UINT8)
        return 0;
    return dp_fail(ctx, DP_ERUNTIME, "%s: expected BoolTensor or ByteTensor for mask", name);
}

static void count_true(char *const *data, const int64_t *strides, int64_t n, void *user)
{
    for (int64_t i = 0; i < n; i++)
        *(int64_t *)user += *(data[1] + i * strides[1]) != 0;
}

/* Set *count to the number of true elements of the mask, broadcast with self. */
static int count_places(dp_ctx *ctx, dp_tensor *self, dp_tensor *mask, int64_t *count)
{
    dp_iter it;
    dp_tensor *ins[] = {self, mask};
    dp_iter_config c =
        dp_iter_of(DP_ITER_LINEAR | DP_ITER_SERIAL | DP_ITER_ANY_DTYPE, 0, NULL, 2, ins);
    int rc = dp_iter_init(ctx, &c, &it);

    *count = 0;
    return rc < 0 ? rc : dp_iter_run_1d(ctx, &it, count_true, count);
}

/* The elements of source are written in order to the elements of self where the mask is true, in
 * row-major order.  (PyTorch 1.13 takes the order of self's memory; in the functional variant, self
 * is first copied to row-major order.) */
typedef struct scattering {
    size_t size;
    const char *from;
    /* number of elements of source that are left; it is a limit, because another thread may write
     * to the mask after it was counted */
    int64_t left;
} scattering;

static void scatter_elements(char *const *data, const int64_t *strides, int64_t n, void *user)
{
    scattering *s = user;

    for (int64_t i = 0; i < n; i++)
        if (*(data[1] + i * strides[1]) != 0 && s->left > 0) {
            memcpy(data[0] + i * strides[0], s->from, s->size);
            s->from += s->size;
            s->left--;
        }
}

static int check_scatter(dp_ctx *ctx, dp_tensor *self, dp_tensor *mask, dp_tensor *source)
{
    DP_VIEW(x, self);
    DP_VIEW(y, source);
    int64_t count = 0;
    int rc = check_mask(ctx, mask, "masked_scatter");

    if (rc == 0)
        rc = index_check_devices(ctx, "masked_scatter_", self, mask, source);
    if (rc == 0 && x.dtype != y.dtype)
        rc = dp_fail(ctx, DP_ERUNTIME,
                     "masked_scatter: expected self and source to have same dtypes but got %s and "
                     "%s",
                     dp_dtype_name(x.dtype), dp_dtype_name(y.dtype));
    if (rc == 0 && x.numel > 0)
        rc = check_bits(ctx, mask);
    if (rc == 0)
        rc = count_places(ctx, self, mask, &count);
    if (rc == 0 && count > y.numel)
        rc = dp_fail(ctx, DP_ERUNTIME,
                     "masked_scatter: Number of elements of source < number of ones in mask");
    return rc;
}

/* aten::masked_scatter_(Tensor(a!) self, Tensor mask, Tensor source) -> Tensor(a!) */
static int masked_scatter_(dp_ctx *ctx, dp_tensor *self, dp_tensor *mask, dp_tensor *source)
{
    dp_iter it;
    dp_tensor *packed = NULL;
    dp_iter_config c =
        dp_iter_of(DP_ITER_LINEAR | DP_ITER_SERIAL | DP_ITER_NULLARY, 1, &self, 1, &mask);
    int rc = check_scatter(ctx, self, mask, source);

    if (rc == 0)
        rc = dp_iter_init(ctx, &c, &it);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::contiguous", "T>T", source, &packed);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    DP_VIEW(y, packed);
    scattering s = {dp_dtype_size(y.dtype), y.data, y.numel};
    rc = dp_iter_run_1d(ctx, &it, scatter_elements, &s);
    dp_tensor_unref(packed);
    return rc;
}

/* Set *out, owned, to self broadcast with the mask, as a new contiguous tensor. */
static int expanded_copy(dp_ctx *ctx, dp_tensor *self, dp_tensor *mask, dp_tensor **out)
{
    int64_t shape[DP_DIM_MAX], contiguous = DP_CONTIGUOUS;
    dp_tensor *wide;
    DP_VIEW(x, self);
    DP_VIEW(m, mask);
    size_t n = (size_t)(x.ndim > m.ndim ? x.ndim : m.ndim);
    int rc = dp_broadcast_shapes(ctx, x.ndim, x.sizes, m.ndim, m.sizes, shape);

    if (rc == 0)
        rc = dp_invoke(ctx, "aten::expand", "Tli>T", self, shape, n, &wide);
    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::clone", "Toi>T", wide, &contiguous, out);
    dp_tensor_unref(wide);
    return rc;
}

/* aten::masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor */
static int masked_scatter(dp_ctx *ctx, dp_tensor *self, dp_tensor *mask, dp_tensor *source,
                          dp_tensor **out)
{
    int rc = expanded_copy(ctx, self, mask, out);

    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::masked_scatter_", "TTT>", *out, mask, source);
    if (rc < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* aten::masked_fill_.Tensor(Tensor(a!) self, Tensor mask, Tensor value) -> Tensor(a!) */
static int masked_fill_tensor_(dp_ctx *ctx, dp_tensor *self, dp_tensor *mask, dp_tensor *value)
{
    DP_VIEW(v, value);
    dp_value number;

    if (v.ndim != 0)
        return dp_refuse(ctx, DP_ERUNTIME,
                         "masked_fill_ only supports a 0-dimensional value tensor, but got tensor "
                         "with %d dimension(s).",
                         v.ndim);
    int rc = dp_invoke(ctx, "aten::_local_scalar_dense", "T>s", value, &number);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    return dp_invoke(ctx, "aten::masked_fill_.Scalar", "TTs>", self, mask, number);
}

/* aten::masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor */
static int masked_fill_tensor(dp_ctx *ctx, dp_tensor *self, dp_tensor *mask, dp_tensor *value,
                              dp_tensor **out)
{
    int rc = expanded_copy(ctx, self, mask, out);

    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::masked_fill_.Tensor", "TTT>", *out, mask, value);
    if (rc < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("masked_scatter_", masked_scatter_, (T, T, T), ()),
                DP_IMPL_UNBOXED("masked_fill_.Tensor", masked_fill_tensor_, (T, T, T), ()))
DP_LIBRARY_META(aten, CompositeExplicitAutograd,
                DP_IMPL_UNBOXED("masked_scatter", masked_scatter, (T, T, T), (T)),
                DP_IMPL_UNBOXED("masked_fill.Tensor", masked_fill_tensor, (T, T, T), (T)))
