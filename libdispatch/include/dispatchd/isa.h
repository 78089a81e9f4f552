/* dispatchd/isa.h -- one source file compiled once for each vector level (SSE2, AVX2, AVX-512 on
 * x86-64), and the choice of a level when the plugin is loaded.
 *
 * Compile mine.c once for each level: on x86-64 for v1, v3 and v4, on other targets for v1 alone:
 *
 *     gcc -DDP_ISA=v1 ...
 *     gcc -DDP_ISA=v3 -march=x86-64-v3 ...
 *
 * mine.c exports nothing but constant arrays, its tables.  DP_ISA_NAME() appends the level to a
 * table's name:
 *
 *     const my_row DP_ISA_NAME(my_table)[] = {{...}, ...};
 *
 * Another file of the plugin declares the tables of all levels at file scope, and takes a row from
 * the table of `level`, the number that dp_cpu_level() returned in the plugin's load hook
 * (DP_ON_LOAD):
 *
 *     DP_ISA_TABLE(my_row, my_table)
 *     my_row row = DP_ISA_CHOSEN(level, my_table)[i];
 *
 * To build a single level, compile mine.c for that level only and pass, for example,
 * -DDP_ISA_ONLY=v3 to every compiler command; the macros then use the tables of that level and
 * ignore `level`.
 *
 * Include plugin.h or dispatch.h before this header. */
#ifndef DISPATCHD_ISA_H
#define DISPATCHD_ISA_H

/* Vector levels, named after the levels of x86-64 (x86-64-v3).  Other targets have DP_ISA_V1
 * only. */
enum { DP_ISA_V1, DP_ISA_V3, DP_ISA_V4, DP_ISA_LEVELS };

#define DP_ISA_PASTE_(name, level) name##_##level
#define DP_ISA_PASTE(name, level)  DP_ISA_PASTE_(name, level)
#define DP_ISA_NAME(name)          DP_ISA_PASTE(name, DP_ISA)

#ifdef DP_ISA_ONLY
#define DP_ISA_TABLE(type, name) extern const type DP_ISA_PASTE(name, DP_ISA_ONLY)[];
#define DP_ISA_TABLES(name)                                                                        \
    {                                                                                              \
        DP_ISA_PASTE(name, DP_ISA_ONLY), DP_ISA_PASTE(name, DP_ISA_ONLY),                          \
            DP_ISA_PASTE(name, DP_ISA_ONLY)                                                        \
    }
#define DP_ISA_CHOSEN(level, name) ((void)(level), DP_ISA_PASTE(name, DP_ISA_ONLY))
#elif defined __x86_64__
#define DP_ISA_TABLE(type, name) extern const type name##_v1[], name##_v3[], name##_v4[];
#define DP_ISA_TABLES(name)                                                                        \
    {                                                                                              \
        name##_v1, name##_v3, name##_v4                                                            \
    } /* the tables of all levels, indexed by DP_ISA_* */
#define DP_ISA_CHOSEN(level, name)                                                                 \
    ((level) == DP_ISA_V4 ? name##_v4 : (level) == DP_ISA_V3 ? name##_v3 : name##_v1)
#else
#define DP_ISA_TABLE(type, name) extern const type name##_v1[];
#define DP_ISA_TABLES(name)                                                                        \
    {                                                                                              \
        name##_v1                                                                                  \
    }
#define DP_ISA_CHOSEN(level, name) ((void)(level), name##_v1)
#endif

#endif
