/* fp.h -- reads and sets the calling thread's floating-point environment.
 *
 * A dpi_fp has the control bits: rounding mode, treatment of subnormal numbers, exceptions that
 * trap.  It has no status flags, because every operation may change those.
 *
 * dpi_fp_get() reads all control bits.  On x86-64 that is slow, so dpi_fp_look() checks only the
 * modes that it can check in half a nanosecond; on other machines it is dpi_fp_get(). */
#ifndef DPI_FP_H
#define DPI_FP_H

#include <stdint.h>

typedef uint64_t dpi_fp;

#if defined(__x86_64__)

/* Bits 0 to 31: MXCSR.  Bits 32 to 47: control word of the x87 unit, which computes long double. */
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
    __asm__ volatile("fnclex"); /* else fldcw would raise pending exceptions that it unmasks */
    __asm__ volatile("fldcw %0" : : "m"(x87));
}

typedef float dpi_floats __attribute__((vector_size(16)));

/* Return 0 if MXCSR rounds to nearest and has neither FTZ nor DAZ, else dpi_fp_get().
 *
 * The modes are derived from the result of one vector addition.  Reading MXCSR would cost more: on
 * AMD's Zen 4 stmxcsr waits for all earlier operations, and two of them add 30 to 50 ns to a call,
 * while two additions add 0.2 to 0.7 ns.  On Intel's cores a subnormal sum of two normal operands
 * takes 30 ns, but half a nanosecond if one operand is subnormal, as here.  The function sees
 * neither the x87 unit nor which exceptions trap.  Its addition sets the status flags for inexact
 * results and for subnormal operands. */
static inline __attribute__((always_inline)) dpi_fp dpi_fp_look(void)
{
    /* Elements 0 and 1: the exact sums are 3/4 of an ulp above 1 and below -1.  Only rounding to
     * nearest gives the neighbours of 1 and -1: rounding up or down misses one of them, rounding
     * toward zero both.  Element 2: a subnormal sum, which FTZ makes 0.  Element 3: a subnormal
     * operand, which DAZ makes 0. */
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

/* Return the environment that the thread had when dpi_fp_look() returned `seen`; `now` is the
 * result of a later dpi_fp_get().  If `seen` is not 0, it is that environment.  If it is 0, the
 * modes that dpi_fp_look() checks were the default ones, and so, we assume, was the x87 rounding,
 * which fesetround() sets together with MXCSR's; all other bits are taken from `now`. */
static inline dpi_fp dpi_fp_of(dpi_fp seen, dpi_fp now)
{
    const dpi_fp checked =
        (dpi_fp)DPI_X87_ROUNDING << 32 | DPI_MXCSR_ROUNDING | DPI_MXCSR_FTZ | DPI_MXCSR_DAZ;

    return seen != 0 ? seen : now & ~checked;
}

#else

#if defined(__aarch64__)

#define DPI_FP_DEFAULT ((dpi_fp)0)

/* Read FPCR; the status flags are in another register. */
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

/* Read the rounding direction, the only control that standard C can read. */
static inline dpi_fp dpi_fp_get(void)
{
    return (dpi_fp)fegetround();
}

static inline void dpi_fp_set(dpi_fp to)
{
    fesetround((int)to);
}

#endif

/* Here dpi_fp_look() returns the full environment, and dpi_fp_of() returns that. */
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
