/* turn.c -- the turns of connections in one loop iteration: how long each may take, and which wait
 * for a later iteration. */
#include "server.h"
#include "transport/parts.h"

/* Count a turn of a connection of `u`, and return the part of TURN_NS that it may use.  As many
 * connections as in the last iteration are expected to want turns. */
static int64_t share_of_turn(server *s, user *u)
{
    if (u->iteration != s->iteration) {
        u->last_turns = u->iteration + 1 == s->iteration ? u->n_turns : 0;
        u->iteration = s->iteration;
        u->n_turns = 0;
        s->n_turns++;
    }
    u->n_turns++;
    unsigned uids = s->last_turns > s->n_turns ? s->last_turns : s->n_turns;
    unsigned connections = u->last_turns > u->n_turns ? u->last_turns : u->n_turns;
    int64_t ns = TURN_NS / (int64_t)uids / (int64_t)connections;
    return ns > TURN_LEAST_NS ? ns : TURN_LEAST_NS;
}

void connection_begin_turn(struct connection *c)
{
    server *s = c->server;

    if (c->iteration == s->iteration)
        return;
    c->iteration = s->iteration;
    c->budget = share_of_turn(s, c->user);
}

void connection_defer(struct connection *c)
{
    server *s = c->server;

    if (c->deferred)
        return;
    c->deferred = true;
    c->next_deferred = NULL;
    *(s->deferred != NULL ? &s->deferred_tail->next_deferred : &s->deferred) = c;
    s->deferred_tail = c;
}

void connection_undefer(struct connection *c)
{
    server *s = c->server;
    struct connection *before = NULL;

    if (!c->deferred)
        return;
    for (struct connection *p = s->deferred; p != c; p = p->next_deferred)
        before = p;
    *(before != NULL ? &before->next_deferred : &s->deferred) = c->next_deferred;
    if (s->deferred_tail == c)
        s->deferred_tail = before;
    c->deferred = false;
}
