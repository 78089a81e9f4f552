/* cumulative.c -- loops of cumulative sums, products, maxima, minima and logsumexp
 * (aten/src/ATen/native/cpu/ReduceOpsKernel.cpp).
 *
 * Along one line, each step depends on the result of the step before it.  A loop therefore takes
 * several lines at a time, so that the CPU can run their steps in parallel.  Floats are added and
 * multiplied in double. */
#include "reduce/cumulative.h"
#include "lib/math.h"
#include "pointwise/loops/math.h"

/* Lines that one loop takes at a time if they are not neighbours in memory.  The loop then uses
 * 2 * CHAINS addresses at a time, and a typical L1 cache holds only 8 addresses that are a multiple
 * of 4096 bytes apart. */
enum { CHAINS = 4 };
#define SC_INLINE static inline __attribute__((always_inline))

/* Define the loop `name` over lines of elements of type X.  Each element is converted to `v`, of
 * type V; line j has a running value a[j], of type A, which begins as `start` and is set to the
 * expression `step` at each element. */
#define CHAIN(name, X, V, A, start, step)                                                          \
    SC_INLINE void name##_lines(const sc_lines *l, const char *x, char *out, int64_t x_line,       \
                                int64_t out_line, int64_t w)                                       \
    {                                                                                              \
        A a[SC_WIDE];                                                                              \
        for (int64_t j = 0; j < w; j++)                                                            \
            a[j] = start;                                                                          \
        for (int64_t i = 0, end; i < l->n && (end = poll_next(l->ctx, i, l->n)) > i;)              \
            for (; i < end; i++, x += l->x_step, out += l->out_step)                               \
                _Pragma("GCC ivdep") for (int64_t j = 0; j < w; j++)                               \
                {                                                                                  \
                    const V v = (V) * (const X *)(x + j * x_line);                                 \
                    a[j] = step;                                                                   \
                    *(X *)(out + j * out_line) = (X)a[j];                                          \
                }                                                                                  \
    }                                                                                              \
    static void name(const sc_lines *l)                                                            \
    {                                                                                              \
        int64_t s = sizeof(X), j = 0;                                                              \
        if (l->x_line == s && l->out_line == s) {                                                  \
            if (l->w == SC_WIDE)                                                                   \
                name##_lines(l, l->x, l->out, s, s, SC_WIDE);                                      \
            else                                                                                   \
                name##_lines(l, l->x, l->out, s, s, l->w);                                         \
            return;                                                                                \
        }                                                                                          \
        for (; j + CHAINS <= l->w; j += CHAINS)                                                    \
            name##_lines(l, l->x + j * l->x_line, l->out + j * l->out_line, l->x_line,             \
                         l->out_line, CHAINS);                                                     \
        for (; j < l->w; j++)                                                                      \
            name##_lines(l, l->x + j * l->x_line, l->out + j * l->out_line, l->x_line,             \
                         l->out_line, 1);                                                          \
    }

/* X(suffix of the element's type, type of the running value) */
#define SUMMED(X)                                                                                  \
    X(u8, int64_t)                                                                                 \
    X(i8, int64_t)                                                                                 \
    X(i16, int64_t)                                                                                \
    X(i32, int64_t)                                                                                \
    X(i64, int64_t)                                                                                \
    X(f32, double)                                                                                 \
    X(f64, double)                                                                                 \
    X(c64, double _Complex)                                                                        \
    X(c128, double _Complex)
#define SUM(t, A)        CHAIN(sum_##t, pw_mem_##t, pw_val_##t, A, 0, a[j] + v)
#define TIMES_REAL(t, A) CHAIN(prod_##t, pw_mem_##t, pw_val_##t, A, 1, a[j] * v)
SUMMED(SUM)
TIMES_REAL(u8, int64_t)
TIMES_REAL(i8, int64_t)
TIMES_REAL(i16, int64_t)
TIMES_REAL(i32, int64_t)
TIMES_REAL(i64, int64_t)
TIMES_REAL(f32, double)
TIMES_REAL(f64, double)
CHAIN(prod_c64, pw_mem_c64, pw_val_c64, double _Complex, 1, pw_mul_c128(a[j], v))
CHAIN(prod_c128, pw_mem_c128, pw_val_c128, double _Complex, 1, pw_mul_c128(a[j], v))

