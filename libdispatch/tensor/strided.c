/* strided.c -- nested loops over host memory: sort and merge dimensions, run loops, copy and
 * convert elements (aten/src/ATen/TensorIterator.cpp: reorder, coalesce, for_each). */
#include "nest.h"

enum { CHUNK = 256 };   /* elements converted at a time, in two buffers of 4 KiB */
enum { FILL_MIN = 16 }; /* fill() writes longer runs of one element */

static const int64_t *strides_at(const dpi_nest *nest, int d)
{
    return nest->strides + (size_t)d * (size_t)nest->n_ops;
}

/* Compare dimensions `a` and `b`, as dpi_nest_order() sorts them.  1: `a` must be outside `b`; -1:
 * `a` must be inside `b`; 0: undecided. */
static int compare(const dpi_nest *nest, int a, int b, bool linear)
{
    const int64_t *sa = strides_at(nest, a), *sb = strides_at(nest, b);

    for (int k = 0; k < (linear ? nest->n_reduced : nest->n_ops); k++) {
        if (k < nest->n_reduced && (sa[k] == 0) != (sb[k] == 0))
            return sb[k] == 0 ? 1 : -1;
        if (linear || sa[k] == 0 || sb[k] == 0)
            continue;
        if (sa[k] != sb[k])
            return sa[k] < sb[k] ? -1 : 1;
        if (nest->sizes[a] > nest->sizes[b])
            return 1;
    }
    return 0;
}

static void permute(dpi_nest *nest, const int *perm)
{
    int64_t sizes[DP_DIM_MAX], strides[DP_DIM_MAX * DP_ITER_OPERANDS_MAX];
    size_t n = (size_t)nest->n_ops, dims = (size_t)nest->ndim;

    dp_copy_n(sizes, nest->sizes, dims, sizeof(int64_t));
    dp_copy_n(strides, nest->strides, dp_size_times(dims, n), sizeof(int64_t));
    for (size_t d = 0; d < dims; d++) {
        nest->sizes[d] = sizes[perm[d]];
        dp_copy_n(nest->strides + d * n, strides + (size_t)perm[d] * n, n, sizeof(int64_t));
    }
}

bool dpi_nest_order(dpi_nest *nest, int *perm, bool linear)
{
    bool unchanged = true;

    for (int i = 0; i < nest->ndim; i++)
        perm[i] = i;
    for (int i = 1; i < nest->ndim; i++)
        for (int outer = i, inner = i - 1; inner >= 0; inner--) {
            int c = compare(nest, perm[inner], perm[outer], linear);
            if (c < 0)
                break;
            if (c > 0) {
                int t = perm[inner];
                perm[inner] = perm[outer];
                perm[outer] = t;
                outer = inner;
            }
        }
    for (int i = 0; i < nest->ndim; i++)
        unchanged &= perm[i] == i;
    if (!unchanged)
        permute(nest, perm);
    return unchanged;
}

static bool merges(const dpi_nest *nest, int inner, int outer)
{
    const int64_t *si = strides_at(nest, inner), *so = strides_at(nest, outer);

    if (nest->sizes[inner] == 1 || nest->sizes[outer] == 1)
        return true;
    for (int k = 0; k < nest->n_ops; k++) {
        int64_t step; /* strides from as_strided can be any numbers */
        if (__builtin_mul_overflow(nest->sizes[inner], si[k], &step) || step != so[k])
            return false;
    }
    return true;
}

void dpi_nest_coalesce(dpi_nest *nest)
{
    int last = 0;

    for (int d = 1; d < nest->ndim; d++) {
        int64_t size = nest->sizes[d];
        if (!merges(nest, last, d))
            nest->sizes[++last] = 1;
        if (nest->sizes[last] == 1) /* its strides are never used: take those of `d` */
            dp_move_n(nest->strides + (size_t)(last * nest->n_ops), strides_at(nest, d),
                      (size_t)nest->n_ops, sizeof(int64_t));
        /* If there are no elements, the product may wrap; then no loop is run. */
        nest->sizes[last] = (int64_t)((uint64_t)nest->sizes[last] * (uint64_t)size);
    }
    nest->ndim = last + 1;
}

typedef struct position {
    int64_t at[DP_DIM_MAX];
    char *data[DP_ITER_OPERANDS_MAX];
} position;

