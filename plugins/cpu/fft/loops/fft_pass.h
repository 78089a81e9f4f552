/* fft_pass.h -- template of passes over all lanes, and of transforms composed of passes.
 * levels/fft.c includes this header once for each T, the type of a real or imaginary part.
 * FN(name) is the name of a function or type for that T, and N is the type of a complex number
 * (fft_dft.h). */

/* TIMES_R(F, g) stands for F(0, g) to F(R - 1, g).  These macros unroll the loops over the radix,
 * because compilers vectorize only innermost loops. */
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

/* Define a function that computes one of the m rows of a pass, for `lanes` neighbouring lanes.
 * `factors` 0: the twiddle factors of the row are 1. */
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
        poll look = {0};                                                                           \
        for (int64_t i = 1; i < p->m && !poll_stops(&look, R * lanes); i++)                        \
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

/* input of a pass of odd radix, for BLOCK lanes: element 0, and the sums and differences of
 * elements j and radix - j; index 0 of [2] is for real parts, index 1 for imaginary parts */
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

/* Compute elements k and radix - k of a transform, `low` and `high`, from its input `h`. */
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
    for (int q = 0; q < BLOCK; q++) { /* elements k and radix - k are c + i s and c - i s */
        low[0][q] = c[0][q] - s[1][q];
        low[1][q] = c[1][q] + s[0][q];
        high[0][q] = c[0][q] + s[1][q];
        high[1][q] = c[1][q] - s[0][q];
    }
}

/* Run a pass of any odd radix up to FFT_PRIME. */
static void FN(pass_odd)(const fft_pass *p, fft_pair x, fft_pair y, int64_t lanes)
{
    const T *wr = p->factors.re, *wi = p->factors.im;
    int64_t far = p->m * lanes, r = p->radix;
    T low[2][BLOCK], high[2][BLOCK];
    FN(halves) h;

    memset(&h, 0, sizeof(h));
    poll look = {0};
    for (int64_t i = 0; i < p->m && !poll_stops(&look, r * r * lanes);
         i++, wr += r - 1, wi += r - 1)
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

/* Multiply x [n1, n2] by w [n1, n2], element by element, and set y [n2, n1] to the transpose of the
 * product. */
static void FN(turn)(const T *restrict xr, const T *restrict xi, const T *restrict wr,
                     const T *restrict wi, T *restrict yr, T *restrict yi, int64_t n1, int64_t n2)
{
    poll look = {0};
    for (int64_t i = 0; i < n1 && !poll_stops(&look, 2 * n2); i++)
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

/* -- Bluestein's method: a transform as a convolution with a chirp -- */

/* Multiply row i of x by w[i]. */
static void FN(times_rows)(fft_pair x, fft_pair w, int64_t rows, int64_t lanes)
{
    T *xr = x.re, *xi = x.im;

    poll look = {0};
    for (int64_t i = 0; i < rows && !poll_stops(&look, lanes); i++) {
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
    size_t used = (size_t)(p->n * lanes),
           rest = dp_size_times((size_t)(p->rows - p->n), (size_t)lanes);

    FN(times_rows)(x, p->chirp, p->n, lanes);
    dp_zero_n((T *)x.re + used, rest, sizeof(T));
    dp_zero_n((T *)x.im + used, rest, sizeof(T));
    fft_pair a = FN(run)(p->inner, x, y, lanes), b = FN(same)(a, x) ? y : x;
    FN(times_rows)(a, p->kernel, p->rows, lanes);
    a = FN(run)(p->inner, (fft_pair){a.im, a.re}, (fft_pair){b.im, b.re}, lanes);
    a = (fft_pair){a.im, a.re}; /* with exchanged parts, the transform is the inverse one */
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
