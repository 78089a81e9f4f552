/* storage.c -- bytes on one device, and how many bytes all storages hold.
 *
 * A storage lies in a tensor's home, and so do its bytes if they are few and the host's.  It refers
 * to its backend by number and has no pointer into a plugin.  Its bytes may be used, and released,
 * only between dpi_storage_enter() and dpi_storage_leave().  Storages in a
 * device's memory are linked in a list, so that the device can release them when its registration
 * ends; the struct then lives on without data until its last reference is dropped. */
#include "room.h"
#include <pthread.h>

enum {
#ifdef __SANITIZE_ADDRESS__
    INSIDE_MAX = 0 /* what is written past its end is to be seen */
#else
    INSIDE_MAX = 512 /* bytes: then the C library has homes of this size at hand */
#endif
};

static atomic_uint_fast64_t next_id = 1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static dpi_storage *of_device[64]; /* by backend, linked by next and at; under lock */

static struct {
    atomic_uint_fast64_t now, peak;
} bytes_held;

/* bytes > 0: a storage was made; < 0: one was released. */
static void count_bytes(int64_t bytes)
{
    uint64_t now = (uint64_t)bytes + atomic_fetch_add_explicit(&bytes_held.now, (uint64_t)bytes,
                                                               memory_order_relaxed);
    uint64_t peak = atomic_load_explicit(&bytes_held.peak, memory_order_relaxed);

    while (bytes > 0 && now > peak &&
           !atomic_compare_exchange_weak_explicit(&bytes_held.peak, &peak, now,
                                                  memory_order_relaxed, memory_order_relaxed))
        continue;
}

void dpi_storage_stats(uint64_t *bytes, uint64_t *peak)
{
    *bytes = atomic_load(&bytes_held.now);
    *peak = atomic_load(&bytes_held.peak);
}

static int no_bytes(dp_device device, size_t bytes, dp_error *err)
{
    char name[DP_KEY_NAME_MAX];
    return dp_error_set(err, DP_ERESOURCE, "out of memory: %zu bytes for a tensor on %s", bytes,
                        dp_device_name(device, name));
}

int dpi_device_failed(int bit, const char *what, int rc, const dp_error *from, dp_error *err)
{
    const char *name = dpi_backend_name(bit);
    size_t n = strnlen(from->message, DP_ERROR_MESSAGE_MAX);

    if (dp_error_name(rc) == NULL)
        return dp_error_set(err, DP_EPLUGIN, "backend %s: %s returned %d, which is no error code",
                            name ? name : "?", what, rc);
    return dp_error_set(err, rc, "backend %s: %s failed%s%.*s", name ? name : "?", what,
                        n ? ": " : "", (int)n, from->message);
}

/* Allocate device memory.  The caller has entered the device. */
static int device_alloc(dpi_storage *s, const dp_device_ops *ops, dp_error *err)
{
    int bit = dp_device_backend(s->device), index = dp_device_index(s->device);
    int count = ops->count ? ops->count() : 1;
    dp_error theirs = DP_ERROR_INIT;

    if (index >= count)
        return dp_error_set(err, DP_ERUNTIME, "backend %s has %d devices, there is no %s:%d",
                            dpi_backend_name(bit), count, dpi_backend_name(bit), index);
    if (s->bytes == 0)
        return DP_OK;
    int rc = ops->allocate(index, s->bytes, &s->data, &theirs);
    if (rc != 0)
        return dpi_device_failed(bit, "allocate", rc, &theirs, err);
    return s->data ? DP_OK : no_bytes(s->device, s->bytes, err);
}

static void leave_alone(void *arg)
{
    (void)arg;
}

size_t dpi_storage_inside(dp_device device, size_t bytes)
{
    return bytes <= INSIDE_MAX && dp_device_backend(device) == DP_B_CPU ? bytes : 0;
}

/* Give s its data.  The caller has entered the device. */
static int fill_in(dpi_storage *s, const dp_device_ops *ops, bool host, dp_error *err)
{
    s->host = host;
    s->registration = dpi_backend_registration(dp_device_backend(s->device));
    if (!host)
        return device_alloc(s, ops, err);
    s->data = dpi_memory_alloc(s->bytes);
    return s->data || s->bytes == 0 ? DP_OK : no_bytes(s->device, s->bytes, err);
}

/* Bytes of memory that s takes. */
static int64_t memory_bytes(const dpi_storage *s)
{
    return s->data ? (int64_t)s->bytes : 0;
}

/* Complete a new storage: from here on it is counted. */
static void storage_count(dpi_storage *s)
{
    s->id = atomic_fetch_add_explicit(&next_id, 1, memory_order_relaxed);
    dpi_backend_hold(dp_device_backend(s->device));
    count_bytes(memory_bytes(s));
}

static void device_add(dpi_storage *s)
{
    dpi_storage **head = &of_device[dp_device_backend(s->device)];

    pthread_mutex_lock(&lock);
    s->next = *head;
    s->at = head;
    if (s->next)
        s->next->at = &s->next;
    *head = s;
    pthread_mutex_unlock(&lock);
}

