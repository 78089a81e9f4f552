/* profiler.c -- an observer that keeps what it saw as a trace for chrome://tracing. */
#include <dispatchd/plugin.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

DP_PLUGIN(profiler, "1.0")

enum { EVENTS = 20000, NAME = 64, ARGS = 160, TEXT_EACH = 512 };

/* One call.  Whatever an observation points to is gone when the observer returns. */
typedef struct event {
    uint64_t id, nanos;  /* nanos: of the event itself */
    struct event *begun; /* an end's beginning; NULL: this is a beginning */
    bool ended;
    uint32_t thread, depth;
    int32_t rc;
    char op[NAME], key[NAME], label[NAME], args[ARGS];
} event;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static event events[EVENTS]; /* in the order in which they happened */
static size_t n_events;

/* Text that needs no escapes in JSON. */
static void plain(char *to, size_t bytes, const char *from)
{
    size_t n = 0;

    for (; n + 1 < bytes && from[n] != '\0'; n++)
        to[n] = from[n] == '"' || from[n] == '\\' || (unsigned char)from[n] < ' ' ? '_' : from[n];
    to[n] = '\0';
}

/* "float32[2,3] int ..." */
static void arguments(char *to, size_t bytes, const dp_observation *o)
{
    size_t at = 0;

    to[0] = '\0';
    for (uint32_t i = 0; i < o->n_args && at < bytes; i++) {
        if (o->args[i].tag != DP_TAG_TENSOR) {
            at += (size_t)snprintf(to + at, bytes - at, "%stag%u", i ? " " : "", o->args[i].tag);
            continue;
        }
        DP_VIEW(x, o->args[i].u.t);
        at += (size_t)snprintf(to + at, bytes - at, "%s%s[", i ? " " : "", dp_dtype_name(x.dtype));
        for (int d = 0; d < x.ndim && at < bytes; d++)
            at += (size_t)snprintf(to + at, bytes - at, "%s%lld", d ? "," : "",
                                   (long long)x.sizes[d]);
        at += at < bytes ? (size_t)snprintf(to + at, bytes - at, "]") : 0;
    }
}

static event *add(const dp_observation *o)
{
    event *e = n_events < EVENTS ? &events[n_events++] : NULL;

    if (e != NULL) {
        memset(e, 0, sizeof(*e));
        e->id = o->id;
        e->nanos = o->nanos;
        e->thread = o->thread;
    }
    return e;
}

/* The state is the event that began the call; NULL when there was no room for it. */
static void observe(dp_observation *o)
{
    pthread_mutex_lock(&lock);
    event *begun = o->state;
    if (begun != NULL && begun->id != o->id) /* cleared in between */
        begun = NULL;
    event *e = o->phase == 0 || begun != NULL ? add(o) : NULL;
    if (e != NULL && begun == NULL) {
        plain(e->op, sizeof(e->op), o->op);
        plain(e->label, sizeof(e->label), o->label);
        snprintf(e->key, sizeof(e->key), "%d", (int)o->key);
        arguments(e->args, sizeof(e->args), o);
        e->depth = o->depth;
        o->state = e;
    } else if (e != NULL) {
        e->begun = begun;
        begun->ended = true;
        begun->rc = o->rc;
    }
    pthread_mutex_unlock(&lock);
}

static int print(char *to, size_t bytes, const event *e)
{
    const event *b = e->begun ? e->begun : e;

    return snprintf(to, bytes,
                    ",\n{\"name\":\"%s\",\"ph\":\"%c\",\"ts\":%.3f,\"pid\":1,\"tid\":%u,"
                    "\"args\":{\"id\":%llu,\"key\":\"%s\",\"depth\":%u,\"rc\":%d,"
                    "\"label\":\"%s\",\"args\":\"%s\"}}",
                    b->op, e->begun ? 'E' : 'B', (double)e->nanos / 1000, b->thread,
                    (unsigned long long)b->id, b->key, b->depth, b->rc, b->label, b->args);
}

/* trace() -> str: what ended so far; calls that still run are left out. */
static int trace(dp_ctx *ctx, dp_value *out)
{
    pthread_mutex_lock(&lock);
    size_t room = n_events * TEXT_EACH + TEXT_EACH, at = 0;
    char *text = dp_alloc(ctx, room);
    if (text != NULL) {
        at = (size_t)snprintf(text, room,
                              "{\"traceEvents\":[{\"name\":\"process_name\",\"ph\":"
                              "\"M\",\"pid\":1,\"args\":{\"name\":\"dispatchd\"}}");
        for (size_t i = 0; i < n_events; i++)
            if (events[i].begun != NULL || events[i].ended)
                at += (size_t)print(text + at, room - at, &events[i]);
        at += (size_t)snprintf(text + at, room - at, "]}\n");
    }
    pthread_mutex_unlock(&lock);
    out->tag = DP_TAG_STR;
    out->len = (uint32_t)at;
    out->u.s = text;
    return text != NULL ? 0 : DP_ERESOURCE;
}

/* clear() -> int: how many events there were. */
static int clear(dp_ctx *ctx, int64_t *out)
{
    (void)ctx;
    pthread_mutex_lock(&lock);
    *out = (int64_t)n_events;
    n_events = 0;
    memset(events, 0, sizeof(events));
    pthread_mutex_unlock(&lock);
    return 0;
}

/* through(Tensor a) -> Tensor: a typed call of one operator, in a kernel. */
DP_TYPED(call_neg, (T), (T))
static int through(dp_ctx *ctx, dp_tensor *a, dp_tensor **out)
{
    dp_typed neg;
    int rc = dp_typed_init(ctx, "aten::neg", "T>T", &neg);

    return rc ? rc : call_neg(ctx, &neg, a, out);
}

DP_OBSERVER(observe)
DP_LIBRARY(profiler, DP_DEF("trace() -> str"), DP_DEF("clear() -> int"),
           DP_DEF("through(Tensor a) -> Tensor"))
DP_LIBRARY_IMPL(profiler, CompositeExplicitAutograd, DP_IMPL_UNBOXED("trace", trace, (), (S)),
                DP_IMPL_UNBOXED("clear", clear, (), (i)),
                DP_IMPL_UNBOXED("through", through, (T), (T)))
