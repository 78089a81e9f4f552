/* backend.c -- the process's table of backends and devices.
 *
 * A backend is identified by its bit in key sets.  Built-in backends have fixed bits.  Only CPU and
 * Meta have a device at start; every other built-in backend has one while a plugin has registered
 * it under the device name ("cuda").  A bit is alive while it is built in, registered, used by a
 * storage, or pinned.  Objects that store the bit or a device number beyond a call pin the bit:
 * programs, generators, key sets of sessions, devices.  A living bit never gets another name, so no
 * number changes its meaning while it is in use.  Names are interned and never freed.  `lock`
 * protects registrations; names, liveness and the number of storages are read without it.
 *
 * Functions of a device are called between dpi_device_enter() and dpi_device_leave(), which count
 * the threads inside.  Replacing or ending a registration first stops other threads from entering,
 * then waits until all have left.  A thread that is inside may enter again, because otherwise it
 * would wait for itself.  After a reload, dpi_device_use() can still enter the replaced device
 * until it ends, to use and release the memory, streams and events that it made. */
#include "backend.h"
#include "kind.h"
#include "process.h"
#include <pthread.h>
#include <stdio.h>

enum { NAMES_MAX = 4096 }; /* limit of different backend names in one process */

typedef struct slot {
    _Atomic(const char *) name; /* interned */
    atomic_bool registered;
    atomic_uint_fast64_t storages;
    atomic_uint_fast64_t pins;
    atomic_uint_fast64_t ended; /* number of ended registrations of this bit */
    char owner[DP_LIMIT_NAME_BYTES + 1];
    dpi_device *device; /* a reference; NULL: no plugin has registered one */
} slot;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static slot slots[64];
static _Thread_local uint8_t depth[64]; /* entries minus leaves of this thread, by bit */
static _Thread_local unsigned inside;   /* sum of `depth` */
static _Thread_local uint64_t entered;  /* number of times that this thread has entered a device */
static _Thread_local dpi_fp outside_fp; /* floating-point environment outside of all devices */

static const char *const builtin_names[64] = {
#define NAME(name, device) [DP_B_##name] = #name,
    DP_BACKEND_MAP(NAME)
#undef NAME
        [DP_B_Meta] = "Meta",
};
static const char *const device_names[64] = {
#define DEVICE(name, device) [DP_B_##name] = device,
    DP_BACKEND_MAP(DEVICE)
#undef DEVICE
        [DP_B_Meta] = "meta",
};
static dpi_device host_device = {.refs = 1, .bit = DP_B_CPU, .host = true};
static dpi_device meta_device = {.refs = 1, .bit = DP_B_Meta};

bool dpi_backend_is_registered(int bit)
{
    return bit >= 0 && bit < 64 && (builtin_names[bit] || atomic_load(&slots[bit].registered));
}

static bool is_alive(int bit)
{
    return dpi_backend_is_registered(bit) ||
           (bit >= 0 && bit < 64 &&
            (atomic_load(&slots[bit].storages) > 0 || atomic_load(&slots[bit].pins) > 0));
}

const char *dpi_backend_name(int bit)
{
    if (!is_alive(bit))
        return NULL;
    return builtin_names[bit] ? builtin_names[bit] : atomic_load(&slots[bit].name);
}

const char *dpi_backend_device_name(int bit)
{
    return is_alive(bit) && device_names[bit] ? device_names[bit] : dpi_backend_name(bit);
}

static int find(const char *name, bool (*wanted)(int bit), const char *(*name_of)(int bit))
{
    for (int b = 0; b < 64; b++) {
        const char *candidate = wanted(b) ? name_of(b) : NULL;
        if (candidate && strcmp(candidate, name) == 0)
            return b;
    }
    return -1;
}

int dpi_backend_find(const char *name)
{
    return find(name, dpi_backend_is_registered, dpi_backend_name);
}
int dpi_backend_find_alive(const char *name)
{
    return find(name, is_alive, dpi_backend_name);
}
int dpi_backend_find_device(const char *name)
{
    return find(name, dpi_backend_is_registered, dpi_backend_device_name);
}

