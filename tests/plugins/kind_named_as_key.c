/* kind_named_as_key.c -- a kind that would be called as a backend's device is. */
#include <dispatchd/plugin.h>

DP_PLUGIN(kind_named_as_key, "1.0")
DP_WRAPPER_KIND(cuda)
