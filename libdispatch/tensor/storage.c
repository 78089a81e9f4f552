/* storage.c -- counted bytes on one device.
 *
 * A storage holds its backend, by number, never a pointer into a plugin.  Its bytes are touched,
 * and given back, between enter and leave only; when the registration it was allocated under has
 * ended, they went with the device and only the struct is freed. */
#include "room.h"

static atomic_uint_fast64_t next_id = 1;

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

/* Device memory.  Inside the device. */
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

/* Inside the device. */
static int fill_in(dpi_storage *s, const dp_device_ops *ops, bool host, dp_error *err)
{
    int bit = dp_device_backend(s->device);

    s->host = host;
    s->registration = dpi_backend_registration(bit);
    if (bit == DP_B_Meta)
        return DP_OK;
    if (!host)
        return device_alloc(s, ops, err);
    s->data = dpi_memory_alloc(s->bytes);
    return s->data || s->bytes == 0 ? DP_OK : no_bytes(s->device, s->bytes, err);
}

static int64_t memory_bytes(const dpi_storage *s) /* a meta tensor takes none */
{
    return s->data ? (int64_t)s->bytes : 0;
}

/* Counted from here on. */
static dpi_storage *storage_count(dpi_storage *s)
{
    atomic_init(&s->refs, 1);
    s->id = atomic_fetch_add_explicit(&next_id, 1, memory_order_relaxed);
    dpi_backend_hold(dp_device_backend(s->device));
    dpi_count_bytes(memory_bytes(s));
    return s;
}

int dpi_storage_new(dp_device device, size_t bytes, dpi_storage **out, dp_error *err)
{
    const dp_device_ops *ops;
    bool host;
    int bit = dp_device_backend(device), rc = dpi_device_enter(bit, &ops, &host, err);

    if (rc < 0)
        return rc;
    dpi_storage *s = dp_malloc(sizeof(*s)); /* calloc is slow here */
    if (s) {
        *s = (dpi_storage){.device = device, .bytes = bytes};
        rc = fill_in(s, ops, host, err);
    } else {
        rc = dpi_no_memory(err, "a tensor's storage");
    }
    if (rc < 0)
        dp_free(s);
    else
        *out = storage_count(s); /* before leaving: the bit must not be free in between */
    dpi_device_leave(bit);
    return rc;
}

static void leave_alone(void *arg)
{
    (void)arg;
}

int dpi_storage_wrap(void *data, size_t bytes, void (*release)(void *arg), void *arg,
                     dpi_storage **out, dp_error *err)
{
    dpi_storage *s = dp_malloc(sizeof(*s));

    if (s == NULL)
        return dpi_no_memory(err, "a tensor's storage");
    *s = (dpi_storage){.device = DP_DEVICE_CPU,
                       .data = data,
                       .bytes = bytes,
                       .release = release ? release : leave_alone,
                       .release_arg = arg,
                       .host = true};
    *out = storage_count(s);
    return DP_OK;
}

int dpi_storage_enter(const dpi_storage *s, const dp_device_ops **ops, dp_error *err)
{
    int bit = dp_device_backend(s->device);
    bool host;
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

static void data_free(dpi_storage *s)
{
    const dp_device_ops *ops;

    if (s->release) {
        s->release(s->release_arg);
    } else if (s->host) {
        dpi_memory_free(s->data, s->bytes);
    } else if (s->data && dpi_storage_enter(s, &ops, NULL) == DP_OK) {
        ops->release(dp_device_index(s->device), s->data, s->bytes);
        dpi_storage_leave(s);
    }
}

dpi_storage *dpi_storage_unref(dpi_storage *s)
{
    if (s == NULL || !dpi_unref_last(&s->refs))
        return NULL;
    data_free(s);
    dpi_backend_drop(dp_device_backend(s->device));
    dpi_count_bytes(-memory_bytes(s));
    dp_free(s);
    return NULL;
}