bool dpi_backend_has_memory(int bit)
{
    if (!dpi_backend_is_pluggable(bit))
        return false;
    pthread_mutex_lock(&lock);
    bool has = slots[bit].device != NULL && !slots[bit].device->host;
    pthread_mutex_unlock(&lock);
    return has;
}

unsigned dpi_backend_named_top(void)
{
    for (int n = DP_B_NAMED_MAX; n > 0; n--)
        if (is_alive(DP_B_NAMED_FIRST + n - 1))
            return (unsigned)n;
    return 0;
}

size_t dp_backend_list(dp_arena *a, const dp_backend_info **out)
{
    dp_backend_info *list = dp_arena_alloc(a, 64 * sizeof(*list));
    size_t n = 0;

    if (list == NULL)
        return 0;
    pthread_mutex_lock(&lock);
    for (int b = 0; b < 64; b++) {
        const char *name = dpi_backend_name(b);
        if (name == NULL)
            continue;
        const char *owner = slots[b].owner; /* "": no plugin has registered a device */
        list[n].name = dp_arena_dup(a, name, strlen(name) + 1);
        list[n].bit = b;
        list[n].named = dpi_backend_is_named(b);
        list[n].owner = dp_arena_dup(a, owner, strlen(owner) + 1);
        list[n].storages = atomic_load(&slots[b].storages);
        if (list[n].name == NULL || list[n].owner == NULL) {
            n = 0;
            break;
        }
        n++;
    }
    pthread_mutex_unlock(&lock);
    *out = list;
    return n;
}

/* -- registration -- */

int dpi_backend_check_name(const char *name, dp_error *err)
{
    size_t n = strlen(name), max = DP_KEY_NAME_MAX - 1 - DPI_KEY_PREFIX_MAX;

    if (max > DP_LIMIT_NAME_BYTES)
        max = DP_LIMIT_NAME_BYTES;
    if (n == 0 || n > max || name[0] < 'a' || name[0] > 'z' ||
        strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != n)
        return dp_error_set(err, DP_EVALUE,
                            "backend name '%.64s' is not of the form [a-z][a-z0-9_]*, at most %zu "
                            "characters",
                            name, max);
    if (strcmp(device_names[DP_B_CPU], name) == 0 || strcmp(device_names[DP_B_Meta], name) == 0)
        return dp_error_set(err, DP_EEXISTS, "backend '%s' is built in", name);
    if (dpi_kind_is_alive(name))
        return dp_error_set(err, DP_EEXISTS,
                            "backend '%s': a kind of wrapper tensors has this name", name);
    return DP_OK;
}

dpi_device *dpi_device_ref(dpi_device *d)
{
    atomic_fetch_add_explicit(&d->refs, 1, memory_order_relaxed);
    return d;
}

