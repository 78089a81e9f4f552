/* pin.c -- how a context pins a snapshot over several calls, and rare cases of pinning. */
#include "enter.h"

/* Use the snapshot that another context of this thread, whose record is `t`, has pinned.  A hook or
 * an observer that makes a context gets here.  DP_ERUNTIME: the snapshot belongs to another
 * registry. */
DPI_COLD int dpi_pin_shared(dp_ctx *ctx, dpi_thread *t)
{
    const dpi_snapshot *held = atomic_load_explicit(&t->pinned, memory_order_relaxed);

    if (held->reg != ctx->reg)
        return dp_error_set(&ctx->error, DP_ERUNTIME,
                            "this thread is inside a call of another registry");
    ctx->thread = t;
    ctx->shares_pin = true;
    return 0;
}

/* Pin the snapshot of the registry's canary (registry/canary.c), or the newest one if there is
 * none. */
DPI_COLD int dpi_pin_canary(dp_ctx *ctx, dpi_thread *t)
{
    const dpi_snapshot *s;
    bool pinned;

    if (t->labelled != ctx->label_id)
        dpi_publish_label(ctx, t);
    do {
        pinned = dpi_thread_try_pin(t, &ctx->reg->candidate, dpi_membarrier_works, &s);
        if (pinned && s == NULL) /* there is no canary */
            pinned = dpi_thread_try_pin(t, &ctx->reg->current, dpi_membarrier_works, &s);
    } while (!pinned);
    ctx->thread = t;
    return 0;
}

bool dp_ctx_canary(dp_ctx *ctx, const dp_op *op)
{
    bool serves = false;

    ctx->canary = op != NULL && atomic_load_explicit(&ctx->reg->candidate, memory_order_relaxed);
    if (ctx->canary && ctx->thread == NULL && dp_ctx_begin(ctx) == 0) {
        const dpi_snapshot *s = dpi_ctx_snapshot(ctx);
        serves = s->canary != NULL && op->id < s->n_entries && s->canary[op->id] != 0;
        dp_ctx_end(ctx);
    }
    ctx->canary = serves;
    dpi_ctx_watch(ctx);
    return serves;
}

/* Publish the label of the request in the thread's record.  The label stays until this thread pins
 * a snapshot for another request.  While no snapshot is pinned, only crash reports use the label:
 * to name the request of the last call. */
DPI_COLD void dpi_publish_label(dp_ctx *ctx, dpi_thread *t)
{
    uint64_t words[4];

    memcpy(words, ctx->label, sizeof(words));
    for (int i = 0; i < 4; i++)
        atomic_store_explicit(&t->label[i], words[i], memory_order_relaxed);
    atomic_store_explicit(&t->since, ctx->since, memory_order_relaxed);
    t->labelled = ctx->label_id;
}

/* Forget the pin of a context whose thread ended between dp_ctx_begin() and dp_ctx_end().  The
 * caller, thread_exit(), unpins the snapshot. */
static void abandon(dp_ctx *ctx)
{
    ctx->pins = 0;
    ctx->thread = NULL;
}

int dp_ctx_begin(dp_ctx *ctx)
{
    if (ctx->pins == 0) {
        if (ctx->thread != NULL) /* inside a call, whose end unpins */
            return dp_error_set(&ctx->error, DP_ERUNTIME, "dp_ctx_begin() inside a call");
        int rc = dpi_pin(ctx);
        if (rc < 0)
            return rc;
        if (!ctx->shares_pin) {
            ctx->thread->abandon = abandon;
            ctx->thread->begun = ctx;
        }
    }
    ctx->pins++;
    return 0;
}

void dp_ctx_end(dp_ctx *ctx)
{
    if (ctx->pins == 0 || --ctx->pins > 0)
        return;
    if (!ctx->shares_pin)
        ctx->thread->begun = NULL;
    dpi_unpin(ctx);
}
