/* changes.c -- when shapes changed, and when this thread's call began: what decides which geometry
 * of a tensor a call sees (dpi_geometry_of). */
#include "room.h"
#include <pthread.h>

dpi_counter dpi_changes = {1};
_Thread_local uint64_t dpi_call_began;

static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;

uint64_t dpi_change_shapes_begin(void)
{
    pthread_mutex_lock(&changing);
    return atomic_load_explicit(&dpi_changes.n, memory_order_relaxed) + 1;
}

void dpi_change_shapes_end(uint64_t since)
{
    atomic_store_explicit(&dpi_changes.n, since, memory_order_release);
    pthread_mutex_unlock(&changing);
}
