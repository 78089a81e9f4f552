/* snapshot.c -- publishes snapshots, and frees retired ones that nobody uses.
 *
 * A reader pins a snapshot: it stores the pointer in its thread record, without a fence, then
 * checks that this snapshot is still the newest.  A writer publishes the new snapshot, runs a
 * barrier on every thread (barrier.c), and then frees the snapshots that no thread record names and
 * that have no references (dpi_snapshot_get()). */
#include "thread.h"

dpi_snapshot *dpi_snapshot_free(dpi_snapshot *s)
{
    if (s == NULL)
        return NULL;
    for (uint32_t i = 0; i < s->n_entries; i++)
        dpi_entry_unref(s->entries[i]);
    for (uint32_t i = 0; i < s->n_observers; i++)
        dpi_kernel_unref(s->observers[i]);
    if (s->plain != s->entries)
        dp_free(s->plain);
    dp_free(s->entries);
    dp_free(s->observers);
    dp_free(s->canary);
    dpi_names_unref(s->names);
    dp_free(s);
    return NULL;
}

const dpi_entry *dpi_snapshot_find(const dpi_snapshot *s, const char *name, size_t n)
{
    int64_t id = dpi_names_find(s->names, name, n);
    return dpi_snapshot_at(s, (uint64_t)id); /* -1 becomes an id past the last one */
}

const dpi_snapshot *dpi_snapshot_get(dp_registry *reg)
{
    pthread_mutex_lock(&reg->lock);
    const dpi_snapshot *s = atomic_load_explicit(&reg->current, memory_order_relaxed);
    atomic_fetch_add_explicit(&((dpi_snapshot *)(uintptr_t)s)->refs, 1, memory_order_relaxed);
    pthread_mutex_unlock(&reg->lock);
    return s;
}

/* The last put does not free a retired snapshot; the next dpi_registry_reclaim() does. */
void dpi_snapshot_put(const dpi_snapshot *s)
{
    if (s != NULL)
        atomic_fetch_sub_explicit(&((dpi_snapshot *)(uintptr_t)s)->refs, 1, memory_order_release);
}

/* Does `e` have a kernel, or an ambiguous cell, for `key` or for a key that alias `key` covers? */
static bool has_kernel_for(const dpi_entry *e, dp_key key)
{
    for (unsigned slot = 0; slot < e->n_slots; slot++)
        if (e->table[slot] != DPI_CELL_MISSING && dpi_alias_has(key, dpi_slot_key(slot)))
            return true;
    return false;
}

/* May observer `k`, which does not observe all operators, observe calls of `e`? */
static bool may_observe(const dpi_kernel *k, const dpi_entry *e)
{
    return k->observes != NULL ? k->observes == e->op : has_kernel_for(e, k->key);
}

int dpi_snapshot_find_plain(dpi_snapshot *s, dp_error *err)
{
    s->plain = s->entries;
    s->n_plain = s->n_entries;
    for (uint32_t i = 0; i < s->n_observers; i++)
        if (s->observers[i]->observes == NULL && s->observers[i]->key == DP_KEY_Undefined)
            s->n_plain = 0;
    if (s->n_observers == 0 || s->n_plain == 0)
        return 0;
    if ((s->plain = dp_calloc(s->n_entries + 1, sizeof(dpi_entry *))) == NULL)
        return dpi_no_memory(err, "a snapshot");
    for (uint32_t id = 0; id < s->n_entries; id++) {
        s->plain[id] = s->entries[id];
        for (uint32_t i = 0; s->plain[id] != NULL && i < s->n_observers; i++)
            if (may_observe(s->observers[i], s->plain[id]))
                s->plain[id] = NULL;
    }
    return 0;
}

void dpi_snapshot_publish(dp_registry *reg, _Atomic(const dpi_snapshot *) *where, dpi_snapshot *s)
{
    dpi_snapshot *old =
        (dpi_snapshot *)(uintptr_t)atomic_load_explicit(where, memory_order_relaxed);

    atomic_store_explicit(where, s, memory_order_release);
    if (old != NULL) {
        old->next_retired = reg->retired;
        reg->retired = old;
    }
}

/* Do the work of dpi_registry_reclaim().  The caller holds reg->lock. */
static void reclaim(dp_registry *reg)
{
    dpi_snapshot **link = &reg->retired;

    if (*link == NULL)
        return;
    dpi_membarrier();
    while (*link != NULL) {
        dpi_snapshot *s = *link;
        if (atomic_load_explicit(&s->refs, memory_order_acquire) != 0 || dpi_thread_pins(s)) {
            link = &s->next_retired;
            continue;
        }
        *link = s->next_retired;
        dpi_snapshot_free(s);
    }
}

bool dpi_registry_reclaim(dp_registry *reg)
{
    pthread_mutex_lock(&reg->lock);
    reclaim(reg);
    bool left = reg->retired != NULL;
    pthread_mutex_unlock(&reg->lock);
    return left;
}
