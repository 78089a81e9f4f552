/* blas_core.h -- the choice of an OpenBLAS core type (a set of kernels for a kind of processor)
 * that is faster than the type that OpenBLAS chose.
 *
 * OpenBLAS chooses by family and model of the processor, and uses its oldest kernels (Prescott) for
 * models that are newer than the library.  The choice here depends only on the instructions that
 * the processor has. */
#ifndef CPU_BLAS_CORE_H
#define CPU_BLAS_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <strings.h>

/* the instructions that the kernels of a core type use, in ascending order */
typedef enum blas_level {
    BLAS_SSE,
    BLAS_AVX,
    BLAS_AVX2,   /* AVX2 and FMA */
    BLAS_AVX512, /* AVX512 F, CD, BW, DQ and VL */
    BLAS_BF16,   /* AVX512 and AVX512_BF16 */
    BLAS_UNKNOWN /* a core type that blas_level_of() does not know; it is never replaced */
} blas_level;

/* Return the level of core type `name`, as openblas_get_corename() spells it. */
static inline blas_level blas_level_of(const char *name)
{
    static const struct {
        const char *name;
        blas_level level;
    } cores[] = {
        {"Unknown", BLAS_SSE},     {"Katmai", BLAS_SSE},       {"Coppermine", BLAS_SSE},
        {"Northwood", BLAS_SSE},   {"Prescott", BLAS_SSE},     {"Banias", BLAS_SSE},
        {"Atom", BLAS_SSE},        {"Core2", BLAS_SSE},        {"Penryn", BLAS_SSE},
        {"Dunnington", BLAS_SSE},  {"Nehalem", BLAS_SSE},      {"Athlon", BLAS_SSE},
        {"Opteron", BLAS_SSE},     {"Opteron_SSE3", BLAS_SSE}, {"Barcelona", BLAS_SSE},
        {"Bobcat", BLAS_SSE},      {"Nano", BLAS_SSE},         {"Sandybridge", BLAS_AVX},
        {"Bulldozer", BLAS_AVX},   {"Piledriver", BLAS_AVX},   {"Steamroller", BLAS_AVX},
        {"Excavator", BLAS_AVX2},  {"Haswell", BLAS_AVX2},     {"Zen", BLAS_AVX2},
        {"SkylakeX", BLAS_AVX512}, {"Cooperlake", BLAS_BF16},
    };

    for (size_t i = 0; i < sizeof(cores) / sizeof(cores[0]); i++)
        if (strcasecmp(cores[i].name, name) == 0)
            return cores[i].level;
    return BLAS_UNKNOWN;
}

/* the properties of a processor that decide which core type fits it */
typedef struct blas_cpu {
    blas_level level;
    bool amd;
} blas_cpu;

/* Return the core type at index `i`, best first, among those that use more of the processor's
 * instructions than core type `own`; NULL: there are at most i such types.  The caller tries them
 * in turn, because a build of OpenBLAS may lack some.
 *
 * SkylakeX and Cooperlake differ only in products of bfloat16, so neither replaces the other. */
static inline const char *blas_better_core(const blas_cpu *cpu, const char *own, int i)
{
    const struct {
        const char *name;
        bool fits;
    } cores[] = {
        {"Cooperlake", cpu->level >= BLAS_BF16},      {"SkylakeX", cpu->level >= BLAS_AVX512},
        {"Zen", cpu->level >= BLAS_AVX2 && cpu->amd}, {"Haswell", cpu->level >= BLAS_AVX2},
        {"Sandybridge", cpu->level >= BLAS_AVX},
    };
    blas_level level = blas_level_of(own);

    if (level >= BLAS_AVX512)
        return NULL;
    for (size_t k = 0; k < sizeof(cores) / sizeof(cores[0]); k++)
        if (cores[k].fits && blas_level_of(cores[k].name) > level && i-- == 0)
            return cores[k].name;
    return NULL;
}

/* Return the properties of this processor; instructions that the operating system has disabled do
 * not count. */
static inline blas_cpu blas_this_cpu(void)
{
    blas_cpu cpu = {BLAS_UNKNOWN, false};

#ifdef __x86_64__
    __builtin_cpu_init();
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
                  __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
    bool bf16 = avx512 && __builtin_cpu_supports("avx512bf16");

    cpu.level = bf16                            ? BLAS_BF16
                : avx512                        ? BLAS_AVX512
                : avx2                          ? BLAS_AVX2
                : __builtin_cpu_supports("avx") ? BLAS_AVX
                                                : BLAS_SSE;
    cpu.amd = __builtin_cpu_is("amd");
#else
    cpu.level = BLAS_SSE; /* the names above are only for x86 */
#endif
    return cpu;
}

#endif