/* Locked. */
static void unlink_storage(dpi_storage *s)
{
    if (s->at == NULL)
        return;
    *s->at = s->next;
    if (s->next)
        s->next->at = s->at;
    s->at = NULL;
}

static void device_remove(dpi_storage *s)
{
    pthread_mutex_lock(&lock);
    unlink_storage(s);
    pthread_mutex_unlock(&lock);
}

static dpi_storage *device_pop(int bit)
{
    pthread_mutex_lock(&lock);
    dpi_storage *s = of_device[bit];
    if (s)
        unlink_storage(s);
    pthread_mutex_unlock(&lock);
    return s;
}

/* A thread that drops the last reference to one of them meanwhile waits until the device is
 * closed. */
void dpi_device_end(int bit)
{
    const dp_device_ops *ops;
    dpi_storage *s;

    dpi_backend_close(bit, &ops);
    while (ops && (s = device_pop(bit)) != NULL) {
        count_bytes(-memory_bytes(s));
        ops->release(dp_device_index(s->device), s->data, s->bytes);
        __atomic_store_n(&s->data, NULL, __ATOMIC_RELAXED);
    }
    dpi_backend_unregister(bit);
}

static int init_memoryless(dpi_storage *s, dp_device device, bool fake, size_t bytes, dp_error *err)
{
    int bit = dp_device_backend(device);

    if (bit < 0 || bit > 63 || dpi_backend_name(bit) == NULL)
        return dp_error_set(err, DP_ERUNTIME, "no backend has number %d", bit);
    *s = (dpi_storage){
        .device = device, .bytes = bytes, .memoryless = true, .fake = fake && bit != DP_B_Meta};
    storage_count(s);
    return DP_OK;
}

/* inside NULL: the bytes lie elsewhere. */
static int storage_init(dpi_storage *s, dp_device device, size_t bytes, void *inside, dp_error *err)
{
    const dp_device_ops *ops;
    bool host;
    int bit = dp_device_backend(device);

    if (bit == DP_B_Meta || (device & DPI_MEMORYLESS))
        return init_memoryless(s, device & ~DPI_FAKE, (device & DPI_FAKE) == DPI_FAKE, bytes, err);
    int rc = dpi_device_enter(bit, &ops, &host, err);
    if (rc < 0)
        return rc;
    *s = (dpi_storage){.device = device, .bytes = bytes};
    if (inside != NULL) {
        s->host = true;
        s->data = inside;
        s->release = leave_alone;
    } else {
        rc = fill_in(s, ops, host, err);
    }
    if (rc == DP_OK)
        storage_count(s); /* before leaving, so that the bit is never free in between */
    if (rc == DP_OK && !host && s->data)
        device_add(s);
    dpi_device_leave(bit);
    return rc;
}

int dpi_storage_init(dpi_storage *s, dp_device device, size_t bytes, void *inside, dp_error *err)
{
    bool fits = dpi_storage_inside(device, bytes) > 0;
    return storage_init(s, device, bytes, fits ? inside : NULL, err);
}

void dpi_storage_init_foreign(dpi_storage *s, void *data, size_t bytes, void (*release)(void *arg),
                              void *arg)
{
    *s = (dpi_storage){.device = DP_DEVICE_CPU,
                       .data = data,
                       .bytes = bytes,
                       .release = release ? release : leave_alone,
                       .release_arg = arg,
                       .host = true,
                       .fixed = true};
    storage_count(s);
}

int dpi_no_data(const dpi_storage *s, dp_error *err)
{
    char name[DP_KEY_NAME_MAX];
    dp_device device = s->device;

    if (s->kind != NULL)
        return dp_error_set(err, DP_ENOTIMPL,
                            "a tensor of kind '%s' has no bytes of its own: they are those of the "
                            "tensors that it is made of",
                            s->kind);
    if (dp_device_backend(device) == DP_B_Meta)
        return dp_error_set(err, DP_ENOTIMPL, "Cannot copy out of meta tensor; no data!");
    return dp_error_set(err, DP_ENOTIMPL,
                        "Cannot copy out of a tensor on %s that has no memory; no data!",
                        dp_device_name(device, name));
}

int dpi_no_wrapper(const dp_tensor *t, dp_error *err)
{
    const dpi_storage *s = dpi_storage_of(t);

    return DPI_LIKELY(s->kind == NULL) ? DP_OK : dpi_no_data(s, err);
}

int dpi_storage_enter(const dpi_storage *s, const dp_device_ops **ops, dp_error *err)
{
    int bit = dp_device_backend(s->device);
    bool host;

    if (s->memoryless)
        return dpi_no_data(s, err);
    int rc = dpi_device_enter(bit, ops, &host, err);
    if (rc < 0)
        return rc;
    if (!s->host && (host || dpi_backend_registration(bit) != s->registration)) {
        dpi_device_leave(bit);
        return dp_error_set(err, DP_ERUNTIME, "backend %s was unloaded", dpi_backend_name(bit));
    }
    if (s->host)
        *ops = NULL;
    return DP_OK;
}

