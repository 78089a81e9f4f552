/* addmv.c -- addmv, the product of a matrix and a vector (aten/src/ATen/native/Blas.cpp).
 *
 * Each kernel serves the three variants of its operator: its last parameter points to NULL, to the
 * out= argument, or to self. */
#include "product.h"

/* Compute beta * self like mul.out, for a product without elements to sum. */
static int addmv_nothing(dp_ctx *ctx, product *p, dp_tensor **out)
{
    bool made = *out == NULL;
    dp_tensor *beta = NULL;
    DP_VIEW(x, p->self);
    int rc = dp_set_output(ctx, out, 1, p->sizes, NULL, p->dtype, x.device);

    if (rc == 0 && !made)
        rc = product_check_overlap(ctx, *out);
    if (rc == 0 && !product_is_nonzero(p->beta)) {
        rc = dp_invoke(ctx, "aten::zero_", "T>", *out);
    } else if (rc == 0) {
        dp_tensor *wide = NULL;
        rc = dp_scalar_tensor(ctx, p->beta, x.dtype, &beta);
        if (rc == 0)
            rc = dp_invoke(ctx, "aten::expand", "Tli>T", p->self, p->sizes, (size_t)1, &wide);
        if (rc == 0)
            rc = dp_invoke(ctx, "aten::mul.out", "TTT>", wide, beta, *out);
        dp_tensor_unref(wide);
    }
    if (rc < 0 && made)
        *out = dp_tensor_unref(*out);
    dp_tensor_unref(beta);
    return rc;
}

/* aten::addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor
 * mat [n, m], vec [m]; self broadcasts to [n]. */
static int addmv(dp_ctx *ctx, dp_tensor *self, dp_tensor *mat, dp_tensor *vec, dp_value beta,
                 dp_value alpha, dp_tensor **out)
{
    DP_VIEW(s, self);
    DP_VIEW(a, mat);
    DP_VIEW(b, vec);
    product p = {.self = self, .a = mat, .b = vec, .beta = beta, .alpha = alpha, .ndim = 1};

    if (a.ndim != 2 || b.ndim != 1 || s.ndim > 1)
        return dp_fail(ctx, DP_ERUNTIME, "vector + matrix @ vector expected, got %d, %d, %d",
                       s.ndim, a.ndim, b.ndim);
    if (a.sizes[1] != b.sizes[0] || (a.sizes[0] != s.numel && s.numel != 1))
        return dp_fail(ctx, DP_ERUNTIME, "size mismatch, got %lld, %lldx%lld,%lld",
                       (long long)s.numel, (long long)a.sizes[0], (long long)a.sizes[1],
                       (long long)b.sizes[0]);
    p.sizes[0] = a.sizes[0];
    p.k = a.sizes[1];
    p.dtype = b.dtype;
    if (a.numel == 0)
        return addmv_nothing(ctx, &p, out);
    int rc = product_check_types(ctx, &p, "addmv_impl_cpu");
    return rc == 0 ? product_run(ctx, &p, out) : rc;
}

PRODUCT_FORMS(addmv)

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("addmv", addmv, (T, T, T, s, s), (T)),
                DP_IMPL_UNBOXED("addmv.out", addmv_out, (T, T, T, s, s, T), ()),
                DP_IMPL_UNBOXED("addmv_", addmv_in_place, (T, T, T, s, s), ()))
