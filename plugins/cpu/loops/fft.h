/* fft.h -- included by levels/fft.c with T, the type of a part, and FN(name), a function's name for it. */

typedef struct FN(number) {
    T re, im;
} FN(number);
#define N FN(number)

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

FFT_INLINE N FN(turned)(N a) /* by -90 degrees */
{
    return (N){a.im, -a.re};
}

/* -- transforms of a few numbers, in place -- */

FFT_INLINE void FN(dft2)(N *a)
{
    N b = a[1];

    a[1] = FN(minus)(a[0], b);
    a[0] = FN(plus)(a[0], b);
}

FFT_INLINE void FN(dft3)(N *a)
{
    const T c = (T)-0.5, s = (T)0.86602540378443864676;
    N sum = FN(plus)(a[1], a[2]), d = FN(turned)(FN(scaled)(FN(minus)(a[1], a[2]), s));
    N mid = FN(plus)(a[0], FN(scaled)(sum, c));

    a[0] = FN(plus)(a[0], sum);
    a[1] = FN(plus)(mid, d);
    a[2] = FN(minus)(mid, d);
}

FFT_INLINE void FN(dft4)(N *a)
{
    N b0 = FN(plus)(a[0], a[2]), b1 = FN(minus)(a[0], a[2]);
    N b2 = FN(plus)(a[1], a[3]), b3 = FN(turned)(FN(minus)(a[1], a[3]));

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
    N y1 = FN(turned)(FN(plus)(FN(scaled)(m1, s1), FN(scaled)(m2, s2)));
    N y2 = FN(turned)(FN(minus)(FN(scaled)(m1, s2), FN(scaled)(m2, s1)));

    a[0] = FN(plus)(a[0], FN(plus)(p1, p2));
    a[1] = FN(plus)(x1, y1);
    a[2] = FN(plus)(x2, y2);
    a[3] = FN(minus)(x2, y2);
    a[4] = FN(minus)(x1, y1);
}

/* c . (p1, p2, p3), and the same of sines */
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
    N y1 = FN(turned)(FN(dot3)(m1, s1, m2, s2, m3, s3));
    N y2 = FN(turned)(FN(dot3)(m1, s2, m2, -s3, m3, -s1));
    N y3 = FN(turned)(FN(dot3)(m1, s3, m2, -s1, m3, s2));

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
    odd[2] = FN(turned)(odd[2]);
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

/* -- passes over all lanes -- */

/* Written out: compilers make vectors of a loop only if there is none in it. */
#ifndef TIMES_2
#define TIMES_2(F, g) F(0, g) F(1, g)
#define TIMES_3(F, g) TIMES_2(F, g) F(2, g)
#define TIMES_4(F, g) TIMES_3(F, g) F(3, g)
#define TIMES_5(F, g) TIMES_4(F, g) F(4, g)
#define TIMES_7(F, g) TIMES_5(F, g) F(5, g) F(6, g)
#define TIMES_8(F, g) TIMES_7(F, g) F(7, g)
#endif
#define FACTOR(k, factors) w[k] = factors && k > 0 ? FN(load)(wr, wi, k - 1) : (N){1, 0};
#define LOAD(j, factors)   a[j] = FN(load)(xr, xi, q + far * j);
#define STORE(k, factors)                                                                          \
    {                                                                                              \
        N b = factors && k > 0 ? FN(times)(a[k], w[k]) : a[k];                                     \
        yr[q + lanes * k] = b.re;                                                                  \
        yi[q + lanes * k] = b.im;                                                                  \
    }

/* Row p of the m that come out, from and to `lanes` neighbours. */
#define PASS_ROW(R, factors)                                                                       \
    FFT_INLINE void FN(row##R##factors)(const T *restrict xr, const T *restrict xi,                \
                                        T *restrict yr, T *restrict yi, int64_t far,               \
                                        int64_t lanes, const T *wr, const T *wi)                   \
    {                                                                                              \
        N w[R];                                                                                    \
        TIMES_##R(FACTOR, factors) _Pragma("GCC ivdep") for (int64_t q = 0; q < lanes; q++)        \
        {                                                                                          \
            N a[R];                                                                                \
            TIMES_##R(LOAD, factors) FN(dft##R)(a);                                                \
            TIMES_##R(STORE, factors)                                                              \
        }                                                                                          \
    }
