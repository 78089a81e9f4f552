/* object_kinds_share.c -- refused: its two kinds of objects have one dp_object_ops. */
#include <dispatchd/plugin.h>

DP_PLUGIN(object_kinds_share, "1.0")

static const dp_object_ops ops = {.size = sizeof(ops)};

DP_OBJECT_KIND(object_kinds_share, First, ops)
DP_OBJECT_KIND(object_kinds_share, Second, ops)
