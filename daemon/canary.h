/* canary.h -- a canary: a new build of a plugin that serves a share of the calls of op.call, beside
 * the loaded build, which serves the others (plugin.reload with `share`).
 *
 *   op.call -> request_canary_begin()   chooses the call, and copies its arguments to the host
 *           -> the call itself, with dp_ctx_canary()
 *              it fails: request_canary_retry(), and the loaded build runs the call, whose answer
 *              counts
 *              else: request_shadow_end() queues it as a shadow call (shadow.h) of the loaded build
 *   canary_ended()                      on the thread of shadow.c: counts what differs
 *
 * After as many differences and failures as its settings allow, no call is chosen any more, and the
 * thread of shadow.c rolls the canary back.  A daemon has one canary at a time. */
#ifndef DAEMON_CANARY_H
#define DAEMON_CANARY_H

#include "shadow.h"

typedef struct canary {
    shadow_judge judge;
    struct server *server;
    pthread_mutex_t changes;    /* of one change at a time; taken before all other locks */
    pthread_mutex_t lock;       /* of `report` and `how` */
    canary_report report;       /* of the canary, or of the last one */
    shadow_settings how;        /* its tolerances */
    atomic_bool chosen;         /* calls may be chosen */
    atomic_uint ahead;          /* calls that have been chosen and not compared yet */
    _Atomic(double) share;      /* of the calls */
    atomic_uint_fast64_t drawn; /* numbers that were drawn */
} canary;

void canary_init(canary *c, struct server *s);

#endif
