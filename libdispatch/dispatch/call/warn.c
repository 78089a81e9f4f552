/* warn.c -- what kernels warn of, for the answer. */
#include "dispatch/registry/dispatch_i.h"
#include <stdio.h>

/* Bytes of text without a character that was cut in two: UTF-8 continues with 10xxxxxx. */
static size_t whole_characters(const char *text, size_t n)
{
    if (text[n] == '\0')
        return n;
    while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
        n--;
    return n;
}

/* Is it there already, or is there no room for one more? */
static bool refuses(const dp_ctx *ctx, const char *text)
{
    for (uint32_t i = 0; i < ctx->n_warnings; i++)
        if (strcmp(ctx->warnings[i], text) == 0)
            return true;
    return ctx->n_warnings == DP_LIMIT_WARNINGS;
}

/* A warning that finds no memory is lost: it is no reason to fail. */
void dp_vwarn(dp_ctx *ctx, const char *format, va_list ap)
{
    char text[DP_LIMIT_WARNING_BYTES + 2];

    vsnprintf(text, sizeof(text), format, ap);
    text[whole_characters(text, strnlen(text, DP_LIMIT_WARNING_BYTES))] = '\0';
    if (refuses(ctx, text))
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
