/* generators.c -- a session's generators: its default ones, and those that clients made.
 *
 * Their handles are the session's, from the numbers that tensors' are from.  There are few, so they
 * are searched one by one.  Any thread; session.lock is held for no longer than a search. */
#include "session.h"

int session_generators_init(struct session *s, dp_error *err)
{
    return dp_generators_new(&s->generators.defaults, err);
}

void session_generators_fini(struct session *s)
{
    session_generators *all = &s->generators;

    for (size_t i = 0; i < all->n; i++)
        dp_generator_unref(all->items[i].generator);
    dp_free(all->items);
    dp_generators_free(all->defaults);
}

dp_generators *session_default_generators(struct session *s)
{
    return s->generators.defaults;
}

static int make_room(struct session *s, dp_generator *g, dp_error *err)
{
    session_generators *all = &s->generators;
    generator_handle *items = array_grow(all->items, all->n, &all->cap, sizeof(*items));
    if (items == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: handle");
    all->items = items;
    return dp_account_charge(s->account, DP_HOLDER_GENERATORS, 1, dp_generator_state_bytes(g), err);
}

uint64_t session_generator_put(struct session *s, dp_generator *g, dp_error *err)
{
    session_generators *all = &s->generators;
    uint64_t id = 0;

    pthread_mutex_lock(&s->lock);
    if (make_room(s, g, err) == 0) {
        id = ++s->last_handle;
        all->items[all->n++] = (generator_handle){id, dp_generator_ref(g)};
    }
    pthread_mutex_unlock(&s->lock);
    return id;
}

/* Under session.lock.  Its place in items, or n. */
static size_t find(const session_generators *all, uint64_t id)
{
    size_t i = 0;

    while (i < all->n && all->items[i].id != id)
        i++;
    return i;
}

dp_generator *session_generator_get(struct session *s, uint64_t id)
{
    session_generators *all = &s->generators;

    pthread_mutex_lock(&s->lock);
    size_t i = find(all, id);
    dp_generator *g = i < all->n ? dp_generator_ref(all->items[i].generator) : NULL;
    pthread_mutex_unlock(&s->lock);
    return g;
}

bool session_generator_release(struct session *s, uint64_t id)
{
    session_generators *all = &s->generators;
    dp_generator *g = NULL;

    pthread_mutex_lock(&s->lock);
    size_t i = find(all, id);
    if (i < all->n) {
        g = all->items[i].generator;
        dp_account_refund(s->account, DP_HOLDER_GENERATORS, 1, dp_generator_state_bytes(g));
        all->items[i] = all->items[--all->n];
    }
    pthread_mutex_unlock(&s->lock);
    dp_generator_unref(g);
    return g != NULL;
}

bool session_draws(struct session *s)
{
    session_generators *all = &s->generators;
    bool busy = dp_generators_busy(all->defaults);

    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < all->n && !busy; i++)
        busy = dp_generator_busy(all->items[i].generator);
    pthread_mutex_unlock(&s->lock);
    return busy;
}
