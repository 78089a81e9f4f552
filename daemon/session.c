/* session.c -- sessions: their keys, their lifetimes, and their tensors by handle.
 *
 * A session's handles are ascending numbers and are never reused.  The table of tensors is
 * therefore an array sorted by handle: a new handle is appended, and a lookup is a binary search.
 * Released handles stay in the array as empty entries, until they are more than half of the array;
 * then the array is compacted.  Handles below zero, which the client chooses, are in a hash table:
 * client_handles.c.
 *
 * `sessions` lists the sessions that can be joined, with one reference to each; connections and
 * running requests hold further references.  Dropping the last reference frees the session and its
 * tensors.  Every function may be called on any thread. */
#include "session.h"
#include <dispatchd/grad.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

void sessions_init(sessions *all, const int64_t *limits)
{
    *all = (sessions){0};
    sessions_limits_init(all, limits);
    pthread_mutex_init(&all->lock, NULL);
}

void sessions_fini(sessions *all)
{
    sessions_reap(all, 0, true);
    users_fini(all);
    pthread_mutex_destroy(&all->lock);
}

static void notify_due(const sessions *all)
{
    if (all->on_due != NULL)
        all->on_due(all->on_due_arg);
}

static int random_key(char key[33], dp_error *err)
{
    unsigned char bytes[16];

    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return dp_error_set(err, DP_ERUNTIME, "getrandom: %s", strerror(errno));
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(key + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}

/* Find the session without a connection that would end first, among those that `asker` may end. */
static struct session **first_lingering(sessions *all, const struct session *asker)
{
    struct session **first = NULL;

    for (struct session **p = &all->head; *p != NULL; p = &(*p)->next)
        if ((*p)->n_connections == 0 && session_may_see(asker, (*p)->user->uid) &&
            (first == NULL || (*p)->ends_at < (*first)->ends_at))
            first = p;
    return first;
}

/* Has the session's uid, which is not the daemon's own, as many sessions as it may have? */
static bool user_is_full(const struct session *s)
{
    return !session_is_owner(s) && s->user->n_sessions >= LIMIT_SIZE(UID_SESSIONS);
}

/* Add `s` to the list.  If the list is full, or if its uid has too many sessions, end the session
 * without a connection that would end first. */
static int enlist(struct session *s, dp_error *err)
{
    sessions *all = s->all;
    struct session **first = NULL;

    pthread_mutex_lock(&all->lock);
    if (all->n >= LIMIT_SIZE(SESSIONS) || user_is_full(s))
        first = first_lingering(all, s);
    if (first != NULL)
        sessions_end_at(all, first);
    bool full = user_is_full(s), has_slot = !full && all->n < LIMIT_SIZE(SESSIONS);
    if (has_slot) {
        s->user->n_sessions++;
        s->user->n_connections++;
        s->id = ++all->last_id;
        snprintf(s->label, sizeof(s->label), "session %llu", (unsigned long long)s->id);
        s->next = all->head;
        all->head = s;
        all->n++;
    }
    pthread_mutex_unlock(&all->lock);
    if (has_slot)
        return 0;
    return full ? LIMIT_REACHED(UID_SESSIONS, LIMIT(UID_SESSIONS) + 1,
                                dp_error_set(err, DP_ERESOURCE,
                                             "uid %ld has %lld sessions (uid_sessions)",
                                             (long)session_uid(s), (long long)LIMIT(UID_SESSIONS)))
                : LIMIT_REACHED(SESSIONS, LIMIT(SESSIONS) + 1,
                                dp_error_set(err, DP_ERESOURCE, "%lld sessions are open (sessions)",
                                             (long long)LIMIT(SESSIONS)));
}

static void session_free(struct session *s)
{
    programs_fini(&s->programs);
    session_generators_fini(s);
    dp_streams_free(s->streams);
    dp_grad_end(s->account);
    dp_account_share(s->account, UINT64_MAX); /* frees memory kept for later tensors */
    dp_account_close(s->account);
    user_unref(s->user);
    pthread_mutex_destroy(&s->lock);
    dp_free(s);
}

struct session *session_new(sessions *all, dp_error *err)
{
    return session_new_for(all, geteuid(), err);
}

struct session *session_new_for(sessions *all, uid_t uid, dp_error *err)
{
    struct session *s = dp_calloc(1, sizeof(*s));

    if (s == NULL) {
        dp_error_set(err, DP_ERESOURCE, "out of memory: session");
        return NULL;
    }
    pthread_mutex_lock(&all->lock);
    s->user = users_get(all, uid, err);
    pthread_mutex_unlock(&all->lock);
    if (s->user == NULL || random_key(s->key, err) < 0 ||
        dp_account_new(all->limits, &s->account, err) < 0 || dp_streams_new(&s->streams, err) < 0 ||
        session_generators_init(s, err) < 0) {
        dp_account_close(s->account);
        dp_streams_free(s->streams);
        user_unref(s->user);
        dp_free(s);
        return NULL;
    }
    dp_account_group_add(s->user->group, s->account);
    s->turn_queue.user = &s->user->queue;
    pthread_mutex_init(&s->lock, NULL);
    programs_init(&s->programs, s->account);
    atomic_init(&s->refs, 2); /* the list's and the caller's */
    s->all = all;
    s->n_connections = 1;
    int rc = enlist(s, err);
    if (sessions_over(all))
        notify_due(all);
    if (rc == 0)
        return s;
    session_free(s);
    return NULL;
}

/* Count one more connection, and add a reference for it.  The caller holds the lock. */
static void add_connection(struct session *s)
{
    s->n_connections++;
    s->user->n_connections++;
    s->ends_at = 0;
    session_ref(s);
}

bool session_enter(struct session *s)
{
    pthread_mutex_lock(&s->all->lock);
    bool lives = !s->ended;
    if (lives)
        add_connection(s);
    pthread_mutex_unlock(&s->all->lock);
    return lives;
}

struct session *session_join(sessions *all, uid_t uid, const char *key)
{
    pthread_mutex_lock(&all->lock);
    struct session *s = all->head;
    while (s != NULL && (s->user->uid != uid || strcmp(s->key, key) != 0))
        s = s->next;
    if (s != NULL)
        add_connection(s);
    pthread_mutex_unlock(&all->lock);
    return s;
}

void session_leave(struct session *s)
{
    sessions *all = s->all;

    pthread_mutex_lock(&all->lock);
    if (!s->ended)
        s->user->n_connections--;
    if (--s->n_connections == 0)
        s->ends_at = nanos() + (uint64_t)s->linger_ms * 1000000;
    pthread_mutex_unlock(&all->lock);
    session_unref(s);
    notify_due(all);
}

static void release_handles(struct session *s)
{
    pthread_mutex_lock(&s->lock);
    handle *handles = s->handles;
    size_t n = s->n_handles;
    s->handles = NULL;
    s->n_handles = s->cap_handles = s->n_released = 0;
    client_handles chosen = s->client_handles;
    s->client_handles = (client_handles){0};
    pthread_mutex_unlock(&s->lock);
    for (size_t i = 0; i < n; i++)
        release_tensor(s->account, handles[i].tensor);
    client_handles_fini(&chosen, s->account);
    dp_free(handles);
    session_objects_drop(s);
}

uint64_t sessions_reap(sessions *all, uint64_t now, bool all_of_them)
{
    uint64_t next = 0;

    pthread_mutex_lock(&all->lock);
    for (struct session **p = &all->head; *p != NULL;) {
        struct session *s = *p;
        if (s->n_connections == 0 && (all_of_them || s->ends_at <= now)) {
            sessions_end_at(all, p);
            continue;
        }
        if (s->n_connections == 0 && (next == 0 || s->ends_at < next))
            next = s->ends_at;
        p = &s->next;
    }
    struct session *ended = all->ended;
    all->ended = NULL;
    pthread_mutex_unlock(&all->lock);
    /* without the lock, because releasing a million tensors takes long */
    while (ended != NULL) {
        struct session *s = ended;
        ended = s->next;
        release_handles(s); /* now, even if a running call still holds a reference to the session */
        if (all->on_end != NULL)
            all->on_end(all->on_end_arg, s->id);
        session_unref(s);
    }
    return next;
}

bool sessions_over(sessions *all)
{
    pthread_mutex_lock(&all->lock);
    bool some = all->ended != NULL;
    pthread_mutex_unlock(&all->lock);
    return some;
}

uint64_t sessions_count(sessions *all)
{
    pthread_mutex_lock(&all->lock);
    uint64_t n = all->n;
    pthread_mutex_unlock(&all->lock);
    return n;
}

uint64_t sessions_ended(sessions *all)
{
    pthread_mutex_lock(&all->lock);
    uint64_t n = all->last_id - all->n;
    pthread_mutex_unlock(&all->lock);
    return n;
}

struct session *session_ref(struct session *s)
{
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    return s;
}

struct session *session_unref(struct session *s)
{
    if (s == NULL || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) > 1)
        return NULL;
    release_handles(s);
    session_free(s);
    return NULL;
}