#define PASS(R)                                                                                    \
    PASS_ROW(R, 0)                                                                                 \
    PASS_ROW(R, 1)                                                                                 \
    static void FN(pass##R)(const fft_pass *p, fft_pair x, fft_pair y, int64_t lanes)              \
    {                                                                                              \
        const T *xr = x.re, *xi = x.im, *wr = p->factors.re, *wi = p->factors.im;                  \
        T *yr = y.re, *yi = y.im;                                                                  \
        int64_t far = p->m * lanes;                                                                \
        FN(row##R##0)(xr, xi, yr, yi, far, lanes, NULL, NULL);                                     \
        for (int64_t i = 1; i < p->m; i++)                                                         \
            FN(row##R##1)                                                                          \
        (xr + i * lanes, xi + i * lanes, yr + i * R * lanes, yi + i * R * lanes, far, lanes,       \
         wr + i * (R - 1), wi + i * (R - 1));                                                      \
    }
PASS(2)
PASS(3)
PASS(4)
PASS(5)
PASS(7)
PASS(8)
#undef PASS
#undef PASS_ROW
#undef FACTOR
#undef LOAD
#undef STORE

/* Sums and differences of the elements that lie symmetrically, for BLOCK lanes. */
typedef struct FN(halves) {
    T first[2][BLOCK];
    T plus[FFT_PRIME / 2][2][BLOCK], minus[FFT_PRIME / 2][2][BLOCK];
} FN(halves);

static void FN(take_halves)(FN(halves) * h, const T *xr, const T *xi, int64_t far, int64_t radix,
                            int64_t lanes)
{
    int64_t half = (radix - 1) / 2;

    for (int64_t q = 0; q < lanes; q++) {
        h->first[0][q] = xr[q];
        h->first[1][q] = xi[q];
    }
    for (int64_t j = 1; j <= half; j++)
        for (int64_t q = 0; q < lanes; q++) {
            N a = FN(load)(xr, xi, q + far * j), b = FN(load)(xr, xi, q + far * (radix - j));
            h->plus[j - 1][0][q] = a.re + b.re;
            h->plus[j - 1][1][q] = a.im + b.im;
            h->minus[j - 1][0][q] = a.re - b.re;
            h->minus[j - 1][1][q] = a.im - b.im;
        }
}

static void FN(put_lanes)(T *yr, T *yi, const T *re, const T *im, N w, int64_t lanes)
{
    for (int64_t q = 0; q < lanes; q++) {
        yr[q] = re[q] * w.re - im[q] * w.im;
        yi[q] = re[q] * w.im + im[q] * w.re;
    }
}

/* Elements k and radix - k of a transform. */
static void FN(sum_halves)(const FN(halves) * h, const fft_pass *p, int64_t k, T low[2][BLOCK],
                           T high[2][BLOCK])
{
    const T *cosines = p->roots.re, *sines = p->roots.im;
    T c[2][BLOCK], s[2][BLOCK] = {{0}};

    memcpy(c, h->first, sizeof(c));
    for (int64_t j = 1, at = k; j <= (p->radix - 1) / 2; j++) {
        for (int part = 0; part < 2; part++)
            for (int q = 0; q < BLOCK; q++) {
                c[part][q] += cosines[at] * h->plus[j - 1][part][q];
                s[part][q] += sines[at] * h->minus[j - 1][part][q];
            }
        at += k;
        at -= at >= p->radix ? p->radix : 0;
    }
    for (int q = 0; q < BLOCK; q++) { /* c + i s and c - i s; sines are those of -k */
        low[0][q] = c[0][q] - s[1][q];
        low[1][q] = c[1][q] + s[0][q];
        high[0][q] = c[0][q] + s[1][q];
        high[1][q] = c[1][q] - s[0][q];
    }
}

/* Of any odd radix up to FFT_PRIME. */
static void FN(pass_odd)(const fft_pass *p, fft_pair x, fft_pair y, int64_t lanes)
{
    const T *wr = p->factors.re, *wi = p->factors.im;
    int64_t far = p->m * lanes, r = p->radix;
    T low[2][BLOCK], high[2][BLOCK];
    FN(halves) h;

    memset(&h, 0, sizeof(h));
    for (int64_t i = 0; i < p->m; i++, wr += r - 1, wi += r - 1)
        for (int64_t at = 0; at < lanes; at += BLOCK) {
            int64_t some = lanes - at < BLOCK ? lanes - at : BLOCK;
            T *yr = (T *)y.re + i * r * lanes + at, *yi = (T *)y.im + i * r * lanes + at;
            FN(take_halves)
            (&h, (T *)x.re + i * lanes + at, (T *)x.im + i * lanes + at, far, r, some);
            for (int part = 0; part < 2; part++)
                for (int q = 0; q < BLOCK; q++) {
                    low[part][q] = h.first[part][q];
                    for (int64_t j = 0; j < (r - 1) / 2; j++)
                        low[part][q] += h.plus[j][part][q];
                }
            FN(put_lanes)(yr, yi, low[0], low[1], (N){1, 0}, some);
            for (int64_t k = 1; k <= (r - 1) / 2; k++) {
                FN(sum_halves)(&h, p, k, low, high);
                FN(put_lanes)
                (yr + k * lanes, yi + k * lanes, low[0], low[1], FN(load)(wr, wi, k - 1), some);
                FN(put_lanes)
                (yr + (r - k) * lanes, yi + (r - k) * lanes, high[0], high[1],
                 FN(load)(wr, wi, r - k - 1), some);
            }
        }
}

static fft_pair FN(run_passes)(const fft_plan *p, fft_pair x, fft_pair y, int64_t lanes)
{
    for (int i = 0; i < p->n_passes; i++) {
        const fft_pass *pass = &p->passes[i];
        switch (pass->radix) {
        case 2:
            FN(pass2)(pass, x, y, lanes);
            break;
        case 3:
            FN(pass3)(pass, x, y, lanes);
            break;
        case 4:
            FN(pass4)(pass, x, y, lanes);
            break;
        case 5:
            FN(pass5)(pass, x, y, lanes);
            break;
        case 7:
            FN(pass7)(pass, x, y, lanes);
            break;
        case 8:
            FN(pass8)(pass, x, y, lanes);
            break;
        default:
            FN(pass_odd)(pass, x, y, lanes);
        }
        lanes *= pass->radix;
        fft_pair done = y;
        y = x;
        x = done;
    }
    return x;
}

/* -- one line as a matrix -- */

/* y [n2, n1] = x [n1, n2] transposed, times w [n1, n2] */
static void FN(turn)(const T *restrict xr, const T *restrict xi, const T *restrict wr,
                     const T *restrict wi, T *restrict yr, T *restrict yi, int64_t n1, int64_t n2)
{
    for (int64_t i = 0; i < n1; i++)
        for (int64_t j = 0; j < n2; j++) {
            N b = FN(times)(FN(load)(xr, xi, i * n2 + j), FN(load)(wr, wi, i * n2 + j));
            yr[j * n1 + i] = b.re;
            yi[j * n1 + i] = b.im;
        }
}

static bool FN(same)(fft_pair a, fft_pair b)
{
    return a.re == b.re;
}

static fft_pair FN(run_matrix)(const fft_plan *p, fft_pair x, fft_pair y)
{
    fft_pair a = FN(run_passes)(p->first, x, y, p->second->n), b = FN(same)(a, x) ? y : x;

    FN(turn)(a.re, a.im, p->turns.re, p->turns.im, b.re, b.im, p->first->n, p->second->n);
    return FN(run_passes)(p->second, b, a, p->first->n);
}

/* -- Bluestein: a transform as a convolution with a chirp -- */

/* Row i of x times w[i]. */
static void FN(times_rows)(fft_pair x, fft_pair w, int64_t rows, int64_t lanes)
{
    T *xr = x.re, *xi = x.im;

    for (int64_t i = 0; i < rows; i++) {
        N f = FN(load)(w.re, w.im, i);
        for (int64_t q = i * lanes; q < (i + 1) * lanes; q++) {
            N b = FN(times)(FN(load)(xr, xi, q), f);
            xr[q] = b.re;
            xi[q] = b.im;
        }
    }
}

static fft_pair FN(run)(const fft_plan *p, fft_pair x, fft_pair y, int64_t lanes);

static fft_pair FN(run_chirp)(const fft_plan *p, fft_pair x, fft_pair y, int64_t lanes)
{
    size_t used = (size_t)(p->n * lanes), rest = (size_t)((p->rows - p->n) * lanes) * sizeof(T);

    FN(times_rows)(x, p->chirp, p->n, lanes);
    memset((T *)x.re + used, 0, rest);
    memset((T *)x.im + used, 0, rest);
    fft_pair a = FN(run)(p->inner, x, y, lanes), b = FN(same)(a, x) ? y : x;
    FN(times_rows)(a, p->kernel, p->rows, lanes);
    a = FN(run)(p->inner, (fft_pair){a.im, a.re}, (fft_pair){b.im, b.re}, lanes);
    a = (fft_pair){a.im, a.re}; /* swapped parts: the inverse */
    FN(times_rows)(a, p->chirp, p->n, lanes);
    return a;
}

static fft_pair FN(run)(const fft_plan *p, fft_pair x, fft_pair y, int64_t lanes)
{
    if (p->inner != NULL)
        return FN(run_chirp)(p, x, y, lanes);
    if (lanes == 1 && p->first != NULL)
        return FN(run_matrix)(p, x, y);
    return FN(run_passes)(p, x, y, lanes);
}

/* -- between tensors and tiles -- */

/* n neighbours (re, im) apart; from and to pairs */
static void FN(part)(T *restrict re, T *restrict im, const T *restrict x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        re[i] = x[2 * i];
        im[i] = x[2 * i + 1];
    }
}

static void FN(join)(T *restrict x, const T *restrict re, const T *restrict im, int64_t n, T scale)
{
    for (int64_t i = 0; i < n; i++) {
        x[2 * i] = re[i] * scale;
        x[2 * i + 1] = im[i] * scale;
    }
}

static void FN(gather)(const fft_tile *t, int64_t rows, const fft_side *s)
{
    T *re = t->parts.re, *im = t->parts.im;
    const T *x = s->data;

    if (t->row == 1 && s->step == 2 && s->imag == 1 && !s->real)
        for (int64_t b = 0; b < t->lanes; b++)
            FN(part)(re + b * t->lane, im + b * t->lane, x + s->offsets[b], rows);
    else if (t->lane == 1 && s->apart == 2 && s->imag == 1 && !s->real)
        for (int64_t j = 0; j < rows; j++)
            FN(part)(re + j * t->row, im + j * t->row, x + s->offsets[0] + j * s->step, t->lanes);
    else
        for (int64_t first = 0; first < rows; first += BLOCK)
            for (int64_t b = 0; b < t->lanes; b++)
                for (int64_t j = first; j < rows && j < first + BLOCK; j++) {
                    const T *at = x + s->offsets[b] + j * s->step;
                    re[j * t->row + b * t->lane] = *at;
                    im[j * t->row + b * t->lane] = s->real ? 0 : at[s->imag];
                }
}

static void FN(scatter)(const fft_tile *t, int64_t rows, const fft_side *s, double factor)
{
    const T *re = t->parts.re, *im = t->parts.im;
    T *x = s->data, scale = (T)factor;

    if (t->row == 1 && s->step == 2 && s->imag == 1 && !s->real)
        for (int64_t b = 0; b < t->lanes; b++)
            FN(join)(x + s->offsets[b], re + b * t->lane, im + b * t->lane, rows, scale);
    else if (t->lane == 1 && s->apart == 2 && s->imag == 1 && !s->real)
        for (int64_t j = 0; j < rows; j++)
            FN(join)
    (x + s->offsets[0] + j * s->step, re + j * t->row, im + j * t->row, t->lanes, scale);
    else for (int64_t first = 0; first < rows;
              first += BLOCK) for (int64_t b = 0; b < t->lanes;
                                   b++) for (int64_t j = first; j < rows && j < first + BLOCK; j++)
    {
        T *at = x + s->offsets[b] + j * s->step;
        *at = re[j * t->row + b * t->lane] * scale;
        if (!s->real)
            at[s->imag] = im[j * t->row + b * t->lane] * scale;
    }
}

/* -- real lines of 2 n elements as complex ones of n -- */

/* *a, *b: elements k and n - k of the transform of even elements + i odd ones; w: turns by k */
FFT_INLINE void FN(split_real)(N *a, N *b, N w)
{
    N even = {(a->re + b->re) * (T)0.5, (a->im - b->im) * (T)0.5};
    N odd = FN(times)((N){(a->im + b->im) * (T)0.5, (b->re - a->re) * (T)0.5}, w);

    *a = FN(plus)(even, odd);
    *b = (N){even.re - odd.re, odd.im - even.im};
}

/* and back, twice as large */
FFT_INLINE void FN(join_real)(N *a, N *b, N w)
{
    N even = {a->re + b->re, a->im - b->im};
    N odd = FN(times)((N){a->re - b->re, a->im + b->im}, (N){w.re, -w.im});

    *a = (N){even.re - odd.im, even.im + odd.re};
    *b = (N){even.re + odd.im, odd.re - even.im};
}

#define REAL_ROWS(name, step)                                                                      \
    static void FN(name##_rows)(T *restrict re, T *restrict im, int64_t k, int64_t other,          \
                                int64_t row, int64_t lanes, N w)                                   \
    {                                                                                              \
        T *restrict re2 = re + other * row, *restrict im2 = im + other * row;                      \
        re += k * row;                                                                             \
        im += k * row;                                                                             \
        for (int64_t q = 0; q < lanes; q++) {                                                      \
            N a = {re[q], im[q]}, b = {re2[q], im2[q]};                                            \
            FN(step)(&a, &b, w);                                                                   \
            re[q] = a.re, im[q] = a.im;                                                            \
            re2[q] = b.re, im2[q] = b.im;                                                          \
        }                                                                                          \
    }                                                                                              \
    static void FN(name##_line)(T * re, T * im, int64_t n, const T *wr, const T *wi)               \
    {                                                                                              \
        T *restrict lr = re, *restrict li = im, *restrict hr = re + n, *restrict hi = im + n;      \
        int64_t half = n / 2;                                                                      \
        for (int64_t k = 1; k < n - half; k++) {                                                   \
            N a = {lr[k], li[k]}, b = {hr[-k], hi[-k]};                                            \
            FN(step)(&a, &b, FN(load)(wr, wi, k));                                                 \
            lr[k] = a.re, li[k] = a.im;                                                            \
            hr[-k] = b.re, hi[-k] = b.im;                                                          \
        }                                                                                          \
        if (n % 2 == 0) { /* the one in the middle meets itself */                                 \
            N a = {re[half], im[half]}, b = a;                                                     \
            FN(step)(&a, &b, FN(load)(wr, wi, half));                                              \
            re[half] = a.re, im[half] = a.im;                                                      \
        }                                                                                          \
    }                                                                                              \
    static void FN(name)(const fft_plan *p, const fft_tile *t)                                     \
    {                                                                                              \
        T *re = t->parts.re, *im = t->parts.im;                                                    \
        FN(name##_ends)(t, p->n);                                                                  \
        if (t->lane == 1 && t->lanes > 1)                                                          \
            for (int64_t k = 1; k <= p->n / 2; k++)                                                \
                FN(name##_rows)                                                                    \
        (re, im, k, p->n - k, t->row, t->lanes, FN(load)(p->real.re, p->real.im, k));              \
        else for (int64_t b = 0; b < t->lanes; b++)                                                \
            FN(name##_line)(re + b * t->lane, im + b * t->lane, p->n, p->real.re, p->real.im);     \
    }

/* Element 0 gives 0 and n, which are real. */
static void FN(real_after_ends)(const fft_tile *t, int64_t n)
{
    T *re = t->parts.re, *im = t->parts.im;

    for (int64_t b = 0, q = 0, h = n * t->row; b < t->lanes; b++, q += t->lane, h += t->lane) {
        T sum = re[q] + im[q], difference = re[q] - im[q];
        re[q] = sum, im[q] = 0;
        re[h] = difference, im[h] = 0;
    }
}

static void FN(real_before_ends)(const fft_tile *t, int64_t n)
{
    T *re = t->parts.re, *im = t->parts.im;

    for (int64_t b = 0, q = 0, h = n * t->row; b < t->lanes; b++, q += t->lane, h += t->lane) {
        T first = re[q], last = re[h];
        re[q] = first + last;
        im[q] = first - last;
    }
}

REAL_ROWS(real_after, split_real)
REAL_ROWS(real_before, join_real)
#undef REAL_ROWS

static void FN(mirror)(const fft_tile *t, int64_t n)
{
    T *re = t->parts.re, *im = t->parts.im;

    for (int64_t first = n / 2 + 1; first < n; first += BLOCK)
        for (int64_t b = 0; b < t->lanes; b++)
            for (int64_t j = first; j < n && j < first + BLOCK; j++) {
                re[j * t->row + b * t->lane] = re[(n - j) * t->row + b * t->lane];
                im[j * t->row + b * t->lane] = -im[(n - j) * t->row + b * t->lane];
            }
}
#undef N
