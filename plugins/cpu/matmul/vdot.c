/* vdot.c -- dot and vdot, products of two vectors (aten/src/ATen/native/Blas.cpp). */
#include "product.h"

/* Check the arguments of dot and vdot. */
static int check_dot(dp_ctx *ctx, const dp_view *a, const dp_view *b)
{
    if (a->ndim != 1 || b->ndim != 1)
        return dp_fail(ctx, DP_ERUNTIME, "1D tensors expected, but got %dD and %dD tensors",
                       a->ndim, b->ndim);
    if (a->dtype != b->dtype)
        return dp_fail(ctx, DP_ERUNTIME,
                       "dot : expected both vectors to have same dtype, but found %s and %s",
                       dense_type_name(a->dtype), dense_type_name(b->dtype));
    if (a->numel != b->numel)
        return dp_fail(
            ctx, DP_ERUNTIME,
            "inconsistent tensor size, expected tensor [%lld] and src [%lld] to have the "
            "same number of elements, but got %lld and %lld elements respectively",
            (long long)a->numel, (long long)b->numel, (long long)a->numel, (long long)b->numel);
    return dense_check_type(ctx, "dot", a->dtype, PRODUCT_DTYPES);
}

/* aten::dot(Tensor self, Tensor tensor) -> Tensor
 * self [n], tensor [n] -> []. */
static int dot(dp_ctx *ctx, dp_tensor *self, dp_tensor *tensor, dp_tensor **out)
{
    DP_VIEW(a, self);
    DP_VIEW(b, tensor);
    int rc = check_dot(ctx, &a, &b);

    if (rc == 0)
        rc = dp_empty(ctx, a.dtype, a.device, 0, NULL, DP_CONTIGUOUS, out);
    if (rc < 0 || dp_memoryless(ctx))
        return rc;
    DP_VIEW(y, *out);
    gemm g = {.dtype = a.dtype, .m = 1, .n = 1, .k = a.numel, .alpha = {1, 0, 1}};
    g.a = a.data, g.a_col = a.strides[0];
    g.b = b.data, g.b_row = b.strides[0];
    g.c = y.data, g.c_col = 1;
    rc = gemm_check(ctx, &g);
    if (rc == 0)
        rc = gemm_batch(ctx, &g, 1, 0, 0, 0);
    if (rc < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* aten::vdot(Tensor self, Tensor other) -> Tensor
 * self is conjugated. */
static int vdot(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, dp_tensor **out)
{
    dp_tensor *conjugate = NULL;
    DP_VIEW(a, self);
    DP_VIEW(b, other);
    int rc = check_dot(ctx, &a, &b);

    if (rc < 0 || !dp_dtype_is_complex(a.dtype) || dp_memoryless(ctx))
        return rc < 0 ? rc : dot(ctx, self, other, out);
    rc = dp_empty_like(ctx, self, DP_DTYPE_NONE, DP_CONTIGUOUS, &conjugate);
    if (rc == 0)
        rc = dp_copy(ctx, conjugate, self);
    if (rc == 0) {
        DP_VIEW(c, conjugate);
        for (int64_t i = 0; i < c.numel; i++)
            if (c.dtype == DP_COMPLEX64)
                ((float *)c.data)[2 * i + 1] *= -1;
            else
                ((double *)c.data)[2 * i + 1] *= -1;
        rc = dot(ctx, conjugate, other, out);
    }
    dp_tensor_unref(conjugate);
    return rc;
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("dot", dot, (T, T), (T)),
                DP_IMPL_UNBOXED("vdot", vdot, (T, T), (T)))