/* Return log(exp(a) + exp(v)).  Source: log_add_exp_helper of at::native. */
SC_INLINE double log_add_exp(double a, double v)
{
    double low = v < a || v != v ? v : a, high = v < a ? a : v;

    if (low != low || high != high)
        return NAN;
    if (low == high && isinf(low))
        return v;
    return dpm_log1p_f64(dpm_exp_f64(low - high)) + high;
}
CHAIN(logsumexp_f32, float, float, double, -INFINITY, log_add_exp(a[j], v))
CHAIN(logsumexp_f64, double, double, double, -INFINITY, log_add_exp(a[j], v))

/* Define the loop of cummax or cummin for type t; `beats` is the operator >= or <=.  Of several
 * equal elements, the last one gives the index; after a NaN, the result stays NaN, and the last NaN
 * gives the index. */
#define EXTREMUM(name, t, beats)                                                                   \
    static void name##_##t(const sc_lines *l)                                                      \
    {                                                                                              \
        for (int64_t j = 0; j < l->w; j++) {                                                       \
            const char *x = l->x + j * l->x_line;                                                  \
            char *out = l->out + j * l->out_line, *index = l->index + j * l->index_line;           \
            pw_val_##t best = (pw_val_##t) * (const pw_mem_##t *)x;                                \
            int64_t at = 0;                                                                        \
            for (int64_t i = 0, end; i < l->n && (end = poll_next(l->ctx, i, l->n)) > i;)          \
                for (; i < end; i++) {                                                             \
                    pw_val_##t v = (pw_val_##t) * (const pw_mem_##t *)(x + i * l->x_step);         \
                    pw_val_##t same = v, held = best;                                              \
                    if (v != same || (best == held && v beats best)) {                             \
                        best = v;                                                                  \
                        at = i;                                                                    \
                    }                                                                              \
                    *(pw_mem_##t *)(out + i * l->out_step) = (pw_mem_##t)best;                     \
                    *(int64_t *)(index + i * l->index_step) = at;                                  \
                }                                                                                  \
        }                                                                                          \
    }
#define COMPARED(X, ...)                                                                           \
    X(b8, __VA_ARGS__)                                                                             \
    X(u8, __VA_ARGS__)                                                                             \
    X(i8, __VA_ARGS__)                                                                             \
    X(i16, __VA_ARGS__)                                                                            \
    X(i32, __VA_ARGS__)                                                                            \
    X(i64, __VA_ARGS__)                                                                            \
    X(f32, __VA_ARGS__)                                                                            \
    X(f64, __VA_ARGS__)
#define MAX(t, _) EXTREMUM(max, t, >=)
#define MIN(t, _) EXTREMUM(min, t, <=)
COMPARED(MAX, )
COMPARED(MIN, )

enum {
#define COLUMN_OF(t, column, dtype, memory, value) column_##t = column,
    PW_TYPE_MAP(COLUMN_OF)
#undef COLUMN_OF
};
#define AT(t, name)   [column_##t] = name##_##t,
#define AT_SUM(t, A)  AT(t, sum)
#define AT_PROD(t, A) AT(t, prod)
const sc_row DP_ISA_NAME(sc_loops)[] = {
    [SC_SUM] = {{SUMMED(AT_SUM)}},
    [SC_PROD] = {{SUMMED(AT_PROD)}},
    [SC_MAX] = {{COMPARED(AT, max)}},
    [SC_MIN] = {{COMPARED(AT, min)}},
    [SC_LOGSUMEXP] = {{AT(f32, logsumexp) AT(f64, logsumexp)}},
};
