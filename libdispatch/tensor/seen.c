/* seen.c -- chooses which of a tensor's geometries, and which of a storage's memories, the current
 * call uses.  A resized tensor keeps its replaced geometries, and a storage that grew keeps its
 * replaced memories, while calls run that began before the change.  A change that another thread
 * has used is marked as read, and is not undone if the call that made it fails. */
#include "room.h"

bool dpi_geometry_read_first(dpi_geometry *g)
{
    int state = DPI_CHANGE_OWN;

    if (g->by == dpi_looker_self && g->since > dpi_call_since())
        return atomic_load_explicit(&g->state, memory_order_relaxed) != DPI_CHANGE_UNDONE;
    return atomic_compare_exchange_strong_explicit(&g->state, &state, DPI_CHANGE_READ,
                                                   memory_order_acq_rel, memory_order_acquire) ||
           state == DPI_CHANGE_READ;
}

/* Tell whether this call uses the memory of `g`: `g` is not undone, and not hidden from this call
 * (dpi_is_unseen()).  If so, and another call made `g`, mark it as read, so that it is not
 * undone. */
static bool growth_read(dpi_growth *g)
{
    uint64_t state = atomic_load_explicit(&g->state, memory_order_acquire);
    const void *by = atomic_load_explicit(&g->by, memory_order_relaxed);

    while ((state & 3) != DPI_CHANGE_UNDONE && !dpi_is_unseen(state >> 2, by)) {
        if ((state & 3) == DPI_CHANGE_READ ||
            (by == dpi_looker_self && state >> 2 > dpi_call_since()))
            return true;
        if (atomic_compare_exchange_weak_explicit(&g->state, &state, state | DPI_CHANGE_READ,
                                                  memory_order_acq_rel, memory_order_acquire))
            return true;
        by = atomic_load_explicit(&g->by, memory_order_relaxed);
    }
    return false;
}

const dpi_storage *dpi_memory_grown(const dpi_storage *s, dpi_growth *g)
{
    while (g != NULL && !growth_read(g))
        g = g->replaced;
    return g != NULL ? &g->memory : s;
}
