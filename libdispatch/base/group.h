/* group.h -- membership of an account in a group of accounts that share limits. */
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
/* Charge `count` things of `holder` to the group of `a`, if it has a group.  Returns NULL, or the
 * name of the limit that the group would exceed; then nothing is charged, and `*before` and `*most`
 * get what is charged and the limit. */
const char *dpi_group_count(dp_account *a, int holder, uint64_t count, uint64_t *before,
                            uint64_t *most);
void dpi_group_uncount(dp_account *a, int holder, uint64_t count); /* Refund them. */
/* Charge the group for bytes that were charged to `holder` of `a` and that exceed the grant, even
 * if the group exceeds its limit. */
void dpi_group_cover(dp_account *a, int holder);
/* Return the name of the limit of a's group, which `a` has; `*left`: bytes up to the limit. */
const char *dpi_group_left(dp_account *a, uint64_t *left, uint64_t *limit);

#pragma GCC visibility pop

#endif
