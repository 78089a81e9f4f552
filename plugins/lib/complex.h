/* complex.h -- functions of complex numbers as inline C that compilers vectorize, such as
 * dpm_exp_c64(float _Complex) and dpm_exp_c128(double _Complex); complex_of_type.h has all of them.
 * Like those of math.h, these functions give the same bits at every vector width, in loops and for
 * single numbers.
 *
 * exp, sin, cos, tan, sinh, cosh and tanh have a second variant for loops, such as
 * dpm_exp_near_c64, which accepts only numbers for which dpm_far_c64 is 0 (see circular_of_type.h).
 * For these numbers both variants give the same bits.  Infinities and NaN are treated as in C99's
 * annex G, but for exp as in PyTorch: the parts of the result are exp(x) cos(y) and exp(x) sin(y).
 * Any thread. */
#ifndef PLUGINS_LIB_COMPLEX_H
#define PLUGINS_LIB_COMPLEX_H

#include "math.h"
#include <complex.h>

#define T        float
#define U        uint32_t
#define RN(name) dpm_##name##_f32
#define FN(name) dpm_##name##_c64
#define K(s, d)  s
#include "complex_of_type.h"
#undef T
#undef U
#undef RN
#undef FN
#undef K

#define T        double
#define U        uint64_t
#define RN(name) dpm_##name##_f64
#define FN(name) dpm_##name##_c128
#define K(s, d)  d
#include "complex_of_type.h"
#undef T
#undef U
#undef RN
#undef FN
#undef K

#endif
