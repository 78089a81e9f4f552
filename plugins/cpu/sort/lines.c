/* lines.c -- sorting and selection along the lines of a tensor, on several threads.
 *
 * The elements of a line are loaded as records of a key and an index.  If a line's elements are far
 * apart in memory, several neighbouring lines are loaded together. */
#include "lib/poll.h"
#include "lines.h"
#include "core/dense.h"
#include <stdlib.h>

enum {
    LN_SHORT = 40,       /* greatest number of elements of a line that is sorted by insertion */
    LN_BLOCK = 128,      /* number of records that a partition compares at a time */
    LN_WIDE = 16,        /* greatest number of lines that are loaded at a time */
    LN_CACHED = 1 << 17, /* greatest number of bytes of the records of these lines */
    /* greatest number of parts of the work, each with scratch memory of its own */
    LN_SLOTS = 64,
    LN_SLOTS_LEAST = 8,
    /* limit of the bytes of all scratch memory, above which there are fewer parts */
    LN_SLOT_BYTES = 1 << 26,
    LN_SIFT = 32,      /* cost of a record that leaves a heap for poll_stops() (poll.h) */
    LN_FEW = 64,       /* topk uses a heap if k is at most the length of a line divided by this */
    LN_LOOKED_AT = 32, /* number of elements that the heap's loop compares at a time */
    /* upper bound of the bytes of all parts' scratch memory per element of a line */
    LN_LINE_BYTES = 1 << 16,
};

/* X(name, dtype, unsigned type of its bits, sign bit, bits of infinity or 0 for integers) */
#define LN_TYPES(X)                                                                                \
    X(b8, DP_BOOL, uint8_t, UINT64_C(0), UINT64_C(0))                                              \
    X(u8, DP_UINT8, uint8_t, UINT64_C(0), UINT64_C(0))                                             \
    X(i8, DP_INT8, uint8_t, UINT64_C(0x80), UINT64_C(0))                                           \
    X(i16, DP_INT16, uint16_t, UINT64_C(0x8000), UINT64_C(0))                                      \
    X(i32, DP_INT32, uint32_t, UINT64_C(0x80000000), UINT64_C(0))                                  \
    X(i64, DP_INT64, uint64_t, UINT64_C(0x8000000000000000), UINT64_C(0))                          \
    X(f16, DP_FLOAT16, uint16_t, UINT64_C(0x8000), UINT64_C(0x7c00))                               \
    X(bf16, DP_BFLOAT16, uint16_t, UINT64_C(0x8000), UINT64_C(0x7f80))                             \
    X(f32, DP_FLOAT32, uint32_t, UINT64_C(0x80000000), UINT64_C(0x7f800000))                       \
    X(f64, DP_FLOAT64, uint64_t, UINT64_C(0x8000000000000000), UINT64_C(0x7ff0000000000000))

/* Define the conversion of an element's bits to a key whose unsigned order is the order of the
 * elements, without branches, because signs are often random. */
#define LN_KEY(name, dtype, type, sign, inf)                                                       \
    static inline type key_##name(type bits)                                                       \
    {                                                                                              \
        const type top = (type)(sign), infinity = (type)(inf);                                     \
        type negative = (type) - (type)(bits >> (8 * sizeof(type) - 1));                           \
        type key = bits ^ (negative | top);                                                        \
        key = (type)(key + (bits == top));                           /* the key of 0 */            \
        key |= (type) - (type)((bits & (type)(top - 1)) > infinity); /* the greatest key */        \
        return infinity == 0 ? bits ^ top : key;                                                   \
    }
LN_TYPES(LN_KEY)

/* Convert a key back to bits; not for the keys of 0 and NaN, which stand for several elements. */
static inline uint64_t ln_bits(uint64_t key, uint64_t sign, uint64_t inf)
{
    return inf != 0 && !(key & sign) ? ~key : key ^ sign;
}

/* Test whether the request must stop, for work on `n` records.  If it must, the loops of
 * lines_of_size.h leave records in any order, and their results have no meaning. */
static bool ln_stops(int64_t n)
{
    return n > POLL_STEPS && dp_stop_code(NULL) != 0;
}

struct ln_kind;

typedef struct ln_job {
    ln_op op;
    const struct ln_kind *kind;
    /* elements of a line of x; of a line of the results; the k of topk or kthvalue */
    int64_t n, m, k;
    /* number of elements that become records; other elements are only compared with the heap's
     * greatest */
    int64_t held;
    /* number with which keys are combined by exclusive or, for descending order; key of NaN, or
     * 0 */
    uint64_t flip, nan;
    bool sorted, stable;
    int ndim, dim, across; /* across: the dimension whose lines are loaded at a time; -1: none */
    const int64_t *sizes;
    char *x, *value, *index;
    /* strides in bytes */
    int64_t x_strides[DP_DIM_MAX], value_strides[DP_DIM_MAX], index_strides[DP_DIM_MAX];
    int64_t x_step, value_step, index_step, x_line, value_line, index_line;
    int64_t width, together, units, slots;
    char *room;
    size_t room_bytes;
} ln_job;

