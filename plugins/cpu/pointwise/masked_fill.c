/* masked_fill.c -- masked_fill_ with a number (aten/src/ATen/native/TensorAdvancedIndexing.cpp). */
#include "where.h"
#include "core/elements.h"

/* Set *places, owned, to a view of self in which expanded dimensions (stride 0) have size 1, and
 * *any, owned, to a mask of that shape: whether the mask is true for any of the elements that share
 * memory. */
static int find_places(dp_ctx *ctx, dp_tensor *self, dp_tensor *mask, dp_tensor **places,
                       dp_tensor **any)
{
    int64_t sizes[DP_DIM_MAX];
    DP_VIEW(x, self);
    int rc = dp_invoke(ctx, "aten::expand", "Tlib>T", mask, x.sizes, (size_t)x.ndim, 0, any);

    for (int d = 0; d < x.ndim; d++) {
        sizes[d] = x.strides[d] == 0 && x.sizes[d] > 1 ? 1 : x.sizes[d];
        if (rc < 0 || sizes[d] == x.sizes[d])
            continue;
        dp_tensor *all = *any;
        *any = NULL;
        rc = dp_invoke(ctx, "aten::any.dim", "Tib>T", all, (int64_t)d, (int)true, any);
        dp_tensor_unref(all);
    }
    return rc < 0
               ? rc
               : dp_as_strided(ctx, self, x.ndim, sizes, x.strides, dp_tensor_offset(self), places);
}

static int masked_fill(dp_ctx *ctx, dp_tensor *self, dp_tensor *mask, dp_value value);

static int fill_places(dp_ctx *ctx, dp_tensor *self, dp_tensor *mask, dp_value value)
{
    dp_tensor *places = NULL, *any = NULL;

    dp_warn(ctx, "Use of masked_fill_ on expanded tensors is deprecated. Please clone() the tensor "
                 "before performing this operation. This also applies to advanced indexing e.g. "
                 "tensor[mask] = scalar");
    int rc = find_places(ctx, self, mask, &places, &any);
    rc = rc < 0 ? dp_refuse(ctx, rc, NULL) : masked_fill(ctx, places, any, value);
    dp_tensor_unref(places);
    dp_tensor_unref(any);
    return rc;
}

/* aten::masked_fill_.Scalar(Tensor(a!) self, Tensor mask, Scalar value) -> Tensor(a!) */
static int masked_fill(dp_ctx *ctx, dp_tensor *self, dp_tensor *mask, dp_value value)
{
    dp_tensor *t, *dst = self;
    DP_VIEW(x, self);
    DP_VIEW(m, mask);

    if (m.dtype != DP_BOOL && m.dtype != DP_UINT8)
        return dp_refuse(ctx, DP_ERUNTIME,
                         "masked_fill_ only supports boolean masks, but got mask with dtype %s",
                         dp_dtype_name(m.dtype));
    int rc = check_fits(ctx, value, x.dtype);
    if (rc == 0 && x.numel > 0)
        rc = check_bits(ctx, mask);
    if (rc == 0 && dp_internal_overlap(self) == 1)
        return fill_places(ctx, self, mask, value);
    if (rc == 0)
        rc = dp_scalar_tensor(ctx, value, x.dtype, &t);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    rc = where_choose(ctx, mask, t, self, &dst);
    dp_tensor_unref(t);
    return rc;
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("masked_fill_.Scalar", masked_fill, (T, T, s), ()))
