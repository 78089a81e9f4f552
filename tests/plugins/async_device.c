/* async_device.c -- a backend with memory of its own, streams, events and pinned memory, and
 * operators that use each. */
#include <dispatchd/plugin.h>
#include "async_device.h"
#include <stdatomic.h>
#include <unistd.h>

DP_PLUGIN(async_device, "1.0")
DP_BACKEND_DEVICE(simdev, sim_ops)

static int device_of(dp_ctx *ctx, int64_t index, dp_device *out)
{
    char name[32];

    snprintf(name, sizeof(name), "simdev:%lld", (long long)index);
    return dp_device_find(ctx, name, out);
}

/* The session's current stream of device 0, or a tensor's own. */
static int current(dp_ctx *ctx, const dp_tensor *t, dp_stream **out)
{
    dp_device device;
    int rc = device_of(ctx, 0, &device);

    if (rc == 0 && t != NULL) {
        DP_VIEW(x, t);
        device = x.device != DP_DEVICE_CPU ? x.device : device;
    }
    return rc ? rc : dp_stream_current(ctx, device, out);
}

static int to(dp_ctx *ctx, dp_tensor *self, int64_t index, dp_tensor **out)
{
    dp_device device;
    int rc = device_of(ctx, index, &device);

    if (rc)
        return rc;
    DP_VIEW(x, self);
    rc = dp_empty(ctx, x.dtype, device, x.ndim, x.sizes, DP_CONTIGUOUS, out);
    return rc ? rc : dp_copy(ctx, *out, self);
}

static int pinned(dp_ctx *ctx, const int64_t *sizes, size_t n, dp_tensor **out)
{
    dp_device device;
    int rc = device_of(ctx, 0, &device);

    return rc ? rc : dp_empty_pinned(ctx, DP_FLOAT32, device, (int)n, sizes, out);
}

static int is_pinned(dp_ctx *ctx, dp_tensor *self, bool *out)
{
    (void)ctx;
    *out = dp_tensor_is_pinned(self);
    return 0;
}

/* A new stream of the device becomes the session's. */
static int use_stream(dp_ctx *ctx, int64_t index, bool *same)
{
    dp_device device;
    dp_stream *s = NULL, *now = NULL;
    int rc = device_of(ctx, index, &device);

    if (rc == 0)
        rc = dp_stream_new(ctx, device, NULL, &s);
    if (rc == 0)
        rc = dp_stream_set_current(ctx, s);
    if (rc == 0)
        rc = dp_stream_current(ctx, device, &now);
    *same = now == s && s != NULL && dp_stream_device(s) == device && dp_stream_handle(s) != NULL;
    dp_stream_unref(s);
    dp_stream_unref(now);
    return rc;
}

static int on_default(dp_ctx *ctx, bool *out)
{
    dp_stream *s;
    int rc = current(ctx, NULL, &s);

    if (rc)
        return rc;
    *out = dp_stream_handle(s) == NULL;
    dp_stream_unref(s);
    return 0;
}

/* Work of the current stream that takes so long. */
static int slow(dp_ctx *ctx, int64_t ms)
{
    sim_work w = {.kind = SIM_SLEEP, .ms = (int)ms};
    dp_stream *s;
    dp_error err = DP_ERROR_INIT;
    int rc = current(ctx, NULL, &s);

    if (rc)
        return rc;
    rc = sim_give(0, dp_stream_handle(s), &w, &err);
    dp_stream_unref(s);
    return rc ? dp_fail(ctx, rc, "%s", err.message) : 0;
}

/* Stop a stream until go() is called.  The default stream cannot be stopped. */
static int hold_stream(dp_ctx *ctx, const dp_stream *s)
{
    dp_error err = DP_ERROR_INIT;

    if (dp_stream_handle(s) == NULL)
        return dp_fail(ctx, DP_EVALUE, "hold: the default stream cannot be stopped");
    pthread_mutex_lock(&sim.lock);
    sim_work w = {.kind = SIM_WAIT, .event = &sim.gate, .number = ++sim.gate.recorded};
    pthread_mutex_unlock(&sim.lock);
    int rc = sim_give(0, dp_stream_handle(s), &w, &err);
    return rc ? dp_fail(ctx, rc, "%s", err.message) : 0;
}

