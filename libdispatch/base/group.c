/* group.c -- groups of accounts: accounts that together have more limits, of bytes over all holders
 * and of the things of single holders.
 *
 * Charging an account must stay cheap, so the group is charged in advance, in steps: it grants each
 * holder of an account some bytes more than are charged, and only a charge beyond this grant takes
 * the group's lock.  When the group is at its limit, it takes back what accounts were granted and
 * do not use.  For each account and holder, while the lock is free:
 *
 *   granted = min(paid, limit of the holder)
 *   sum of all `paid` = charged of the group, which exceeds the group's limit only after
 *   dp_account_charge_anyway() or dp_account_group_limits_changed()
 *
 * Things are charged one by one, and counted by one atomic addition. */
#include "account.h"

enum { STEP_LEAST = 64 << 10, STEP_MOST = 4 << 20, STEP_PART = 8 };

struct dp_account_group {
    atomic_uint_fast64_t refs;
    const dp_group_limits *limits; /* borrowed */
    /* things that are charged, of the holders whose things have a limit */
    atomic_uint_fast64_t counts[DP_HOLDERS];
    pthread_mutex_t lock; /* protects the members below */
    uint64_t charged;     /* bytes */
    dp_account *head;
};

static uint64_t limit_of(const dp_account_group *g)
{
    return __atomic_load_n(&g->limits->bytes, __ATOMIC_RELAXED);
}

int dp_account_group_new(const dp_group_limits *limits, dp_account_group **out, dp_error *err)
{
    dp_account_group *g = dp_calloc(1, sizeof(*g));

    if (g == NULL)
        return dpi_no_memory(err, "a group of accounts");
    atomic_init(&g->refs, 1);
    pthread_mutex_init(&g->lock, NULL);
    g->limits = limits;
    *out = g;
    return 0;
}

