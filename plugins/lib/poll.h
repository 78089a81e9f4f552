/* poll.h -- checks in long loops whether the request was cancelled or its deadline has passed, so
 * that the loop can end early. */
#ifndef PLUGINS_LIB_POLL_H
#define PLUGINS_LIB_POLL_H

#include <dispatchd/plugin.h>

/* `ctx` may be NULL in bodies of dp_parallel_for() and in loops of iterators: the functions below
 * then check the request for which the thread runs the body or loop. */

/* number of steps between two checks whether the request must stop */
enum { POLL_STEPS = 1 << 14 };

/* Return up to which step the caller may go, from step `at` on, before it calls this function
 * again; return `at` if the request must stop.  The request is not checked if at most POLL_STEPS
 * steps are left.  `n`: number of steps of the whole loop.
 *
 *     for (int64_t i = 0, end; i < n && (end = poll_next(ctx, i, n)) > i; i = end)
 *         run(i, end);
 *
 * After such a stop, dp_parallel_for() and iterators fail by themselves; other code must call
 * dp_checkpoint() after the loop, which fails. */
static inline int64_t poll_next(const dp_ctx *ctx, int64_t at, int64_t n)
{
    if (n - at <= POLL_STEPS)
        return n;
    return dp_stop_code(ctx) == 0 ? at + POLL_STEPS : at;
}

/* A counter for steps that take different times; one thread uses it. */
typedef struct poll {
    const dp_ctx *ctx;
    int64_t steps; /* steps since the last check */
    bool stops;    /* the request must stop */
} poll;

/* Count `steps` steps, of about one nanosecond each, before the caller takes them.  true: the
 * request must stop, so the caller must return at once.
 *
 *     poll p = {0};
 *     for (int64_t i = 0; i < lines && !poll_stops(&p, length); i++)
 *         run(i); */
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
