/* remainder_of_type.h -- division with remainder for one type (float or double): a part of
 * math_of_type.h, which includes this header.
 *
 * fmod is C's function; rem_floor and div_floor are Python's % and //.  Each function has a second
 * variant that can be vectorized, whose name ends in _near: it accepts only x and y for which
 * quotient_far() is 0. */

/* Return 1 if the integer part of x / y has more digits than T, or if x / y is not finite;
 * otherwise 0. */
DPM_INLINE U FN(quotient_far)(T x, T y)
{
    return (FN(bits)(K(0x1p23f, 0x1p52)) - 1 - FN(bits)(FN(abs)(x / y))) >> (BITS - 1);
}

/* Return the largest integer <= x, for |x| < 2^DIGITS. */
DPM_INLINE T FN(floor_near)(T x)
{
    const T grid = FN(sign)(K(0x1p23f, 0x1p52), x);
    T n = x + grid - grid;

    return FN(pick)(n > x, n - 1, n);
}

/* a / b is rounded, so its integer part may be too large by one; then the remainder, which is
 * exact, is negative, and is corrected. */
DPM_INLINE T FN(fmod_near)(T x, T y)
{
    T a = FN(abs)(x), b = FN(abs)(y), r = FN(fma)(-FN(floor_near)(a / b), b, a);

    r = FN(pick)(r < 0, r + b, r);
    return FN(sign)(FN(pick)(b == INF, a, r), x);
}

DPM_INLINE T FN(fmod)(T x, T y)
{
    return FN(quotient_far)(x, y) ? K(fmodf, fmod)(x, y) : FN(fmod_near)(x, y);
}

/* Return Python's remainder, computed from r = fmod(x, y).  Source: remainder of at::native. */
DPM_INLINE T FN(rem_floor_of)(T y, T r)
{
    T shifted = FN(pick)(r == 0, r, r + y);

    return FN(pick)(FN(sign)(1, r) * FN(sign)(1, y) < 0, shifted, r);
}

DPM_INLINE T FN(rem_floor_near)(T x, T y)
{
    return FN(rem_floor_of)(y, FN(fmod_near)(x, y));
}

DPM_INLINE T FN(rem_floor)(T x, T y)
{
    return FN(rem_floor_of)(y, FN(fmod)(x, y));
}

/* x / y could be rounded up to the next integer; so the quotient is computed from the remainder.
 * Source: at::native::div_floor_floating. */
DPM_INLINE T FN(div_floor_near)(T x, T y)
{
    T r = FN(fmod_near)(x, y), q = (x - r) / y;
    T down = FN(pick)(r == 0, 0, FN(pick)(FN(sign)(1, r) * FN(sign)(1, y) < 0, 1, 0));
    T whole = FN(floor_near)(q - down);

    whole = FN(pick)(q - down - whole > (T)0.5, whole + 1, whole);
    return FN(pick)(q - down == 0, FN(sign)(0, x / y), whole);
}

DPM_INLINE T FN(div_floor)(T x, T y)
{
    if (!FN(quotient_far)(x, y))
        return FN(div_floor_near)(x, y);
    if (y == 0)
        return x / y;
    T r = K(fmodf, fmod)(x, y), q = (x - r) / y;
    q -= r != 0 && (y < 0) != (r < 0);
    T whole = K(floorf, floor)(q);
    return q == 0 ? FN(sign)(0, x / y) : q - whole > (T)0.5 ? whole + 1 : whole;
}
