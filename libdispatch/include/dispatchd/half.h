/* dispatchd/half.h -- conversion of float16 and bfloat16 to float and back, rounded to nearest,
 * ties to even; for the host and for plugins. */
#ifndef DISPATCHD_HALF_H
#define DISPATCHD_HALF_H

#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

static inline uint32_t dp_float_bits_(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof(u));
    return u;
}

static inline float dp_float_of_bits_(uint32_t u)
{
    float f;
    memcpy(&f, &u, sizeof(f));
    return f;
}

static inline float dp_float16_to_float(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = (h >> 10) & 31, fraction = h & 0x3ff;

    /* a signalling NaN becomes a quiet NaN, as in the processor's own conversion */
    if (exponent == 31)
        return dp_float_of_bits_(sign | 0x7f800000 | (uint32_t)(fraction != 0) << 22 |
                                 fraction << 13);
    if (exponent != 0)
        return dp_float_of_bits_(sign | (exponent + 112) << 23 | fraction << 13);
    return dp_float_of_bits_(sign | dp_float_bits_((float)fraction * 0x1p-24f)); /* subnormal */
}

static inline uint16_t dp_float_to_float16(float f)
{
    uint32_t u = dp_float_bits_(f), sign = u >> 16 & 0x8000, magnitude = u & 0x7fffffff;

    if (magnitude > 0x7f800000)
        return (uint16_t)(sign | 0x7e00);
    if (magnitude >= 0x477ff000) /* 65520 and larger values round to infinity */
        return (uint16_t)(sign | 0x7c00);
    /* below 2^-14 the result is subnormal, a multiple of 2^-24: the addition of 2^23 rounds the
     * multiple to an integer, which the low bits of the sum then hold */
    if (magnitude < 0x38800000)
        return (uint16_t)(sign | (dp_float_bits_(dp_float_of_bits_(magnitude) * 0x1p24f + 0x1p23f) &
                                  0x7fffff));
    magnitude += 0xfff + (magnitude >> 13 & 1);
    return (uint16_t)(sign | ((magnitude >> 13) - (112 << 10)));
}

static inline float dp_bfloat16_to_float(uint16_t h)
{
    return dp_float_of_bits_((uint32_t)h << 16);
}

static inline uint16_t dp_float_to_bfloat16(float f)
{
    uint32_t u = dp_float_bits_(f);

    return f != f ? 0x7fc0 : (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

#ifdef __cplusplus
}
#endif

#endif