/* `w` lines that are computed at a time */
typedef struct ln_block {
    const char *x;
    char *value, *index;
    int64_t w;
} ln_block;

/* a function that puts a record into a heap of `k` records, and returns the greatest key in the
 * heap */
typedef uint64_t ln_take(void *records, int64_t k, uint64_t key, int64_t at);

/* Define a function that puts those elements of a line after the first k whose keys are less than
 * `bound` into the heap; each one lowers the bound. */
#define LN_TAKE_LESS(name, dtype, type, sign, inf)                                                 \
    static void take_less_##name(const ln_job *j, const char *x, ln_take *take, void *records,     \
                                 uint64_t bound)                                                   \
    {                                                                                              \
        const type flip = (type)j->flip;                                                           \
        type least = (type)bound, keys[LN_LOOKED_AT];                                              \
        int64_t n = LN_LOOKED_AT;                                                                  \
        poll look = {0};                                                                           \
        for (int64_t i = j->k; i < j->n && !poll_stops(&look, LN_LOOKED_AT); i += n) {             \
            const char *from = x + i * j->x_step;                                                  \
            type any = 0;                                                                          \
            n = j->n - i < n ? j->n - i : n;                                                       \
            if (j->x_step == sizeof(type) && n == LN_LOOKED_AT)                                    \
                for (int b = 0; b < LN_LOOKED_AT; b++) {                                           \
                    keys[b] = key_##name(((const type *)from)[b]) ^ flip;                          \
                    any |= keys[b] < least;                                                        \
                }                                                                                  \
            else                                                                                   \
                for (int b = 0; b < n; b++) {                                                      \
                    keys[b] = key_##name(*(const type *)(from + b * j->x_step)) ^ flip;            \
                    any |= keys[b] < least;                                                        \
                }                                                                                  \
            for (int b = 0; any && b < n; b++)                                                     \
                if (keys[b] < least)                                                               \
                    least = (type)take(records, j->k, keys[b], i + b);                             \
        }                                                                                          \
    }
LN_TYPES(LN_TAKE_LESS)

typedef void ln_take_less(const ln_job *j, const char *x, ln_take *take, void *records,
                          uint64_t bound);
static ln_take_less *const take_less_of[DP_DTYPE_END] = {
#define TAKE_LESS(name, dtype, type, sign, inf) [dtype] = take_less_##name,
    LN_TYPES(TAKE_LESS)
#undef TAKE_LESS
};

typedef struct ln_kind {
    size_t bytes;
    void (*top_of)(const ln_job *j, ln_take_less *take_less, const char *x, void *records);
    void (*work)(const ln_job *j, void *records, void *room);
    void (*store_places)(const ln_job *j, const ln_block *l, const void *records);
    struct {
        void (*load)(const ln_job *j, const ln_block *l, void *records);
        void (*store)(const ln_job *j, const ln_block *l, const void *records);
    } types[DP_DTYPE_END];
} ln_kind;

/* keys of up to 32 bits, in lines of up to 2^32 elements */
#define NAME(f)       f##_narrow
#define REC           uint64_t
#define KEY(r)        ((r) >> 32)
#define AT(r)         ((r)&UINT32_MAX)
#define MAKE(key, at) ((key) << 32 | (uint64_t)(at))
#define KEY_BYTES     4
#include "lines_of_size.h"

typedef struct wide {
    uint64_t key, at;
} wide;
#define NAME(f)       f##_wide
#define REC           wide
#define KEY(r)        ((r).key)
#define AT(r)         ((r).at)
#define MAKE(key, at) ((wide){key, (uint64_t)(at)})
#define KEY_BYTES     8
#include "lines_of_size.h"

/* -- running -- */

static void run_block(const ln_job *j, dp_dtype dtype, int64_t unit, char *records)
{
    int64_t blocks = (j->width + j->together - 1) / j->together;
    int64_t first = unit % blocks * j->together, rest = unit / blocks;
    ln_block l = {j->x + first * j->x_line, j->value + first * j->value_line,
                  j->index + first * j->index_line, j->width - first};
    size_t line = (size_t)j->held * j->kind->bytes;

    l.w = l.w < j->together ? l.w : j->together;
    for (int d = j->ndim - 1; d >= 0; d--) {
        if (d == j->dim || d == j->across)
            continue;
        l.x += rest % j->sizes[d] * j->x_strides[d];
        l.value += rest % j->sizes[d] * j->value_strides[d];
        l.index += rest % j->sizes[d] * j->index_strides[d];
        rest /= j->sizes[d];
    }
    j->kind->types[dtype].load(j, &l, records);
    if (ln_stops(j->held * l.w)) /* the request must stop, so records may be missing */
        return;
    if (j->held < j->n)
        j->kind->top_of(j, take_less_of[dtype], l.x, records);
    for (int64_t w = 0; w < l.w && j->held == j->n; w++)
        j->kind->work(j, records + (size_t)w * line, records + (size_t)j->together * line);
    if (ln_stops(j->n))
        return;
    j->kind->types[dtype].store(j, &l, records);
    j->kind->store_places(j, &l, records);
}

