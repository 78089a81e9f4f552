/* held.c -- counts the bytes of all storages, and the peak of this number.
 *
 * Each thread counts in a counter of its own (base/tally.c), and adds this counter to the common
 * one when it reaches FLUSH_BYTES or -FLUSH_BYTES.  Therefore the peak can be too low by
 * FLUSH_BYTES for each thread.  The peak is never below a number of bytes that dpi_storage_stats()
 * has returned. */
#include "room.h"

static struct {
    atomic_int_fast64_t now; /* negative while released bytes are counted before their allocation */
    atomic_int_fast64_t peak;
} bytes_held;

/* Threads add their own counters to `now` in steps of this size. */
enum { FLUSH_BYTES = 64 << 10 };

static void raise_peak(int64_t now)
{
    int64_t peak = atomic_load_explicit(&bytes_held.peak, memory_order_relaxed);

    while (now > peak &&
           !atomic_compare_exchange_weak_explicit(&bytes_held.peak, &peak, now,
                                                  memory_order_relaxed, memory_order_relaxed))
        continue;
}

static void flush(int64_t bytes)
{
    raise_peak(bytes + atomic_fetch_add_explicit(&bytes_held.now, bytes, memory_order_relaxed));
}

DPI_HOT void dpi_bytes_count(int64_t bytes)
{
    int64_t own = dpi_tally_add(DPI_TALLY_BYTES, bytes);

    if (DPI_LIKELY(own < FLUSH_BYTES && own > -FLUSH_BYTES))
        return;
    dpi_tally_add(DPI_TALLY_BYTES, -own);
    flush(own);
}

void dpi_storage_stats(uint64_t *bytes, uint64_t *peak)
{
    int64_t now = atomic_load(&bytes_held.now) + dpi_tally_sum(DPI_TALLY_BYTES);

    *bytes = now > 0 ? (uint64_t)now : 0; /* counts that threads are adding may be missed */
    raise_peak(now);
    *peak = (uint64_t)atomic_load(&bytes_held.peak);
}
