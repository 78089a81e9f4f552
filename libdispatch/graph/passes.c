/* passes.c -- the table of passes by name. */
#include "graph.h"
#include "dispatch/call/ctx.h"

static const struct {
    const char *name;
    int (*run)(dp_ctx *ctx, const dp_program *p, dp_program **out);
} passes[] = {
    {"inline", dp_program_inline},
    {"dead", dp_program_dead},
    {"common", dp_program_common},
    {"fold", dp_program_fold},
    {"functionalize", dp_program_functionalize},
};

const char *dp_program_pass_name(size_t i)
{
    return i < DPI_COUNT(passes) ? passes[i].name : NULL;
}

int dp_program_pass(dp_ctx *ctx, const dp_program *p, const char *name, dp_program **out)
{
    const char *names[DPI_COUNT(passes)];
    char near[200] = "";

    if (!DPI_GIVEN(&ctx->error, DP_EVALUE, name))
        return DP_EVALUE;
    for (size_t i = 0; i < DPI_COUNT(passes); i++) {
        if (strcmp(passes[i].name, name) == 0)
            return passes[i].run(ctx, p, out);
        names[i] = passes[i].name;
    }
    dpi_nearest(name, names, DPI_COUNT(passes), 3, near, sizeof(near));
    return dp_error_set(&ctx->error, DP_ENOTFOUND, "no pass is called '%.64s'; nearest: %s", name,
                        near);
}
