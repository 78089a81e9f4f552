/* dispatchd/isa.h -- vector levels: one source, compiled once for each width of vectors, chosen
 * once.
 *
 *     gcc -DDP_ISA=v1 ...                      mine.c, for each level: on x86-64 v1, v3 and v4,
 *     gcc -DDP_ISA=v3 -march=x86-64-v3 ...     elsewhere v1 alone
 *
 *     const my_row DP_ISA_NAME(my_table)[] = {{...}, ...};    in mine.c: all that it exports
 *
 *     DP_ISA_TABLE(my_row, my_table)                          elsewhere, at file scope
 *     my_row row = DP_ISA_CHOSEN(level, my_table)[i];     by what dp_cpu_level() gave in on_load
 *
 * With -DDP_ISA_ONLY=v3, say, on every command, that level is the only one that is compiled and
 * used.
 *
 * Include plugin.h or dispatch.h before this. */
#ifndef DISPATCHD_ISA_H
#define DISPATCHD_ISA_H

/* By names of x86-64's; another target has the first alone. */
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
    } /* all of them, by level */
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
