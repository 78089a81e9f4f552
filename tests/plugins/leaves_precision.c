/* leaves_precision.c -- its kernel leaves the x87 unit computing long double with the precision of
 * float. */
#include <dispatchd/plugin.h>

DP_PLUGIN(leaves_precision, "1.0")

/* narrow(Tensor self) -> Tensor */
static int narrow(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
#if defined(__x86_64__)
    unsigned short control = 0x007f; /* all exceptions masked, 24 bits, to nearest */

    __asm__ volatile("fldcw %0" : : "m"(control));
#endif
    return dp_invoke(ctx, "aten::clone", "T>T", self, out);
}

DP_LIBRARY(leaves_precision, DP_DEF("narrow(Tensor self) -> Tensor"),
           DP_IMPL_UNBOXED("narrow", narrow, (T), (T)))
