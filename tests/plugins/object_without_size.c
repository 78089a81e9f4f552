/* object_without_size.c -- refused: its dp_object_ops leaves .size out. */
#include <dispatchd/plugin.h>

DP_PLUGIN(object_without_size, "1.0")

static const dp_object_ops ops = {.version = 1};

DP_OBJECT_KIND(object_without_size, Sizeless, ops)
