/* ctx.c -- the context of a request: its memory, error, trace and call counters.
 *
 * A context belongs to one thread at a time.  Only that thread writes the call counters;
 * dpi_op_calls() adds up those of all contexts. */
#include "casts.h"
#include "ctx.h"
#include "trace.h"
#include <dispatchd/grad.h>

typedef struct dpi_trace {
    uint32_t n, cap;
    bool cut;
    dp_trace_step *steps;
    dp_arena *text; /* memory for names in `steps`; kept when the request's arena is rewound */
} dpi_trace;

int dp_ctx_new(dp_registry *reg, dp_ctx **out, dp_error *err)
{
    if (!DPI_GIVEN(err, DP_EVALUE, reg, out))
        return DP_EVALUE;
    dp_ctx *ctx = dp_calloc(1, sizeof(*ctx));

    if (ctx == NULL)
        return dpi_no_memory(err, "a context");
    dpi_arena_init(&ctx->arena, dpi_memory_alloc, dpi_memory_free);
    ctx->reg = reg;
    ctx->registry = (uint64_t)reg->number + 2;
    ctx->error.size = (uint32_t)sizeof(dp_error);
    dpi_state_reset(ctx);
    pthread_mutex_lock(&reg->ctx_lock);
    ctx->next = reg->contexts;
    ctx->link = &reg->contexts;
    if (ctx->next != NULL)
        ctx->next->link = &ctx->next;
    reg->contexts = ctx;
    pthread_mutex_unlock(&reg->ctx_lock);
    *out = ctx;
    return 0;
}

/* Add the counters of `ctx` to the registry's.  Call with ctx_lock held.  If there is no memory,
 * the counts are lost, which is no error, because they are only statistics. */
static void counts_merge(dp_registry *reg, const dp_ctx *ctx)
{
    if (ctx->n_counts > reg->n_counts_gone) {
        uint64_t *p = dp_realloc_n(reg->counts_gone, ctx->n_counts, sizeof(uint64_t));
        if (p == NULL)
            return;
        dp_zero_n(p + reg->n_counts_gone, ctx->n_counts - reg->n_counts_gone, sizeof(uint64_t));
        reg->counts_gone = p;
        reg->n_counts_gone = ctx->n_counts;
    }
    for (uint32_t i = 0; i < ctx->n_counts; i++)
        reg->counts_gone[i] += atomic_load_explicit(&ctx->counts[i], memory_order_relaxed);
}

static dpi_trace *trace_new(void)
{
    dpi_trace *t = dp_calloc(1, sizeof(*t));

    if (t != NULL && (t->text = dp_arena_new()) == NULL) {
        dp_free(t);
        return NULL;
    }
    return t;
}

static void trace_reset(dpi_trace *t)
{
    if (t == NULL)
        return;
    t->n = 0;
    t->cut = false;
    dp_arena_reset(t->text);
}

static void trace_free(dpi_trace *t)
{
    if (t == NULL)
        return;
    dp_arena_free(t->text);
    dp_free(t->steps);
    dp_free(t);
}

dp_ctx *dp_ctx_free(dp_ctx *ctx)
{
    if (ctx == NULL)
        return NULL;
    dp_ctx_reset(ctx);
    pthread_mutex_lock(&ctx->reg->ctx_lock);
    counts_merge(ctx->reg, ctx);
    *ctx->link = ctx->next;
    if (ctx->next != NULL)
        ctx->next->link = ctx->link;
    pthread_mutex_unlock(&ctx->reg->ctx_lock);
    trace_free(ctx->trace);
    dp_free(ctx->owned);
    dp_free(ctx->warnings);
    dp_free(ctx->fallbacks);
    dpi_casts_clear(ctx);
    dpi_state_fini(ctx);
    dp_free(ctx->counts);
    dpi_arena_fini(&ctx->arena);
    dp_free(ctx);
    return NULL;
}

static void clear_label(dp_ctx *ctx)
{
    memset(ctx->label, 0, sizeof(ctx->label));
    ctx->since = 0;
    ctx->label_id = 0;
}

