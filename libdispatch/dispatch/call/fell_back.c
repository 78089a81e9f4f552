/* fell_back.c -- calls that a backend serves by a fallback: the mode's policy for those of
 * dp_fallback_cpu(), and how many there were in a request and how many bytes they copied.
 *
 * The context has the counts: only its thread writes them, so counting needs neither a lock nor an
 * atomic instruction.  They hold no memory of a plugin. */
#include "enter.h"
#include "trace.h"
#include <stdio.h>

/* Return the count of operator `op` at the key called `key`; a new one if there is none.  If there
 * are DP_LIMIT_FALLBACKS already, return the count of all others, which is the last.  NULL: no
 * memory. */
static dp_fallback_count *count_of(dp_ctx *ctx, const char *op, const char *key)
{
    for (uint32_t i = ctx->n_fallbacks; i-- > 0;)
        if (ctx->fallbacks[i].op == op && strcmp(ctx->fallbacks[i].key, key) == 0)
            return &ctx->fallbacks[i];
    if (ctx->n_fallbacks == DP_LIMIT_FALLBACKS + 1)
        return &ctx->fallbacks[DP_LIMIT_FALLBACKS];
    dp_fallback_count *all =
        dpi_grow(ctx->fallbacks, &ctx->cap_fallbacks, ctx->n_fallbacks + 1, sizeof(*all));
    if (all == NULL)
        return NULL;
    ctx->fallbacks = all;
    dp_fallback_count *c = &all[ctx->n_fallbacks++];
    *c = (dp_fallback_count){.op = ""};
    if (ctx->n_fallbacks <= DP_LIMIT_FALLBACKS) {
        c->op = op;
        strncpy(c->key, key, sizeof(c->key) - 1);
    }
    return c;
}

static void count(dp_ctx *ctx, const dp_op *op, dp_key key, uint64_t calls, uint64_t bytes)
{
    char name[DP_KEY_NAME_MAX];
    dp_fallback_count *c = count_of(ctx, op->name, dp_key_name(key, name));

    if (c != NULL) {
        c->calls += calls;
        c->bytes += bytes;
    }
    if (ctx->tracing)
        dpi_trace_fell_back(ctx, op, key, bytes);
}

DPI_COLD void dpi_count_fallback(const dp_call *call)
{
    const dpi_entry *e = dpi_snapshot_entry(dpi_ctx_snapshot(call->ctx), call->op);

    if (e != NULL && dpi_falls_back(e, call->key))
        count(call->ctx, call->op, call->key, 1, 0);
}

int dpi_begin_fallback(const dp_call *call, const dpi_entry *e)
{
    uint8_t policy = call->ctx->state->mode->fallback;
    bool forbids = policy == DP_FALLBACK_FORBID;
    char text[300], name[DP_KEY_NAME_MAX];

    if (e->provenance[dpi_key_slot(call->key)] == DPI_P_FALLBACK)
        return 0;
    snprintf(text, sizeof(text), "its kernel for %s runs these arguments on the CPU%s",
             dp_key_name(call->key, name), forbids ? ", which the mode forbids" : "");
    if (forbids)
        return dpi_fail_op(call->ctx, DP_ENOTIMPL, call->op, call->key, text);
    if (policy == DP_FALLBACK_REPORT)
        dp_warn(call->ctx, "%s: %s", call->op->name, text);
    count(call->ctx, call->op, call->key, 1, 0);
    return 0;
}

void dpi_end_fallback(const dp_call *call, uint64_t bytes)
{
    if (bytes > 0)
        count(call->ctx, call->op, call->key, 0, bytes);
}

void dpi_warn_copied_view(const dp_call *call, dp_device device)
{
    char name[DP_KEY_NAME_MAX];

    dp_warn(
        call->ctx,
        "The operator %s appears to be a view operator, but it has no implementation for the "
        "backend \"%s\". View operators don't support falling back to run on the CPU, since the "
        "tensor's storage cannot be shared across devices.",
        call->op->name, dp_device_name(device, name));
}

const dp_fallback_count *dp_ctx_fallbacks(const dp_ctx *ctx, size_t *n)
{
    *n = ctx->n_fallbacks;
    return ctx->fallbacks;
}

void dp_ctx_fallbacks_clear(dp_ctx *ctx)
{
    ctx->n_fallbacks = 0;
}
