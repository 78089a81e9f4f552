/* gemm.c -- the vectorized loops of matrix products, compiled for each vector level: tiles, panels,
 * and matrices times vectors, for all classes and dtypes.
 *
 * A tile is `ROWS` rows of two vectors of sums.  `ROWS` is chosen so that the sums, two vectors of
 * B and one number of A fit in the registers.  A panel has, for each of the k steps, the elements
 * of a tile's rows (or columns) side by side.  A complex panel has first the real parts and then
 * the imaginary parts. */
#include "matmul/gemm.h"
#include <string.h>
#ifdef __AVX512F__
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
enum { VECTOR = 64, ROWS = 12 };
#elif defined(__AVX__)
enum { VECTOR = 32, ROWS = 6 };
#elif defined(__aarch64__)
enum { VECTOR = 16, ROWS = 12 };
#else
enum { VECTOR = 16, ROWS = 6 };
#endif

#define UNROLL _Pragma("GCC unroll 16")

/* -- tiles: a tile that is only partly inside C is computed whole, and that part is copied -- */

#define ALWAYS static inline __attribute__((always_inline))

#define TILE(name, type, number)                                                                   \
    typedef type v_##name __attribute__((vector_size(VECTOR)));                                    \
    typedef type u_##name __attribute__((vector_size(VECTOR), aligned(sizeof(type))));             \
    ALWAYS void put_##name(v_##name sum[ROWS][2], void *c_, int64_t c_row, int rows, int cols,     \
                           const gemm_number *alpha, const gemm_number *beta)                      \
    {                                                                                              \
        enum { W = VECTOR / sizeof(type), COLS = 2 * W };                                          \
        const type by = (type)alpha->number, old = (type)beta->number;                             \
        type *c = c_, part[ROWS * COLS] __attribute__((aligned(64)));                              \
        bool whole = rows == ROWS && cols == COLS;                                                 \
        UNROLL for (int i = 0; i < ROWS; i++)                                                      \
        {                                                                                          \
            u_##name *to = (u_##name *)(whole ? c + i * c_row : part + i * COLS);                  \
            v_##name s0 = sum[i][0] * by, s1 = sum[i][1] * by;                                     \
            if (whole && old != 0)                                                                 \
                s0 += old * to[0], s1 += old * to[1];                                              \
            to[0] = s0, to[1] = s1;                                                                \
        }                                                                                          \
        for (int i = 0; !whole && i < rows; i++)                                                   \
            for (int j = 0; j < cols; j++) {                                                       \
                type *to = c + i * c_row + j, s = part[i * COLS + j];                              \
                *to = old != 0 ? s + old * *to : s;                                                \
            }                                                                                      \
    }                                                                                              \
    static void tile_##name(int64_t k, const void *a_, const void *b_, void *c, int64_t c_row,     \
                            int rows, int cols, const gemm_number *alpha, const gemm_number *beta) \
    {                                                                                              \
        enum { W = VECTOR / sizeof(type), COLS = 2 * W };                                          \
        const type *a = a_, *b = b_;                                                               \
        v_##name sum[ROWS][2];                                                                     \
        UNROLL for (int i = 0; i < ROWS; i++) sum[i][0] = sum[i][1] = (v_##name){0};               \
        for (int64_t p = 0; p < k; p++, a += ROWS, b += COLS) {                                    \
            v_##name b0 = *(const v_##name *)b, b1 = *(const v_##name *)(b + W);                   \
            UNROLL for (int i = 0; i < ROWS; i++)                                                  \
            {                                                                                      \
                v_##name x = a[i] - (v_##name){0};                                                 \
                sum[i][0] += x * b0;                                                               \
                sum[i][1] += x * b1;                                                               \
            }                                                                                      \
        }                                                                                          \
        put_##name(sum, c, c_row, rows, cols, alpha, beta);                                        \
    }
TILE(f32, float, re)
TILE(f64, double, re)
TILE(i32, uint32_t, i)
TILE(i64, uint64_t, i)

#ifdef __AVX512F__
/* Define the tile for bfloat16 on machines that multiply pairs of bfloat16: elements 2p and 2p + 1
 * of a line are neighbours in a panel. */
__attribute__((target("avx512bf16"))) static void
tile_pairs(int64_t k, const void *a_, const void *b_, void *c, int64_t c_row, int rows, int cols,
           const gemm_number *alpha, const gemm_number *beta)
{
    enum { W = VECTOR / 4 };
    const int32_t *a = a_, *b = b_;
    v_f32 sum[ROWS][2];

    UNROLL for (int i = 0; i < ROWS; i++) sum[i][0] = sum[i][1] = (v_f32){0};
    for (int64_t p = 0; p < k; p += 2, a += ROWS, b += 2 * W) {
        __m512bh b0 = (__m512bh)_mm512_load_si512(b), b1 = (__m512bh)_mm512_load_si512(b + W);
        UNROLL for (int i = 0; i < ROWS; i++)
        {
            __m512bh x = (__m512bh)_mm512_set1_epi32(a[i]);
            sum[i][0] = _mm512_dpbf16_ps(sum[i][0], x, b0);
            sum[i][1] = _mm512_dpbf16_ps(sum[i][1], x, b1);
        }
    }
    put_f32(sum, c, c_row, rows, cols, alpha, beta);
}

/* Return two neighbouring elements as one number; the second one is 0 if `second` is false, because
 * it is past the end. */
ALWAYS uint32_t pair_at(const uint16_t *from, int64_t step, bool second)
{
    return from[0] | (second ? (uint32_t)from[step] << 16 : 0);
}

static void pack_pairs(void *to_, int width, int64_t lines, int64_t k, const void *from_,
                       int64_t line, int64_t step)
{
    const uint16_t *from = from_;
    uint32_t *restrict to = to_;
    int64_t pairs = k / 2;

    if (lines < width)
        dp_zero_n(to, dp_size_times(width, (k + 1) / 2), sizeof(*to));
    for (int64_t p = 0; line == 1 && p < pairs; p++)
        for (int64_t x = 0; x < lines; x++)
            to[p * width + x] = pair_at(from + 2 * p * step + x, step, true);
    for (int64_t x = 0; line != 1 && step == 1 && x < lines; x++)
        for (int64_t p = 0; p < pairs; p++)
            memcpy(&to[p * width + x], from + x * line + 2 * p, sizeof(*to));
    for (int64_t x = 0; line != 1 && step != 1 && x < lines; x++)
        for (int64_t p = 0; p < pairs; p++)
            to[p * width + x] = pair_at(from + x * line + 2 * p * step, step, true);
    for (int64_t x = 0; k % 2 == 1 && x < lines; x++)
        to[pairs * width + x] = pair_at(from + x * line + (k - 1) * step, step, false);
}
#endif

#define COMPLEX_TILE(name, type)                                                                   \
    static void tile_##name(int64_t k, const void *a_, const void *b_, void *c_, int64_t c_row,    \
                            int rows, int cols, const gemm_number *alpha, const gemm_number *beta) \
    {                                                                                              \
        typedef type v __attribute__((vector_size(VECTOR)));                                       \
        enum { W = VECTOR / sizeof(type) };                                                        \
        const type *a = a_, *b = b_;                                                               \
        type part[2][ROWS][W] __attribute__((aligned(64)));                                        \
        v re[ROWS], im[ROWS];                                                                      \
        UNROLL for (int i = 0; i < ROWS; i++) re[i] = im[i] = (v){0};                              \
        for (int64_t p = 0; p < k; p++, a += 2 * ROWS, b += 2 * W) {                               \
            v b_re = *(const v *)b, b_im = *(const v *)(b + W);                                    \
            UNROLL for (int i = 0; i < ROWS; i++)                                                  \
            {                                                                                      \
                v x = a[i] - (v){0}, y = a[ROWS + i] - (v){0};                                     \
                re[i] += x * b_re;                                                                 \
                im[i] += x * b_im;                                                                 \
                re[i] -= y * b_im;                                                                 \
                im[i] += y * b_re;                                                                 \
            }                                                                                      \
        }                                                                                          \
        UNROLL for (int i = 0; i < ROWS; i++) * (v *)part[0][i] = re[i], *(v *)part[1][i] = im[i]; \
        for (int i = 0; i < rows; i++)                                                             \
            merge_##name((type *)c_ + 2 * i * c_row, 2, part[0][i], part[1][i], 1, cols, alpha,    \
                         beta);                                                                    \
    }
