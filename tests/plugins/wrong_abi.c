/* wrong_abi.c -- built with interface 99.0. */
#include <dispatchd/abi.h>
#undef DP_ABI_MAJOR
#define DP_ABI_MAJOR 99
#include <dispatchd/plugin.h>

DP_PLUGIN(wrong_abi, "1.0")
DP_LIBRARY(wrong_abi, DP_DEF("f(Tensor self) -> Tensor"))
