/* isa.h -- vector levels: one source, compiled once for each width of vectors, chosen once.
 *
 * A source under levels/ (or a generated one) is compiled for every level of the target, with CPU_LEVEL
 * saying which, and exports one table, whose name ends in the level:
 *
 *     const my_row CPU_NAME(my_table)[] = {{...}, ...};          in levels/mine.c
 *
 *     CPU_TABLE(my_row, my_table)                                elsewhere, at file scope
 *     my_row row = CPU_CHOSEN(my_table)[i];                      in a kernel
 *
 * CFLAGS_mine_v4 of plugin.mk are flags of one source at one level. */
#ifndef CPU_ISA_H
#define CPU_ISA_H

#include <dispatchd/plugin.h>

#define CPU_PASTE_(name, level) name##_##level
#define CPU_PASTE(name, level)  CPU_PASTE_(name, level)
#define CPU_NAME(name)          CPU_PASTE(name, CPU_LEVEL)

/* By names of x86-64's; another target has the first alone. */
enum { CPU_V1, CPU_V3, CPU_V4, CPU_LEVELS };

/* The level in use: the highest that the machine has, or DISPATCHD_CPU_CAPABILITY, which is default,
 * avx2 or avx512 (ATEN_CPU_CAPABILITY).  Set when the plugin is loaded, and read by all threads. */
extern int cpu_level;

/* Choose it.  DP_ERUNTIME: the variable is none of the three, or more than the machine has. */
int cpu_choose_level(dp_ctx *ctx);

#ifdef __x86_64__
#define CPU_TABLE(type, name) extern const type name##_v1[], name##_v3[], name##_v4[];
#define CPU_TABLES(name)                                                                           \
    {                                                                                              \
        name##_v1, name##_v3, name##_v4                                                            \
    } /* all of them, by level */
#define CPU_CHOSEN(name)                                                                           \
    (cpu_level == CPU_V4 ? name##_v4 : cpu_level == CPU_V3 ? name##_v3 : name##_v1)
#else
#define CPU_TABLE(type, name) extern const type name##_v1[];
#define CPU_TABLES(name)                                                                           \
    {                                                                                              \
        name##_v1                                                                                  \
    }
#define CPU_CHOSEN(name) name##_v1
#endif

#endif
