/* too_new.c -- says that it needs interface 1.99. */
/* CFLAGS: -DDP_ABI_TARGET=99 */
#include <dispatchd/plugin.h>

DP_PLUGIN(too_new, "1.0")
DP_LIBRARY(too_new, DP_DEF("f(Tensor self) -> Tensor"))
