/* session.c -- the session and the request of a context, and the plugins' hooks that run when a
 * session ends. */
#include "enter.h"
#include <dispatchd/grad.h>
#include <inttypes.h>
#include <stdio.h>

enum { REQUEST_MAX = 64 }; /* bytes of a request's name; longer ones are cut */

uint64_t dp_session_id(const dp_ctx *ctx)
{
    return ctx->session;
}

void dp_ctx_set_session(dp_ctx *ctx, uint64_t session)
{
    ctx->session = session;
}

/* -- the request -- */

DPI_HOT void dpi_origin_unref(dpi_origin *o)
{
    if (o != NULL && atomic_fetch_sub_explicit(&o->refs, 1, memory_order_acq_rel) == 1)
        dp_free(o);
}

void dp_ctx_set_request(dp_ctx *ctx, const char *text, const int64_t *number)
{
    dpi_origin_unref(ctx->origin);
    ctx->origin = NULL;
    ctx->has_request = text != NULL || number != NULL;
    ctx->request_text = text;
    ctx->request = number != NULL ? *number : 0;
}

void dp_ctx_set_step(dp_ctx *ctx, const int64_t *step)
{
    ctx->step_now = step;
}

/* Return the length of `text`, or of its longest start that has at most REQUEST_MAX bytes and does
 * not cut a UTF-8 character in two. */
static size_t fitting(const char *text)
{
    size_t n = strnlen(text, REQUEST_MAX);

    while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
        n--; /* text[n] is the terminator, or the first byte that does not fit */
    return n;
}

DPI_HOT dpi_origin *dpi_ctx_origin(dp_ctx *ctx)
{
    char number[24];

    if (!ctx->has_request)
        return NULL;
    if (ctx->origin == NULL) {
        snprintf(number, sizeof(number), "%" PRId64, ctx->request);
        const char *text = ctx->request_text != NULL ? ctx->request_text : number;
        size_t n = fitting(text);
        dpi_origin *o = dp_malloc(sizeof(*o) + n + 1);
        if (o == NULL)
            return NULL;
        atomic_init(&o->refs, 1);
        memcpy(o->request, text, n);
        o->request[n] = '\0';
        ctx->origin = o;
    }
    atomic_fetch_add_explicit(&ctx->origin->refs, 1, memory_order_relaxed);
    return ctx->origin;
}

/* -- the end of a session -- */

/* Name the generation `gen` in the thread's record, so that an unload waits until its hook has
 * ended.  False: an unload has closed `gen` already. */
static bool publish_hook(dpi_thread *t, const dpi_generation *gen)
{
    atomic_store_explicit(&t->hook, gen, memory_order_release);
    dpi_thread_fence(dpi_membarrier_works);
    return atomic_load_explicit(&gen->closed, memory_order_acquire) == 0;
}

/* Run one hook.  The context has pinned a snapshot that has the hook. */
static void run_hook(dp_ctx *ctx, const dpi_kernel *k, dp_session_failed_fn failed, void *arg)
{
    dpi_fp before = dpi_fp_look();
    dpi_thread *t = ctx->thread;

    if (!publish_hook(t, k->gen)) {
        atomic_store_explicit(&t->hook, NULL, memory_order_release);
        dp_error_set(&ctx->error, DP_EPLUGIN,
                     "its hook on the end of a session did not run: it is being unloaded");
        failed(arg, k->gen->plugin, &ctx->error);
        return;
    }
    int depth = dp_guard_enter(ctx, (dp_keyset){0, 0}, (dp_keyset){0, 0});

    ctx->error = (dp_error)DP_ERROR_INIT;
    int rc = ((dp_hook_fn)k->unboxed)(ctx);
    if (DPI_UNLIKELY(dpi_fp_look() != before))
        dpi_fp_set(before);
    dp_guard_leave(ctx, depth); /* close guards that the hook left open */
    atomic_store_explicit(&t->hook, NULL, memory_order_release);
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
