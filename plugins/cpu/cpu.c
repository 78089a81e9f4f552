/* cpu.c -- the name of the plugin; its kernels are beside it and in proto/ops/pointwise.yaml. */
#include <dispatchd/plugin.h>

DP_PLUGIN(cpu, "1.0")
