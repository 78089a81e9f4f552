/* rescaled.c -- operator rescaled::scale, whose second argument has another type in
 * rescaled_next.c. */
#include <dispatchd/plugin.h>

DP_PLUGIN(rescaled, "1.0")

#ifdef RESCALED_NEXT
#define BY "str by"
#else
#define BY "float by"
#endif

static int scale(dp_call *call)
{
    dp_tensor *made = NULL;
    int rc = dp_invoke(call->ctx, "aten::neg", "T>T", call->args[0].u.t, &made);

    if (rc == 0)
        call->rets[0] = dp_tensor_value(made);
    return rc;
}

DP_LIBRARY(rescaled, DP_DEF("scale(Tensor x, " BY ") -> Tensor"))
DP_LIBRARY_META(rescaled, CompositeExplicitAutograd, DP_IMPL("scale", scale))
