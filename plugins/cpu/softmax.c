/* softmax.c -- _softmax and _log_softmax over one dimension.
 *
 * The tensor is packed as [outer, length, inner] and has outer * inner lines of `length` elements,
 * each normalised on its own.  The line's largest element is subtracted first, so that exp() does
 * not overflow.  Sums are computed in double.  A line is processed in blocks; the last block is
 * filled up, so that every element goes through the same vector code. */
#include "dense.h"
#include <math.h>
#include <string.h>

enum { BLOCK = 16 }; /* elements */

/* glibc's libmvec has vector versions of these; the attribute makes gcc call them. */
__attribute__((simd("notinbranch"))) extern double exp(double);
__attribute__((simd("notinbranch"))) extern float expf(float);

typedef struct softmax {
    const void *x;
    void *y;
    int64_t length, inner;
    bool log;
} softmax;

/* A NaN makes the sum NaN and thereby the whole line; an infinity does the same (inf - inf).  The
 * last block is filled up with -infinity, which is never the maximum and adds exp(-inf) = 0.
 * `unroll 1`: gcc unrolls a loop before it vectorises it, and would call exp once for each
 * element. */
#define LINES(name, type, exp_, log_)                                                              \
    static inline void name##_load(type *block, const type *x, int64_t left, int64_t step)         \
    {                                                                                              \
        if (step == 1 && left >= BLOCK)                                                            \
            memcpy(block, x, BLOCK * sizeof(type));                                                \
        else                                                                                       \
            for (int l = 0; l < BLOCK; l++)                                                        \
                block[l] = l < left ? x[l * step] : -(type)INFINITY;                               \
    }                                                                                              \
    static inline void name##_store(type *y, const type *block, int64_t left, int64_t step)        \
    {                                                                                              \
        if (step == 1 && left >= BLOCK)                                                            \
            memcpy(y, block, BLOCK * sizeof(type));                                                \
        else                                                                                       \
            for (int l = 0; l < BLOCK && l < left; l++)                                            \
                y[l * step] = block[l];                                                            \
    }                                                                                              \
    DENSE_LOOP static void name##_line(const type *x, type *y, int64_t n, int64_t step,            \
                                       bool is_log)                                                \
    {                                                                                              \
        type block[BLOCK], tops[BLOCK], top = -(type)INFINITY;                                     \
        double sums[BLOCK] = {0}, sum = 0;                                                         \
        for (int l = 0; l < BLOCK; l++)                                                            \
            tops[l] = top;                                                                         \
        for (int64_t i = 0; i < n; i += BLOCK) {                                                   \
            name##_load(block, x + i * step, n - i, step);                                         \
            for (int l = 0; l < BLOCK; l++)                                                        \
                tops[l] = block[l] > tops[l] ? block[l] : tops[l];                                 \
        }                                                                                          \
        for (int l = 0; l < BLOCK; l++)                                                            \
            top = tops[l] > top ? tops[l] : top;                                                   \
        for (int64_t i = 0; i < n; i += BLOCK) {                                                   \
            name##_load(block, x + i * step, n - i, step);                                         \
            _Pragma("GCC unroll 1") for (int l = 0; l < BLOCK; l++)                                \
            {                                                                                      \
                block[l] = exp_(block[l] - top);                                                   \
            }                                                                                      \
            for (int l = 0; l < BLOCK; l++)                                                        \
                sums[l] += (double)block[l];                                                       \
            if (!is_log)                                                                           \
                name##_store(y + i * step, block, n - i, step);                                    \
        }                                                                                          \
        for (int l = 0; l < BLOCK; l++)                                                            \
            sum += sums[l];                                                                        \
        type less = log_((type)sum), factor = (type)(1 / sum);                                     \
        for (int64_t i = 0; i < n; i += BLOCK) {                                                   \
            name##_load(block, (is_log ? x : y) + i * step, n - i, step);                          \
            for (int l = 0; l < BLOCK; l++)                                                        \
                block[l] = is_log ? block[l] - top - less : block[l] * factor;                     \
            name##_store(y + i * step, block, n - i, step);                                        \
        }                                                                                          \
    }                                                                                              \
    static void name(int64_t begin, int64_t end, void *user)                                       \
    {                                                                                              \
        const softmax *s = user;                                                                   \
        for (int64_t line = begin; line < end; line++) {                                           \
            int64_t at = line / s->inner * s->inner * s->length + line % s->inner;                 \
            name##_line((const type *)s->x + at, (type *)s->y + at, s->length, s->inner, s->log);  \
        }                                                                                          \
    }
LINES(lines_f32, float, expf, logf)
LINES(lines_f64, double, exp, log)

static int run(dp_ctx *ctx, dp_tensor *self, int64_t dim, bool half_to_float, bool is_log,
               dp_tensor **out)
{
    const char *name = is_log ? "log_softmax" : "softmax";
    dp_tensor *x = NULL, *y = NULL;
    DP_VIEW(v, self);
    dp_dtype class = dense_class(v.dtype);

    if (half_to_float)
        return dp_fail(ctx, DP_ERUNTIME, "%s with half to float conversion is not supported on CPU",
                       name);
    int rc = wrap_dim(ctx, &dim, v.ndim);
    if (rc == 0)
        rc = dense_check_type(
            ctx, is_log ? "log_softmax_lastdim_kernel_impl" : "softmax_lastdim_kernel_impl",
            v.dtype, DENSE_FLOATS);
    if (rc == 0)
        rc = dense_get(ctx, self, class, &x);
    if (rc == 0)
        rc = dp_empty(ctx, class, v.device, v.ndim, v.sizes, DP_CONTIGUOUS, &y);
    if (rc == 0 && v.numel > 0 && !dp_memoryless(ctx)) {
        softmax s = {dense_data(x), dense_data(y), v.ndim ? v.sizes[dim] : 1, 1, is_log};
        for (int i = (int)dim + 1; i < v.ndim; i++)
            s.inner *= v.sizes[i];
        rc = dp_parallel_for(ctx, 0, v.numel / s.length, dense_grain(8 * (double)s.length),
                             class == DP_FLOAT32 ? lines_f32 : lines_f64, &s);
    }
    if (rc == 0) {
        rc = dense_put(ctx, y, v.dtype, DP_CONTIGUOUS, out);
        y = NULL;
    }
    dp_tensor_unref(x);
    dp_tensor_unref(y);
    return rc;
}

/* aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor */
static int softmax_(dp_ctx *ctx, dp_tensor *self, int64_t dim, bool half_to_float, dp_tensor **out)
{
    return run(ctx, self, dim, half_to_float, false, out);
}

/* aten::_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor */
static int log_softmax_(dp_ctx *ctx, dp_tensor *self, int64_t dim, bool half_to_float,
                        dp_tensor **out)
{
    return run(ctx, self, dim, half_to_float, true, out);
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("_softmax", softmax_, (T, i, b), (T)),
                DP_IMPL_UNBOXED("_log_softmax", log_softmax_, (T, i, b), (T)))