/* Define the merge of n complex numbers: to = beta to + alpha (re, im).  The parts of `to` are
 * `step` numbers apart. */
#define COMPLEX_MERGE(name, type)                                                                  \
    static void merge_##name(type *to, int64_t step, const type *re, const type *im, int64_t from, \
                             int64_t n, const gemm_number *alpha, const gemm_number *beta)         \
    {                                                                                              \
        const type ar = (type)alpha->re, ai = (type)alpha->im;                                     \
        const type br = (type)beta->re, bi = (type)beta->im;                                       \
        bool plain = ar == 1 && ai == 0, reads = br != 0 || bi != 0;                               \
        for (int64_t j = 0; j < n; j++) {                                                          \
            type x = re[j * from], y = im[j * from], *c = to + j * step;                           \
            type r = plain ? x : ar * x - ai * y, i = plain ? y : ar * y + ai * x;                 \
            if (reads) {                                                                           \
                type c0 = c[0], c1 = c[1];                                                         \
                r += bi == 0 ? br * c0 : br * c0 - bi * c1;                                        \
                i += bi == 0 ? br * c1 : br * c1 + bi * c0;                                        \
            }                                                                                      \
            c[0] = r, c[1] = i;                                                                    \
        }                                                                                          \
    }
COMPLEX_MERGE(c64, float)
COMPLEX_MERGE(c128, double)
COMPLEX_TILE(c64, float)
COMPLEX_TILE(c128, double)

