/* isa.h -- vector levels (dispatchd/isa.h), chosen when the plugin is loaded.
 *
 * A source under levels/ (or a generated one) is compiled for every level of the target.
 * CFLAGS_mine_v4 of plugin.mk are flags of one source at one level. */
#ifndef CPU_ISA_H
#define CPU_ISA_H

#include <dispatchd/plugin.h>
#include <dispatchd/isa.h>

/* The level in use; read by all threads. */
extern int cpu_level;

/* Choose it.  Errors: dp_cpu_level()'s. */
int cpu_choose_level(dp_ctx *ctx);

#define CPU_CHOSEN(name) DP_ISA_CHOSEN(cpu_level, name)

/* DP_ISA_TABLES of a family that is compiled for v1 and v3 alone (to_v3 of pointwise.yaml). */
#if defined __x86_64__ && !defined DP_ISA_ONLY
#define CPU_TABLES_TO_V3(name)                                                                     \
    {                                                                                              \
        name##_v1, name##_v3, name##_v3                                                            \
    }
#else
#define CPU_TABLES_TO_V3(name) DP_ISA_TABLES(name)
#endif

#endif
