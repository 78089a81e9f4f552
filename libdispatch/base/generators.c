/* generators.c -- default generators: one for each device, made at its first use. */
#include "generator.h"
#include <pthread.h>
#include <sys/random.h>

struct dp_generators {
    atomic_uint_fast64_t seed;
    atomic_bool seeded;   /* a user set `seed` */
    pthread_mutex_t lock; /* protects the fields below */
    uint32_t n, cap;
    dp_generator **items; /* [n] references, one for each device */
};

int dp_generators_new(dp_generators **out, dp_error *err)
{
    if (!DPI_GIVEN(err, DP_EVALUE, out))
        return DP_EVALUE;
    dp_generators *all = dp_calloc(1, sizeof(*all));
    uint64_t seed;

    if (all == NULL)
        return dpi_no_memory(err, "default generators");
    if (getrandom(&seed, sizeof(seed), 0) != (ssize_t)sizeof(seed)) {
        dp_free(all);
        return dp_error_set(err, DP_ERUNTIME, "getrandom: no seed for the default generators");
    }
    atomic_init(&all->seed, seed >> 11); /* 53 bits, as in PyTorch: exact in every JSON reader */
    pthread_mutex_init(&all->lock, NULL);
    *out = all;
    return 0;
}

dp_generators *dp_generators_free(dp_generators *all)
{
    if (all == NULL)
        return NULL;
    for (uint32_t i = 0; i < all->n; i++)
        dp_generator_unref(all->items[i]);
    dp_free(all->items);
    pthread_mutex_destroy(&all->lock);
    dp_free(all);
    return NULL;
}

/* `all->lock` is held.  Return the index of the generator of `device` in `items`; n: there is none.
 * Removes that generator if its backend was unloaded. */
static uint32_t index_of(dp_generators *all, dp_device device)
{
    uint32_t i = 0;

    while (i < all->n && dp_generator_device(all->items[i]) != device)
        i++;
    if (i < all->n && dpi_generator_check(all->items[i], NULL) < 0) {
        dp_generator_unref(all->items[i]);
        all->items[i] = all->items[--all->n];
        i = all->n;
    }
    return i;
}

static int get_locked(dp_generators *all, dp_device device, dp_generator **out, dp_error *err)
{
    uint32_t i = index_of(all, device);

    if (i == all->n) {
        dp_generator **items = dpi_grow(all->items, &all->cap, all->n + 1, sizeof(*items));
        if (items == NULL)
            return dpi_no_memory(err, "default generators");
        all->items = items;
        int rc = dp_generator_new(device, atomic_load(&all->seed), &items[i], err);
        if (rc < 0)
            return rc;
        all->n++;
    }
    *out = dp_generator_ref(all->items[i]);
    return 0;
}

int dp_generators_get(dp_generators *all, dp_device device, dp_generator **out, dp_error *err)
{
    if (!DPI_GIVEN(err, DP_EVALUE, all, out))
        return DP_EVALUE;
    pthread_mutex_lock(&all->lock);
    int rc = get_locked(all, device, out, err);
    pthread_mutex_unlock(&all->lock);
    return rc;
}

int dpi_generators_like(dp_generators *all, dp_generators **out, dp_error *err)
{
    dp_generators *made = dp_calloc(1, sizeof(*made));

    if (made == NULL)
        return dpi_no_memory(err, "default generators");
    atomic_init(&made->seed, atomic_load(&all->seed));
    atomic_init(&made->seeded, atomic_load(&all->seeded));
    pthread_mutex_init(&made->lock, NULL);
    *out = made;
    return 0;
}

int dpi_generators_put(dp_generators *all, dp_generator *g, dp_error *err)
{
    pthread_mutex_lock(&all->lock);
    dp_generator **items = dpi_grow(all->items, &all->cap, all->n + 1, sizeof(*items));
    if (items != NULL) {
        all->items = items;
        items[all->n++] = g;
    }
    pthread_mutex_unlock(&all->lock);
    if (items == NULL) {
        dp_generator_unref(g);
        return dpi_no_memory(err, "default generators");
    }
    return 0;
}

dp_generator *dpi_generators_item(dp_generators *all, uint32_t i)
{
    pthread_mutex_lock(&all->lock);
    dp_generator *g = i < all->n ? dp_generator_ref(all->items[i]) : NULL;
    pthread_mutex_unlock(&all->lock);
    return g;
}

void dpi_generators_seed(dp_generators *all, uint64_t seed)
{
    atomic_store(&all->seed, seed);
    atomic_store(&all->seeded, true);
}

void dp_generators_seed(dp_generators *all, uint64_t seed)
{
    dp_generator *g;

    dpi_generators_seed(all, seed);
    for (uint32_t i = 0; (g = dpi_generators_item(all, i)) != NULL; i++) {
        dp_generator_seed(g, seed);
        dp_generator_unref(g);
    }
}

bool dp_generators_initial_seed(dp_generators *all, uint64_t *seed)
{
    *seed = atomic_load(&all->seed);
    return atomic_load(&all->seeded);
}

bool dp_generators_busy(dp_generators *all)
{
    bool busy = false;

    if (pthread_mutex_trylock(&all->lock) != 0)
        return true;
    for (uint32_t i = 0; i < all->n && !busy; i++)
        busy = dp_generator_busy(all->items[i]);
    pthread_mutex_unlock(&all->lock);
    return busy;
}
