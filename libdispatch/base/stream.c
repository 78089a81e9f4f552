/* stream.c -- streams and events of devices.
 *
 * A stream or an event is a reference-counted object with a handle that a function of the backend
 * made.  Each device has a list of its handles, so that the plugin's code can free them before it
 * is unloaded.  A handle never outlives the registration of its device, and is never passed to
 * other code. */
#include "stream.h"
#include <pthread.h>

/* First member of streams and events. */
typedef struct dpi_handle {
    atomic_uint refs;
    dp_device device;
    dpi_device *on; /* the device whose functions made `handle`; a reference */
    void (*free)(int index, void *handle); /* frees `handle`; NULL: it needs no freeing */
    /* `handle` and `released` are changed only by dpi_streams_end(), while no other thread has
     * entered `on`; except for dp_stream_handle(), threads read them only after entering `on`.
     * `lock` protects `next` and `link`. */
    void *handle;  /* NULL: the default stream, or the backend makes no such handles */
    bool released; /* dpi_streams_end() freed `handle` */
    struct dpi_handle *next, **link; /* in the list of `on`; `link` NULL: not in the list */
} dpi_handle;

struct dp_stream {
    dpi_handle h;
};
struct dp_event {
    dpi_handle h;
    atomic_uint_fast64_t recorded; /* dpi_nanos() of the last recording; 0: never */
    bool untimed;                  /* made with DP_EVENT_NO_TIMING */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects the lists of handles */

/* -- handles -- */

static void list(dpi_handle *h)
{
    dpi_handle **head = &h->on->handles;

    pthread_mutex_lock(&lock);
    h->next = *head;
    h->link = head;
    if (h->next)
        h->next->link = &h->next;
    *head = h;
    pthread_mutex_unlock(&lock);
}

/* `lock` is held. */
static void unlist(dpi_handle *h)
{
    if (h->link == NULL)
        return;
    *h->link = h->next;
    if (h->next)
        h->next->link = h->link;
    h->link = NULL;
}

static void handle_unref(dpi_handle *h)
{
    dpi_device *d;

    if (h == NULL || atomic_fetch_sub_explicit(&h->refs, 1, memory_order_acq_rel) > 1)
        return;
    if (h->free && dpi_device_use(&h->on, true, &d, NULL) == DP_OK) {
        if (!h->released)
            h->free(dp_device_index(h->device), h->handle);
        pthread_mutex_lock(&lock);
        unlist(h);
        pthread_mutex_unlock(&lock);
        dpi_device_leave(d);
    }
    dpi_device_unref(h->on);
    dp_free(h);
}

/* Arguments for making a handle. */
typedef struct handle_spec {
    const char *function; /* name of a member of dp_device_ops, for errors */
    /* calls that function; NULL: the handle stays NULL */
    int (*make)(dpi_device *d, int index, const struct handle_spec *m, void **out, dp_error *err);
    void (*free)(int index, void *handle);
    dp_ctx *ctx;
    const dp_stream_options *options;
    uint32_t flags;
} handle_spec;

static int make_stream(dpi_device *d, int index, const handle_spec *m, void **out, dp_error *err)
{
    return d->ops.stream_new(m->ctx, index, m->options, out, err);
}

static int make_event(dpi_device *d, int index, const handle_spec *m, void **out, dp_error *err)
{
    return d->ops.event_new(index, m->flags, out, err);
}

/* Make a stream or event; `bytes` is the size of its struct.  The caller must have entered `d`. */
static int handle_new(size_t bytes, dp_device device, dpi_device *d, const handle_spec *m,
                      dpi_handle **out, dp_error *err)
{
    dp_error fault = DP_ERROR_INIT;
    dpi_handle *h = dp_calloc(1, bytes);
    int rc = h == NULL ? dpi_no_memory(err, m->function) : dpi_device_check_index(d, device, err);

    if (rc == DP_OK && m->make &&
        (rc = m->make(d, dp_device_index(device), m, &h->handle, &fault)) != 0)
        rc = dpi_device_failed(d, m->function, rc, &fault, err);
    if (rc < 0) {
        dp_free(h);
        return rc;
    }
    atomic_init(&h->refs, 1);
    h->device = device;
    h->on = dpi_device_ref(d);
    if (h->handle) {
        h->free = m->free;
        list(h);
    }
    *out = h;
    return DP_OK;
}

void dpi_streams_end(dpi_device *d)
{
    dp_error ignored = DP_ERROR_INIT;
    dpi_handle *h;

    for (int i = 0; d->ops.synchronize && i < dpi_device_count(d); i++)
        d->ops.synchronize(i, &ignored);
    for (h = d->ops.synchronize ? NULL : d->handles; h; h = h->next)
        if (h->free == d->ops.stream_free)
            d->ops.stream_synchronize(dp_device_index(h->device), h->handle, &ignored);
    for (;;) {
        pthread_mutex_lock(&lock);
        h = d->handles;
        if (h)
            unlist(h);
        pthread_mutex_unlock(&lock);
        if (h == NULL)
            return;
        /* handle_unref() cannot free h meanwhile, because d is closed. */
        h->free(dp_device_index(h->device), h->handle);
        __atomic_store_n(&h->handle, NULL, __ATOMIC_RELAXED); /* dp_stream_handle() */
        h->released = true;
    }
}

/* -- streams -- */

/* Make a stream; `m` NULL: the device's default stream. */
static int stream_make(dp_device device, const handle_spec *m, dp_stream **out, dp_error *err)
{
    static const handle_spec default_spec = {.function = "stream_new"};
    dpi_handle *h;
    dpi_device *d;
    int rc = dpi_device_enter(dp_device_backend(device), &d, err);

    if (rc < 0)
        return rc;
    handle_spec spec = m ? *m : default_spec;
    if (m && d->ops.stream_new) {
        rc = dpi_device_check_index(d, device, err);
        if (rc == DP_OK)
            rc = dpi_device_check_priority(d, device, m->options->priority, err);
        spec.make = make_stream;
        spec.free = d->ops.stream_free;
    }
    if (rc == DP_OK)
        rc = handle_new(sizeof(dp_stream), device, d, &spec, &h, err);
    dpi_device_leave(d);
    if (rc == DP_OK)
        *out = (dp_stream *)h;
    return rc;
}

int dpi_stream_new(dp_ctx *ctx, dp_device device, const dp_stream_options *options, dp_stream **out,
                   dp_error *err)
{
    dp_stream_options o = {0};

    if (options != NULL)
        memcpy(&o, options, options->size < sizeof(o) ? options->size : sizeof(o));
    o.size = sizeof(o);
    if (o.flags & ~(uint32_t)DP_STREAM_NON_BLOCKING)
        return dp_error_set(err, DP_EVALUE,
                            "a stream's flags are DP_STREAM_NON_BLOCKING or none, not 0x%x",
                            o.flags);
    handle_spec m = {.function = "stream_new", .ctx = ctx, .options = &o};
    return stream_make(device, &m, out, err);
}

int dpi_stream_default(dp_device device, dp_stream **out, dp_error *err)
{
    return stream_make(device, NULL, out, err);
}

dp_stream *dp_stream_ref(dp_stream *s)
{
    if (s != NULL)
        atomic_fetch_add_explicit(&s->h.refs, 1, memory_order_relaxed);
    return s;
}

dp_stream *dp_stream_unref(dp_stream *s)
{
    handle_unref(s ? &s->h : NULL);
    return NULL;
}

dp_device dp_stream_device(const dp_stream *s)
{
    return s != NULL ? s->h.device : DP_DEVICE_CPU;
}

void *dp_stream_handle(const dp_stream *s)
{
    return s != NULL ? __atomic_load_n(&s->h.handle, __ATOMIC_RELAXED) : NULL;
}

static int fail_unloaded(const dpi_device *d, dp_error *err)
{
    return dp_error_set(err, DP_ERUNTIME, "backend %s was unloaded", d->name);
}

/* Enter the device of `h`, also one that a reload replaced: its code stays loaded until the last
 * call that uses it has ended. */
static int handle_enter(const dpi_handle *h, dpi_device **out, dp_error *err)
{
    int rc = h->on->bit == DP_B_CPU || h->on->bit == DP_B_Meta
                 ? dpi_device_enter(h->on->bit, out, err)
                 : dpi_device_use(&h->on, true, out, err);

    if (rc < 0 || !h->released)
        return rc;
    rc = fail_unloaded(*out, err);
    dpi_device_leave(*out);
    return rc;
}

bool dpi_stream_belongs(const dp_stream *s, const dpi_device *d)
{
    return s->h.on == d && !s->h.released;
}

void *dpi_stream_of(const dp_stream *s, const dpi_device *d)
{
    return s != NULL && dpi_stream_belongs(s, d) ? s->h.handle : NULL;
}

int dpi_stream_enter(const dp_stream *s, dpi_device **out, void **handle, dp_error *err)
{
    int rc = handle_enter(&s->h, out, err);

    *handle = rc == DP_OK ? s->h.handle : NULL;
    return rc;
}

int dpi_stream_query(const dp_stream *s, bool *done, dp_error *err)
{
    dp_error fault = DP_ERROR_INIT;
    dpi_device *d;
    int rc = handle_enter(&s->h, &d, err);

    if (rc < 0)
        return rc;
    *done = true;
    if (d->ops.stream_query &&
        (rc = d->ops.stream_query(dp_device_index(s->h.device), s->h.handle, done, &fault)) != 0)
        rc = dpi_device_waited(d, "stream_query", rc, &fault, s->h.device, s->h.handle, err);
    dpi_device_leave(d);
    return rc;
}

/* The caller must have entered `d`. */
static int synchronize(dpi_device *d, const dp_stream *s, dp_error *err)
{
    dp_error fault = DP_ERROR_INIT;
    int index = dp_device_index(s->h.device), rc;

    if (d->ops.stream_synchronize == NULL)
        return DP_OK;
    rc = d->ops.stream_synchronize(index, s->h.handle, &fault);
    return dpi_device_waited(d, "stream_synchronize", rc, &fault, s->h.device, s->h.handle, err);
}

int dpi_stream_synchronize(const dp_stream *s, dp_error *err)
{
    dpi_device *d;
    int rc = handle_enter(&s->h, &d, err);

    if (rc < 0)
        return rc;
    rc = synchronize(d, s, err);
    dpi_device_leave(d);
    return rc;
}

/* -- events -- */

dp_device dpi_event_device(const dp_event *e)
{
    return e->h.device;
}

/* The caller must have entered `d`. */
static int event_make(dpi_device *d, dp_device device, uint32_t flags, dp_event **out,
                      dp_error *err)
{
    handle_spec m = {.function = "event_new", .free = d->ops.event_free, .flags = flags};
    dpi_handle *h;

    if (d->ops.event_new)
        m.make = make_event;
    int rc = handle_new(sizeof(dp_event), device, d, &m, &h, err);
    if (rc == DP_OK) {
        *out = (dp_event *)h;
        (*out)->untimed = flags & DP_EVENT_NO_TIMING;
    }
    return rc;
}

int dpi_event_new(dp_device device, uint32_t flags, dp_event **out, dp_error *err)
{
    dpi_device *d;

    if (flags & ~(uint32_t)DP_EVENT_NO_TIMING)
        return dp_error_set(err, DP_EVALUE,
                            "an event's flags are DP_EVENT_NO_TIMING or none, not 0x%x", flags);
    int rc = dpi_device_enter(dp_device_backend(device), &d, err);
    if (rc < 0)
        return rc;
    rc = event_make(d, device, flags, out, err);
    dpi_device_leave(d);
    return rc;
}

int dpi_event_new_on(const dp_stream *s, dp_event **out, dp_error *err)
{
    dpi_device *d;
    int rc = handle_enter(&s->h, &d, err);

    if (rc < 0)
        return rc;
    rc = event_make(d, s->h.device, DP_EVENT_NO_TIMING, out, err);
    dpi_device_leave(d);
    return rc;
}

dp_event *dp_event_ref(dp_event *e)
{
    if (e != NULL)
        atomic_fetch_add_explicit(&e->h.refs, 1, memory_order_relaxed);
    return e;
}

dp_event *dp_event_unref(dp_event *e)
{
    handle_unref(e ? &e->h : NULL);
    return NULL;
}

static int wrong_device(const dpi_handle *a, const dpi_handle *b, dp_error *err)
{
    char first[DP_KEY_NAME_MAX], second[DP_KEY_NAME_MAX];

    return dp_error_set(err, DP_ERUNTIME, "an event of %s and a stream or event of %s",
                        dp_device_name(a->device, first), dp_device_name(b->device, second));
}

int dpi_event_record(dp_event *e, const dp_stream *s, dp_error *err)
{
    dp_error fault = DP_ERROR_INIT;
    dpi_device *d;
    int rc = handle_enter(&s->h, &d, err);

    if (rc < 0)
        return rc;
    if (e->h.on != d || e->h.device != s->h.device)
        rc = wrong_device(&e->h, &s->h, err);
    else if (e->h.released)
        rc = fail_unloaded(d, err);
    else if (d->ops.event_record == NULL)
        rc = synchronize(d, s, err);
    else if ((rc = d->ops.event_record(dp_device_index(s->h.device), e->h.handle, s->h.handle,
                                       &fault)) != 0)
        rc = dpi_device_failed(d, "event_record", rc, &fault, err);
    if (rc == DP_OK)
        atomic_store(&e->recorded, dpi_nanos());
    dpi_device_leave(d);
    return rc;
}

/* An event that was never recorded counts as done, as in CUDA. */
int dpi_event_query(const dp_event *e, bool *done, dp_error *err)
{
    dp_error fault = DP_ERROR_INIT;
    dpi_device *d;
    int rc = handle_enter(&e->h, &d, err);

    if (rc < 0)
        return rc;
    *done = true;
    if (d->ops.event_query && atomic_load(&e->recorded) &&
        (rc = d->ops.event_query(dp_device_index(e->h.device), e->h.handle, done, &fault)) != 0)
        rc = dpi_device_waited(d, "event_query", rc, &fault, e->h.device, DPI_ALL_STREAMS, err);
    dpi_device_leave(d);
    return rc;
}

int dpi_event_synchronize(const dp_event *e, dp_error *err)
{
    dp_error fault = DP_ERROR_INIT;
    dpi_device *d;
    int rc = handle_enter(&e->h, &d, err);

    if (rc < 0)
        return rc;
    if (d->ops.event_synchronize && atomic_load(&e->recorded) &&
        (rc = d->ops.event_synchronize(dp_device_index(e->h.device), e->h.handle, &fault)) != 0)
        rc = dpi_device_waited(d, "event_synchronize", rc, &fault, e->h.device, DPI_ALL_STREAMS,
                               err);
    dpi_device_leave(d);
    return rc;
}

/* A stream of another backend cannot wait for the event, so the calling thread waits instead. */
int dpi_event_wait(const dp_event *e, const dp_stream *s, dp_error *err)
{
    dp_error fault = DP_ERROR_INIT;
    dpi_device *d;

    if (e->h.on != s->h.on)
        return dpi_event_synchronize(e, err);
    int rc = handle_enter(&s->h, &d, err);
    if (rc < 0)
        return rc;
    if (d->ops.event_wait && atomic_load(&e->recorded) && !e->h.released &&
        (rc = d->ops.event_wait(dp_device_index(s->h.device), e->h.handle, s->h.handle, &fault)) !=
            0)
        rc = dpi_device_failed(d, "event_wait", rc, &fault, err);
    dpi_device_leave(d);
    return rc;
}

/* The caller must have entered `d`. */
static int elapsed(dpi_device *d, const dp_event *begin, const dp_event *end, double *ms,
                   dp_error *err)
{
    dp_error fault = DP_ERROR_INIT;
    uint64_t from = atomic_load(&begin->recorded), to = atomic_load(&end->recorded);

    if (begin->h.on != d || begin->h.device != end->h.device)
        return wrong_device(&begin->h, &end->h, err);
    if (begin->h.released)
        return fail_unloaded(d, err);
    if (begin->untimed || end->untimed)
        return dp_error_set(err, DP_ERUNTIME, "an event made with DP_EVENT_NO_TIMING has no time");
    if (from == 0 || to == 0)
        return dp_error_set(err, DP_ERUNTIME, "an event that was never recorded has no time");
    if (d->ops.event_new == NULL) {
        *ms = ((double)to - (double)from) / 1e6;
        return DP_OK;
    }
    if (d->ops.event_elapsed == NULL)
        return dp_error_set(err, DP_ENOTIMPL, "backend %s: its events have no time", d->name);
    int rc = d->ops.event_elapsed(dp_device_index(end->h.device), begin->h.handle, end->h.handle,
                                  ms, &fault);
    return rc ? dpi_device_failed(d, "event_elapsed", rc, &fault, err) : DP_OK;
}

int dpi_event_elapsed(const dp_event *begin, const dp_event *end, double *ms, dp_error *err)
{
    dpi_device *d;
    int rc = handle_enter(&end->h, &d, err);

    if (rc < 0)
        return rc;
    rc = elapsed(d, begin, end, ms, err);
    dpi_device_leave(d);
    return rc;
}
