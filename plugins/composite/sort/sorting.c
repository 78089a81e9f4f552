/* sorting.c -- sorting and order statistics, which call other overloads of the same operators
 * (aten/src/ATen/native/Sorting.cpp).
 *
 * Operators: argsort, kthvalue, median, mode, msort, nanmedian, sort. */
#include "core/composite.h"
#include <string.h>

/* -- overloads of two results -- */

/* Call `target`, the out= overload, with new tensors for the values, which have self's dtype, and
 * for the indices. */
static int by_values(dp_call *call, const char *target)
{
    enum { ARGS_MAX = 8 };
    const dp_op *op = dp_op_find(call->ctx, target);
    dp_value args[ARGS_MAX], ignored[2] = {dp_none(), dp_none()};
    dp_tensor *values = NULL, *indices = NULL;
    int64_t none = 0;
    DP_VIEW(x, call->args[0].u.t);
    int rc = op == NULL ? DP_ENOTFOUND
                        : dp_empty(call->ctx, x.dtype, x.device, 1, &none, DP_CONTIGUOUS, &values);

    if (rc == 0)
        rc = dp_empty(call->ctx, DP_INT64, x.device, 1, &none, DP_CONTIGUOUS, &indices);
    if (rc == 0) {
        dp_copy_n(args, call->args, call->n_args, sizeof(dp_value));
        args[call->n_args] = dp_tensor_value(values);
        args[call->n_args + 1] = dp_tensor_value(indices);
        rc = dp_call_boxed(call->ctx, op, args, call->n_args + 2, ignored, 2);
        dp_values_release(ignored, 2);
    }
    if (rc < 0) {
        dp_tensor_unref(values);
        dp_tensor_unref(indices);
        return rc;
    }
    call->rets[0] = dp_tensor_value(values);
    call->rets[1] = dp_tensor_value(indices);
    return 0;
}

static int kthvalue(dp_call *call)
{
    return by_values(call, "aten::kthvalue.values");
}

static int median(dp_call *call)
{
    return by_values(call, "aten::median.dim_values");
}

static int nanmedian(dp_call *call)
{
    return by_values(call, "aten::nanmedian.dim_values");
}

/* aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices) */
static int sort(dp_ctx *ctx, dp_tensor *self, int64_t dim, bool descending, dp_tensor **values,
                dp_tensor **indices)
{
    bool stable = false;

    return dp_invoke(ctx, "aten::sort.stable", "Tobib>TT", self, &stable, dim, (int)descending,
                     values, indices);
}

/* aten::sort.values(Tensor self, int dim=-1, bool descending=False, *, Tensor(a!) values,
 *     Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices) */
static int sort_out(dp_ctx *ctx, dp_tensor *self, int64_t dim, bool descending, dp_tensor *values,
                    dp_tensor *indices)
{
    bool stable = false;

    return dp_invoke(ctx, "aten::sort.values_stable", "TobibTT>", self, &stable, dim,
                     (int)descending, values, indices);
}

/* aten::argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor */
static int argsort(dp_ctx *ctx, dp_tensor *self, int64_t dim, bool descending, dp_tensor **out)
{
    dp_tensor *values;
    int rc = dp_invoke(ctx, "aten::sort", "Tib>TT", self, dim, (int)descending, &values, out);

    if (rc == 0)
        dp_tensor_unref(values);
    return rc;
}

/* aten::msort(Tensor self) -> Tensor */
static int msort(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    dp_tensor *indices;
    int rc = dp_invoke(ctx, "aten::sort", "Tib>TT", self, (int64_t)0, (int)false, out, &indices);

    if (rc == 0)
        dp_tensor_unref(indices);
    return rc;
}

/* aten::msort.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!) */
static int msort_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *out)
{
    dp_tensor *indices;
    int64_t none = 0;
    DP_VIEW(x, self);
    int rc = call_empty(ctx, DP_INT64, x.device, 1, &none, &indices);

    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::sort.values", "TibTT>", self, (int64_t)0, (int)false, out, indices);
    dp_tensor_unref(indices);
    return rc;
}

/* aten::mode.values(Tensor self, int dim=-1, bool keepdim=False, *, Tensor(a!) values,
 *     Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices) */
static int mode_out(dp_ctx *ctx, dp_tensor *self, int64_t dim, bool keepdim, dp_tensor *values,
                    dp_tensor *indices)
{
    dp_tensor *found[2], *outs[2] = {values, indices};
    DP_VIEW(v, values);
    DP_VIEW(at, indices);
    DP_VIEW(of, self);

    if (v.dtype != of.dtype || at.dtype != DP_INT64)
        return dp_refuse(ctx, DP_ERUNTIME,
                         "mode: expected values of %s and indices of int64, but got %s and %s",
                         dp_dtype_name(of.dtype), dp_dtype_name(v.dtype), dp_dtype_name(at.dtype));
    int rc = dp_invoke(ctx, "aten::mode", "Tib>TT", self, dim, (int)keepdim, &found[0], &found[1]);

    if (rc < 0)
        return rc;
    for (int i = 0; rc == 0 && i < 2; i++) {
        DP_VIEW(x, found[i]);
        rc = dp_set_output(ctx, &outs[i], x.ndim, x.sizes, NULL, x.dtype, x.device);
    }
    if (rc < 0)
        rc = dp_refuse(ctx, rc, NULL);
    for (int i = 0; rc == 0 && i < 2; i++)
        rc = dp_copy(ctx, outs[i], found[i]);
    dp_tensor_unref(found[0]);
    dp_tensor_unref(found[1]);
    return rc;
}

DP_LIBRARY_META(aten, CompositeExplicitAutograd, DP_IMPL("kthvalue", kthvalue),
                DP_IMPL("median.dim", median), DP_IMPL("nanmedian.dim", nanmedian),
                DP_IMPL_UNBOXED("sort", sort, (T, i, b), (T, T)),
                DP_IMPL_UNBOXED("sort.values", sort_out, (T, i, b, T, T), ()),
                DP_IMPL_UNBOXED("mode.values", mode_out, (T, i, b, T, T), ()))
DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("argsort", argsort, (T, i, b), (T)),
                DP_IMPL_UNBOXED("msort", msort, (T), (T)),
                DP_IMPL_UNBOXED("msort.out", msort_out, (T, T), ()))
