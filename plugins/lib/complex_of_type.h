/* complex_of_type.h -- the functions of complex.h for one type.  T is the type of the real and the
 * imaginary part, U the unsigned integer of the same size.  RN(name) is the name of a function of
 * math.h for T, FN(name) the name of a function for T _Complex.  K(s, d) is `s` for float and `d`
 * for double. */

#define C     T _Complex
#define INF   ((T)INFINITY)
#define LN2   K(0x1.62e43p-1f, 0x1.62e42fefa39efp-1)
#define RE(z) __real__(z)
#define IM(z) __imag__(z)
#define SQRT  K(sqrtf, sqrt)
/* Define both variants, `name` and `name`_near, of a function: they call name_of(z, near). */
#define VARIANTS(name)                                                                             \
    DPM_INLINE C FN(name)(C z)                                                                     \
    {                                                                                              \
        return FN(name##_of)(z, false);                                                            \
    }                                                                                              \
    DPM_INLINE C FN(name##_near)(C z)                                                              \
    {                                                                                              \
        return FN(name##_of)(z, true);                                                             \
    }

DPM_INLINE C FN(make)(T re, T im)
{
    return __builtin_complex(re, im);
}

DPM_INLINE C FN(swap)(C z)
{
    return FN(make)(IM(z), RE(z));
}

/* Return 1 if the _near variants do not accept `z`, because a part of z is too large, infinite or
 * NaN; otherwise 0. */
DPM_INLINE U FN(far)(C z)
{
    return RN(far)(RE(z)) | RN(far)(IM(z));
}

DPM_INLINE T FN(sine)(T x, bool near)
{
    return near ? RN(sin_near)(x) : RN(sin)(x);
}

DPM_INLINE T FN(cosine)(T x, bool near)
{
    return near ? RN(cos_near)(x) : RN(cos)(x);
}

DPM_INLINE bool FN(finite)(T x)
{
    return x - x == 0;
}

DPM_INLINE T FN(abs)(C z)
{
    return RN(hypot)(RE(z), IM(z));
}

DPM_INLINE T FN(angle)(C z)
{
    return RN(atan2)(IM(z), RE(z));
}

DPM_INLINE C FN(times)(C x, C y)
{
    T a = RE(x), b = IM(x), c = RE(y), d = IM(y);

    return FN(make)(a * c - b * d, a * d + b * c);
}

/* -- exponentials and logarithms -- */

DPM_INLINE C FN(exp_of)(C z, bool near)
{
    T size = RN(exp)(RE(z));

    return FN(make)(size * FN(cosine)(IM(z), near), size * FN(sine)(IM(z), near));
}
VARIANTS(exp)

/* Near |z| = 1 the real part is ln(1 + (|z|^2 - 1)) / 2; the 1 is subtracted from the square of the
 * larger part first, because this difference is exact.  The rounding error of a very small square
 * is left out: it is subnormal, and would differ on processors without an FMA instruction. */
DPM_INLINE C FN(log)(C z)
{
    T x = RN(abs)(RE(z)), y = RN(abs)(IM(z)), a = RN(pick)(x > y, x, y), b = RN(pick)(x > y, y, x);
    T p = a * a, q = b * b, low = RN(pick)(b > K(0, 0x1p-480), RN(fma)(b, b, -q), 0);
    T rounding = RN(fma)(a, a, -p) + low;
    T near_one = (T)0.5 * RN(log1p)(p - 1 + q + rounding);
    /* the parts of a large z are halved, since |z| may overflow */
    T half = RN(pick)(a > 1, (T)0.5, 1);
    T general = RN(log)(RN(hypot)(half * x, half * y)) + RN(pick)(a > 1, LN2, 0);

    return FN(make)(RN(pick)(p > (T)0.5, RN(pick)(p < 2, near_one, general), general),
                    FN(angle)(z));
}

DPM_INLINE C FN(log2)(C z)
{
    const T scale = K(0x1.715476p0f, 0x1.71547652b82fep0);
    C y = FN(log)(z);

    return FN(make)(RE(y) * scale, IM(y) * scale);
}

DPM_INLINE C FN(log10)(C z)
{
    const T scale = K(0x1.bcb7b2p-2f, 0x1.bcb7b1526e50ep-2);
    C y = FN(log)(z);

    return FN(make)(RE(y) * scale, IM(y) * scale);
}

/* Return exp(z) with infinities and NaN as in annex G, unlike exp_of(); pow() needs them. */
DPM_INLINE C FN(power_of_e)(C z)
{
    T x = RE(z), y = IM(z), size = RN(exp)(x);
    T re = size * RN(cos)(y), im = RN(pick)(y == 0, y, size * RN(sin)(y));

    re = RN(pick)(RN(abs)(x) == INF, RN(pick)(FN(finite)(y), re, size), re);
    im = RN(pick)(x == -INF, RN(pick)(FN(finite)(y), im, 0), im);
    return FN(make)(re, im);
}

DPM_INLINE C FN(pow)(C x, C y)
{
    return FN(power_of_e)(FN(times)(y, FN(log)(x)));
}

DPM_INLINE C FN(sqrt)(C z)
{
    T x = RE(z), y = IM(z), a = RN(abs)(x), b = RN(abs)(y), most = RN(pick)(a > b, a, b);
    T scale = RN(pick)(most > K(0x1p100f, 0x1p1000), (T)0.0625,
                       RN(pick)(most < K(0x1p-100f, 0x1p-900), K(0x1p50f, 0x1p200), 1));
    T back = RN(pick)(scale == 1, 1, RN(pick)(scale < 1, 4, K(0x1p-25f, 0x1p-100)));
    T u = a * scale, t = SQRT((T)0.5 * (u + RN(hypot)(u, b * scale)));
    T minor = RN(pick)(a + b == 0, 0, b * scale / (2 * t)) * back;

    t *= back;
    t = RN(pick)(a == INF, INF, t);
    minor = RN(pick)(a == INF, RN(pick)(b < INF, 0, b), minor);
    T re = RN(pick)(x < 0, minor, t), im = RN(pick)(x < 0, t, minor);
    re = RN(pick)(b == INF, INF, re);
    im = RN(pick)(b == INF, INF, im);
    return FN(make)(re, RN(sign)(im, y));
}

/* -- circular and hyperbolic functions; sinh and tanh swap the parts of z, call sin or tan, and
 * swap the parts of the result -- */

DPM_INLINE C FN(sin_of)(C z, bool near)
{
    T x = RE(z), y = IM(z), s = FN(sine)(x, near), c = FN(cosine)(x, near);
    T re = s * RN(cosh)(y), im = c * RN(sinh)(y);

    re = RN(pick)(x == 0, x, re);
    im = RN(pick)(y == 0, RN(pick)(FN(finite)(x), im, y), im);
    im = RN(pick)(RN(abs)(y) == INF, RN(pick)(FN(finite)(x), im, INF), im);
    return FN(make)(re, im);
}
VARIANTS(sin)

DPM_INLINE C FN(cos_of)(C z, bool near)
{
    T x = RE(z), y = IM(z), s = FN(sine)(x, near), c = FN(cosine)(x, near);
    T re = c * RN(cosh)(y), im = -s * RN(sinh)(y),
      zero = -RN(sign)(x, RN(sign)(1, x) * RN(sign)(1, y));

    re = RN(pick)(RN(abs)(y) == INF, RN(pick)(FN(finite)(x), re, INF), re);
    im = RN(pick)(y == 0, RN(pick)(FN(finite)(x), im, 0), im);
    return FN(make)(re, RN(pick)(x == 0, RN(pick)(y == y, zero, x), im));
}
VARIANTS(cos)

/* The parts are sin x cos x / (cos^2 x + sinh^2 y) and sinh y cosh y / (cos^2 x + sinh^2 y).  For
 * large |y| they are 4 sin x cos x / e^(2 |y|) and 1 with the sign of y. */
DPM_INLINE C FN(tan_of)(C z, bool near)
{
    const T much = K(10, 20);
    T x = RE(z), y = IM(z), a = RN(abs)(y), s = FN(sine)(x, near), c = FN(cosine)(x, near);
    T h = RN(sinh)(y), d = RN(fma)(h, h, c * c);
    T re = RN(pick)(a > much, 4 * s * c * RN(exp)(-2 * a), s * c / d);
    T im = RN(pick)(a > much, RN(sign)(1, y), h * RN(cosh)(y) / d);

    re = RN(pick)(x == 0, x, re);
    re = RN(pick)(a == INF, RN(pick)(FN(finite)(x), re, RN(sign)(0, x)), re);
    im = RN(pick)(y == 0, y, RN(pick)(FN(finite)(x), im, RN(pick)(a == INF, im, x - x)));
    return FN(make)(re, im);
}
VARIANTS(tan)

#define SWAPPED(name, of)                                                                          \
    DPM_INLINE C FN(name)(C z)                                                                     \
    {                                                                                              \
        return FN(swap)(FN(of)(FN(swap)(z)));                                                      \
    }
SWAPPED(sinh, sin)
SWAPPED(sinh_near, sin_near)
SWAPPED(tanh, tan)
SWAPPED(tanh_near, tan_near)

/* cosh(a + b i) = cos(b - a i) */
DPM_INLINE C FN(cosh)(C z)
{
    return FN(cos)(FN(make)(IM(z), -RE(z)));
}

DPM_INLINE C FN(cosh_near)(C z)
{
    return FN(cos_near)(FN(make)(IM(z), -RE(z)));
}

/* -- inverse functions.  Source: Kahan, "Branch cuts for complex elementary functions", 1987. -- */

/* If x is infinite, the real part is atan2(x, |y|), because the expression of p and q would be
 * NaN. */
DPM_INLINE C FN(asin)(C z)
{
    T x = RE(z), y = IM(z), a = RN(abs)(x), b = RN(abs)(y);
    C p = FN(sqrt)(FN(make)(1 - x, -y)), q = FN(sqrt)(FN(make)(1 + x, y));
    T re = RN(atan2)(x, RN(pick)(a < INF, RE(p) * RE(q) - IM(p) * IM(q), b));
    T im = RN(asinh)(RE(p) * IM(q) - IM(p) * RE(q));

    return FN(make)(RN(pick)(x == 0, x, re), RN(pick)(a == INF, RN(sign)(INF, y), im));
}
SWAPPED(asinh, asin)

DPM_INLINE C FN(acos)(C z)
{
    const T right = K(0x1.921fb6p0f, 0x1.921fb54442d18p0);
    T x = RE(z), y = IM(z), a = RN(abs)(x), b = RN(abs)(y);
    C p = FN(sqrt)(FN(make)(1 - x, -y)), q = FN(sqrt)(FN(make)(1 + x, y));
    T re = RN(atan2)(RN(pick)(b == INF, b, RE(p)), RN(pick)(b == INF, x, RE(q)));
    T im = RN(asinh)(RE(q) * IM(p) - IM(q) * RE(p));

    re *= RN(pick)(b == INF, 1, 2);
    return FN(make)(RN(pick)(x == 0, right, re), RN(pick)(a == INF, RN(sign)(INF, -y), im));
}

DPM_INLINE C FN(acosh)(C z)
{
    C w = FN(acos)(z);

    return FN(make)(RN(abs)(IM(w)), RN(sign)(RE(w), IM(z)));
}

/* The real part has the sign of x and the magnitude ln(1 + 4 |x| / e) / 4, where e is the square of
 * the distance of z from 1 or -1, whichever is nearer.  If e is tiny, the magnitude is -ln(distance
 * / 2) / 2 instead.  For a large z, the real part is that of 1 / z, and the imaginary part is pi /
 * 2 with the sign of y. */
DPM_INLINE C FN(atanh)(C z)
{
    const T much = K(0x1p30f, 0x1p60), little = K(0x1p-40f, 0x1p-400);
    const T right = K(0x1.921fb6p0f, 0x1.921fb54442d18p0);
    T x = RE(z), y = IM(z), a = RN(abs)(x), b = RN(abs)(y), d = 1 - a, e = RN(fma)(d, d, y * y);
    T re = (T)0.25 * RN(log1p)(4 * a / e), im = (T)0.5 * RN(atan2)(2 * y, d * (1 + a) - y * y);
    T most = RN(pick)(a > b, a, b), size = RN(hypot)(x, y);

    re = RN(pick)(e < little, (T)-0.5 * RN(log)((T)0.5 * RN(hypot)(d, y)), re);
    re = RN(pick)(most > much, a / size / size, re);
    re = RN(pick)(a == INF, 0, RN(pick)(b == INF, 0, re));
    im = RN(pick)(most > much, RN(pick)(x == x, RN(sign)(right, y), x), im);
    im = RN(pick)(b == INF, RN(sign)(right, y), RN(pick)(y == y, im, y));
    return FN(make)(RN(pick)(x == 0, x, RN(sign)(re, x)), im);
}
SWAPPED(atan, atanh)

#undef C
#undef INF
#undef LN2
#undef RE
#undef IM
#undef SQRT
#undef VARIANTS
#undef SWAPPED
