/* meshgrid.c -- meshgrid, which calls view and expand (aten/src/ATen/native/TensorShape.cpp). */
#include "core/chain.h"
#include "core/list.h"
#include <string.h>

static int check_grid(dp_ctx *ctx, dp_tensor *const *tensors, size_t n)
{
    char text[DP_SHAPE_TEXT];
    int rc = n > 0 ? check_ndim(ctx, n)
                   : dp_fail(ctx, DP_ERUNTIME, "meshgrid expects a non-empty TensorList");

    for (size_t i = 0; rc == 0 && i < n; i++) {
        DP_VIEW(x, tensors[i]);
        DP_VIEW(first, tensors[0]);
        if (x.dtype != first.dtype)
            rc = dp_fail(ctx, DP_ERUNTIME, "meshgrid expects all tensors to have the same dtype");
        else if (x.ndim > 1)
            rc = dp_fail(
                ctx, DP_ERUNTIME,
                "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got shape %s",
                dp_shape_text(text, x.sizes, (size_t)x.ndim));
    }
    return rc;
}

/* Make the grid: tensor i varies along dimension i; with `swapped`, the first two dimensions are
 * exchanged. */
static int grid(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, bool swapped, dp_value *out)
{
    int64_t shape[DP_DIM_MAX], line[DP_DIM_MAX];
    int rc = check_grid(ctx, tensors, n);

    if (rc < 0)
        return rc;
    swapped = swapped && n > 1;
    list l = list_of(ctx, n);
    for (size_t i = 0; i < n; i++) {
        DP_VIEW(x, tensors[i]);
        shape[swapped && i < 2 ? 1 - i : i] = x.numel;
    }
    for (size_t i = 0; l.rc == 0 && i < n; i++) {
        chain c = {.ctx = ctx};
        for (size_t d = 0; d < n; d++)
            line[d] = 1;
        line[swapped && i < 2 ? 1 - i : i] = -1;
        dp_tensor *t = CHAIN(&c, "aten::view", "Tli>T", tensors[i], line, n);
        t = CHAIN(&c, "aten::expand", "Tli>T", t, shape, n);
        list_made(&l, chain_end(&c, t, list_next(&l)));
    }
    return list_end(&l, out);
}

/* aten::meshgrid(Tensor[] tensors) -> Tensor[] */
static int meshgrid(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, dp_value *out)
{
    return grid(ctx, tensors, n, false, out);
}

/* aten::meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[] */
static int meshgrid_indexing(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, dp_str indexing,
                             dp_value *out)
{
    bool xy = indexing.len == 2 && memcmp(indexing.s, "xy", 2) == 0;

    if (!xy && (indexing.len != 2 || memcmp(indexing.s, "ij", 2) != 0))
        return dp_fail(
            ctx, DP_ERUNTIME,
            "torch.meshgrid: indexing must be one of \"xy\" or \"ij\", but received: %.*s",
            (int)indexing.len, indexing.s);
    return grid(ctx, tensors, n, xy, out);
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL_UNBOXED("meshgrid", meshgrid, (lT), (lT)),
                DP_IMPL_UNBOXED("meshgrid.indexing", meshgrid_indexing, (lT, S), (lT)))
