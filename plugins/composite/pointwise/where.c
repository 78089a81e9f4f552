/* where.c -- where and masked_fill with Scalars, and where with only a condition, which returns
 * nonzero_numpy (aten/src/ATen/native/TensorCompare.cpp, TensorAdvancedIndexing.cpp). */
#include "core/chain.h"

/* -- where, masked_fill -- */

/* Make the 0-dim tensor of `scalar` again, with the dtype of *made, on `device`. */
static int scalar_on(dp_ctx *ctx, dp_value scalar, dp_device device, dp_tensor **made)
{
    DP_VIEW(v, *made);
    dp_tensor *moved = NULL;
    int rc = call_scalar_tensor(ctx, scalar, v.dtype, device, &moved);

    if (rc < 0)
        return rc;
    dp_tensor_set_wrapped(moved, true);
    dp_tensor_unref(*made);
    *made = moved;
    return 0;
}

/* aten::where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor
 * As in PyTorch, the Scalars become tensors on the device of the condition. */
static int where(dp_ctx *ctx, dp_tensor *condition, dp_value self, dp_value other, dp_tensor **out)
{
    const dp_value given[] = {self, other};
    dp_tensor *both[2], *made[2] = {0}, *converted = NULL;
    dp_dtype d = DP_DTYPE_NONE;
    int rc = 0;
    DP_VIEW(c, condition);

    for (int i = 0; i < 2 && rc == 0; i++) {
        bool scalar = given[i].tag != DP_TAG_TENSOR;
        rc = scalar ? wrap_scalar(ctx, given[i], &made[i]) : 0;
        if (rc == 0 && scalar && c.device != DP_DEVICE_CPU)
            rc = scalar_on(ctx, given[i], c.device, &made[i]);
        both[i] = scalar ? made[i] : given[i].u.t;
    }
    if (rc == 0)
        d = dp_result_type(both, 2);
    /* Refuse a Scalar that does not fit; a 0-dim tensor of a number works with any device. */
    for (int i = 0; i < 2 && rc == 0; i++) {
        rc = made[i] ? call_scalar_tensor(ctx, given[i], d, DP_DEVICE_CPU, &converted) : 0;
        converted = dp_tensor_unref(converted);
    }
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::where.self", "TTT>T", condition, both[0], both[1], out);
    dp_tensor_unref(made[0]);
    dp_tensor_unref(made[1]);
    return rc;
}

/* aten::where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor */
static int where_other(dp_ctx *ctx, dp_tensor *condition, dp_tensor *self, dp_value other,
                       dp_tensor **out)
{
    return where(ctx, condition, dp_tensor_value(self), other, out);
}

/* aten::where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor */
static int where_self(dp_ctx *ctx, dp_tensor *condition, dp_value self, dp_tensor *other,
                      dp_tensor **out)
{
    return where(ctx, condition, self, dp_tensor_value(other), out);
}

/* aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor
 * Fills a row-major copy of self, expanded to the shape to which self and mask broadcast. */
static int masked_fill(dp_ctx *ctx, dp_tensor *self, dp_tensor *mask, dp_value value,
                       dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX], format = DP_CONTIGUOUS;
    dp_tensor *wide, *copy;
    DP_VIEW(x, self);
    DP_VIEW(m, mask);
    int ndim = x.ndim > m.ndim ? x.ndim : m.ndim;
    int rc = dp_broadcast_shapes(ctx, x.ndim, x.sizes, m.ndim, m.sizes, sizes);

    if (rc == 0)
        rc = dp_invoke(ctx, "aten::expand", "Tlib>T", self, sizes, (size_t)ndim, (int)false, &wide);
    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::clone", "Toi>T", wide, &format, &copy);
    dp_tensor_unref(wide);
    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::masked_fill_.Scalar", "TTs>", copy, mask, value);
    if (rc < 0)
        dp_tensor_unref(copy);
    else
        *out = copy;
    return rc;
}

/* -- where -- */

/* aten::nonzero_numpy(Tensor self) -> Tensor[] */
static int nonzero_numpy(dp_ctx *ctx, dp_tensor *self, dp_value *out)
{
    chain c = {.ctx = ctx};
    DP_VIEW(x, self);

    if (x.ndim == 0)
        self = CHAIN(&c, "aten::unsqueeze", "Ti>T", self, (int64_t)0);
    dp_tensor *places = CHAIN(&c, "aten::nonzero", "T>T", self);
    if (c.rc == 0)
        c.rc = dp_invoke(ctx, "aten::unbind.int", "Ti>lT", places, (int64_t)1, out);
    return chain_end(&c, NULL, NULL);
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("where.Scalar", where, (T, s, s), (T)),
                DP_IMPL_UNBOXED("where.ScalarOther", where_other, (T, T, s), (T)),
                DP_IMPL_UNBOXED("where.ScalarSelf", where_self, (T, s, T), (T)),
                DP_IMPL_UNBOXED("where", nonzero_numpy, (T), (lT)))
DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("nonzero_numpy", nonzero_numpy, (T), (lT)))
DP_LIBRARY_META(aten, CompositeExplicitAutograd,
                DP_IMPL_UNBOXED("masked_fill.Scalar", masked_fill, (T, T, s), (T)))
