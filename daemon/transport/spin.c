/* spin.c -- polls the newest client's socket for a short time before the event loop sleeps.
 *
 * A client that calls again and again sends its next request soon after an answer.  If the main
 * thread sleeps meanwhile, the system has to wake it, and waking an idle core can take 40 us, while
 * a short request takes 5 us.  Hence the main thread polls for at most --spin-us microseconds by
 * poll(2) without a timeout.  Between two polls it calls sched_yield(), so that on a shared core
 * the client can run.
 *
 * Polling does not pay if the client takes its time, or if other threads need the cores: then
 * sched_yield() returns late.  After such a failure the main thread does not poll for a while: the
 * more failures came before, and the fewer successes since, the longer.  An idle daemon does not
 * poll, because polling begins only after a request.
 *
 * Only a lone client is polled: with several active clients, the one polled would get more turns
 * than the others. */
#define _GNU_SOURCE
#include "server.h"
#include "transport/parts.h"
#include <poll.h>
#include <sched.h>

enum {
    REST_NS = 1 << 20, /* the main thread rests so long after the first failure; about 1 ms, */
    REST_DOUBLES = 10, /* and at most 2^10 times as long */
    LATE_FAILURES = 6, /* a spin that took far too long counts as so many failures */
};

static void stay_awake(uv_idle_t *h)
{
    (void)h; /* the loop does not sleep while an idle handle is active */
}

void spin_init(server *s)
{
    s->spin.limit_ns = (uint64_t)s->options->spin_us * 1000;
    uv_idle_init(&s->loop, &s->spin.awake);
}

void spin_note(spin *sp, uint64_t start, uint64_t now, bool paid)
{
    bool late = now - start > 2 * sp->limit_ns;

    if (paid && !late) {
        sp->failures -= sp->failures > 0;
        return;
    }
    sp->failures += late ? LATE_FAILURES : 1;
    sp->failures = sp->failures < REST_DOUBLES ? sp->failures : REST_DOUBLES;
    sp->rests_until = now + ((uint64_t)REST_NS << sp->failures);
}

enum { NOTHING, DATA, OTHER };

/* Return DATA if `c` has something to read and nothing urgent, which a read would discard; OTHER if
 * another event waits, of `c`, of another connection, of a worker or a signal; else NOTHING. */
static int waiting(server *s, const struct connection *c)
{
    struct pollfd fds[] = {{c->fd, POLLIN | POLLPRI, 0}, {uv_backend_fd(&s->loop), POLLIN, 0}};

    if (poll(fds, 2, 0) <= 0)
        return NOTHING;
    return fds[0].revents == POLLIN ? DATA : OTHER;
}

/* Poll `c` until data or another event comes, or the time is over.  false: the event loop must
 * handle another event, or may sleep. */
static bool poll_one(server *s, struct connection *c)
{
    spin *sp = &s->spin;
    uint64_t start = nanos(), now;

    do {
        sched_yield();
        now = nanos(); /* before connection_read(), which runs short requests */
        int found = waiting(s, c);
        if (found == OTHER)
            return false;
        if (found == DATA) {
            connection_begin_turn(c);
            connection_read(c);
            spin_note(sp, start, now, true);
            turn_begin_at(&s->metrics.turns, now);
            return true;
        }
    } while (now - start < sp->limit_ns);
    spin_note(sp, start, now, false);
    return false;
}

/* May the main thread poll `c`?  Not while a worker runs a request of `c`: then the client probably
 * waits for the answer. */
static bool may_poll(const server *s, const struct connection *c)
{
    return s->spin.limit_ns > 0 && s->deferred == NULL && !s->draining && !c->eof && !c->blocked &&
           c->in_executor == 0 && connection_wants(c) &&
           (s->spin.failures == 0 || nanos() >= s->spin.rests_until);
}

void spin_wake(server *s, struct connection *c)
{
    s->spin.several = s->spin.several || (s->spin.newest != NULL && s->spin.newest != c);
    s->spin.newest = c;
}

void spin_run(server *s)
{
    spin *sp = &s->spin;
    struct connection *c = sp->several ? NULL : sp->newest;
    bool found = false;

    sp->newest = NULL;
    sp->several = false;
    if (c != NULL && may_poll(s, c)) {
        c->refs++;
        found = poll_one(s, c);
        if (found) {
            c->settle(c);
            sp->newest = c->closed ? NULL : c;
        }
        connection_unref(c);
    }
    if (!found && s->deferred == NULL)
        uv_idle_stop(&sp->awake);
    else if (!uv_is_active((uv_handle_t *)&sp->awake))
        uv_idle_start(&sp->awake, stay_awake);
}
