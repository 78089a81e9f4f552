/* special.h -- special functions, one element at a time.
 *
 * Compiled once: they are no loops, and so each gives the same bits on every vector level.  NaN, infinities
 * and poles as in ATen/native/Math.h; all run in bounded time.  By any thread. */
#ifndef CPU_SPECIAL_H
#define CPU_SPECIAL_H

#include <stdint.h>

/* Of what family a chebyshev polynomial is: those with p_1 = x, 2 x, 2 x - 1 and 2 x + 1. */
typedef enum sf_kind { SF_FIRST, SF_SECOND, SF_THIRD, SF_FOURTH } sf_kind;

enum {
    SF_DEGREE_MAX = 1000000 /* of a polynomial that has no closed form: as many steps */
};

/* n as a degree; what is no int64_t counts as the least one, as it does in PyTorch. */
int64_t sf_degree(double n);

/* In the width of the argument, where rounding in another one would show.
 *
 *   chebyshev   `angles`: from this degree on PyTorch takes cosines inside of -1 to 1
 *   legendre,   *fault is set where the value needs more than SF_DEGREE_MAX steps
 *   laguerre
 *
 * A negative degree gives 0. */
#define SF_DECLARE_TYPED(T, end)                                                                   \
    T sf_digamma##end(T x);                                                                        \
    T sf_trigamma##end(T x);                                                                       \
    T sf_chebyshev##end(T x, int64_t n, sf_kind kind, int64_t angles);                             \
    T sf_hermite_h##end(T x, int64_t n);                                                           \
    T sf_hermite_he##end(T x, int64_t n);                                                          \
    T sf_laguerre##end(T x, int64_t n, int *fault);                                                \
    T sf_legendre##end(T x, int64_t n, int *fault);
SF_DECLARE_TYPED(float, _f32)
SF_DECLARE_TYPED(double, _f64)
#undef SF_DECLARE_TYPED

double sf_lgamma(double x);
double sf_zeta(double x, double q); /* Hurwitz's */
double sf_polygamma_f64(int64_t n, double x);
float sf_polygamma_f32(int64_t n, float x);
/* Regularised: P, or Q for `upper`.  Terms are left out that are smaller than `exact` times the sum. */
double sf_igamma(double a, double x, int upper, double exact);

double sf_erfcx(double x); /* exp(x^2) erfc(x) */
float sf_erfcx_f32(float x);
double sf_log_ndtr(double x);
double sf_ndtri(double p);
double sf_erfinv(double y);

/* n is 0 or 1.  ie: exp(-|x|) I_n(x); ke: exp(x) K_n(x) */
double sf_bessel_i(int n, double x);
double sf_bessel_ie(int n, double x);
double sf_bessel_k(int n, double x);
double sf_bessel_ke(int n, double x);
double sf_bessel_j(int n, double x);
double sf_bessel_y(int n, double x);
double sf_spherical_j0(double x);
double sf_airy_ai(double x);

#endif
