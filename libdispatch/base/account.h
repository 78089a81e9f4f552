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
void dpi_account_ref(dp_account *a);
void dpi_account_unref(dp_account *a);
/* Could it hold so many bytes at all, if it held nothing?  DP_ERESOURCE. */
int dpi_account_could(const dp_account *a, int holder, uint64_t bytes, dp_error *err);
void dpi_account_charge_anyway(dp_account *a, int holder, uint64_t bytes);

#pragma GCC visibility pop

#endif
