/* users.c -- the records of uids: which uid has which sessions, and who may see and end them.
 *
 * All sessions of a uid have accounts of one group, whose limit is `uid_bytes`.  Clients of another
 * uid than the daemon's own see only their own sessions. */
#include "metrics.h"
#include "session.h"
#include <string.h>
#include <unistd.h>

/* -- records -- */

/* Free `u`, which may be incomplete and is in no list. */
static void user_free(user *u)
{
    names_drop(u);
    dp_account_close(u->named);
    dp_account_group_close(u->group);
    metrics_table_free(u->figures);
    dp_free(u);
}

static int user_init(user *u, sessions *all, dp_error *err)
{
    if (dp_account_group_new(&all->user_limits, &u->group, err) < 0 ||
        dp_account_new(all->named_limits, &u->named, err) < 0)
        return err->code;
    if (u->uid == geteuid() || all->metrics == NULL)
        return 0;
    u->figures = metrics_table_new(all->metrics, err);
    return u->figures != NULL ? 0 : err->code;
}

static bool is_nothing(const dp_usage held[DP_HOLDERS])
{
    for (int h = 0; h < DP_HOLDERS; h++)
        if (held[h].count > 0 || held[h].bytes > 0)
            return false;
    return true;
}

/* May the record of `u` be freed?  Nothing may be charged for the uid any more: memory that its
 * sessions left in plugins is. */
static bool is_idle(const user *u)
{
    dp_usage held[DP_HOLDERS], named[DP_HOLDERS];

    if (u->refs > 0 || u->n_names > 0)
        return false;
    dp_account_group_usage(u->group, held);
    dp_account_usage(u->named, named);
    return is_nothing(held) && is_nothing(named);
}

/* Free an idle record, to make room for another uid. */
static void drop_one(sessions *all)
{
    user **p = &all->users;

    while (*p != NULL && !is_idle(*p))
        p = &(*p)->next;
    user *u = *p;
    if (u == NULL)
        return;
    *p = u->next;
    all->n_users--;
    user_free(u);
}

user *users_get(sessions *all, uid_t uid, dp_error *err)
{
    user *u = all->users;

    while (u != NULL && u->uid != uid)
        u = u->next;
    if (u != NULL) {
        u->refs++;
        return u;
    }
    if (all->n_users >= LIMIT_SIZE(UIDS))
        drop_one(all);
    if (all->n_users >= LIMIT_SIZE(UIDS) && uid != geteuid()) {
        dp_error_set(err, DP_ERESOURCE, "%u uids use this daemon, no more can (uids)",
                     all->n_users);
        LIMIT_REACHED(UIDS, all->n_users + 1, err->code);
        return NULL;
    }
    u = dp_calloc(1, sizeof(*u));
    if (u == NULL) {
        dp_error_set(err, DP_ERESOURCE, "out of memory: a uid");
        return NULL;
    }
    u->uid = uid;
    u->all = all;
    u->queue.limited = uid != geteuid();
    if (user_init(u, all, err) < 0) {
        user_free(u);
        return NULL;
    }
    u->refs = 1;
    u->next = all->users;
    all->users = u;
    all->n_users++;
    return u;
}

user *user_ref(user *u)
{
    pthread_mutex_lock(&u->all->lock);
    u->refs++;
    pthread_mutex_unlock(&u->all->lock);
    return u;
}

void user_unref(user *u)
{
    if (u == NULL)
        return;
    pthread_mutex_lock(&u->all->lock);
    u->refs--;
    pthread_mutex_unlock(&u->all->lock);
}

void users_fini(sessions *all)
{
    for (user *u = all->users, *next; u != NULL; u = next) {
        next = u->next;
        user_free(u);
    }
    all->users = NULL;
}

/* -- limits -- */

