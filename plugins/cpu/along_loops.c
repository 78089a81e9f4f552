/* along_loops.c -- rows of elements, at and from their indices. */
#include "along_loops.h"

/* An index outside, or what is left from it to the last one, is negative. */
bool along_inside(const char *at, int64_t at_step, int64_t n, int64_t size)
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

/* -- reading -- */

#define GET(bytes, type)                                                                           \
    static void get_##bytes(char *dst, int64_t dst_step, const char *src, int64_t src_step,        \
                            const char *at, int64_t at_step, int64_t step, int64_t n)              \
    {                                                                                              \
        if (dst_step == bytes && src_step == 0 && step == bytes && at_step == sizeof(int64_t))     \
            for (int64_t i = 0; i < n; i++)                                                        \
                ((type *)dst)[i] = ((const type *)src)[((const int64_t *)at)[i]];                  \
        else                                                                                       \
            for (int64_t i = 0; i < n; i++)                                                        \
                *(type *)(dst + i * dst_step) =                                                    \
                    *(const type *)(src + i * src_step +                                           \
                                    *(const int64_t *)(at + i * at_step) * step);                  \
    }
ELEMENT_SIZES(GET)
#undef GET

bool along_own(int64_t *own, const char *at, int64_t at_step, int64_t n, int64_t size)
{
    copy_elements(sizeof(int64_t), n, (char *)own, sizeof(int64_t), at, at_step);
    return along_inside((const char *)own, sizeof(int64_t), n, size);
}

void along_get_row(along_job *job, char *dst, int64_t dst_step, const char *src, int64_t src_step,
                   const char *at, int64_t at_step, int64_t n)
{
    int64_t most = at_step == 0 ? n : ALONG_OWN, own[ALONG_OWN];

    for (int64_t m; n > 0; n -= m, dst += m * dst_step, src += m * src_step, at += m * at_step) {
        m = n < most ? n : most;
        if (!along_own(own, at, at_step, at_step ? m : 1, job->size)) {
            __atomic_store_n(&job->outside, 1, __ATOMIC_RELAXED);
            return;
        }
        if (at_step == 0) {
            copy_elements(job->bytes, m, dst, dst_step, src + own[0] * job->step, src_step);
            continue;
        }
        switch (job->bytes) {
#define EACH(bytes, type)                                                                          \
    case bytes:                                                                                    \
        get_##bytes(dst, dst_step, src, src_step, (const char *)own, sizeof(int64_t), job->step,   \
                    m);                                                                            \
        break;
            ELEMENT_SIZES(EACH)
#undef EACH
        }
    }
}

/* -- writing -- */

/* Elements p of self and q of the source: with one index for all, beside one another; or one line of each
 * that is packed; or anything. */
#define RUN(name, memory, STATEMENT)                                                               \
    static void name(const along_job *job, char *dst, int64_t dst_step, const char *at,            \
                     int64_t at_step, const char *src, int64_t src_step, int64_t n)                \
    {                                                                                              \
        if (at_step == 0 && dst_step == sizeof(memory) && src_step == sizeof(memory)) {            \
            dst += *(const int64_t *)at * job->step;                                               \
            for (int64_t i = 0; i < n; i++) {                                                      \
                memory *p = (memory *)dst + i;                                                     \
                const memory *q = (const memory *)src + i;                                         \
                STATEMENT;                                                                         \
            }                                                                                      \
            return;                                                                                \
        }                                                                                          \
        if (dst_step == 0 && job->step == sizeof(memory) && at_step == sizeof(int64_t) &&          \
            src_step == sizeof(memory)) {                                                          \
            for (int64_t i = 0; i < n; i++) {                                                      \
                memory *p = (memory *)dst + ((const int64_t *)at)[i];                              \
                const memory *q = (const memory *)src + i;                                         \
                STATEMENT;                                                                         \
            }                                                                                      \
            return;                                                                                \
        }                                                                                          \
        for (int64_t i = 0; i < n; i++) {                                                          \
            memory *p =                                                                            \
                (memory *)(dst + i * dst_step + *(const int64_t *)(at + i * at_step) * job->step); \
            const memory *q = (const memory *)(src + i * src_step);                                \
            STATEMENT;                                                                             \
        }                                                                                          \
    }

#define SET(bytes, type) RUN(set_##bytes, type, *p = *q)
ELEMENT_SIZES(SET)
#undef SET

#define TYPED(op, dtype, memory, value, load, store, expression)                                   \
    RUN(op##_##dtype, memory, value a = load(*p); value b = load(*q);                              \
        *p = store((value)(expression)))
#define ADD(dtype, memory, value, load, store) TYPED(add, dtype, memory, value, load, store, a + b)
#define SCALE(dtype, memory, value, load, store)                                                   \
    TYPED(add_scaled, dtype, memory, value, load, store, a + load(*(const memory *)job->alpha) * b)
#define MUL(dtype, memory, value, load, store) TYPED(mul, dtype, memory, value, load, store, a *b)
#define MAX(dtype, memory, value, load, store)                                                     \
    TYPED(max, dtype, memory, value, load, store, b != b || b > a ? b : a)
#define MIN(dtype, memory, value, load, store)                                                     \
    TYPED(min, dtype, memory, value, load, store, b != b || b < a ? b : a)
ELEMENT_TYPES(ADD)
ELEMENT_TYPES(SCALE)
ELEMENT_TYPES(MUL)
ELEMENT_REALS(MAX)
ELEMENT_REALS(MIN)

#define ROW_OF(op, dtype)     [dtype] = op##_##dtype,
#define ADD_ROW(dtype, ...)   ROW_OF(add, dtype)
#define SCALE_ROW(dtype, ...) ROW_OF(add_scaled, dtype)
#define MUL_ROW(dtype, ...)   ROW_OF(mul, dtype)
#define MAX_ROW(dtype, ...)   ROW_OF(max, dtype)
#define MIN_ROW(dtype, ...)   ROW_OF(min, dtype)

along_run along_run_of(along_op op, dp_dtype dtype)
{
    static const along_run by_size[] = {
        [1] = set_1, [2] = set_2, [4] = set_4, [8] = set_8, [16] = set_16};
    static const along_run by_type[ALONG_OPS][DP_DTYPE_END] = {
        [ALONG_ADD] = {ELEMENT_TYPES(ADD_ROW)}, [ALONG_ADD_SCALED] = {ELEMENT_TYPES(SCALE_ROW)},
        [ALONG_MUL] = {ELEMENT_TYPES(MUL_ROW)}, [ALONG_MAX] = {ELEMENT_REALS(MAX_ROW)},
        [ALONG_MIN] = {ELEMENT_REALS(MIN_ROW)},
    };

    return op == ALONG_SET ? by_size[dp_dtype_size(dtype)] : by_type[op][dtype];
}
