/* names.c -- returns that are dtypes, layouts, memory formats and devices. */
#include <dispatchd/plugin.h>

DP_PLUGIN(names, "1.0")

/* Of the tensor; given: answered as it came. */
static int of(dp_ctx *ctx, dp_tensor *self, int64_t given, int64_t *dtype, int64_t *device,
              int64_t *layout, int64_t *format)
{
    (void)ctx;
    DP_VIEW(x, self);
    *dtype = given;
    *device = x.device;
    *layout = DP_LAYOUT_STRIDED;
    *format = DP_CHANNELS_LAST;
    return 0;
}

/* The tensor's dtype, bool, and a number that is no dtype. */
static int list(dp_call *call)
{
    dp_view x = {.size = sizeof(x)};
    int64_t *dtypes = dp_alloc(call->ctx, 3 * sizeof(*dtypes));

    if (dtypes == NULL)
        return DP_ERESOURCE;
    dp_tensor_view(call->args[0].u.t, &x);
    dtypes[0] = x.dtype;
    dtypes[1] = DP_BOOL;
    dtypes[2] = 99;
    call->rets[0] = (dp_value){DP_TAG_INTS, 3, {0}};
    call->rets[0].u.ints = dtypes;
    return 0;
}

DP_LIBRARY(
    names,
    DP_DEF("of(Tensor self, ScalarType given) -> (ScalarType, Device, Layout, MemoryFormat)"),
    DP_DEF("list(Tensor self) -> ScalarType[]"))
DP_LIBRARY_IMPL(names, CPU, DP_IMPL_UNBOXED("of", of, (T, i), (i, i, i, i)), DP_IMPL("list", list))
