/* type_variable.c -- a C author's word in a schema: `double` is a type variable there, for which no
 * C type stands. */
#include <dispatchd/plugin.h>

DP_PLUGIN(type_variable, "1.0")

static int half(dp_ctx *ctx, double x, double *out)
{
    (void)ctx;
    *out = x / 2;
    return 0;
}

DP_LIBRARY(type_variable, DP_DEF("half(double x) -> float"),
           DP_IMPL_UNBOXED("half", half, (f), (f)))
