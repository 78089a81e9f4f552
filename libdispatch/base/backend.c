/* backend.c -- the process's table of backends and devices.
 *
 * A backend is known by its bit.  A bit is alive while it is built in, registered, or used by a
 * storage.  Only a bit that is not alive is given to another name, so a key set never changes its
 * meaning.  Names are interned and never freed, so pointers to them stay valid.  Registrations
 * change under `lock`; names, liveness and the number of storages are read without it.
 *
 * A device's functions are called between dpi_device_enter() and dpi_device_leave(), which count
 * the threads inside.  Replacing or ending a registration lets no other thread enter and waits
 * until all have left.  A thread that is inside already may enter again, or it would wait for
 * itself.  After a reload the old device is no longer its backend's, but lives until nobody runs
 * the old code: until then it takes back what it gave out. */
#include "backend.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { NAMES_MAX = 4096 }; /* different names of backends in the life of a process */

typedef struct slot {
    _Atomic(const char *) name; /* interned */
    atomic_bool registered;
    atomic_uint_fast64_t storages;
    atomic_uint_fast64_t ended; /* number of registrations of this bit that have ended */
    char owner[DP_LIMIT_NAME_BYTES + 1];
    dpi_device *device; /* counted; NULL: not registered */
} slot;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static slot slots[64];
static _Thread_local uint8_t depth[64]; /* how many times this thread has entered each bit */

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

static bool is_registered(int bit)
{
    return bit >= 0 && bit < 64 && (builtin_names[bit] || atomic_load(&slots[bit].registered));
}

static bool is_alive(int bit)
{
    return is_registered(bit) || (bit >= 0 && bit < 64 && atomic_load(&slots[bit].storages) > 0);
}

const char *dpi_backend_name(int bit)
{
    if (!is_alive(bit))
        return NULL;
    return builtin_names[bit] ? builtin_names[bit] : atomic_load(&slots[bit].name);
}

/* Device name of a living backend; a named one's is its name. */
static const char *device_name(int bit)
{
    return is_alive(bit) && device_names[bit] ? device_names[bit] : dpi_backend_name(bit);
}

static int find(const char *name, bool (*wanted)(int bit), const char *(*name_of)(int bit))
{
    for (int b = 0; b < 64; b++) {
        const char *other = wanted(b) ? name_of(b) : NULL;
        if (other && strcmp(other, name) == 0)
            return b;
    }
    return -1;
}

