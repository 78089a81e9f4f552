/* device_calls.c -- what is asked of a device as a whole, and which operators gave work to its
 * streams.
 *
 * Work that fails while a stream runs it surfaces in a later call, which knows nothing of the
 * operator that queued it.  So the operators that ask for a stream are noted, the newest
 * DPI_QUEUED_MAX of a device, until somebody has waited for the stream. */
#include "process.h"
#include "stream.h"
#include <pthread.h>
#include <stdio.h>

/* -- what was given to streams -- */

void dpi_queued_note(dpi_device *d, dp_device device, const void *stream, const char *op)
{
    dpi_queued *q = &d->queued;

    pthread_mutex_lock(&q->lock);
    dpi_queued_op *o = &q->ops[q->next++ % DPI_QUEUED_MAX];
    o->index = dp_device_index(device);
    o->stream = stream;
    snprintf(o->name, sizeof(o->name), "%s", op);
    pthread_mutex_unlock(&q->lock);
}

/* Locked.  The i-th oldest, if there is one and what was waited for, all of the device or one
 * stream, included it.  Work of the default stream is waited for with every other. */
static dpi_queued_op *queued_at(dpi_queued *q, unsigned i, dp_device device, const void *stream)
{
    dpi_queued_op *o = &q->ops[(q->next + i) % DPI_QUEUED_MAX];
    bool meant = o->index == dp_device_index(device) &&
                 (stream == DPI_ALL_STREAMS || stream == NULL || o->stream == stream);

    return o->name[0] != '\0' && meant ? o : NULL;
}

void dpi_queued_forget(dpi_device *d, dp_device device, const void *stream)
{
    dpi_queued_op *o;

    pthread_mutex_lock(&d->queued.lock);
    for (unsigned i = 0; i < DPI_QUEUED_MAX; i++)
        if ((o = queued_at(&d->queued, i, device, stream)) != NULL)
            o->name[0] = '\0';
    pthread_mutex_unlock(&d->queued.lock);
}

static int failed_later(dpi_device *d, const char *what, int rc, const dp_error *from,
                        dp_device device, const void *stream, dp_error *err)
{
    char names[DPI_QUEUED_MAX * (DPI_QUEUED_NAME_MAX + 2)] = "";
    dp_error all = *from;
    size_t n = 0, at = strnlen(from->message, DP_ERROR_MESSAGE_MAX - 1);
    dpi_queued_op *o;

    pthread_mutex_lock(&d->queued.lock);
    for (unsigned i = 0; i < DPI_QUEUED_MAX; i++)
        if ((o = queued_at(&d->queued, i, device, stream)) != NULL)
            n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s", n ? ", " : "", o->name);
    pthread_mutex_unlock(&d->queued.lock);
    dpi_queued_forget(d, device, stream); /* the fault was told */
    if (n > 0)
        snprintf(all.message + at, DP_ERROR_MESSAGE_MAX - at,
                 "%squeued since the last synchronisation: %s", at ? "; " : "", names);
    return dpi_device_failed(d, what, rc, &all, err);
}

int dpi_device_waited(dpi_device *d, const char *what, int rc, const dp_error *from,
                      dp_device device, const void *stream, dp_error *err)
{
    if (rc != 0)
        return failed_later(d, what, rc, from, device, stream, err);
    dpi_queued_forget(d, device, stream);
    return DP_OK;
}

/* -- of a device as a whole -- */

int dpi_device_check_index(const dpi_device *d, dp_device device, dp_error *err)
{
    char name[DP_KEY_NAME_MAX];
    int n = dpi_device_count(d);

    return dp_device_index(device) < n
               ? DP_OK
               : dp_error_set(err, DP_ERUNTIME, "no device %s: its backend has %d",
                              dp_device_name(device, name), n);
}

/* Enter the backend of `device`, which must have it. */
static int enter(dp_device device, dpi_device **out, dp_error *err)
{
    int rc = dpi_device_enter(dp_device_backend(device), out, err);

    if (rc == DP_OK && (rc = dpi_device_check_index(*out, device, err)) < 0)
        dpi_device_leave(*out);
    return rc;
}

int dpi_device_synchronize(dp_device device, dp_error *err)
{
    dp_error theirs = DP_ERROR_INIT;
    dpi_device *d;
    int rc = enter(device, &d, err);

    if (rc < 0)
        return rc;
    if (d->ops.synchronize)
        rc = d->ops.synchronize(dp_device_index(device), &theirs);
    rc = dpi_device_waited(d, "synchronize", rc, &theirs, device, DPI_ALL_STREAMS, err);
    dpi_device_leave(d);
    return rc;
}

