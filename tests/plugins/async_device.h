/* async_device.h -- backend simdev, a device whose streams are queues, and two threads (sim_worker)
 * that execute the queued operations.
 *
 * The header defines every function of dp_device_ops.  Tests make a call of one of them fail with
 * the operator sim::fail.  Memory comes from the C library, so that a reloaded plugin can adopt it.
 * The use of a stream that does not exist, and pinning of partial pages, abort the process. */
#ifndef ASYNC_DEVICE_H
#define ASYNC_DEVICE_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SIMDEV_COUNT = 2, SIMDEV_BYTES = 1 << 24 };

/* clang-format off */
#define SIMDEV_SLOTS(X) \
    X(allocate) X(release) X(copy) X(memory_info) X(synchronize) \
    X(stream_new) X(stream_free) X(stream_query) X(stream_synchronize) X(copy_async) \
    X(fill) X(event_new) X(event_free) X(event_record) X(event_wait) \
    X(event_query) X(event_synchronize) X(event_elapsed) X(pin) X(unpin) \
    X(adopt) X(adopted) X(copy_between) X(trim) X(stream_priorities) X(hand_over) X(take_over) \
    X(hand_back) X(export_block) X(import_block) X(import_end)
/* clang-format on */
enum {
#define SLOT(name) SIM_##name,
    SIMDEV_SLOTS(SLOT)
#undef SLOT
        SIM_SLOTS
};
static const char *const simdev_names[SIM_SLOTS] = {
#define SLOT(name) #name,
    SIMDEV_SLOTS(SLOT)
#undef SLOT
};

typedef struct sim_event {
    /* number of times that the event was recorded; number of recordings that streams have
     * reached */
    uint64_t recorded, reached;
    uint64_t nanos; /* time of the last reached recording */
} sim_event;

enum { SIM_COPY, SIM_FILL, SIM_RECORD, SIM_WAIT, SIM_SLEEP, SIM_FAULT };
/* an operation in the queue of a stream */
typedef struct sim_work {
    struct sim_work *next;
    int kind, byte, ms; /* SIM_*; value of SIM_FILL; duration of SIM_SLEEP */
    dp_device_copy copy;
    sim_event *event;
    uint64_t number; /* SIM_WAIT: value of event->reached for which the stream waits */
} sim_work;

typedef struct sim_stream {
    struct sim_stream *next;
    sim_work *first, **last;
    int index, priority;
    bool running, freed, failed; /* failed: a SIM_FAULT ran, whose error no call returned yet */
} sim_stream;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    sim_stream *streams;
    long live, pinned, events;
    size_t bytes;
    /* per function (SIM_*): number of calls so far; number of the call that fails, 0: none */
    long calls[SIM_SLOTS], fail_at[SIM_SLOTS];
    /* per function: number of the first call that blocks, as all later calls do; 0: none */
    long block_at[SIM_SLOTS];
    long blocked;   /* number of threads that block_at blocks */
    long waiting;   /* number of threads that wait for a stream or an event */
    sim_event gate; /* sim::hold makes streams wait for this event, and sim::go ends the wait */
    size_t cached;  /* bytes that sim_allocate() cannot use before sim_trim() */
    long imported;  /* number of blocks that sim_import_block() opened */
    long handed;    /* number of reloads over which this state was handed */
    /* the workers must end; sim_adopt() adopts blocks; the next load of the plugin must refuse the
     * state of sim_hand_over() */
    bool stop, adopts, poisoned;
} sim = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .adopts = true};

static uint64_t sim_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Count a call of function `slot`, block in it or fail if a test asked for that, and append a line
 * to the file that the environment variable SIMDEV_LOG names: the address of `sim`, which tells the
 * loads of this plugin apart, and the function's name. */
static int sim_called(int slot, dp_error *err)
{
    const char *path = getenv("SIMDEV_LOG");
    FILE *f = path ? fopen(path, "a") : NULL;

    if (f != NULL) {
        fprintf(f, "%p %s\n", (void *)&sim, simdev_names[slot]);
        fclose(f);
    }
    pthread_mutex_lock(&sim.lock);
    long call = ++sim.calls[slot];
    bool fails = call == sim.fail_at[slot];
    sim.blocked++;
    while (sim.block_at[slot] != 0 && call >= sim.block_at[slot])
        pthread_cond_wait(&sim.changed, &sim.lock);
    sim.blocked--;
    pthread_mutex_unlock(&sim.lock);
    return fails ? dp_error_set(err, DP_EBUSY, "%s was told to fail", simdev_names[slot]) : 0;
}

/* -- memory -- */

