/* device.c -- devices of plugins: makes them from records, and parses and prints device names.
 *
 * backend.c has the table of devices. */
#include "backend.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* Return the name of a function that record `o` must have and lacks; NULL: none is missing.  Three
 * functions are always required; the others are required if the record has certain others, usually
 * of the same group (dp_device_ops). */
static const char *missing_slot(const dp_device_ops *o)
{
    bool streams = o->stream_new || o->stream_free || o->stream_query || o->stream_synchronize;
    bool events = o->event_new || o->event_free || o->event_record || o->event_wait ||
                  o->event_query || o->event_synchronize || o->event_elapsed;
    bool handing_over = o->hand_over || o->take_over || o->hand_back;
    bool sharing = o->export_block || o->import_block || o->import_end;
    const struct {
        const char *name;
        bool required, present;
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
        {"adopt", o->adopted != NULL || handing_over, o->adopt != NULL},
        {"hand_over", handing_over, o->hand_over != NULL},
        {"take_over", handing_over, o->take_over != NULL},
        {"hand_back", handing_over, o->hand_back != NULL},
        {"export_block", sharing, o->export_block != NULL},
        {"import_block", sharing, o->import_block != NULL},
        {"import_end", sharing, o->import_end != NULL},
    };

    for (size_t i = 0; i < DPI_COUNT(all); i++)
        if (all[i].required && !all[i].present)
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
    pthread_mutex_init(&d->queued.lock, NULL);
    if (ops)
        memcpy(&d->ops, ops, ops->size < sizeof(d->ops) ? ops->size : sizeof(d->ops));
    const char *missing = ops ? missing_slot(&d->ops) : NULL;
    uint32_t unknown = d->ops.flags & ~(uint32_t)DP_DEVICE_STREAM_ORDERED;
    if (missing || unknown) {
        dp_free(d);
        return missing
                   ? dp_error_set(err, DP_EPLUGIN, "device record of backend '%s' has no '%s'",
                                  name, missing)
                   : dp_error_set(err, DP_EPLUGIN,
                                  "device record of backend '%s' has flags 0x%x, which this host "
                                  "does not know",
                                  name, unknown);
    }
    *out = d;
    return DP_OK;
}

int dpi_backend_register(const char *name, const char *owner, const dp_device_ops *ops, int *bit,
                         dp_error *err)
{
    dpi_device *d;
    int rc = dpi_backend_check_name(name, err);

    if (rc == DP_OK)
        rc = dpi_device_new(name, ops, &d, err);
    if (rc < 0)
        return rc;
    rc = dpi_backend_install(name, owner, d, bit, err);
    dpi_device_unref(d);
    return rc;
}

int dpi_device_failed(const dpi_device *d, const char *function, int rc, const dp_error *from,
                      dp_error *err)
{
    size_t n = strnlen(from->message, DP_ERROR_MESSAGE_MAX);

    if (dp_error_name(rc) == NULL)
        return dp_error_set(err, DP_EPLUGIN, "backend %s: %s returned %d, which is no error code",
                            d->name, function, rc);
    return dp_error_set(err, rc, "backend %s: %s failed%s%.*s", d->name, function, n ? ": " : "",
                        (int)n, from->message);
}

int dpi_device_count(const dpi_device *d)
{
    int n = d->ops.count ? d->ops.count() : 1;

    return n > 0 ? n : 0; /* a negative count means no device */
}

/* CPU and Meta have one device each, and their names have no index.  Names of other devices have an
 * index, as in PyTorch's "cuda:0". */
const char *dp_device_name(dp_device d, char buf[DP_KEY_NAME_MAX])
{
    int bit = dp_device_backend(d), index = dp_device_index(d);
    const char *name = dpi_backend_device_name(bit);

    if (name == NULL)
        snprintf(buf, DP_KEY_NAME_MAX, "backend %d:%d", bit, index);
    else if (index == 0 && (bit == DP_B_CPU || bit == DP_B_Meta))
        memcpy(buf, name, strlen(name) + 1); /* these two names fit into `buf` */
    else
        snprintf(buf, DP_KEY_NAME_MAX, "%s:%d", name, index);
    return buf;
}

static int no_such_device(const char *name, dp_error *err)
{
    char known[1024];
    size_t length = 0;

    known[0] = '\0';
    for (int b = 0; b < 64 && length < sizeof(known); b++) {
        /* The name is NULL if the registration ended after the check. */
        const char *device = dpi_backend_is_registered(b) ? dpi_backend_device_name(b) : NULL;
        if (device != NULL)
            length += (size_t)snprintf(known + length, sizeof(known) - length, "%s%s",
                                       length ? ", " : "", device);
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
