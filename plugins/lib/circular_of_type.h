/* circular_of_type.h -- sin, cos, tan, their inverse functions and atan2 for one type (float or
 * double): a part of math_of_type.h, which includes this header and explains T, U, FN() and K(). */

#define PI    K(0x1.921fb6p1f, 0x1.921fb54442d18p1)
#define TURNS K(0x1.45f306p-1f, 0x1.45f306dc9c883p-1) /* 2 / pi: quarter turns per radian */
/* pi / 2 = TURN_HIGH + TURN_MID + TURN_LOW */
#define TURN_HIGH K(0x1.921fb6p0f, 0x1.921fb54442d18p0)
#define TURN_MID  K(-0x1.777a5cp-25f, 0x1.1a62633145c07p-54)
#define TURN_LOW  K(-0x1.ee59dap-50f, -0x1.f1976b7ed8fbcp-110)

/* sin_near, cos_near and tan_near accept only infinities, NaN and x with |x| <= DPM_NEAR_F32
 * (float) or DPM_NEAR_F64 (double).  sin, cos and tan accept every x, but have a branch, so their
 * loops are not vectorized.  A loop therefore first calls far() for each element of a block; if
 * far() is 0 for all of them, the loop calls the _near variant for the block.  Both variants give
 * the same bits. */

/* Return a - n k pi / 2, for k = 1 or 2, where n k is an integer.  The first of the three fma() is
 * exact. */
DPM_INLINE T FN(reduced)(T a, T n, T k)
{
    T r = FN(fma)(n, -k * TURN_HIGH, a);

    return FN(fma)(n, -k * TURN_LOW, FN(fma)(n, -k * TURN_MID, r));
}

/* Return sin(r), for |r| <= pi / 2. */
DPM_INLINE T FN(sin_part)(T r)
{
    T s = r * r;
    T q = POLY(s, (0x1.5da6fep-19f, -0x1.9f6f18p-13f, 0x1.110ed4p-7f, -0x1.55554cp-3f),
               (0x1.8816c96e2ba89p-49, -0x1.ae4289e2ed0fdp-41, 0x1.6123c9855b467p-33,
                -0x1.ae6454c7bdf4dp-26, 0x1.71de3a5288699p-19, -0x1.a01a01a014a96p-13,
                0x1.11111111110c6p-7, -0x1.5555555555555p-3));

    return FN(fma)(r * s, q, r);
}

/* Return `y` with the sign of sin after `turns` half turns: the sign changes if `turns` is odd. */
DPM_INLINE T FN(sign_of_turns)(T y, U turns)
{
    return FN(real)(FN(bits)(y) ^ (turns << (BITS - 1)));
}

/* Return sin(r + turns pi / 2), for |r| <= pi / 4. */
DPM_INLINE T FN(sin_of)(T r, U turns)
{
    T y = FN(sin_part)(turns & 1 ? PI / 2 - FN(abs)(r) : r);

    return FN(sign_of_turns)(y, turns >> 1);
}

/* Return tan(r + turns pi / 2), for |r| <= pi / 4, using tan(r) = r (1 + s p) / (1 + s q), where s
 * = r^2. */
DPM_INLINE T FN(tan_of)(T r, U turns)
{
    T s = r * r;
    T p = POLY(s, (-0x1.885522p-4f),
               (-0x1.f630705f3c17cp-18, 0x1.6fc5806bc966dp-9, -0x1.06b946724602ep-3));
    T q = POLY(s, (0x1.3e31f0p-7f, -0x1.b76acp-2f),
               (-0x1.b52242e590b07p-13, 0x1.7e7aaa7cc371bp-6, -0x1.d8b1f88e78547p-2));
    T sine = FN(fma)(r * s, p, r), cosine = FN(fma)(s, q, 1);

    return FN(pick_odd)(turns, -cosine, sine) / FN(pick_odd)(turns, sine, cosine);
}

DPM_INLINE T FN(sin_near)(T x)
{
    T a = FN(abs)(x), z = FN(fma)(a, TURNS / 2, ROUND);
    T y = FN(sign_of_turns)(FN(sin_part)(FN(reduced)(a, z - ROUND, 2)), FN(bits)(z));

    return FN(real)(FN(bits)(y) ^ (FN(bits)(x) & TOP));
}

/* cos(x) = sin(|x| + pi / 2); the last bits of `z` are the number of half turns in |x| + pi / 2,
 * rounded to an integer. */
DPM_INLINE T FN(cos_near)(T x)
{
    T a = FN(abs)(x), z = FN(fma)(a, TURNS / 2, (T)0.5) + ROUND;

    return FN(sign_of_turns)(FN(sin_part)(FN(reduced)(a, z - ROUND - (T)0.5, 2)), FN(bits)(z));
}

DPM_INLINE T FN(tan_near)(T x)
{
    T a = FN(abs)(x), z = FN(fma)(a, TURNS, ROUND);
    T y = FN(tan_of)(FN(reduced)(a, z - ROUND, 1), FN(bits)(z));

    return FN(real)(FN(bits)(y) ^ (FN(bits)(x) & TOP));
}

/* Return 1 if |x| is larger than DPM_NEAR_F32 (float) or DPM_NEAR_F64 (double), or if `x` is
 * infinite or NaN; otherwise 0. */
DPM_INLINE U FN(far)(T x)
{
    return (FN(bits)(K(DPM_NEAR_F32, DPM_NEAR_F64)) - (FN(bits)(x) & ~TOP)) >> (BITS - 1);
}

