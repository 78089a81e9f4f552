/* changes.h -- the changes of the registry that are not yet delivered to the connections that watch
 * it (registry.watch).
 *
 * Any thread adds a change, in the order in which the registry publishes them; the main thread
 * takes them and sends a notification to each watching connection (transport/notify.c). */
#ifndef DAEMON_CHANGES_H
#define DAEMON_CHANGES_H

#include "daemon.h"
#include <stdatomic.h>

/* One published change: `generation` of `plugin` got or lost registrations (definitions, kernels,
 * fallbacks). */
typedef struct change {
    char plugin[DP_LIMIT_NAME_BYTES + 1];
    uint64_t generation;
    uint32_t added, removed;
    uint64_t number;  /* ascending from 1 */
    uint64_t dropped; /* earlier changes that this one stands for: there was no room for them */
} change;

enum { CHANGES_WAITING = 64 }; /* changes that wait for the main thread */

typedef struct changes {
    pthread_mutex_t lock;
    change waiting[CHANGES_WAITING]; /* the first `n`, oldest first */
    size_t n;
    uint64_t last;     /* number of the newest change */
    unsigned watchers; /* connections that watch; 0: changes are numbered, and not kept */
} changes;

void changes_init(changes *c);
void changes_fini(changes *c);
/* Add a change.  When no room is left, the change replaces the newest one that waits.  true: the
 * main thread must be woken.  Any thread. */
bool changes_add(changes *c, const char *plugin, uint64_t generation, uint32_t added,
                 uint32_t removed);
/* Begin (`by` 1) or end (-1) the watch of one connection; return the number of the newest change,
 * after which a new watch begins.  Any thread. */
uint64_t changes_watch(changes *c, int by);
/* Move the waiting changes to `out` and return their number. */
size_t changes_take(changes *c, change out[CHANGES_WAITING]);

#endif