dp_account_group *dp_account_group_close(dp_account_group *g)
{
    if (g != NULL && atomic_fetch_sub_explicit(&g->refs, 1, memory_order_acq_rel) == 1) {
        pthread_mutex_destroy(&g->lock);
        dp_free(g);
    }
    return NULL;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void set_grant(dp_account *a, int holder)
{
    atomic_store(&a->granted[holder],
                 least(a->in_group.paid[holder], dpi_account_limit(a, holder)));
}

void dp_account_group_add(dp_account_group *g, dp_account *a)
{
    dpi_membership *m = &a->in_group;

    atomic_fetch_add_explicit(&g->refs, 1, memory_order_relaxed);
    pthread_mutex_lock(&g->lock);
    m->group = g;
    m->next = g->head;
    m->link = &g->head;
    if (m->next != NULL)
        m->next->in_group.link = &m->next;
    g->head = a;
    for (int h = 0; h < DP_HOLDERS; h++)
        set_grant(a, h);
    pthread_mutex_unlock(&g->lock);
}

void dpi_group_leave(dp_account *a)
{
    dpi_membership *m = &a->in_group;
    dp_account_group *g = m->group;

    if (g == NULL)
        return;
    for (int h = 0; h < DP_HOLDERS; h++)
        dpi_group_uncount(a, h, atomic_load(&a->charged[h].count));
    pthread_mutex_lock(&g->lock);
    for (int h = 0; h < DP_HOLDERS; h++)
        g->charged -= m->paid[h];
    *m->link = m->next;
    if (m->next != NULL)
        m->next->in_group.link = m->link;
    pthread_mutex_unlock(&g->lock);
    dp_account_group_close(g);
}

/* -- things -- */

const char *dpi_group_count(dp_account *a, int holder, uint64_t count, uint64_t *before,
                            uint64_t *most)
{
    dp_account_group *g = a->in_group.group;

    if (g == NULL || g->limits->counts[holder].name == NULL)
        return NULL;
    *most = __atomic_load_n(&g->limits->counts[holder].most, __ATOMIC_RELAXED);
    *before = atomic_fetch_add_explicit(&g->counts[holder], count, memory_order_relaxed);
    if (*before <= *most && count <= *most - *before)
        return NULL;
    atomic_fetch_sub_explicit(&g->counts[holder], count, memory_order_relaxed);
    return g->limits->counts[holder].name;
}

void dpi_group_uncount(dp_account *a, int holder, uint64_t count)
{
    dp_account_group *g = a->in_group.group;

    if (g != NULL && g->limits->counts[holder].name != NULL)
        atomic_fetch_sub_explicit(&g->counts[holder], count, memory_order_relaxed);
}

/* -- bytes -- */

/* Take back the bytes that were granted to `holder` of `a` and are not charged.  Another thread may
 * charge at the same time, without the lock: it first adds to `charged`, then reads `granted`.  If
 * it has read the grant from before the first store, then the load after this store sees what it
 * has added. */
static void take_back(dp_account_group *g, dp_account *a, int holder)
{
    uint64_t *paid = &a->in_group.paid[holder];
    uint64_t used = atomic_load(&a->charged[holder].bytes);

    if (used >= *paid)
        return;
    atomic_store(&a->granted[holder], least(used, dpi_account_limit(a, holder)));
    uint64_t again = atomic_load(&a->charged[holder].bytes);
    uint64_t keep = least(used > again ? used : again, *paid);
    g->charged -= *paid - keep;
    *paid = keep;
    set_grant(a, holder);
}

static void take_all_back(dp_account_group *g)
{
    for (dp_account *a = g->head; a != NULL; a = a->in_group.next)
        for (int h = 0; h < DP_HOLDERS; h++)
            take_back(g, a, h);
}

static bool fits(const dp_account_group *g, uint64_t bytes)
{
    uint64_t limit = limit_of(g);

    return g->charged <= limit && bytes <= limit - g->charged;
}

/* Make `paid` of the holder at least `used`, and if possible a step more.  The caller has the
 * lock. */
static bool pay(dp_account_group *g, dp_account *a, int holder, uint64_t used)
{
    uint64_t *paid = &a->in_group.paid[holder], step = used / STEP_PART;

    step = step < STEP_LEAST ? STEP_LEAST : least(step, STEP_MOST);
    uint64_t wanted = least(used + step, dpi_account_limit(a, holder));
    if (wanted <= *paid)
        return true;
    if (!fits(g, wanted - *paid)) {
        take_all_back(g);
        wanted = used;
        if (wanted > *paid && !fits(g, wanted - *paid))
            return false;
    }
    if (wanted > *paid) {
        g->charged += wanted - *paid;
        *paid = wanted;
    }
    return true;
}

int dpi_account_grow(dp_account *a, int holder, uint64_t bytes)
{
    dp_account_group *g = a->in_group.group;
    int result = DPI_OVER_LIMIT;

    if (g != NULL) {
        pthread_mutex_lock(&g->lock);
        uint64_t used = atomic_load(&a->charged[holder].bytes);
        if (used <= dpi_account_limit(a, holder))
            result = pay(g, a, holder, used) ? DPI_CHARGED : DPI_OVER_GROUP;
        set_grant(a, holder);
        if (result != DPI_CHARGED)
            atomic_fetch_sub(&a->charged[holder].bytes, bytes);
        pthread_mutex_unlock(&g->lock);
        return result;
    }
    atomic_fetch_sub(&a->charged[holder].bytes, bytes);
    return result;
}

void dpi_group_cover(dp_account *a, int holder)
{
    dp_account_group *g = a->in_group.group;

    if (g == NULL)
        return;
    pthread_mutex_lock(&g->lock);
    uint64_t *paid = &a->in_group.paid[holder], used = atomic_load(&a->charged[holder].bytes);
    if (used > *paid) {
        g->charged += used - *paid;
        *paid = used;
    }
    set_grant(a, holder);
    pthread_mutex_unlock(&g->lock);
}

const char *dpi_group_left(dp_account *a, uint64_t *left, uint64_t *limit)
{
    dp_account_group *g = a->in_group.group;

    pthread_mutex_lock(&g->lock);
    *limit = limit_of(g);
    *left = g->charged < *limit ? *limit - g->charged : 0;
    pthread_mutex_unlock(&g->lock);
    return g->limits->bytes_name;
}

void dp_account_limits_changed(dp_account *a)
{
    dp_account_group *g = a->in_group.group;

    if (g != NULL)
        pthread_mutex_lock(&g->lock);
    for (int h = 0; h < DP_HOLDERS; h++)
        if (g != NULL)
            set_grant(a, h);
        else
            atomic_store(&a->granted[h], dpi_account_limit(a, h));
    if (g != NULL)
        pthread_mutex_unlock(&g->lock);
}

void dp_account_group_limits_changed(dp_account_group *g)
{
    pthread_mutex_lock(&g->lock);
    if (g->charged > limit_of(g))
        take_all_back(g);
    pthread_mutex_unlock(&g->lock);
}

void dp_account_group_usage(dp_account_group *g, dp_usage out[DP_HOLDERS])
{
    for (int h = 0; h < DP_HOLDERS; h++)
        out[h] = (dp_usage){0, 0};
    pthread_mutex_lock(&g->lock);
    for (const dp_account *a = g->head; a != NULL; a = a->in_group.next)
        for (int h = 0; h < DP_HOLDERS; h++) {
            out[h].count += atomic_load_explicit(&a->charged[h].count, memory_order_relaxed);
            out[h].bytes += atomic_load_explicit(&a->charged[h].bytes, memory_order_relaxed);
        }
    pthread_mutex_unlock(&g->lock);
}
