/* product.c -- products beta * self + alpha * a * b: the output, checks of dtypes and overlap, and
 * the calls of gemm.c (aten/src/ATen/native/LinearAlgebra.cpp). */
#include "product.h"
#include "core/elements.h"

bool product_is_nonzero(dp_value v)
{
    gemm_number n = gemm_scalar(v);
    return n.re != 0 || n.im != 0;
}

/* -- outputs -- */

int product_check_expand(dp_ctx *ctx, const dp_tensor *t, int n, const int64_t *sizes)
{
    char have[DP_SHAPE_TEXT], want[DP_SHAPE_TEXT];
    DP_VIEW(v, t);

    for (int i = 0; i < v.ndim; i++) {
        int to = n - v.ndim + i;
        if (to >= 0 && (v.sizes[i] == 1 || v.sizes[i] == sizes[to]))
            continue;
        dp_shape_text(have, v.sizes, (size_t)v.ndim);
        dp_shape_text(want, sizes, (size_t)n);
        if (to < 0)
            return dp_fail(
                ctx, DP_ERUNTIME,
                "expand(torch.%sTensor{%s}, size=%s): the number of sizes provided (%d) must "
                "be greater or equal to the number of dimensions in the tensor (%d)",
                dense_type_name(v.dtype), have, want, n, v.ndim);
        return dp_fail(ctx, DP_ERUNTIME,
                       "The expanded size of the tensor (%lld) must match the existing size "
                       "(%lld) at non-singleton dimension %d.  Target sizes: %s.  Tensor sizes: %s",
                       (long long)sizes[to], (long long)v.sizes[i], to, want, have);
    }
    return 0;
}

int product_check_overlap(dp_ctx *ctx, const dp_tensor *t)
{
    if (dp_internal_overlap(t) != 1)
        return 0;
    return dp_refuse(ctx, DP_ERUNTIME,
                     "unsupported operation: more than one element of the written-to tensor refers "
                     "to a single memory location. Please clone() the tensor before performing the "
                     "operation.");
}

/* -- running -- */

static void set_strides(const dp_view *v, int first, int64_t *row, int64_t *col)
{
    *row = v->ndim > first ? v->strides[first] : 0;
    *col = v->ndim > first + 1 ? v->strides[first + 1] : 1;
}

/* Return the distance in bytes between the matrices of a batch. */
static int64_t batch_step(const dp_view *v, int first)
{
    return first == 0 ? 0 : v->strides[0] * (int64_t)dp_dtype_size(v->dtype);
}

int product_multiply(dp_ctx *ctx, const product *p, dp_tensor *c)
{
    DP_VIEW(a, p->a);
    DP_VIEW(b, p->b);
    DP_VIEW(y, c);
    int first = p->ndim > 2; /* index of the dimension of the rows */
    gemm g = {.dtype = a.dtype,
              .m = p->sizes[first],
              .n = p->ndim > 1 ? p->sizes[first + 1] : 1,
              .k = p->k,
              .a = a.data,
              .b = b.data,
              .c = y.data,
              .alpha = gemm_scalar(p->alpha)};

    if (p->self != NULL)
        g.beta = gemm_scalar(p->beta);
    set_strides(&a, first, &g.a_row, &g.a_col);
    set_strides(&b, first, &g.b_row, &g.b_col);
    set_strides(&y, first, &g.c_row, &g.c_col);
    int rc = gemm_check(ctx, &g);
    return rc < 0 ? rc
                  : gemm_batch(ctx, &g, first ? p->sizes[0] : 1, batch_step(&a, first),
                               batch_step(&b, first), batch_step(&y, first));
}

int product_scale(dp_ctx *ctx, const product *p, dp_tensor *c)
{
    if (p->self == NULL)
        return dp_invoke(ctx, "aten::zero_", "T>", c);
    return dp_invoke(ctx, "aten::mul_.Scalar", "Ts>", c, p->beta);
}

/* Compute the product into a temporary tensor, because the output shares memory with a factor. */
static int multiply_aside(dp_ctx *ctx, const product *p, dp_tensor *c)
{
    dp_tensor *aside = NULL;
    int rc = dp_empty_like(ctx, c, DP_DTYPE_NONE, DP_CONTIGUOUS, &aside);

    if (rc == 0 && p->self != NULL)
        rc = dp_copy(ctx, aside, c);
    if (rc == 0)
        rc = product_multiply(ctx, p, aside);
    if (rc == 0)
        rc = dp_copy(ctx, c, aside);
    dp_tensor_unref(aside);
    return rc;
}

int product_run(dp_ctx *ctx, product *p, dp_tensor **out)
{
    bool made = *out == NULL;
    DP_VIEW(b, p->b);
    int rc = dp_set_output(ctx, out, p->ndim, p->sizes, NULL, p->dtype, b.device);

    if (rc == 0 && !made)
        rc = product_check_overlap(ctx, *out);
    if (p->self != NULL && !product_is_nonzero(p->beta))
        p->self = NULL;
    if (rc == 0 && dp_sizes_product(1, p->sizes, (size_t)p->ndim) != 0 && !dp_memoryless(ctx)) {
        if (p->self != NULL && p->self != *out && (rc = dp_copy(ctx, *out, p->self)) < 0)
            dp_refuse(ctx, rc, NULL);
        bool shares = !made && (dp_overlap(*out, p->a) != 0 || dp_overlap(*out, p->b) != 0);
        if (rc == 0)
            rc = p->k == 0 ? product_scale(ctx, p, *out)
                 : shares  ? multiply_aside(ctx, p, *out)
                           : product_multiply(ctx, p, *out);
    }
    if (rc < 0 && made)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* Check the dtypes of `p`.  Like PyTorch, skip the check if an operand has no elements. */
int product_check_types(dp_ctx *ctx, const product *p, const char *what)
{
    DP_VIEW(a, p->a);
    DP_VIEW(b, p->b);

    if (a.numel == 0 || b.numel == 0)
        return 0;
    int rc = dense_check_same(ctx, a.dtype, b.dtype);
    if (rc == 0)
        rc = dense_check_type(ctx, what, a.dtype, PRODUCT_DTYPES);
    if (rc == 0 && p->self != NULL)
        rc = check_fits(ctx, p->beta, a.dtype);
    return rc == 0 ? check_fits(ctx, p->alpha, a.dtype) : rc;
}
