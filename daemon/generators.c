/* generators.c -- a session's generators: its default generators, and those that clients created.
 *
 * Generators, tensors and objects take their handles from one counter of the session.  Every
 * function may be called on any thread; `session.lock` is never held while code waits for a
 * generator. */
#include "session.h"

int session_generators_init(struct session *s, dp_error *err)
{
    return dp_generators_new(&s->default_generators, err);
}

void session_generators_fini(struct session *s)
{
    handle_list *all = &s->generators;

    for (size_t i = 0; i < all->n; i++)
        dp_generator_unref(all->items[i].object);
    dp_free(all->items);
    dp_generators_free(s->default_generators);
}

dp_generators *session_default_generators(struct session *s)
{
    return s->default_generators;
}

uint64_t session_generator_put(struct session *s, dp_generator *g, dp_error *err)
{
    uint64_t id = 0;

    pthread_mutex_lock(&s->lock);
    if (handle_list_reserve(&s->generators, err) == 0 &&
        dp_account_charge(s->account, DP_HOLDER_GENERATORS, 1, dp_generator_state_bytes(g), err) ==
            0) {
        id = ++s->last_handle;
        handle_list_add(&s->generators, id, dp_generator_ref(g));
    }
    pthread_mutex_unlock(&s->lock);
    return id;
}

dp_generator *session_generator_get(struct session *s, uint64_t id)
{
    pthread_mutex_lock(&s->lock);
    dp_generator *g = handle_list_get(&s->generators, id);
    if (g != NULL)
        dp_generator_ref(g);
    pthread_mutex_unlock(&s->lock);
    return g;
}

bool session_generator_release(struct session *s, uint64_t id)
{
    pthread_mutex_lock(&s->lock);
    dp_generator *g = handle_list_take(&s->generators, id);
    pthread_mutex_unlock(&s->lock);
    if (g == NULL)
        return false;
    dp_account_refund(s->account, DP_HOLDER_GENERATORS, 1, dp_generator_state_bytes(g));
    dp_generator_unref(g);
    return true;
}

bool session_draws(struct session *s)
{
    const handle_list *all = &s->generators;
    bool busy = dp_generators_busy(s->default_generators);

    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < all->n && !busy; i++)
        busy = dp_generator_busy(all->items[i].object);
    pthread_mutex_unlock(&s->lock);
    return busy;
}
