/* thread.h -- thread records between thread.c, snapshot.c and call.c. */
#ifndef DPI_THREAD_H
#define DPI_THREAD_H

#include "tensor/tensor_i.h"
#include "truth.h"
#include <time.h>

#pragma GCC visibility push(hidden)

extern _Thread_local dpi_thread *dpi_thread_self;
/* What that is until the thread's first call.  Holds a snapshot, so that whoever looks whether he
 * may pin one sees that there is something to do. */
extern dpi_thread dpi_thread_nobody;

enum { DPI_LABEL_BYTES = 32 };
void dpi_thread_label(const dpi_thread *t, char out[DPI_LABEL_BYTES]);
const dpi_thread *dpi_threads(void);         /* the newest record; they are never freed */
dpi_thread *dpi_thread_enter(dp_error *err); /* gives this thread a record; NULL: *err says why */

/* Between a thread's store and the load that must come after it.  Free where writers pass the
 * barrier for us (barriers: dpi_membarrier_works). */
static inline void dpi_thread_fence(bool barriers)
{
    if (DPI_LIKELY(barriers)) {
        atomic_signal_fence(memory_order_seq_cst);
    } else {
        static atomic_int any; /* a locked instruction: thread sanitizer knows no fences */
        atomic_fetch_add(&any, 0);
    }
}

/* Pin the newest snapshot, and the shapes that tensors have now, for this thread, which must not
 * hold one.  False: a newer one came meanwhile; *out is not to be looked at. */
static inline bool dpi_thread_try_pin(dpi_thread *t, dp_registry *reg, bool barriers,
                                      const dpi_snapshot **out)
{
    const dpi_snapshot *s = *out = atomic_load_explicit(&reg->current, memory_order_acquire);
    atomic_store_explicit(&t->pinned, s, memory_order_release);
    dpi_thread_fence(barriers);
    dpi_call_begin(&t->looker); /* after what says that a call is beginning: dpi_oldest_call() */
    return s == atomic_load_explicit(&reg->current, memory_order_acquire);
}

static inline void dpi_thread_unpin(dpi_thread *t)
{
    dpi_call_end(&t->looker);
    atomic_store_explicit(&t->pinned, NULL, memory_order_release);
}

#pragma GCC visibility pop

#endif
