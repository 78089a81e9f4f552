/* poll.h -- loops that take long, over one line of 2^62 elements or over many lines, end when their
 * request is to stop. */
#ifndef PLUGINS_LIB_POLL_H
#define PLUGINS_LIB_POLL_H

#include <dispatchd/plugin.h>

/* In bodies of dp_parallel_for() and loops of iterators ctx may be NULL. */

enum { POLL_STEPS = 1 << 14 }; /* between two looks at whether the request is to stop */

/* The end of the steps from `at` on to take before the next look; `at` itself once the request is
 *     to stop.  for (int64_t i = 0, end; i < n && (end = poll_next(ctx, i, n)) > i; i = end) run(i,
 *     end);
 * The caller is below dp_parallel_for() or an iterator, which then fail, or asks dp_checkpoint()
 * afterwards. */
static inline int64_t poll_next(const dp_ctx *ctx, int64_t at, int64_t n)
{
    if (n - at <= POLL_STEPS)
        return n;
    return dp_stop_code(ctx) == 0 ? at + POLL_STEPS : at;
}

/* Counts steps of unequal length between two looks, on one thread. */
typedef struct poll {
    const dp_ctx *ctx;
    int64_t steps; /* since the last look */
    bool stops;    /* the request is to stop */
} poll;

/* Count `steps`, of about a nanosecond each, that the caller is about to take.  True: the request
 * is to stop, and the caller returns at once.
 *     poll p = {0};
 *     for (int64_t i = 0; i < lines && !poll_stops(&p, length); i++) run(i); */
static inline bool poll_stops(poll *p, int64_t steps)
{
    p->steps += steps < POLL_STEPS ? steps : POLL_STEPS;
    if (p->steps >= POLL_STEPS) {
        p->steps = 0;
        p->stops |= dp_stop_code(p->ctx) != 0;
    }
    return p->stops;
}

#endif
