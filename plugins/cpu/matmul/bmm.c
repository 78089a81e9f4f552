/* bmm.c -- bmm, baddbmm and addbmm, products of batches of matrices
 * (aten/src/ATen/native/LinearAlgebra.cpp).
 *
 * Each kernel serves the three variants of its operator: its last parameter points to NULL, to the
 * out= argument, or to self. */
#include "product.h"

/* number of multiplications below which PyTorch's errors name another kernel */
enum { SMALL = 400 };

/* aten::baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1)
 *     -> Tensor
 * batch1 [b, n, m], batch2 [b, m, p]; self broadcasts to [b, n, p].  If self is NULL, this is
 * bmm. */
static int baddbmm(dp_ctx *ctx, dp_tensor *self, dp_tensor *batch1, dp_tensor *batch2,
                   dp_value beta, dp_value alpha, dp_tensor **out)
{
    DP_VIEW(a, batch1);
    DP_VIEW(b, batch2);
    product p = {.self = self, .a = batch1, .b = batch2, .beta = beta, .alpha = alpha, .ndim = 3};

    if (a.ndim != 3 || b.ndim != 3)
        return dp_fail(ctx, DP_ERUNTIME, "%s must be a 3D tensor",
                       a.ndim != 3 ? "batch1" : "batch2");
    if (b.sizes[0] != a.sizes[0] || b.sizes[1] != a.sizes[2])
        return dp_fail(
            ctx, DP_ERUNTIME,
            "Expected size for first two dimensions of batch2 tensor to be: [%lld, %lld] "
            "but got: [%lld, %lld].",
            (long long)a.sizes[0], (long long)a.sizes[2], (long long)b.sizes[0],
            (long long)b.sizes[1]);
    p.sizes[0] = a.sizes[0], p.sizes[1] = a.sizes[1], p.sizes[2] = b.sizes[2];
    p.k = a.sizes[2];
    p.dtype = b.dtype;
    bool small = (double)p.k * (double)p.sizes[1] * (double)p.sizes[2] < SMALL;
    int rc = self != NULL && *out != self ? product_check_expand(ctx, self, 3, p.sizes) : 0;
    if (rc == 0)
        rc = product_check_types(ctx, &p, !small ? "addmm_impl_cpu_" : self ? "baddbmm" : "bmm");
    return rc == 0 ? product_run(ctx, &p, out) : rc;
}

/* aten::bmm(Tensor self, Tensor mat2) -> Tensor
 * self [b, n, m], mat2 [b, m, p] -> [b, n, p]. */
static int bmm(dp_ctx *ctx, dp_tensor *self, dp_tensor *mat2, dp_tensor **out)
{
    return baddbmm(ctx, NULL, self, mat2, dp_int(0), dp_int(1), out);
}

static int check_addbmm(dp_ctx *ctx, const dp_view *a, const dp_view *b)
{
    if (a->ndim != 3 || b->ndim != 3)
        return dp_fail(ctx, DP_ERUNTIME, "%s must be a 3D tensor",
                       a->ndim != 3 ? "batch1" : "batch2");
    if (a->sizes[0] != b->sizes[0])
        return dp_fail(ctx, DP_ERUNTIME,
                       "batch1 and batch2 must have same number of batches, got %lld and %lld",
                       (long long)a->sizes[0], (long long)b->sizes[0]);
    if (a->sizes[2] != b->sizes[1])
        return dp_fail(ctx, DP_ERUNTIME,
                       "Incompatible matrix sizes for bmm (%lldx%lld and %lldx%lld)",
                       (long long)a->sizes[1], (long long)a->sizes[2], (long long)b->sizes[1],
                       (long long)b->sizes[2]);
    return 0;
}

/* Add the products of all `n` matrices of a batch to `out`, which has the result's shape. */
static int add_batch(dp_ctx *ctx, product *p, int64_t n, dp_tensor *out)
{
    /* number of products between two checks whether the request is cancelled */
    enum { CHECKED = 64 };
    int64_t at_a = dp_tensor_offset(p->a), at_b = dp_tensor_offset(p->b);
    DP_VIEW(a, p->a);
    DP_VIEW(b, p->b);
    int rc = 0;

    for (int64_t i = 0; i < n && rc == 0; i++) {
        product one = *p;
        one.a = one.b = NULL;
        if (i % CHECKED == 0 && (rc = dp_checkpoint(ctx)) < 0)
            break;
        rc = dp_as_strided(ctx, p->a, 2, a.sizes + 1, a.strides + 1, at_a + i * a.strides[0],
                           &one.a);
        if (rc == 0)
            rc = dp_as_strided(ctx, p->b, 2, b.sizes + 1, b.strides + 1, at_b + i * b.strides[0],
                               &one.b);
        if (rc == 0)
            rc = product_multiply(ctx, &one, out);
        dp_tensor_unref(one.a);
        dp_tensor_unref(one.b);
        p->self = out;
        p->beta = dp_int(1);
    }
    return rc;
}

/* Set *out, owned, to `t`, or to a float32 copy if t is bfloat16, so that sums are not rounded
 * between products. */