static int hold(dp_ctx *ctx)
{
    dp_stream *s;
    int rc = current(ctx, NULL, &s);

    if (rc)
        return rc;
    rc = hold_stream(ctx, s);
    dp_stream_unref(s);
    return rc;
}

/* Let every stream go on that hold() stopped. */
static int go(dp_ctx *ctx)
{
    (void)ctx;
    pthread_mutex_lock(&sim.lock);
    sim.gate.reached = sim.gate.recorded;
    pthread_cond_broadcast(&sim.changed);
    pthread_mutex_unlock(&sim.lock);
    return 0;
}

static int with_stream(dp_ctx *ctx, dp_tensor *dst, dp_tensor *src, int byte)
{
    DP_VIEW(x, dst);
    dp_stream *s;
    int rc = current(ctx, x.device == DP_DEVICE_CPU && src ? src : dst, &s);

    if (rc)
        return rc;
    rc = src ? dp_copy_async(ctx, dst, src, s) : dp_fill_bytes(ctx, dst, byte, s);
    dp_stream_unref(s);
    return rc;
}

static int copy(dp_ctx *ctx, dp_tensor *dst, dp_tensor *src)
{
    return with_stream(ctx, dst, src, 0);
}

static int fill(dp_ctx *ctx, dp_tensor *self, int64_t byte)
{
    return with_stream(ctx, self, NULL, (int)byte);
}

/* The first two thirds of each row of a wider tensor on the device, whose rest stays. */
static int rows(dp_ctx *ctx, dp_tensor *src, dp_tensor **out)
{
    dp_device device;
    dp_tensor *part = NULL;
    int rc = device_of(ctx, 0, &device);
    DP_VIEW(x, src);
    if (x.ndim != 2)
        return dp_fail(ctx, DP_EVALUE, "rows of a tensor of %d dimensions, not 2", x.ndim);
    int64_t wide[] = {x.sizes[0], x.sizes[1] + x.sizes[1] / 2}, strides[] = {wide[1], 1};

    if (rc == 0)
        rc = dp_empty(ctx, x.dtype, device, 2, wide, DP_CONTIGUOUS, out);
    if (rc == 0)
        rc = with_stream(ctx, *out, NULL, 0);
    if (rc == 0)
        rc = dp_as_strided(ctx, *out, 2, x.sizes, strides, 0, &part);
    if (rc == 0)
        rc = with_stream(ctx, part, src, 0);
    dp_tensor_unref(part);
    return rc;
}

static int query(dp_ctx *ctx, bool *out)
{
    dp_stream *s;
    int rc = current(ctx, NULL, &s);

    if (rc)
        return rc;
    rc = dp_stream_query(ctx, s, out);
    dp_stream_unref(s);
    return rc;
}

static int synchronize(dp_ctx *ctx, bool whole)
{
    dp_stream *s;
    dp_device device;
    int rc = device_of(ctx, 0, &device);

    if (rc == 0 && whole)
        return dp_device_synchronize(ctx, device);
    if (rc == 0)
        rc = current(ctx, NULL, &s);
    if (rc)
        return rc;
    rc = dp_stream_synchronize(ctx, s);
    dp_stream_unref(s);
    return rc;
}

static int record(dp_ctx *ctx, dp_tensor *self)
{
    dp_stream *s;
    int rc = current(ctx, NULL, &s);

    if (rc)
        return rc;
    rc = dp_record_stream(ctx, self, s);
    dp_stream_unref(s);
    return rc;
}

/* What events() goes through: two events around `ms` of a stream, and another stream that waits. */
static int go_through(dp_ctx *ctx, int64_t ms, dp_stream *one, dp_stream *other, dp_event *begin,
                      dp_event *end, bool *before, bool *after, double *elapsed)
{
    sim_work w = {.kind = SIM_SLEEP, .ms = (int)ms};
    dp_error err = DP_ERROR_INIT;
    bool done = true;
    int rc = dp_event_record(ctx, begin, one);

    if (rc == 0)
        rc = hold_stream(ctx, one);
    if (rc == 0)
        rc = sim_give(0, dp_stream_handle(one), &w, &err);
    if (rc == 0)
        rc = dp_event_record(ctx, end, one);
    if (rc == 0)
        rc = dp_event_wait(ctx, end, other);
    if (rc == 0)
        rc = dp_event_query(ctx, end, before);
    if (rc == 0)
        rc = dp_stream_query(ctx, other, &done);
    *before |= done;
    go(ctx);
    if (rc == 0)
        rc = dp_stream_synchronize(ctx, other);
    if (rc == 0)
        rc = dp_event_query(ctx, end, after);
    if (rc == 0)
        rc = dp_event_synchronize(ctx, end);
    return rc ? rc : dp_event_elapsed(ctx, begin, end, elapsed);
}

