/* watcher.c -- watchers of gradients: a function that is called after each backward that has
 * computed the gradient of a tensor (grad.h). */
#include "history.h"

struct dp_grad_watcher {
    atomic_uint refs; /* the owner's, one for each list of hooks, and those of running backwards */
    pthread_mutex_t lock; /* held while `fn` runs */
    atomic_bool ended;    /* changes under `lock` */
    void (*fn)(void *arg, uint64_t name);
    void *arg;
};

dp_grad_watcher *dp_grad_watcher_new(void (*fn)(void *arg, uint64_t name), void *arg)
{
    dp_grad_watcher *w = dp_calloc(1, sizeof(*w));

    if (w == NULL)
        return NULL;
    atomic_init(&w->refs, 1);
    pthread_mutex_init(&w->lock, NULL);
    w->fn = fn;
    w->arg = arg;
    return w;
}

dp_grad_watcher *dp_grad_watcher_end(dp_grad_watcher *w)
{
    if (w == NULL)
        return NULL;
    pthread_mutex_lock(&w->lock);
    atomic_store(&w->ended, true);
    pthread_mutex_unlock(&w->lock);
    dpi_watcher_unref(w);
    return NULL;
}

dp_grad_watcher *dpi_watcher_ref(dp_grad_watcher *w)
{
    atomic_fetch_add_explicit(&w->refs, 1, memory_order_relaxed);
    return w;
}

void dpi_watcher_unref(dp_grad_watcher *w)
{
    if (w == NULL || atomic_fetch_sub_explicit(&w->refs, 1, memory_order_acq_rel) != 1)
        return;
    pthread_mutex_destroy(&w->lock);
    dp_free(w);
}

bool dpi_watcher_ended(const dp_grad_watcher *w)
{
    return atomic_load(&w->ended);
}

void dpi_watcher_tell(dp_grad_watcher *w, uint64_t name)
{
    pthread_mutex_lock(&w->lock);
    if (!atomic_load(&w->ended))
        w->fn(w->arg, name);
    pthread_mutex_unlock(&w->lock);
}
