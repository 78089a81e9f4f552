/* watch.c -- who sees calls: observers, traces, timing, counters. */
#include "enter.h"
#include "trace.h"

/* An observer's code is held like a kernel's: a frame names it while it runs. */
static void observe(dp_ctx *ctx, const dpi_kernel *k, dp_observation *o, const dp_op *op)
{
    dpi_thread *t = ctx->thread;
    uint32_t d = atomic_load_explicit(&t->depth, memory_order_relaxed);

    if (d == DP_LIMIT_CALL_DEPTH)
        return;
    atomic_store_explicit(&t->frames[d].kernel, k, memory_order_release);
    atomic_store_explicit(&t->frames[d].op, op, memory_order_relaxed);
    atomic_store_explicit(&t->depth, d + 1, memory_order_release);
    dpi_thread_fence(dpi_membarrier_works);
    if (atomic_load_explicit(&k->gen->closed, memory_order_acquire) == 0) {
        o->nanos = dpi_nanos();
        dpi_fp before = dpi_fp_look();
        ((dp_observer_fn)k->unboxed)(o);
        if (DPI_UNLIKELY(dpi_fp_look() != before))
            dpi_fp_left(ctx, k, op, DPI_WARNED_OBSERVER, before);
    }
    atomic_store_explicit(&t->depth, d, memory_order_release);
}

/* Is observer k told of a call of `op` whose kernel was chosen for `key`?  An observer of one key
 * is told of redispatches, too: below a layer they are how its calls come. */
static bool wants(const dpi_kernel *k, const dp_op *op, dp_key key, bool redispatch)
{
    if (k->observes != NULL)
        return k->observes == op && !redispatch;
    return k->key == DP_KEY_Undefined ? !redispatch : dpi_alias_has(k->key, key);
}

static bool anyone_wants(const dp_ctx *ctx, const dp_op *op, dp_key key, bool redispatch)
{
    const dpi_snapshot *s = dpi_ctx_snapshot(ctx);

    for (uint32_t i = 0; i < s->n_observers; i++)
        if (wants(s->observers[i], op, key, redispatch))
            return true;
    return false;
}

/* Each observer finds in o->state what it left there. */
static void observe_all(dp_ctx *ctx, dpi_observed *seen)
{
    const dpi_snapshot *s = dpi_ctx_snapshot(ctx);

    for (uint32_t i = 0; i < s->n_observers; i++) {
        if (!wants(s->observers[i], seen->op, seen->o.key, seen->redispatch))
            continue;
        dp_observation o = seen->o; /* what one of them breaks the next does not see */
        o.state = seen->states[i];
        observe(ctx, s->observers[i], &o, seen->op);
        seen->states[i] = o.state;
    }
}

void dpi_observe_before(dp_ctx *ctx, const dpi_entry *e, const dpi_kernel *k, dp_keyset keys,
                        bool redispatch, const dp_value *args, dpi_observed *seen)
{
    static atomic_uint_fast64_t last_id;
    uint32_t depth = atomic_load_explicit(&ctx->thread->depth, memory_order_relaxed);

    *seen =
        (dpi_observed){.op = e->op,
                       .redispatch = redispatch,
                       .o = {.size = (uint32_t)sizeof(dp_observation),
                             .id = atomic_fetch_add_explicit(&last_id, 1, memory_order_relaxed) + 1,
                             .op = e->op->name,
                             .key = dp_ctx_key(ctx),
                             .depth = (uint16_t)(depth - 1),
                             .thread = ctx->thread->number,
                             .n_args = e->n_args,
                             .args = args,
                             .label = ctx->label,
                             .handle = e->op,
                             .keys = keys,
                             .plugin = k->gen->plugin,
                             .generation = k->gen->number}};
    observe_all(ctx, seen);
}

void dpi_observe_after(dp_ctx *ctx, dpi_observed *seen, uint32_t n_rets, const dp_value *rets,
                       int rc)
{
    seen->o.phase = 1;
    seen->o.rc = rc;
    seen->o.n_rets = rc == 0 ? n_rets : 0;
    seen->o.rets = rc == 0 ? rets : NULL;
    observe_all(ctx, seen);
}

/* Does the mode let this kernel run?  It may be about what a backend's own fallback makes of
 * operators that the backend has no kernel for; layers have fallbacks, too, and those only hand the
 * call on.  What makes a view copies nothing, whoever serves it. */
static bool allowed(dp_ctx *ctx, const dpi_kernel *k, dp_key key, const dpi_entry *e)
{
    uint8_t policy = ctx->state->mode->fallback;
    char name[DP_KEY_NAME_MAX];

    if (policy == DP_FALLBACK_ALLOW || !dpi_is_backend_key(key) ||
        e->provenance[dpi_key_slot(key)] != DPI_P_FALLBACK || dpi_needs_no_bytes(e))
        return true;
    if (policy == DP_FALLBACK_FORBID)
        dpi_fail_fallback(ctx, e->op, k, key);
    else
        dp_warn(ctx, "%s: served by the fallback of plugin '%s' for %s", e->op->name,
                k->gen->plugin, dp_key_name(key, name));
    return policy != DP_FALLBACK_FORBID;
}

static uint8_t provenance_of(const mark *m, dp_key key, const dpi_entry *e)
{
    if (!(m->how & BY_DECOMPOSE))
        return e->provenance[dpi_key_slot(key)];
    return e->composite->key == DP_KEY(DP_ALIAS_CompositeImplicitAutograd) ? DPI_P_MATH
                                                                           : DPI_P_DEFAULT_BACKEND;
}

DPI_COLD bool dpi_enter_watched(dp_ctx *ctx, mark *m, const dpi_entry *e)
{
    dp_key key = dp_ctx_key(ctx);
    bool redispatch = m->how & BY_REDISPATCH;

    if (!(m->how & BY_DECOMPOSE) && !allowed(ctx, kernel_of(ctx, m), key, e)) {
        atomic_store_explicit(&ctx->thread->depth, m->depth, memory_order_release);
        return false;
    }
    if (!(m->how & BY_DECOMPOSE) && anyone_wants(ctx, e->op, key, redispatch))
        m->how |= BY_OBSERVED;
    if (!ctx->tracing && !ctx->timing)
        return true;
    m->how |= BY_WATCHED;
    m->step = -1;
    if (ctx->tracing)
        m->step = dpi_trace_enter(ctx, e->op, key, m->depth, redispatch, kernel_of(ctx, m),
                                  provenance_of(m, key, e));
    m->begun = dpi_nanos();
    if (ctx->timing && ctx->stats.n_calls == 1 && ctx->stats.kernel_id == kernel_of(ctx, m)->id)
        ctx->stats.dispatch_nanos = m->begun - ctx->t_top;
    return true;
}

DPI_COLD void dpi_leave_watched(dp_ctx *ctx, const mark *m)
{
    uint64_t spent = dpi_nanos() - m->begun;

    if (ctx->timing)
        ctx->stats.kernel_nanos = spent; /* the outermost call leaves last */
    if (m->step >= 0)
        dpi_trace_leave(ctx, m->step, spent);
}

/* Without memory it is not counted. */
DPI_COLD void dpi_count_first(dp_ctx *ctx, uint32_t id)
{
    if (dpi_ctx_count_grow(ctx, id) == 0)
        count_up(&ctx->counts[id]);
}
