/* index.c -- index_fill and take_along_dim, which call the in-place operators and gather
 * (aten/src/ATen/native/TensorAdvancedIndexing.cpp). */
#include "core/composite.h"

/* aten::index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor */
static int index_fill(dp_ctx *ctx, dp_tensor *self, int64_t dim, dp_tensor *index, dp_value value,
                      dp_tensor **out)
{
    int64_t preserve = DP_PRESERVE;
    int rc = dp_invoke(ctx, "aten::clone", "Toi>T", self, &preserve, out);

    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::index_fill_.int_Scalar", "TiTs>", *out, dim, index, value);
    return release_on_error(rc, out);
}

/* aten::index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor */
static int index_fill_tensor(dp_ctx *ctx, dp_tensor *self, int64_t dim, dp_tensor *index,
                             dp_tensor *value, dp_tensor **out)
{
    int64_t preserve = DP_PRESERVE;
    int rc = dp_invoke(ctx, "aten::clone", "Toi>T", self, &preserve, out);

    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::index_fill_.int_Tensor", "TiTT>", *out, dim, index, value);
    return release_on_error(rc, out);
}

/* -- take_along_dim -- */

/* Set *out, owned, to `t` broadcast with `other` in all dimensions except dim. */
static int broadcast_except(dp_ctx *ctx, dp_tensor *t, dp_tensor *other, int64_t dim,
                            dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX], wide[DP_DIM_MAX];
    DP_VIEW(x, t);
    DP_VIEW(y, other);

    dp_copy_n(sizes, y.sizes, (size_t)y.ndim, sizeof(int64_t));
    if (x.ndim > 0)
        sizes[dim] = x.sizes[dim];
    int rc = dp_broadcast_shapes(ctx, x.ndim, x.sizes, y.ndim, sizes, wide);
    if (rc < 0)
        return rc;
    return dp_invoke(ctx, "aten::expand", "Tli>T", t, wide, (size_t)x.ndim, out);
}

/* Set `ins`, owned, to the broadcast self and indices that gather takes, and *dim to its dimension.
 * Source: _take_along_dim_helper. */
static int prepare_take(dp_ctx *ctx, dp_tensor *self, dp_tensor *indices, const int64_t *given,
                        dp_tensor *ins[2], int64_t *dim)
{
    int64_t flat = -1;
    DP_VIEW(x, self);
    DP_VIEW(i, indices);

    *dim = given ? *given : 0;
    if (given == NULL) {
        int rc = dp_invoke(ctx, "aten::view", "Tli>T", self, &flat, (size_t)1, &ins[0]);
        return rc < 0 ? rc
                      : dp_invoke(ctx, "aten::view", "Tli>T", indices, &flat, (size_t)1, &ins[1]);
    }
    if (x.ndim != i.ndim)
        return dp_fail(ctx, DP_ERUNTIME,
                       "torch.take_along_dim(): input and indices should have the same number of "
                       "dimensions, but got %d dimensions for input, and %d dimensions for indices",
                       x.ndim, i.ndim);
    if (x.ndim == 0)
        return dp_fail(ctx, DP_EINDEX,
                       "Dimension specified as %" PRId64 " but tensor has no dimensions", *dim);
    int rc = wrap_dim(ctx, dim, x.ndim);
    if (rc == 0)
        rc = broadcast_except(ctx, self, indices, *dim, &ins[0]);
    return rc < 0 ? rc : broadcast_except(ctx, indices, self, *dim, &ins[1]);
}

/* aten::take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor */
static int take_along_dim(dp_ctx *ctx, dp_tensor *self, dp_tensor *indices, const int64_t *dim,
                          dp_tensor **out)
{
    int64_t at;
    dp_tensor *ins[2] = {0};
    int rc = prepare_take(ctx, self, indices, dim, ins, &at);

    if (rc == 0)
        rc = dp_invoke(ctx, "aten::gather", "TiT>T", ins[0], at, ins[1], out);
    dp_tensor_unref(ins[0]);
    dp_tensor_unref(ins[1]);
    return rc;
}

/* aten::take_along_dim.out(Tensor self, Tensor indices, int? dim=None, *, Tensor(a!) out)
 *     -> Tensor(a!) */
static int take_along_dim_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *indices, const int64_t *dim,
                              dp_tensor *out)
{
    int64_t at;
    dp_tensor *ins[2] = {0};
    int rc = prepare_take(ctx, self, indices, dim, ins, &at);

    rc = rc < 0 ? dp_refuse(ctx, rc, NULL)
                : dp_invoke(ctx, "aten::gather.out", "TiTbT>", ins[0], at, ins[1], 0, out);
    dp_tensor_unref(ins[0]);
    dp_tensor_unref(ins[1]);
    return rc;
}

DP_LIBRARY_META(aten, CompositeExplicitAutograd,
                DP_IMPL_UNBOXED("index_fill.int_Scalar", index_fill, (T, i, T, s), (T)),
                DP_IMPL_UNBOXED("index_fill.int_Tensor", index_fill_tensor, (T, i, T, T), (T)))
DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("take_along_dim", take_along_dim, (T, T, oi), (T)),
                DP_IMPL_UNBOXED("take_along_dim.out", take_along_dim_out, (T, T, oi, T), ()))