static int events(dp_ctx *ctx, int64_t ms, bool *before, bool *after, double *elapsed)
{
    dp_device device;
    dp_stream *one = NULL, *other = NULL;
    dp_event *begin = NULL, *end = NULL;
    int rc = device_of(ctx, 0, &device);

    if (rc == 0)
        rc = dp_stream_new(ctx, device, NULL, &one);
    if (rc == 0)
        rc = dp_stream_new(ctx, device, NULL, &other);
    if (rc == 0)
        rc = dp_event_new(ctx, device, 0, &begin);
    if (rc == 0)
        rc = dp_event_new(ctx, device, 0, &end);
    if (rc == 0)
        rc = go_through(ctx, ms, one, other, begin, end, before, after, elapsed);
    dp_event_unref(begin);
    dp_event_unref(end);
    dp_stream_unref(one);
    dp_stream_unref(other);
    return rc;
}

static int memory(dp_ctx *ctx, int64_t *free_bytes, int64_t *total)
{
    dp_device device;
    size_t have = 0, all = 0;
    int rc = device_of(ctx, 0, &device);

    if (rc == 0)
        rc = dp_device_memory(ctx, device, &have, &all);
    *free_bytes = (int64_t)have;
    *total = (int64_t)all;
    return rc;
}

/* -- faults, caches, priorities, other processes -- */

/* Work of the current stream that fails when the stream reaches it. */
static int fault(dp_ctx *ctx)
{
    sim_work w = {.kind = SIM_FAULT};
    dp_stream *s;
    dp_error err = DP_ERROR_INIT;
    int rc = current(ctx, NULL, &s);

    if (rc)
        return rc;
    rc = sim_give(0, dp_stream_handle(s), &w, &err);
    dp_stream_unref(s);
    return rc ? dp_fail(ctx, rc, "%s", err.message) : 0;
}

static int cache(dp_ctx *ctx, int64_t bytes)
{
    (void)ctx;
    pthread_mutex_lock(&sim.lock);
    sim.cached = (size_t)bytes;
    pthread_mutex_unlock(&sim.lock);
    return 0;
}

static int trim(dp_ctx *ctx)
{
    dp_device device;
    int rc = device_of(ctx, 0, &device);

    return rc ? rc : dp_device_trim(ctx, device, 0);
}

static int poison(dp_ctx *ctx)
{
    (void)ctx;
    sim.poisoned = true;
    return 0;
}

static int kept(dp_ctx *ctx, int64_t *cached, int64_t *imported, int64_t *handed)
{
    (void)ctx;
    pthread_mutex_lock(&sim.lock);
    *cached = (int64_t)sim.cached;
    *imported = sim.imported;
    *handed = sim.handed;
    pthread_mutex_unlock(&sim.lock);
    return 0;
}

/* The priority that a stream made with this one got; greatest, least. */
static int priority(dp_ctx *ctx, int64_t wanted, int64_t flags, int64_t *got, int64_t *greatest,
                    int64_t *least)
{
    dp_stream_options o = {
        .size = sizeof(o), .flags = (uint32_t)flags, .priority = (int32_t)wanted};
    dp_stream *s = NULL;
    dp_device device;
    int low = 0, high = 0, rc = device_of(ctx, 0, &device);

    if (rc == 0)
        rc = dp_stream_priorities(ctx, device, &low, &high);
    if (rc == 0)
        rc = dp_stream_new(ctx, device, &o, &s);
    if (rc)
        return rc;
    *got = ((const sim_stream *)dp_stream_handle(s))->priority;
    *greatest = high;
    *least = low;
    dp_stream_unref(s);
    return 0;
}