void dpi_storage_leave(const dpi_storage *s)
{
    dpi_device_leave(dp_device_backend(s->device));
}

int dpi_tensor_check_device(const dp_tensor *t, dp_error *err)
{
    const dpi_storage *s = dpi_storage_of(t);
    const dp_device_ops *ops;
    int rc = s->memoryless ? DP_OK : dpi_storage_enter(s, &ops, err);

    if (rc == DP_OK && !s->memoryless)
        dpi_storage_leave(s);
    return rc;
}

static void data_free(dpi_storage *s)
{
    const dp_device_ops *ops;

    if (s->memoryless) {
        return;
    } else if (s->release) {
        s->release(s->release_arg);
    } else if (s->host) {
        dpi_memory_free(s->data, s->bytes);
    } else if (dpi_storage_enter(s, &ops, NULL) == DP_OK) {
        if (s->data)
            ops->release(dp_device_index(s->device), s->data, s->bytes);
        device_remove(s);
        dpi_storage_leave(s);
    } else {
        device_remove(s);
    }
}

void dpi_storage_fini(dpi_storage *s)
{
    if (atomic_load_explicit(&s->charged, memory_order_relaxed) != 0)
        dpi_storage_forget(s);
    data_free(s);
    dpi_backend_drop(dp_device_backend(s->device));
    count_bytes(-memory_bytes(s));
    dpi_growth *g = atomic_load_explicit(&s->growth, memory_order_relaxed);
    for (dpi_growth *former; g != NULL; g = former) {
        former = g->former;
        dpi_storage_fini(&g->memory);
        dp_free(g);
    }
}

/* -- growing -- */

static int check_growth(const dpi_storage *s, const dpi_growth *last, size_t bytes, dp_error *err)
{
    const dpi_storage *now = dpi_memory_of(s);

    if (s->fixed)
        return dp_error_set(err, DP_ERUNTIME,
                            "Trying to resize storage that is not resizable: %zu bytes are needed, "
                            "it has %zu",
                            bytes, now->bytes);
    if (last != NULL && now != &last->memory)
        return dp_error_set(err, DP_ERUNTIME,
                            "a storage of %zu bytes was grown to %zu by another call, since this "
                            "one began",
                            now->bytes, last->memory.bytes);
    if (last != NULL && last->n >= DP_LIMIT_RESIZES)
        return dp_error_set(err, DP_ERUNTIME,
                            "a storage that grew %d times, which is the limit (DP_LIMIT_RESIZES), "
                            "cannot grow from %zu to %zu bytes",
                            last->n, now->bytes, bytes);
    return DP_OK;
}

static int copy_bytes(const dpi_storage *to, const dpi_storage *from, dp_error *err)
{
    const dp_device_ops *ops;
    dp_error theirs = DP_ERROR_INIT;
    int bit = dp_device_backend(from->device);

    if (from->bytes == 0)
        return DP_OK;
    int rc = dpi_storage_enter(from, &ops, err);
    if (rc < 0)
        return rc;
    if (ops == NULL)
        memcpy(to->data, from->data, from->bytes);
    else if ((rc = ops->copy(dp_device_index(from->device), to->data, from->data, from->bytes, 2,
                             &theirs)) != 0)
        rc = dpi_device_failed(bit, "copy", rc, &theirs, err);
    dpi_storage_leave(from);
    return rc;
}

/* A longer copy of what s holds now. */
static int growth_new(dpi_storage *s, size_t bytes, dpi_growth **out, dp_error *err)
{
    dpi_growth *g = dp_calloc(1, sizeof(*g));
    dp_device device = s->device | (s->memoryless ? DPI_MEMORYLESS : 0);

    if (g == NULL)
        return dpi_no_memory(err, "a tensor's storage");
    int rc = storage_init(&g->memory, device, bytes, NULL, err);
    if (rc < 0) {
        dp_free(g);
        return rc;
    }
    rc = s->memoryless ? DP_OK : copy_bytes(&g->memory, dpi_memory_of(s), err);
    if (rc == DP_OK)
        rc = dpi_storage_charge_growth(s, &g->memory, err);
    if (rc == DP_OK) {
        *out = g;
        return DP_OK;
    }
    dpi_storage_fini(&g->memory);
    dp_free(g);
    return rc;
}

int dpi_storage_grow(dpi_storage *s, size_t bytes, dp_error *err)
{
    dpi_growth *g = NULL;

    if (bytes <= dpi_memory_of(s)->bytes)
        return DP_OK;
    uint64_t since = dpi_change_shapes_begin();
    dpi_growth *last = atomic_load_explicit(&s->growth, memory_order_relaxed);
    int rc = check_growth(s, last, bytes, err);
    if (rc == DP_OK)
        rc = growth_new(s, bytes, &g, err);
    if (rc == DP_OK) {
        g->former = last;
        g->since = since;
        g->by = &dpi_call_began;
        g->n = last != NULL ? last->n + 1 : 1;
        atomic_store_explicit(&s->growth, g, memory_order_release);
    }
    dpi_change_shapes_end(since);
    return rc;
}
