/* multi_dot.c -- products of many matrices, in the order that needs the fewest multiplications
 * (aten/src/ATen/native/LinearAlgebra.cpp: linalg_multi_dot).
 *
 * Operators: chain_matmul, linalg_multi_dot. */
#include "core/composite.h"
#include <string.h>

typedef struct order {
    dp_ctx *ctx;
    dp_tensor **matrices; /* [n] owned */
    int64_t *sizes;       /* [n + 1] rows of each matrix, then the columns of the last one */
    size_t n;
    size_t *split; /* [n * n] index of the matrix after which matrices i to j are split */
} order;

/* Check the ranks: the first tensor may be a row, the last one a column, the others are
 * matrices. */
static int check_ranks(dp_ctx *ctx, dp_tensor *const *tensors, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        DP_VIEW(x, tensors[i]);
        bool end = i == 0 || i == n - 1;
        if (end && x.ndim != 1 && x.ndim != 2)
            return dp_fail(ctx, DP_ERUNTIME,
                           "multi_dot(): the %s tensor must be 1D or 2D but got %dD",
                           i == 0 ? "first" : "last", x.ndim);
        if (!end && x.ndim != 2)
            return dp_fail(ctx, DP_ERUNTIME, "multi_dot(): tensor %zu must be 2D but got %dD", i,
                           x.ndim);
    }
    return 0;
}

static int check_pairs(dp_ctx *ctx, dp_tensor *const *tensors, size_t n)
{
    char a[DP_SHAPE_TEXT], b[DP_SHAPE_TEXT];
    DP_VIEW(first, tensors[0]);

    for (size_t i = 1; i < n; i++) {
        DP_VIEW(x, tensors[i - 1]);
        DP_VIEW(y, tensors[i]);
        if (y.dtype != first.dtype)
            return dp_fail(
                ctx, DP_ERUNTIME,
                "multi_dot(): all tensors must have be the same dtype but tensor 0 is %s "
                "and tensor %zu %s",
                dp_dtype_name(first.dtype), i, dp_dtype_name(y.dtype));
        if (x.sizes[x.ndim - 1] != y.sizes[0])
            return dp_fail(ctx, DP_ERUNTIME,
                           "multi_dot(): tensors %zu and %zu with shapes %s and %s cannot be "
                           "multiplied",
                           i - 1, i, dp_shape_text(a, x.sizes, (size_t)x.ndim),
                           dp_shape_text(b, y.sizes, (size_t)y.ndim));
    }
    return 0;
}

/* Choose the cheapest split for each part of the sequence, from short parts to long ones. */
static int choose_splits(order *c)
{
    double *cost = dp_alloc_n(c->ctx, dp_size_times(c->n, c->n), sizeof(double));

    if (cost == NULL)
        return DP_ERESOURCE;
    dp_zero_n(cost, dp_size_times(c->n, c->n), sizeof(double));
    for (size_t length = 1; length < c->n; length++)
        for (size_t i = 0; i + length < c->n; i++) {
            size_t j = i + length;
            cost[i * c->n + j] = INFINITY;
            for (size_t k = i; k < j; k++) {
                double q = cost[i * c->n + k] + cost[(k + 1) * c->n + j] +
                           (double)c->sizes[i] * (double)c->sizes[k + 1] * (double)c->sizes[j + 1];
                if (q < cost[i * c->n + j]) {
                    cost[i * c->n + j] = q;
                    c->split[i * c->n + j] = k;
                }
            }
        }
    return 0;
}

static int multiply(const order *c, size_t i, size_t j, dp_tensor **out)
{
    dp_tensor *left = NULL, *right = NULL;

    if (i == j) {
        *out = dp_tensor_ref(c->matrices[i]);
        return 0;
    }
    size_t k = c->split[i * c->n + j];
    int rc = multiply(c, i, k, &left);
    if (rc == 0)
        rc = multiply(c, k + 1, j, &right);
    if (rc == 0)
        rc = dp_invoke(c->ctx, "aten::mm", "TT>T", left, right, out);
    dp_tensor_unref(left);
    dp_tensor_unref(right);
    return rc;
}

/* Set the matrices and their sizes. */
static int set_matrices(order *c, dp_tensor *const *tensors)
{
    int rc = 0;

    for (size_t i = 0; i < c->n && rc == 0; i++) {
        DP_VIEW(x, tensors[i]);
        int64_t dim = i == 0 ? 0 : 1;
        if (x.ndim == 1)
            rc = dp_invoke(c->ctx, "aten::unsqueeze", "Ti>T", tensors[i], dim, &c->matrices[i]);
        else
            c->matrices[i] = dp_tensor_ref(tensors[i]);
        c->sizes[i] = x.ndim == 1 && i == 0 ? 1 : x.sizes[0];
        c->sizes[i + 1] = x.ndim == 1 && i > 0 ? 1 : x.sizes[x.ndim - 1];
    }
    return rc;
}