void dp_ctx_reset(dp_ctx *ctx)
{
    dp_generator_leave(ctx); /* a kernel may have left its generator locked */
    ctx->generators = NULL;
    ctx->waits = NULL;
    ctx->streams = NULL;
    ctx->streams_id = 0;
    ctx->session = 0;
    dp_ctx_set_request(ctx, NULL, NULL);
    ctx->step_now = NULL;
    ctx->own_streams = dp_streams_free(ctx->own_streams);
    while (ctx->pins > 0)
        dp_ctx_end(ctx);
    for (uint32_t i = 0; i < ctx->n_owned; i++)
        dp_tensor_unref(ctx->owned[i]);
    ctx->n_owned = 0;
    trace_reset(ctx->trace);
    dpi_warnings_clear(ctx);
    ctx->n_fallbacks = 0;
    dp_arena_reset(&ctx->arena);
    ctx->account = ctx->arena.account = NULL;
    dp_error_clear(&ctx->error);
    ctx->tracing = ctx->timing = false;
    ctx->stats = (dp_call_stats){0};
    ctx->threads = 0;
    ctx->stop = (dpi_stop){0};
    clear_label(ctx);
    ctx->capture = NULL;
    ctx->canary = false;
    dpi_state_reset(ctx);
}

dp_error *dp_ctx_error(dp_ctx *ctx)
{
    return &ctx->error;
}

dp_arena *dp_ctx_arena(dp_ctx *ctx)
{
    return &ctx->arena;
}

void dp_ctx_set_label(dp_ctx *ctx, const char *label)
{
    static atomic_uint_fast64_t ids;

    clear_label(ctx);
    if (label[0] == '\0')
        return;
    strncpy(ctx->label, label, sizeof(ctx->label) - 1);
    ctx->since = dpi_nanos_about();
    ctx->label_id = atomic_fetch_add_explicit(&ids, 1, memory_order_relaxed) + 1;
}

void dp_ctx_set_threads(dp_ctx *ctx, int n)
{
    ctx->threads = n;
}

void dp_ctx_set_deadline(dp_ctx *ctx, uint64_t nanos)
{
    ctx->stop.deadline = nanos;
}

void dp_ctx_set_account(dp_ctx *ctx, dp_account *a)
{
    ctx->account = ctx->arena.account = a;
}

void dp_ctx_set_cancel(dp_ctx *ctx, const dp_cancel_flag *flag)
{
    ctx->stop.cancel = flag;
}

dp_call_stats dp_ctx_stats(const dp_ctx *ctx)
{
    return ctx->stats;
}

void dp_ctx_timing(dp_ctx *ctx, bool on)
{
    ctx->timing = on;
    dpi_ctx_watch(ctx);
}

int dpi_ctx_own(dp_ctx *ctx, dp_tensor *t)
{
    dp_tensor **owned = dpi_grow(ctx->owned, &ctx->cap_owned, ctx->n_owned + 1, sizeof(*owned));

    if (owned == NULL) {
        dp_tensor_unref(t);
        return dpi_no_memory(&ctx->error, "a request's tensors");
    }
    ctx->owned = owned;
    owned[ctx->n_owned++] = t;
    return 0;
}

/* -- the running call -- */

static const dpi_frame *running_frame(const dp_ctx *ctx)
{
    uint32_t d = ctx->thread ? atomic_load_explicit(&ctx->thread->depth, memory_order_relaxed) : 0;
    return d > 0 ? &ctx->thread->frames[d - 1] : NULL;
}

const dpi_kernel *dpi_ctx_kernel(const dp_ctx *ctx)
{
    const dpi_frame *f = running_frame(ctx);
    return f ? atomic_load_explicit(&f->kernel, memory_order_relaxed) : NULL;
}

const dp_op *dpi_ctx_running(const dp_ctx *ctx)
{
    const dpi_frame *f = running_frame(ctx);
    return f ? atomic_load_explicit(&f->op, memory_order_relaxed) : NULL;
}

dp_key dp_ctx_key(const dp_ctx *ctx)
{
    const dpi_frame *f = running_frame(ctx);
    return f ? dpi_keyset_highest(dpi_frame_keys(f)) : DP_KEY_Undefined;
}

dp_keyset dp_ctx_keys(const dp_ctx *ctx)
{
    const dpi_frame *f = running_frame(ctx);
    return f ? dpi_frame_keys(f) : (dp_keyset){0, 0};
}

/* -- counters -- */

int dpi_ctx_count_grow(dp_ctx *ctx, uint32_t op_id)
{
    uint32_t n = ctx->n_counts ? ctx->n_counts * 2 : 256;

    while (n <= op_id)
        n *= 2;
    atomic_uint_fast64_t *p = dp_calloc(n, sizeof(*p));
    if (p == NULL)
        return DP_ERESOURCE;
    pthread_mutex_lock(&ctx->reg->ctx_lock);
    for (uint32_t i = 0; i < ctx->n_counts; i++)
        atomic_init(&p[i], atomic_load_explicit(&ctx->counts[i], memory_order_relaxed));
    dp_free(ctx->counts);
    ctx->counts = p;
    ctx->n_counts = n;
    memset(ctx->cached_calls, 0, sizeof(ctx->cached_calls)); /* these point to freed counters */
    pthread_mutex_unlock(&ctx->reg->ctx_lock);
    return 0;
}

