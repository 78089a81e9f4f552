/* lying_note.c -- its note names another operator than its records. */
#include <dispatchd/plugin.h>

#undef DP_KIND_DEF_TEXT
#define DP_KIND_DEF_TEXT(name, tags, args, rets) "def\tharmless() -> ()\t\n"

DP_PLUGIN(lying_note, "1.0")
DP_LIBRARY(lying_note, DP_DEF("f(Tensor self) -> Tensor"))