int dpi_backend_find(const char *name)
{
    return find(name, is_registered, dpi_backend_name);
}
int dpi_backend_find_alive(const char *name)
{
    return find(name, is_alive, dpi_backend_name);
}
int dpi_backend_find_device(const char *name)
{
    return find(name, is_registered, device_name);
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
        const char *owner = slots[b].owner;
        list[n].name = dp_arena_dup(a, name, strlen(name) + 1);
        list[n].bit = b;
        list[n].named = dpi_backend_is_named(b);
        list[n].owner = list[n].named ? dp_arena_dup(a, owner, strlen(owner) + 1) : "";
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

static int check_name(const char *name, dp_error *err)
{
    size_t n = strlen(name), most = DP_KEY_NAME_MAX - 1 - DPI_KEY_PREFIX_MAX;

    if (most > DP_LIMIT_NAME_BYTES)
        most = DP_LIMIT_NAME_BYTES;
    if (n == 0 || n > most || name[0] < 'a' || name[0] > 'z' ||
        strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != n)
        return dp_error_set(err, DP_EVALUE,
                            "backend name '%.64s' is not of the form [a-z][a-z0-9_]*, at most %zu "
                            "characters",
                            name, most);
    for (int b = 0; b < 64; b++)
        if (device_names[b] && strcmp(device_names[b], name) == 0)
            return dp_error_set(err, DP_EEXISTS, "backend '%s' is built in", name);
    return DP_OK;
}

/* A slot that has to be there: always, or because another of its group is. */
static const char *missing_slot(const dp_device_ops *o)
{
    bool streams = o->stream_new || o->stream_free || o->stream_query || o->stream_synchronize;
    bool events = o->event_new || o->event_free || o->event_record || o->event_wait ||
                  o->event_query || o->event_synchronize || o->event_elapsed;
    const struct {
        const char *name;
        bool wanted, there;
    } all[] = {
        {"allocate", true, o->allocate != NULL},
        {"release", true, o->release != NULL},
        {"copy", true, o->copy != NULL},
        {"stream_new", streams || events || o->copy_async, o->stream_new != NULL},
        {"stream_free", streams, o->stream_free != NULL},
        {"stream_query", streams, o->stream_query != NULL},
        {"stream_synchronize", streams, o->stream_synchronize != NULL},
        {"event_new", events, o->event_new != NULL},
        {"event_free", events, o->event_free != NULL},
        {"event_record", events, o->event_record != NULL},
        {"event_wait", events, o->event_wait != NULL},
        {"event_query", events, o->event_query != NULL},
        {"event_synchronize", events, o->event_synchronize != NULL},
        {"pin", o->unpin != NULL, o->pin != NULL},
        {"unpin", o->pin != NULL, o->unpin != NULL},
    };

    for (size_t i = 0; i < DPI_COUNT(all); i++)
        if (all[i].wanted && !all[i].there)
            return all[i].name;
    return NULL;
}

int dpi_device_new(const char *name, const dp_device_ops *ops, dpi_device **out, dp_error *err)
{
    dpi_device *d = dp_calloc(1, sizeof(*d));

    if (d == NULL)
        return dpi_no_memory(err, "a device");
    atomic_init(&d->refs, 1);
    d->bit = -1;
    d->host = ops == NULL;
    if (ops)
        memcpy(&d->ops, ops, ops->size < sizeof(d->ops) ? ops->size : sizeof(d->ops));
    const char *missing = ops ? missing_slot(&d->ops) : NULL;
    if (missing) {
        dp_free(d);
        return dp_error_set(err, DP_EPLUGIN, "device record of backend '%s' has no '%s'", name,
                            missing);
    }
    *out = d;
    return DP_OK;
}

dpi_device *dpi_device_ref(dpi_device *d)
{
    atomic_fetch_add_explicit(&d->refs, 1, memory_order_relaxed);
    return d;
}

dpi_device *dpi_device_unref(dpi_device *d)
{
    if (d != NULL && atomic_fetch_sub_explicit(&d->refs, 1, memory_order_acq_rel) == 1)
        dp_free(d);
    return NULL;
}

/* Locked.  NULL: no memory, or NAMES_MAX. */
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

/* Locked. */
static void install(int bit, const char *owner, dpi_device *d)
{
    slot *s = &slots[bit];

    snprintf(s->owner, sizeof(s->owner), "%s", owner);
    dpi_device_unref(s->device);
    s->device = d ? dpi_device_ref(d) : NULL;
    if (d) {
        d->bit = bit;
        d->name = atomic_load(&s->name);
    }
}

/* Locked.  The living bit of this name, else the lowest that is not alive; -1: none. */
static int free_bit(const char *name)
{
    int b = dpi_backend_find_alive(name);

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
    int b = dpi_backend_find(name);

    if (b >= 0)
        return dp_error_set(err, DP_EEXISTS, "backend '%s' is registered by plugin '%s'", name,
                            slots[b].owner);
    b = free_bit(name);
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
    int rc = check_name(name, err);

    if (rc < 0)
        return rc;
    pthread_mutex_lock(&lock);
    rc = register_locked(name, owner, d, bit, err);
    pthread_mutex_unlock(&lock);
    return rc;
}

int dpi_backend_register(const char *name, const char *owner, const dp_device_ops *ops, int *bit,
                         dp_error *err)
{
    dpi_device *d;
    int rc = check_name(name, err);

    if (rc == DP_OK)
        rc = dpi_device_new(name, ops, &d, err);
    if (rc < 0)
        return rc;
    rc = dpi_backend_install(name, owner, d, bit, err);
    dpi_device_unref(d);
    return rc;
}

/* Locked.  Let nobody in, and wait until nobody but this thread is inside. */
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

/* Locked; d is closed. */
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

/* -- storages and devices -- */

void dpi_backend_hold(int bit)
{
    if (dpi_backend_is_named(bit))
        atomic_fetch_add_explicit(&slots[bit].storages, 1, memory_order_relaxed);
    else
        dpi_tally_add(DPI_TALLY_STORAGES, 1);
}

void dpi_backend_drop(int bit)
{
    if (dpi_backend_is_named(bit))
        atomic_fetch_sub(&slots[bit].storages, 1);
    else
        dpi_tally_add(DPI_TALLY_STORAGES, -1);
}

uint64_t dpi_backend_storages(int bit)
{
    return atomic_load(&slots[bit].storages);
}

/* Locked.  Whatever *on points to once it may be entered; others change that meanwhile. */
static dpi_device *wait_for(dpi_device *const *on)
{
    while (*on && (*on)->changing && depth[(*on)->bit] == 0)
        pthread_cond_wait(&changed, &lock);
    return *on;
}

/* Locked. */
static int go_inside(dpi_device *d, dpi_device **out)
{
    d->inside++;
    depth[d->bit]++;
    *out = d;
    return DP_OK;
}

static int unloaded(const char *name, dp_error *err)
{
    return dp_error_set(err, DP_ERUNTIME, "backend %s was unloaded", name ? name : "?");
}

static int enter_named(int bit, dpi_device **out, dp_error *err)
{
    pthread_mutex_lock(&lock);
    dpi_device *d = wait_for(&slots[bit].device);
    int rc = d ? go_inside(d, out) : unloaded(atomic_load(&slots[bit].name), err);
    pthread_mutex_unlock(&lock);
    return rc;
}

int dpi_device_enter(int bit, dpi_device **out, dp_error *err)
{
    if (dpi_backend_is_named(bit))
        return enter_named(bit, out, err);
    if (bit != DP_B_CPU && bit != DP_B_Meta)
        return dp_error_set(err, DP_ERUNTIME, "backend %s has no device in this process",
                            bit >= 0 && bit < 64 && builtin_names[bit] ? builtin_names[bit] : "?");
    *out = bit == DP_B_CPU ? &host_device : &meta_device;
    return DP_OK;
}

int dpi_device_use(dpi_device *const *on, bool former, dpi_device **out, dp_error *err)
{
    pthread_mutex_lock(&lock);
    dpi_device *d = wait_for(on);
    bool gone = d->ended || (!former && slots[d->bit].device != d);
    int rc = gone ? unloaded(d->name, err) : go_inside(d, out);
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

void dpi_device_leave(dpi_device *d)
{
    if (!dpi_backend_is_named(d->bit))
        return;
    pthread_mutex_lock(&lock);
    depth[d->bit]--;
    d->inside--;
    if (d->changing)
        pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

int dpi_device_failed(const dpi_device *d, const char *what, int rc, const dp_error *from,
                      dp_error *err)
{
    size_t n = strnlen(from->message, DP_ERROR_MESSAGE_MAX);

    if (dp_error_name(rc) == NULL)
        return dp_error_set(err, DP_EPLUGIN, "backend %s: %s returned %d, which is no error code",
                            d->name, what, rc);
    return dp_error_set(err, rc, "backend %s: %s failed%s%.*s", d->name, what, n ? ": " : "",
                        (int)n, from->message);
}

int dpi_device_count(const dpi_device *d)
{
    int n = d->ops.count ? d->ops.count() : 1;

    return n > 0 ? n : 0; /* one that says fewer than none has none */
}

uint64_t dpi_backend_registration(int bit)
{
    return atomic_load_explicit(&slots[bit].ended, memory_order_relaxed);
}

/* The host and Meta are one device; others are counted, as in PyTorch's "cuda:0". */
const char *dp_device_name(dp_device d, char buf[DP_KEY_NAME_MAX])
{
    int bit = dp_device_backend(d), index = dp_device_index(d);
    const char *name = device_name(bit);

    if (name == NULL)
        snprintf(buf, DP_KEY_NAME_MAX, "backend %d:%d", bit, index);
    else if (index == 0 && (bit == DP_B_CPU || bit == DP_B_Meta))
        memcpy(buf, name, strlen(name) + 1); /* built in, short */
    else
        snprintf(buf, DP_KEY_NAME_MAX, "%s:%d", name, index);
    return buf;
}

static int no_such_device(const char *name, dp_error *err)
{
    char known[1024];
    size_t at = 0;

    known[0] = '\0';
    for (int b = 0; b < 64 && at < sizeof(known); b++) {
        const char *device = is_registered(b) ? device_name(b) : NULL; /* NULL if it ended since */
        if (device != NULL)
            at += (size_t)snprintf(known + at, sizeof(known) - at, "%s%s", at ? ", " : "", device);
    }
    return dp_error_set(err, DP_ERUNTIME, "no device '%.80s'; there are %s", name, known);
}

int dp_device_parse(const char *name, dp_device *out, dp_error *err)
{
    if (!DPI_GIVEN(err, DP_EVALUE, name, out))
        return DP_EVALUE;
    char type[DP_KEY_NAME_MAX];
    size_t n = strcspn(name, ":");
    long index = 0;

    if (n >= sizeof(type))
        return no_such_device(name, err);
    memcpy(type, name, n);
    type[n] = '\0';
    int bit = dpi_backend_find_device(type);
    if (bit < 0)
        return no_such_device(name, err);
    if (name[n] == ':') {
        const char *digits = name + n + 1;
        size_t count = strlen(digits);
        if (count == 0 || count > 5 || strspn(digits, "0123456789") != count ||
            (digits[0] == '0' && count > 1) || (index = strtol(digits, NULL, 10)) > 0xffff)
            return dp_error_set(err, DP_ERUNTIME, "invalid device string: '%.80s'", name);
    }
    *out = DP_DEVICE(bit, (int)index);
    return DP_OK;
}
