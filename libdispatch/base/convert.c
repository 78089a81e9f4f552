/* convert.c -- conversion between dtypes: chooses the loops for this machine's vector level.
 *
 * The loops (levels/convert.c) are part of libdispatch, compiled once for each vector level.
 * Plugins get them from dp_converter().  The loops are not in a plugin because the host needs them
 * for every copy, and the plugin could not be unloaded while a copy runs. */
#include "base/levels/convert.h"

/* If the environment asks for a level that this machine lacks or that does not exist, the lowest
 * level is used here; plugins report the error, by dp_cpu_level(). */
static const dpi_convert_row *rows_of_level(void)
{
    int level = dpi_cpu_level(NULL);

    return DP_ISA_CHOSEN(level, dpi_converts);
}

/* Needs no lock: threads that make the first call at the same time store the same value. */
static const dpi_convert_row *rows_chosen(void)
{
    static const dpi_convert_row *_Atomic rows;
    const dpi_convert_row *r = atomic_load_explicit(&rows, memory_order_relaxed);

    if (DPI_UNLIKELY(r == NULL)) {
        r = rows_of_level();
        atomic_store_explicit(&rows, r, memory_order_relaxed);
    }
    return r;
}

/* Return the dtype with the same element format as `d`: quantized dtypes are stored as integers. */
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

DPI_HOT dp_convert_fn dp_converter(dp_dtype to, dp_dtype from)
{
    return dpi_itemsize(to) && dpi_itemsize(from) ? rows_chosen()[stored_as(to)][stored_as(from)]
                                                  : NULL;
}

void dp_convert(dp_dtype to, void *dst, dp_dtype from, const void *src, size_t n)
{
    if (to == from && to != DP_BOOL)
        dp_copy_n(dst, src, n, dpi_itemsize(to));
    else
        dp_converter(to, from)(dst, (int64_t)dpi_itemsize(to), src, (int64_t)dpi_itemsize(from),
                               (int64_t)n);
}
