/* convert.c -- elements of each dtype to every other: 144 loops. */
#include "../convert.h"
#include "../loops/convert.h"

#define CV_LOOP(from, from_dtype, M, kind, to, O)                                                  \
    static void from##_to_##to(char *dst, int64_t ds, const char *src, int64_t ss, int64_t n)      \
    {                                                                                              \
        if (ss == (int64_t)sizeof(M) && ds == (int64_t)sizeof(O)) {                                \
            const M *restrict x = (const M *)src;                                                  \
            O *restrict y = (O *)dst;                                                              \
            for (int64_t i = 0; i < n; i++)                                                        \
                y[i] = CV_PUT_##kind##_##to(CV_READ_##from(x[i]));                                 \
        } else if (ss == 0 && ds == (int64_t)sizeof(O)) {                                          \
            O *restrict y = (O *)dst, v = CV_PUT_##kind##_##to(CV_READ_##from(*(const M *)src));   \
            for (int64_t i = 0; i < n; i++)                                                        \
                y[i] = v;                                                                          \
        } else {                                                                                   \
            for (int64_t i = 0; i < n; i++)                                                        \
                *(O *)(dst + i * ds) =                                                             \
                    CV_PUT_##kind##_##to(CV_READ_##from(*(const M *)(src + i * ss)));              \
        }                                                                                          \
    }
#define CV_LOOPS(to, to_dtype, O) CV_FROM(CV_LOOP, to, O)
CV_TO(CV_LOOPS)

#ifdef __F16C__
#include <immintrin.h>

/* The compiler knows no vector form of what dp_float16_to_float() says. */
static void wide_f16_to_f32(char *dst, int64_t ds, const char *src, int64_t ss, int64_t n)
{
    int64_t i = 0;

    for (; ss == 2 && ds == 4 && i + 8 <= n; i += 8)
        _mm256_storeu_ps((float *)dst + i,
                         _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(src + 2 * i))));
    f16_to_f32(dst + i * ds, ds, src + i * ss, ss, n - i);
}

static void wide_f32_to_f16(char *dst, int64_t ds, const char *src, int64_t ss, int64_t n)
{
    int64_t i = 0;

    for (; ss == 4 && ds == 2 && i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i *)(dst + 2 * i),
                         _mm256_cvtps_ph(_mm256_loadu_ps((const float *)src + i), 0));
    f32_to_f16(dst + i * ds, ds, src + i * ss, ss, n - i);
}
#else
#define wide_f16_to_f32 f16_to_f32
#define wide_f32_to_f16 f32_to_f16
#endif

#define CV_ENTRY(from, from_dtype, M, kind, to, O) [from_dtype] = from##_to_##to,
#define CV_ROW(to, to_dtype, O)                    [to_dtype] = {CV_FROM(CV_ENTRY, to, O)},
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
const cpu_convert_row CPU_NAME(cpu_converts)[] = {
    CV_TO(CV_ROW)[DP_FLOAT32][DP_FLOAT16] = wide_f16_to_f32,
    [DP_FLOAT16][DP_FLOAT32] = wide_f32_to_f16,
};
#pragma GCC diagnostic pop
