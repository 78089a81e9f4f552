/* shadow_table.h -- counts of shadow calls (shadow.h) by operator, device and uid.
 *
 * The caller of these functions serialises them. */
#ifndef DAEMON_SHADOW_TABLE_H
#define DAEMON_SHADOW_TABLE_H

#include "request.h"

enum { SHADOW_HEADS = 1 << 6 }; /* lists of the hash table */

typedef struct shadow_row {
    struct shadow_row *next; /* in its list of the hash table */
    uid_t uid;
    shadow_count count;
} shadow_row;

typedef struct shadow_table {
    shadow_row *heads[SHADOW_HEADS];
    size_t n;
    /* sum of the calls of all uids for which there was no row left (METRIC_SHADOWS) or no memory;
     * its `op` is NULL while there is none */
    shadow_count over;
} shadow_table;

/* Add the calls `add`, made by clients of `uid`. */
void shadow_table_add(shadow_table *t, uid_t uid, const shadow_count *add);
/* Count `n` dropped calls of which nothing else is known. */
void shadow_table_miss(shadow_table *t, uint64_t n);
/* Copy the counts to `out` [t->n + 1]: those of `*uid`, or, if `uid` is NULL, the sums over all
 * uids.  Those with the most differences and failures come first, then those with the most calls.
 * Returns their number. */
size_t shadow_table_copy(const shadow_table *t, const uid_t *uid, shadow_count *out);
void shadow_table_fini(shadow_table *t);

#endif
