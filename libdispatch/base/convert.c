/* convert.c -- elements of one dtype as another: which loops run on this machine.
 *
 * The loops (levels/convert.c) are built here, once for each vector level, and lent to plugins by
 * dp_converter(): the host needs them in every copy, with or without a plugin, and loops that a
 * plugin lent to the host would have to be taken back while copies run. */
#include "base/levels/convert.h"

/* A wrong level is for the plugins to report that choose by it (dp_cpu_level); here it is the
 * first. */
static const dpi_convert_row *choose(void)
{
    int level = dpi_cpu_level(NULL);

    return DP_ISA_CHOSEN(level, dpi_converts);
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

/* The dtype whose elements look like those of d: a quantized one is stored as an integer. */
static dp_dtype stored_as(dp_dtype d)
{
    switch (d) {
    case DP_QINT8:
        return DP_INT8;
    case DP_QUINT8:
        return DP_UINT8;
    case DP_QINT32:
        return DP_INT32;
    default:
        return d;
    }
}

dp_convert_fn dp_converter(dp_dtype to, dp_dtype from)
{
    return dpi_itemsize(to) && dpi_itemsize(from) ? chosen()[stored_as(to)][stored_as(from)] : NULL;
}

void dp_convert(dp_dtype to, void *dst, dp_dtype from, const void *src, size_t n)
{
    if (to == from && to != DP_BOOL)
        dp_copy_n(dst, src, n, dpi_itemsize(to));
    else
        dp_converter(to, from)(dst, (int64_t)dpi_itemsize(to), src, (int64_t)dpi_itemsize(from),
                               (int64_t)n);
}