/* For each holder the indices of its limits; `in_user` 0: all sessions of a uid have no limit. */
static const struct {
    int count, bytes, in_user;
} limit_rows[DP_HOLDERS] = {
    [DP_HOLDER_NAMES] = {LIMIT_AT_UID_NAMES, LIMIT_AT_UID_NAMED_BYTES, 0}, /* see names.c */
    [DP_HOLDER_TENSORS] = {LIMIT_AT_SESSION_TENSORS, LIMIT_AT_SESSION_TENSOR_BYTES,
                           LIMIT_AT_UID_TENSORS},
    [DP_HOLDER_INTERMEDIATES] = {LIMIT_AT_SESSION_INTERMEDIATES,
                                 LIMIT_AT_SESSION_INTERMEDIATE_BYTES, 0},
    [DP_HOLDER_PROGRAMS] = {LIMIT_AT_SESSION_PROGRAMS, LIMIT_AT_SESSION_PROGRAM_BYTES, 0},
    [DP_HOLDER_PROGRAM_CACHE] = {LIMIT_AT_PROGRAM_CACHE, LIMIT_AT_PROGRAM_CACHE_BYTES, 0},
    [DP_HOLDER_GENERATORS] = {LIMIT_AT_SESSION_GENERATORS, LIMIT_AT_SESSION_GENERATOR_BYTES, 0},
    [DP_HOLDER_OBJECTS] = {LIMIT_AT_SESSION_OBJECTS, LIMIT_AT_SESSION_OBJECT_BYTES,
                           LIMIT_AT_UID_OBJECTS},
    [DP_HOLDER_HISTORY] = {LIMIT_AT_SESSION_NODES, LIMIT_AT_SESSION_NODE_BYTES, 0},
    /* no bytes are charged to this holder */
    [DP_HOLDER_MEMFDS] = {LIMIT_AT_SESSION_MEMFDS, LIMIT_AT_UID_BYTES, LIMIT_AT_UID_MEMFDS},
};

/* The limits of a uid's account for named tensors: those of names, for each holder that it has. */
static const int named_holders[] = {DP_HOLDER_NAMES, DP_HOLDER_INTERMEDIATES};

static void set_limit(uint64_t *limit, int64_t value)
{
    /* accounts read it without a lock */
    __atomic_store_n(limit, (uint64_t)value, __ATOMIC_RELAXED);
}

static void set_limits(sessions *all, const int64_t *limits)
{
    for (int h = 0; h < DP_HOLDERS; h++) {
        set_limit(&all->limits[h].count, limits[limit_rows[h].count]);
        set_limit(&all->limits[h].bytes, limits[limit_rows[h].bytes]);
        set_limit(&all->user_limits.counts[h].most, limits[limit_rows[h].in_user]);
    }
    for (size_t i = 0; i < sizeof(named_holders) / sizeof(named_holders[0]); i++) {
        dp_holder_limit *l = &all->named_limits[named_holders[i]];
        set_limit(&l->count, limits[LIMIT_AT_UID_NAMES]);
        set_limit(&l->bytes, limits[LIMIT_AT_UID_NAMED_BYTES]);
    }
    set_limit(&all->user_limits.bytes, limits[LIMIT_AT_UID_BYTES]);
}

void sessions_limits_init(sessions *all, const int64_t *limits)
{
    for (int h = 0; h < DP_HOLDERS; h++) {
        int in_user = limit_rows[h].in_user;
        all->limits[h].count_name = limit_names[limit_rows[h].count];
        all->limits[h].bytes_name = limit_names[limit_rows[h].bytes];
        all->user_limits.counts[h].name = in_user > 0 ? limit_names[in_user] : NULL;
    }
    for (size_t i = 0; i < sizeof(named_holders) / sizeof(named_holders[0]); i++) {
        all->named_limits[named_holders[i]].count_name = limit_names[LIMIT_AT_UID_NAMES];
        all->named_limits[named_holders[i]].bytes_name = limit_names[LIMIT_AT_UID_NAMED_BYTES];
    }
    all->user_limits.bytes_name = limit_names[LIMIT_AT_UID_BYTES];
    set_limits(all, limits);
}

void sessions_limits(sessions *all, const int64_t *limits)
{
    pthread_mutex_lock(&all->lock);
    set_limits(all, limits);
    for (struct session *s = all->head; s != NULL; s = s->next)
        dp_account_limits_changed(s->account);
    for (user *u = all->users; u != NULL; u = u->next) {
        dp_account_limits_changed(u->named);
        dp_account_group_limits_changed(u->group);
    }
    pthread_mutex_unlock(&all->lock);
}

/* -- uids -- */

uid_t session_uid(const struct session *s)
{
    return s->user->uid;
}

bool session_is_owner(const struct session *s)
{
    return s->user->uid == geteuid();
}

bool session_may_see(const struct session *asker, uid_t uid)
{
    return session_is_owner(asker) || session_uid(asker) == uid;
}

/* -- listing -- */

/* Add `from` to `to`; returns the sum of the bytes of `from`. */
static uint64_t add_usage(dp_usage to[DP_HOLDERS], const dp_usage from[DP_HOLDERS])
{
    uint64_t bytes = 0;

    for (int h = 0; h < DP_HOLDERS; h++) {
        to[h].count += from[h].count;
        to[h].bytes += from[h].bytes;
        bytes += from[h].bytes;
    }
    return bytes;
}

