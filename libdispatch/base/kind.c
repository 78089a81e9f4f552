/* kind.c -- the table of kinds of wrapper tensors, which have the keys Kind0 to Kind7.
 *
 * A kind is alive while a plugin registers it, a tensor of the kind exists, or a key set that
 * outlives a call pins it.  The key of a living kind never goes to another kind, so no key changes
 * its meaning while it is in use.  Bits of named backends follow the same rule (backend.c). */
#include "kind.h"
#include <pthread.h>
#include <stdio.h>

/* Limit of different kind names in one process.  Names are never freed, so that crash reports can
 * read them without a lock. */
enum { NAMES_MAX = 1024 };

static struct {
    const char *_Atomic name;
    char owner[DP_LIMIT_NAME_BYTES + 1];
    atomic_uint registered; /* number of registrations: 2 during a reload */
    atomic_uint_fast64_t tensors, pins;
} slots[DP_LIMIT_KINDS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

_Static_assert(DP_F_Kind0 + DP_LIMIT_KINDS - 1 == DP_F_Kind7, "a kind for each key");
_Static_assert(DPI_RANK_Kind0 + DP_LIMIT_KINDS - 1 == DPI_RANK_Kind7, "with bits side by side");

/* Is no living kind in slot `i`?  If the caller does not hold `lock`, the result may be out of
 * date. */
static bool is_free(int i)
{
    return atomic_load(&slots[i].registered) == 0 && atomic_load(&slots[i].tensors) == 0 &&
           atomic_load(&slots[i].pins) == 0;
}

static bool is_named(int i, const char *name)
{
    const char *own = atomic_load(&slots[i].name);

    return own != NULL && strcmp(own, name) == 0;
}

/* `lock` is held.  Return the slot of the registered kind `name`; -1: there is none. */
static int find(const char *name)
{
    for (int i = 0; i < DP_LIMIT_KINDS; i++)
        if (slots[i].registered > 0 && is_named(i, name))
            return i;
    return -1;
}

int dpi_kind_find(const char *name)
{
    pthread_mutex_lock(&lock);
    int found = find(name);
    pthread_mutex_unlock(&lock);
    return found;
}

int dpi_kind_check_maker(const char *name, const char *plugin, dp_error *err)
{
    char owner[DP_LIMIT_NAME_BYTES + 1] = "";

    pthread_mutex_lock(&lock);
    int found = find(name);
    if (found >= 0)
        snprintf(owner, sizeof(owner), "%s", slots[found].owner);
    pthread_mutex_unlock(&lock);
    return found < 0 || strcmp(owner, plugin) == 0
               ? DP_OK
               : dp_error_set(err, DP_EPLUGIN,
                              "plugin '%s' cannot make wrapper tensors of kind '%s', which plugin "
                              "'%s' declares: it can call an operator of that plugin that does",
                              plugin, name, owner);
}

bool dpi_kind_is_alive(const char *name)
{
    bool alive = false;

    pthread_mutex_lock(&lock);
    for (int i = 0; i < DP_LIMIT_KINDS; i++)
        alive |= !is_free(i) && is_named(i, name);
    pthread_mutex_unlock(&lock);
    return alive;
}

int dpi_kind_ref(const char *name)
{
    pthread_mutex_lock(&lock);
    int found = find(name);
    if (found >= 0)
        atomic_fetch_add(&slots[found].tensors, 1);
    pthread_mutex_unlock(&lock);
    return found;
}

const char *dpi_kind_name(int slot)
{
    return is_free(slot) ? NULL : atomic_load(&slots[slot].name);
}

const char *dp_kind_owner(dp_key k, char owner[DP_LIMIT_NAME_BYTES + 1])
{
    int slot = dpi_kind_slot(k);

    if (slot < 0 || dpi_kind_name(slot) == NULL)
        return NULL;
    pthread_mutex_lock(&lock);
    snprintf(owner, DP_LIMIT_NAME_BYTES + 1, "%s", slots[slot].registered ? slots[slot].owner : "");
    pthread_mutex_unlock(&lock);
    return owner;
}

/* `lock` is held.  Return the permanent copy of `name`.  NULL: no memory, or NAMES_MAX reached. */
static const char *intern(const char *name)
{
    static char *names[NAMES_MAX];
    static size_t n;

    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return names[i];
    if (n == NAMES_MAX || (names[n] = dp_strdup(name)) == NULL)
        return NULL;
    return names[n++];
}

/* `lock` is held.  Fail with DP_ERESOURCE, because every slot has a living kind.  The error lists
 * the kinds, and for kinds without a plugin the numbers of tensors and pins. */
static int fail_limit(const char *name, dp_error *err)
{
    dpi_text t = {0};

    for (int i = 0; i < DP_LIMIT_KINDS; i++) {
        dpi_text_printf(&t, "%s%s", i ? ", " : "", atomic_load(&slots[i].name));
        if (slots[i].registered > 0)
            dpi_text_printf(&t, " of plugin '%s'", slots[i].owner);
        else
            dpi_text_printf(&t, " without a plugin (live tensors: %llu, key sets: %llu)",
                            (unsigned long long)atomic_load(&slots[i].tensors),
                            (unsigned long long)atomic_load(&slots[i].pins));
    }
    int rc = dp_error_set(err, DP_ERESOURCE, "kind '%s': %d kinds are alive, the limit (kinds): %s",
                          name, DP_LIMIT_KINDS, t.s ? t.s : "?");
    dpi_text_fini(&t);
    return dp_error_limit(rc, "kinds", DP_LIMIT_KINDS, DP_LIMIT_KINDS + 1);
}

/* `lock` is held.  Do the work of dpi_kind_register(). */
static int register_locked(const char *name, const char *owner, bool reload, int *slot,
                           dp_error *err)
{
    int free = -1;

    for (int i = DP_LIMIT_KINDS - 1; i >= 0; i--) {
        if (is_free(i))
            free = i;
        if (is_free(i) || !is_named(i, name))
            continue;
        if (slots[i].registered > 0 && !(reload && strcmp(slots[i].owner, owner) == 0))
            return dp_error_set(err, DP_EEXISTS, "kind '%s' is registered by plugin '%s'", name,
                                slots[i].owner);
        free = i;
        break;
    }
    if (free < 0)
        return fail_limit(name, err);
    const char *text = intern(name);
    if (text == NULL)
        return dpi_no_memory(err, "name of a kind");
    atomic_store(&slots[free].name, text);
    snprintf(slots[free].owner, sizeof(slots[free].owner), "%s", owner);
    slots[free].registered++;
    *slot = free;
    return DP_OK;
}

int dpi_kind_register(const char *name, const char *owner, bool reload, int *slot, dp_error *err)
{
    pthread_mutex_lock(&lock);
    int rc = register_locked(name, owner, reload, slot, err);
    pthread_mutex_unlock(&lock);
    return rc;
}

void dpi_kind_unregister(int slot)
{
    pthread_mutex_lock(&lock);
    slots[slot].registered--;
    pthread_mutex_unlock(&lock);
}

void dpi_kind_unref(int slot)
{
    atomic_fetch_sub(&slots[slot].tensors, 1);
}

/* -- pins, for key sets that outlive a call -- */

uint64_t dpi_kinds_pin(uint64_t bits)
{
    uint64_t pinned = 0;

    pthread_mutex_lock(&lock); /* no slot changes its kind meanwhile */
    for (int i = 0; i < DP_LIMIT_KINDS; i++) {
        uint64_t bit = bits & DPI_BIT(Kind0) << i;
        if (bit == 0 || is_free(i))
            continue;
        atomic_fetch_add(&slots[i].pins, 1);
        pinned |= bit;
    }
    pthread_mutex_unlock(&lock);
    return pinned;
}

void dpi_kinds_unpin(uint64_t bits)
{
    for (int i = 0; i < DP_LIMIT_KINDS; i++)
        if (bits & DPI_BIT(Kind0) << i)
            atomic_fetch_sub(&slots[i].pins, 1);
}
