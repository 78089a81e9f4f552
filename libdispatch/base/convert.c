/* convert.c -- elements of one dtype as another: which loops run on this machine.
 *
 * The loops (levels/convert.c) are built here, once for each vector level, and lent to plugins by
 * dp_converter(): the host needs them in every copy, with or without a plugin, and loops that a plugin lent
 * to the host would have to be taken back while copies run. */
#include "base/levels/convert.h"
#include <stdlib.h>

/* As plugin cpu chooses, which reports what is wrong with the variable; here that is the machine's best. */
static const dpi_convert_row *choose(void)
{
#ifdef __x86_64__
    const char *wanted = getenv("DISPATCHD_CPU_CAPABILITY");

    if (wanted != NULL && strcmp(wanted, "default") == 0)
        return dpi_converts_v1;
    if (wanted != NULL && strcmp(wanted, "avx2") == 0 && __builtin_cpu_supports("x86-64-v3"))
        return dpi_converts_v3;
    if (__builtin_cpu_supports("x86-64-v4"))
        return dpi_converts_v4;
    if (__builtin_cpu_supports("x86-64-v3"))
        return dpi_converts_v3;
#endif
    return dpi_converts_v1;
}

/* Threads that come first together all choose the same. */
static const dpi_convert_row *chosen(void)
{
    static const dpi_convert_row *_Atomic rows;
    const dpi_convert_row *r = atomic_load_explicit(&rows, memory_order_relaxed);

    if (DPI_UNLIKELY(r == NULL)) {
        r = choose();
        atomic_store_explicit(&rows, r, memory_order_relaxed);
    }
    return r;
}

dp_convert_fn dp_converter(dp_dtype to, dp_dtype from)
{
    return dpi_itemsize(to) && dpi_itemsize(from) ? chosen()[to][from] : NULL;
}

void dp_convert(dp_dtype to, void *dst, dp_dtype from, const void *src, size_t n)
{
    if (to == from && to != DP_BOOL)
        memcpy(dst, src, n * dpi_itemsize(to));
    else
        chosen()[to][from](dst, (int64_t)dpi_itemsize(to), src, (int64_t)dpi_itemsize(from),
                           (int64_t)n);
}
