/* packed_twin.c -- brings a kind of objects that plugin packed has. */
#include <dispatchd/plugin.h>

DP_PLUGIN(packed_twin, "1.0")
static const dp_object_ops kind = {.size = sizeof(kind)};
DP_OBJECT_KIND(packed, Weights, kind)
