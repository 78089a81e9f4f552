/* warn.c -- warnings of kernels, which the answer to the request contains. */
#include "base/process.h"
#include "enter.h"
#include <stdio.h>

/* Return the length of `text`, at most n, that does not cut a UTF-8 character in two.  All bytes of
 * a character but the first are 10xxxxxx. */
static size_t whole_characters(const char *text, size_t n)
{
    if (text[n] == '\0')
        return n;
    while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
        n--;
    return n;
}

/* Has the request this warning already, or DP_LIMIT_WARNINGS warnings? */
static bool is_dropped(const dp_ctx *ctx, const char *text)
{
    for (uint32_t i = 0; i < ctx->n_warnings; i++)
        if (strcmp(ctx->warnings[i].text, text) == 0)
            return true;
    return ctx->n_warnings == DP_LIMIT_WARNINGS;
}

/* Return the name of the operator whose kernel runs; NULL: none runs. */
static const char *running_op(const dp_ctx *ctx)
{
    uint32_t n = ctx->thread ? atomic_load_explicit(&ctx->thread->depth, memory_order_relaxed) : 0;
    const dp_op *op =
        n > 0 ? atomic_load_explicit(&ctx->thread->frames[n - 1].op, memory_order_relaxed) : NULL;

    return op != NULL ? op->name : NULL;
}

/* Add a warning of a kernel of `op`, which may be NULL.  If there is no memory, the warning is
 * lost: a warning must not make the request fail. */
static void add_warning(dp_ctx *ctx, const char *op, const char *text)
{
    char last[128];

    if (is_dropped(ctx, text))
        return;
    if (ctx->n_warnings == DP_LIMIT_WARNINGS - 1) {
        snprintf(last, sizeof(last),
                 "there were more warnings than the %d that an answer holds (%s)",
                 DP_LIMIT_WARNINGS, "warnings");
        op = NULL;
        text = last;
    }
    dp_warning *all =
        dpi_grow(ctx->warnings, &ctx->cap_warnings, ctx->n_warnings + 1, sizeof(*all));
    if (all == NULL)
        return;
    ctx->warnings = all;
    all[ctx->n_warnings] = (dp_warning){op, dp_strdup(text)};
    if (all[ctx->n_warnings].text != NULL)
        ctx->n_warnings++;
}

void dp_vwarn(dp_ctx *ctx, const char *format, va_list ap)
{
    char text[DP_LIMIT_WARNING_BYTES + 2];

    vsnprintf(text, sizeof(text), format, ap);
    text[whole_characters(text, strnlen(text, DP_LIMIT_WARNING_BYTES))] = '\0';
    add_warning(ctx, running_op(ctx), text);
}

void dpi_fp_changed(dp_ctx *ctx, const dpi_kernel *k, const dp_op *op, unsigned kind, dpi_fp before)
{
    const bool kernel = kind == DPI_WARNED_KERNEL;
    char changed[256], text[DP_LIMIT_WARNING_BYTES + 1];

    dpi_fp_restore(dpi_fp_of(before, dpi_fp_get()), changed, sizeof(changed));
    if (atomic_fetch_or(&k->gen->warned, kind) & kind)
        return;
    snprintf(text, sizeof(text),
             "plugin '%s': its %s%s changed and the host set back: the floating-point environment "
             "(%s)",
             k->gen->plugin, kernel ? "kernel of " : "observer", kernel ? op->name : "", changed);
    add_warning(ctx, op->name, text);
    dpi_warn_listener(text);
}

void dp_ctx_fp_settle(dp_ctx *ctx, const char *ran)
{
    char changed[256], text[DP_LIMIT_WARNING_BYTES + 1];

    if (DPI_LIKELY(dpi_fp_get() == DPI_FP_DEFAULT))
        return;
    dpi_fp_restore(DPI_FP_DEFAULT, changed, sizeof(changed));
    snprintf(text, sizeof(text),
             "a kernel that ran in %s changed and the host set back: the floating-point "
             "environment (%s)",
             ran, changed);
    dp_warn(ctx, "%s", text);
    dpi_warn_listener(text);
}

const dp_warning *dp_ctx_warnings(const dp_ctx *ctx, size_t *n)
{
    *n = ctx->n_warnings;
    return ctx->warnings;
}

void dpi_warnings_clear(dp_ctx *ctx)
{
    while (ctx->n_warnings > 0)
        dp_free((char *)ctx->warnings[--ctx->n_warnings].text);
}
