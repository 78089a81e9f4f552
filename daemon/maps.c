/* maps.c -- the shared memory that a connection names by numbers.
 *
 * A number is never used twice.  The list is short (LIMIT_MAPS), so it is searched linearly. */
#include "session.h"

struct maps {
    user *user;       /* counted reference: the uid whose maps are counted */
    handle_list list; /* of dp_shared, each with a reference */
    uint64_t last;    /* the newest number */
    uint64_t bytes;
};

static uint64_t find(const maps *m, const dp_shared *s)
{
    for (size_t i = 0; i < m->list.n; i++)
        if (m->list.items[i].object == s)
            return m->list.items[i].id;
    return 0;
}

static maps *maps_new(user *u, dp_error *err)
{
    maps *m = dp_calloc(1, sizeof(*m));

    if (m != NULL)
        m->user = user_ref(u);
    else
        dp_error_set(err, DP_ERESOURCE, "out of memory: the maps of a connection");
    return m;
}

/* Count one more map of the uid. */
static int count_map(user *u, dp_error *err)
{
    if (atomic_fetch_add(&u->n_maps, 1) < LIMIT_SIZE(UID_MAPS))
        return 0;
    atomic_fetch_sub(&u->n_maps, 1);
    return LIMIT_REACHED(
        UID_MAPS, LIMIT(UID_MAPS) + 1,
        dp_error_set(err, DP_ERESOURCE,
                     "uid %ld has %lld maps; release some by map.release (uid_maps)", (long)u->uid,
                     (long long)LIMIT(UID_MAPS)));
}

uint64_t maps_put(maps **all, user *u, dp_shared *s, bool *fresh, dp_error *err)
{
    maps *m = *all != NULL ? *all : maps_new(u, err);

    if (m == NULL)
        return 0;
    *all = m;
    uint64_t number = find(m, s);
    *fresh = number == 0;
    if (number != 0)
        return number;
    if (m->list.n >= LIMIT_SIZE(MAPS)) {
        dp_error_set(err, DP_ERESOURCE,
                     "this connection has %zu maps; release some by map.release (maps)", m->list.n);
        LIMIT_REACHED(MAPS, m->list.n + 1, err->code);
        return 0;
    }
    if (handle_list_reserve(&m->list, err) < 0 || count_map(m->user, err) < 0)
        return 0;
    handle_list_add(&m->list, ++m->last, dp_shared_ref(s));
    m->bytes += dp_shared_bytes(s);
    return m->last;
}

dp_shared *maps_get(const maps *m, uint64_t number)
{
    return m != NULL ? handle_list_get(&m->list, number) : NULL;
}

bool maps_release(maps *m, uint64_t number)
{
    dp_shared *s = m != NULL ? handle_list_take(&m->list, number) : NULL;

    if (s == NULL)
        return false;
    m->bytes -= dp_shared_bytes(s);
    atomic_fetch_sub(&m->user->n_maps, 1);
    dp_shared_unref(s);
    return true;
}

uint64_t maps_bytes(const maps *m)
{
    return m != NULL ? m->bytes : 0;
}

/* Drop a number that its client has not released: the client may still map the memory. */
static void leave(dp_shared *s)
{
    dp_shared_left_mapped(s);
    dp_shared_unref(s);
}

void maps_free(maps *m)
{
    if (m == NULL)
        return;
    for (size_t i = 0; i < m->list.n; i++)
        leave(m->list.items[i].object);
    atomic_fetch_sub(&m->user->n_maps, (unsigned)m->list.n);
    user_unref(m->user);
    dp_free(m->list.items);
    dp_free(m);
}