static int sim_count(void)
{
    return SIMDEV_COUNT;
}

static int sim_allocate(int index, size_t bytes, void *stream, void **out, dp_error *err)
{
    int rc = sim_called(SIM_allocate, err);

    (void)index, (void)stream;
    if (rc)
        return rc;
    pthread_mutex_lock(&sim.lock);
    bool room = sim.bytes + sim.cached + bytes <= SIMDEV_BYTES;
    void *p = room ? aligned_alloc(64, (bytes + 63) / 64 * 64) : NULL;
    if (p != NULL) {
        sim.live++;
        sim.bytes += bytes;
        memset(p, 0xee, bytes);
    }
    pthread_mutex_unlock(&sim.lock);
    *out = p;
    return p ? 0 : dp_error_set(err, DP_ERESOURCE, "no room for %zu bytes", bytes);
}

static void sim_release(int index, void *p, size_t bytes, void *stream)
{
    (void)index, (void)stream;
    sim_called(SIM_release, NULL);
    pthread_mutex_lock(&sim.lock);
    sim.live--;
    sim.bytes -= bytes;
    pthread_mutex_unlock(&sim.lock);
    memset(p, 0xdd, bytes);
    free(p);
}

static int sim_adopt(int index, void *p, size_t bytes, dp_error *err)
{
    int rc = sim_called(SIM_adopt, err);

    (void)index, (void)p;
    if (rc || !sim.adopts)
        return rc ? rc : dp_error_set(err, DP_ERUNTIME, "not taken over");
    pthread_mutex_lock(&sim.lock);
    sim.live++;
    sim.bytes += bytes;
    pthread_mutex_unlock(&sim.lock);
    return 0;
}

static void sim_adopted(int index, void *p, size_t bytes)
{
    (void)index, (void)p;
    sim_called(SIM_adopted, NULL);
    pthread_mutex_lock(&sim.lock);
    sim.live--;
    sim.bytes -= bytes;
    pthread_mutex_unlock(&sim.lock);
}

static int sim_trim(int index, size_t bytes, dp_error *err)
{
    int rc = sim_called(SIM_trim, err);

    (void)index, (void)bytes;
    if (rc)
        return rc;
    pthread_mutex_lock(&sim.lock);
    sim.cached = 0;
    pthread_mutex_unlock(&sim.lock);
    return 0;
}

/* state that the old code hands to the new code at a reload */
typedef struct sim_state {
    uint32_t version; /* always 1 */
    bool poisoned;
    long handed;
    size_t cached;
} sim_state;

static int sim_hand_over(void **state, dp_error *err)
{
    int rc = sim_called(SIM_hand_over, err);
    sim_state *s = rc ? NULL : malloc(sizeof(*s));

    if (s == NULL)
        return rc ? rc : dp_error_set(err, DP_ERESOURCE, "no memory for the state");
    *s = (sim_state){1, sim.poisoned, sim.handed, sim.cached};
    *state = s;
    return 0;
}

static int sim_take_over(void *state, dp_error *err)
{
    sim_state *s = state;
    int rc = sim_called(SIM_take_over, err);

    if (rc == 0 && (s->version != 1 || s->poisoned))
        rc = dp_error_set(err, DP_ERUNTIME, "a state of version %u, poisoned", s->version);
    if (rc)
        return rc;
    sim.handed = s->handed + 1;
    sim.cached = s->cached;
    free(s);
    return 0;
}

static void sim_hand_back(void *state)
{
    sim_called(SIM_hand_back, NULL);
    free(state);
}

/* contents of a dp_block_name: the process that owns the block, the block's size and address */
typedef struct sim_name {
    pid_t pid;
    size_t bytes;
    void *p;
} sim_name;

static int sim_export_block(int index, void *p, size_t bytes, dp_block_name *out, dp_error *err)
{
    sim_name n = {getpid(), bytes, p};
    int rc = sim_called(SIM_export_block, err);

    (void)index;
    memset(out, 0, sizeof(*out));
    memcpy(out, &n, sizeof(n));
    return rc;
}

/* Open a block of this process.  Blocks of other processes count as gone. */
static int sim_import_block(int index, const dp_block_name *name, size_t bytes, void **out,
                            dp_error *err)
{
    sim_name n;
    int rc = sim_called(SIM_import_block, err);

    (void)index;
    memcpy(&n, name, sizeof(n));
    if (rc == 0 && n.pid != getpid())
        rc = dp_error_set(err, DP_ERUNTIME, "process %d, whose block it is, is gone", (int)n.pid);
    if (rc == 0 && n.bytes != bytes)
        rc = dp_error_set(err, DP_EVALUE, "the block has %zu bytes, not %zu", n.bytes, bytes);
    if (rc)
        return rc;
    pthread_mutex_lock(&sim.lock);
    sim.imported++;
    pthread_mutex_unlock(&sim.lock);
    *out = n.p;
    return 0;
}