/* Return the sum of the counters of the operators whose id is from `from` to `to` - 1. */
static uint64_t sum_counters(dp_registry *reg, uint32_t from, uint32_t to)
{
    uint64_t sum = 0;

    pthread_mutex_lock(&reg->ctx_lock);
    for (uint32_t i = from; i < to && i < reg->n_counts_gone; i++)
        sum += reg->counts_gone[i];
    for (const dp_ctx *c = reg->contexts; c != NULL; c = c->next)
        for (uint32_t i = from; i < to && i < c->n_counts; i++)
            sum += atomic_load_explicit(&c->counts[i], memory_order_relaxed);
    pthread_mutex_unlock(&reg->ctx_lock);
    return sum;
}

uint64_t dpi_op_calls(dp_registry *reg, uint32_t op_id)
{
    return sum_counters(reg, op_id, op_id + 1);
}

uint64_t dpi_registry_calls(dp_registry *reg)
{
    return sum_counters(reg, 0, DP_LIMIT_OPERATORS + 1);
}

void dpi_ops_calls(dp_registry *reg, uint64_t *sums, uint32_t n)
{
    dp_zero_n(sums, n, sizeof(*sums));
    pthread_mutex_lock(&reg->ctx_lock);
    for (uint32_t i = 0; i < n && i < reg->n_counts_gone; i++)
        sums[i] = reg->counts_gone[i];
    for (const dp_ctx *c = reg->contexts; c != NULL; c = c->next)
        for (uint32_t i = 0; i < n && i < c->n_counts; i++)
            sums[i] += atomic_load_explicit(&c->counts[i], memory_order_relaxed);
    pthread_mutex_unlock(&reg->ctx_lock);
}

/* -- trace -- */

int dp_ctx_trace(dp_ctx *ctx, bool on)
{
    if (on && ctx->trace == NULL && (ctx->trace = trace_new()) == NULL)
        return dpi_no_memory(&ctx->error, "a trace");
    if (on)
        trace_reset(ctx->trace);
    ctx->tracing = on;
    dpi_ctx_watch(ctx);
    return 0;
}

int32_t dpi_trace_enter(dp_ctx *ctx, const dp_op *op, dp_key key, uint32_t depth, bool redispatch,
                        const dpi_kernel *k, uint8_t provenance)
{
    dpi_trace *t = ctx->trace;
    dp_trace_step *steps =
        t->n < DP_LIMIT_TRACE ? dpi_grow(t->steps, &t->cap, t->n + 1, sizeof(*steps)) : NULL;

    if (steps == NULL) {
        t->cut = true;
        return -1;
    }
    t->steps = steps;
    dp_trace_step *s = &steps[t->n];
    *s = (dp_trace_step){.op = op,
                         .key = key,
                         .depth = (uint16_t)depth,
                         .redispatch = redispatch,
                         .provenance = dpi_provenance_names[provenance],
                         .from = {.generation = k->gen->number, .line = k->line}};
    s->from.plugin = dp_arena_dup(t->text, k->gen->plugin, strlen(k->gen->plugin) + 1);
    s->from.file = dp_arena_dup(t->text, k->file, strlen(k->file) + 1);
    if (s->from.plugin == NULL || s->from.file == NULL) {
        t->cut = true;
        return -1;
    }
    return (int32_t)t->n++;
}

void dpi_trace_leave(dp_ctx *ctx, int32_t step, uint64_t nanos)
{
    ctx->trace->steps[step].nanos = nanos;
}

void dpi_trace_fell_back(dp_ctx *ctx, const dp_op *op, dp_key key, uint64_t copied)
{
    uint32_t depth = atomic_load_explicit(&ctx->thread->depth, memory_order_relaxed);

    for (uint32_t i = ctx->trace->n; i-- > 0;) {
        dp_trace_step *s = &ctx->trace->steps[i];
        if (s->depth + 1u != depth)
            continue;
        if (s->op == op && s->key == key && s->nanos == 0) { /* else it is missing in the trace */
            s->fell_back = 1;
            s->copied += copied;
        }
        return;
    }
}

const dp_trace_step *dp_ctx_trace_get(const dp_ctx *ctx, size_t *n, bool *cut)
{
    *n = ctx->trace ? ctx->trace->n : 0;
    *cut = ctx->trace && ctx->trace->cut;
    return ctx->trace ? ctx->trace->steps : NULL;
}
