/* objects.c -- a session's handles for objects of plugins.
 *
 * Objects, tensors and generators take their handles from one counter of the session.  An object is
 * charged to the account of the call that created it; each handle is charged as one more object.
 * Every function may be called on any thread.  `session.lock` is not held while a reference is
 * dropped, because dropping the last reference to an object runs code of its plugin. */
#include "session.h"

uint64_t session_object_put(struct session *s, dp_object *o, dp_error *err)
{
    uint64_t id = 0;

    pthread_mutex_lock(&s->lock);
    if (handle_list_reserve(&s->objects, err) == 0 &&
        dp_account_charge(s->account, DP_HOLDER_OBJECTS, 1, 0, err) == 0) {
        id = ++s->last_handle;
        handle_list_add(&s->objects, id, dp_object_ref(o));
    }
    pthread_mutex_unlock(&s->lock);
    return id;
}

dp_object *session_object_get(struct session *s, uint64_t id)
{
    pthread_mutex_lock(&s->lock);
    dp_object *o = dp_object_ref(handle_list_get(&s->objects, id));
    pthread_mutex_unlock(&s->lock);
    return o;
}

/* Refund one handle of `o` and drop its reference. */
static void release_reference(struct session *s, dp_object *o)
{
    dp_account_refund(s->account, DP_HOLDER_OBJECTS, 1, 0);
    dp_object_unref(o);
}

bool session_object_release(struct session *s, uint64_t id)
{
    pthread_mutex_lock(&s->lock);
    dp_object *o = handle_list_take(&s->objects, id);
    pthread_mutex_unlock(&s->lock);
    if (o != NULL)
        release_reference(s, o);
    return o != NULL;
}

int64_t session_objects(struct session *s, uint64_t **out, dp_error *err)
{
    pthread_mutex_lock(&s->lock);
    size_t n = s->objects.n;
    uint64_t *ids = dp_malloc_n(n + 1, sizeof(*ids));
    for (size_t i = 0; ids != NULL && i < n; i++)
        ids[i] = s->objects.items[i].id;
    pthread_mutex_unlock(&s->lock);
    *out = ids;
    return ids != NULL ? (int64_t)n
                       : dp_error_set(err, DP_ERESOURCE, "out of memory: %zu handles", n);
}

void session_objects_drop(struct session *s)
{
    pthread_mutex_lock(&s->lock);
    handle_list all = s->objects;
    s->objects = (handle_list){0};
    pthread_mutex_unlock(&s->lock);
    for (size_t i = 0; i < all.n; i++)
        release_reference(s, all.items[i].object);
    dp_free(all.items);
}