static void sim_import_end(int index, void *p, size_t bytes)
{
    (void)index, (void)p, (void)bytes;
    sim_called(SIM_import_end, NULL);
    pthread_mutex_lock(&sim.lock);
    sim.imported--;
    pthread_mutex_unlock(&sim.lock);
}

static int sim_memory_info(int index, size_t *free_bytes, size_t *total_bytes, dp_error *err)
{
    (void)index;
    pthread_mutex_lock(&sim.lock);
    *free_bytes = SIMDEV_BYTES - sim.bytes;
    *total_bytes = SIMDEV_BYTES;
    pthread_mutex_unlock(&sim.lock);
    return sim_called(SIM_memory_info, err);
}

static int sim_pin(void *p, size_t bytes, dp_error *err)
{
    int rc = sim_called(SIM_pin, err);

    if (rc)
        return rc;
    if ((uintptr_t)p % 4096 || bytes % 4096)
        abort();
    pthread_mutex_lock(&sim.lock);
    sim.pinned++;
    pthread_mutex_unlock(&sim.lock);
    return 0;
}

static void sim_unpin(void *p, size_t bytes)
{
    (void)p, (void)bytes;
    sim_called(SIM_unpin, NULL);
    pthread_mutex_lock(&sim.lock);
    sim.pinned--;
    pthread_mutex_unlock(&sim.lock);
}

/* -- streams -- */

static void sim_run(const sim_work *w)
{
    const dp_device_copy *c = &w->copy;

    if (w->kind == SIM_COPY)
        for (size_t i = 0; i < c->rows; i++)
            memcpy((char *)c->dst + i * c->dst_pitch, (const char *)c->src + i * c->src_pitch,
                   c->bytes);
    else if (w->kind == SIM_FILL)
        memset(c->dst, w->byte, c->bytes);
    else if (w->kind == SIM_SLEEP)
        nanosleep(&(struct timespec){w->ms / 1000, w->ms % 1000 * 1000000L}, NULL);
}

/* Return a stream whose first operation can run now; NULL: none.  The caller holds the lock. */
static sim_stream *sim_ready(void)
{
    for (sim_stream *s = sim.streams; s; s = s->next)
        if (s->first && !s->running &&
            (s->first->kind != SIM_WAIT || s->first->event->reached >= s->first->number))
            return s;
    return NULL;
}

/* Run the first operation of `s`.  The caller holds the lock, which is released meanwhile. */
static void sim_step(sim_stream *s)
{
    sim_work *w = s->first;

    s->running = true;
    pthread_mutex_unlock(&sim.lock);
    sim_run(w);
    pthread_mutex_lock(&sim.lock);
    s->running = false;
    s->first = w->next;
    if (s->first == NULL)
        s->last = &s->first;
    s->failed |= w->kind == SIM_FAULT;
    if (w->kind == SIM_RECORD) {
        w->event->reached++;
        w->event->nanos = sim_now();
    }
    free(w);
    pthread_cond_broadcast(&sim.changed);
}

/* Free the streams that were released and have no operations left.  The caller holds the lock. */
static void sim_sweep(void)
{
    for (sim_stream **at = &sim.streams, *s; (s = *at) != NULL;)
        if (s->freed && s->first == NULL) {
            *at = s->next;
            free(s);
        } else {
            at = &s->next;
        }
}

/* Thread function: execute operations until sim.stop.  Two threads run this function, so that a
 * SIM_SLEEP of one stream does not delay another stream. */
__attribute__((unused)) static void sim_worker(dp_ctx *ctx, void *arg)
{
    (void)ctx, (void)arg;
    pthread_mutex_lock(&sim.lock);
    for (;;) {
        sim_stream *s = sim_ready();
        sim_sweep();
        if (s != NULL)
            sim_step(s);
        else if (sim.stop)
            break;
        else
            pthread_cond_wait(&sim.changed, &sim.lock);
    }
    pthread_mutex_unlock(&sim.lock);
}

static int sim_stream_new(dp_ctx *ctx, int index, const dp_stream_options *options, void **out,
                          dp_error *err)
{
    int rc = sim_called(SIM_stream_new, err);
    (void)ctx;
    sim_stream *s = rc ? NULL : calloc(1, sizeof(*s));

    if (s == NULL)
        return rc ? rc : dp_error_set(err, DP_ERESOURCE, "no memory for a stream");
    s->last = &s->first;
    s->index = index;
    s->priority = options->priority;
    pthread_mutex_lock(&sim.lock);
    s->next = sim.streams;
    sim.streams = s;
    pthread_mutex_unlock(&sim.lock);
    *out = s;
    return 0;
}

