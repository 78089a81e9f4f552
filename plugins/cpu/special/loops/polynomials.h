/* loops/polynomials.h -- orthogonal polynomials, one element at a time.  Inlined into a family that
 * is compiled for a level with fused steps, too: a call of the C library's for each is as long as
 * all else. */
#ifndef CPU_LOOPS_POLYNOMIALS_H
#define CPU_LOOPS_POLYNOMIALS_H

#include <math.h>
#include <stdint.h>

enum {
    SF_DEGREE_MAX = 1000000, /* of a polynomial that has no closed form: as many steps */
    SF_STEPS = 64
};

/* Of what family a chebyshev polynomial is: those with p_1 = x, 2 x, 2 x - 1 and 2 x + 1. */
typedef enum sf_kind { SF_FIRST, SF_SECOND, SF_THIRD, SF_FOURTH } sf_kind;

/* n as a degree; what is no int64_t counts as the least one, as it does in PyTorch. */
static inline int64_t sf_degree(double n)
{
    return n >= -0x1p63 && n < 0x1p63 ? (int64_t)n : INT64_MIN;
}

/* The step at which to look next, from step k on. */
static inline int64_t sf_end(int64_t k, int64_t n)
{
    return n - k < SF_STEPS ? n : k + SF_STEPS;
}

/*   chebyshev   `angles`: from this degree on PyTorch takes cosines inside of -1 to 1
 *   legendre,   *fault is set where the value needs more than SF_DEGREE_MAX steps
 *   laguerre
 *
 * A negative degree gives 0. */
#define SF_SOURCE "special/loops/polynomials_of_type.h"
#include "each_type.h"

#endif
