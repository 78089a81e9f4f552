/* outs_only.c -- a backend that has the out= overloads of some structured operators, and nothing
 * else: every element of an output becomes 7. */
#include <dispatchd/plugin.h>

DP_PLUGIN(outs_only, "1.0")
DP_BACKEND(outs)

static int to_outs(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    dp_device outs;
    int rc = dp_device_find(ctx, "outs", &outs);
    if (rc < 0)
        return rc;
    DP_VIEW(x, self);
    rc = dp_empty_strided(ctx, x.dtype, outs, x.ndim, x.sizes, x.strides, out);
    return rc < 0 ? rc : dp_copy(ctx, *out, self);
}

/* Every out= argument, which the backend does not resize. */
static int sevens(dp_call *call)
{
    dp_schema_info facts = {.size = sizeof(facts)};
    int rc = dp_schema_info_get(call->ctx, call->op, &facts);

    for (uint32_t i = 0; rc == 0 && i < call->n_args; i++) {
        if (!(facts.written >> i & 1))
            continue;
        dp_tensor *seven = NULL;
        rc = dp_scalar_tensor(call->ctx, dp_int(7), DP_DTYPE_NONE, &seven);
        if (rc == 0)
            rc = dp_copy(call->ctx, call->args[i].u.t, seven);
        dp_tensor_unref(seven);
    }
    return rc;
}

DP_LIBRARY(outs, DP_DEF("to_outs(Tensor self) -> Tensor"))
DP_LIBRARY_IMPL(outs, CPU, DP_IMPL_UNBOXED("to_outs", to_outs, (T), (T)))
DP_LIBRARY_IMPL(aten, outs, DP_IMPL("add.out", sevens), DP_IMPL("cat.out", sevens),
                DP_IMPL("max.dim_max", sevens), DP_IMPL("eq.Tensor_out", sevens),
                DP_IMPL("mm.out", sevens))
