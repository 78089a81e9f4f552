/* device_without_size.c -- refused: its dp_device_ops leaves .size out. */
#include <dispatchd/plugin.h>

DP_PLUGIN(device_without_size, "1.0")

static const dp_device_ops ops = {.flags = 0};

DP_BACKEND_DEVICE(sizeless, ops)
