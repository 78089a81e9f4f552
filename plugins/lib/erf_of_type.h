/* erf_of_type.h -- erf and erfc for one type (float or double): a part of math_of_type.h, which
 * includes this header. */

/* Return q, where erf(x) = x + x q, for |x| <= 1. */
DPM_INLINE T FN(erf_near)(T x)
{
    return POLY(x * x,
                (-0x1.373d26p-11f, 0x1.46956p-8f, -0x1.b6721p-6f, 0x1.ce18fep-4f, -0x1.8126ep-2f,
                 0x1.06eba6p-3f),
                (-0x1.ac1a419759674p-31, 0x1.d73d744d741c6p-27, -0x1.5c0bc31311077p-23,
                 0x1.b9807f2338cf2p-20, -0x1.f4ca5bb28570dp-17, 0x1.f9a2bb4bba0e5p-14,
                 -0x1.c02db03ff6859p-11, 0x1.565bccf908894p-8, -0x1.b82ce311f7069p-6,
                 0x1.ce2f21a040b02p-4, -0x1.812746b0379b5p-2, 0x1.06eba8214db68p-3));
}

/* Return erf(a) for double and a >= 0, by the Taylor series around the nearest x0 = k / 64, which
 * is `at`.  With r = a - x0, u = x0 r and v = r^2, erf(a) = erf(x0) + erf'(x0) r w, where w = 1 - u
 * + 2/3 u^2 - 1/3 v + ... */
DPM_INLINE T FN(erf_long)(T a)
{
    const T grid = K(0, 0x1.8p46);
    T z = a + grid, at = z - grid, r = a - at, u = at * r, v = r * r;
    size_t k = FN(bits)(z) % DPM_ERF_ROWS;
    T p = POLY_(u, 0x1.a01a01a01a01ap-7, -0x1.6c16c16c16c17p-5, 0x1.1111111111111p-3,
                -0x1.5555555555555p-2, 0x1.5555555555555p-1, -1, 1);
    T q = POLY_(u, -0x1.8618618618618p-4, 0x1.c71c71c71c71cp-3, -0x1.999999999999ap-2, 0.5,
                -0x1.5555555555555p-2);
    T s = POLY_(u, 0x1.2492492492492p-3, -0x1.5555555555555p-3, 0x1.999999999999ap-4);
    T w = FN(fma)(v, FN(fma)(v, FN(fma)(v, (T)-0x1.8618618618618p-6, s), q), p);

    return FN(pick)(a > 6, 1, FN(fma)((T)dpm_erf_table[k][1] * r, w, (T)dpm_erf_table[k][0]));
}

/* Return erf(a) for float and a >= 0, as 1 - e^part, where part = ln(1 - erf(a)) = -a + a q, and q
 * is a polynomial. */
DPM_INLINE T FN(erf_short)(T a)
{
    T part = FN(fma)(a,
                     POLY_(a, 0x1.36906cp-17f, -0x1.ed6506p-14f, 0x1.4bc67ep-11f, -0x1.b4fd02p-10f,
                           0x1.5043a6p-13f, 0x1.39cde8p-6f, -0x1.a4fa60p-4f, -0x1.45f2fap-1f,
                           -0x1.06eba8p-3f),
                     -a);
    T z, r, q = FN(exp_part)(part, &r, &z), s = FN(exp_scale)(z, 0);

    return FN(pick)(a > (T)4.1, 1, FN(fma)(-s, FN(fma)(r * r, q, r), 1 - s));
}

DPM_INLINE T FN(erf)(T x)
{
    return FN(sign)(K(FN(erf_short), FN(erf_long))(FN(abs)(x)), x);
}

/* Return exp(x^2) erfc(x), for x > 0.59 up to where erfc(x) is rounded to 0.  It is y / (x + 4),
 * where y is a polynomial of t = (x - 4) / (x + 4). */
DPM_INLINE T FN(erfc_part)(T x)
{
    T d = x + 4, inverse = 1 / d;
    T correction = inverse * FN(fma)(-inverse, x - (d - 4), FN(fma)(-inverse, d, 1));
    T t = FN(fma)(correction, -8, FN(fma)(inverse, -8, 1));
    T q = POLY(t,
               (0x1.63c9aep-11f, 0x1.99720cp-8f, -0x1.b679b4p-6f, 0x1.386decp-4f, -0x1.64417ap-3f,
                0x1.52ceb6p-2f, -0x1.14eb3ep-1f, 0x1.8be1eep-1f, -0x1.f3fe3p-1f),
               (-0x1.b9d926c8eacfap-27, 0x1.63366c0d14118p-30, 0x1.0523926d63df7p-23,
                -0x1.469737428df83p-24, -0x1.c5ce0ab8fe527p-21, 0x1.7e62f98f1fadep-20,
                0x1.3b0d55b821af8p-18, -0x1.3c6f4f3cc578fp-16, -0x1.e7f36e013d88fp-19,
                0x1.72cdaaaad7182p-13, -0x1.dd283c7c79a1bp-12, -0x1.269b523640adep-12,
                0x1.908f470503edap-8, -0x1.b00c052c4741bp-6, 0x1.38dbd2c9208afp-4,
                -0x1.645fd8a4bbb77p-3, 0x1.52cac2370f0f6p-2, -0x1.14eacb1ad034dp-1,
                0x1.8be202d26c743p-1, -0x1.f3fe31ecb49bfp-1));

    const T first = K(0x1.18932cp0f, 0x1.18932bf08e154p0);
    T y = FN(fma)(q, t, first);

    return FN(fma)(inverse, y, correction * y);
}

DPM_INLINE T FN(erfc)(T x)
{
    const T most = K(10.1f, 27.3);
    T a = FN(abs)(x), near = 1 - FN(fma)(FN(erf_near)(x), x, x), exponent, r;
    T square = a * a;

    FN(exp_part)(-square, &r, &exponent);
    r -= FN(fma)(a, a, -square);
    T y = FN(fma)(FN(fma)(FN(exp_of)(r), r, 1), r, 1) * FN(erfc_part)(a);

    y = FN(pick)(a > most, 0, FN(exp_scaled)(y, exponent));
    return FN(pick)(a < (T)0.6, near, FN(pick)(x < 0, 2 - y, y));
}
