/* math_of_type.h -- math.h's functions for one type.  T is float or double, U the unsigned integer
 * of its size, FN(name) the name of T's function, K(s, d) s for float and d for double. */

#define DIGITS K(23, 52)                /* stored digits of a significand */
#define BIAS   (((U)1 << K(7, 10)) - 1) /* of an exponent */
#define INF    ((T)INFINITY)
#define ROUND                                                                                      \
    K(0x1.8p23f, 0x1.8p52) /* adding it rounds to an integer, which the last digits hold */
#define LN2_HIGH K(0x1.62e43p-1f, 0x1.62e42fefa39efp-1) /* ln 2 = LN2_HIGH + LN2_LOW */
#define LN2_LOW  K(-0x1.05c61p-29f, 0x1.abc9e3b39803fp-56)
#define LOG2_E   K(0x1.715476p0f, 0x1.71547652b82fep0)

/* The polynomial of x with these coefficients, the highest first: (for float), (for double). */
#define POLY(x, s, d) K(POLY_(x, UNPACK s), POLY_(x, UNPACK d))
#define POLY_(x, ...)                                                                              \
    FN(poly)(x, (const T[]){__VA_ARGS__}, sizeof((const T[]){__VA_ARGS__}) / sizeof(T))
#define UNPACK(...) __VA_ARGS__

/* A long polynomial is two of x^2, which do not wait for each other. */
DPM_INLINE T FN(poly)(T x, const T *c, size_t n)
{
    const size_t chains = n < 9 ? 1 : 2;
    T step = n < 9 ? x : x * x, sum[2];

    DPM_UNROLL
    for (size_t i = 0; i < n; i++) {
        size_t k = (n - 1 - i) % chains;
        sum[k] = i < chains ? c[i] : FN(fma)(sum[k], step, c[i]);
    }
    return chains == 1 ? sum[0] : FN(fma)(sum[1], x, sum[0]);
}

DPM_INLINE T FN(pick)(bool c, T a, T b)
{
    return c ? a : b;
}

DPM_INLINE T FN(abs)(T x)
{
    return FN(real)(FN(bits)(x) & ((U)-1 >> 1));
}

/* x's magnitude with y's sign. */
DPM_INLINE T FN(sign)(T x, T y)
{
    U top = ~((U)-1 >> 1);

    return FN(real)((FN(bits)(x) & ~top) | (FN(bits)(y) & top));
}

/* Where a polynomial does not hold, it is computed all the same and not picked.  Clamping x instead
 * makes gcc compute everything twice, for x and for the bound. */

/* -- exponentials: x = n ln 2 + r, exp(x) = 2^n exp(r), |r| <= ln 2 / 2 -- */

/* exp(r) = 1 + r + r^2 q: q, and r.  *turns: n in the last digits of the sum with ROUND. */
DPM_INLINE T FN(exp_part)(T x, T *r, T *turns)
{
    T z = FN(fma)(x, LOG2_E, ROUND), n = z - ROUND;

    *turns = z;
    *r = FN(fma)(n, -LN2_LOW, FN(fma)(n, -LN2_HIGH, x));
    return POLY(*r, (0x1.6d4ea6p-10f, 0x1.120c8ep-7f, 0x1.5554e8p-5f, 0x1.5554dcp-3f, 0x1p-1f),
                (0x1.1f874c40c69f1p-29, 0x1.af4fa8861b838p-26, 0x1.27e4cf81308abp-22,
                 0x1.71de014b13816p-19, 0x1.a01a01aba7113p-16, 0x1.a01a01ac3868fp-13,
                 0x1.6c16c16c1568ep-10, 0x1.111111111002fp-7, 0x1.5555555555557p-5,
                 0x1.5555555555557p-3, 0x1p-1));
}

/* 2^(n + k); it is normal. */
DPM_INLINE T FN(exp_scale)(T turns, int k)
{
    return FN(real)((FN(bits)(turns) << DIGITS) + ((BIAS + (U)k) << DIGITS));
}

