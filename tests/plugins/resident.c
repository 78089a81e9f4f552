/* resident.c -- asks to stay mapped. */
#include <dispatchd/plugin.h>

DP_PLUGIN(resident, "1.0")
DP_RESIDENT()
DP_LIBRARY(resident, DP_DEF("f(Tensor self) -> Tensor"))