/* Between two events of these flags. */
static int timed(dp_ctx *ctx, int64_t flags, double *ms)
{
    dp_device device;
    dp_event *begin = NULL, *end = NULL;
    int rc = device_of(ctx, 0, &device);

    if (rc == 0)
        rc = dp_event_new(ctx, device, (uint32_t)flags, &begin);
    if (rc == 0)
        rc = dp_event_new(ctx, device, (uint32_t)flags, &end);
    if (rc == 0)
        rc = dp_event_record(ctx, begin, NULL);
    if (rc == 0)
        rc = dp_event_record(ctx, end, NULL);
    if (rc == 0)
        rc = dp_event_elapsed(ctx, begin, end, ms);
    dp_event_unref(begin);
    dp_event_unref(end);
    return rc;
}

/* What another process would get of self: its dp_exported as a tensor of bytes. */
static int export_(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    dp_exported e = {.size = sizeof(e)};
    int64_t n = sizeof(e);
    int rc = dp_tensor_export(ctx, self, &e);

    if (rc == 0)
        rc = dp_empty(ctx, DP_UINT8, DP_DEVICE_CPU, 1, &n, DP_CONTIGUOUS, out);
    if (rc)
        return rc;
    DP_VIEW(x, *out);
    memcpy(x.data, &e, sizeof(e));
    return 0;
}

/* float32 of these sizes in an exported block; by: added to the process that it names. */
static int import(dp_ctx *ctx, dp_tensor *exported, const int64_t *sizes, size_t n, int64_t by,
                  dp_tensor **out)
{
    dp_exported e;
    sim_name name;
    dp_device device;
    DP_VIEW(x, exported);
    int rc = device_of(ctx, 0, &device);

    if (rc == 0 && (x.numel != sizeof(e) || x.dtype != DP_UINT8))
        rc = dp_fail(ctx, DP_EVALUE, "import: %lld bytes are no dp_exported", (long long)x.numel);
    if (rc)
        return rc;
    memcpy(&e, x.data, sizeof(e));
    memcpy(&name, &e.name, sizeof(name));
    name.pid += (pid_t)by;
    memcpy(&e.name, &name, sizeof(name));
    return dp_tensor_import(ctx, &e, DP_FLOAT32, device, (int)n, sizes, NULL,
                            e.offset_bytes / (int64_t)sizeof(float), out);
}

/* -- on the device itself -- */

static int add_one(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    DP_VIEW(x, self);
    int rc = dp_device_synchronize(ctx, x.device); /* it computes at once, for simplicity */

    if (rc == 0)
        rc = dp_empty_like(ctx, self, DP_DTYPE_NONE, DP_CONTIGUOUS, out);
    if (rc)
        return rc;
    DP_VIEW(y, *out);
    for (int64_t i = 0; i < x.numel; i++)
        ((float *)y.data)[i] = ((const float *)x.data)[i] + 1;
    return 0;
}

/* A call that lasts until the file `until` exists, and reads its argument again at its end. */
static int late(dp_ctx *ctx, dp_tensor *self, dp_str until, double *out)
{
    sim_work pause = {.kind = SIM_SLEEP, .ms = 5};

    (void)ctx;
    while (access(until.s, F_OK) != 0)
        sim_run(&pause);
    DP_VIEW(x, self);
    *out = x.data ? ((const float *)x.data)[0] : -1;
    return 0;
}

/* -- what tests turn -- */

/* Count the calls of the slot from now on and keep in at[slot] which one is the nth; 0: none. */
static int turn(dp_ctx *ctx, long *at, dp_str slot, int64_t nth)
{
    for (int i = 0; i < SIM_SLOTS; i++)
        if (strcmp(simdev_names[i], slot.s) == 0) {
            pthread_mutex_lock(&sim.lock);
            at[i] = nth ? sim.calls[i] + nth : 0;
            pthread_cond_broadcast(&sim.changed);
            pthread_mutex_unlock(&sim.lock);
            return 0;
        }
    return dp_fail(ctx, DP_EVALUE, "no slot '%s'", slot.s);
}

/* The nth call from now of this slot fails; 0: none. */
static int fail(dp_ctx *ctx, dp_str slot, int64_t nth)
{
    return turn(ctx, sim.fail_at, slot, nth);
}