DPM_INLINE T FN(sin)(T x)
{
    double r;

    if (!FN(far)(x) || !(FN(abs)(x) < INF))
        return FN(sin_near)(x);
    U turns = dpm_turns(FN(abs)(x), &r);
    T y = FN(sin_of)((T)r, turns);
    return x < 0 ? -y : y;
}

DPM_INLINE T FN(cos)(T x)
{
    double r;

    if (!FN(far)(x) || !(FN(abs)(x) < INF))
        return FN(cos_near)(x);
    U turns = dpm_turns(FN(abs)(x), &r);
    return FN(sin_of)((T)r, turns + 1);
}

DPM_INLINE T FN(tan)(T x)
{
    double r;

    if (!FN(far)(x) || !(FN(abs)(x) < INF))
        return FN(tan_near)(x);
    U turns = dpm_turns(FN(abs)(x), &r);
    T y = FN(tan_of)((T)r, turns);
    return x < 0 ? -y : y;
}

/* -- inverse functions -- */

/* Return atan(num / den), for 0 <= num <= den, by a polynomial of num / den. */
DPM_INLINE T FN(atan_short)(T num, T den)
{
    T t = num / den, s = t * t;
    T q = POLY_(s, 0x1.7ec1c4p-9f, -0x1.0c23fep-6f, 0x1.61f756p-5f, -0x1.3553f4p-4f, 0x1.b4dfdcp-4f,
                -0x1.230abp-3f, 0x1.9978eep-3f, -0x1.5554dcp-2f);

    return FN(fma)(t * s, q, t);
}

/* Like atan_short(); but if the result is nearer to pi / 4 than to 0, the polynomial gives only its
 * difference from pi / 4.  This halves the number of terms, which is faster only for double. */
DPM_INLINE T FN(atan_long)(T num, T den)
{
    bool high = num > 0x1.a827999fcef32p-2 * den; /* tan(pi / 8) */
    T numerator = FN(pick)(high, num - den, num), denominator = FN(pick)(high, num + den, den);
    T base = FN(pick)(high, PI / 4, 0), t = numerator / denominator, s = t * t;
    T q = POLY_(s, 0x1.5c508c92e3b76p-6, -0x1.65182ec74284fp-5, 0x1.d254f914770bep-5,
                -0x1.10052ecccee1dp-4, 0x1.3afc355b0713ap-4, -0x1.745bc32fe3399p-4,
                0x1.c71c65cf94603p-4, -0x1.249249057d16dp-3, 0x1.999999994974fp-3,
                -0x1.5555555555318p-2);

    return base + FN(fma)(t * s, q, t);
}

DPM_INLINE T FN(atan_part)(T num, T den)
{
    return K(FN(atan_short), FN(atan_long))(num, den);
}

DPM_INLINE T FN(atan)(T x)
{
    T a = FN(abs)(x), y = FN(atan_part)(FN(pick)(a > 1, 1, a), FN(pick)(a > 1, a, 1));

    return FN(sign)(FN(pick)(a > 1, PI / 2 - y, y), x);
}

DPM_INLINE T FN(atan2)(T y, T x)
{
    T a = FN(abs)(x), b = FN(abs)(y), num = FN(pick)(b > a, a, b), den = FN(pick)(b > a, b, a);
    T scale = K(1, FN(pick)(den > 0x1p1000, 0x1p-10, 1)); /* otherwise num + den may overflow */
    T t = FN(atan_part)(scale * num, scale * den);

    t = FN(pick)(num == den, FN(pick)(den == 0, 0, PI / 4), t);
    t = FN(pick)(b > a, PI / 2 - t, t);
    t = FN(pick)(FN(sign)(1, x) < 0, PI - t, t);
    return FN(pick)(x == x && y == y, FN(sign)(t, y), x + y);
}

/* Return q, where asin(r) = r + r z q, for z = r^2 <= 1/4. */
DPM_INLINE T FN(asin_part)(T z)
{
    return POLY(z, (0x1.3a0c6ap-5f, 0x1.b10824p-6f, 0x1.70cf0ap-5f, 0x1.332634p-4f, 0x1.55555ep-3f),
                (0x1.d1edc86c2a6fap-6, -0x1.6c52c0059f8eep-7, 0x1.0a50beb35ea96p-6,
                 0x1.fa8e4e2fcd21ap-8, 0x1.85a38239b75cdp-7, 0x1.c86122438f154p-7,
                 0x1.1c59fb6820df3p-6, 0x1.6e8b20e731084p-6, 0x1.f1c71fe93f41cp-6,
                 0x1.6db6db6798c18p-5, 0x1.333333333775dp-4, 0x1.555555555554dp-3));
}

DPM_INLINE T FN(asin)(T x)
{
    T a = FN(abs)(x), z = FN(pick)(a > (T)0.5, (1 - a) / 2, x * x);
    T r = FN(pick)(a > (T)0.5, K(sqrtf, sqrt)(z), a), y = FN(fma)(r * z, FN(asin_part)(z), r);

    return FN(sign)(FN(pick)(a > (T)0.5, FN(fma)(-2, y, PI / 2), y), x);
}

DPM_INLINE T FN(acos)(T x)
{
    T a = FN(abs)(x), z = FN(pick)(a > (T)0.5, (1 - a) / 2, x * x);
    T r = FN(pick)(a > (T)0.5, K(sqrtf, sqrt)(z), a), y = FN(fma)(r * z, FN(asin_part)(z), r);
    T outer = FN(pick)(x < 0, FN(fma)(-2, y, PI), 2 * y);

    return FN(pick)(a > (T)0.5, outer, PI / 2 - FN(sign)(y, x));
}

#undef PI
#undef TURNS
#undef TURN_HIGH
#undef TURN_MID
#undef TURN_LOW