/* Inside d. */
static int memory(dpi_device *d, dp_device device, size_t *free_bytes, size_t *total_bytes,
                  dp_error *err)
{
    dp_error theirs = DP_ERROR_INIT;
    char name[DP_KEY_NAME_MAX];

    if (d->ops.memory_info == NULL)
        return dp_error_set(err, DP_ENOTIMPL, "how much memory %s has is not known",
                            dp_device_name(device, name));
    int rc = d->ops.memory_info(dp_device_index(device), free_bytes, total_bytes, &theirs);
    if (rc != 0)
        return dpi_device_failed(d, "memory_info", rc, &theirs, err);
    return *free_bytes <= *total_bytes
               ? DP_OK
               : dp_error_set(err, DP_EPLUGIN,
                              "backend %s: memory_info says that %zu bytes of %zu are free",
                              d->name, *free_bytes, *total_bytes);
}

int dpi_device_memory(dp_device device, size_t *free_bytes, size_t *total_bytes, dp_error *err)
{
    dpi_device *d;
    int rc = enter(device, &d, err);

    if (rc < 0)
        return rc;
    rc = memory(d, device, free_bytes, total_bytes, err);
    dpi_device_leave(d);
    return rc;
}

int dpi_device_trim(dp_device device, size_t bytes, dp_error *err)
{
    dp_error theirs = DP_ERROR_INIT;
    dpi_device *d;
    int rc = enter(device, &d, err);

    if (rc < 0)
        return rc;
    if (d->ops.trim &&
        (rc = d->ops.trim(dp_device_index(device), bytes ? bytes : SIZE_MAX, &theirs)) != 0)
        rc = dpi_device_failed(d, "trim", rc, &theirs, err);
    dpi_device_leave(d);
    return rc;
}

/* Inside d. */
static int priorities(dpi_device *d, dp_device device, int *least, int *greatest, dp_error *err)
{
    dp_error theirs = DP_ERROR_INIT;

    *least = *greatest = 0;
    if (d->ops.stream_priorities == NULL)
        return DP_OK;
    int rc = d->ops.stream_priorities(dp_device_index(device), least, greatest, &theirs);
    if (rc != 0)
        return dpi_device_failed(d, "stream_priorities", rc, &theirs, err);
    return *greatest <= *least
               ? DP_OK
               : dp_error_set(
                     err, DP_EPLUGIN,
                     "backend %s: stream_priorities says %d for the first and %d for the last; "
                     "the first is the lower number",
                     d->name, *greatest, *least);
}

int dpi_stream_priorities(dp_device device, int *least, int *greatest, dp_error *err)
{
    dpi_device *d;
    int rc = enter(device, &d, err);

    if (rc < 0)
        return rc;
    rc = priorities(d, device, least, greatest, err);
    dpi_device_leave(d);
    return rc;
}

int dpi_device_check_priority(dpi_device *d, dp_device device, int priority, dp_error *err)
{
    char name[DP_KEY_NAME_MAX];
    int least, greatest, rc = priorities(d, device, &least, &greatest, err);

    if (rc < 0 || (priority >= greatest && priority <= least))
        return rc;
    return dp_error_set(err, DP_EVALUE, "no stream of priority %d on %s: it has %d to %d", priority,
                        dp_device_name(device, name), greatest, least);
}

/* -- at a reload -- */

bool dpi_device_hand_over(const dpi_device *old, const dpi_device *d)
{
    dp_error theirs = DP_ERROR_INIT;
    const char *what = "hand_over";
    char text[DP_LIMIT_WARNING_BYTES + 1];
    void *state = NULL;

    if (old->ops.hand_over == NULL || d->ops.take_over == NULL)
        return true;
    int rc = old->ops.hand_over(&state, &theirs);
    if (rc == 0) {
        what = "take_over";
        rc = d->ops.take_over(state, &theirs);
        if (rc != 0)
            old->ops.hand_back(state);
    }
    if (rc == 0)
        return true;
    snprintf(text, sizeof(text),
             "backend %s: %s failed, so its tensors answer that it was unloaded: %.800s", old->name,
             what, theirs.message);
    dpi_warn_listener(text);
    return false;
}