enum { F32, F64, I32, I64, C64, C128, PAIRS };
const gemm_class DP_ISA_NAME(gemm_classes)[] = {
    [F32] = {ROWS, 2 * VECTOR / 4, 1, 4, 4, tile_f32},
    [F64] = {ROWS, 2 * VECTOR / 8, 1, 8, 8, tile_f64},
    [I32] = {ROWS, 2 * VECTOR / 4, 1, 4, 4, tile_i32},
    [I64] = {ROWS, 2 * VECTOR / 8, 1, 8, 8, tile_i64},
    [C64] = {ROWS, VECTOR / 4, 1, 8, 8, tile_c64},
    [C128] = {ROWS, VECTOR / 8, 1, 16, 16, tile_c128},
#ifdef __AVX512F__
    [PAIRS] = {ROWS, 2 * VECTOR / 4, 2, 2, 4, tile_pairs},
#endif
};

/* -- panels -- */

#define SAME(x)  (x)
#define WIDEN(x) dp_bfloat16_to_float(x)

#define PACK(name, type, wide, convert)                                                            \
    static void pack_##name(void *to_, int width, int64_t lines, int64_t k, const void *from_,     \
                            int64_t line, int64_t step)                                            \
    {                                                                                              \
        const type *from = from_;                                                                  \
        wide *restrict to = to_;                                                                   \
        if (lines < width)                                                                         \
            dp_zero_n(to, dp_size_times(width, k), sizeof(wide));                                  \
        for (int64_t p = 0; line == 1 && p < k; p++)                                               \
            for (int64_t x = 0; x < lines; x++)                                                    \
                to[p * width + x] = (wide)convert(from[p * step + x]);                             \
        for (int64_t x = 0; line != 1 && x < lines; x++)                                           \
            for (int64_t p = 0; p < k; p++)                                                        \
                to[p * width + x] = (wide)convert(from[x * line + p * step]);                      \
    }
#define COMPLEX_PACK(name, type)                                                                   \
    static void pack_##name(void *to_, int width, int64_t lines, int64_t k, const void *from_,     \
                            int64_t line, int64_t step)                                            \
    {                                                                                              \
        const type *from = from_;                                                                  \
        type *restrict to = to_;                                                                   \
        if (lines < width)                                                                         \
            dp_zero_n(to, dp_size_times(width, k), 2 * sizeof(type));                              \
        for (int64_t x = 0; x < lines; x++)                                                        \
            for (int64_t p = 0; p < k; p++) {                                                      \
                const type *z = from + 2 * (x * line + p * step);                                  \
                to[2 * p * width + x] = z[0];                                                      \
                to[(2 * p + 1) * width + x] = z[1];                                                \
            }                                                                                      \
    }

/* -- conversions from sums of the class to elements of C -- */

#define NARROW(x) dp_float_to_bfloat16(x)

#define FINISH(name, type, wide, number, load, store)                                              \
    ALWAYS void finish_row_##name(type *c, int64_t col, const wide *acc, int64_t n, wide by,       \
                                  wide old)                                                        \
    {                                                                                              \
        for (int64_t j = 0; old == 0 && j < n; j++)                                                \
            c[j * col] = (type)store(by * acc[j]);                                                 \
        for (int64_t j = 0; old != 0 && j < n; j++)                                                \
            c[j * col] = (type)store(by * acc[j] + old * (wide)load(c[j * col]));                  \
    }                                                                                              \
    static void finish_##name(const gemm *g, const void *acc_, int64_t begin, int64_t end)         \
    {                                                                                              \
        const wide by = (wide)g->alpha.number, old = (wide)g->beta.number;                         \
        for (int64_t i = begin; i < end; i++) {                                                    \
            const wide *acc = (const wide *)acc_ + i * g->n;                                       \
            type *c = (type *)g->c + i * g->c_row;                                                 \
            if (g->c_col == 1)                                                                     \
                finish_row_##name(c, 1, acc, g->n, by, old);                                       \
            else                                                                                   \
                finish_row_##name(c, g->c_col, acc, g->n, by, old);                                \
        }                                                                                          \
    }