/* From the nth call on this slot's function does not return until this is called with 0. */
static int block(dp_ctx *ctx, dp_str slot, int64_t nth)
{
    return turn(ctx, sim.block_at, slot, nth);
}

/* How many threads are inside such a function now. */
static int blocked(dp_ctx *ctx, int64_t *n)
{
    (void)ctx;
    pthread_mutex_lock(&sim.lock);
    *n = sim.blocked;
    pthread_mutex_unlock(&sim.lock);
    return 0;
}

static int state(dp_ctx *ctx, int64_t *live, int64_t *pins, int64_t *n_events, int64_t *n_streams,
                 int64_t *waiting, int64_t *synchronized)
{
    (void)ctx;
    pthread_mutex_lock(&sim.lock);
    *live = sim.live;
    *pins = sim.pinned;
    *n_events = sim.events;
    *n_streams = 0;
    for (sim_stream *s = sim.streams; s; s = s->next)
        *n_streams += !s->freed;
    *waiting = sim.waiting;
    *synchronized = sim.calls[SIM_stream_synchronize];
    pthread_mutex_unlock(&sim.lock);
    return 0;
}

/* Work that goes on behind the kernel, by a stream of its own. */
static int doze(dp_ctx *ctx, dp_tensor *self)
{
    sim_work w = {.kind = SIM_SLEEP, .ms = 30};
    dp_error err = DP_ERROR_INIT;
    dp_stream *s;
    DP_VIEW(x, self);
    int rc = x.device == DP_DEVICE_CPU ? 0 : dp_stream_new(ctx, x.device, NULL, &s);

    if (rc == 0 && x.device != DP_DEVICE_CPU) {
        rc = sim_give(dp_device_index(x.device), dp_stream_handle(s), &w, &err);
        dp_stream_unref(s);
        rc = rc ? dp_fail(ctx, rc, "%s", err.message) : 0;
    }
    return rc;
}
static int as_strided(dp_ctx *ctx, dp_tensor *self, const int64_t *sizes, size_t n,
                      const int64_t *strides, size_t n_strides, const int64_t *offset,
                      dp_tensor **out)
{
    (void)n_strides;
    return dp_as_strided(ctx, self, (int)n, sizes, strides, offset ? *offset : 0, out);
}
DP_LIBRARY_VIEWS(aten, simdev, DP_IMPL_UNBOXED("as_strided", as_strided, (T, li, li, oi), (T)))
DP_LIBRARY(doze, DP_DEF("doze_(Tensor(a!) self) -> Tensor(a!)"))
DP_LIBRARY_IMPL(doze, CPU, DP_IMPL_UNBOXED("doze_", doze, (T), ()))
DP_LIBRARY_IMPL(doze, simdev, DP_IMPL_UNBOXED("doze_", doze, (T), ()))

static uint64_t workers[2];

static int on_load(dp_ctx *ctx)
{
    const char *adopts = getenv("SIMDEV_ADOPTS");

    sim.adopts = adopts == NULL || strcmp(adopts, "no") != 0;
    int rc = dp_thread_start(ctx, "simdev 0", sim_worker, NULL, &workers[0]);
    return rc ? rc : dp_thread_start(ctx, "simdev 1", sim_worker, NULL, &workers[1]);
}

static atomic_bool refuses;
static int refuse(dp_ctx *ctx)
{
    (void)ctx;
    atomic_store(&refuses, true);
    return 0;
}

static int on_unload(dp_ctx *ctx)
{
    if (atomic_exchange(&refuses, false))
        return dp_fail(ctx, DP_ERUNTIME, "not yet");
    pthread_mutex_lock(&sim.lock);
    sim.stop = true;
    pthread_cond_broadcast(&sim.changed);
    pthread_mutex_unlock(&sim.lock);
    int rc = dp_thread_join(ctx, workers[0], 10000);
    rc = rc ? rc : dp_thread_join(ctx, workers[1], 10000);
    sim_sweep();
    return rc;
}

