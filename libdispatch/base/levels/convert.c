/* convert.c -- loops that convert elements of each dtype to each dtype: 144 loops.
 *
 * This file is compiled once for each vector level of the target; the macro DP_ISA is the level.
 * base/convert.c chooses the level at run time. */
#include "base/levels/convert.h"

/* One loop.  Its three branches are for packed source and destination, for one source element
 * (stride 0) that fills a packed destination, and for other strides.  The parameters are those of
 * CV_FROM and CV_TO (convert.h); M and O are the source's and the destination's type in memory,
 * `kind` is the class of the value read, and ds and ss are the strides in bytes. */
#define CV_LOOP(from, from_dtype, M, kind, to, O)                                                  \
    static void from##_to_##to(char *dst, int64_t ds, const char *src, int64_t ss, int64_t n)      \
    {                                                                                              \
        if (ss == (int64_t)sizeof(M) && ds == (int64_t)sizeof(O)) {                                \
            const M *restrict x = (const void *)src;                                               \
            O *restrict y = (void *)dst;                                                           \
            for (int64_t i = 0; i < n; i++)                                                        \
                y[i] = CV_PUT_##kind##_##to(CV_READ_##from(x[i]));                                 \
        } else if (ss == 0 && ds == (int64_t)sizeof(O) && n > 0) {                                 \
            O *restrict y = (void *)dst,                                                           \
                        v = CV_PUT_##kind##_##to(CV_READ_##from(*(const M *)(const void *)src));   \
            for (int64_t i = 0; i < n; i++)                                                        \
                y[i] = v;                                                                          \
        } else {                                                                                   \
            for (int64_t i = 0; i < n; i++)                                                        \
                *(O *)(void *)(dst + i * ds) = CV_PUT_##kind##_##to(                               \
                    CV_READ_##from(*(const M *)(const void *)(src + i * ss)));                     \
        }                                                                                          \
    }
#define CV_LOOPS(to, to_dtype, O) CV_FROM(CV_LOOP, to, O)
CV_TO(CV_LOOPS)

#ifdef __F16C__
#include <immintrin.h>

/* Intrinsics are used here because the compiler does not vectorise dp_float16_to_float(). */
static void wide_f16_to_f32(char *dst, int64_t ds, const char *src, int64_t ss, int64_t n)
{
    int64_t i = 0;

    for (; ss == 2 && ds == 4 && i + 8 <= n; i += 8)
        _mm256_storeu_ps((void *)(dst + 4 * i),
                         _mm256_cvtph_ps(_mm_loadu_si128((const void *)(src + 2 * i))));
    f16_to_f32(dst + i * ds, ds, src + i * ss, ss, n - i);
}

/* Blocks of 8 elements with a NaN among them use the scalar loop: the CPU's instruction keeps a
 * NaN's payload, but dp_float_to_float16() drops it. */
static void wide_f32_to_f16(char *dst, int64_t ds, const char *src, int64_t ss, int64_t n)
{
    int64_t i = 0;

    for (; ss == 4 && ds == 2 && i + 8 <= n; i += 8) {
        __m256 x = _mm256_loadu_ps((const void *)(src + 4 * i));
        if (_mm256_movemask_ps(_mm256_cmp_ps(x, x, _CMP_UNORD_Q)))
            f32_to_f16(dst + 2 * i, 2, src + 4 * i, 4, 8);
        else
            _mm_storeu_si128((void *)(dst + 2 * i), _mm256_cvtps_ph(x, 0));
    }
    f32_to_f16(dst + i * ds, ds, src + i * ss, ss, n - i);
}
#else
#define wide_f16_to_f32 f16_to_f32
#define wide_f32_to_f16 f32_to_f16
#endif

/* Convert between float16 and a dtype other than float32 by way of float32, block by block. */
enum { CV_BLOCK = 1024 };
#define CV_BY_FLOAT(from, to, ...)                                                                 \
    static void wide_##from##_to_##to(char *dst, int64_t ds, const char *src, int64_t ss,          \
                                      int64_t n)                                                   \
    {                                                                                              \
        float block[CV_BLOCK];                                                                     \
        for (int64_t i = 0, m; i < n; i += m) {                                                    \
            m = n - i < CV_BLOCK ? n - i : CV_BLOCK;                                               \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define CV_FROM_F16(to)                                                                            \
    CV_BY_FLOAT(f16, to, wide_f16_to_f32((char *)block, 4, src + i * ss, ss, m);                   \
                f32_to_##to(dst + i * ds, ds, (char *)block, 4, m);)
#define CV_TO_F16(from)                                                                            \
    CV_BY_FLOAT(from, f16, from##_to_f32((char *)block, 4, src + i * ss, ss, m);                   \
                wide_f32_to_f16(dst + i * ds, ds, (char *)block, 4, m);)
#define CV_F16S(X) X(b8) X(u8) X(i8) X(i16) X(i32) X(i64) X(bf16) X(f64) X(c64) X(c128)
CV_F16S(CV_FROM_F16)
CV_F16S(CV_TO_F16)

#define CV_ENTRY(from, from_dtype, M, kind, to, O) [from_dtype] = from##_to_##to,
#define CV_ROW(to, to_dtype, O)                    [to_dtype] = {CV_FROM(CV_ENTRY, to, O)},
#define CV_WIDE(from_dtype, from, to_dtype, to)    [to_dtype][from_dtype] = wide_##from##_to_##to,
#define CV_BOTH(dtype, name)                                                                       \
    CV_WIDE(dtype, name, DP_FLOAT16, f16) CV_WIDE(DP_FLOAT16, f16, dtype, name)
/* Entries for float16 are listed twice: the later one, with the faster loop, replaces the first
 * (-Woverride-init).  Equal 16-bit floats are copied as int16, so that NaNs do not change.  The
 * empty comments prevent clang-format from joining lines. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
const dpi_convert_row DP_ISA_NAME(dpi_converts)[DP_DTYPE_END] = {
    CV_TO(CV_ROW)                                                                /* */
    CV_BOTH(DP_BOOL, b8) CV_BOTH(DP_UINT8, u8) CV_BOTH(DP_INT8, i8)              /* */
    CV_BOTH(DP_INT16, i16) CV_BOTH(DP_INT32, i32) CV_BOTH(DP_INT64, i64)         /* */
    CV_BOTH(DP_BFLOAT16, bf16) CV_BOTH(DP_FLOAT32, f32) CV_BOTH(DP_FLOAT64, f64) /* */
    CV_BOTH(DP_COMPLEX64, c64) CV_BOTH(DP_COMPLEX128, c128)                      /* */
        [DP_FLOAT16][DP_FLOAT16] = i16_to_i16,
    [DP_BFLOAT16][DP_BFLOAT16] = i16_to_i16,
};
#pragma GCC diagnostic pop