#define COMPLEX_FINISH(name, type)                                                                 \
    static void finish_##name(const gemm *g, const void *acc_, int64_t begin, int64_t end)         \
    {                                                                                              \
        for (int64_t i = begin; i < end; i++) {                                                    \
            const type *acc = (const type *)acc_ + 2 * i * g->n;                                   \
            merge_##name((type *)g->c + 2 * i * g->c_row, 2 * g->c_col, acc, acc + 1, 2, g->n,     \
                         &g->alpha, &g->beta);                                                     \
        }                                                                                          \
    }

/* -- a matrix times a vector: a sum over a contiguous row has LANES partial sums; if columns are
 * contiguous, one sum per row of a block is computed over four columns at a time -- */

enum { LANES = 64, BLOCK = 512 };

#define VECTOR_ROWS(name, type, wide, load)                                                        \
    static inline wide dot_##name(int64_t k, const type *a, int64_t step, const wide *x)           \
    {                                                                                              \
        typedef wide v __attribute__((vector_size(VECTOR)));                                       \
        typedef wide u __attribute__((vector_size(VECTOR), aligned(sizeof(wide))));                \
        enum { W = VECTOR / sizeof(wide), N = LANES / W };                                         \
        wide lane[LANES] __attribute__((aligned(64))), part[LANES];                                \
        v sum[N];                                                                                  \
        int64_t p = 0;                                                                             \
        UNROLL for (int i = 0; i < N; i++) sum[i] = (v){0};                                        \
        for (; step == 1 && p + LANES <= k; p += LANES) {                                          \
            const wide *from = (const wide *)(const void *)(a + p);                                \
            for (int l = 0; sizeof(type) != sizeof(wide) && l < LANES; l++)                        \
                part[l] = (wide)load(a[p + l]), from = part;                                       \
            UNROLL for (int i = 0; i < N; i++) sum[i] +=                                           \
                *(const u *)(from + i * W) * *(const u *)(x + p + i * W);                          \
        }                                                                                          \
        if (p == k && k > 0) { /* merge whole vectors; the order of sums is the same */            \
            UNROLL for (int half = N / 2; half > 0; half /= 2)                                     \
                UNROLL for (int i = 0; i < half; i++) sum[i] += sum[i + half];                     \
            *(v *)lane = sum[0];                                                                   \
            UNROLL for (int half = W / 2; half > 0; half /= 2)                                     \
                UNROLL for (int l = 0; l < half; l++) lane[l] += lane[l + half];                   \
            return lane[0];                                                                        \
        }                                                                                          \
        UNROLL for (int i = 0; i < N; i++) * (v *)(lane + i * W) = sum[i];                         \
        for (; p < k; p++)                                                                         \
            lane[p % LANES] += (wide)load(a[p * step]) * x[p];                                     \
        for (int half = LANES / 2; half > 0; half /= 2)                                            \
            for (int l = 0; l < half; l++)                                                         \
                lane[l] += lane[l + half];                                                         \
        return lane[0];                                                                            \
    }                                                                                              \
    static inline void columns_##name(const gemm *g, const wide *x, int64_t begin, int64_t n,      \
                                      wide *restrict sum)                                          \
    {                                                                                              \
        const type *a = (const type *)g->a + begin;                                                \
        int64_t p = 0, next = g->a_col;                                                            \
        for (; p + 4 <= g->k; p += 4, a += 4 * next)                                               \
            for (int64_t i = 0; i < n; i++)                                                        \
                sum[i] += ((wide)load(a[i]) * x[p] + (wide)load(a[next + i]) * x[p + 1]) +         \
                          ((wide)load(a[2 * next + i]) * x[p + 2] +                                \
                           (wide)load(a[3 * next + i]) * x[p + 3]);                                \
        for (; p < g->k; p++, a += next)                                                           \
            for (int64_t i = 0; i < n; i++)                                                        \
                sum[i] += (wide)load(a[i]) * x[p];                                                 \
    }

