/* choose.c -- where and masked_fill_.  Elements are copied by their size, whatever their dtype. */
#include "choose.h"
#include "elements.h"

/* *out = condition ? a : b, for a and b of one dtype.  *out NULL: it is allocated. */
static int choose(dp_ctx *ctx, dp_tensor *condition, dp_tensor *a, dp_tensor *b, dp_tensor **out)
{
    dp_tensor *given = *out, *ins[] = {condition, a, b};
    dp_iter it;
    DP_VIEW(x, a);
    dp_iter_config config = dp_iter_of(DP_ITER_WHERE, 1, out, 3, ins);

    config.out_dtype = dp_some_dtype(x.dtype);
    int rc = dp_iter_init(ctx, &config, &it);
    rc = rc == 0 ? dp_iter_run(ctx, &it, CPU_CHOSEN(choose_loops)[dp_dtype_size(x.dtype)], NULL)
                 : dp_refuse(ctx, rc, NULL);
    if (rc < 0 && given == NULL)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* t as `dtype`: t itself with another reference, or a converted copy.  *out owned. */
static int in_dtype(dp_ctx *ctx, dp_tensor *t, dp_dtype dtype, dp_tensor **out)
{
    DP_VIEW(x, t);

    if (x.dtype == dtype) {
        *out = dp_tensor_ref(t);
        return 0;
    }
    int rc = dp_empty_like(ctx, t, dtype, DP_PRESERVE, out);
    if (rc == 0)
        rc = dp_copy(ctx, *out, t);
    return rc;
}

/* *out NULL: it is made */
static int write_where(dp_ctx *ctx, dp_tensor *condition, dp_tensor *self, dp_tensor *other,
                       dp_tensor **out)
{
    dp_tensor *both[] = {self, other}, *a = NULL, *b = NULL;
    dp_dtype dtype = dp_result_type(both, 2);
    DP_VIEW(c, condition);

    if (c.dtype != DP_BOOL && c.dtype != DP_UINT8)
        return dp_refuse(
            ctx, DP_ERUNTIME,
            "where expected condition to be a boolean tensor, but got a tensor with dtype %s",
            dp_dtype_name(c.dtype));
    int rc = in_dtype(ctx, self, dtype, &a);
    if (rc == 0)
        rc = in_dtype(ctx, other, dtype, &b);
    rc = rc < 0 ? dp_refuse(ctx, rc, NULL) : choose(ctx, condition, a, b, out);
    dp_tensor_unref(a);
    dp_tensor_unref(b);
    return rc;
}

/* aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor */
static int where(dp_ctx *ctx, dp_tensor *condition, dp_tensor *self, dp_tensor *other,
                 dp_tensor **out)
{
    *out = NULL;
    return write_where(ctx, condition, self, other, out);
}

/* aten::where.self_out(Tensor condition, Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!) */
static int where_out(dp_ctx *ctx, dp_tensor *condition, dp_tensor *self, dp_tensor *other,
                     dp_tensor *out)
{
    dp_tensor *both[] = {self, other};
    DP_VIEW(y, out);

    if (dp_result_type(both, 2) != y.dtype)
        return dp_refuse(ctx, DP_ERUNTIME, "Expected out type to be %s but got %s",
                         dp_dtype_name(dp_result_type(both, 2)), dp_dtype_name(y.dtype));
    return write_where(ctx, condition, self, other, &out);
}

/* The mask of the places of self, each of which is several elements along the dimensions whose stride is 0:
 * is it true for any of these?  places, *any: owned. */
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
    rc = choose(ctx, mask, t, self, &dst);
    dp_tensor_unref(t);
    return rc;
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("where.self", where, (T, T, T), (T)),
                DP_IMPL_UNBOXED("where.self_out", where_out, (T, T, T, T), ()),
                DP_IMPL_UNBOXED("masked_fill_.Scalar", masked_fill, (T, T, s), ()))
