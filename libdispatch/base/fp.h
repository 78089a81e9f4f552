/* fp.h -- the floating-point environment of the calling thread: rounding, subnormal numbers, which
 * exceptions trap.  Its control bits alone, not the status flags that every operation may raise.
 *
 * dpi_fp_get() reads all of it, dpi_fp_look() what can be told in half a nanosecond. */
#ifndef DPI_FP_H
#define DPI_FP_H

#include <stdint.h>

typedef uint64_t dpi_fp;

#if defined(__x86_64__)

/* MXCSR, and above it the control word of the x87 unit, which computes long double. */
#define DPI_FP_DEFAULT ((dpi_fp)0x037f << 32 | 0x1f80)
enum {
    DPI_MXCSR_STATUS = 0x3f,
    DPI_MXCSR_DAZ = 0x40, /* subnormal operands count as zero */
    DPI_MXCSR_ROUNDING = 0x6000,
    DPI_MXCSR_FTZ = 0x8000, /* subnormal results become zero */
    DPI_X87_ROUNDING = 0x0c00
};

static inline uint16_t dpi_x87_get(void)
{
    uint16_t x87;

    __asm__ volatile("fnstcw %0" : "=m"(x87));
    return x87;
}

static inline uint32_t dpi_mxcsr_get(void)
{
    uint32_t mxcsr;

    __asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
    return mxcsr;
}

static inline dpi_fp dpi_fp_get(void)
{
    return (dpi_fp)dpi_x87_get() << 32 | (dpi_mxcsr_get() & ~(uint32_t)DPI_MXCSR_STATUS);
}

static inline void dpi_fp_set(dpi_fp to)
{
    uint32_t mxcsr = (dpi_mxcsr_get() & DPI_MXCSR_STATUS) | (uint32_t)to;
    uint16_t x87 = (uint16_t)(to >> 32);

    __asm__ volatile("ldmxcsr %0" : : "m"(mxcsr));
    __asm__ volatile("fnclex"); /* fldcw would raise what came before and is unmasked now */
    __asm__ volatile("fldcw %0" : : "m"(x87));
}

typedef float dpi_floats __attribute__((vector_size(16)));

/* 0: MXCSR rounds to nearest and has neither FTZ nor DAZ.  Otherwise dpi_fp_get().
 *
 * The modes are told from the result of one addition: stmxcsr waits for all operations before it on
 * AMD's Zen 4, and two of them make a call there 30 to 50 ns longer, two additions 0.2 to 0.7 ns.
 * Intel's cores take 30 ns for a sum that is subnormal when both operands are normal, and half a
 * nanosecond when one operand is subnormal, as here.  Which exceptions trap is not seen; the
 * addition itself is inexact. */
static inline __attribute__((always_inline)) dpi_fp dpi_fp_look(void)
{
    /* rounded up and down at 3/4 of an ulp; a subnormal result; a subnormal operand */
    static const dpi_floats a = {1.0f, -1.0f, 0x1p-126f, 0x1p-127f};
    static const dpi_floats b = {0x1.8p-24f, -0x1.8p-24f, -0x1p-127f, 0x1p-126f};
    static const dpi_floats by_default = {1.0f + 0x1p-23f, -1.0f - 0x1p-23f, 0x1p-127f,
                                          0x1.8p-126f};
    dpi_floats sum = a;
    uint32_t same;

    __asm__ volatile("addps %2, %0\n\tpcmpeqd %3, %0\n\tmovmskps %0, %1"
                     : "+x"(sum), "=r"(same)
                     : "m"(b), "m"(by_default));
    return __builtin_expect(same == 0xf, 1) ? 0 : dpi_fp_get();
}

/* The environment that dpi_fp_look() saw; what it did not look at is as in `now`. */
static inline dpi_fp dpi_fp_of(dpi_fp seen, dpi_fp now)
{
    const dpi_fp looked_at =
        (dpi_fp)DPI_X87_ROUNDING << 32 | DPI_MXCSR_ROUNDING | DPI_MXCSR_FTZ | DPI_MXCSR_DAZ;

    return seen != 0 ? seen : now & ~looked_at;
}

#else

#if defined(__aarch64__)

#define DPI_FP_DEFAULT ((dpi_fp)0)

/* FPCR; the status flags are in another register. */
static inline dpi_fp dpi_fp_get(void)
{
    dpi_fp fpcr;

    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    return fpcr;
}

static inline void dpi_fp_set(dpi_fp to)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(to));
}

#else

#include <fenv.h>
#define DPI_FP_DEFAULT ((dpi_fp)FE_TONEAREST)

/* The rounding direction, which is all that C can tell of it. */
static inline dpi_fp dpi_fp_get(void)
{
    return (dpi_fp)fegetround();
}

static inline void dpi_fp_set(dpi_fp to)
{
    fesetround((int)to);
}

#endif

static inline dpi_fp dpi_fp_look(void)
{
    return dpi_fp_get();
}

static inline dpi_fp dpi_fp_of(dpi_fp seen, dpi_fp now)
{
    (void)now;
    return seen;
}

#endif
#endif