static int widened(dp_ctx *ctx, dp_tensor *t, dp_tensor **out)
{
    DP_VIEW(v, t);

    if (v.dtype != DP_BFLOAT16) {
        *out = dp_tensor_ref(t);
        return 0;
    }
    int rc = dp_empty_like(ctx, t, DP_FLOAT32, DP_PRESERVE, out);
    return rc == 0 ? dp_copy(ctx, *out, t) : rc;
}

/* Set `sum`, in the dtype of the sums, to beta self + alpha times the sum of the products. */
static int sum_batch(dp_ctx *ctx, product *p, dp_tensor *sum)
{
    dp_tensor *a = NULL, *b = NULL;
    DP_VIEW(x, p->a);
    int rc = widened(ctx, p->a, &a);

    if (rc == 0)
        rc = widened(ctx, p->b, &b);
    if (rc == 0 && p->self != NULL)
        rc = dp_copy(ctx, sum, p->self);
    if (rc == 0 && dp_sizes_product(1, p->sizes, 2) != 0 && !dp_memoryless(ctx)) {
        p->a = a, p->b = b;
        rc = p->k == 0 ? product_scale(ctx, p, sum) : add_batch(ctx, p, x.sizes[0], sum);
    }
    dp_tensor_unref(a);
    dp_tensor_unref(b);
    return rc;
}

/* Compute addbmm with a batch of size 0: beta * self, for all dtypes. */
static int addbmm_nothing(dp_ctx *ctx, product *p, dp_tensor **out)
{
    bool made = *out == NULL;
    DP_VIEW(x, p->self);
    int rc = dp_set_output(ctx, out, 2, p->sizes, NULL, made ? x.dtype : DP_DTYPE_NONE, x.device);

    if (rc == 0 && !made)
        rc = product_check_overlap(ctx, *out);
    if (rc == 0 && !product_is_nonzero(p->beta))
        p->self = NULL;
    else if (rc == 0 && p->self != *out)
        rc = dp_copy(ctx, *out, p->self);
    if (rc == 0)
        rc = product_scale(ctx, p, *out);
    if (rc < 0 && made)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* aten::addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) ->
 * Tensor batch1 [b, n, m], batch2 [b, m, p]; self broadcasts to [n, p], to which all products are
 * added. */
static int addbmm(dp_ctx *ctx, dp_tensor *self, dp_tensor *batch1, dp_tensor *batch2, dp_value beta,
                  dp_value alpha, dp_tensor **out)
{
    dp_tensor *sum = NULL;
    DP_VIEW(s, self);
    DP_VIEW(a, batch1);
    DP_VIEW(b, batch2);
    product p = {.self = self, .a = batch1, .b = batch2, .beta = beta, .alpha = alpha, .ndim = 2};
    bool made = *out == NULL;
    int rc = check_addbmm(ctx, &a, &b);

    if (rc < 0)
        return rc;
    p.sizes[0] = a.sizes[1], p.sizes[1] = b.sizes[2];
    p.k = a.sizes[2];
    rc = product_check_expand(ctx, self, 2, p.sizes);
    if (rc == 0 && a.sizes[0] == 0)
        return addbmm_nothing(ctx, &p, out);
    if (rc == 0 && (s.dtype != b.dtype || a.dtype != b.dtype))
        rc = dp_fail(ctx, DP_ERUNTIME, "%s and mat2 must have the same dtype",
                     s.dtype != b.dtype ? "self" : "mat1");
    if (rc == 0)
        rc = product_check_types(ctx, &p, "addmm_impl_cpu_");
    if (!product_is_nonzero(beta))
        p.self = NULL;
    if (rc == 0)
        rc = dp_empty(ctx, a.dtype == DP_BFLOAT16 ? DP_FLOAT32 : a.dtype, a.device, 2, p.sizes,
                      DP_CONTIGUOUS, &sum);
    if (rc == 0)
        rc = dp_set_output(ctx, out, 2, p.sizes, NULL, a.dtype, a.device);
    if (rc == 0)
        rc = sum_batch(ctx, &p, sum);
    if (rc == 0)
        rc = dp_copy(ctx, *out, sum);
    if (rc < 0 && made)
        *out = dp_tensor_unref(*out);
    dp_tensor_unref(sum);
    return rc;
}

static int bmm_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *mat2, dp_tensor *out)
{
    return bmm(ctx, self, mat2, &out);
}

PRODUCT_FORMS(baddbmm)
PRODUCT_FORMS(addbmm)

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("bmm", bmm, (T, T), (T)),
                DP_IMPL_UNBOXED("bmm.out", bmm_out, (T, T, T), ()),
                DP_IMPL_UNBOXED("baddbmm", baddbmm, (T, T, T, s, s), (T)),
                DP_IMPL_UNBOXED("baddbmm.out", baddbmm_out, (T, T, T, s, s, T), ()),
                DP_IMPL_UNBOXED("baddbmm_", baddbmm_in_place, (T, T, T, s, s), ()),
                DP_IMPL_UNBOXED("addbmm", addbmm, (T, T, T, s, s), (T)),
                DP_IMPL_UNBOXED("addbmm.out", addbmm_out, (T, T, T, s, s, T), ()),
                DP_IMPL_UNBOXED("addbmm_", addbmm_in_place, (T, T, T, s, s), ()))
