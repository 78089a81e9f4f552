/* two_names.c -- says DP_PLUGIN twice. */
#include <dispatchd/plugin.h>

DP_PLUGIN(first_name, "1.0")
DP_PLUGIN(second_name, "1.0")
DP_LIBRARY(two_names, DP_DEF("f(Tensor self) -> Tensor"))
