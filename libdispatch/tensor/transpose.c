/* transpose.c -- copies between layouts whose innermost dimensions differ.
 *
 * A run along the destination would read one element from each of many cache lines, which are
 * evicted before the next run needs them.  Therefore elements move in tiles: a tile is read along
 * the source, transposed in a buffer that fits the first cache, and written along the destination
 * in whole cache lines.  Rows of a matrix with 1024 columns compete for the same sets of the cache;
 * rows of the buffer do not.  Tiles make copies ten times faster. */
#include "nest.h"

enum {
    /* elements of a tile in each of its two dimensions, if both are that long */
    TILE_SIDE = 64,
    TILE_BYTES = 32 << 10, /* greatest size of a tile in bytes */
    VECTOR = 16, /* bytes of a vector; the registers hold the 16 vectors of the largest block */
    TILE_ELEMENTS = TILE_SIDE * TILE_SIDE /* greatest number of elements of a tile */
};

typedef struct tiles {
    const dpi_nest *nest; /* operand 0 is written, operand 1 is read */
    dp_dtype to, from;
    int source_inner; /* innermost dimension of the source; the destination's is 0 */
    int64_t side[2];  /* elements of a tile along dimensions 0 and `source_inner` */
    int64_t count[2]; /* number of tiles along these dimensions */
    bool uncached;    /* stores bypass the caches */
} tiles;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* -- square blocks of elements, transposed in registers -- */

/* Function name(): transpose one block of n x n elements.  A stage interleaves the elements of rows
 * i and i + n/2: `low` and `high` are the lists of indices that select the first and the second
 * half of the result.  After log2(n) stages, row i is column i of the source.  `rows`: number of
 * source rows; if it is less than n, the last row is read in place of the missing rows.
 *
 * Function name_all(): transpose n0 runs of na elements, each run contiguous, into na rows of n0
 * elements.  A block that is only partly inside is read and written as a whole.  The elements that
 * this writes behind a row are overwritten by the next row; behind the last row, `dst` must have
 * space for them. */
#define TRANSPOSE(name, type, n, stages, low, high)                                                \
    typedef type name##_row __attribute__((vector_size(VECTOR)));                                  \
    static inline __attribute__((always_inline)) void name(                                        \
        char *dst, int64_t dst_row, const char *src, int64_t src_row, int64_t rows)                \
    {                                                                                              \
        name##_row x[n], y[n];                                                                     \
        _Pragma("GCC unroll 16") for (int i = 0; i < n; i++)                                       \
            memcpy(&x[i], src + (i < rows ? i : rows - 1) * src_row, VECTOR);                      \
        _Pragma("GCC unroll 4") for (int s = 0; s < stages; s++)                                   \
        {                                                                                          \
            _Pragma("GCC unroll 8") for (int i = 0; i < n / 2; i++)                                \
            {                                                                                      \
                y[2 * i] = __builtin_shufflevector(x[i], x[i + n / 2], low);                       \
                y[2 * i + 1] = __builtin_shufflevector(x[i], x[i + n / 2], high);                  \
            }                                                                                      \
            _Pragma("GCC unroll 16") for (int i = 0; i < n; i++) x[i] = y[i];                      \
        }                                                                                          \
        _Pragma("GCC unroll 16") for (int i = 0; i < n; i++)                                       \
            memcpy(dst + i * dst_row, &x[i], VECTOR);                                              \
    }                                                                                              \
    static void name##_all(char *dst, int64_t dst_row, const char *src, int64_t src_row,           \
                           int64_t n0, int64_t na)                                                 \
    {                                                                                              \
        const int64_t bytes = VECTOR / n;                                                          \
        for (int64_t i = 0; i + n <= n0; i += n)                                                   \
            for (int64_t k = 0; k < na; k += n)                                                    \
                name(dst + k * dst_row + i * bytes, dst_row, src + i * src_row + k * bytes,        \
                     src_row, n);                                                                  \
        for (int64_t i = n0 / n * n, k = 0; i < n0 && k < na; k += n)                              \
            name(dst + k * dst_row + i * bytes, dst_row, src + i * src_row + k * bytes, src_row,   \
                 n0 - i);                                                                          \
    }
#define LIST(...) __VA_ARGS__
TRANSPOSE(transpose_1, uint8_t, 16, 4, LIST(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23),
          LIST(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31))
TRANSPOSE(transpose_2, uint16_t, 8, 3, LIST(0, 8, 1, 9, 2, 10, 3, 11),
          LIST(4, 12, 5, 13, 6, 14, 7, 15))
TRANSPOSE(transpose_4, uint32_t, 4, 2, LIST(0, 4, 1, 5), LIST(2, 6, 3, 7))
TRANSPOSE(transpose_8, uint64_t, 2, 1, LIST(0, 2), LIST(1, 3))

typedef void (*transpose_fn)(char *dst, int64_t dst_row, const char *src, int64_t src_row,
                             int64_t n0, int64_t na);
static const transpose_fn transposes[] = {
    [1] = transpose_1_all, [2] = transpose_2_all, [4] = transpose_4_all, [8] = transpose_8_all};

/* Transpose element by element.  `step`: bytes between elements of a run.  The longer of the two
 * loops is the inner one. */
static void transpose_elements(dp_dtype d, char *dst, int64_t dst_row, const char *src,
                               int64_t src_row, int64_t step, int64_t n0, int64_t na)
{
    int64_t bytes = (int64_t)dpi_itemsize(d);

    if (n0 > na)
        for (int64_t k = 0; k < na; k++)
            dpi_run_copy(d, dst + k * dst_row, bytes, d, src + k * step, src_row, n0);
    else
        for (int64_t i = 0; i < n0; i++)
            dpi_run_copy(d, dst + i * bytes, dst_row, d, src + i * src_row, step, na);
}

