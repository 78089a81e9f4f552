/* watch.c -- calls that are observed, traced, timed or restricted by the mode; call counters. */
#include "enter.h"
#include "trace.h"

/* Run the function of observer `k`.  A frame of this thread has `k` as its kernel meanwhile, so the
 * observer's code cannot be unmapped.  If all frames are in use (DP_LIMIT_CALL_DEPTH), or the
 * observer's generation is closed, the function does not run. */
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
            dpi_fp_changed(ctx, k, op, DPI_WARNED_OBSERVER, before);
    }
    atomic_store_explicit(&t->depth, d, memory_order_release);
}

/* Does observer `k` see a call of `op` whose kernel was chosen for `key`?  An observer of one key
 * sees redispatches, too, because below a layer calls arrive as redispatches. */
static bool observes(const dpi_kernel *k, const dp_op *op, dp_key key, bool redispatch)
{
    if (k->observes != NULL)
        return k->observes == op && !redispatch;
    return k->key == DP_KEY_Undefined ? !redispatch : dpi_alias_has(k->key, key);
}

static bool is_observed(const dp_ctx *ctx, const dp_op *op, dp_key key, bool redispatch)
{
    const dpi_snapshot *s = dpi_ctx_snapshot(ctx);

    for (uint32_t i = 0; i < s->n_observers; i++)
        if (observes(s->observers[i], op, key, redispatch))
            return true;
    return false;
}

/* Call each observer.  After the kernel, an observer finds the pointer in o->state that it stored
 * there before the kernel. */
static void observe_all(dp_ctx *ctx, dpi_observed *seen)
{
    const dpi_snapshot *s = dpi_ctx_snapshot(ctx);

    for (uint32_t i = 0; i < s->n_observers; i++) {
        if (!observes(s->observers[i], seen->op, seen->o.key, seen->redispatch))
            continue;
        dp_observation o = seen->o; /* a copy: observers may change it */
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

/* Does the mode's policy for fallbacks allow kernel `k`? */
static bool mode_allows(dp_ctx *ctx, const dpi_kernel *k, dp_key key, const dpi_entry *e)
{
    uint8_t policy = ctx->state->mode->fallback;
    char name[DP_KEY_NAME_MAX];

    if (policy == DP_FALLBACK_ALLOW || !dpi_falls_back(e, key))
        return true;
    if (policy == DP_FALLBACK_FORBID)
        dpi_fail_fallback(ctx, e->op, k, key);
    else
        dp_warn(ctx, "%s: served by the fallback of plugin '%s' for %s", e->op->name,
                k->gen->plugin, dp_key_name(key, name));
    return policy != DP_FALLBACK_FORBID;
}

static uint8_t provenance_of(const open_call *opened, dp_key key, const dpi_entry *e)
{
    if (!(opened->flags & CALL_COMPOSITE))
        return e->provenance[dpi_key_slot(key)];
    return e->composite->key == DP_KEY(DP_ALIAS_CompositeImplicitAutograd) ? DPI_P_MATH
                                                                           : DPI_P_DEFAULT_BACKEND;
}

DPI_COLD bool dpi_enter_watched(dp_ctx *ctx, open_call *opened, const dpi_entry *e)
{
    dp_key key = dp_ctx_key(ctx);
    bool redispatch = opened->flags & CALL_REDISPATCH;

    if (!(opened->flags & CALL_COMPOSITE) && !mode_allows(ctx, kernel_of(ctx, opened), key, e)) {
        atomic_store_explicit(&ctx->thread->depth, opened->depth, memory_order_release);
        return false;
    }
    if (!(opened->flags & CALL_COMPOSITE) && is_observed(ctx, e->op, key, redispatch))
        opened->flags |= CALL_OBSERVED;
    if (!ctx->tracing && !ctx->timing)
        return true;
    opened->flags |= CALL_MEASURED;
    opened->trace_step = -1;
    if (ctx->tracing)
        opened->trace_step = dpi_trace_enter(ctx, e->op, key, opened->depth, redispatch,
                                             kernel_of(ctx, opened), provenance_of(opened, key, e));
    opened->begun_nanos = dpi_nanos();
    if (ctx->timing && ctx->stats.n_calls == 1 &&
        ctx->stats.kernel_id == kernel_of(ctx, opened)->id)
        ctx->stats.dispatch_nanos = opened->begun_nanos - ctx->top_began;
    return true;
}

DPI_COLD void dpi_leave_watched(dp_ctx *ctx, const open_call *opened)
{
    uint64_t spent = dpi_nanos() - opened->begun_nanos;

    if (ctx->timing)
        ctx->stats.kernel_nanos = spent; /* the outermost call writes last */
    if (opened->trace_step >= 0)
        dpi_trace_leave(ctx, opened->trace_step, spent);
}

/* Count the first call of an operator.  If there is no memory, the call is not counted. */
DPI_COLD void dpi_count_first(dp_ctx *ctx, uint32_t id)
{
    if (dpi_ctx_count_grow(ctx, id) == 0)
        count_up(&ctx->counts[id]);
}
