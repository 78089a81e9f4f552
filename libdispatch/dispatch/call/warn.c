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
        if (strcmp(ctx->warnings[i], text) == 0)
            return true;
    return ctx->n_warnings == DP_LIMIT_WARNINGS;
}

/* If there is no memory, the warning is lost: a warning must not make the request fail. */
void dp_vwarn(dp_ctx *ctx, const char *format, va_list ap)
{
    char text[DP_LIMIT_WARNING_BYTES + 2];

    vsnprintf(text, sizeof(text), format, ap);
    text[whole_characters(text, strnlen(text, DP_LIMIT_WARNING_BYTES))] = '\0';
    if (is_dropped(ctx, text))
        return;
    if (ctx->n_warnings == DP_LIMIT_WARNINGS - 1)
        snprintf(text, sizeof(text),
                 "there were more warnings than the %d that an answer holds (%s)",
                 DP_LIMIT_WARNINGS, "warnings");
    char **all = dpi_grow(ctx->warnings, &ctx->cap_warnings, ctx->n_warnings + 1, sizeof(*all));
    if (all == NULL)
        return;
    ctx->warnings = all;
    if ((all[ctx->n_warnings] = dp_strdup(text)) != NULL)
        ctx->n_warnings++;
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
    dp_warn(ctx, "%s", text);
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

const char *const *dp_ctx_warnings(const dp_ctx *ctx, size_t *n)
{
    *n = ctx->n_warnings;
    return (const char *const *)ctx->warnings;
}

void dpi_warnings_clear(dp_ctx *ctx)
{
    while (ctx->n_warnings > 0)
        dp_free(ctx->warnings[--ctx->n_warnings]);
}