uint64_t session_id(const struct session *s)
{
    return s->id;
}

user *session_user(const struct session *s)
{
    return s->user;
}

programs *session_programs(struct session *s)
{
    return &s->programs;
}

const char *session_key(const struct session *s)
{
    return s->key;
}

void session_set_linger(struct session *s, int64_t ms)
{
    pthread_mutex_lock(&s->all->lock);
    s->linger_ms = ms;
    pthread_mutex_unlock(&s->all->lock);
}

/* -- handles; the caller of find(), compact() and reserve_handle() holds session.lock -- */

static handle *find(struct session *s, uint64_t id)
{
    return array_find(s->handles, s->n_handles, sizeof(*s->handles), id);
}

static void compact(struct session *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n_handles; i++)
        if (s->handles[i].tensor != NULL)
            s->handles[n++] = s->handles[i];
    s->n_handles = n;
    s->n_released = 0;
}

/* Reserve memory for a handle of `t`, and charge the handle and the storage of `t` to the
 * session. */
static int reserve_handle(struct session *s, const dp_tensor *t, dp_error *err)
{
    handle *handles = array_grow(s->handles, s->n_handles, &s->cap_handles, sizeof(*handles));

    if (handles == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: handle");
    s->handles = handles;
    int rc = dp_account_charge(s->account, DP_HOLDER_TENSORS, 1, 0, err);
    if (rc == 0 && (rc = dp_account_charge_tensor(s->account, DP_HOLDER_TENSORS, t, err)) < 0)
        dp_account_refund(s->account, DP_HOLDER_TENSORS, 1, 0);
    return rc;
}

uint64_t session_put(struct session *s, dp_tensor *t, dp_error *err)
{
    uint64_t id = 0;

    pthread_mutex_lock(&s->lock);
    if (reserve_handle(s, t, err) == 0) {
        id = ++s->last_handle;
        s->handles[s->n_handles++] = (handle){id, dp_tensor_ref(t)};
    }
    pthread_mutex_unlock(&s->lock);
    return id;
}

dp_tensor *session_tensor_get(struct session *s, uint64_t id)
{
    pthread_mutex_lock(&s->lock);
    handle *h = is_client_handle(id) ? NULL : find(s, id);
    dp_tensor *t = h != NULL && h->tensor != NULL ? dp_tensor_ref(h->tensor)
                                                  : client_handles_tensor(&s->client_handles, id);
    pthread_mutex_unlock(&s->lock);
    return t;
}

bool session_release(struct session *s, uint64_t id)
{
    dp_tensor *t = NULL;

    pthread_mutex_lock(&s->lock);
    handle *h = is_client_handle(id) ? NULL : find(s, id);
    bool known = h != NULL ? h->tensor != NULL : client_handles_take(&s->client_handles, id, &t);
    if (h != NULL && known) {
        t = h->tensor;
        h->tensor = NULL;
        if (++s->n_released > 8 && s->n_released > s->n_handles / 2)
            compact(s);
    }
    pthread_mutex_unlock(&s->lock);
    release_tensor(s->account, t);
    return known;
}

void session_moved(struct session *s, const dp_tensor *t)
{
    dp_account_charge_tensor_anyway(s->account, DP_HOLDER_TENSORS, t);
}

dp_flag *session_grad_flag(struct session *s)
{
    return &s->grad;
}

dp_account *session_account(struct session *s)
{
    return s->account;
}

int64_t session_handles(struct session *s, bool failed, uint64_t **out, dp_error *err)
{
    int64_t n = 0;

    pthread_mutex_lock(&s->lock);
    size_t most = s->n_handles + s->client_handles.n;
    uint64_t *ids = dp_malloc_n(most + 1, sizeof(*ids));
    for (size_t i = 0; ids != NULL && i < s->n_handles; i++)
        if (s->handles[i].tensor != NULL)
            ids[n++] = s->handles[i].id;
    const client_handle *first = ids != NULL ? s->client_handles.reachable.oldest : NULL;
    for (const client_handle *e = first; e != NULL; e = e->newer)
        if (e->tensor != NULL)
            ids[n++] = e->id;
    first = ids != NULL && failed ? s->client_handles.failed.oldest : NULL;
    for (const client_handle *e = first; e != NULL; e = e->newer)
        ids[n++] = e->id;
    pthread_mutex_unlock(&s->lock);
    *out = ids;
    return ids != NULL ? n : dp_error_set(err, DP_ERESOURCE, "out of memory: %zu handles", most);
}

uint64_t session_handle_of(struct session *s, const dp_tensor *t)
{
    uint64_t id = 0;

    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; id == 0 && i < s->n_handles; i++)
        if (s->handles[i].tensor == t)
            id = s->handles[i].id;
    const client_handle *first = id == 0 ? s->client_handles.reachable.oldest : NULL;
    for (const client_handle *e = first; id == 0 && e != NULL; e = e->newer)
        if (e->tensor == t)
            id = e->id;
    pthread_mutex_unlock(&s->lock);
    return id;
}