/* Compute the product, and remove the dimensions that the vectors at the ends do not have. */
static int run(order *c, dp_tensor *const *tensors, dp_tensor **out)
{
    int64_t sizes[2];
    size_t n = 0;
    dp_tensor *made = NULL;
    DP_VIEW(first, tensors[0]);
    DP_VIEW(end, tensors[c->n - 1]);

    if (first.ndim == 2)
        sizes[n++] = c->sizes[0];
    if (end.ndim == 2)
        sizes[n++] = c->sizes[c->n];
    int rc = choose_splits(c);
    if (rc == 0)
        rc = multiply(c, 0, c->n - 1, &made);
    if (rc == 0)
        rc = dp_invoke(c->ctx, "aten::view", "Tli>T", made, sizes, n, out);
    dp_tensor_unref(made);
    return rc;
}

/* aten::linalg_multi_dot(Tensor[] tensors) -> Tensor */
static int multi_dot(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, dp_tensor **out)
{
    /* greatest number of matrices; the choice takes time proportional to its cube */
    enum { MOST = 1024 };
    order c = {.ctx = ctx, .n = n};

    if (n < 2)
        return dp_fail(ctx, DP_ERUNTIME, "multi_dot(): expected at least 2 tensors but got %zu", n);
    if (n > MOST)
        return dp_fail(ctx, DP_ERESOURCE, "multi_dot(): %zu tensors are more than %d", n, MOST);
    int rc = check_ranks(ctx, tensors, n);
    if (rc == 0)
        rc = check_pairs(ctx, tensors, n);
    if (rc < 0)
        return rc;
    c.matrices = dp_alloc_n(ctx, n, sizeof(dp_tensor *));
    c.sizes = dp_alloc_n(ctx, n + 1, sizeof(int64_t));
    c.split = dp_alloc_n(ctx, dp_size_times(n, n), sizeof(size_t));
    if (c.matrices == NULL || c.sizes == NULL || c.split == NULL)
        return DP_ERESOURCE;
    dp_zero_n(c.matrices, n, sizeof(dp_tensor *));
    rc = set_matrices(&c, tensors);
    if (rc == 0)
        rc = run(&c, tensors, out);
    for (size_t i = 0; i < n; i++)
        dp_tensor_unref(c.matrices[i]);
    return rc;
}

/* aten::chain_matmul(Tensor[] matrices) -> Tensor */
static int chain_matmul(dp_ctx *ctx, dp_tensor *const *matrices, size_t n, dp_tensor **out)
{
    for (size_t i = 0; i < n; i++) {
        DP_VIEW(x, matrices[i]);
        if (x.ndim != 2)
            return dp_fail(ctx, DP_ERUNTIME, "Tensor dimension is %d, expected 2 instead.", x.ndim);
    }
    dp_warn(ctx,
            "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. "
            "Use torch.linalg.multi_dot instead, which accepts a list of two or more tensors "
            "rather than multiple parameters.");
    if (n == 0)
        return dp_fail(ctx, DP_ERUNTIME, "chain_matmul(): Expected one or more matrices");
    if (n == 1)
        return dp_invoke(ctx, "aten::clone", "T>T", matrices[0], out);
    return multi_dot(ctx, matrices, n, out);
}

static int multi_dot_out(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, dp_tensor *out)
{
    dp_tensor *made = NULL;
    int rc = multi_dot(ctx, tensors, n, &made);
    return give_out(ctx, refuse_recorded(ctx, rc, &made), made, out);
}

static int chain_matmul_out(dp_ctx *ctx, dp_tensor *const *matrices, size_t n, dp_tensor *out)
{
    dp_tensor *made = NULL;
    int rc = chain_matmul(ctx, matrices, n, &made);

    if (rc < 0 || n > 1)
        return give_out(ctx, refuse_recorded(ctx, rc, &made), made, out);
    DP_VIEW(x, made);
    rc = dp_set_output(ctx, &out, x.ndim, x.sizes, NULL, DP_DTYPE_NONE, x.device);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::copy_", "TTb>", out, made, (int)false);
    dp_tensor_unref(made);
    return rc;
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("linalg_multi_dot", multi_dot, (lT), (T)),
                DP_IMPL_UNBOXED("linalg_multi_dot.out", multi_dot_out, (lT, T), ()),
                DP_IMPL_UNBOXED("chain_matmul", chain_matmul, (lT), (T)),
                DP_IMPL_UNBOXED("chain_matmul.out", chain_matmul_out, (lT, T), ()))
