/* mm.c -- mm and addmm, products of two matrices (aten/src/ATen/native/LinearAlgebra.cpp).
 *
 * Each kernel serves the three variants of its operator: its last parameter points to NULL, to the
 * out= argument, or to self. */
#include "product.h"

static int check_inner(dp_ctx *ctx, const dp_view *a, const dp_view *b)
{
    if (a->sizes[1] == b->sizes[0])
        return 0;
    return dp_fail(ctx, DP_ERUNTIME,
                   "mat1 and mat2 shapes cannot be multiplied (%lldx%lld and %lldx%lld)",
                   (long long)a->sizes[0], (long long)a->sizes[1], (long long)b->sizes[0],
                   (long long)b->sizes[1]);
}

/* aten::mm(Tensor self, Tensor mat2) -> Tensor
 * self [n, m], mat2 [m, p] -> [n, p]. */
static int mm(dp_ctx *ctx, dp_tensor *self, dp_tensor *mat2, dp_tensor **out)
{
    DP_VIEW(a, self);
    DP_VIEW(b, mat2);

    if (a.ndim != 2 || b.ndim != 2)
        return dp_fail(ctx, DP_ERUNTIME, "%s must be a matrix", a.ndim != 2 ? "self" : "mat2");
    product p = {.a = self, .b = mat2, .alpha = dp_int(1), .ndim = 2, .k = a.sizes[1]};
    p.sizes[0] = a.sizes[0], p.sizes[1] = b.sizes[1];
    p.dtype = a.dtype;
    int rc = check_inner(ctx, &a, &b);
    if (rc == 0)
        rc = product_check_types(ctx, &p, "addmm_impl_cpu_");
    return rc == 0 ? product_run(ctx, &p, out) : rc;
}

/* aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor
 * If beta is 0, self is not read, so that a NaN in it does not count.
 * mat1 [n, m], mat2 [m, p]; self broadcasts to [n, p]. */
static int addmm(dp_ctx *ctx, dp_tensor *self, dp_tensor *mat1, dp_tensor *mat2, dp_value beta,
                 dp_value alpha, dp_tensor **out)
{
    DP_VIEW(s, self);
    DP_VIEW(a, mat1);
    DP_VIEW(b, mat2);
    product q = {.self = self, .a = mat1, .b = mat2, .beta = beta, .alpha = alpha, .ndim = 2};

    if (a.ndim != 2 || b.ndim != 2)
        return dp_fail(ctx, DP_ERUNTIME, "%s must be a matrix, got %d-D tensor",
                       a.ndim != 2 ? "mat1" : "mat2", a.ndim != 2 ? a.ndim : b.ndim);
    int rc = check_inner(ctx, &a, &b);
    if (rc < 0)
        return rc;
    if (s.dtype != b.dtype || a.dtype != b.dtype)
        return dp_fail(
            ctx, DP_ERUNTIME, "%s and mat2 must have the same dtype, but they are %s and %s",
            s.dtype != b.dtype ? "self" : "mat1",
            dense_type_name(s.dtype != b.dtype ? s.dtype : a.dtype), dense_type_name(b.dtype));
    q.sizes[0] = a.sizes[0], q.sizes[1] = b.sizes[1];
    q.k = a.sizes[1];
    q.dtype = a.dtype;
    rc = *out == self ? 0 : product_check_expand(ctx, self, 2, q.sizes);
    if (rc == 0)
        rc = product_check_types(ctx, &q, "addmm_impl_cpu_");
    return rc == 0 ? product_run(ctx, &q, out) : rc;
}

static int mm_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *mat2, dp_tensor *out)
{
    return mm(ctx, self, mat2, &out);
}

PRODUCT_FORMS(addmm)

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("mm", mm, (T, T), (T)),
                DP_IMPL_UNBOXED("mm.out", mm_out, (T, T, T), ()),
                DP_IMPL_UNBOXED("addmm", addmm, (T, T, T, s, s), (T)),
                DP_IMPL_UNBOXED("addmm.out", addmm_out, (T, T, T, s, s, T), ()),
                DP_IMPL_UNBOXED("addmm_", addmm_in_place, (T, T, T, s, s), ()))
