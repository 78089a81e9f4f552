/* fft_tile.h -- template of copies between tensors and tiles, and of conversions between transforms
 * of real lines and of complex lines of half the length.  levels/fft.c includes this header once
 * for each T, the type of a real or imaginary part.  FN(name) is the name of a function for that T,
 * and N is the type of a complex number (fft_dft.h). */

/* Copy the `n` complex numbers x, each a pair of a real and an imaginary part, to an array of real
 * parts and an array of imaginary parts. */
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

/* -- real lines of 2 n elements, transformed as complex lines of n elements -- */

/* Convert *a and *b, elements k and n - k of the transform of the complex line (even elements + i
 * odd elements), to elements k and n - k of the transform of the real line.  `w` is the k-th
 * twiddle factor. */
FFT_INLINE void FN(split_real)(N *a, N *b, N w)
{
    N even = {(a->re + b->re) * (T)0.5, (a->im - b->im) * (T)0.5};
    N odd = FN(times)((N){(a->im + b->im) * (T)0.5, (b->re - a->re) * (T)0.5}, w);

    *a = FN(plus)(even, odd);
    *b = (N){even.re - odd.re, odd.im - even.im};
}

/* Convert *a and *b back: invert split_real(), and multiply by 2. */
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
        if (n % 2 == 0) { /* here, elements k and n - k are the same element */                    \
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

/* Compute elements 0 and n of the real line's transform, which are real, from element 0. */
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
