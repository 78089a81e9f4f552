/* session.c -- session.list and session.end; what sessions and uids hold, for server.status. */
#include "methods.h"
#include <stdlib.h>
#include <unistd.h>

enum { HOLDERS_MOST = 16 }; /* most sessions in server.status */

int owner_check(const request *rq, const char *what, dp_error *err)
{
    if (session_is_owner(rq->session))
        return 0;
    return dp_error_set(err, DP_EPERM, "%s: uid %ld may not, only uid %ld, the daemon's own", what,
                        (long)session_uid(rq->session), (long)geteuid());
}

void usage_to_json(jw *w, const dp_usage usage[DP_HOLDERS])
{
    jw_key(w, "account");
    jw_object(w);
    for (int h = 0; h < DP_HOLDERS; h++) {
        jw_key(w, dp_holder_name(h));
        jw_object(w);
        member_int(w, "count", (int64_t)usage[h].count);
        member_int(w, "bytes", (int64_t)usage[h].bytes);
        jw_object_end(w);
    }
    jw_object_end(w);
}

static void write_session(jw *w, const session_info *s)
{
    jw_object(w);
    member_int(w, "session", (int64_t)s->id);
    member_int(w, "uid", (int64_t)s->uid);
    member_int(w, "connections", s->connections);
    if (s->ends_in_ms >= 0)
        member_int(w, "ends_in_ms", s->ends_in_ms);
    member_int(w, "bytes", (int64_t)s->bytes);
    usage_to_json(w, s->usage);
    jw_object_end(w);
}

static int by_id(const void *a, const void *b)
{
    const session_info *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

int session_list(request *rq, jw *w, dp_error *err)
{
    session_info *all;
    int64_t n = rq->daemon->sessions(rq->conn, rq->session, &all, err);

    if (n < 0)
        return err->code;
    qsort(all, (size_t)n, sizeof(*all), by_id);
    jw_object(w);
    jw_key(w, "sessions");
    jw_array(w);
    for (int64_t i = 0; i < n; i++)
        write_session(w, &all[i]);
    jw_array_end(w);
    jw_object_end(w);
    dp_free(all);
    return 0;
}

int session_end(request *rq, const session_end_params *p, jw *w, dp_error *err)
{
    unsigned connections;

    if (rq->daemon->session_end(rq->conn, rq->session, (uint64_t)p->session, &connections, err) < 0)
        return err->code;
    jw_object(w);
    member_int(w, "session", p->session);
    member_int(w, "connections", connections);
    jw_object_end(w);
    return 0;
}

/* -- server.status -- */

/* Move the HOLDERS_MOST sessions with the most bytes to the front, in descending order; returns
 * their number. */
static int64_t select_most(session_info *all, int64_t n)
{
    int64_t chosen = 0;

    for (; chosen < n && chosen < HOLDERS_MOST; chosen++) {
        int64_t most = chosen;
        for (int64_t i = chosen + 1; i < n; i++)
            if (all[i].bytes > all[most].bytes ||
                (all[i].bytes == all[most].bytes && all[i].id < all[most].id))
                most = i;
        session_info first = all[chosen];
        all[chosen] = all[most];
        all[most] = first;
    }
    return chosen;
}

static int write_users(request *rq, jw *w, dp_error *err)
{
    user_info *users;
    int64_t n = rq->daemon->users(rq->conn, rq->session, &users, err);

    if (n < 0)
        return err->code;
    jw_key(w, "users");
    jw_array(w);
    for (const user_info *u = users; u < users + n; u++) {
        jw_object(w);
        member_int(w, "uid", (int64_t)u->uid);
        member_int(w, "sessions", u->sessions);
        member_int(w, "connections", u->connections);
        member_int(w, "requests", u->requests);
        member_int(w, "workers", u->workers);
        member_int(w, "maps", u->maps);
        member_int(w, "bytes", (int64_t)u->bytes);
        usage_to_json(w, u->usage);
        jw_object_end(w);
    }
    jw_array_end(w);
    dp_free(users);
    return 0;
}

int holders_to_json(request *rq, jw *w, dp_error *err)
{
    session_info *all;

    if (write_users(rq, w, err) < 0)
        return err->code;
    int64_t n = rq->daemon->sessions(rq->conn, rq->session, &all, err);
    if (n < 0)
        return err->code;
    n = select_most(all, n);
    jw_key(w, "holders");
    jw_array(w);
    for (int64_t i = 0; i < n; i++)
        write_session(w, &all[i]);
    jw_array_end(w);
    dp_free(all);
    return 0;
}
