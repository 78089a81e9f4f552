/* where.c -- the operator where (aten/src/ATen/native/TensorCompare.cpp).  Elements of all dtypes
 * are copied by their size in bytes. */
#include "where.h"
#include "core/elements.h"
#include <dispatchd/iter.h>

int where_choose(dp_ctx *ctx, dp_tensor *condition, dp_tensor *a, dp_tensor *b, dp_tensor **out)
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

/* Set *out, owned, to `t` if it has `dtype`, else to a converted copy. */
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

/* Run where into *out; NULL: it is set to a new tensor. */
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
    rc = rc < 0 ? dp_refuse(ctx, rc, NULL) : where_choose(ctx, condition, a, b, out);
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

/* aten::where.self_out(Tensor condition, Tensor self, Tensor other, *, Tensor(a!) out) ->
 * Tensor(a!) */
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

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("where.self", where, (T, T, T), (T)),
                DP_IMPL_UNBOXED("where.self_out", where_out, (T, T, T, T), ()))
