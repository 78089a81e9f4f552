/* isa.c -- chooses the vector level of loops from the CPU and DISPATCHD_CPU_CAPABILITY. */
#include "base/base.h"
#include <dispatchd/isa.h>
#include <stdlib.h>

#define LEVEL_ENV "DISPATCHD_CPU_CAPABILITY"

static const char *const names[DP_ISA_LEVELS] = {"default", "avx2", "avx512"};

/* The lowest and the highest vector level that this library was compiled for. */
#ifdef DP_ISA_ONLY
#define LEVEL_OF_v1 DP_ISA_V1
#define LEVEL_OF_v3 DP_ISA_V3
#define LEVEL_OF_v4 DP_ISA_V4
enum { LOWEST = DP_ISA_PASTE(LEVEL_OF, DP_ISA_ONLY), HIGHEST = LOWEST };
#else
enum { LOWEST = DP_ISA_V1, HIGHEST = DP_ISA_LEVELS - 1 };
#endif

static int highest_level(void)
{
/* older versions of clang do not know these names of levels */
#if defined(__x86_64__) && (!defined(__clang__) || __clang_major__ >= 18)
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

#ifdef DP_ISA_ONLY
    if (highest < LOWEST)
        return dp_error_set(err, DP_ERUNTIME,
                            "this was built for '%s' alone (LEVELS of make); this machine has no "
                            "more than '%s'",
                            names[LOWEST], names[highest]);
#endif
    if (wanted == NULL)
        return highest < HIGHEST ? highest : HIGHEST;
    while (level < DP_ISA_LEVELS && strcmp(wanted, names[level]) != 0)
        level++;
    if (level == DP_ISA_LEVELS)
        return dp_error_set(err, DP_ERUNTIME, LEVEL_ENV " is '%s'; it can be %s, %s or %s", wanted,
                            names[DP_ISA_V1], names[DP_ISA_V3], names[DP_ISA_V4]);
    if (level > highest)
        return dp_error_set(err, DP_ERUNTIME,
                            LEVEL_ENV " is '%s'; this machine has no more than '%s'", wanted,
                            names[highest]);
    if (level < LOWEST || level > HIGHEST)
        return dp_error_set(err, DP_ERUNTIME,
                            LEVEL_ENV " is '%s'; this was built for '%s' alone (LEVELS of make)",
                            wanted, names[LOWEST]);
    return level;
}
