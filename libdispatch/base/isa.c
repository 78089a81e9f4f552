/* isa.c -- which vector level loops run at. */
#include "base/base.h"
#include <dispatchd/isa.h>
#include <stdlib.h>

#define LEVEL_ENV "DISPATCHD_CPU_CAPABILITY"

static const char *const names[DP_ISA_LEVELS] = {"default", "avx2", "avx512"};

static int highest_level(void)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("x86-64-v4"))
        return DP_ISA_V4;
    if (__builtin_cpu_supports("x86-64-v3"))
        return DP_ISA_V3;
#endif
    return DP_ISA_V1;
}

int dpi_cpu_level(dp_error *err)
{
    const char *wanted = getenv(LEVEL_ENV);
    int highest = highest_level(), level = DP_ISA_V1;

    if (wanted == NULL)
        return highest;
    while (level < DP_ISA_LEVELS && strcmp(wanted, names[level]) != 0)
        level++;
    if (level == DP_ISA_LEVELS)
        return dp_error_set(err, DP_ERUNTIME, LEVEL_ENV " is '%s'; it can be %s, %s or %s", wanted,
                            names[DP_ISA_V1], names[DP_ISA_V3], names[DP_ISA_V4]);
    if (level > highest)
        return dp_error_set(err, DP_ERUNTIME,
                            LEVEL_ENV " is '%s'; this machine has no more than '%s'", wanted,
                            names[highest]);
    return level;
}