/* Return `stream`, after checking that it exists; abort if it does not.  The caller holds the
 * lock. */
static sim_stream *sim_own(void *stream, int index)
{
    sim_stream *s = sim.streams;

    while (s && s != stream)
        s = s->next;
    if (s == NULL || s->freed || s->index != index)
        abort();
    return s;
}

static void sim_stream_free(int index, void *stream)
{
    sim_called(SIM_stream_free, NULL);
    pthread_mutex_lock(&sim.lock);
    sim_own(stream, index)->freed = true;
    pthread_cond_broadcast(&sim.changed);
    pthread_mutex_unlock(&sim.lock);
}

/* Test whether `stream` has no operations; NULL: all streams of device `index`.  The caller holds
 * the lock. */
static bool sim_idle(int index, const sim_stream *stream)
{
    for (sim_stream *s = sim.streams; s; s = s->next)
        if ((s == stream || (stream == NULL && s->index == index)) && s->first)
            return false;
    return true;
}

static int sim_stream_priorities(int index, int *least, int *greatest, dp_error *err)
{
    (void)index;
    *least = 0;
    *greatest = -2;
    return sim_called(SIM_stream_priorities, err);
}

/* Return the error of a SIM_FAULT of `stream`, or, if NULL, of any stream of device `index`; later
 * calls do not return it again. */
static int sim_fault(int index, const sim_stream *stream, dp_error *err)
{
    bool failed = false;

    pthread_mutex_lock(&sim.lock);
    for (sim_stream *s = sim.streams; s; s = s->next)
        if (s->failed && (s == stream || (stream == NULL && s->index == index))) {
            s->failed = false;
            failed = true;
        }
    pthread_mutex_unlock(&sim.lock);
    return failed ? dp_error_set(err, DP_ERUNTIME, "an illegal address was read") : 0;
}

static int sim_stream_query(int index, void *stream, bool *done, dp_error *err)
{
    pthread_mutex_lock(&sim.lock);
    *done = sim_idle(index, stream ? sim_own(stream, index) : NULL);
    pthread_mutex_unlock(&sim.lock);
    int rc = sim_called(SIM_stream_query, err);
    return rc ? rc : sim_fault(index, stream, err);
}

static void sim_wait_idle(int index, void *stream)
{
    pthread_mutex_lock(&sim.lock);
    const sim_stream *s = stream ? sim_own(stream, index) : NULL;
    sim.waiting++;
    while (!sim_idle(index, s))
        pthread_cond_wait(&sim.changed, &sim.lock);
    sim.waiting--;
    pthread_mutex_unlock(&sim.lock);
}

static int sim_stream_synchronize(int index, void *stream, dp_error *err)
{
    sim_wait_idle(index, stream);
    int rc = sim_called(SIM_stream_synchronize, err);
    return rc ? rc : sim_fault(index, stream, err);
}

static int sim_synchronize(int index, dp_error *err)
{
    sim_wait_idle(index, NULL);
    int rc = sim_called(SIM_synchronize, err);
    return rc ? rc : sim_fault(index, NULL, err);
}

/* Append a copy of `work` to the queue of `stream`.  NULL, the default stream: wait for all streams
 * of the device, and run `work` at once. */
static int sim_give(int index, void *stream, const sim_work *work, dp_error *err)
{
    sim_work *w = stream ? malloc(sizeof(*w)) : NULL;

    if (stream == NULL) {
        sim_wait_idle(index, NULL);
        sim_run(work);
        return 0;
    }
    if (w == NULL)
        return dp_error_set(err, DP_ERESOURCE, "no memory for work");
    *w = *work;
    w->next = NULL;
    pthread_mutex_lock(&sim.lock);
    sim_stream *s = sim_own(stream, index);
    *s->last = w;
    s->last = &w->next;
    pthread_cond_broadcast(&sim.changed);
    pthread_mutex_unlock(&sim.lock);
    return 0;
}

static int sim_copy(int index, void *dst, const void *src, size_t bytes, int direction,
                    dp_error *err)
{
    int rc = sim_called(SIM_copy, err);

    (void)direction;
    if (rc)
        return rc;
    sim_wait_idle(index, NULL);
    if ((rc = sim_fault(index, NULL, err)) != 0)
        return rc;
    memmove(dst, src, bytes);
    return 0;
}

