/* poll.h -- checks for cancellation in long loops: a loop over one line of up to 2^62 elements, or
 * over many lines, ends when its request must stop. */
#ifndef PLUGINS_LIB_POLL_H
#define PLUGINS_LIB_POLL_H

#include <dispatchd/plugin.h>

/* `ctx` may be NULL in bodies of dp_parallel_for() and in loops of iterators. */

enum { POLL_STEPS = 1 << 14 }; /* steps between two checks of whether the request must stop */

/* Return the end of the steps that the caller takes before the next check, beginning at `at`;
 * return `at` if the request must stop.
 *
 *     for (int64_t i = 0, end; i < n && (end = poll_next(ctx, i, n)) > i; i = end)
 *         run(i, end);
 *
 * The caller runs in dp_parallel_for() or in an iterator, which then fail, or calls dp_checkpoint()
 * afterwards. */
static inline int64_t poll_next(const dp_ctx *ctx, int64_t at, int64_t n)
{
    if (n - at <= POLL_STEPS)
        return n;
    return dp_stop_code(ctx) == 0 ? at + POLL_STEPS : at;
}

/* Counter for steps of different lengths, used on one thread. */
typedef struct poll {
    const dp_ctx *ctx;
    int64_t steps; /* since the last check */
    bool stops;    /* the request must stop */
} poll;

/* Count `steps`, of about one nanosecond each, before the caller takes them.  True: the request
 * must stop, so the caller must return at once.
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
