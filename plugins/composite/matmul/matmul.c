/* matmul.c -- matmul and linalg_matmul for tensors of any rank, which call dot, mv, mm and bmm
 * (aten/src/ATen/native/LinearAlgebra.cpp). */
#include "core/composite.h"

static int reshaped(dp_ctx *ctx, temps *s, const char *op, dp_tensor *t, const int64_t *sizes,
                    int n, dp_tensor **out)
{
    int rc = dp_invoke(ctx, op, "Tli>T", t, sizes, (size_t)n, temps_next(s));
    *out = s->made[s->n - 1];
    return rc;
}

/* Compute [n] x [n, p]; the vector is viewed as a matrix of one row. */
static int vector_by_matrix(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, dp_tensor **out)
{
    temps s = {0};
    int rc = dp_invoke(ctx, "aten::unsqueeze", "Ti>T", self, (int64_t)0, temps_next(&s));

    if (rc == 0)
        rc = dp_invoke(ctx, "aten::mm", "TT>T", s.made[0], other, temps_next(&s));
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::squeeze.dim", "Ti>T", s.made[1], (int64_t)0, out);
    temps_fini(&s);
    return rc;
}

/* Compute [..., n, m] x [m, p] or [m] as one product, with the rows of all matrices in one
 * matrix. */
static int fold(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, dp_tensor **out)
{
    temps s = {0};
    int64_t rows[2] = {1, 0}, sizes[DP_DIM_MAX];
    dp_tensor *flat;
    DP_VIEW(x, self);
    DP_VIEW(y, other);
    int n = x.ndim - 1;

    for (int d = 0; d < n; d++)
        rows[0] *= x.sizes[d];
    rows[1] = x.sizes[n];
    dp_copy_n(sizes, x.sizes, (size_t)n, sizeof(int64_t));
    if (y.ndim == 2)
        sizes[n++] = y.sizes[1];
    int rc = reshaped(ctx, &s, "aten::reshape", self, rows, 2, &flat);
    if (rc == 0)
        rc = dp_invoke(ctx, y.ndim == 2 ? "aten::mm" : "aten::mv", "TT>T", flat, other,
                       temps_next(&s));
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::_unsafe_view", "Tli>T", s.made[s.n - 1], sizes, (size_t)n, out);
    temps_fini(&s);
    return rc;
}

/* t [..., rows, columns], expanded to the batch sizes batch [n_batch] and reshaped to
 * [product of batch, rows, columns]. */
static int batched(dp_ctx *ctx, temps *s, dp_tensor *t, const int64_t *batch, int n_batch,
                   dp_tensor **out)
{
    int64_t wide[DP_DIM_MAX], flat[3] = {1, 0, 0};
    dp_tensor *expanded;
    DP_VIEW(x, t);

    dp_copy_n(wide, batch, (size_t)n_batch, sizeof(int64_t));
    for (int d = 0; d < 2; d++)
        wide[n_batch + d] = flat[1 + d] = x.sizes[x.ndim - 2 + d];
    int rc = dp_invoke(ctx, "aten::expand", "Tlib>T", t, wide, (size_t)n_batch + 2, (int)false,
                       temps_next(s));
    expanded = s->made[s->n - 1];
    /* expand has checked that the product of the sizes fits */
    for (int d = 0; rc == 0 && d < n_batch; d++)
        flat[0] *= batch[d];
    return rc < 0 ? rc : reshaped(ctx, s, "aten::reshape", expanded, flat, 3, out);
}

/* Compute a product of tensors of any rank, one of which is at least 3: broadcast the batch
 * dimensions, and call bmm. */
static int broadcast(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, dp_tensor **out)
{
    temps s = {0};
    int64_t sizes[DP_DIM_MAX];
    dp_tensor *a = self, *b = other, *left, *right;
    DP_VIEW(x, self);
    DP_VIEW(y, other);
    int n, rc = 0;

    if (x.ndim == 1) {
        rc = dp_invoke(ctx, "aten::unsqueeze", "Ti>T", self, (int64_t)0, temps_next(&s));
        a = s.made[s.n - 1];
    }
    if (rc == 0 && y.ndim == 1) {
        rc = dp_invoke(ctx, "aten::unsqueeze", "Ti>T", other, (int64_t)1, temps_next(&s));
        b = s.made[s.n - 1];
    }
    int lead_x = x.ndim > 2 ? x.ndim - 2 : 0, lead_y = y.ndim > 2 ? y.ndim - 2 : 0;
    n = lead_x > lead_y ? lead_x : lead_y;
    if (rc == 0)
        rc = dp_broadcast_shapes(ctx, lead_x, x.sizes, lead_y, y.sizes, sizes);
    if (rc == 0)
        rc = batched(ctx, &s, a, sizes, n, &left);
    if (rc == 0)
        rc = batched(ctx, &s, b, sizes, n, &right);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::bmm", "TT>T", left, right, temps_next(&s));
    if (x.ndim > 1)
        sizes[n++] = x.sizes[x.ndim - 2];
    if (y.ndim > 1)
        sizes[n++] = y.sizes[y.ndim - 1];
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::_unsafe_view", "Tli>T", s.made[s.n - 1], sizes, (size_t)n, out);
    temps_fini(&s);
    return rc;
}

/* aten::matmul(Tensor self, Tensor other) -> Tensor
 * Source: at::native::matmul. */
static int matmul(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, dp_tensor **out)
{
    DP_VIEW(x, self);
    DP_VIEW(y, other);

    if (x.ndim == 0 || y.ndim == 0)
        return dp_fail(ctx, DP_ERUNTIME,
                       "both arguments to matmul need to be at least 1D, but they are %dD and %dD",
                       x.ndim, y.ndim);
    if (x.ndim == 1 && y.ndim == 1)
        return dp_invoke(ctx, "aten::dot", "TT>T", self, other, out);
    if (x.ndim == 2 && y.ndim == 1)
        return dp_invoke(ctx, "aten::mv", "TT>T", self, other, out);
    if (x.ndim == 1 && y.ndim == 2)
        return vector_by_matrix(ctx, self, other, out);
    if (x.ndim == 2 && y.ndim == 2)
        return dp_invoke(ctx, "aten::mm", "TT>T", self, other, out);
    return y.ndim <= 2 ? fold(ctx, self, other, out) : broadcast(ctx, self, other, out);
}

static int matmul_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, dp_tensor *out)
{
    dp_tensor *made = NULL;
    int rc = matmul(ctx, self, other, &made);
    return give_out(ctx, refuse_recorded(ctx, rc, &made), made, out);
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL_UNBOXED("matmul", matmul, (T, T), (T)),
                DP_IMPL_UNBOXED("matmul.out", matmul_out, (T, T, T), ()))
DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("linalg_matmul", matmul, (T, T), (T)),
                DP_IMPL_UNBOXED("linalg_matmul.out", matmul_out, (T, T, T), ()))