DPM_INLINE T FN(exp)(T x)
{
    const T most = K(0x1.62e42ep6f, 0x1.62e42fefa39efp9);
    const T least = K(-104, -746); /* from there down, exp is 0 */
    T z, r, q = FN(exp_part)(FN(real)(FN(lesser)(FN(bits)(x), FN(bits)(least))), &r, &z);
    U n = FN(bits)(z), half = n >> 1;
    T y = FN(fma)(FN(fma)(q, r, 1), r, 1);

    y = y * FN(real)((half + BIAS) << DIGITS) * FN(real)((n - half + BIAS) << DIGITS);
    return FN(pick)(x <= most, y, x + INF);
}

/* (exp(x) - 1) / 4 for |x| >= TINY: a quarter, since sinh's exp(x) may not fit. */
DPM_INLINE T FN(expm1_quarter)(T x)
{
    T z, r, q = FN(exp_part)(x, &r, &z), s = FN(exp_scale)(z, -2);

    return FN(fma)(s, FN(fma)(r * r, q, r), s - (T)0.25);
}

DPM_INLINE T FN(expm1)(T x)
{
    const T least = K(-20, -40), most = K(0x1.62e42ep6f, 0x1.62e42fefa39efp9);
    T y = FN(pick)(x < least, -1, 4 * FN(expm1_quarter)(x));

    y = FN(pick)(FN(abs)(x) < K(0x1p-30f, 0x1p-60), x, y);
    return FN(pick)(x <= most, y, x + INF);
}

DPM_INLINE T FN(sigmoid)(T x)
{
    T e = FN(exp)(-FN(abs)(x));

    return FN(pick)(x < 0, e, 1) / (1 + e);
}

DPM_INLINE T FN(tanh)(T x)
{
    const T most = K(10, 20);
    T a = FN(abs)(x), e = FN(expm1_quarter)(2 * a), y = FN(pick)(a > most, 1, e / (e + (T)0.5));

    return FN(pick)(a < K(0x1p-30f, 0x1p-60), x, FN(sign)(y, x));
}

/* -- logarithms: x = 2^n (1 + f), |f| <= 1/3 -- */

/* ln(1 + f) = f + f^2 q: q. */
DPM_INLINE T FN(log_part)(T f)
{
    return POLY(
        f,
        (-0x1.087f8ap-3f, 0x1.19b5d4p-3f, -0x1.f306eap-4f, 0x1.1fd5ecp-3f, -0x1.559bf6p-3f,
         0x1.99bfe6p-3f, -0x1.ffff0cp-3f, 0x1.55552cp-2f, -0x1p-1f),
        (0x1.5d69a92ab2606p-4, -0x1.5b52eb229a7fbp-4, 0x1.551b15082d65dp-5, -0x1.7ccbe63bef428p-5,
         0x1.efdd093519785p-5, -0x1.051c219a946e8p-4, 0x1.1069ae4b5b878p-4, -0x1.24279144e94dep-4,
         0x1.3b1d8300adc55p-4, -0x1.555aad00e9a49p-4, 0x1.745cbb0467e1cp-4, -0x1.999970135d356p-4,
         0x1.c71c73d08a351p-4, -0x1.0000005caa17bp-3, 0x1.24924921665fep-3, -0x1.5555555482558p-3,
         0x1.999999999e247p-3, -0x1.00000000005efp-2, 0x1.5555555555546p-2, -0x1.fffffffffffffp-2));
}

/* f and n of a positive finite x; n - less if x was multiplied by 2^less. */
DPM_INLINE T FN(log_split)(T x, T *n, T less)
{
    const U low = K(0x3f2aaaab, 0x3fe5555555555555); /* 2/3 */
    U u = FN(bits)(x) - low + (BIAS << DIGITS);
    U m = (u & (((U)1 << DIGITS) - 1)) + low;
    const T grid = K(0x1p23f, 0x1p52);

    *n = FN(real)((u >> DIGITS) | FN(bits)(grid)) - (grid + BIAS + less);
    return FN(real)(m) - 1;
}

