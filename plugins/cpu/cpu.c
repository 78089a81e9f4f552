/* cpu.c -- the plugin's name, and what is done when it is loaded.  Its kernels are in the files beside
 * it; the loops of the pointwise ones are generated from proto/ops/pointwise.yaml. */
#include "isa.h"

DP_PLUGIN(cpu, "1.0")
DP_ON_LOAD(cpu_choose_level)
