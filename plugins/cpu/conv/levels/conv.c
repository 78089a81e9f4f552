/* conv.c -- the vectorized loops of convolutions, compiled for each vector level: tiles of sums,
 * runs of columns, and conversions between the dtype in memory and the dtype of the sums. */
#include "conv/conv_loops.h"
#include <string.h>

#if defined(__AVX512F__)
enum { VECTOR = 64, ROWS = 8 };
#elif defined(__AVX__)
enum { VECTOR = 32, ROWS = 4 };
#elif defined(__aarch64__)
enum { VECTOR = 16, ROWS = 8 };
#else
enum { VECTOR = 16, ROWS = 4 };
#endif

#define ALWAYS static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16")

/* Define put_NAME(), which ends all kinds of tiles: it adds the sums of `many` vectors per row to
 * c. A tile that is not whole is first stored in an array. */
#define PUT(name, type)                                                                            \
    typedef type v_##name __attribute__((vector_size(VECTOR)));                                    \
    typedef type u_##name __attribute__((vector_size(VECTOR), aligned(sizeof(type)), may_alias));  \
    enum { W_##name = VECTOR / sizeof(type), LANES_##name = CONV_VECTORS * W_##name };             \
    static __attribute__((noinline)) void put_part_##name(const type *part, const conv_tile *t)    \
    {                                                                                              \
        for (int i = 0; i < t->rows; i++)                                                          \
            for (int j = 0; j < t->lanes; j++) {                                                   \
                type *to = (type *)t->c + i * t->c_row + j, x = part[i * LANES_##name + j];        \
                *to = t->fresh ? x : x + *to;                                                      \
            }                                                                                      \
    }                                                                                              \
    ALWAYS void put_##name(const int many, v_##name sum[ROWS][CONV_VECTORS], const conv_tile *t,   \
                           const bool by_lane)                                                     \
    {                                                                                              \
        const type *bias = t->bias;                                                                \
        type part[ROWS * LANES_##name] __attribute__((aligned(64)));                               \
        bool whole = t->rows == ROWS && t->lanes == many * W_##name;                               \
        type *c = whole ? t->c : part;                                                             \
        int64_t row = whole ? t->c_row : LANES_##name;                                             \
        if (whole && !t->fresh)                                                                    \
            UNROLL for (int i = 0; i < ROWS; i++) UNROLL for (int v = 0; v < many; v++)            \
                sum[i][v] += ((const u_##name *)(c + i * row))[v];                                 \
        if (bias && by_lane)                                                                       \
            UNROLL for (int i = 0; i < ROWS; i++) UNROLL for (int v = 0; v < many; v++)            \
                sum[i][v] += ((const u_##name *)bias)[v];                                          \
        if (bias && !by_lane)                                                                      \
            UNROLL for (int i = 0; i < ROWS; i++)                                                  \
            {                                                                                      \
                v_##name add = (i < t->rows ? bias[i] : 0) - (v_##name){0};                        \
                UNROLL for (int v = 0; v < many; v++) sum[i][v] += add;                            \
            }                                                                                      \
        UNROLL for (int i = 0; i < ROWS; i++)                                                      \
            UNROLL for (int v = 0; v < many; v++)((u_##name *)(c + i * row))[v] = sum[i][v];       \
        if (!whole)                                                                                \
            put_part_##name(part, t);                                                              \
    }

/* Add to the sums, for each row i, a[i] times `many` vectors at address `at`. */
#define STEP(name, many, at)                                                                       \
    {                                                                                              \
        v_##name y[CONV_VECTORS];                                                                  \
        UNROLL for (int v = 0; v < many; v++) y[v] = *(const u_##name *)(at);                      \
        UNROLL for (int i = 0; i < ROWS; i++)                                                      \
        {                                                                                          \
            v_##name x = a[i] - (v_##name){0};                                                     \
            UNROLL for (int v = 0; v < many; v++) sum[i][v] += x * y[v];                           \
        }                                                                                          \
    }

/* Call fn with the number of vectors that the tile has, 1 to 3; integers, which are rare, always
 * use 3. */
#define BY_VECTORS(type, fn, ...)                                                                  \
    if ((type)0.5 == 0 || t->lanes > 2 * (VECTOR / (int)sizeof(type)))                             \
        fn(3, __VA_ARGS__);                                                                        \
    else if (t->lanes > VECTOR / (int)sizeof(type))                                                \
        fn(2, __VA_ARGS__);                                                                        \
    else                                                                                           \
        fn(1, __VA_ARGS__)

#define TILE(name, type)                                                                           \
    PUT(name, type)                                                                                \
    ALWAYS void tile_of_##name(const int many, int64_t k, const type *a,                           \
                               const void *const from[CONV_VECTORS], int64_t step,                 \
                               const conv_tile *t)                                                 \
    {                                                                                              \
        const type *b[] = {from[0], from[1], from[2]};                                             \
        v_##name sum[ROWS][CONV_VECTORS];                                                          \
        UNROLL for (int i = 0; i < ROWS; i++) sum[i][0] = sum[i][1] = sum[i][2] = (v_##name){0};   \
        for (int64_t p = 0; p < k; p++, a += ROWS, b[0] += step, b[1] += step, b[2] += step)       \
            STEP(name, many, b[v])                                                                 \
        put_##name(many, sum, t, false);                                                           \
    }                                                                                              \
    static void tile_##name(int64_t k, const void *a, const void *const b[CONV_VECTORS],           \
                            int64_t step, const conv_tile *t)                                      \
    {                                                                                              \
        BY_VECTORS(type, tile_of_##name, k, a, b, step, t);                                        \
    }                                                                                              \
    ALWAYS void tile_off_##name(const int many, int64_t k, const type *a, const type *b,           \
                                const int64_t *off, const conv_tile *t)                            \
    {                                                                                              \
        enum { W = VECTOR / sizeof(type) };                                                        \
        v_##name sum[ROWS][CONV_VECTORS];                                                          \
        UNROLL for (int i = 0; i < ROWS; i++) sum[i][0] = sum[i][1] = sum[i][2] = (v_##name){0};   \
        for (int64_t p = 0; p < k; p++, a += ROWS)                                                 \
            STEP(name, many, b + off[p] + v * W)                                                   \
        put_##name(many, sum, t, false);                                                           \
    }                                                                                              \
    static void tile_at_##name(int64_t k, const void *a, const void *b, const int64_t *off,        \
                               const conv_tile *t)                                                 \
    {                                                                                              \
        BY_VECTORS(type, tile_off_##name, k, a, b, off, t);                                        \
    }                                                                                              \
    static void gather_##name(void *to_, int64_t k, const int64_t *off, int n,                     \
                              const void *const *from, const int *lane, const int *len)            \
    {                                                                                              \
        enum { W = VECTOR / sizeof(type), LANES = CONV_VECTORS * W };                              \
        type *to = to_;                                                                            \
        for (int64_t i = 0; i < k; i++, to += LANES)                                               \
            for (int s = 0; s < n; s++) {                                                          \
                const type *x = (const type *)from[s] + off[i];                                    \
                for (int j = 0; j < len[s]; j += W)                                                \
                    *(u_##name *)(to + lane[s] + j) = *(const u_##name *)(x + j);                  \
            }                                                                                      \
    }
TILE(f32, float)
TILE(f64, double)
TILE(i32, uint32_t)
TILE(i64, uint64_t)

/* -- tiles whose rows of `a` are at any addresses -- */

#define PLACES(name, type)                                                                         \
    ALWAYS void places_##name(const int many, int64_t taps, int64_t first, int64_t k,              \
                              const void *const *at, const type *b, const conv_tile *t)            \
    {                                                                                              \
        enum { W = VECTOR / sizeof(type) };                                                        \
        v_##name sum[ROWS][CONV_VECTORS];                                                          \
        UNROLL for (int i = 0; i < ROWS; i++) sum[i][0] = sum[i][1] = sum[i][2] = (v_##name){0};   \
        for (; taps > 0; taps--, at += ROWS) {                                                     \
            const type *x[ROWS];                                                                   \
            UNROLL for (int i = 0; i < ROWS; i++) x[i] = (const type *)at[i] + first;              \
            for (int64_t p = 0; p < k; p++, b += many * W) {                                       \
                v_##name y[CONV_VECTORS];                                                          \
                UNROLL for (int v = 0; v < many; v++) y[v] = ((const u_##name *)b)[v];             \
                UNROLL for (int i = 0; i < ROWS; i++)                                              \
                {                                                                                  \
                    v_##name by = x[i][p] - (v_##name){0};                                         \
                    UNROLL for (int v = 0; v < many; v++) sum[i][v] += by * y[v];                  \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
        put_##name(many, sum, t, true);                                                            \
    }                                                                                              \
    static void tile_of_places_##name(int64_t taps, int64_t first, int64_t k,                      \
                                      const void *const *a, const void *b, const conv_tile *t)     \
    {                                                                                              \
        BY_VECTORS(type, places_##name, taps, first, k, a, b, t);                                  \
    }
PLACES(f32, float)
PLACES(f64, double)

/* -- one output channel: rows of results, from rows of what the taps meet -- */

enum {
    AT_ONCE = 4, /* greatest number of vectors of results that are computed at a time */
    DOTS = 9     /* greatest number of taps that are computed at a time */
};

#define THIN(name, type, bits)                                                                     \
    /* Compute `many` vectors of a row of results, from at[v] on; the last two may overlap. */     \
    ALWAYS void blend_vectors_##name(const int many, type *y, const int64_t *at, int64_t k,        \
                                     const type *w, int64_t w_step, const type *from,              \
                                     const int64_t *off, type add)                                 \
    {                                                                                              \
        v_##name sum[AT_ONCE] = {{0}};                                                             \
        for (int64_t i = 0; i < k; i++) {                                                          \
            const type *x = from + off[i];                                                         \
            v_##name by = w[i * w_step] - (v_##name){0};                                           \
            UNROLL for (int v = 0; v < many; v++) sum[v] += by * *(const u_##name *)(x + at[v]);   \
        }                                                                                          \
        UNROLL for (int v = 0; v < many; v++) * (u_##name *)(y + at[v]) = sum[v] + add;            \
    }                                                                                              \
    static void blend_row_##name(int64_t n, type *y, int64_t k, const type *w, int64_t w_step,     \
                                 const type *from, const int64_t *off, type add)                   \
    {                                                                                              \
        enum { W = VECTOR / sizeof(type) };                                                        \
        for (int64_t j = 0; j < n; j += AT_ONCE * W) {                                             \
            int64_t at[AT_ONCE];                                                                   \
            for (int v = 0; v < AT_ONCE; v++)                                                      \
                at[v] = j + (v + 1) * W < n ? j + v * W : n - W;                                   \
            if (j + 3 * W < n)                                                                     \
                blend_vectors_##name(4, y, at, k, w, w_step, from, off, add);                      \
            else if (j + 2 * W < n)                                                                \
                blend_vectors_##name(3, y, at, k, w, w_step, from, off, add);                      \
            else if (j + W < n)                                                                    \
                blend_vectors_##name(2, y, at, k, w, w_step, from, off, add);                      \
            else                                                                                   \
                blend_vectors_##name(1, y, at, k, w, w_step, from, off, add);                      \
        }                                                                                          \
    }                                                                                              \
    static void blend_##name(int64_t rows, int64_t n, void *y_, int64_t y_row, int64_t k,          \
                             const void *w, int64_t w_step, const void *from_, int64_t from_row,   \
                             const int64_t *off, const void *bias)                                 \
    {                                                                                              \
        enum { W = VECTOR / sizeof(type) };                                                        \
        const type *from = from_, add = bias ? *(const type *)bias : 0;                            \
        type *y = y_, part[W];                                                                     \
        for (int64_t r = 0; r < rows; r++, y += y_row, from += from_row) {                         \
            blend_row_##name(n < W ? W : n, n < W ? part : y, k, w, w_step, from, off, add);       \
            for (int64_t j = 0; n < W && j < n; j++)                                               \
                y[j] = part[j];                                                                    \
        }                                                                                          \
    }                                                                                              \
    ALWAYS void blend_few_##name(const int many, type *y, int64_t y_step, int64_t k,               \
                                 const void *const *w, const void *const *from, int64_t at,        \
                                 int64_t step, int64_t j, v_##name add)                            \
    {                                                                                              \
        v_##name sum[AT_ONCE] = {{0}};                                                             \
        for (int64_t i = 0; i < k; i++) {                                                          \
            v_##name by = *(const u_##name *)((const type *)w[i] + j);                             \
            const type *x = (const type *)from[i] + at + j;                                        \
            UNROLL for (int v = 0; v < many; v++) sum[v] +=                                        \
                by * *(const u_##name *)(x + v * step);                                            \
        }                                                                                          \
        UNROLL for (int v = 0; v < many; v++) * (u_##name *)(y + v * y_step + j) = sum[v] + add;   \
    }                                                                                              \
    static void blend_channels_##name(int64_t n, int64_t results, void *y_, int64_t y_step,        \
                                      int64_t k, const void *const *w, const void *const *from,    \
                                      int64_t step, const void *bias_)                             \
    {                                                                                              \
        enum { W = VECTOR / sizeof(type) };                                                        \
        const type *bias = bias_;                                                                  \
        type *y = y_;                                                                              \
        for (int64_t q = 0, many; q < results; q += many, y += many * y_step) {                    \
            int64_t j = 0;                                                                         \
            many = q + AT_ONCE <= results ? AT_ONCE : 1;                                           \
            for (; j + W <= n; j += W) {                                                           \
                v_##name add = {0};                                                                \
                if (bias)                                                                          \
                    add = *(const u_##name *)(bias + j);                                           \
                if (many == AT_ONCE)                                                               \
                    blend_few_##name(AT_ONCE, y, y_step, k, w, from, q *step, step, j, add);       \
                else                                                                               \
                    blend_few_##name(1, y, y_step, k, w, from, q *step, step, j, add);             \
            }                                                                                      \
            for (; j < n; j++)                                                                     \
                for (int64_t v = 0; v < many; v++) {                                               \
                    type sum = 0;                                                                  \
                    for (int64_t i = 0; i < k; i++)                                                \
                        sum +=                                                                     \
                            ((const type *)w[i])[j] * ((const type *)from[i])[(q + v) * step + j]; \
                    y[v * y_step + j] = bias ? sum + bias[j] : sum;                                \
                }                                                                                  \
        }                                                                                          \
    }                                                                                              \
    /* Add the dot products of y and `many` arrays, which begin at from + off[t]. */               \
    ALWAYS void dots_few_##name(const int many, type *sums, int64_t rows, int64_t n,               \
                                const type *y, int64_t y_row, const type *from, int64_t from_row,  \
                                const int64_t *off, v_##bits last)                                 \
    {                                                                                              \
        enum { W = VECTOR / sizeof(type) };                                                        \
        v_##name sum[DOTS];                                                                        \
        UNROLL for (int t = 0; t < many; t++) sum[t] = ((const u_##name *)sums)[t];                \
        for (int64_t r = 0; r < rows; r++, y += y_row, from += from_row) {                         \
            int64_t j = 0;                                                                         \
            for (; j + W <= n; j += W) {                                                           \
                v_##name by = *(const u_##name *)(y + j);                                          \
                UNROLL for (int t = 0; t < many; t++) sum[t] +=                                    \
                    by * *(const u_##name *)(from + off[t] + j);                                   \
            }                                                                                      \
            if (j == n)                                                                            \
                continue;                                                                          \
            v_##name by = (v_##name)(*(const u_##bits *)(y + j) & last);                           \
            UNROLL for (int t = 0; t < many; t++) sum[t] +=                                        \
                by * (v_##name)(*(const u_##bits *)(from + off[t] + j) & last);                    \
        }                                                                                          \
        UNROLL for (int t = 0; t < many; t++)((u_##name *)sums)[t] = sum[t];                       \
    }                                                                                              \
    static void dots_##name(void *sums_, int64_t rows, int64_t n, int64_t k, const void *y,        \
                            int64_t y_row, const void *from, int64_t from_row, const int64_t *off) \
    {                                                                                              \
        enum { W = VECTOR / sizeof(type) };                                                        \
        type *sums = sums_;                                                                        \
        v_##bits last;                                                                             \
        for (int l = 0; l < W; l++)                                                                \
            last[l] = l < n % W ? -1 : 0;                                                          \
        for (; k >= DOTS; k -= DOTS, sums += DOTS * W, off += DOTS)                                \
            dots_few_##name(DOTS, sums, rows, n, y, y_row, from, from_row, off, last);             \
        for (; k >= 3; k -= 3, sums += 3 * W, off += 3)                                            \
            dots_few_##name(3, sums, rows, n, y, y_row, from, from_row, off, last);                \
        for (; k > 0; k--, sums += W, off++)                                                       \
            dots_few_##name(1, sums, rows, n, y, y_row, from, from_row, off, last);                \
    }
#define ADD(name, type)                                                                            \
    static void add_##name(int64_t n, void *to_, const void *from_)                                \
    {                                                                                              \
        const type *from = from_;                                                                  \
        type *to = to_;                                                                            \
        for (int64_t i = 0; i < n; i++)                                                            \
            to[i] += from[i];                                                                      \
    }
ADD(f32, float)
ADD(f64, double)
ADD(i32, uint32_t)
ADD(i64, uint64_t)
THIN(f32, float, i32)
THIN(f64, double, i64)
THIN(i32, uint32_t, i32)
THIN(i64, uint64_t, i64)

#define CLASS(name, type, places)                                                                  \
    {                                                                                              \
        ROWS, CONV_VECTORS *VECTOR / sizeof(type), sizeof(type), tile_##name, tile_at_##name,      \
            places, gather_##name, blend_##name, blend_channels_##name, dots_##name, add_##name    \
    }
const conv_class DP_ISA_NAME(conv_classes)[] = {
    CLASS(f32, float, tile_of_places_f32), CLASS(f64, double, tile_of_places_f64),
    CLASS(i32, uint32_t, NULL), CLASS(i64, uint64_t, NULL)};

/* -- conversions between elements and numbers of the class -- */

/* Transpose a 4 x 4 matrix of numbers of 4 bytes, of any type; from_row and to_row are the strides
 * of rows. */
typedef uint32_t quad __attribute__((vector_size(16)));
typedef uint32_t quad_at __attribute__((vector_size(16), aligned(4), may_alias));
ALWAYS void turn(uint32_t *to, int64_t to_row, const uint32_t *from, int64_t from_row)
{
    quad r0 = *(const quad_at *)from, r1 = *(const quad_at *)(from + from_row);
    quad r2 = *(const quad_at *)(from + 2 * from_row), r3 = *(const quad_at *)(from + 3 * from_row);
    quad a = __builtin_shuffle(r0, r1, (quad){0, 4, 1, 5});
    quad b = __builtin_shuffle(r2, r3, (quad){0, 4, 1, 5});
    quad c = __builtin_shuffle(r0, r1, (quad){2, 6, 3, 7});
    quad d = __builtin_shuffle(r2, r3, (quad){2, 6, 3, 7});

    *(quad_at *)to = __builtin_shuffle(a, b, (quad){0, 1, 4, 5});
    *(quad_at *)(to + to_row) = __builtin_shuffle(a, b, (quad){2, 3, 6, 7});
    *(quad_at *)(to + 2 * to_row) = __builtin_shuffle(c, d, (quad){0, 1, 4, 5});
    *(quad_at *)(to + 3 * to_row) = __builtin_shuffle(c, d, (quad){2, 3, 6, 7});
}

/* Set to [cols, rows] to the transpose of from [rows, cols]; from_row and to_row are the strides of
 * rows. */
static void turn_all(uint32_t *to, int64_t to_row, const uint32_t *from, int64_t from_row,
                     int64_t rows, int64_t cols)
{
    enum { SIDE = 4 };
    int64_t i = 0;

    for (; i + SIDE <= rows; i += SIDE) {
        int64_t j = 0;
        for (; j + SIDE <= cols; j += SIDE)
            turn(to + j * to_row + i, to_row, from + i * from_row + j, from_row);
        for (; j < cols; j++)
            for (int64_t k = i; k < i + SIDE; k++)
                to[j * to_row + k] = from[k * from_row + j];
    }
    for (; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            to[j * to_row + i] = from[i * from_row + j];
}

/* Copy one vector of numbers, from number `at` on, of an array `from` whose stride `step` is 1 or
 * 2; no memory after the last number is read. */
enum { LANES32 = VECTOR / sizeof(uint32_t) };
ALWAYS void pick_vector(uint32_t *to, const uint32_t *from, int64_t at, const int step, v_i32 even)
{
    const uint32_t *x = from + at * step;

    *(u_i32 *)(to + at) =
        step == 1 ? *(const u_i32 *)x
                  : __builtin_shuffle(*(const u_i32 *)x, *(const u_i32 *)(x + LANES32 - 1), even);
}

/* Copy `rows` rows of `n` numbers with stride `step` (1 or 2).  The last vector of a row may
 * overlap the vector before it. */
ALWAYS void pick(uint32_t *to, int64_t to_row, const uint32_t *from, int64_t row, const int step,
                 int64_t rows, int64_t n)
{
    v_i32 even;

    for (int l = 0; l < LANES32; l++)
        even[l] = (uint32_t)(l < LANES32 / 2 ? 2 * l : 2 * l + 1);
    for (int64_t i = 0; i < rows; i++, to += to_row, from += row) {
        int64_t j = 0;
        for (; j + LANES32 <= n; j += LANES32)
            pick_vector(to, from, j, step, even);
        if (j < n && n >= LANES32)
            pick_vector(to, from, n - LANES32, step, even);
        for (; n < LANES32 && j < n; j++)
            to[j] = from[j * step];
    }
}

static void pick_rows(uint32_t *to, int64_t to_row, const uint32_t *from, int64_t row, int step,
                      int64_t rows, int64_t n)
{
    if (step == 1)
        pick(to, to_row, from, row, 1, rows, n);
    else
        pick(to, to_row, from, row, 2, rows, n);
}

#define SAME(x)   (x)
#define WIDEN(x)  dp_bfloat16_to_float(x)
#define NARROW(x) dp_float_to_bfloat16(x)

/* If elements of a column are contiguous and those of a row are not, the copy goes by columns,
 * BLOCK of them at a time, so that the written memory stays in the cache. */
enum { BLOCK = 16 };
/* Define the conversions of dtype `name`.  `turns`: elements are only copied, and have 4 bytes. */
#define ELEMENTS(name, type, wide, load, store, turns)                                             \
    static void widen_##name(void *to_, int64_t to_row, const void *from_, int64_t row,            \
                             int64_t col, int64_t rows, int64_t cols)                              \
    {                                                                                              \
        const type *from = from_;                                                                  \
        wide *restrict to = to_;                                                                   \
        if (turns && row == 1 && col != 1) {                                                       \
            turn_all(to_, to_row, from_, col, cols, rows);                                         \
            return;                                                                                \
        }                                                                                          \
        if (turns && (col == 1 || col == 2)) {                                                     \
            pick_rows(to_, to_row, from_, row, (int)col, rows, cols);                              \
            return;                                                                                \
        }                                                                                          \
        for (int64_t i = 0; col == 1 && i < rows; i++)                                             \
            for (int64_t j = 0; j < cols; j++)                                                     \
                to[i * to_row + j] = (wide)load(from[i * row + j]);                                \
        for (int64_t i = 0; col == 2 && row != 1 && i < rows; i++)                                 \
            for (int64_t j = 0; j < cols; j++)                                                     \
                to[i * to_row + j] = (wide)load(from[i * row + j * 2]);                            \
        for (int64_t i = 0; col != 1 && col != 2 && row != 1 && i < rows; i++)                     \
            for (int64_t j = 0; j < cols; j++)                                                     \
                to[i * to_row + j] = (wide)load(from[i * row + j * col]);                          \
        for (int64_t b = 0; col != 1 && row == 1 && b < cols; b += BLOCK)                          \
            for (int64_t i = 0; i < rows; i++)                                                     \
                for (int64_t j = b; j < (cols < b + BLOCK ? cols : b + BLOCK); j++)                \
                    to[i * to_row + j] = (wide)load(from[i + j * col]);                            \
    }                                                                                              \
    static void narrow_##name(void *to_, int64_t row, int64_t col, const void *from_,              \
                              int64_t from_row, int64_t rows, int64_t cols)                        \
    {                                                                                              \
        const wide *from = from_;                                                                  \
        type *restrict to = to_;                                                                   \
        if (turns && row == 1 && col != 1) {                                                       \
            turn_all(to_, col, from_, from_row, rows, cols);                                       \
            return;                                                                                \
        }                                                                                          \
        if (turns && col == 1) {                                                                   \
            pick_rows(to_, row, from_, from_row, 1, rows, cols);                                   \
            return;                                                                                \
        }                                                                                          \
        for (int64_t i = 0; col == 1 && i < rows; i++)                                             \
            for (int64_t j = 0; j < cols; j++)                                                     \
                to[i * row + j] = (type)store(from[i * from_row + j]);                             \
        for (int64_t i = 0; col != 1 && row != 1 && i < rows; i++)                                 \
            for (int64_t j = 0; j < cols; j++)                                                     \
                to[i * row + j * col] = (type)store(from[i * from_row + j]);                       \
        for (int64_t b = 0; col != 1 && row == 1 && b < rows; b += BLOCK)                          \
            for (int64_t j = 0; j < cols; j++)                                                     \
                for (int64_t i = b; i < (rows < b + BLOCK ? rows : b + BLOCK); i++)                \
                    to[i + j * col] = (type)store(from[i * from_row + j]);                         \
    }
ELEMENTS(f32, float, float, SAME, SAME, true)
ELEMENTS(f64, double, double, SAME, SAME, false)
ELEMENTS(bf16, uint16_t, float, WIDEN, NARROW, false)
ELEMENTS(u8, uint8_t, uint32_t, SAME, SAME, false)
ELEMENTS(i8, int8_t, uint32_t, SAME, SAME, false)
ELEMENTS(i16, int16_t, uint32_t, SAME, SAME, false)
ELEMENTS(i32, uint32_t, uint32_t, SAME, SAME, true)
ELEMENTS(i64, uint64_t, uint64_t, SAME, SAME, false)

#define ROW(name)                                                                                  \
    {                                                                                              \
        widen_##name, narrow_##name                                                                \
    }
const conv_dtype DP_ISA_NAME(conv_dtypes)[DP_DTYPE_END] = {
    [DP_UINT8] = ROW(u8),    [DP_INT8] = ROW(i8),      [DP_INT16] = ROW(i16),
    [DP_INT32] = ROW(i32),   [DP_INT64] = ROW(i64),    [DP_FLOAT32] = ROW(f32),
    [DP_FLOAT64] = ROW(f64), [DP_BFLOAT16] = ROW(bf16)};
