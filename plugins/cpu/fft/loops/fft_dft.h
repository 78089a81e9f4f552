/* fft_dft.h -- template of forward transforms, not scaled, of 2, 3, 4, 5, 7 or 8 complex numbers,
 * in place.  levels/fft.c includes this header once for each T, the type of a real or imaginary
 * part.  FN(name) is the name of a function or type for that T, and N is FN(number). */

typedef struct FN(number) {
    T re, im;
} FN(number);

FFT_INLINE N FN(load)(const T *re, const T *im, int64_t i)
{
    return (N){re[i], im[i]};
}

FFT_INLINE N FN(plus)(N a, N b)
{
    return (N){a.re + b.re, a.im + b.im};
}

FFT_INLINE N FN(minus)(N a, N b)
{
    return (N){a.re - b.re, a.im - b.im};
}

FFT_INLINE N FN(times)(N a, N b)
{
    return (N){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

FFT_INLINE N FN(scaled)(N a, T s)
{
    return (N){a.re * s, a.im * s};
}

FFT_INLINE N FN(rotated)(N a) /* rotated by -90 degrees */
{
    return (N){a.im, -a.re};
}

FFT_INLINE void FN(dft2)(N *a)
{
    N b = a[1];

    a[1] = FN(minus)(a[0], b);
    a[0] = FN(plus)(a[0], b);
}

FFT_INLINE void FN(dft3)(N *a)
{
    const T c = (T)-0.5, s = (T)0.86602540378443864676;
    N sum = FN(plus)(a[1], a[2]), d = FN(rotated)(FN(scaled)(FN(minus)(a[1], a[2]), s));
    N mid = FN(plus)(a[0], FN(scaled)(sum, c));

    a[0] = FN(plus)(a[0], sum);
    a[1] = FN(plus)(mid, d);
    a[2] = FN(minus)(mid, d);
}

FFT_INLINE void FN(dft4)(N *a)
{
    N b0 = FN(plus)(a[0], a[2]), b1 = FN(minus)(a[0], a[2]);
    N b2 = FN(plus)(a[1], a[3]), b3 = FN(rotated)(FN(minus)(a[1], a[3]));

    a[0] = FN(plus)(b0, b2);
    a[1] = FN(plus)(b1, b3);
    a[2] = FN(minus)(b0, b2);
    a[3] = FN(minus)(b1, b3);
}

FFT_INLINE void FN(dft5)(N *a)
{
    const T c1 = (T)0.30901699437494742410, s1 = (T)0.95105651629515357212;
    const T c2 = (T)-0.80901699437494742410, s2 = (T)0.58778525229247312917;
    N p1 = FN(plus)(a[1], a[4]), m1 = FN(minus)(a[1], a[4]);
    N p2 = FN(plus)(a[2], a[3]), m2 = FN(minus)(a[2], a[3]);
    N x1 = FN(plus)(a[0], FN(plus)(FN(scaled)(p1, c1), FN(scaled)(p2, c2)));
    N x2 = FN(plus)(a[0], FN(plus)(FN(scaled)(p1, c2), FN(scaled)(p2, c1)));
    N y1 = FN(rotated)(FN(plus)(FN(scaled)(m1, s1), FN(scaled)(m2, s2)));
    N y2 = FN(rotated)(FN(minus)(FN(scaled)(m1, s2), FN(scaled)(m2, s1)));

    a[0] = FN(plus)(a[0], FN(plus)(p1, p2));
    a[1] = FN(plus)(x1, y1);
    a[2] = FN(plus)(x2, y2);
    a[3] = FN(minus)(x2, y2);
    a[4] = FN(minus)(x1, y1);
}

/* Return the dot product of (ca, cb, cc) with (a, b, c). */
FFT_INLINE N FN(dot3)(N a, T ca, N b, T cb, N c, T cc)
{
    return FN(plus)(FN(plus)(FN(scaled)(a, ca), FN(scaled)(b, cb)), FN(scaled)(c, cc));
}

FFT_INLINE void FN(dft7)(N *a)
{
    const T c1 = (T)0.62348980185873353053, s1 = (T)0.78183148246802980871;
    const T c2 = (T)-0.22252093395631440429, s2 = (T)0.97492791218182360702;
    const T c3 = (T)-0.90096886790241912624, s3 = (T)0.43388373911755812048;
    N p1 = FN(plus)(a[1], a[6]), m1 = FN(minus)(a[1], a[6]);
    N p2 = FN(plus)(a[2], a[5]), m2 = FN(minus)(a[2], a[5]);
    N p3 = FN(plus)(a[3], a[4]), m3 = FN(minus)(a[3], a[4]);
    N x1 = FN(plus)(a[0], FN(dot3)(p1, c1, p2, c2, p3, c3));
    N x2 = FN(plus)(a[0], FN(dot3)(p1, c2, p2, c3, p3, c1));
    N x3 = FN(plus)(a[0], FN(dot3)(p1, c3, p2, c1, p3, c2));
    N y1 = FN(rotated)(FN(dot3)(m1, s1, m2, s2, m3, s3));
    N y2 = FN(rotated)(FN(dot3)(m1, s2, m2, -s3, m3, -s1));
    N y3 = FN(rotated)(FN(dot3)(m1, s3, m2, -s1, m3, s2));

    a[0] = FN(plus)(a[0], FN(plus)(FN(plus)(p1, p2), p3));
    a[1] = FN(plus)(x1, y1);
    a[2] = FN(plus)(x2, y2);
    a[3] = FN(plus)(x3, y3);
    a[4] = FN(minus)(x3, y3);
    a[5] = FN(minus)(x2, y2);
    a[6] = FN(minus)(x1, y1);
}

FFT_INLINE void FN(dft8)(N *a)
{
    const T h = (T)0.70710678118654752440;
    N even[4] = {a[0], a[2], a[4], a[6]}, odd[4] = {a[1], a[3], a[5], a[7]};

    FN(dft4)(even);
    FN(dft4)(odd);
    odd[1] = (N){h * (odd[1].re + odd[1].im), h * (odd[1].im - odd[1].re)};
    odd[2] = FN(rotated)(odd[2]);
    odd[3] = (N){h * (odd[3].im - odd[3].re), -h * (odd[3].re + odd[3].im)};
    a[0] = FN(plus)(even[0], odd[0]);
    a[1] = FN(plus)(even[1], odd[1]);
    a[2] = FN(plus)(even[2], odd[2]);
    a[3] = FN(plus)(even[3], odd[3]);
    a[4] = FN(minus)(even[0], odd[0]);
    a[5] = FN(minus)(even[1], odd[1]);
    a[6] = FN(minus)(even[2], odd[2]);
    a[7] = FN(minus)(even[3], odd[3]);
}
