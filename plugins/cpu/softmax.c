/* softmax.c -- _softmax and _log_softmax over one dimension.
 *
 * The tensor is packed as [outer, length, inner]; each of outer * inner lines is normalised on its
 * own, its largest element first taken off so that nothing overflows.  Sums run in double.  A line
 * is taken in blocks, the last one filled up, so that all elements go through the same vector code.
 */
#include "dense.h"
#include <math.h>
#include <string.h>

enum { LANES = 16 };

/* glibc has these for whole vectors, in libmvec. */
__attribute__((simd("notinbranch"))) extern double exp(double);
__attribute__((simd("notinbranch"))) extern float expf(float);

typedef struct softmax {
    const void *x;
    void *y;
    int64_t length, inner;
    bool log;
} softmax;

/* NaN anywhere makes the line NaN by way of the sum; so do two infinities.  What fills up the last
 * block is no one's maximum and adds nothing.  A loop that gcc unrolls first would call exp one by
 * one. */
#define LINES(name, type, exp_, log_)                                                              \
    static inline void name##_load(type *block, const type *x, int64_t left, int64_t step)         \
    {                                                                                              \
        if (step == 1 && left >= LANES)                                                            \
            memcpy(block, x, LANES * sizeof(type));                                                \
        else                                                                                       \
            for (int l = 0; l < LANES; l++)                                                        \
                block[l] = l < left ? x[l * step] : -(type)INFINITY;                               \
    }                                                                                              \
    static inline void name##_store(type *y, const type *block, int64_t left, int64_t step)        \
    {                                                                                              \
        if (step == 1 && left >= LANES)                                                            \
            memcpy(y, block, LANES * sizeof(type));                                                \
        else                                                                                       \
            for (int l = 0; l < LANES && l < left; l++)                                            \
                y[l * step] = block[l];                                                            \
    }                                                                                              \
    DENSE_LOOP static void name##_line(const type *x, type *y, int64_t n, int64_t step,            \
                                       bool is_log)                                                \
    {                                                                                              \
        type block[LANES], tops[LANES], top = -(type)INFINITY;                                     \
        double sums[LANES] = {0}, sum = 0;                                                         \
        for (int l = 0; l < LANES; l++)                                                            \
            tops[l] = top;                                                                         \
        for (int64_t i = 0; i < n; i += LANES) {                                                   \
            name##_load(block, x + i * step, n - i, step);                                         \
            for (int l = 0; l < LANES; l++)                                                        \
                tops[l] = block[l] > tops[l] ? block[l] : tops[l];                                 \
        }                                                                                          \
        for (int l = 0; l < LANES; l++)                                                            \
            top = tops[l] > top ? tops[l] : top;                                                   \
        for (int64_t i = 0; i < n; i += LANES) {                                                   \
            name##_load(block, x + i * step, n - i, step);                                         \
            _Pragma("GCC unroll 1") for (int l = 0; l < LANES; l++)                                \
            {                                                                                      \
                block[l] = exp_(block[l] - top);                                                   \
            }                                                                                      \
            for (int l = 0; l < LANES; l++)                                                        \
                sums[l] += (double)block[l];                                                       \
            if (!is_log)                                                                           \
                name##_store(y + i * step, block, n - i, step);                                    \
        }                                                                                          \
        for (int l = 0; l < LANES; l++)                                                            \
            sum += sums[l];                                                                        \
        type less = log_((type)sum), factor = (type)(1 / sum);                                     \
        for (int64_t i = 0; i < n; i += LANES) {                                                   \
            name##_load(block, (is_log ? x : y) + i * step, n - i, step);                          \
            for (int l = 0; l < LANES; l++)                                                        \
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
    if (rc == 0 && v.numel > 0) {
        softmax s = {dense_data(x), dense_data(y), v.ndim ? v.sizes[dim] : 1, 1, is_log};
        for (int i = (int)dim + 1; i < v.ndim; i++)
            s.inner *= v.sizes[i];
        dp_parallel_for(ctx, 0, v.numel / s.length, dense_grain(8 * s.length),
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

DP_LIBRARY_IMPL(aten, CPU, DP_IMPL_UNBOXED("_softmax", softmax_, (T, i, b), (T)),
                DP_IMPL_UNBOXED("_log_softmax", log_softmax_, (T, i, b), (T)))
