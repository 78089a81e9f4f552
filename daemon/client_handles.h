/* client_handles.h -- handles below zero, whose numbers the client chooses (params "into").
 *
 * A number is free, or it has an entry in the session's table.  An entry is in one of three states:
 *
 *   reserved  a request that runs will give the number to one of its outputs
 *   live      the number names a tensor
 *   failed    the request that should have made the tensor has failed
 *
 * A handle is a uint64_t everywhere in the daemon; one of the client's is an int64_t below zero,
 * cast to uint64_t. */
#ifndef DAEMON_CLIENT_HANDLES_H
#define DAEMON_CLIENT_HANDLES_H

#include "request.h"

typedef struct client_handle {
    struct client_handle *next_in_bucket;
    struct client_handle *older, *newer; /* links in one of the lists of client_handles */
    uint64_t id;
    uint64_t owner;    /* reserved: number of the request (run.number); else 0 */
    dp_tensor *tensor; /* owned; NULL: the entry is not live */
    failure *failure;  /* owned; NULL: the entry has not failed */
} client_handle;

typedef struct client_handle_list { /* entries in the order in which they came into the list */
    client_handle *oldest, *newest;
} client_handle_list;

typedef struct client_handles { /* a hash table; lock: session.lock */
    client_handle **buckets;    /* [n_buckets], a power of two; NULL: no entry was ever made */
    size_t n_buckets;
    size_t n, n_failed;           /* number of all entries, and of those that have failed */
    uint64_t multiplier;          /* random and odd, so that a client cannot choose one bucket */
    client_handle_list reachable; /* reserved and live entries */
    client_handle_list failed;
} client_handles;

client_handle *client_handles_find(const client_handles *h, uint64_t id); /* NULL: `id` is free */
/* The tensor that `id` names, owned by the caller; NULL: none. */
dp_tensor *client_handles_tensor(const client_handles *h, uint64_t id);
/* Make an entry for `id`, which is free.  The new entry is in list `reachable`.  NULL: out of
 * memory. */
client_handle *client_handles_add(client_handles *h, uint64_t id);
/* Change a reserved entry to a failed one, which takes over `f`.  If more than LIMIT_SESSION_FAILED
 * entries have failed, the oldest of these is removed; its number is free then. */
void client_handles_fail(client_handles *h, client_handle *e, failure *f);
/* Remove the entry and free it.  Its tensor, which may be NULL, is owned by the caller. */
dp_tensor *client_handles_remove(client_handles *h, client_handle *e);
/* Remove the entry for `id`, live or failed.  `*t`: its tensor, owned by the caller; NULL: it has
 * failed.  false: `id` is free or reserved. */
bool client_handles_take(client_handles *h, uint64_t id, dp_tensor **t);
/* Release all handles, which are charged to `a`, and free the table. */
void client_handles_fini(client_handles *h, dp_account *a);

/* Refund one handle of `t` to `a`, and drop its reference.  `t` may be NULL. */
void release_tensor(dp_account *a, dp_tensor *t);

#endif
