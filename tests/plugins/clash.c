/* clash.c -- defines an operator that the template plugin defines. */
#include <dispatchd/plugin.h>

DP_PLUGIN(clash, "1.0")
DP_LIBRARY_FRAGMENT(tutorial, DP_DEF("scale(Tensor self, float factor) -> Tensor"))
