/* fallbacks.h -- counts of the calls that a backend served by a fallback, by operator and key.
 *
 * The caller of these functions serialises them, except that fallbacks_copy() may run while no row
 * is added to list `head`. */
#ifndef DAEMON_FALLBACKS_H
#define DAEMON_FALLBACKS_H

#include "daemon.h"
#include <dispatchd/dispatch.h>

enum { FALLBACK_HEADS = 1 << 6 }; /* lists of the hash table */

typedef struct fallback_row {
    struct fallback_row *next; /* in its list of the hash table */
    dp_fallback_count count;
} fallback_row;

typedef struct fallback_table {
    fallback_row *heads[FALLBACK_HEADS];
    size_t n;
    /* sum of the calls for which there was no row left (METRIC_FALLBACKS) or no memory; its `op` is
     * NULL while there is none */
    dp_fallback_count over;
} fallback_table;

/* Add the counts `add` [n] of a request. */
void fallbacks_add(fallback_table *t, const dp_fallback_count *add, size_t n);
/* Copy the counts of list `head` to `out` [most], which has `n` already; `op`: only those of this
 * operator; NULL: all.  Returns the new number. */
size_t fallbacks_copy(const fallback_table *t, size_t head, const char *op, dp_fallback_count *out,
                      size_t n, size_t most);
/* Sort counts: the operators with the most calls first. */
void fallbacks_sort(dp_fallback_count *c, size_t n);
void fallbacks_fini(fallback_table *t);

#endif