static void step(const dpi_nest *nest, position *p, int d, int64_t n)
{
    const int64_t *s = strides_at(nest, d);

    p->at[d] += n;
    for (int k = 0; k < nest->n_ops; k++)
        p->data[k] += n * s[k];
}

static void seek(const dpi_nest *nest, position *p, int64_t to)
{
    dp_copy_n(p->data, nest->data, (size_t)nest->n_ops, sizeof(char *));
    for (int d = 0; d < nest->ndim; d++) {
        p->at[d] = 0;
        step(nest, p, d, to % nest->sizes[d]);
        to /= nest->sizes[d];
    }
}

/* Go to the start of the run that is `rows` runs further in dimension 1.  After the last run, the
 * position is not used any more. */
static void next_runs(const dpi_nest *nest, position *p, int64_t rows)
{
    step(nest, p, 0, -p->at[0]);
    for (int d = 1; d < nest->ndim; d++, rows = 1) {
        step(nest, p, d, rows);
        if (p->at[d] < nest->sizes[d])
            return;
        step(nest, p, d, -p->at[d]);
    }
}

/* Run `loop` over `rows` whole rows from position `p`, the start of a row. */
static void run_rows(const dpi_nest *nest, const position *p, int64_t rows, dp_iter_loop loop,
                     void *user)
{
    char *data[DP_ITER_OPERANDS_MAX];
    const int64_t *outer = strides_at(nest, 1);

    dp_copy_n(data, p->data, (size_t)nest->n_ops, sizeof(char *));
    for (int64_t i = 0; i < rows; i++) {
        loop(data, nest->strides, nest->sizes[0], user);
        for (int k = 0; k < nest->n_ops; k++)
            data[k] += outer[k];
    }
}

void dpi_nest_run(const dpi_nest *nest, int64_t begin, int64_t end, dp_iter_loop loop, void *user)
{
    position p;

    if (begin >= end)
        return;
    if (nest->ndim == 1 && begin == 0) {
        loop(nest->data, nest->strides, end, user);
        return;
    }
    seek(nest, &p, begin);
    while (begin < end) {
        int64_t n = nest->sizes[0], rows = p.at[0] == 0 ? (end - begin) / n : 0;
        if (rows > 0 && nest->ndim > 1) {
            rows = rows < nest->sizes[1] - p.at[1] ? rows : nest->sizes[1] - p.at[1];
            run_rows(nest, &p, rows, loop, user);
            begin += rows * n;
        } else {
            n -= p.at[0];
            n = n < end - begin ? n : end - begin;
            loop(p.data, nest->strides, n, user);
            begin += n;
            rows = 1;
        }
        next_runs(nest, &p, rows);
    }
}

/* -- moving elements -- */

#define MOVE(bytes)                                                                                \
    case bytes:                                                                                    \
        for (int64_t i = 0; i < n; i++)                                                            \
            memcpy(dst + i * dst_stride, src + i * src_stride, bytes);                             \
        break;

void dpi_repeat(char *dst, int64_t made, int64_t n)
{
    enum { NEAR = 16 << 10 }; /* bytes that stay in the first cache while they are copied */
    int64_t from = made, m;

    for (; made < n; made += m) {
        from = made <= NEAR ? made : from;
        m = from < n - made ? from : n - made;
        memcpy(dst + made, dst, (size_t)m);
    }
}

#define SPREAD(bytes)                                                                              \
    case bytes:                                                                                    \
        for (int k = 0; k < LINE / bytes; k++)                                                     \
            memcpy(line + k * bytes, src, bytes);                                                  \
        break;

/* Fill `dst` with `n` copies of one element. */
static void fill(char *dst, const char *src, int64_t n, int64_t bytes)
{
    enum { LINE = 64 };
    char line[LINE];
    int64_t all = (int64_t)dp_size_times((uint64_t)n, (uint64_t)bytes), i = 0;

    switch (bytes) {
        SPREAD(1)
        SPREAD(2)
        SPREAD(4)
        SPREAD(8)
        SPREAD(16)
    }
    for (; i + LINE <= all; i += LINE)
        memcpy(dst + i, line, LINE);
    memcpy(dst + i, line, (size_t)(all - i));
}

