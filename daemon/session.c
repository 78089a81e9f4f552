/* session.c -- sessions: their keys, how long they live, and the tensors their handles name.
 *
 * A session's handles ascend and are never reused, so the table is an array in order of handle:
 * appended to, searched by halves, squeezed when half of it is released.  A session that can be
 * joined is in `sessions`, which holds one reference; connections and running requests hold the
 * others, and the last one to go drops the tensors.  Any thread. */
#include "server.h"
#include <errno.h>
#include <string.h>
#include <sys/random.h>

void sessions_init(sessions *all)
{
    *all = (sessions){0};
    pthread_mutex_init(&all->lock, NULL);
}

void sessions_fini(sessions *all)
{
    sessions_reap(all, 0, true);
    pthread_mutex_destroy(&all->lock);
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

struct session *session_new(sessions *all, dp_error *err)
{
    struct session *s = dp_calloc(1, sizeof(*s));

    if (s == NULL) {
        dp_error_set(err, DP_ERESOURCE, "out of memory: session");
        return NULL;
    }
    if (random_key(s->key, err) < 0) {
        dp_free(s);
        return NULL;
    }
    pthread_mutex_init(&s->lock, NULL);
    atomic_init(&s->refs, 2); /* the list's and the caller's */
    s->all = all;
    s->n_connections = 1;
    pthread_mutex_lock(&all->lock);
    s->id = ++all->last_id;
    s->next = all->head;
    all->head = s;
    all->n++;
    pthread_mutex_unlock(&all->lock);
    return s;
}

struct session *session_join(sessions *all, const char *key)
{
    pthread_mutex_lock(&all->lock);
    struct session *s = all->head;
    while (s != NULL && strcmp(s->key, key) != 0)
        s = s->next;
    if (s != NULL) {
        s->n_connections++;
        s->ends_at = 0;
        session_ref(s);
    }
    pthread_mutex_unlock(&all->lock);
    return s;
}

void session_leave(struct session *s)
{
    sessions *all = s->all;

    pthread_mutex_lock(&all->lock);
    if (--s->n_connections == 0)
        s->ends_at = nanos() + (uint64_t)s->linger_ms * 1000000;
    pthread_mutex_unlock(&all->lock);
    session_unref(s);
}

uint64_t sessions_reap(sessions *all, uint64_t now, bool all_of_them)
{
    struct session *over = NULL;
    uint64_t next = 0;

    pthread_mutex_lock(&all->lock);
    for (struct session **p = &all->head; *p != NULL;) {
        struct session *s = *p;
        if (s->n_connections == 0 && (all_of_them || s->ends_at <= now)) {
            *p = s->next;
            s->next = over;
            over = s;
            all->n--;
            continue;
        }
        if (s->n_connections == 0 && (next == 0 || s->ends_at < next))
            next = s->ends_at;
        p = &s->next;
    }
    pthread_mutex_unlock(&all->lock);
    while (over != NULL) { /* outside the lock: a session may have many tensors to drop */
        struct session *s = over;
        over = s->next;
        session_unref(s);
    }
    return next;
}

uint64_t sessions_count(sessions *all)
{
    pthread_mutex_lock(&all->lock);
    uint64_t n = all->n;
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
    for (size_t i = 0; i < s->n_handles; i++)
        dp_tensor_unref(s->handles[i].tensor);
    dp_free(s->handles);
    pthread_mutex_destroy(&s->lock);
    dp_free(s);
    return NULL;
}

uint64_t session_id(const struct session *s)
{
    return s->id;
}

const char *session_key(const struct session *s)
{
    return s->key;
}

void session_set_linger(struct session *s, int64_t ms)
{
    pthread_mutex_lock(&s->all->lock);
    s->linger_ms = ms > 0 ? ms : 0;
    pthread_mutex_unlock(&s->all->lock);
}

/* -- handles; session.lock is held -- */

static handle *find(struct session *s, uint64_t id)
{
    size_t low = 0, high = s->n_handles;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (s->handles[mid].id < id)
            low = mid + 1;
        else
            high = mid;
    }
    return low < s->n_handles && s->handles[low].id == id ? &s->handles[low] : NULL;
}

static void squeeze(struct session *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n_handles; i++)
        if (s->handles[i].tensor != NULL)
            s->handles[n++] = s->handles[i];
    s->n_handles = n;
    s->n_released = 0;
}

static int make_room(struct session *s, dp_error *err)
{
    if (s->n_handles - s->n_released >= LIMIT_SESSION_TENSORS)
        return dp_error_set(err, DP_ERESOURCE,
                            "a session holds at most %d tensors (session_tensors)",
                            LIMIT_SESSION_TENSORS);
    handle *handles = array_grow(s->handles, s->n_handles, &s->cap_handles, sizeof(*handles));
    if (handles == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: handle");
    s->handles = handles;
    return 0;
}

uint64_t session_put(struct session *s, dp_tensor *t, dp_error *err)
{
    uint64_t id = 0;

    pthread_mutex_lock(&s->lock);
    if (make_room(s, err) == 0) {
        id = ++s->last_handle;
        s->handles[s->n_handles++] = (handle){id, dp_tensor_ref(t)};
    }
    pthread_mutex_unlock(&s->lock);
    return id;
}

dp_tensor *session_get(struct session *s, uint64_t id)
{
    pthread_mutex_lock(&s->lock);
    handle *h = find(s, id);
    dp_tensor *t = h != NULL && h->tensor != NULL ? dp_tensor_ref(h->tensor) : NULL;
    pthread_mutex_unlock(&s->lock);
    return t;
}

bool session_release(struct session *s, uint64_t id)
{
    dp_tensor *t = NULL;

    pthread_mutex_lock(&s->lock);
    handle *h = find(s, id);
    if (h != NULL && h->tensor != NULL) {
        t = h->tensor;
        h->tensor = NULL;
        if (++s->n_released > 8 && s->n_released > s->n_handles / 2)
            squeeze(s);
    }
    pthread_mutex_unlock(&s->lock);
    dp_tensor_unref(t);
    return t != NULL;
}

size_t session_handles(struct session *s, uint64_t **out)
{
    size_t n = 0;

    pthread_mutex_lock(&s->lock);
    uint64_t *ids = dp_malloc((s->n_handles + 1) * sizeof(*ids));
    for (size_t i = 0; ids != NULL && i < s->n_handles; i++)
        if (s->handles[i].tensor != NULL)
            ids[n++] = s->handles[i].id;
    pthread_mutex_unlock(&s->lock);
    *out = ids;
    return n;
}

uint64_t session_handle_of(struct session *s, const dp_tensor *t)
{
    uint64_t id = 0;

    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; id == 0 && i < s->n_handles; i++)
        if (s->handles[i].tensor == t)
            id = s->handles[i].id;
    pthread_mutex_unlock(&s->lock);
    return id;
}
