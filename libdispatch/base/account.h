/* account.h -- accounts between account.c and what charges the memory of tensors. */
#ifndef DPI_ACCOUNT_H
#define DPI_ACCOUNT_H

#include "base.h"

#pragma GCC visibility push(hidden)

struct dp_account {
    atomic_uint_fast64_t refs;
    const dp_holder_limit *limits; /* [DP_HOLDERS] */
    struct {
        atomic_uint_fast64_t count, bytes;
    } held[DP_HOLDERS];
};
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
/* Bytes for a holder, or false: that is too much. */
static inline bool dpi_account_add(dp_account *a, int holder, uint64_t bytes)
{
    uint64_t most = a->limits[holder].bytes;
    uint64_t held = atomic_fetch_add_explicit(&a->held[holder].bytes, bytes, memory_order_relaxed);

    if (DPI_LIKELY(held <= most && bytes <= most - held))
        return true;
    atomic_fetch_sub_explicit(&a->held[holder].bytes, bytes, memory_order_relaxed);
    return false;
}
static inline void dpi_account_sub(dp_account *a, int holder, uint64_t bytes)
{
    atomic_fetch_sub_explicit(&a->held[holder].bytes, bytes, memory_order_relaxed);
}
void dpi_account_charge_anyway(dp_account *a, int holder, uint64_t bytes);

#pragma GCC visibility pop

#endif