/* Copy `n` elements of `bytes` bytes each, at any alignment. */
static void move(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t n,
                 int64_t bytes)
{
    if (dst_stride == bytes && src_stride == bytes) {
        dp_move_n(dst, src, (size_t)n, (size_t)bytes);
        return;
    }
    if (src_stride == 0 && dst_stride == bytes && n > FILL_MIN) {
        fill(dst, src, n, bytes);
        return;
    }
    switch (bytes) {
        MOVE(1)
        MOVE(2)
        MOVE(4)
        MOVE(8)
        MOVE(16)
    }
}

void dpi_run_copy(dp_dtype to, char *dst, int64_t dst_stride, dp_dtype from, const char *src,
                  int64_t src_stride, int64_t n)
{
    _Alignas(64) char packed[CHUNK * DPI_ITEM_MAX], converted[CHUNK * DPI_ITEM_MAX];
    int64_t to_bytes = (int64_t)dpi_itemsize(to), from_bytes = (int64_t)dpi_itemsize(from);
    bool pack = src_stride != from_bytes, spread = dst_stride != to_bytes;

    if (to == from) {
        move(dst, dst_stride, src, src_stride, n, to_bytes);
        return;
    }
    dp_convert_fn convert = dp_converter(to, from);
    while (n > 0) {
        int64_t m = n < CHUNK || (!pack && !spread) ? n : CHUNK;
        if (pack)
            move(packed, from_bytes, src, src_stride, m, from_bytes);
        convert(spread ? converted : dst, to_bytes, pack ? packed : src, from_bytes, m);
        if (spread)
            move(dst, dst_stride, converted, to_bytes, m, to_bytes);
        dst += m * dst_stride;
        src += m * src_stride;
        n -= m;
    }
}

/* -- stores that bypass the caches -- */

#ifdef __SSE2__
#include <emmintrin.h>
#include <unistd.h>

bool dpi_goes_past(int64_t bytes)
{
    enum { UNKNOWN = 32 << 20 };
    /* half the size of the last cache in bytes; all threads compute the same value */
    static atomic_long half;
    long h = atomic_load_explicit(&half, memory_order_relaxed);

    if (DPI_UNLIKELY(h == 0)) {
        long all = sysconf(_SC_LEVEL3_CACHE_SIZE);
        h = (all > 0 ? all : UNKNOWN) / 2;
        atomic_store_explicit(&half, h, memory_order_relaxed);
    }
    return bytes >= h;
}

/* Copy bytes.  Only whole cache lines bypass the caches, because the processor would have to read a
 * line before it could store a part of it. */
static void move_uncached(char *dst, const char *src, int64_t bytes)
{
    enum { LINE = 64, EACH = sizeof(__m128i) };
    int64_t head = -(uintptr_t)dst % LINE, lines = (bytes - head) / LINE;

    if (bytes < head + LINE) {
        memcpy(dst, src, (size_t)bytes);
        return;
    }
    memcpy(dst, src, (size_t)head);
    for (int64_t i = head; i < head + lines * LINE; i += EACH)
        _mm_stream_si128((__m128i *)(dst + i), _mm_loadu_si128((const __m128i *)(src + i)));
    head += lines * LINE;
    memcpy(dst + head, src + head, (size_t)(bytes - head));
}

void dpi_uncached_end(void)
{
    _mm_sfence();
}
#else
bool dpi_goes_past(int64_t bytes)
{
    (void)bytes;
    return false;
}

static void move_uncached(char *dst, const char *src, int64_t bytes)
{
    memcpy(dst, src, (size_t)bytes);
}

void dpi_uncached_end(void) {}
#endif

void dpi_run_copy_uncached(dp_dtype to, char *dst, dp_dtype from, const char *src,
                           int64_t src_stride, int64_t n)
{
    _Alignas(64) char made[CHUNK * DPI_ITEM_MAX];
    int64_t bytes = (int64_t)dpi_itemsize(to), most = (int64_t)sizeof(made) / bytes;

    if (to == from && src_stride == bytes) {
        move_uncached(dst, src, n * bytes);
        return;
    }
    for (int64_t m; n > 0; n -= m) {
        m = n < most ? n : most;
        dpi_run_copy(to, made, bytes, from, src, src_stride, m);
        move_uncached(dst, made, m * bytes);
        dst += m * bytes;
        src += m * src_stride;
    }
}
