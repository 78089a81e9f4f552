/* triangular_ops.c -- tril and triu (aten/src/ATen/native/TriangularOps.cpp). */
#include "core/elements.h"

typedef struct triangle {
    const dp_ctx *ctx;
    dp_view dst, src;
    int64_t diagonal;
    bool upper;
    size_t size;
} triangle;

/* Copy rows [begin, end) of the matrices. */
static void triangle_rows(int64_t begin, int64_t end, void *user)
{
    const triangle *t = user;
    int n = t->dst.ndim;
    int64_t size = (int64_t)t->size, columns = t->dst.sizes[n - 1];
    int64_t to = t->dst.strides[n - 1] * size, from = t->src.strides[n - 1] * size;
    static const double _Complex zero = 0;

    for (int64_t row = begin; row < end; row++) {
        char *dst = t->dst.data;
        const char *src = t->src.data;
        int64_t left = row, i = row % t->dst.sizes[n - 2];
        for (int d = n - 2; d >= 0; left /= t->dst.sizes[d], d--) {
            int64_t at = left % t->dst.sizes[d];
            dst += at * t->dst.strides[d] * size;
            src += at * t->src.strides[d] * size;
        }
        /* index of the first element to copy (upper triangle), or of the first one to set to 0
         * (lower) */
        int64_t at = i + t->diagonal + !t->upper;
        at = at < 0 ? 0 : at > columns ? columns : at;
        int64_t kept = t->upper ? at : 0, n_kept = t->upper ? columns - at : at;
        int64_t zeroed = t->upper ? 0 : at;
        copy_line(t->ctx, t->size, n_kept, dst + kept * to, to, src + kept * from, from);
        copy_line(t->ctx, t->size, columns - n_kept, dst + zeroed * to, to, (const char *)&zero, 0);
    }
}

/* Compute the triangle of self into *out; NULL: it is set to a new tensor. */
static int write_triangle(dp_ctx *ctx, dp_tensor *self, int64_t diagonal, bool upper,
                          dp_tensor **out)
{
    DP_VIEW(x, self);
    dp_tensor *given = *out;

    if (x.ndim == 0)
        return dp_refuse(ctx, DP_EINDEX, "Dimension specified as -2 but tensor has no dimensions");
    if (x.ndim == 1 && x.numel > 0)
        return dp_refuse(ctx, DP_EINDEX,
                         "Dimension out of range (expected to be in range of [-1, 0], but got -2)");
    int rc = dp_set_output(ctx, out, x.ndim, x.sizes, NULL, x.dtype, x.device);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    if (x.numel == 0 || dp_memoryless(ctx))
        return 0;
    DP_VIEW(y, *out);
    int64_t columns = x.sizes[x.ndim - 1], rows = x.sizes[x.ndim - 2];
    int64_t limit = rows > columns ? rows : columns;
    diagonal = diagonal < -limit ? -limit : diagonal > limit ? limit : diagonal;
    triangle t = {ctx, y, x, diagonal, upper, dp_dtype_size(x.dtype)};
    rc = dp_parallel_for(ctx, 0, x.numel / columns, columns < 32768 ? 32768 / columns : 1,
                         triangle_rows, &t);
    if (rc < 0 && given == NULL)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* aten::tril(Tensor self, int diagonal=0) -> Tensor */
static int tril(dp_ctx *ctx, dp_tensor *self, int64_t diagonal, dp_tensor **out)
{
    *out = NULL;
    return write_triangle(ctx, self, diagonal, false, out);
}

/* aten::triu(Tensor self, int diagonal=0) -> Tensor */
static int triu(dp_ctx *ctx, dp_tensor *self, int64_t diagonal, dp_tensor **out)
{
    *out = NULL;
    return write_triangle(ctx, self, diagonal, true, out);
}

/* aten::tril.out(Tensor self, int diagonal=0, *, Tensor(a!) out) -> Tensor(a!) */
static int tril_out(dp_ctx *ctx, dp_tensor *self, int64_t diagonal, dp_tensor *out)
{
    return write_triangle(ctx, self, diagonal, false, &out);
}

/* aten::triu.out(Tensor self, int diagonal=0, *, Tensor(a!) out) -> Tensor(a!) */
static int triu_out(dp_ctx *ctx, dp_tensor *self, int64_t diagonal, dp_tensor *out)
{
    return write_triangle(ctx, self, diagonal, true, &out);
}

/* aten::tril_(Tensor(a!) self, int diagonal=0) -> Tensor(a!) */
static int tril_(dp_ctx *ctx, dp_tensor *self, int64_t diagonal)
{
    return write_triangle(ctx, self, diagonal, false, &self);
}

/* aten::triu_(Tensor(a!) self, int diagonal=0) -> Tensor(a!) */
static int triu_(dp_ctx *ctx, dp_tensor *self, int64_t diagonal)
{
    return write_triangle(ctx, self, diagonal, true, &self);
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("tril", tril, (T, i), (T)),
                DP_IMPL_UNBOXED("tril.out", tril_out, (T, i, T), ()),
                DP_IMPL_UNBOXED("tril_", tril_, (T, i), ()),
                DP_IMPL_UNBOXED("triu", triu, (T, i), (T)),
                DP_IMPL_UNBOXED("triu.out", triu_out, (T, i, T), ()),
                DP_IMPL_UNBOXED("triu_", triu_, (T, i), ()))
