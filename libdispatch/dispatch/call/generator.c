/* generator.c -- random numbers for kernels, from the generator that the context has locked.
 *
 * A context locks at most one generator, so two kernels never wait for each other.  The context
 * remembers the generator: if a kernel forgets dp_generator_leave(), the end of the request unlocks
 * the generator. */
#include "base/generator.h"
#include "ctx.h"

static int wrong_device(dp_ctx *ctx, const dp_generator *g, dp_device device)
{
    char want[DP_KEY_NAME_MAX], got[DP_KEY_NAME_MAX];

    return dp_error_set(&ctx->error, DP_ERUNTIME, "expected a generator of %s but got one of %s",
                        dp_device_name(device, want), dp_device_name(dp_generator_device(g), got));
}

/* Set *out to `g`, or, if `g` is NULL, to the default generator of `device`.  The caller gets a
 * reference to *out. */
static int choose(dp_ctx *ctx, dp_generator *g, dp_device device, dp_generator **out)
{
    dp_generators *all = ctx->generators != NULL ? ctx->generators : ctx->reg->generators;

    if (g == NULL)
        return dp_generators_get(all, device, out, &ctx->error);
    if (dpi_generator_check(g, &ctx->error) < 0)
        return ctx->error.code;
    if (dp_generator_device(g) != device)
        return wrong_device(ctx, g, device);
    *out = dp_generator_ref(g);
    return 0;
}

/* Wait until another thread unlocks `g`, and lock it. */
static int wait_for(dp_ctx *ctx, dp_generator *g)
{
    const dp_waits *w = ctx->waits;
    int rc = w != NULL ? w->begin(ctx->waits_arg, g, &ctx->error) : 0;

    if (rc < 0)
        return rc;
    rc = dpi_generator_wait(g, &ctx->stop);
    if (rc < 0)
        dp_error_set(&ctx->error, rc, "%s while it waited for a generator that another call holds",
                     rc == DP_ECANCELLED ? "cancelled" : "its deadline passed");
    return w != NULL ? w->end(ctx->waits_arg, rc, &ctx->error) : rc;
}

int dp_generator_enter(dp_ctx *ctx, dp_generator *g, dp_device device)
{
    dp_generator *chosen;
    char name[DP_KEY_NAME_MAX];

    if (ctx->generator != NULL)
        return dp_error_set(&ctx->error, DP_ERUNTIME,
                            "this call holds a generator of %s already, leave that first",
                            dp_device_name(dp_generator_device(ctx->generator), name));
    int rc = choose(ctx, g, device, &chosen);
    if (rc < 0)
        return rc;
    if (!dpi_generator_trylock(chosen) && (rc = wait_for(ctx, chosen)) < 0) {
        dp_generator_unref(chosen);
        return rc;
    }
    ctx->generator = chosen;
    return 0;
}

void dp_generator_leave(dp_ctx *ctx)
{
    if (ctx->generator == NULL)
        return;
    dpi_generator_unlock(ctx->generator);
    ctx->generator = dp_generator_unref(ctx->generator);
}

int dpi_ctx_generator_copy(dp_ctx *ctx, dp_generator *g, dp_generator **out)
{
    int rc = dp_generator_enter(ctx, g, dp_generator_device(g));

    if (rc < 0)
        return rc;
    rc = dpi_generator_copy(g, out, &ctx->error);
    dp_generator_leave(ctx);
    return rc;
}

static int check_held(dp_ctx *ctx)
{
    if (dpi_ctx_memoryless(ctx))
        return dp_error_set(&ctx->error, DP_EPLUGIN,
                            "a draw for tensors that have no memory: their kernel does not look");
    if (ctx->generator != NULL)
        return 0;
    return dp_error_set(&ctx->error, DP_ERUNTIME,
                        "no generator is held: dp_generator_enter() comes before a draw");
}

int dp_generator_u32(dp_ctx *ctx, uint32_t *out, size_t n)
{
    int rc = check_held(ctx);
    return rc < 0 ? rc : dpi_generator_u32(ctx->generator, out, n, &ctx->error);
}

int dp_generator_u64(dp_ctx *ctx, uint64_t *out, size_t n)
{
    int rc = check_held(ctx);
    return rc < 0 ? rc : dpi_generator_u64(ctx->generator, out, n, &ctx->error);
}

int dp_generator_uniform(dp_ctx *ctx, dp_dtype dtype, void *out, size_t n)
{
    int rc = check_held(ctx);
    return rc < 0 ? rc : dpi_generator_uniform(ctx->generator, dtype, out, n, &ctx->error);
}

int dp_generator_normal(dp_ctx *ctx, dp_dtype dtype, void *out, size_t n)
{
    int rc = check_held(ctx);
    return rc < 0 ? rc : dpi_generator_normal(ctx->generator, dtype, out, n, &ctx->error);
}

int dp_generator_philox(dp_ctx *ctx, uint64_t increment, uint64_t *seed, uint64_t *offset)
{
    int rc = check_held(ctx);
    return rc < 0 ? rc : dpi_generator_philox(ctx->generator, increment, seed, offset, &ctx->error);
}

void dp_ctx_set_generators(dp_ctx *ctx, dp_generators *all)
{
    ctx->generators = all;
}

void dp_ctx_set_waits(dp_ctx *ctx, const dp_waits *w, void *arg)
{
    ctx->waits = w;
    ctx->waits_arg = arg;
}

int dp_ctx_generator_state_get(dp_ctx *ctx, dp_generator *g, void *out)
{
    int rc = dp_generator_enter(ctx, g, dp_generator_device(g));

    if (rc < 0)
        return rc;
    dpi_generator_state_get(g, out);
    dp_generator_leave(ctx);
    return 0;
}

int dp_ctx_generator_state_set(dp_ctx *ctx, dp_generator *g, const void *state, size_t bytes)
{
    int rc = dp_generator_enter(ctx, g, dp_generator_device(g));

    if (rc < 0)
        return rc;
    rc = dpi_generator_state_set(g, state, bytes, &ctx->error);
    dp_generator_leave(ctx);
    return rc;
}

int dp_ctx_generators_seed(dp_ctx *ctx, dp_generators *all, uint64_t seed)
{
    dp_generator *g;
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && (g = dpi_generators_item(all, i)) != NULL; i++) {
        if (dpi_generator_check(g, NULL) == 0) /* else its device is gone: skip it */
            rc = dp_generator_enter(ctx, g, dp_generator_device(g));
        if (rc == 0 && i == 0)
            dpi_generators_seed(all, seed);
        if (ctx->generator != NULL)
            dpi_generator_seed(g, seed);
        dp_generator_leave(ctx);
        dp_generator_unref(g);
    }
    if (rc == 0)
        dpi_generators_seed(all, seed);
    return rc;
}
