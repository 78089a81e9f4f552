/* spin.h -- polls the newest client's socket for a short time before the event loop sleeps, because
 * waking a sleeping core can take longer than a short request; spin.c tells how. */
#ifndef DAEMON_TRANSPORT_SPIN_H
#define DAEMON_TRANSPORT_SPIN_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct connection;
struct server;

/* The state of spinning; only the main thread uses it. */
typedef struct spin {
    uint64_t limit_ns; /* longest time to poll (option --spin-us); 0: never poll */
    /* the connection to poll; NULL: nothing came since the last time */
    struct connection *newest;
    bool several; /* other connections were active since the last time, too: do not poll */
    /* grows when polling did not pay, and shrinks when it did: the logarithm of the time to rest
     * after the next failure */
    unsigned failures;
    uint64_t rests_until; /* time (nanos()) before which the main thread does not poll */
    uv_idle_t awake;      /* active: the event loop looks for events, but does not sleep */
} spin;

/* Prepare `s->spin`; `s->loop` is initialised. */
void spin_init(struct server *s);
/* Record that `c` has sent something, or that a worker has answered it: its client may send the
 * next request soon. */
void spin_wake(struct server *s, struct connection *c);
/* Poll the socket of `s->spin.newest`, if that is likely to pay.  After one read that had a result,
 * other connections get their turn. */
void spin_run(struct server *s);
/* Record that a spin which began at `start` ended at `now` (nanos()); `paid`: it found a
 * request. */
void spin_note(spin *sp, uint64_t start, uint64_t now, bool paid);

#endif
