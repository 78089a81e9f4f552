/* second_owner.c -- owns a namespace that the template plugin owns. */
#include <dispatchd/plugin.h>

DP_PLUGIN(second_owner, "1.0")
DP_LIBRARY(tutorial, DP_DEF("other(Tensor self) -> Tensor"))