DP_ON_LOAD(on_load)
DP_ON_UNLOAD(on_unload)
DP_LIBRARY(sim, DP_DEF("to(Tensor self, int index=0) -> Tensor"),
           DP_DEF("pinned(int[] size) -> Tensor"), DP_DEF("is_pinned(Tensor self) -> bool"),
           DP_DEF("use_stream(int index=0) -> bool"), DP_DEF("on_default() -> bool"),
           DP_DEF("slow(int ms) -> ()"), DP_DEF("hold() -> ()"), DP_DEF("go() -> ()"),
           DP_DEF("copy(Tensor(a!) dst, Tensor src) -> ()"),
           DP_DEF("fill(Tensor(a!) self, int byte) -> ()"), DP_DEF("rows(Tensor src) -> Tensor"),
           DP_DEF("query() -> bool"), DP_DEF("synchronize(bool whole=False) -> ()"),
           DP_DEF("record(Tensor self) -> ()"), DP_DEF("events(int ms) -> (bool, bool, float)"),
           DP_DEF("memory() -> (int, int)"), DP_DEF("add_one(Tensor self) -> Tensor"),
           DP_DEF("late(Tensor self, str until) -> float"), DP_DEF("fail(str slot, int nth) -> ()"),
           DP_DEF("block(str slot, int nth) -> ()"), DP_DEF("blocked() -> int"),
           DP_DEF("fault() -> ()"), DP_DEF("cache(int bytes) -> ()"), DP_DEF("trim() -> ()"),
           DP_DEF("poison() -> ()"), DP_DEF("kept() -> (int, int, int)"),
           DP_DEF("priority(int wanted, int flags=0) -> (int, int, int)"),
           DP_DEF("timed(int flags) -> float"), DP_DEF("export(Tensor self) -> Tensor"),
           DP_DEF("import(Tensor exported, int[] size, int by=0) -> Tensor"),
           DP_DEF("refuse() -> ()"), DP_DEF("state() -> (int, int, int, int, int, int)"))
DP_LIBRARY_IMPL(
    sim, CompositeExplicitAutograd, DP_IMPL_UNBOXED("to", to, (T, i), (T)),
    DP_IMPL_UNBOXED("pinned", pinned, (li), (T)), DP_IMPL_UNBOXED("is_pinned", is_pinned, (T), (b)),
    DP_IMPL_UNBOXED("use_stream", use_stream, (i), (b)),
    DP_IMPL_UNBOXED("on_default", on_default, (), (b)), DP_IMPL_UNBOXED("slow", slow, (i), ()),
    DP_IMPL_UNBOXED("hold", hold, (), ()), DP_IMPL_UNBOXED("go", go, (), ()),
    DP_IMPL_UNBOXED("copy", copy, (T, T), ()), DP_IMPL_UNBOXED("fill", fill, (T, i), ()),
    DP_IMPL_UNBOXED("rows", rows, (T), (T)), DP_IMPL_UNBOXED("query", query, (), (b)),
    DP_IMPL_UNBOXED("synchronize", synchronize, (b), ()),
    DP_IMPL_UNBOXED("record", record, (T), ()), DP_IMPL_UNBOXED("events", events, (i), (b, b, f)),
    DP_IMPL_UNBOXED("memory", memory, (), (i, i)), DP_IMPL_UNBOXED("fail", fail, (S, i), ()),
    DP_IMPL_UNBOXED("block", block, (S, i), ()), DP_IMPL_UNBOXED("blocked", blocked, (), (i)),
    DP_IMPL_UNBOXED("refuse", refuse, (), ()), DP_IMPL_UNBOXED("fault", fault, (), ()),
    DP_IMPL_UNBOXED("cache", cache, (i), ()), DP_IMPL_UNBOXED("trim", trim, (), ()),
    DP_IMPL_UNBOXED("poison", poison, (), ()), DP_IMPL_UNBOXED("kept", kept, (), (i, i, i)),
    DP_IMPL_UNBOXED("priority", priority, (i, i), (i, i, i)),
    DP_IMPL_UNBOXED("timed", timed, (i), (f)), DP_IMPL_UNBOXED("export", export_, (T), (T)),
    DP_IMPL_UNBOXED("import", import, (T, li, i), (T)),
    DP_IMPL_UNBOXED("state", state, (), (i, i, i, i, i, i)))
DP_LIBRARY_IMPL(sim, simdev, DP_IMPL_UNBOXED("add_one", add_one, (T), (T)),
                DP_IMPL_UNBOXED("late", late, (T, S), (f)))
