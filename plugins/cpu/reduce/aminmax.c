/* aminmax.c -- the operator aminmax: the least and the greatest element in one call
 * (aten/src/ATen/native/{ReduceAllOps,TensorCompare}.cpp). */
#include "core/dense.h"
#include "reduce.h"

/* Write the minima and the maxima to outs [2].  Both may be NULL and are then new tensors. */
static int run_aminmax(dp_ctx *ctx, dp_tensor *self, const int64_t *dim, bool keepdim,
                       dp_tensor **outs)
{
    static const int64_t one[] = {1};
    dp_tensor *x = NULL;
    bool given = outs[0] != NULL;
    DP_VIEW(v, self);
    int rc = 0;

    if (v.ndim == 0 && dim != NULL && keepdim) /* the result has one dimension: view self as [1] */
        rc = dp_as_strided(ctx, self, 1, one, one, dp_tensor_offset(self), &x);
    rd_args a = {.self = x ? x : self, .dims = dim, .n_dims = dim ? 1 : 0, .keepdim = keepdim};
    if (rc == 0)
        rc = rd_run(ctx, &rd_amin, &a, &outs[0]);
    /* rd_run() is not used here, because it reports errors by dp_refuse(), which tells the
     * dispatcher that no argument has changed; outs[0] is already written */
    if (rc == 0 && given)
        rc = dp_invoke(ctx, "aten::amax.out", "TlibT>", a.self, dim, a.n_dims, (int)keepdim,
                       outs[1]);
    else if (rc == 0)
        rc = rd_run(ctx, &rd_amax, &a, &outs[1]);
    dp_tensor_unref(x);
    if (rc < 0 && !given)
        outs[0] = dp_tensor_unref(outs[0]);
    return rc;
}

/* aten::aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max) */
static int aminmax(dp_ctx *ctx, dp_tensor *self, const int64_t *dim, bool keepdim, dp_tensor **min,
                   dp_tensor **max)
{
    dp_tensor *outs[2] = {NULL, NULL};
    int rc = run_aminmax(ctx, self, dim, keepdim, outs);

    if (rc == 0)
        *min = outs[0], *max = outs[1];
    return rc;
}

static int aminmax_out(dp_ctx *ctx, dp_tensor *self, const int64_t *dim, bool keepdim,
                       dp_tensor *min, dp_tensor *max)
{
    dp_tensor *outs[2] = {min, max};
    DP_VIEW(x, self);
    DP_VIEW(y, max);

    if (y.dtype != x.dtype) /* checked before `min` is written */
        return dp_refuse(ctx, DP_ERUNTIME,
                         "Expected out tensor to have dtype %s, but got %s instead",
                         dp_dtype_name(x.dtype), dp_dtype_name(y.dtype));
    return run_aminmax(ctx, self, dim, keepdim, outs);
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("aminmax", aminmax, (T, oi, b), (T, T)),
                DP_IMPL_UNBOXED("aminmax.out", aminmax_out, (T, oi, b, T, T), ()))
