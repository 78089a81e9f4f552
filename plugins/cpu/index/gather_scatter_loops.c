/* gather_scatter_loops.c -- loops over rows of elements that are read or written at given indices.
 *
 * Another thread may write to the index tensor at the same time.  Each index is therefore read
 * once, and the value that was checked is the value that is used. */
#include "gather_scatter_loops.h"

/* For an index out of range, the index itself or size - 1 - index is negative. */
bool gs_inside(const char *at, int64_t at_step, int64_t n, int64_t size)
{
    int64_t signs = 0;

    if (at_step == sizeof(int64_t))
        for (int64_t i = 0; i < n; i++)
            signs |= ((const int64_t *)at)[i] | (size - 1 - ((const int64_t *)at)[i]);
    else
        for (int64_t i = 0; i < n; i++)
            signs |= *(const int64_t *)(at + i * at_step) |
                     (size - 1 - *(const int64_t *)(at + i * at_step));
    return signs >= 0;
}

/* Set *index to the index at address `at`.  False: it is not in [0, size). */
static inline bool index_at(const char *at, int64_t size, int64_t *index)
{
    *index = __atomic_load_n((const int64_t *)at, __ATOMIC_RELAXED);
    return __builtin_expect((uint64_t)*index < (uint64_t)size, 1);
}

static void set_outside(gs_job *job)
{
    __atomic_store_n(&job->outside, 1, __ATOMIC_RELAXED);
}

#define EACH_INDEX _Pragma("GCC unroll 4") for (int64_t i = 0; i < n; i++)

/* -- reading -- */

#define GET(bytes, type)                                                                           \
    static bool get_##bytes(char *dst, int64_t dst_step, const char *src, int64_t src_step,        \
                            const char *at, int64_t at_step, int64_t size, int64_t step,           \
                            int64_t n)                                                             \
    {                                                                                              \
        int64_t index;                                                                             \
        if (dst_step == bytes && src_step == 0 && step == bytes && at_step == sizeof(int64_t))     \
            EACH_INDEX                                                                             \
            {                                                                                      \
                if (!index_at(at + 8 * i, size, &index))                                           \
                    return false;                                                                  \
                ((type *)dst)[i] = ((const type *)src)[index];                                     \
            }                                                                                      \
        else                                                                                       \
            EACH_INDEX                                                                             \
            {                                                                                      \
                if (!index_at(at + i * at_step, size, &index))                                     \
                    return false;                                                                  \
                *(type *)(dst + i * dst_step) =                                                    \
                    *(const type *)(src + i * src_step + index * step);                            \
            }                                                                                      \
        return true;                                                                               \
    }
DP_DTYPE_SIZES(GET)
#undef GET

static bool get_row(const gs_job *job, char *dst, int64_t dst_step, const char *src,
                    int64_t src_step, const char *at, int64_t at_step, int64_t n)
{
    int64_t index;

    if (at_step == 0) {
        if (!index_at(at, job->size, &index))
            return false;
        copy_elements(job->bytes, n, dst, dst_step, src + index * job->step, src_step);
        return true;
    }
    switch (job->bytes) {
#define EACH(bytes, type)                                                                          \
    case bytes:                                                                                    \
        return get_##bytes(dst, dst_step, src, src_step, at, at_step, job->size, job->step, n);
        DP_DTYPE_SIZES(EACH)
#undef EACH
    }
    return false;
}

/* Copy a whole row of `bytes` bytes for each of `n` indices. */
static bool get_whole(const gs_job *job, char *dst, const char *src, const char *at,
                      const int64_t *strides, size_t bytes, int64_t n)
{
    int64_t index, size = job->size, step = job->step;

    for (int64_t j = 0; j < n; j++) {
        if (!index_at(at + j * strides[2], size, &index))
            return false;
        memcpy(dst + j * strides[0], src + j * strides[1] + index * step, bytes);
    }
    return true;
}

void gs_gather_rows(char **data, const int64_t *strides, int64_t n0, int64_t n1, void *user)
{
    gs_job *job = user;
    const int64_t *outer = strides + 3, bytes = (int64_t)job->bytes;
    bool inside = true;

    if (strides[2] == 0 && strides[0] == bytes && strides[1] == bytes)
        inside = get_whole(job, data[0], data[1], data[2], outer, (size_t)(n0 * bytes), n1);
    else
        for (int64_t j = 0; j < n1 && inside; j++)
            inside = get_row(job, data[0] + j * outer[0], strides[0], data[1] + j * outer[1],
                             strides[1], data[2] + j * outer[2], strides[2], n0);
    if (!inside)
        set_outside(job);
}

/* -- writing -- */

/* Define a loop that runs STATEMENT for an element p of self and an element q of the source.  Two
 * cases have faster copies: one index for a contiguous row, and a contiguous line of indices. */
