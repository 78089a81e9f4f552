/* complex.h -- functions of complex numbers as inlined C that compilers vectorise:
 * dpm_exp_c64(float _Complex), dpm_exp_c128(double _Complex), ... (complex_of_type.h lists them).
 * Like math.h's they give the same bits at every vector width, in loops and in scalars.
 *
 * Each has a form for loops, dpm_exp_near_c64, for numbers of which dpm_far_c64 is 0: see the
 * circular functions of circular_of_type.h.  Both forms give the same bits there.  Infinities and
 * NaN are as in C99's annex G, but for exp, where they are PyTorch's: those of exp(x) cos(y) and
 * exp(x) sin(y).  Any thread. */
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
