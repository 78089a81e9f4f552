/* thread.h -- thread records between thread.c, snapshot.c and call.c. */
#ifndef DPI_THREAD_H
#define DPI_THREAD_H

#include "../tensor/tensor_i.h"
#include "op.h"
#include <time.h>

#pragma GCC visibility push(hidden)

extern _Thread_local dpi_thread *dpi_thread_self; /* NULL until the thread's first call */

dpi_thread *dpi_thread_enter(dp_error *err); /* gives this thread a record; NULL: *err says why */

/* Between a thread's store and the load that must come after it.  Free where writers pass the
 * barrier for us. */
static inline void dpi_thread_fence(void)
{
    if (DPI_LIKELY(dpi_membarrier_works)) {
        atomic_signal_fence(memory_order_seq_cst);
    } else {
        static atomic_int any; /* a locked instruction: thread sanitizer knows no fences */
        atomic_fetch_add(&any, 0);
    }
}

/* Pin the newest snapshot, and the shapes that tensors have now, for this thread, which must not
 * hold one. */
static inline const dpi_snapshot *dpi_thread_pin(dpi_thread *t, dp_registry *reg)
{
    const dpi_snapshot *s;

    dpi_call_begin();
    atomic_store_explicit(&t->reg, reg, memory_order_relaxed);
    do {
        s = atomic_load_explicit(&reg->current, memory_order_acquire);
        atomic_store_explicit(&t->pinned, s, memory_order_release);
        dpi_thread_fence();
    } while (DPI_UNLIKELY(s != atomic_load_explicit(&reg->current, memory_order_acquire)));
    return s;
}

static inline void dpi_thread_unpin(dpi_thread *t)
{
    dpi_call_end();
    atomic_store_explicit(&t->pinned, NULL, memory_order_release);
}

#pragma GCC visibility pop

#endif
