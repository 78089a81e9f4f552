/* loops/special_of_type.h -- special functions in the width of their argument; special.h includes it for
 * float and double, with SF_T the type, SF(name) and SF_F(name) the names of ours and of the C library's
 * functions for it, SF_EPSILON. */

/* psi: upwards to 10 by psi(x) = psi(x + 1) - 1 / x, from there its asymptotic series; below 0 by
 * reflection.  NaN at negative integers, -+inf at +-0. */
static inline SF_T SF(digamma)(SF_T x)
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
    return SF_F(log)(x) - 0.5 / x - sum + shift;
}

/* Hurwitz: 9 terms, then Euler and Maclaurin's.  x > 1; q <= 0 only where it has a value. */
static inline SF_T SF(zeta)(SF_T x, SF_T q)
{
    static const SF_T f[] = {12.0,
                             -720.0,
                             30240.0,
                             -1209600.0,
                             47900160.0, /* (2k)! / B2k */
                             -1.8924375803183791606e9,
                             7.47242496e10,
                             -2.950130727918164224e12,
                             1.1646782814350067249e14,
                             -4.5979787224074726105e15,
                             1.8152105401943546773e17,
                             -7.1661652561756670113e18};
    SF_T sum, a = q, b = 0, k = 0, t;
    int i = 0;

    if (x == 1)
        return INFINITY;
    if (x < 1 || x != x || q != q)
        return NAN;
    if (q <= 0) {
        if (q == SF_F(floor)(q))
            return INFINITY;
        if (x != SF_F(floor)(x) || q < -SF_STEPS_MAX)
            return NAN;
    }
    for (sum = SF_F(pow)(q, -x); i < 9 || a <= 9; i++) {
        a += 1;
        b = SF_F(pow)(a, -x);
        sum += b;
        if (SF_F(fabs)(b) < SF_EPSILON / 2 * SF_F(fabs)(sum))
            return sum;
    }
    sum += b * a / (x - 1) - 0.5 * b;
    for (SF_T factor = 1, j = 0; j < 12; j++) {
        factor *= x + k;
        b /= a;
        t = factor * b / f[(int)j];
        sum += t;
        if (SF_F(fabs)(t / sum) < SF_EPSILON / 2)
            break;
        k += 1;
        factor *= x + k;
        b /= a;
        k += 1;
    }
    return sum;
}

/* Six steps upwards, then its asymptotic series; below 1/2 by reflection. */
static inline SF_T SF(trigamma)(SF_T x)
{
    SF_T sign = 1, sum = 0, s;

    if (x < (SF_T)0.5) {
        sign = -1;
        s = SF_F(sin)((SF_T)M_PI * x);
        sum -= (SF_T)(M_PI * M_PI) / (s * s);
        x = 1 - x;
    }
    for (int i = 0; i < 6; i++, x += 1)
        sum += 1 / (x * x);
    s = 1 / (x * x);
    return sign * (sum + (1 + 1 / (2 * x) +
                          s * ((SF_T)(1. / 6) - s * ((SF_T)(1. / 30) - s * (SF_T)(1. / 42)))) /
                             x);
}

static inline SF_T SF(polygamma)(int64_t n, SF_T x)
{
    if (n == 0)
        return SF(digamma)(x);
    if (n == 1)
        return SF(trigamma)(x);
    SF_T size = SF_F(exp)((SF_T)sf_lgamma((SF_T)n + 1)) * SF(zeta)((SF_T)n + 1, x);
    return n % 2 ? size : -size;
}

/* -- orthogonal polynomials: p_0 = 1, p_1 = first, p_k+1 = 2 x p_k - p_k-1 -- */

static inline SF_T SF(chebyshev)(SF_T x, SF_T first, int64_t n)
{
    SF_T p = 1, q = first, r;

    if (n <= 0 || n > SF_DEGREE_MAX)
        return n == 0;
    for (int64_t k = 1; k < n && q == q; k++, p = q, q = r)
        r = 2 * x * q - p;
    return q;
}

static inline SF_T SF(hermite_h)(SF_T x, int64_t n)
{
    SF_T p = 1, q = 2 * x, r;

    if (n <= 0 || n > SF_DEGREE_MAX)
        return n == 0;
    for (int64_t k = 1; k < n && q == q; k++, p = q, q = r)
        r = 2 * x * q - 2 * (SF_T)k * p;
    return q;
}

static inline SF_T SF(hermite_he)(SF_T x, int64_t n)
{
    SF_T p = 1, q = x, r;

    if (n <= 0 || n > SF_DEGREE_MAX)
        return n == 0;
    for (int64_t k = 1; k < n && q == q; k++, p = q, q = r)
        r = x * q - (SF_T)k * p;
    return q;
}

static inline SF_T SF(laguerre)(SF_T x, int64_t n)
{
    SF_T p = 1, q = 1 - x, r;

    if (n <= 0 || n > SF_DEGREE_MAX)
        return n == 0;
    for (int64_t k = 1; k < n && q == q; k++, p = q, q = r)
        r = (((SF_T)(2 * k + 1) - x) * q - (SF_T)k * p) / (SF_T)(k + 1);
    return q;
}

static inline SF_T SF(legendre)(SF_T x, int64_t n)
{
    SF_T p = 1, q = x, r;

    if (n <= 0 || n > SF_DEGREE_MAX)
        return n == 0;
    for (int64_t k = 1; k < n && q == q; k++, p = q, q = r)
        r = ((SF_T)(2 * k + 1) * x * q - (SF_T)k * p) / (SF_T)(k + 1);
    return q;
}
