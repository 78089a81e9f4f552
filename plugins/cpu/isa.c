/* isa.c -- which vector level runs. */
#include "isa.h"
#include <stdlib.h>
#include <string.h>

#define LEVEL_ENV "DISPATCHD_CPU_CAPABILITY"

static const char *const names[CPU_LEVELS] = {"default", "avx2", "avx512"};

int cpu_level = CPU_V1;

static int highest_level(void)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("x86-64-v4"))
        return CPU_V4;
    if (__builtin_cpu_supports("x86-64-v3"))
        return CPU_V3;
#endif
    return CPU_V1;
}

int cpu_choose_level(dp_ctx *ctx)
{
    const char *wanted = getenv(LEVEL_ENV);
    int highest = highest_level(), level = CPU_V1;

    if (wanted == NULL) {
        cpu_level = highest;
        return 0;
    }
    while (level < CPU_LEVELS && strcmp(wanted, names[level]) != 0)
        level++;
    if (level == CPU_LEVELS)
        return dp_fail(ctx, DP_ERUNTIME, LEVEL_ENV " is '%s'; it can be %s, %s or %s", wanted,
                       names[CPU_V1], names[CPU_V3], names[CPU_V4]);
    if (level > highest)
        return dp_fail(ctx, DP_ERUNTIME, LEVEL_ENV " is '%s'; this machine has no more than '%s'",
                       wanted, names[highest]);
    cpu_level = level;
    return 0;
}