/* y is a function's value for 0 < x < infinity; the rest as for logarithms. */
DPM_INLINE T FN(log_ends)(T x, T y)
{
    T low = FN(pick)(x == 0, -INF, (T)NAN);

    return FN(pick)(x > 0, FN(pick)(x < INF, y, x), low);
}

DPM_INLINE T FN(log)(T x)
{
    const T least = K(FLT_MIN, DBL_MIN);
    T n, f = FN(log_split)(FN(pick)(x < least, x * K(0x1p25f, 0x1p54), x), &n,
                           FN(pick)(x < least, K(25, 54), 0));
    T y = FN(fma)(f * f, FN(log_part)(f), n * LN2_LOW);

    return FN(log_ends)(x, FN(fma)(n, LN2_HIGH, f + y));
}

/* -- erf -- */

/* ln(1 - erf(a)) for a between 1 and where erf is 1. */
DPM_INLINE T FN(erf_part)(T a)
{
    return a * POLY(a,
                    (-0x1.4c5dfep-17f, 0x1.45bddcp-12f, -0x1.d781dp-9f, 0x1.83e418p-6f,
                     -0x1.b2c4ecp-4f, -0x1.45393p-1f, -0x1.20ee5ep0f),
                    (0x1.d854cc543fa5ap-40, -0x1.43af6ae84cda6p-34, 0x1.9fc5852b4986ep-30,
                     -0x1.4c5a3ed4e54a1p-26, 0x1.71ee145a22bf3p-23, -0x1.2f35a1321f0dbp-20,
                     0x1.77f31cdb993efp-18, -0x1.6150d9cb43f34p-16, 0x1.e5472747ae2bcp-15,
                     -0x1.9fd1938183081p-14, 0x1.c7115905fe603p-18, 0x1.297e39e79bb78p-11,
                     -0x1.b9e05effbd54cp-10, 0x1.b1f4a660c6bb1p-13, 0x1.3963677867a7ap-6,
                     -0x1.a4f415dedd625p-4, -0x1.45f30f38d372cp-1, -0x1.20dd747bc4026p0));
}

DPM_INLINE T FN(erf)(T x)
{
    const T most = K(4.1f, 6), slope = K(0x1.20dd76p0f, 0x1.20dd750429b6dp0); /* 2 / sqrt(pi) */
    T a = FN(abs)(x);
    T q = POLY(x * x,
               (-0x1.373d26p-11f, 0x1.46956p-8f, -0x1.b6721p-6f, 0x1.ce18fep-4f, -0x1.8126ep-2f,
                0x1.06eba6p-3f),
               (-0x1.ac1a419759674p-31, 0x1.d73d744d741c6p-27, -0x1.5c0bc31311077p-23,
                0x1.b9807f2338cf2p-20, -0x1.f4ca5bb28570dp-17, 0x1.f9a2bb4bba0e5p-14,
                -0x1.c02db03ff6859p-11, 0x1.565bccf908894p-8, -0x1.b82ce311f7069p-6,
                0x1.ce2f21a040b02p-4, -0x1.812746b0379b5p-2, 0x1.06eba8214db68p-3));
    T near = FN(pick)(a < K(0x1p-30f, 0x1p-60), x * slope, FN(fma)(q, x, x));
    T far = FN(pick)(a > most, 1, -4 * FN(expm1_quarter)(FN(erf_part)(a)));

    return FN(pick)(a > K(0.93f, 1), FN(sign)(far, x), near);
}

#undef DIGITS
#undef BIAS
#undef INF
#undef ROUND
#undef LN2_HIGH
#undef LN2_LOW
#undef LOG2_E
#undef POLY
#undef POLY_
#undef UNPACK
