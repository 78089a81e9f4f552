/* special_of_type.h -- special functions in the type of their argument.  special_typed.c includes
 * it for float and double, with SF_T the type, SF(name) and SF_F(name) the names of the plugin's
 * and of the C library's functions for it. */

/* Return psi(x): NaN at negative integers, -inf at +0, +inf at -0.  A positive x is increased to 10
 * by psi(x) = psi(x + 1) - 1 / x, and then the asymptotic series is used; a negative x is
 * reflected. */
SF_T SF(sf_digamma)(SF_T x)
{
    static const SF_T c[] = {1. / 12,  -1. / 120,     1. / 252, -1. / 240,
                             1. / 132, -691. / 32760, 1. / 12};
    SF_T shift = 0;

    if (x == 0)
        return SF_F(copysign)(INFINITY, -x);
    if (x < 0) {
        SF_T whole, part = SF_F(modf)(x, &whole);
        if (part == 0)
            return NAN;
        shift = (SF_T)(-M_PI / tan(M_PI * (double)part));
        x = 1 - x;
    }
    for (; x < 10; x++)
        shift -= 1 / x;
    SF_T square = 1 / (x * x), power = square, sum = 0;
    for (int k = 0; k < 7 && x < (SF_T)1e17; k++, power *= square)
        sum += c[k] * power;
    return SF_F(log)(x) - (SF_T)0.5 / x - sum + shift;
}

/* Return trigamma(x) by six recurrence steps upwards, and then the asymptotic series; x < 1/2 is
 * reflected. */
SF_T SF(sf_trigamma)(SF_T x)
{
    SF_T sign = 1, sum = 0, s;

    if (x < (SF_T)0.5) {
        sign = -1;
        s = SF_F(sin)((SF_T)M_PI * x);
        sum -= (SF_T)M_PI * (SF_T)M_PI / (s * s);
        x = 1 - x;
    }
    for (int i = 0; i < 6; i++, x += 1)
        sum += 1 / (x * x);
    s = 1 / (x * x);
    return sign * (sum + (1 + 1 / (2 * x) +
                          s * ((SF_T)(1. / 6) - s * ((SF_T)(1. / 30) - s * (SF_T)(1. / 42)))) /
                             x);
}
