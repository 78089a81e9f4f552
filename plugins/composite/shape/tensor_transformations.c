/* tensor_transformations.c -- rot90, fliplr and flipud, which call flip and transpose
 * (aten/src/ATen/native/TensorTransformations.cpp). */
#include "core/composite.h"

static int check_rotation(dp_ctx *ctx, int ndim, const int64_t *dims, size_t n)
{
    if (n != 2)
        return dp_fail(ctx, DP_ERUNTIME, "expected total rotation dims == 2, but got dims = %zu",
                       n);
    if (ndim < 2)
        return dp_fail(ctx, DP_ERUNTIME, "expected total dims >= 2, but got total dims = %d", ndim);
    if (dims[0] == dims[1] || dims[0] - dims[1] == ndim || dims[1] - dims[0] == ndim)
        return dp_fail(ctx, DP_ERUNTIME,
                       "expected rotation dims to be different, but got dim0 = %" PRId64
                       " and dim1 = %" PRId64,
                       dims[0], dims[1]);
    for (int i = 0; i < 2; i++)
        if (dims[i] >= ndim || dims[i] < -ndim)
            return dp_fail(ctx, DP_ERUNTIME, "Rotation dim%d out of range, dim%d = %" PRId64, i, i,
                           dims[i]);
    return 0;
}

/* aten::rot90(Tensor self, int k=1, int[] dims=[0,1]) -> Tensor */
static int rot90(dp_ctx *ctx, dp_tensor *self, int64_t k, const int64_t *dims, size_t n,
                 dp_tensor **out)
{
    DP_VIEW(x, self);
    int64_t turns = ((k % 4) + 4) % 4, contiguous = DP_CONTIGUOUS;
    dp_tensor *flipped;
    int rc = check_rotation(ctx, x.ndim, dims, n);

    if (rc < 0)
        return rc;
    if (turns == 0)
        return dp_invoke(ctx, "aten::clone", "Toi>T", self, &contiguous, out);
    if (turns == 2)
        return dp_invoke(ctx, "aten::flip", "Tli>T", self, dims, n, out);
    rc = dp_invoke(ctx, "aten::flip", "Tli>T", self, &dims[turns == 1], (size_t)1, &flipped);
    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::transpose_", "Tii>", flipped, dims[0], dims[1]);
    if (rc < 0)
        flipped = dp_tensor_unref(flipped);
    *out = flipped;
    return rc;
}

/* aten::fliplr(Tensor self) -> Tensor
 * aten::flipud(Tensor self) -> Tensor */
#define FLIP(name, dim, least)                                                                     \
    static int name(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)                                 \
    {                                                                                              \
        int64_t d = dim;                                                                           \
        DP_VIEW(x, self);                                                                          \
        if (x.ndim < (least))                                                                      \
            return dp_fail(ctx, DP_ERUNTIME, "Input must be >= %d-d.", least);                     \
        return dp_invoke(ctx, "aten::flip", "Tli>T", self, &d, (size_t)1, out);                    \
    }
FLIP(fliplr, 1, 2)
FLIP(flipud, 0, 1)

DP_LIBRARY_META(aten, CompositeExplicitAutograd, DP_IMPL_UNBOXED("rot90", rot90, (T, i, li), (T)))
DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL_UNBOXED("fliplr", fliplr, (T), (T)),
                DP_IMPL_UNBOXED("flipud", flipud, (T), (T)))
