/* cpu.c -- the plugin's name.  Its kernels are in the files beside it; the loops of the pointwise
 * ones are generated from proto/ops/pointwise.yaml. */
#include <dispatchd/plugin.h>

DP_PLUGIN(cpu, "1.0")