/* Set `*i` to the number of runs, and `*k` to the number of elements of each run, that are
 * transposed in blocks; the remainder is transposed element by element.  Blocks are also used for a
 * dimension that is shorter than a block but at least half as long, unless they would read bytes
 * behind the last run. */
static void count_blocks(int64_t n0, int64_t na, int64_t src_row, int64_t bytes, int64_t *i,
                         int64_t *k)
{
    int64_t n = VECTOR / bytes, inside = ((n0 - 1) * src_row + na * bytes - VECTOR) / src_row + 1;

    *i = n0 / n * n;
    *k = na / n * n;
    if (*i > 0 && *k == 0 && 2 * na >= n) {
        *i = least(n0, inside) / n * n;
        *k = na;
    } else if (*i == 0 && *k > 0 && 2 * n0 >= n) {
        *i = n0;
    }
    if (*i == 0 || *k == 0)
        *i = *k = 0;
}

/* Transpose a tile into `dst`: packed rows of `n0` elements. */
static void transpose_tile(const tiles *t, char *dst, const char *src, int64_t n0, int64_t na)
{
    int64_t bytes = (int64_t)dpi_itemsize(t->from), row = n0 * bytes, i = 0, k = 0;
    int64_t src_row = t->nest->strides[1], step = t->nest->strides[2 * t->source_inner + 1];

    if (step == bytes && bytes < VECTOR)
        count_blocks(n0, na, src_row, bytes, &i, &k);
    if (i > 0)
        transposes[bytes](dst, row, src, src_row, i, k);
    if (k > 0 && k < na) /* the remaining elements of these runs */
        transpose_elements(t->from, dst + k * row, row, src + k * step, src_row, step, i, na - k);
    if (i < n0)
        transpose_elements(t->from, dst + i * bytes, row, src + i * src_row, src_row, step, n0 - i,
                           na);
}

/* -- tiles -- */

static void run_tile(const tiles *t, char *dst, const char *src, int64_t n0, int64_t na)
{
    _Alignas(64) char tile[TILE_BYTES + VECTOR];
    const int64_t *steps = t->nest->strides;
    int64_t bytes = (int64_t)dpi_itemsize(t->from), each = steps[0],
            row = steps[2 * t->source_inner];
    int64_t runs = na, length = n0;

    transpose_tile(t, tile, src, n0, na);
    if (row == n0 * each) { /* the tile's rows are contiguous in the destination */
        length *= runs;
        runs = 1;
    }
    for (int64_t k = 0; k < runs; k++)
        if (t->uncached)
            dpi_run_copy_uncached(t->to, dst + k * row, t->from, tile + k * length * bytes, bytes,
                                  length);
        else
            dpi_run_copy(t->to, dst + k * row, each, t->from, tile + k * length * bytes, bytes,
                         length);
}

/* Copy tiles [begin, end).  Tiles along `source_inner` follow one another, so that all elements of
 * a page of the source are read before the next page. */
static void run_tiles(int64_t begin, int64_t end, void *user)
{
    const tiles *t = user;
    const dpi_nest *nest = t->nest;

    for (int64_t at = begin; at < end; at++) {
        int64_t index = at / t->count[1], i[2] = {index % t->count[0], at % t->count[1]}, n[2];
        char *data[2] = {nest->data[0], nest->data[1]};
        index /= t->count[0];
        for (int d = 0; d < nest->ndim; d++) {
            int side = d == 0 ? 0 : d == t->source_inner ? 1 : -1;
            int64_t step = side >= 0 ? i[side] * t->side[side] : index % nest->sizes[d];
            if (side >= 0)
                n[side] = least(t->side[side], nest->sizes[d] - step);
            else
                index /= nest->sizes[d];
            for (int k = 0; k < 2; k++)
                data[k] += step * nest->strides[2 * d + k];
        }
        run_tile(t, data[0], data[1], n[0], n[1]);
    }
    if (t->uncached)
        dpi_uncached_end();
}

int dpi_nest_source_inner(const dpi_nest *nest)
{
    int least_of = 0;

    for (int d = 1; d < nest->ndim; d++)
        if (nest->strides[2 * d + 1] > 0 &&
            nest->strides[2 * d + 1] < nest->strides[2 * least_of + 1])
            least_of = d;
    return least_of;
}

int dpi_copy_transposed(const dpi_nest *nest, int source_inner, dp_dtype to, dp_dtype from,
                        bool uncached, int threads, const dpi_stop *stop)
{
    tiles t = {
        .nest = nest, .to = to, .from = from, .source_inner = source_inner, .uncached = uncached};
    int64_t n0 = nest->sizes[0], na = nest->sizes[source_inner];
    int64_t most = least(TILE_ELEMENTS, TILE_BYTES / (int64_t)dpi_itemsize(from));

    t.side[1] = least(na, TILE_SIDE);
    t.side[0] = least(n0, most / t.side[1] / VECTOR * VECTOR);
    /* a tile that is short in dimension 0 may be longer in the other dimension */
    if (t.side[0] < TILE_SIDE)
        t.side[1] = least(na, most / t.side[0] / VECTOR * VECTOR);
    t.count[0] = (n0 + t.side[0] - 1) / t.side[0];
    t.count[1] = (na + t.side[1] - 1) / t.side[1];
    int64_t all = nest->numel / (n0 * na) * t.count[0] * t.count[1];
    return dpi_thread_pool_run(threads, 0, all, 1 + (DPI_GRAIN - 1) / (t.side[0] * t.side[1]),
                               run_tiles, &t, stop);
}
