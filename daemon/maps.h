/* maps.h -- the shared memory that a connection names by numbers (`map` in docs/protocol.md).
 *
 * A memfd that passes between client and daemon gets a number of the connection, so that its
 * descriptor needs to be sent only once.  A number holds a reference to the memory until map.release
 * or the end of the connection.  The functions are for the thread that runs a request of the
 * connection. */
#ifndef DAEMON_MAPS_H
#define DAEMON_MAPS_H

#include "daemon.h"
#include <dispatchd/shared.h>

typedef struct maps maps;

/* Return the number of `s`, and give it one if it has none; `*fresh` tells whether it had none.
 * `*m` is NULL before the first call.  0: out of memory or over LIMIT_MAPS, see `*err`. */
uint64_t maps_put(maps **m, dp_shared *s, bool *fresh, dp_error *err);
/* Return the memory with this number, borrowed; NULL: no such number.  `m` may be NULL. */
dp_shared *maps_get(const maps *m, uint64_t number);
/* Drop the number and its reference.  false: no such number.  `m` may be NULL. */
bool maps_release(maps *m, uint64_t number);
uint64_t maps_bytes(const maps *m); /* bytes of the memory that has numbers; `m` may be NULL */
void maps_free(maps *m);            /* Drop all numbers; `m` may be NULL. */

#endif
