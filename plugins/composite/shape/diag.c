/* diag.c -- diag, diag_embed, diagflat and block_diag, which make matrices from diagonals
 * (aten/src/ATen/native/TensorShape.cpp, TriangularOps.cpp). */
#include "core/chain.h"

/* Set the rows and columns of one block; a vector is one row, a number is 1 x 1. */
static void block_sizes(const dp_view *x, int64_t *rows, int64_t *columns)
{
    *rows = x->ndim == 2 ? x->sizes[0] : 1;
    *columns = x->ndim == 0 ? 1 : x->sizes[x->ndim - 1];
}

/* Set sizes [2] of the result.  DP_ERUNTIME: a block has more than two dimensions. */
static int plan_blocks(dp_ctx *ctx, dp_tensor *const *blocks, size_t n, int64_t *sizes)
{
    int64_t rows, columns;

    sizes[0] = sizes[1] = 0;
    for (size_t i = 0; i < n; i++) {
        DP_VIEW(x, blocks[i]);
        if (x.ndim > 2)
            return dp_fail(
                ctx, DP_ERUNTIME,
                "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input %zu has %d "
                "dimensions",
                i, x.ndim);
        DP_VIEW(first, blocks[0]);
        if (x.device != first.device)
            return dp_fail(ctx, DP_ERUNTIME,
                           "torch.block_diag: input tensors must all be on the same device.");
        block_sizes(&x, &rows, &columns);
        if (__builtin_add_overflow(sizes[0], rows, &sizes[0]) ||
            __builtin_add_overflow(sizes[1], columns, &sizes[1]))
            return dp_fail(ctx, DP_ERUNTIME, "block_diag: the result's sizes do not fit int64");
    }
    return 0;
}

static int place_blocks(dp_ctx *ctx, dp_tensor *const *blocks, size_t n, dp_tensor *made)
{
    int64_t at[2] = {0, 0}, sizes[2];
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < n; i++) {
        dp_tensor *part;
        DP_VIEW(x, blocks[i]);
        block_sizes(&x, &sizes[0], &sizes[1]);
        rc = subview(ctx, made, at, sizes, &part);
        if (rc < 0)
            break;
        rc = dp_copy(ctx, part, blocks[i]);
        dp_tensor_unref(part);
        at[0] += sizes[0], at[1] += sizes[1];
    }
    return rc;
}

/* aten::block_diag(Tensor[] tensors) -> Tensor */
static int block_diag(dp_ctx *ctx, dp_tensor *const *blocks, size_t n, dp_tensor **out)
{
    int64_t sizes[2] = {1, 0}, dtype, device;
    dp_tensor *made;
    int rc = n > 0 ? plan_blocks(ctx, blocks, n, sizes) : 0;

    if (rc < 0)
        return rc;
    dtype = n > 0 ? (int64_t)dp_result_type(blocks, n) : DP_FLOAT32;
    device = DP_DEVICE_CPU;
    if (n > 0) {
        DP_VIEW(x, blocks[0]);
        device = x.device;
    }
    rc = dp_invoke(ctx, "aten::zeros", "lioioioi>T", sizes, (size_t)2, &dtype,
                   (const int64_t *)NULL, &device, &made);
    if (rc < 0)
        return rc;
    rc = place_blocks(ctx, blocks, n, made);
    if (rc < 0)
        made = dp_tensor_unref(made);
    *out = made;
    return rc;
}

/* aten::diag(Tensor self, int diagonal=0) -> Tensor */
static int diag(dp_ctx *ctx, dp_tensor *self, int64_t diagonal, dp_tensor **out)
{
    int64_t none[1] = {0};
    DP_VIEW(x, self);
    int rc = dp_empty(ctx, x.dtype, x.device, 1, none, DP_CONTIGUOUS, out);

    if (rc == 0)
        rc = dp_invoke(ctx, "aten::diag.out", "TiT>", self, diagonal, *out);
    return release_on_error(rc, out);
}

/* Set sizes [ndim + 1] of diag_embed's result, and wrap the dimensions. */
static int plan_embedding(dp_ctx *ctx, const dp_view *x, int64_t offset, int64_t *a, int64_t *b,
                          int64_t *sizes)
{
    int64_t first = *a, second = *b, size = x->ndim ? x->sizes[x->ndim - 1] : 1, length;
    int rc = check_ndim(ctx, (size_t)x->ndim + 1);

    if (rc == 0)
        rc = wrap_dim(ctx, a, x->ndim + 1);
    if (rc == 0)
        rc = wrap_dim(ctx, b, x->ndim + 1);
    if (rc < 0)
        return rc;
    if (*a == *b)
        return dp_fail(ctx, DP_ERUNTIME,
                       "diagonal dimensions cannot be identical %" PRId64 ", %" PRId64, first,
                       second);
    if (offset == INT64_MIN || __builtin_add_overflow(size, offset < 0 ? -offset : offset, &length))
        return dp_fail(ctx, DP_ERUNTIME, "diag_embed: offset %" PRId64 " is too large", offset);
    for (int d = 0, from = 0; d < x->ndim + 1; d++)
        sizes[d] = d == *a || d == *b ? length : x->sizes[from++];
    return 0;
}

/* aten::diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor */
static int diag_embed(dp_ctx *ctx, dp_tensor *self, int64_t offset, int64_t a, int64_t b,
                      dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX + 1], dtype, device;
    dp_tensor *made, *diagonal;
    DP_VIEW(x, self);
    int rc = plan_embedding(ctx, &x, offset, &a, &b, sizes);

    if (rc == 0 && x.ndim == 0)
        rc = dp_fail(ctx, DP_EINDEX, "Dimension specified as -1 but tensor has no dimensions");
    if (rc < 0)
        return rc;
    dtype = x.dtype, device = x.device;
    rc = dp_invoke(ctx, "aten::zeros", "lioioioi>T", sizes, (size_t)x.ndim + 1, &dtype,
                   (const int64_t *)NULL, &device, &made);
    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::diagonal", "Tiii>T", made, offset, a, b, &diagonal);
    if (rc == 0) {
        rc = dp_copy(ctx, diagonal, self);
        dp_tensor_unref(diagonal);
    }
    if (rc < 0)
        made = dp_tensor_unref(made);
    *out = made;
    return rc;
}

/* aten::diagflat(Tensor self, int offset=0) -> Tensor */
static int diagflat(dp_ctx *ctx, dp_tensor *self, int64_t offset, dp_tensor **out)
{
    int64_t any = -1;
    chain c = {.ctx = ctx};
    dp_tensor *t = CHAIN(&c, "aten::reshape", "Tli>T", self, &any, (size_t)1);

    return chain_end(&c, CHAIN(&c, "aten::diag", "Ti>T", t, offset), out);
}

DP_LIBRARY_META(aten, CompositeExplicitAutograd, DP_IMPL_UNBOXED("diag", diag, (T, i), (T)),
                DP_IMPL_UNBOXED("diag_embed", diag_embed, (T, i, i, i), (T)),
                DP_IMPL_UNBOXED("block_diag", block_diag, (lT), (T)))
DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL_UNBOXED("diagflat", diagflat, (T, i), (T)))