#define VECTOR_PRODUCT(name, type, wide, number, load, store)                                      \
    VECTOR_ROWS(name, type, wide, load)                                                            \
    static void vector_##name(const gemm *g, const void *x, int64_t begin, int64_t end)            \
    {                                                                                              \
        const wide by = (wide)g->alpha.number, old = (wide)g->beta.number;                         \
        wide sum[BLOCK];                                                                           \
        for (int64_t from = begin; from < end; from += BLOCK) {                                    \
            int64_t n = end - from < BLOCK ? end - from : BLOCK;                                   \
            memset(sum, 0, sizeof(sum));                                                           \
            if (g->a_row == 1 && g->a_col != 1)                                                    \
                columns_##name(g, x, from, n, sum);                                                \
            else                                                                                   \
                for (int64_t i = 0; i < n; i++)                                                    \
                    sum[i] =                                                                       \
                        dot_##name(g->k, (const type *)g->a + (from + i) * g->a_row, g->a_col, x); \
            for (int64_t i = 0; i < n; i++) {                                                      \
                type *y = (type *)g->c + (from + i) * g->c_row;                                    \
                wide s = by * sum[i];                                                              \
                *y = (type)store(old != 0 ? s + old * (wide)load(*y) : s);                         \
            }                                                                                      \
        }                                                                                          \
    }

#define COMPLEX_VECTOR(name, type)                                                                 \
    static void vector_##name(const gemm *g, const void *x_, int64_t begin, int64_t end)           \
    {                                                                                              \
        enum { LANES_ = LANES / 4 };                                                               \
        const type *x = x_;                                                                        \
        for (int64_t i = begin; i < end; i++) {                                                    \
            const type *a = (const type *)g->a + 2 * i * g->a_row;                                 \
            type re[LANES_] = {0}, im[LANES_] = {0};                                               \
            for (int64_t p = 0; p < g->k; p++) {                                                   \
                const type *z = a + 2 * p * g->a_col, *w = x + 2 * p;                              \
                re[p % LANES_] += z[0] * w[0] - z[1] * w[1];                                       \
                im[p % LANES_] += z[0] * w[1] + z[1] * w[0];                                       \
            }                                                                                      \
            for (int half = LANES_ / 2; half > 0; half /= 2)                                       \
                for (int l = 0; l < half; l++)                                                     \
                    re[l] += re[l + half], im[l] += im[l + half];                                  \
            merge_##name((type *)g->c + 2 * i * g->c_row, 2, re, im, 1, 1, &g->alpha, &g->beta);   \
        }                                                                                          \
    }

#define REAL(name, type, wide, number, load, store)                                                \
    PACK(name, type, wide, load)                                                                   \
    FINISH(name, type, wide, number, load, store)                                                  \
    VECTOR_PRODUCT(name, type, wide, number, load, store)
#define COMPLEX(name, type)                                                                        \
    COMPLEX_PACK(name, type)                                                                       \
    COMPLEX_FINISH(name, type)                                                                     \
    COMPLEX_VECTOR(name, type)
REAL(f32, float, float, re, SAME, SAME)
REAL(f64, double, double, re, SAME, SAME)
REAL(bf16, uint16_t, float, re, WIDEN, NARROW)
REAL(u8, uint8_t, uint32_t, i, SAME, SAME)
REAL(i8, int8_t, uint32_t, i, SAME, SAME)
REAL(i16, int16_t, uint32_t, i, SAME, SAME)
REAL(i32, uint32_t, uint32_t, i, SAME, SAME)
REAL(i64, uint64_t, uint64_t, i, SAME, SAME)
COMPLEX(c64, float)
COMPLEX(c128, double)

#define ROW(name, class, bytes)                                                                    \
    {                                                                                              \
        class, bytes, pack_##name, finish_##name, vector_##name                                    \
    }
const gemm_dtype DP_ISA_NAME(gemm_dtypes)[] = {
    [DP_UINT8] = ROW(u8, I32, 1),
    [DP_INT8] = ROW(i8, I32, 1),
    [DP_INT16] = ROW(i16, I32, 2),
    [DP_INT32] = ROW(i32, I32, 4),
    [DP_INT64] = ROW(i64, I64, 8),
    [DP_FLOAT32] = ROW(f32, F32, 4),
    [DP_FLOAT64] = ROW(f64, F64, 8),
    [DP_COMPLEX64] = ROW(c64, C64, 8),
    [DP_COMPLEX128] = ROW(c128, C128, 16),
    [DP_BFLOAT16] = ROW(bf16, F32, 2),
#ifdef __AVX512F__
    [GEMM_PAIRS] = {PAIRS, 2, pack_pairs, finish_bf16, vector_bf16},
#else
    [GEMM_PAIRS] = {0, 0, NULL, NULL, NULL},
#endif
};
