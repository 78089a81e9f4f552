/* where.c -- the loops of the operator where, which selects one of two elements by a byte.  Both
 * elements are read, so that there is no branch.  If one byte is broadcast over a row, the whole
 * row is copied. */
#include "pointwise/where.h"
#include "core/elements.h"
#include <dispatchd/iter.h>

/* Define the loop over a row.  a_step and b_step, in elements, are 0 or 1, and are constants after
 * inlining. */
#define ROW(bytes, type)                                                                           \
    static inline __attribute__((always_inline)) void row_##bytes(                                 \
        type *out, const uint8_t *which, const type *a, int64_t a_step, const type *b,             \
        int64_t b_step, int64_t n)                                                                 \
    {                                                                                              \
        _Pragma("GCC ivdep") for (int64_t i = 0; i < n; i++)                                       \
        {                                                                                          \
            type x = a[i * a_step], y = b[i * b_step];                                             \
            out[i] = which[i] ? x : y;                                                             \
        }                                                                                          \
    }                                                                                              \
    /* the byte was read only once: clients may change their memory */                             \
    static void one_##bytes(type *out, bool yes, const type *a, int64_t a_step, const type *b,     \
                            int64_t b_step, int64_t n)                                             \
    {                                                                                              \
        const type *x = yes ? a : b;                                                               \
        if ((yes ? a_step : b_step) != 0)                                                          \
            _Pragma("GCC ivdep") for (int64_t i = 0; i < n; i++) out[i] = x[i];                    \
        else                                                                                       \
            _Pragma("GCC ivdep") for (int64_t i = 0; i < n; i++) out[i] = *x;                      \
    }                                                                                              \
    static void any_##bytes(char *const *data, const int64_t *s, int64_t n)                        \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++) {                                                          \
            type x = *(const type *)(data[2] + i * s[2]), y = *(const type *)(data[3] + i * s[3]); \
            *(type *)(data[0] + i * s[0]) = data[1][i * s[1]] ? x : y;                             \
        }                                                                                          \
    }                                                                                              \
    static void choose_##bytes(char **data, const int64_t *s, int64_t n0, int64_t n1, void *user)  \
    {                                                                                              \
        bool rows = s[0] == bytes && (s[1] == 1 || s[1] == 0) && (s[2] == bytes || s[2] == 0) &&   \
                    (s[3] == bytes || s[3] == 0);                                                  \
        (void)user;                                                                                \
        for (int64_t j = 0; j < n1; j++) {                                                         \
            type *out = (type *)data[0];                                                           \
            const uint8_t *which = (const uint8_t *)data[1];                                       \
            const type *a = (const type *)data[2], *b = (const type *)data[3];                     \
            if (!rows)                                                                             \
                any_##bytes(data, s, n0);                                                          \
            else if (s[1] == 0)                                                                    \
                one_##bytes(out, __atomic_load_n(which, __ATOMIC_RELAXED), a, s[2], b, s[3], n0);  \
            else if (s[2] && s[3])                                                                 \
                row_##bytes(out, which, a, 1, b, 1, n0);                                           \
            else if (s[2])                                                                         \
                row_##bytes(out, which, a, 1, b, 0, n0);                                           \
            else if (s[3])                                                                         \
                row_##bytes(out, which, a, 0, b, 1, n0);                                           \
            else                                                                                   \
                row_##bytes(out, which, a, 0, b, 0, n0);                                           \
            for (int k = 0; k < 4; k++)                                                            \
                data[k] += s[4 + k];                                                               \
        }                                                                                          \
    }
DP_DTYPE_SIZES(ROW)

#define ENTRY(bytes, type) [bytes] = choose_##bytes,
const dp_iter_loop2d DP_ISA_NAME(choose_loops)[] = {DP_DTYPE_SIZES(ENTRY)};
