/* held.c -- how many bytes all storages hold, and the most that they held.
 *
 * Each thread counts by itself; what comes together in one goes into the common numbers a piece at
 * a time, so the peak may miss up to a piece a thread; it is never below what anybody was told that
 * storages hold. */
#include "room.h"

static struct {
    atomic_int_fast64_t now; /* below 0 while another thread releases what one has made */
    atomic_int_fast64_t peak;
} bytes_held;

/* What threads have counted by themselves goes into `now` a piece at a time. */
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

void dpi_bytes_count(int64_t bytes)
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

    *bytes = now > 0 ? (uint64_t)now : 0; /* threads that count meanwhile are seen or not */
    raise_peak(now);
    *peak = (uint64_t)atomic_load(&bytes_held.peak);
}