/* -- stuck calls -- */

bool session_stuck_add(struct session *s, request *rq, bool *calls)
{
    int phase = PHASE_READS;

    pthread_mutex_lock(&s->lock);
    bool reads = atomic_compare_exchange_strong(&rq->phase, &phase, PHASE_ANSWERED);
    *calls = !reads && phase == PHASE_CALLS &&
             atomic_compare_exchange_strong(&rq->phase, &phase, PHASE_ANSWERED);
    if (*calls) {
        rq->next_stuck = s->stuck;
        s->stuck = rq;
        atomic_fetch_add(&s->n_stuck, 1);
    }
    pthread_mutex_unlock(&s->lock);
    return reads || *calls;
}

void session_stuck_remove(struct session *s, request *rq)
{
    pthread_mutex_lock(&s->lock);
    request **p = &s->stuck;
    while (*p != NULL && *p != rq)
        p = &(*p)->next_stuck;
    if (*p != NULL) {
        *p = rq->next_stuck;
        atomic_fetch_sub(&s->n_stuck, 1);
        s->stuck_ends++;
    }
    pthread_mutex_unlock(&s->lock);
}

bool session_stuck_find(struct session *s, bool (*shares)(const struct run *r, const void *arg),
                        const void *arg, uint64_t *ends)
{
    bool found = false;

    if (atomic_load(&s->n_stuck) == 0)
        return false;
    pthread_mutex_lock(&s->lock);
    for (const request *rq = s->stuck; rq != NULL && !found; rq = rq->next_stuck)
        found = shares(rq->run, arg);
    *ends = s->stuck_ends;
    pthread_mutex_unlock(&s->lock);
    return found;
}

uint64_t session_stuck_ends(struct session *s)
{
    pthread_mutex_lock(&s->lock);
    uint64_t ends = s->stuck_ends;
    pthread_mutex_unlock(&s->lock);
    return ends;
}
