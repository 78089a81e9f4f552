/* other_draft.c -- built with draft 99 of this host's interface. */
#define DP_ABI_DRAFT 99
#include <dispatchd/plugin.h>

DP_PLUGIN(other_draft, "1.0")
DP_LIBRARY(other_draft, DP_DEF("f(Tensor self) -> Tensor"))
