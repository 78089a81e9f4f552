/* math_loops.h -- every function of plugins/lib/math.h and complex.h as a loop over arrays, for
 * tests and benchmarks.  math_loops.c is compiled once for each vector level: v1, v3 and v4. */
#ifndef TESTS_MATH_LOOPS_H
#define TESTS_MATH_LOOPS_H

#include <complex.h>
#include <stddef.h>

/* X(name, greatest error of a result that tests accept, in units in the last place) */
#define MATH_PLAIN(X)                                                                              \
    X(exp, 1)                                                                                      \
    X(log, 1)                                                                                      \
    X(expm1, 4)                                                                                    \
    X(tanh, 4)                                                                                     \
    X(sigmoid, 4)                                                                                  \
    X(erfc, 4)                                                                                     \
    X(erf, 4)                                                                                      \
    X(exp2, 4)                                                                                     \
    X(log2, 4)                                                                                     \
    X(log10, 4)                                                                                    \
    X(log1p, 4)                                                                                    \
    X(sinh, 4)                                                                                     \
    X(cosh, 4)                                                                                     \
    X(asin, 4)                                                                                     \
    X(acos, 4)                                                                                     \
    X(atan, 4)                                                                                     \
    X(asinh, 4)                                                                                    \
    X(acosh, 4)                                                                                    \
    X(atanh, 4)
#define MATH_TURN(X)                                                                               \
    X(sin, 4)                                                                                      \
    X(cos, 4)                                                                                      \
    X(tan, 4)
#define MATH_UNARY(X) MATH_PLAIN(X) MATH_TURN(X)
#define MATH_BINARY(X)                                                                             \
    X(hypot, 4)                                                                                    \
    X(atan2, 4)                                                                                    \
    X(pow, 4)

/* div_floor rounds twice: a minus the remainder, and the quotient of that difference and b. */
#define MATH_QUOTIENT(X) X(fmod, 0) X(rem_floor, 1) X(div_floor, 2)

/* X(name).  The loops of COMPLEX_TURN call the _near variant of a function if it accepts all
 * elements (complex.h). */
#define COMPLEX_PLAIN(X)                                                                           \
    X(log) X(log2) X(log10) X(sqrt) X(asin) X(acos) X(atan) X(asinh) X(acosh) X(atanh)
#define COMPLEX_TURN(X) X(exp) X(sin) X(cos) X(tan) X(sinh) X(cosh) X(tanh)

typedef struct complex_loop {
    const char *name;
    void (*c64)(float _Complex *out, const float _Complex *in, size_t n);
    void (*c128)(double _Complex *out, const double _Complex *in, size_t n);
} complex_loop;

typedef struct math_loop {
    const char *name;
    void (*f32)(float *out, const float *a, const float *b, size_t n);
    void (*f64)(double *out, const double *a, const double *b, size_t n);
} math_loop;

/* The functions of MATH_UNARY, MATH_BINARY and MATH_QUOTIENT, in this order; a zeroed entry ends
 * the array. */
extern const math_loop math_loops_v1[];
/* The functions of COMPLEX_PLAIN, then those of COMPLEX_TURN; a zeroed entry ends the array. */
extern const complex_loop complex_loops_v1[];
#ifdef __x86_64__
extern const math_loop math_loops_v3[], math_loops_v4[];
extern const complex_loop complex_loops_v3[], complex_loops_v4[];
#endif

#endif
