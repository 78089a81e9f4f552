/* snapshot.c -- names, snapshots, and when the old ones may go.
 *
 * A reader pins a snapshot by publishing it in its thread record with a plain store and looking
 * again; a writer publishes the new one, has every thread pass a barrier (membarrier), and then
 * frees what no thread record names.  Where membarrier is missing, readers fence. */
#include "op.h"
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

bool dpi_membarrier_works;

static void membarrier_register(void)
{
    dpi_membarrier_works =
        syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

void dpi_membarrier_start(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, membarrier_register);
}

void dpi_membarrier(void)
{
    if (dpi_membarrier_works)
        syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
    static atomic_int any; /* this thread's own: a locked instruction */
    atomic_fetch_add(&any, 0);
}

/* -- names: open addressing, full name -> operator id, base name -> its overloads ----------- */

typedef struct name_slot {
    uint32_t hash, id; /* id + 1; 0 is empty */
    uint32_t len;
    uint32_t next;    /* slot + 1 of another overload of its base name; 0: the last */
    const char *name; /* the operator's own: interned */
} name_slot;

struct dpi_names {
    atomic_uint refs;
    uint32_t mask;
    uint32_t
        *base; /* [mask + 1], in this block: slot + 1 of an overload, by the base name's hash */
    name_slot slot[];
};

dpi_names *dpi_names_ref(dpi_names *n)
{
    atomic_fetch_add_explicit(&n->refs, 1, memory_order_relaxed);
    return n;
}

dpi_names *dpi_names_unref(dpi_names *n)
{
    if (n != NULL && atomic_fetch_sub_explicit(&n->refs, 1, memory_order_acq_rel) == 1)
        dp_free(n);
    return NULL;
}

size_t dpi_base_bytes(const char *name)
{
    const char *colons = strstr(name, "::");
    return strcspn(colons ? colons : name, ".") + (colons ? (size_t)(colons - name) : 0);
}

/* Where the overloads of a base name are, or would be, kept. */
static uint32_t *base_of(const dpi_names *names, const char *base, size_t n)
{
    uint32_t i = (uint32_t)dpi_hash(base, n) & names->mask;

    for (; names->base[i] != 0; i = (i + 1) & names->mask) {
        const char *name = names->slot[names->base[i] - 1].name;
        if (strncmp(name, base, n) == 0 && dpi_base_bytes(name) == n)
            break;
    }
    return &names->base[i];
}

static void names_add(dpi_names *names, const char *name, uint32_t id)
{
    size_t len = strlen(name);
    uint32_t hash = (uint32_t)dpi_hash(name, len), i = hash & names->mask;
    uint32_t *base = base_of(names, name, dpi_base_bytes(name));

    while (names->slot[i].id != 0)
        i = (i + 1) & names->mask;
    names->slot[i] = (name_slot){hash, id + 1, (uint32_t)len, *base, name};
    *base = i + 1;
}

dpi_names *dpi_names_build(dp_op *const *ops, uint32_t n)
{
    uint32_t cap = 16;

    while (cap < n * 2)
        cap *= 2;
    dpi_names *names =
        dp_calloc(1, sizeof(*names) + cap * (sizeof(name_slot) + sizeof(*names->base)));
    if (names == NULL)
        return NULL;
    atomic_init(&names->refs, 1);
    names->mask = cap - 1;
    names->base = (uint32_t *)(names->slot + cap);
    for (uint32_t id = 0; id < n; id++)
        names_add(names, ops[id]->name, id);
    return names;
}

int64_t dpi_names_find(const dpi_names *names, const char *name, size_t n)
{
    uint32_t hash = (uint32_t)dpi_hash(name, n);

    for (uint32_t i = hash & names->mask; names->slot[i].id != 0; i = (i + 1) & names->mask) {
        const name_slot *s = &names->slot[i];
        if (s->hash == hash && s->len == n && memcmp(s->name, name, n) == 0)
            return (int64_t)s->id - 1;
    }
    return -1;
}

uint32_t dpi_names_base(const dpi_names *names, const char *base, size_t n)
{
    return *base_of(names, base, n);
}

uint32_t dpi_names_next(const dpi_names *names, uint32_t at, uint32_t *id)
{
    *id = names->slot[at - 1].id - 1;
    return names->slot[at - 1].next;
}

/* -- snapshots ------------------------------------------------------------------------------ */

dpi_snapshot *dpi_snapshot_free(dpi_snapshot *s)
{
    if (s == NULL)
        return NULL;
    for (uint32_t i = 0; i < s->n_entries; i++)
        dpi_entry_unref(s->entries[i]);
    for (uint32_t i = 0; i < s->n_observers; i++)
        dpi_kernel_unref(s->observers[i]);
    dp_free(s->entries);
    dp_free(s->observers);
    dpi_names_unref(s->names);
    dp_free(s);
    return NULL;
}

const dpi_entry *dpi_snapshot_find(const dpi_snapshot *s, const char *name, size_t n)
{
    int64_t id = dpi_names_find(s->names, name, n);
    return id >= 0 && id < s->n_entries ? s->entries[id] : NULL;
}

const dpi_snapshot *dpi_snapshot_get(dp_registry *reg)
{
    pthread_mutex_lock(&reg->lock);
    const dpi_snapshot *s = atomic_load_explicit(&reg->current, memory_order_relaxed);
    atomic_fetch_add_explicit(&((dpi_snapshot *)(uintptr_t)s)->refs, 1, memory_order_relaxed);
    pthread_mutex_unlock(&reg->lock);
    return s;
}

/* The last holder of a retired snapshot leaves it to the next reclaim. */
void dpi_snapshot_put(const dpi_snapshot *s)
{
    if (s != NULL)
        atomic_fetch_sub_explicit(&((dpi_snapshot *)(uintptr_t)s)->refs, 1, memory_order_release);
}

void dpi_snapshot_publish(dp_registry *reg, dpi_snapshot *s)
{
    dpi_snapshot *old =
        (dpi_snapshot *)(uintptr_t)atomic_load_explicit(&reg->current, memory_order_relaxed);

    atomic_store_explicit(&reg->current, s, memory_order_release);
    if (old != NULL) {
        old->next_retired = reg->retired;
        reg->retired = old;
    }
}

/* Under the lock. */
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

void dpi_registry_reclaim(dp_registry *reg)
{
    pthread_mutex_lock(&reg->lock);
    reclaim(reg);
    pthread_mutex_unlock(&reg->lock);
}
