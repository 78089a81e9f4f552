/* streams.c -- the current stream of each device in a session. */
#include "stream.h"
#include <pthread.h>

struct dp_streams {
    uint32_t id; /* index in `living` + 1 */
    pthread_mutex_t lock;
    uint32_t n, cap;
    dp_stream **items; /* [n] references, one for each device */
};

/* -- ids -- */

static pthread_mutex_t living_lock = PTHREAD_MUTEX_INITIALIZER;
static dp_streams **living; /* [living_n], by id - 1; NULL: a free id.  The array is never freed */
static uint32_t living_n, living_cap;

/* Give `all` the lowest free id.  False: no memory. */
static bool assign_id(dp_streams *all)
{
    uint32_t i = 0;

    pthread_mutex_lock(&living_lock);
    while (i < living_n && living[i] != NULL)
        i++;
    dp_streams **grown = dpi_grow(living, &living_cap, i + 1, sizeof(*grown));
    if (grown != NULL) {
        living = grown;
        living[i] = all;
        living_n = i == living_n ? i + 1 : living_n;
        all->id = i + 1;
    }
    pthread_mutex_unlock(&living_lock);
    return grown != NULL;
}

uint32_t dpi_streams_id(const dp_streams *all)
{
    return all != NULL ? all->id : 0;
}

dp_streams *dpi_streams_of(uint32_t id)
{
    pthread_mutex_lock(&living_lock);
    dp_streams *all = id > 0 && id <= living_n ? living[id - 1] : NULL;
    pthread_mutex_unlock(&living_lock);
    return all;
}

/* -- current streams -- */

int dp_streams_new(dp_streams **out, dp_error *err)
{
    dp_streams *all = dp_calloc(1, sizeof(*all));

    if (all == NULL || !assign_id(all)) {
        dp_free(all);
        return dpi_no_memory(err, "current streams");
    }
    pthread_mutex_init(&all->lock, NULL);
    *out = all;
    return DP_OK;
}

dp_streams *dp_streams_free(dp_streams *all)
{
    if (all == NULL)
        return NULL;
    pthread_mutex_lock(&living_lock);
    living[all->id - 1] = NULL;
    pthread_mutex_unlock(&living_lock);
    for (uint32_t i = 0; i < all->n; i++)
        dp_stream_unref(all->items[i]);
    dp_free(all->items);
    pthread_mutex_destroy(&all->lock);
    dp_free(all);
    return NULL;
}

/* `all->lock` is held.  Return the index of the stream of `device` in `items`; n: none was set. */
static uint32_t find(const dp_streams *all, dp_device device)
{
    uint32_t i = 0;

    while (i < all->n && dp_stream_device(all->items[i]) != device)
        i++;
    return i;
}

int dpi_streams_get(dp_streams *all, dp_device device, const char *op, dp_stream **out,
                    dp_error *err)
{
    dpi_device *d;

    pthread_mutex_lock(&all->lock);
    uint32_t i = find(all, device);
    dp_stream *s = i < all->n ? dp_stream_ref(all->items[i]) : NULL;
    pthread_mutex_unlock(&all->lock);
    int rc = dpi_device_enter(dp_device_backend(device), &d, err);
    bool usable = s && rc == DP_OK && dpi_stream_belongs(s, d);
    if (rc == DP_OK) {
        if (op != NULL && d->ops.stream_new)
            dpi_queued_note(d, device, usable ? dp_stream_handle(s) : NULL, op);
        dpi_device_leave(d);
    }
    if (usable) {
        *out = s;
        return DP_OK;
    }
    dp_stream_unref(s); /* its backend was unloaded or reloaded */
    return dpi_stream_default(device, out, err);
}

int dpi_streams_set(dp_streams *all, dp_stream *s, dp_error *err)
{
    dp_stream *replaced = NULL;
    int rc = DP_OK;

    pthread_mutex_lock(&all->lock);
    uint32_t i = find(all, dp_stream_device(s));
    dp_stream **items =
        i < all->n ? all->items : dpi_grow(all->items, &all->cap, i + 1, sizeof(*items));
    if (items == NULL) {
        rc = dpi_no_memory(err, "a current stream");
    } else {
        all->items = items;
        if (i < all->n)
            replaced = items[i];
        else
            all->n++;
        items[i] = dp_stream_ref(s);
    }
    pthread_mutex_unlock(&all->lock);
    dp_stream_unref(replaced);
    return rc;
}
