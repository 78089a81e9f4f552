/* device_calls.c -- calls for a whole device, and notes of the operators that queued work on it.
 *
 * If work fails while a stream runs it, a later call reports the error, and that call does not know
 * which operator queued the work.  Because of that the host notes each operator that asks for a
 * stream.  All devices of a backend share DPI_QUEUED_MAX notes, and a new note replaces the oldest;
 * waiting for a stream deletes the stream's notes. */
#include "process.h"
#include "stream.h"
#include <pthread.h>
#include <stdio.h>

/* -- operators that queued work -- */

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

/* `q->lock` is held.  Return the i-th oldest note if it is used and a wait for `stream` of `device`
 * included its work, else NULL.  A wait for DPI_ALL_STREAMS, or for the default stream (`stream`
 * NULL), includes the work of all streams. */
static dpi_queued_op *waited_at(dpi_queued *q, unsigned i, dp_device device, const void *stream)
{
    dpi_queued_op *o = &q->ops[(q->next + i) % DPI_QUEUED_MAX];
    bool included = o->index == dp_device_index(device) &&
                    (stream == DPI_ALL_STREAMS || stream == NULL || o->stream == stream);

    return o->name[0] != '\0' && included ? o : NULL;
}

void dpi_queued_forget(dpi_device *d, dp_device device, const void *stream)
{
    dpi_queued_op *o;

    pthread_mutex_lock(&d->queued.lock);
    for (unsigned i = 0; i < DPI_QUEUED_MAX; i++)
        if ((o = waited_at(&d->queued, i, device, stream)) != NULL)
            o->name[0] = '\0';
    pthread_mutex_unlock(&d->queued.lock);
}

/* Fail with the error `from` of `function`, and name the operators noted for `stream`. */
static int fail_queued(dpi_device *d, const char *function, int rc, const dp_error *from,
                       dp_device device, const void *stream, dp_error *err)
{
    char names[DPI_QUEUED_MAX * (DPI_QUEUED_NAME_MAX + 2)] = "";
    dp_error all = *from;
    size_t n = 0, length = strnlen(from->message, DP_ERROR_MESSAGE_MAX - 1);
    dpi_queued_op *o;

    pthread_mutex_lock(&d->queued.lock);
    for (unsigned i = 0; i < DPI_QUEUED_MAX; i++)
        if ((o = waited_at(&d->queued, i, device, stream)) != NULL)
            n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s", n ? ", " : "", o->name);
    pthread_mutex_unlock(&d->queued.lock);
    /* `err` names these operators; later errors do not name them again */
    dpi_queued_forget(d, device, stream);
    if (n > 0)
        snprintf(all.message + length, DP_ERROR_MESSAGE_MAX - length,
                 "%squeued since the last synchronisation: %s", length ? "; " : "", names);
    return dpi_device_failed(d, function, rc, &all, err);
}

int dpi_device_waited(dpi_device *d, const char *function, int rc, const dp_error *from,
                      dp_device device, const void *stream, dp_error *err)
{
    if (rc != 0)
        return fail_queued(d, function, rc, from, device, stream, err);
    dpi_queued_forget(d, device, stream);
    return DP_OK;
}

/* -- calls for a whole device -- */

int dpi_device_check_index(const dpi_device *d, dp_device device, dp_error *err)
{
    char name[DP_KEY_NAME_MAX];
    int n = dpi_device_count(d);

    return dp_device_index(device) < n
               ? DP_OK
               : dp_error_set(err, DP_ERUNTIME, "no device %s: its backend has %d",
                              dp_device_name(device, name), n);
}

/* Enter the backend of `device`.  DP_ERUNTIME: the backend has no device with this index. */
static int enter(dp_device device, dpi_device **out, dp_error *err)
{
    int rc = dpi_device_enter(dp_device_backend(device), out, err);

    if (rc == DP_OK && (rc = dpi_device_check_index(*out, device, err)) < 0)
        dpi_device_leave(*out);
    return rc;
}

int dpi_device_synchronize(dp_device device, dp_error *err)
{
    dp_error fault = DP_ERROR_INIT;
    dpi_device *d;
    int rc = enter(device, &d, err);

    if (rc < 0)
        return rc;
    if (d->ops.synchronize)
        rc = d->ops.synchronize(dp_device_index(device), &fault);
    rc = dpi_device_waited(d, "synchronize", rc, &fault, device, DPI_ALL_STREAMS, err);
    dpi_device_leave(d);
    return rc;
}

/* The caller must have entered `d`. */
static int memory(dpi_device *d, dp_device device, size_t *free_bytes, size_t *total_bytes,
                  dp_error *err)
{
    dp_error fault = DP_ERROR_INIT;
    char name[DP_KEY_NAME_MAX];

    if (d->ops.memory_info == NULL)
        return dp_error_set(err, DP_ENOTIMPL, "how much memory %s has is not known",
                            dp_device_name(device, name));
    int rc = d->ops.memory_info(dp_device_index(device), free_bytes, total_bytes, &fault);
    if (rc != 0)
        return dpi_device_failed(d, "memory_info", rc, &fault, err);
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
    dp_error fault = DP_ERROR_INIT;
    dpi_device *d;
    int rc = enter(device, &d, err);

    if (rc < 0)
        return rc;
    if (d->ops.trim &&
        (rc = d->ops.trim(dp_device_index(device), bytes ? bytes : SIZE_MAX, &fault)) != 0)
        rc = dpi_device_failed(d, "trim", rc, &fault, err);
    dpi_device_leave(d);
    return rc;
}

/* Get the range of stream priorities.  The caller must have entered `d`. */
static int priorities(dpi_device *d, dp_device device, int *least, int *greatest, dp_error *err)
{
    dp_error fault = DP_ERROR_INIT;

    *least = *greatest = 0;
    if (d->ops.stream_priorities == NULL)
        return DP_OK;
    int rc = d->ops.stream_priorities(dp_device_index(device), least, greatest, &fault);
    if (rc != 0)
        return dpi_device_failed(d, "stream_priorities", rc, &fault, err);
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
    dp_error fault = DP_ERROR_INIT;
    const char *function = "hand_over";
    char text[DP_LIMIT_WARNING_BYTES + 1];
    void *state = NULL;

    if (old->ops.hand_over == NULL || d->ops.take_over == NULL)
        return true;
    int rc = old->ops.hand_over(&state, &fault);
    if (rc == 0) {
        function = "take_over";
        rc = d->ops.take_over(state, &fault);
        if (rc != 0)
            old->ops.hand_back(state);
    }
    if (rc == 0)
        return true;
    snprintf(text, sizeof(text),
             "backend %s: %s failed, so its tensors answer that it was unloaded: %.800s", old->name,
             function, fault.message);
    dpi_warn_listener(text);
    return false;
}