typedef struct ln_run_of {
    const ln_job *job;
    dp_dtype dtype;
} ln_run_of;

static void run_slots(int64_t begin, int64_t end, void *user)
{
    const ln_run_of *r = user;
    const ln_job *j = r->job;
    poll look = {0};

    for (int64_t slot = begin; slot < end; slot++) {
        int64_t each = j->units / j->slots, more = j->units % j->slots;
        int64_t from = slot * each + (slot < more ? slot : more);
        int64_t to = from + each + (slot < more);
        for (int64_t unit = from; unit < to && !poll_stops(&look, j->n * j->together); unit++)
            run_block(j, r->dtype, unit, j->room + (size_t)slot * j->room_bytes);
    }
}

/* -- preparing -- */

static void strides_of(const ln_job *j, const dp_view *v, int64_t *strides)
{
    int64_t bytes = (int64_t)dp_dtype_size(v->dtype);
    bool lacks = v->ndim < j->ndim;

    for (int d = 0, from = 0; d < j->ndim; d++)
        strides[d] = lacks && d == j->dim ? 0 : v->strides[from++] * bytes;
}

/* Return the dimension along which lines are nearest to each other in memory; -1: the elements of a
 * line are nearer. */
static int neighbours(const ln_job *j)
{
    int found = -1;

    for (int d = 0; d < j->ndim; d++)
        if (d != j->dim && j->sizes[d] > 1 && j->x_strides[d] < j->x_step &&
            (found < 0 || j->x_strides[d] <= j->x_strides[found]))
            found = d;
    return found;
}

static void plan(ln_job *j, int64_t lines)
{
    j->across = neighbours(j);
    j->held = j->across < 0 && j->op == LN_TOP && j->k <= j->n / LN_FEW ? j->k : j->n;

    int64_t line = j->held * (int64_t)j->kind->bytes;
    j->width = j->together = 1;
    if (j->across >= 0) {
        j->width = j->sizes[j->across];
        j->x_line = j->x_strides[j->across];
        j->value_line = j->value_strides[j->across];
        j->index_line = j->index_strides[j->across];
        j->together = LN_CACHED / line < 1 ? 1 : LN_CACHED / line;
        j->together = j->together < LN_WIDE ? j->together : LN_WIDE;
    }
    j->units = lines / j->width * ((j->width + j->together - 1) / j->together);
    j->room_bytes = (size_t)(line * (j->together + 1));
    j->slots = LN_SLOTS;
    while (j->slots > LN_SLOTS_LEAST && j->slots * (int64_t)j->room_bytes > LN_SLOT_BYTES)
        j->slots /= 2;
    j->slots = j->slots < j->units ? j->slots : j->units;
}

/* Return the cost of a line of `n` elements, in element operations. */
static double cost_of(const ln_call *c, double n)
{
    return c->op == LN_SORT || c->op == LN_MODE ? 8 * n : 2 * n;
}

int ln_run(dp_ctx *ctx, const ln_call *c, dp_tensor *values, dp_tensor *indices)
{
    DP_VIEW(x, c->self);
    DP_VIEW(v, values);
    DP_VIEW(i, indices);
    ln_job j = {.op = c->op,
                .k = c->k,
                .sorted = c->sorted,
                .stable = c->stable,
                .ndim = x.ndim,
                .dim = (int)c->dim};
    size_t bytes = dp_dtype_size(x.dtype);
    uint64_t mask = UINT64_MAX >> (64 - 8 * bytes);

    if (v.numel == 0 || dp_memoryless(ctx))
        return 0;
    j.n = x.ndim ? x.sizes[c->dim] : 1;
    j.m = v.ndim == x.ndim && x.ndim ? v.sizes[c->dim] : 1;
    j.k = x.ndim ? c->k : c->op == LN_TOP;
    j.sizes = x.sizes;
    j.x = x.data, j.value = v.data, j.index = i.data;
    j.kind = bytes > 4 || j.n > (int64_t)UINT32_MAX ? &kind_wide : &kind_narrow;
    j.flip = c->descending ? mask : 0;
    j.nan = dp_dtype_is_floating(x.dtype) ? mask : 0;
    strides_of(&j, &x, j.x_strides);
    strides_of(&j, &v, j.value_strides);
    strides_of(&j, &i, j.index_strides);
    if (x.ndim > 0) {
        j.x_step = j.x_strides[j.dim];
        j.value_step = j.value_strides[j.dim];
        j.index_step = j.index_strides[j.dim];
    }
    if (j.n > INT64_MAX / LN_LINE_BYTES)
        return dp_fail(ctx, DP_ERESOURCE, "out of memory: lines of %" PRId64 " elements", j.n);
    plan(&j, x.numel / j.n);
    j.room = dp_alloc_n(ctx, (size_t)j.slots, j.room_bytes);
    if (j.room == NULL)
        return DP_ERESOURCE;
    ln_run_of r = {&j, x.dtype};
    double each = cost_of(c, (double)j.n) * (double)(x.numel / j.n) / (double)j.slots;
    return dp_parallel_for(ctx, 0, j.slots, dense_grain(each), run_slots, &r);
}
