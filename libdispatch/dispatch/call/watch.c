/* watch.c -- who sees calls: observers, traces, timing, counters. */
#include "enter.h"

/* An observer's code is held like a kernel's: a frame names it while it runs. */
static void observe(dp_ctx *ctx, const dpi_kernel *k, dp_observation *o, const dp_op *op)
{
    dpi_thread *t = ctx->thread;
    uint32_t d = atomic_load_explicit(&t->depth, memory_order_relaxed);

    if (d == DP_LIMIT_CALL_DEPTH)
        return;
    atomic_store_explicit(&t->frames[d].kernel, k, memory_order_release);
    atomic_store_explicit(&t->frames[d].op, op, memory_order_relaxed);
    atomic_store_explicit(&t->frames[d].args, NULL, memory_order_relaxed);
    atomic_store_explicit(&t->depth, d + 1, memory_order_release);
    dpi_thread_fence(dpi_membarrier_works);
    if (atomic_load_explicit(&k->gen->closed, memory_order_acquire) == 0) {
        o->nanos = dpi_nanos();
        ((dp_observer_fn)k->unboxed)(o);
    }
    atomic_store_explicit(&t->depth, d, memory_order_release);
}

static void observe_all(dp_ctx *ctx, const mark *m, int phase, int rc)
{
    const dpi_snapshot *s = dpi_ctx_snapshot(ctx);
    const dp_op *op = op_of(ctx, m);
    dp_observation o = {.size = (uint32_t)sizeof(o),
                        .phase = phase,
                        .op = op->name,
                        .key = dp_ctx_key(ctx),
                        .depth = m->depth,
                        .rc = rc};

    for (uint32_t i = 0; !(m->how & BY_REDISPATCH) && i < s->n_observers; i++)
        observe(ctx, s->observers[i], &o, op);
}

DPI_COLD void dpi_enter_watched(dp_ctx *ctx, mark *m, const dpi_entry *e)
{
    dp_key key = dp_ctx_key(ctx);

    m->step = -1;
    observe_all(ctx, m, 0, 0);
    if (ctx->tracing)
        m->step = dpi_trace_enter(ctx, e->op, key, m->depth, m->how & BY_REDISPATCH,
                                  kernel_of(ctx, m), e->provenance[dpi_key_slot(key)]);
    m->begun = dpi_nanos();
    if (ctx->timing && ctx->facts.n_calls == 1)
        ctx->facts.dispatch_nanos = m->begun - ctx->t_top;
}

DPI_COLD void dpi_leave_watched(dp_ctx *ctx, const mark *m, int rc)
{
    uint64_t spent = dpi_nanos() - m->begun;

    if (ctx->timing)
        ctx->facts.kernel_nanos = spent; /* the outermost call leaves last */
    if (m->step >= 0)
        dpi_trace_leave(ctx, m->step, spent);
    observe_all(ctx, m, 1, rc);
}

/* Without memory it is not counted. */
DPI_COLD void dpi_count_first(dp_ctx *ctx, uint32_t id)
{
    if (dpi_ctx_count_grow(ctx, id) == 0)
        count_call(ctx, id);
}
