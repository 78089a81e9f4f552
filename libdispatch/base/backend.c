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
 * itself. */
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
    bool has_ops;
    dp_device_ops ops; /* a copy: the plugin's record may be shorter, and may be unmapped */
    bool changing;
    unsigned inside;
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
static const dp_device_ops no_memory_ops = {.size = sizeof(dp_device_ops)}; /* Meta's */

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

static int check_ops(const char *name, const dp_device_ops *ops, dp_error *err)
{
    dp_device_ops o = {0};

    if (ops == NULL)
        return DP_OK;
    memcpy(&o, ops, ops->size < sizeof(o) ? ops->size : sizeof(o));
    const char *missing = !o.allocate  ? "allocate"
                          : !o.release ? "release"
                          : !o.copy    ? "copy"
                                       : NULL;
    if (missing)
        return dp_error_set(err, DP_EPLUGIN, "device record of backend '%s' has no '%s'", name,
                            missing);
    return DP_OK;
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

/* Locked.  Wait until nobody but this thread is inside. */
static void wait_until_left(int bit)
{
    slots[bit].changing = true;
    while (slots[bit].inside > depth[bit])
        pthread_cond_wait(&changed, &lock);
}

/* Locked, nobody inside. */
static void install(int bit, const char *owner, const dp_device_ops *ops)
{
    slot *s = &slots[bit];

    snprintf(s->owner, sizeof(s->owner), "%s", owner);
    s->ops = (dp_device_ops){0};
    s->has_ops = ops != NULL;
    if (ops)
        memcpy(&s->ops, ops, ops->size < sizeof(s->ops) ? ops->size : sizeof(s->ops));
    s->changing = false;
    pthread_cond_broadcast(&changed);
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

static int register_locked(const char *name, const char *owner, const dp_device_ops *ops, int *bit,
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
    install(b, owner, ops);
    atomic_store(&slots[b].name, text);
    atomic_store(&slots[b].registered, true);
    *bit = b;
    return DP_OK;
}

int dpi_backend_register(const char *name, const char *owner, const dp_device_ops *ops, int *bit,
                         dp_error *err)
{
    int rc = check_name(name, err);

    if (rc == DP_OK)
        rc = check_ops(name, ops, err);
    if (rc < 0)
        return rc;
    pthread_mutex_lock(&lock);
    rc = register_locked(name, owner, ops, bit, err);
    pthread_mutex_unlock(&lock);
    return rc;
}

void dpi_backend_replace(int bit, const char *owner, const dp_device_ops *ops)
{
    pthread_mutex_lock(&lock);
    wait_until_left(bit);
    install(bit, owner, ops);
    pthread_mutex_unlock(&lock);
}

void dpi_backend_close(int bit, const dp_device_ops **ops)
{
    pthread_mutex_lock(&lock);
    wait_until_left(bit);
    *ops = slots[bit].has_ops ? &slots[bit].ops : NULL;
    pthread_mutex_unlock(&lock);
}

void dpi_backend_unregister(int bit)
{
    pthread_mutex_lock(&lock);
    wait_until_left(bit);
    atomic_store(&slots[bit].registered, false);
    atomic_fetch_add(&slots[bit].ended, 1);
    install(bit, "", NULL);
    pthread_mutex_unlock(&lock);
}

/* -- storages and devices -- */

void dpi_backend_hold(int bit)
{
    atomic_fetch_add_explicit(&slots[bit].storages, 1, memory_order_relaxed);
}

void dpi_backend_drop(int bit)
{
    atomic_fetch_sub(&slots[bit].storages, 1);
}

uint64_t dpi_backend_storages(int bit)
{
    return atomic_load(&slots[bit].storages);
}

static int enter_named(int bit, const dp_device_ops **ops, bool *host, dp_error *err)
{
    slot *s = &slots[bit];
    int rc = DP_OK;

    pthread_mutex_lock(&lock);
    while (s->changing && depth[bit] == 0)
        pthread_cond_wait(&changed, &lock);
    if (is_registered(bit)) {
        s->inside++;
        depth[bit]++;
        *ops = s->has_ops ? &s->ops : NULL;
        *host = !s->has_ops;
    } else {
        const char *name = atomic_load(&s->name);
        rc = dp_error_set(err, DP_ERUNTIME, "backend %s was unloaded", name ? name : "?");
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

int dpi_device_enter(int bit, const dp_device_ops **ops, bool *host, dp_error *err)
{
    if (dpi_backend_is_named(bit))
        return enter_named(bit, ops, host, err);
    if (bit != DP_B_CPU && bit != DP_B_Meta)
        return dp_error_set(err, DP_ERUNTIME, "backend %s has no device in this process",
                            bit >= 0 && bit < 64 && builtin_names[bit] ? builtin_names[bit] : "?");
    *host = bit == DP_B_CPU;
    *ops = bit == DP_B_CPU ? NULL : &no_memory_ops;
    return DP_OK;
}

void dpi_device_leave(int bit)
{
    if (!dpi_backend_is_named(bit))
        return;
    pthread_mutex_lock(&lock);
    depth[bit]--;
    slots[bit].inside--;
    if (slots[bit].changing)
        pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
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
