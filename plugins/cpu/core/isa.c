/* isa.c -- the choice of the vector level, the set of CPU instructions (such as AVX2) that kernels
 * use (dispatchd/isa.h). */
#include "isa.h"

int cpu_level = DP_ISA_V1;

int cpu_choose_level(dp_ctx *ctx)
{
    int level = dp_cpu_level(ctx);

    if (level >= 0)
        cpu_level = level;
    return level < 0 ? level : 0;
}
