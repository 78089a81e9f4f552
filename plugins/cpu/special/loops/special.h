/* loops/special.h -- the functions of special/special.h as pw_NAME_f32 and pw_NAME_f64: NAME(x) in
 * an expression of proto/ops/pointwise.yaml becomes a call of one of them. */
#ifndef CPU_LOOPS_SPECIAL_H
#define CPU_LOOPS_SPECIAL_H

#include "special/special.h"
#include "polynomials.h"
#include "special_f32.h"
#include "erfinv.h"
#include <float.h>

/* argument `exact` of sf_igamma(), which leaves out terms smaller than `exact` times the sum: at
 * most an eighth of an ulp of a float result, and an ulp of a double result */
#define SF_EXACT_F32 (FLT_EPSILON / 16)
#define SF_EXACT_F64 (DBL_EPSILON / 2)

#define SF_BOTH1(name, body)                                                                       \
    static inline double pw_##name##_f64(double x)                                                 \
    {                                                                                              \
        return body;                                                                               \
    }                                                                                              \
    static inline float pw_##name##_f32(float y)                                                   \
    {                                                                                              \
        double x = y;                                                                              \
        return (float)(body);                                                                      \
    }
#define SF_BOTH2(name, body)                                                                       \
    static inline double pw_##name##_f64(double x, double y)                                       \
    {                                                                                              \
        return body;                                                                               \
    }                                                                                              \
    static inline float pw_##name##_f32(float a, float b)                                          \
    {                                                                                              \
        double x = a, y = b;                                                                       \
        return (float)(body);                                                                      \
    }
/* functions for double whose float versions are in special_f32.h */
#define SF_WIDE1(name, body)                                                                       \
    static inline double pw_##name##_f64(double x)                                                 \
    {                                                                                              \
        return body;                                                                               \
    }
SF_WIDE1(lgamma, sf_lgamma(x))
SF_BOTH1(log_ndtr, sf_log_ndtr(x))
SF_WIDE1(i0, sf_bessel_i(0, x))
SF_WIDE1(i1, sf_bessel_i(1, x))
SF_WIDE1(i0e, sf_bessel_ie(0, x))
SF_WIDE1(i1e, sf_bessel_ie(1, x))
SF_WIDE1(k0, sf_bessel_k(0, x))
SF_WIDE1(k1, sf_bessel_k(1, x))
SF_WIDE1(k0e, sf_bessel_ke(0, x))
SF_WIDE1(k1e, sf_bessel_ke(1, x))
SF_WIDE1(j0, sf_bessel_j(0, x))
SF_WIDE1(j1, sf_bessel_j(1, x))
SF_WIDE1(y0, sf_bessel_y(0, x))
SF_WIDE1(y1, sf_bessel_y(1, x))
SF_WIDE1(spherical_j0, sf_spherical_j0(x))
SF_BOTH1(airy_ai, sf_airy_ai(x))
SF_BOTH2(zeta, sf_zeta(x, y))

#define SF_EACH_(T, end, params, name, body)                                                       \
    static inline T pw_##name##end params                                                          \
    {                                                                                              \
        return body;                                                                               \
    }
#define SF_EACH1(name, f32, f64)                                                                   \
    SF_EACH_(float, _f32, (float x), name, f32) SF_EACH_(double, _f64, (double x), name, f64)
#define SF_EACH2(name, f32, f64)                                                                   \
    SF_EACH_(float, _f32, (float x, float y), name, f32)                                           \
    SF_EACH_(double, _f64, (double x, double y), name, f64)
#define SF_EACH3(name, f32, f64)                                                                   \
    SF_EACH_(float, _f32, (float x, float y, int *fault), name, f32)                               \
    SF_EACH_(double, _f64, (double x, double y, int *fault), name, f64)
SF_EACH1(digamma, sf_digamma_f32(x), sf_digamma_f64(x))
SF_EACH1(erfcx, sf_erfcx_f32(x), sf_erfcx(x))
SF_EACH2(igamma, (float)sf_igamma(x, y, 0, SF_EXACT_F32), sf_igamma(x, y, 0, SF_EXACT_F64))
SF_EACH2(igammac, (float)sf_igamma(x, y, 1, SF_EXACT_F32), sf_igamma(x, y, 1, SF_EXACT_F64))
SF_EACH_(float, _f32, (double n, float x), polygamma, sf_polygamma_f32((int64_t)n, x))
SF_EACH_(double, _f64, (double n, double x), polygamma, sf_polygamma_f64((int64_t)n, x))

#define SF_CHEBYSHEV(name, at, kind, angles)                                                       \
    SF_EACH2(name, sf_chebyshev_f32(at, sf_degree(y), kind, angles),                               \
             sf_chebyshev_f64(at, sf_degree(y), kind, angles))
SF_CHEBYSHEV(chebyshev_t, x, SF_FIRST, 7)
SF_CHEBYSHEV(chebyshev_u, x, SF_SECOND, 9)
SF_CHEBYSHEV(chebyshev_v, x, SF_THIRD, 9)
SF_CHEBYSHEV(chebyshev_w, x, SF_FOURTH, 9)
SF_CHEBYSHEV(shifted_t, 2 * x - 1, SF_FIRST, 7)
SF_CHEBYSHEV(shifted_u, 2 * x - 1, SF_SECOND, 7)
SF_CHEBYSHEV(shifted_v, 2 * x - 1, SF_THIRD, 7)
SF_CHEBYSHEV(shifted_w, 2 * x - 1, SF_FOURTH, 5)
SF_EACH2(hermite_h, sf_hermite_h_f32(x, sf_degree(y)), sf_hermite_h_f64(x, sf_degree(y)))
SF_EACH2(hermite_he, sf_hermite_he_f32(x, sf_degree(y)), sf_hermite_he_f64(x, sf_degree(y)))
SF_EACH3(laguerre, sf_laguerre_f32(x, sf_degree(y), fault), sf_laguerre_f64(x, sf_degree(y), fault))
SF_EACH3(legendre, sf_legendre_f32(x, sf_degree(y), fault), sf_legendre_f64(x, sf_degree(y), fault))

#endif
