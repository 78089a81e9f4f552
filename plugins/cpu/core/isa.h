/* isa.h -- the vector level, the set of CPU instructions (such as AVX2) that kernels use
 * (dispatchd/isa.h); the plugin chooses it when it is loaded.
 *
 * Each source in a folder levels/ is compiled once per vector level of the CPU architecture; so is
 * each source that proto/gen writes to build/gen/levels/.  In plugin.mk, CFLAGS_mine_v4 has the
 * compiler flags of a source mine.c at level v4. */
#ifndef CPU_ISA_H
#define CPU_ISA_H

#include <dispatchd/plugin.h>
#include <dispatchd/isa.h>

/* the vector level in use; written once, at load, and read by all threads */
extern int cpu_level;

/* Set cpu_level from the CPU and the environment variable DISPATCHD_CPU_CAPABILITY, by
 * dp_cpu_level().  Return 0, or the error of dp_cpu_level(). */
int cpu_choose_level(dp_ctx *ctx);

/* the table `name` of the level in use */
#define CPU_CHOSEN(name) DP_ISA_CHOSEN(cpu_level, name)

/* like DP_ISA_TABLES, for operators that are compiled only for levels v1 and v3 (`to_v3` in
 * pointwise.yaml): level v4 uses the code for v3 */
#if defined __x86_64__ && !defined DP_ISA_ONLY
#define CPU_TABLES_TO_V3(name)                                                                     \
    {                                                                                              \
        name##_v1, name##_v3, name##_v3                                                            \
    }
#else
#define CPU_TABLES_TO_V3(name) DP_ISA_TABLES(name)
#endif

#endif
