/* group.h -- membership of an account in a group of accounts that share one limit of bytes. */
#ifndef DPI_GROUP_H
#define DPI_GROUP_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* The members of an account for its group.  `group` never changes after the first charge; the lock
 * of the group protects the other members. */
typedef struct dpi_membership {
    dp_account_group *group; /* counted reference; NULL: none */
    dp_account *next, **link;
    /* bytes that the group was charged for each holder: at least account.granted */
    uint64_t paid[DP_HOLDERS];
} dpi_membership;
void dpi_group_leave(dp_account *a); /* Refund what the group was charged for `a`. */
/* Charge the group for bytes that were charged to `holder` of `a` and that exceed the grant, even
 * if the group exceeds its limit. */
void dpi_group_cover(dp_account *a, int holder);
/* Return the name of the limit of a's group, which `a` has; `*left`: bytes up to the limit. */
const char *dpi_group_left(dp_account *a, uint64_t *left, uint64_t *limit);

#pragma GCC visibility pop

#endif