uint64_t sessions_usage(sessions *all, const struct session *asker, dp_usage out[DP_HOLDERS])
{
    dp_usage held[DP_HOLDERS];
    uint64_t n = 0;

    memset(out, 0, DP_HOLDERS * sizeof(*out));
    pthread_mutex_lock(&all->lock);
    for (const struct session *s = all->head; s != NULL; s = s->next) {
        if (!session_may_see(asker, session_uid(s)))
            continue;
        n++;
        dp_account_usage(s->account, held);
        add_usage(out, held);
    }
    for (const user *u = all->users; u != NULL; u = u->next)
        if (session_may_see(asker, u->uid)) {
            names_usage(u, held);
            add_usage(out, held);
        }
    pthread_mutex_unlock(&all->lock);
    return n;
}

static session_info describe(const struct session *s, uint64_t now)
{
    session_info i = {.id = s->id, .uid = session_uid(s), .connections = s->n_connections};
    dp_usage held[DP_HOLDERS];

    i.ends_in_ms = s->n_connections > 0 ? -1
                   : s->ends_at > now   ? (int64_t)((s->ends_at - now) / 1000000)
                                        : 0;
    dp_account_usage(s->account, held);
    i.bytes = add_usage(i.usage, held);
    return i;
}

int64_t sessions_list(sessions *all, const struct session *asker, session_info **out, dp_error *err)
{
    uint64_t now = nanos();
    int64_t n = 0;

    pthread_mutex_lock(&all->lock);
    *out = dp_malloc_n(all->n + 1, sizeof(**out));
    for (const struct session *s = *out != NULL ? all->head : NULL; s != NULL; s = s->next)
        if (session_may_see(asker, session_uid(s)))
            (*out)[n++] = describe(s, now);
    pthread_mutex_unlock(&all->lock);
    return *out != NULL ? n : dp_error_set(err, DP_ERESOURCE, "out of memory: list of sessions");
}

int64_t users_list(sessions *all, const struct session *asker, user_info **out, dp_error *err)
{
    dp_usage held[DP_HOLDERS];
    int64_t n = 0;

    pthread_mutex_lock(&all->lock);
    *out = dp_calloc(all->n_users + 1, sizeof(**out));
    for (const user *u = *out != NULL ? all->users : NULL; u != NULL; u = u->next) {
        if (!session_may_see(asker, u->uid))
            continue;
        user_info *i = &(*out)[n++];
        i->uid = u->uid;
        i->sessions = u->n_sessions;
        i->connections = u->n_connections;
        i->requests = atomic_load(&u->outstanding);
        i->workers = atomic_load(&u->queue.running);
        i->maps = atomic_load(&u->n_maps);
        dp_account_group_usage(u->group, held);
        i->bytes = add_usage(i->usage, held);
        names_usage(u, held);
        add_usage(i->usage, held);
    }
    pthread_mutex_unlock(&all->lock);
    return *out != NULL ? n : dp_error_set(err, DP_ERESOURCE, "out of memory: list of uids");
}

/* -- ending -- */

void sessions_end_at(sessions *all, struct session **p)
{
    struct session *s = *p;

    s->ended = true;
    s->user->n_sessions--;
    s->user->n_connections -= s->n_connections;
    *p = s->next;
    s->next = all->ended;
    all->ended = s;
    all->n--;
}

int sessions_end(sessions *all, const struct session *asker, uint64_t id, unsigned *connections,
                 dp_error *err)
{
    unsigned long long number = id;
    int rc = 0;

    if (id == asker->id)
        return dp_error_set(err, DP_EVALUE,
                            "session %llu is the session of this connection, expected another one; "
                            "close the connection to end it",
                            number);
    pthread_mutex_lock(&all->lock);
    struct session **p = &all->head;
    while (*p != NULL && (*p)->id != id)
        p = &(*p)->next;
    /* another uid must not learn which sessions there are */
    if (!session_is_owner(asker) && (*p == NULL || session_uid(*p) != session_uid(asker))) {
        rc = dp_error_set(err, DP_EPERM,
                          "session %llu is no session of uid %ld; only uid %ld, the daemon's own, "
                          "may end others'",
                          number, (long)session_uid(asker), (long)geteuid());
    } else if (*p == NULL) {
        rc = dp_error_set(err, DP_ENOTFOUND, "no session %llu", number);
    } else {
        *connections = (*p)->n_connections;
        sessions_end_at(all, p);
    }
    pthread_mutex_unlock(&all->lock);
    return rc;
}

bool session_has_ended(struct session *s)
{
    pthread_mutex_lock(&s->all->lock);
    bool ended = s->ended;
    pthread_mutex_unlock(&s->all->lock);
    return ended;
}
