/* loops/polynomials_of_type.h -- orthogonal polynomials in the type of their argument.
 * polynomials.h includes it for float and double, with SF_T the type, SF(name) and SF_F(name) the
 * names of the plugin's and of the C library's functions for it.
 *
 * The recurrences run upwards from p_0 and p_1.  Steps are fused, as in PyTorch's kernels;
 * otherwise values near a root would differ.  A value that overflows becomes NaN and stays NaN,
 * which is checked every SF_STEPS steps. */

/* Return the value at 1, or with `negative` at -1, where it is the value of the mirrored family at
 * 1, negated for odd degrees. */
static SF_T SF(chebyshev_end)(int64_t n, sf_kind kind, int negative)
{
    sf_kind mirrored = kind == SF_THIRD ? SF_FOURTH : kind == SF_FOURTH ? SF_THIRD : kind;
    SF_T size = 1;

    kind = negative ? mirrored : kind;
    if (kind == SF_SECOND || kind == SF_FOURTH)
        size = (SF_T)((uint64_t)n * (kind == SF_FOURTH ? 2 : 1) + 1);
    return negative && n % 2 ? -size : size;
}

/* Return the value at x, -1 < x < 1, by cosines and sines. */
static SF_T SF(chebyshev_angle)(SF_T x, int64_t n, sf_kind kind)
{
    SF_T angle = SF_F(acos)(x), half = angle / 2, middle = ((SF_T)n + (SF_T)0.5) * angle;

    switch (kind) {
    case SF_FIRST:
        return SF_F(cos)((SF_T)n * angle);
    case SF_SECOND:
        return SF_F(sin)((SF_T)((uint64_t)n + 1) * angle) / SF_F(sin)(angle);
    case SF_THIRD:
        return SF_F(sin)(half) == 1 ? SF(chebyshev_end)(n, kind, 1)
                                    : SF_F(cos)(middle) / SF_F(cos)(half);
    default:
        return SF_F(cos)(half) == 1 ? SF(chebyshev_end)(n, kind, 0)
                                    : SF_F(sin)(middle) / SF_F(sin)(half);
    }
}

/* Return the value at x, 1 < |x| < 2, for degrees above SF_DEGREE_MAX.  A value that overflows is
 * NaN, because the recurrence, which smaller degrees use, subtracts two infinities. */
static SF_T SF(chebyshev_outside)(SF_T x, int64_t n, sf_kind kind)
{
    double t = acosh(fabs((double)x)), y;
    int negative = x < 0;

    if (negative && (kind == SF_THIRD || kind == SF_FOURTH))
        kind = kind == SF_THIRD ? SF_FOURTH : SF_THIRD;
    switch (kind) {
    case SF_FIRST:
        y = cosh((double)n * t);
        break;
    case SF_SECOND:
        y = sinh(((double)n + 1) * t) / sinh(t);
        break;
    case SF_THIRD:
        y = cosh(((double)n + 0.5) * t) / cosh(t / 2);
        break;
    default:
        y = sinh(((double)n + 0.5) * t) / sinh(t / 2);
    }
    return SF_F(fabs)((SF_T)y) == (SF_T)INFINITY ? (SF_T)NAN
           : negative && n % 2                   ? -(SF_T)y
                                                 : (SF_T)y;
}

static SF_T SF(sf_chebyshev)(SF_T x, int64_t n, sf_kind kind, int64_t angles)
{
    static const SF_T more[] = {[SF_THIRD] = -1, [SF_FOURTH] = 1};
    SF_T size = SF_F(fabs)(x), p = 1, q = kind == SF_FIRST ? x : 2 * x + more[kind], r;

    if (n < 0)
        return 0;
    if (size == 1)
        return SF(chebyshev_end)(n, kind, x < 0);
    if (n >= angles && size < 1)
        return SF(chebyshev_angle)(x, n, kind);
    if (n > SF_DEGREE_MAX && size < 2)
        return SF(chebyshev_outside)(x, n, kind);
    if (n == 0)
        return 1;
    for (int64_t k = 1; k < n && (k == 1 || q == q);)
        for (int64_t end = sf_end(k, n); k < end; k++, p = q, q = r)
            r = SF_F(fma)(2 * x, q, -p);
    return q;
}

/* Hermite polynomials overflow after a few hundred steps at any x, and then are NaN. */
static SF_T SF(sf_hermite_h)(SF_T x, int64_t n)
{
    SF_T p = 1, q = 2 * x, count = 2, r;

    if (n <= 0)
        return n == 0;
    for (int64_t k = 1; k < n && (k == 1 || q == q);)
        for (int64_t end = sf_end(k, n); k < end; k++, count += 2, p = q, q = r)
            r = SF_F(fma)(2 * x, q, -(count * p));
    return q;
}

static SF_T SF(sf_hermite_he)(SF_T x, int64_t n)
{
    SF_T p = 1, q = x, count = 1, r;

    if (n <= 0)
        return n == 0;
    for (int64_t k = 1; k < n && (k == 1 || q == q);)
        for (int64_t end = sf_end(k, n); k < end; k++, count++, p = q, q = r)
            r = SF_F(fma)(x, q, -(count * p));
    return q;
}

static SF_T SF(sf_laguerre)(SF_T x, int64_t n, int *fault)
{
    SF_T p = 1, q = 1 - x, count = 1, r;
    int64_t k = 1;

    if (n <= 0 || (n > SF_DEGREE_MAX && x == 0))
        return n >= 0;
    while (k < n && k < SF_DEGREE_MAX && (k == 1 || q == q))
        for (int64_t end = sf_end(k, n); k < end; k++, count++, p = q, q = r)
            r = SF_F(fma)(2 * count + (1 - x), q, -(count * p)) / (count + 1);
    *fault |= n > SF_DEGREE_MAX && q == q;
    return q;
}

static SF_T SF(sf_legendre)(SF_T x, int64_t n, int *fault)
{
    SF_T p = 1, q = x, count = 1, r;
    int64_t k = 1;

    if (n <= 0)
        return n == 0;
    if (n > SF_DEGREE_MAX && SF_F(fabs)(x) == 1)
        return n % 2 ? x : 1;
    while (k < n && k < SF_DEGREE_MAX && (k == 1 || q == q))
        for (int64_t end = sf_end(k, n); k < end; k++, count++, p = q, q = r)
            r = SF_F(fma)((2 * count + 1) * x, q, -(count * p)) / (count + 1);
    *fault |= n > SF_DEGREE_MAX && q == q;
    return q;
}
