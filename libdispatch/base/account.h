/* account.h -- the struct of an account, and inline functions to charge it, for arena.c,
 * tensor/keep.c and the folder autograd.
 *
 * account.c has the functions that are not inline. */
#ifndef DPI_ACCOUNT_H
#define DPI_ACCOUNT_H

#include "base.h"
#include "group.h"
#include <pthread.h>

#pragma GCC visibility push(hidden)

struct dp_account {
    atomic_uint_fast64_t refs;
    const dp_holder_limit *limits; /* borrowed; [DP_HOLDERS] */
    struct {
        atomic_uint_fast64_t count, bytes;
    } charged[DP_HOLDERS]; /* charges that are not refunded yet, by holder */
    /* The bytes of each holder up to which dpi_account_add() accepts charges without asking anyone:
     * the limit, or, in a group, what the group has granted so far if that is less. */
    atomic_uint_fast64_t granted[DP_HOLDERS];
    dpi_membership in_group;
    /* held while a backward pass stores gradients in tensors (autograd/engine.c) */
    pthread_mutex_t backward;
    pthread_mutex_t cycles_lock;     /* protects `cycles` */
    struct dpi_meta *cycles;         /* tensors whose gradients have history (autograd/cycle.c) */
    atomic_uint_fast64_t share_from; /* see dp_account_share(); UINT64_MAX: no storage */
};
/* Shall a storage of `bytes` bytes, which account `a` pays for, be in shared memory? */
static inline bool dpi_account_shares(const dp_account *a, uint64_t bytes)
{
    return bytes >= atomic_load_explicit(&a->share_from, memory_order_relaxed);
}
void dpi_account_free(dp_account *a);
static inline void dpi_account_ref(dp_account *a)
{
    atomic_fetch_add_explicit(&a->refs, 1, memory_order_relaxed);
}
static inline void dpi_account_unref(dp_account *a)
{
    if (atomic_fetch_sub_explicit(&a->refs, 1, memory_order_acq_rel) == 1)
        dpi_account_free(a);
}
/* Accept or undo a charge of `bytes` that was added to `charged` and exceeds `granted`. */
enum { DPI_CHARGED, DPI_OVER_LIMIT, DPI_OVER_GROUP };
int dpi_account_grow(dp_account *a, int holder, uint64_t bytes);
/* Return the limit of bytes of `holder`, which another thread may change. */
static inline uint64_t dpi_account_limit(const dp_account *a, int holder)
{
    return __atomic_load_n(&a->limits[holder].bytes, __ATOMIC_RELAXED);
}
/* Charge `bytes` to `holder` of account `a`.  False: over the limit; nothing is charged. */
static inline bool dpi_account_add(dp_account *a, int holder, uint64_t bytes)
{
    /* first add, then read the grant, in this order for all threads: see take_back() of group.c */
    uint64_t before = atomic_fetch_add(&a->charged[holder].bytes, bytes);
    uint64_t max = atomic_load(&a->granted[holder]);

    return DPI_LIKELY(before <= max && bytes <= max - before) ||
           dpi_account_grow(a, holder, bytes) == DPI_CHARGED;
}
/* Refund `bytes` to `holder` of account `a`. */
static inline void dpi_account_sub(dp_account *a, int holder, uint64_t bytes)
{
    atomic_fetch_sub_explicit(&a->charged[holder].bytes, bytes, memory_order_relaxed);
}

#pragma GCC visibility pop

#endif