static int sim_copy_between(int dst_index, void *dst, int src_index, const void *src, size_t bytes,
                            dp_error *err)
{
    int rc = sim_called(SIM_copy_between, err);

    if (rc)
        return rc;
    sim_wait_idle(dst_index, NULL);
    sim_wait_idle(src_index, NULL);
    memmove(dst, src, bytes);
    return 0;
}

static int sim_copy_async(const dp_device_copy *c, dp_error *err)
{
    sim_work w = {.kind = SIM_COPY, .copy = *c};
    int rc = sim_called(SIM_copy_async, err);

    return rc ? rc : sim_give(c->index, c->stream, &w, err);
}

static int sim_fill(int index, void *stream, void *p, int byte, size_t bytes, dp_error *err)
{
    sim_work w = {.kind = SIM_FILL, .byte = byte, .copy = {.dst = p, .bytes = bytes}};
    int rc = sim_called(SIM_fill, err);

    return rc ? rc : sim_give(index, stream, &w, err);
}

/* -- events -- */

static int sim_event_new(int index, uint32_t flags, void **out, dp_error *err)
{
    int rc = sim_called(SIM_event_new, err);

    (void)index, (void)flags;
    if (rc)
        return rc;
    *out = calloc(1, sizeof(sim_event));
    if (*out == NULL)
        return dp_error_set(err, DP_ERESOURCE, "no memory for an event");
    pthread_mutex_lock(&sim.lock);
    sim.events++;
    pthread_mutex_unlock(&sim.lock);
    return 0;
}

/* Wait until the last recording of `e` is reached.  The caller holds the lock. */
static void sim_event_wait_over(sim_event *e)
{
    sim.waiting++;
    for (uint64_t n = e->recorded; e->reached < n;)
        pthread_cond_wait(&sim.changed, &sim.lock);
    sim.waiting--;
}

static void sim_event_free(int index, void *event)
{
    (void)index;
    sim_called(SIM_event_free, NULL);
    pthread_mutex_lock(&sim.lock);
    sim_event_wait_over(event); /* until then, a queued operation points to the event */
    sim.events--;
    pthread_mutex_unlock(&sim.lock);
    free(event);
}

static int sim_event_record(int index, void *event, void *stream, dp_error *err)
{
    sim_event *e = event;
    sim_work w = {.kind = SIM_RECORD, .event = e};
    int rc = sim_called(SIM_event_record, err);

    if (rc)
        return rc;
    pthread_mutex_lock(&sim.lock);
    e->recorded++;
    pthread_mutex_unlock(&sim.lock);
    rc = sim_give(index, stream, &w, err);
    if (stream == NULL || rc) { /* no operation is queued that would reach the event */
        pthread_mutex_lock(&sim.lock);
        e->reached++;
        e->nanos = sim_now();
        pthread_mutex_unlock(&sim.lock);
    }
    return rc;
}

static int sim_event_wait(int index, void *event, void *stream, dp_error *err)
{
    sim_event *e = event;
    int rc = sim_called(SIM_event_wait, err);

    if (rc)
        return rc;
    pthread_mutex_lock(&sim.lock);
    sim_work w = {.kind = SIM_WAIT, .event = e, .number = e->recorded};
    pthread_mutex_unlock(&sim.lock);
    return sim_give(index, stream, &w, err);
}

static int sim_event_query(int index, void *event, bool *done, dp_error *err)
{
    sim_event *e = event;

    (void)index;
    pthread_mutex_lock(&sim.lock);
    *done = e->reached >= e->recorded;
    pthread_mutex_unlock(&sim.lock);
    return sim_called(SIM_event_query, err);
}

static int sim_event_synchronize(int index, void *event, dp_error *err)
{
    (void)index;
    pthread_mutex_lock(&sim.lock);
    sim_event_wait_over(event);
    pthread_mutex_unlock(&sim.lock);
    return sim_called(SIM_event_synchronize, err);
}

static int sim_event_elapsed(int index, void *begin, void *end, double *ms, dp_error *err)
{
    (void)index;
    pthread_mutex_lock(&sim.lock);
    *ms = ((double)((sim_event *)end)->nanos - (double)((sim_event *)begin)->nanos) / 1e6;
    pthread_mutex_unlock(&sim.lock);
    return sim_called(SIM_event_elapsed, err);
}

static const dp_device_ops sim_ops = {.size = (uint32_t)sizeof(dp_device_ops),
                                      .count = sim_count,
#define SLOT(name) .name = sim_##name,
                                      SIMDEV_SLOTS(SLOT)
#undef SLOT
};

#endif
