/* second_masked.c -- a kind that masked.c has, too. */
#include <dispatchd/plugin.h>

DP_PLUGIN(second_masked, "1.0")
DP_WRAPPER_KIND(masked)
