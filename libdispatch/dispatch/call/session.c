/* session.c -- the session of a context, and the hooks that plugins run when a session ends. */
#include "enter.h"

uint64_t dp_session_id(const dp_ctx *ctx)
{
    return ctx->session;
}

void dp_ctx_set_session(dp_ctx *ctx, uint64_t session)
{
    ctx->session = session;
}

/* Run one hook.  The context has a snapshot pinned, so the hook's code stays loaded. */
static void run_hook(dp_ctx *ctx, const dpi_kernel *k, dp_session_failed_fn failed, void *arg)
{
    dpi_fp before = dpi_fp_look();
    int depth = dp_guard_enter(ctx, (dp_keyset){0, 0}, (dp_keyset){0, 0});

    ctx->error = (dp_error)DP_ERROR_INIT;
    int rc = ((dp_hook_fn)k->unboxed)(ctx);
    if (DPI_UNLIKELY(dpi_fp_look() != before))
        dpi_fp_set(before);
    dp_guard_leave(ctx, depth); /* close guards that the hook left open */
    if (rc == 0)
        return;
    if (dp_error_name(rc) == NULL)
        dp_error_set(&ctx->error, DP_EPLUGIN,
                     "its hook on the end of a session returned %d, no error code", rc);
    else if (ctx->error.code != rc)
        dp_error_set(&ctx->error, rc,
                     "its hook on the end of a session failed and does not say why");
    failed(arg, k->gen->plugin, &ctx->error);
}

int dp_session_end(dp_ctx *ctx, dp_session_failed_fn failed, void *arg)
{
    int rc = dp_ctx_begin(ctx);

    if (rc < 0)
        return rc;
    const dpi_snapshot *s = dpi_ctx_snapshot(ctx);
    for (uint32_t i = 0; i < s->n_observers; i++)
        if (s->observers[i]->key == DPI_OBSERVES_SESSIONS)
            run_hook(ctx, s->observers[i], failed, arg);
    dp_ctx_end(ctx);
    return 0;
}