dpi_device *dpi_device_unref(dpi_device *d)
{
    if (d != NULL && atomic_fetch_sub_explicit(&d->refs, 1, memory_order_acq_rel) == 1) {
        if (d->bit >= 0)
            atomic_fetch_sub(&slots[d->bit].pins, 1);
        pthread_mutex_destroy(&d->queued.lock);
        dp_free(d);
    }
    return NULL;
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

/* `lock` is held.  Make `d` (NULL: none) the device of `bit`, owned by plugin `owner`. */
static void install(int bit, const char *owner, dpi_device *d)
{
    slot *s = &slots[bit];

    snprintf(s->owner, sizeof(s->owner), "%s", owner);
    dpi_device_unref(s->device);
    s->device = d ? dpi_device_ref(d) : NULL;
    if (d) {
        d->bit = bit;
        d->name = atomic_load(&s->name);
        atomic_fetch_add(&s->pins, 1); /* until d is freed: its streams store the bit */
    }
}

/* Find the bit of a built-in backend by its device name; -1: unknown. */
static int builtin_bit(const char *name)
{
    for (int b = 0; b < DP_B_NAMED_FIRST; b++)
        if (strcmp(device_names[b], name) == 0)
            return b;
    return -1;
}

/* `lock` is held.  Choose the bit for `name`: the bit of that built-in backend, else the living bit
 * of that named backend, else the lowest named bit that is not alive.  -1: all are alive. */
static int choose_bit(const char *name)
{
    int b = builtin_bit(name);

    if (b < 0)
        b = dpi_backend_find_alive(name);
    if (b >= 0)
        return b;
    for (b = DP_B_NAMED_FIRST; b < DP_B_NAMED_FIRST + DP_B_NAMED_MAX; b++)
        if (!is_alive(b))
            return b;
    return -1;
}

static int register_locked(const char *name, const char *owner, dpi_device *d, int *bit,
                           dp_error *err)
{
    int b = choose_bit(name);

    if (b >= 0 && slots[b].device != NULL)
        return dp_error_set(err, DP_EEXISTS, "backend '%s' is registered by plugin '%s'", name,
                            slots[b].owner);
    if (b < 0)
        return dp_error_set(err, DP_ERESOURCE,
                            "backend '%s': %d named backends are alive, the limit", name,
                            DP_B_NAMED_MAX);
    const char *text = intern(name);
    if (text == NULL)
        return dpi_no_memory(err, "name of a backend");
    atomic_store(&slots[b].name, text);
    install(b, owner, d);
    atomic_store(&slots[b].registered, true);
    *bit = b;
    return DP_OK;
}

int dpi_backend_install(const char *name, const char *owner, dpi_device *d, int *bit, dp_error *err)
{
    int rc = dpi_backend_check_name(name, err);

    if (rc < 0)
        return rc;
    pthread_mutex_lock(&lock);
    rc = register_locked(name, owner, d, bit, err);
    pthread_mutex_unlock(&lock);
    return rc;
}

/* `lock` is held.  Stop other threads from entering, and wait until only this thread is inside. */
static void close_locked(dpi_device *d)
{
    d->changing = true;
    while (d->inside > (d->bit >= 0 ? depth[d->bit] : 0))
        pthread_cond_wait(&changed, &lock);
}

void dpi_device_close(dpi_device *d)
{
    pthread_mutex_lock(&lock);
    close_locked(d);
    pthread_mutex_unlock(&lock);
}

void dpi_device_open(dpi_device *d)
{
    pthread_mutex_lock(&lock);
    d->changing = false;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

void dpi_backend_replace(dpi_device *old, const char *owner, dpi_device *d)
{
    pthread_mutex_lock(&lock);
    install(old->bit, owner, d);
    old->changing = d->changing = false;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

/* `lock` is held and `d` is closed. */
static void finish_locked(dpi_device *d)
{
    int bit = d->bit;

    d->ended = true;
    d->changing = false;
    if (bit >= 0 && slots[bit].device == d) {
        atomic_store(&slots[bit].registered, false);
        atomic_fetch_add(&slots[bit].ended, 1);
        install(bit, "", NULL);
    }
    pthread_cond_broadcast(&changed);
}

void dpi_device_finish(dpi_device *d)
{
    pthread_mutex_lock(&lock);
    finish_locked(d);
    pthread_mutex_unlock(&lock);
}

void dpi_backend_unregister(int bit)
{
    pthread_mutex_lock(&lock);
    dpi_device *d = slots[bit].device;
    if (d) {
        close_locked(d);
        finish_locked(d);
    }
    pthread_mutex_unlock(&lock);
}

/* -- storages, pins and devices -- */

uint64_t dp_backends_pin(uint64_t bits)
{
    uint64_t pinned = 0;

    pthread_mutex_lock(&lock); /* no bit changes its name meanwhile */
    for (int b = DP_B_NAMED_FIRST; b < DP_B_NAMED_FIRST + DP_B_NAMED_MAX; b++)
        if ((bits & DP_BBIT(b)) && is_alive(b)) {
            atomic_fetch_add(&slots[b].pins, 1);
            pinned |= DP_BBIT(b);
        }
    pthread_mutex_unlock(&lock);
    return pinned;
}

void dp_backends_unpin(uint64_t bits)
{
    for (int b = DP_B_NAMED_FIRST; b < DP_B_NAMED_FIRST + DP_B_NAMED_MAX; b++)
        if (bits & DP_BBIT(b))
            atomic_fetch_sub(&slots[b].pins, 1);
}

DPI_HOT void dpi_backend_ref(int bit)
{
    if (dpi_backend_is_pluggable(bit))
        atomic_fetch_add_explicit(&slots[bit].storages, 1, memory_order_relaxed);
    else
        dpi_tally_add(DPI_TALLY_STORAGES, 1);
}

DPI_HOT void dpi_backend_unref(int bit)
{
    if (dpi_backend_is_pluggable(bit))
        atomic_fetch_sub(&slots[bit].storages, 1);
    else
        dpi_tally_add(DPI_TALLY_STORAGES, -1);
}

uint64_t dpi_backend_storages(int bit)
{
    return atomic_load(&slots[bit].storages);
}

/* `lock` is held.  Wait until this thread may enter device `*on`, and return it; `*on` may change
 * during the wait. */
static dpi_device *wait_until_open(dpi_device *const *on)
{
    while (*on && (*on)->changing && depth[(*on)->bit] == 0)
        pthread_cond_wait(&changed, &lock);
    return *on;
}

/* `lock` is held.  Count one more entry of this thread into `d`. */
static int enter_locked(dpi_device *d, dpi_device **out)
{
    if (inside++ == 0)
        outside_fp = dpi_fp_get();
    d->inside++;
    depth[d->bit]++;
    entered++;
    *out = d;
    return DP_OK;
}

uint64_t dp_devices_entered(void)
{
    return entered;
}

static int fail_unloaded(const char *name, dp_error *err)
{
    return dp_error_set(err, DP_ERUNTIME, "backend %s was unloaded", name ? name : "?");
}

static int fail_no_device(int bit, dp_error *err)
{
    const char *name = bit >= 0 && bit < 64 ? builtin_names[bit] : "?";

    return name ? dp_error_set(err, DP_ERUNTIME, "backend %s has no device in this process", name)
                : fail_unloaded(atomic_load(&slots[bit].name), err);
}

static int enter_pluggable(int bit, dpi_device **out, dp_error *err)
{
    pthread_mutex_lock(&lock);
    dpi_device *d = wait_until_open(&slots[bit].device);
    int rc = d ? enter_locked(d, out) : fail_no_device(bit, err);
    pthread_mutex_unlock(&lock);
    return rc;
}

int dpi_device_enter(int bit, dpi_device **out, dp_error *err)
{
    if (dpi_backend_is_pluggable(bit))
        return enter_pluggable(bit, out, err);
    if (bit != DP_B_CPU && bit != DP_B_Meta)
        return fail_no_device(bit, err);
    *out = bit == DP_B_CPU ? &host_device : &meta_device;
    return DP_OK;
}

int dpi_device_use(dpi_device *const *on, bool replaced, dpi_device **out, dp_error *err)
{
    pthread_mutex_lock(&lock);
    dpi_device *d = wait_until_open(on);
    bool gone = d->ended || (!replaced && slots[d->bit].device != d);
    int rc = gone ? fail_unloaded(d->name, err) : enter_locked(d, out);
    pthread_mutex_unlock(&lock);
    return rc;
}

void dpi_device_move(dpi_device **on, dpi_device *to)
{
    pthread_mutex_lock(&lock);
    dpi_device *from = *on;
    *on = dpi_device_ref(to);
    pthread_mutex_unlock(&lock);
    dpi_device_unref(from);
}

/* Restore the floating-point environment that a function of `d` changed, and warn once. */
static void restore_fp(dpi_device *d)
{
    char changes[256], text[DP_LIMIT_WARNING_BYTES + 1];

    dpi_fp_restore(outside_fp, changes, sizeof(changes));
    pthread_mutex_lock(&lock);
    bool warned = d->warned;
    d->warned = true;
    snprintf(text, sizeof(text),
             "plugin '%s': a function of its device '%s' changed and the host set back: the "
             "floating-point environment (%s)",
             slots[d->bit].owner, d->name, changes);
    pthread_mutex_unlock(&lock);
    if (!warned)
        dpi_warn_listener(text);
}

void dpi_device_leave(dpi_device *d)
{
    if (!dpi_backend_is_pluggable(d->bit))
        return;
    if (DPI_UNLIKELY(dpi_fp_get() != outside_fp))
        restore_fp(d);
    pthread_mutex_lock(&lock);
    inside--;
    depth[d->bit]--;
    d->inside--;
    if (d->changing)
        pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

uint64_t dpi_backend_registration(int bit)
{
    return atomic_load_explicit(&slots[bit].ended, memory_order_relaxed);
}