#define RUN(name, memory, ROW, STATEMENT)                                                          \
    static void name(gs_job *job, char *dst, int64_t dst_step, const char *at, int64_t at_step,    \
                     const char *src, int64_t src_step, int64_t n)                                 \
    {                                                                                              \
        int64_t index, size = job->size, step = job->step;                                         \
        if (at_step == 0 && dst_step == sizeof(memory) && src_step == sizeof(memory)) {            \
            if (!index_at(at, size, &index)) {                                                     \
                set_outside(job);                                                                  \
                return;                                                                            \
            }                                                                                      \
            dst += index * step;                                                                   \
            ROW(memory, STATEMENT)                                                                 \
            return;                                                                                \
        }                                                                                          \
        if (dst_step == 0 && step == sizeof(memory) && at_step == sizeof(int64_t) &&               \
            src_step == sizeof(memory)) {                                                          \
            EACH_INDEX                                                                             \
            {                                                                                      \
                if (!index_at(at + 8 * i, size, &index)) {                                         \
                    set_outside(job);                                                              \
                    return;                                                                        \
                }                                                                                  \
                memory *p = (memory *)dst + index;                                                 \
                const memory *q = (const memory *)src + i;                                         \
                STATEMENT;                                                                         \
            }                                                                                      \
            return;                                                                                \
        }                                                                                          \
        for (int64_t i = 0; i < n; i++) {                                                          \
            if (!index_at(at + i * at_step, size, &index)) {                                       \
                set_outside(job);                                                                  \
                return;                                                                            \
            }                                                                                      \
            memory *p = (memory *)(dst + i * dst_step + index * step);                             \
            const memory *q = (const memory *)(src + i * src_step);                                \
            STATEMENT;                                                                             \
        }                                                                                          \
    }

#define COPY_ROW(memory, STATEMENT) dp_move_n(dst, src, (size_t)n, sizeof(memory));
#define LOOP_ROW(memory, STATEMENT)                                                                \
    for (int64_t i = 0; i < n; i++) {                                                              \
        memory *p = (memory *)dst + i;                                                             \
        const memory *q = (const memory *)src + i;                                                 \
        STATEMENT;                                                                                 \
    }

#define SET(bytes, type) RUN(set_##bytes, type, COPY_ROW, *p = *q)
DP_DTYPE_SIZES(SET)
#undef SET

#define TYPED(op, name, memory, value, load, store, expression)                                    \
    RUN(op##_##name, memory, LOOP_ROW, value a = load(*p); value b = load(*q);                     \
        *p = store((value)(expression)))
#define ADD(name, dtype, memory, value, load, store)                                               \
    TYPED(add, name, memory, value, load, store, a + b)
#define SCALE(name, dtype, memory, value, load, store)                                             \
    TYPED(add_scaled, name, memory, value, load, store, a + load(*(const memory *)job->alpha) * b)
#define MUL(name, dtype, memory, value, load, store)                                               \
    TYPED(mul, name, memory, value, load, store, a *b)
#define MAX(name, dtype, memory, value, load, store)                                               \
    TYPED(max, name, memory, value, load, store, b != b || b > a ? b : a)
#define MIN(name, dtype, memory, value, load, store)                                               \
    TYPED(min, name, memory, value, load, store, b != b || b < a ? b : a)
DP_DTYPES_ALL(ADD)
DP_DTYPES_ALL(SCALE)
DP_DTYPES_ALL(MUL)
DP_DTYPES_REAL(MAX)
DP_DTYPES_REAL(MIN)

#define ROW_OF(op, name, dtype)     [dtype] = op##_##name,
#define ADD_ROW(name, dtype, ...)   ROW_OF(add, name, dtype)
#define SCALE_ROW(name, dtype, ...) ROW_OF(add_scaled, name, dtype)
#define MUL_ROW(name, dtype, ...)   ROW_OF(mul, name, dtype)
#define MAX_ROW(name, dtype, ...)   ROW_OF(max, name, dtype)
#define MIN_ROW(name, dtype, ...)   ROW_OF(min, name, dtype)

gs_scatter_loop gs_find_scatter_loop(gs_op op, dp_dtype dtype)
{
    static const gs_scatter_loop by_size[] = {
        [1] = set_1, [2] = set_2, [4] = set_4, [8] = set_8, [16] = set_16};
    static const gs_scatter_loop by_type[GS_OPS][DP_DTYPE_END] = {
        [GS_ADD] = {DP_DTYPES_ALL(ADD_ROW)},  [GS_ADD_SCALED] = {DP_DTYPES_ALL(SCALE_ROW)},
        [GS_MUL] = {DP_DTYPES_ALL(MUL_ROW)},  [GS_MAX] = {DP_DTYPES_REAL(MAX_ROW)},
        [GS_MIN] = {DP_DTYPES_REAL(MIN_ROW)},
    };

    return op == GS_SET ? by_size[dp_dtype_size(dtype)] : by_type[op][dtype];
}
