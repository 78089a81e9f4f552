/* peers.c -- the connections and sessions of a recording, made again on both sides */
#include "replay.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool start_with(host *h, const char *plugin)
{
    char *path = realpath(plugin, NULL); /* a name without a slash is looked for elsewhere */
    const char *const plugins[] = {path, NULL};
    bool ok = path != NULL && host_start(h, plugins);

    if (path == NULL)
        fprintf(stderr, "dispatchctl: %s: %s\n", plugin, strerror(errno));
    h->plugins = NULL;
    free(path);
    return ok;
}

static bool connect_side(const replay_side *on, dpc_client **out)
{
    dpc_options options = DPC_OPTIONS_INIT;
    dpc_error err;

    options.socket = on->socket;
    options.no_hello = true;
    if (dpc_connect(&options, out, &err) == 0)
        return true;
    fprintf(stderr, "dispatchctl: %s: %s\n", on->name, err.message);
    return false;
}

int side_has_device(const replay_side *on)
{
    dpc_request *r;
    dpc_client *c = NULL;
    dpc_answer *a = NULL;
    dpc_error err;
    int64_t none = 0;

    if (on->places.device == NULL)
        return CLI_OK;
    if (!connect_side(on, &c))
        return CLI_NO_CONNECTION;
    r = need(dpc_op_new("aten::empty.memory_format"));
    dpc_add_ints(r, NULL, &none, 1);
    dpc_add_str(r, "device", on->places.device);
    bool has = dpc_call(c, r, &a, &err) == 0;
    if (!has)
        fprintf(stderr, "dispatchctl: device %s: %s\n", on->places.device, err.message);
    dpc_request_free(r);
    dpc_answer_free(a);
    dpc_close(c);
    return has ? CLI_OK : CLI_ERROR;
}

static bool open_beside(const replay_side *on, dpc_client *of, dpc_client **out)
{
    dpc_error err;

    if (dpc_open(of, out, &err) == 0)
        return true;
    fprintf(stderr, "dispatchctl: %s: %s\n", on->name, err.message);
    return false;
}

static replay_session *add_session(peers *p)
{
    replay_session *s = need(calloc(1, sizeof(*s)));

    s->number = ++p->n_sessions;
    s->recorded = NAN;
    s->next = p->sessions;
    p->sessions = s;
    return s;
}

static void drop_session(peers *p, replay_session *s)
{
    replay_session **at = &p->sessions;

    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    dpc_close(s->aside[WANT]);
    dpc_close(s->aside[GOT]);
    free(s);
}

static peer *find(const peers *p, uint32_t connection)
{
    peer *at = p->first;

    while (at != NULL && at->connection != connection)
        at = at->next;
    return at;
}

/* Connect `at`, in its session.  false: a message was printed. */
static bool connect_peer(const peers *p, peer *at)
{
    for (int side = 0; side < 2; side++) {
        bool first = at->of->aside[side] == NULL;
        if (!(first ? connect_side(&p->sides[side], &at->client[side])
                    : open_beside(&p->sides[side], at->of->aside[side], &at->client[side])) ||
            (first && !open_beside(&p->sides[side], at->client[side], &at->of->aside[side])))
            return false;
    }
    return true;
}

/* Add a connection of session `of`; NULL: of a new one. */
static peer *add_peer(peers *p, uint32_t connection, replay_session *of)
{
    peer *at = need(calloc(1, sizeof(*at)));

    at->connection = connection;
    at->of = of ? of : add_session(p);
    at->of->connections++;
    at->next = p->first;
    p->first = at;
    return connect_peer(p, at) ? at : NULL;
}

peer *peers_get(peers *p, uint32_t connection)
{
    peer *at = find(p, connection);

    return at ? at : add_peer(p, connection, NULL);
}

bool peers_join(peers *p, uint32_t connection, const cJSON *json)
{
    double recorded = number_of(json, "session");
    replay_session *s = p->sessions;
    peer *at = find(p, connection);

    while (s != NULL && s->recorded != recorded)
        s = s->next;
    if (at != NULL && s != NULL && at->of != s) { /* its own session has nothing yet */
        peers_leave(p, connection);
        at = NULL;
    }
    if (at == NULL && (at = add_peer(p, connection, s)) == NULL)
        return false;
    at->of->recorded = recorded;
    at->of->lingers = at->of->lingers || cJSON_IsTrue(member(json, "lingers"));
    return true;
}

uint32_t peers_leave(peers *p, uint32_t connection)
{
    peer **at = &p->first, *gone;
    uint32_t number = 0;

    while (*at != NULL && (*at)->connection != connection)
        at = &(*at)->next;
    if ((gone = *at) == NULL)
        return 0;
    *at = gone->next;
    dpc_close(gone->client[WANT]);
    dpc_close(gone->client[GOT]);
    if (--gone->of->connections == 0 && !gone->of->lingers) {
        number = gone->of->number;
        drop_session(p, gone->of);
    }
    free(gone);
    return number;
}

void peers_free(peers *p)
{
    while (p->first != NULL)
        peers_leave(p, p->first->connection);
    while (p->sessions != NULL)
        drop_session(p, p->sessions);
}
