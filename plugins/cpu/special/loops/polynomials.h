/* loops/polynomials.h -- orthogonal polynomials, one element at a time.  The functions are inlined
 * into the loops that proto/gen makes from pointwise.yaml.  These loops are also compiled for
 * vector level v3, which has fused multiply-adds, because a call of fma() per step would double the
 * time. */
#ifndef CPU_LOOPS_POLYNOMIALS_H
#define CPU_LOOPS_POLYNOMIALS_H

#include <math.h>
#include <stdint.h>

enum {
    /* highest degree of a polynomial without a closed form; the degree is the number of steps */
    SF_DEGREE_MAX = 1000000,
    SF_STEPS = 64 /* number of steps between two checks for NaN (sf_end()) */
};

/* The four families of Chebyshev polynomials, with p_1 = x, 2 x, 2 x - 1 and 2 x + 1. */
typedef enum sf_kind { SF_FIRST, SF_SECOND, SF_THIRD, SF_FOURTH } sf_kind;

/* Return n as a degree; a number that is no int64_t counts as the least one, as in PyTorch. */
static inline int64_t sf_degree(double n)
{
    return n >= -0x1p63 && n < 0x1p63 ? (int64_t)n : INT64_MIN;
}

/* Return the step up to which a recurrence of `n` steps runs from step `k` before it checks whether
 * the value became NaN. */
static inline int64_t sf_end(int64_t k, int64_t n)
{
    return n - k < SF_STEPS ? n : k + SF_STEPS;
}

/* The functions for one type.  A negative degree gives 0.
 *
 *     chebyshev   `angles`: from this degree on, PyTorch uses cosines if -1 < x < 1
 *     legendre,   *fault is set if the value needs more than SF_DEGREE_MAX steps
 *     laguerre */
#define SF_SOURCE "special/loops/polynomials_of_type.h"
#include "each_type.h"

#endif
