/* diag.c -- diag, which makes a matrix from a diagonal or returns the diagonal of a matrix
 * (aten/src/ATen/native/TensorShape.cpp). */
#include "core/elements.h"

/* Set `out` to a matrix with the vector self on a diagonal. */
static int diag_of_vector(dp_ctx *ctx, dp_tensor *self, int64_t diagonal, dp_tensor *out)
{
    DP_VIEW(x, self);
    int64_t size, sizes[2];
    dp_tensor *part;

    if (diagonal == INT64_MIN ||
        __builtin_add_overflow(x.sizes[0], diagonal < 0 ? -diagonal : diagonal, &size))
        return dp_refuse(ctx, DP_ERUNTIME, "diag: diagonal %" PRId64 " is too large", diagonal);
    sizes[0] = sizes[1] = size;
    int rc = dp_set_output(ctx, &out, 2, sizes, NULL, x.dtype, x.device);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    rc = dp_invoke(ctx, "aten::zero_", "T>", out);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::diagonal", "Ti>T", out, diagonal, &part);
    if (rc < 0)
        return rc;
    rc = dp_copy(ctx, part, self);
    dp_tensor_unref(part);
    return rc;
}

/* Set `out` to a diagonal of the matrix self. */
static int diag_of_matrix(dp_ctx *ctx, dp_tensor *self, int64_t diagonal, dp_tensor *out)
{
    dp_tensor *part;
    DP_VIEW(matrix, self);

    if (diagonal > matrix.sizes[1] || diagonal < -matrix.sizes[0])
        return dp_refuse(ctx, DP_ERUNTIME,
                         "diag: a matrix of %" PRId64 " rows and %" PRId64
                         " columns has no diagonal %" PRId64,
                         matrix.sizes[0], matrix.sizes[1], diagonal);
    int rc = dp_invoke(ctx, "aten::diagonal", "Ti>T", self, diagonal, &part);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    DP_VIEW(x, part);
    rc = dp_set_output(ctx, &out, 1, x.sizes, NULL, x.dtype, x.device);
    rc = rc < 0 ? dp_refuse(ctx, rc, NULL) : dp_copy(ctx, out, part);
    dp_tensor_unref(part);
    return rc;
}

/* aten::diag.out(Tensor self, int diagonal=0, *, Tensor(a!) out) -> Tensor(a!) */
static int diag_out(dp_ctx *ctx, dp_tensor *self, int64_t diagonal, dp_tensor *out)
{
    DP_VIEW(x, self);

    if (x.ndim != 1 && x.ndim != 2)
        return dp_refuse(ctx, DP_ERUNTIME, "matrix or a vector expected");
    return x.ndim == 1 ? diag_of_vector(ctx, self, diagonal, out)
                       : diag_of_matrix(ctx, self, diagonal, out);
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("diag.out", diag_out, (T, i, T), ()))
