/* changes.c -- counts shape changes, and knows the change at which this thread's call began, and at
 * which the oldest running call began.  These numbers decide which geometry of a tensor a call uses
 * (dpi_geometry_of), and which replaced geometries can be released. */
#include "room.h"
#include <pthread.h>

dpi_counter dpi_changes = {1};
static dpi_looker nobody;
_Thread_local dpi_looker *dpi_looker_self = &nobody;
static uint64_t (*_Atomic oldest_call)(void);

static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;

void dpi_oldest_call_from(uint64_t (*oldest)(void))
{
    atomic_store_explicit(&oldest_call, oldest, memory_order_release);
}

uint64_t dpi_oldest_call(void)
{
    uint64_t (*oldest)(void) = atomic_load_explicit(&oldest_call, memory_order_acquire);

    return oldest != NULL ? oldest() : 0;
}

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
