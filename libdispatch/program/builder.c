/* builder.c -- make and free a program builder, and add steps and outputs to its program.
 *
 * lay.c copies the program's arrays into one block, which takes over the references in them; the
 * arrays themselves belong to the builder until dp_builder_free().  A function that fails leaves
 * the builder usable, without the step or output that it was to add.  check.c decides whether a
 * step is valid; draft.c adds names, inputs and constants. */
#include "program_i.h"
#include "dispatch/call/ctx.h"
#include <stdio.h>

/* -- steps and outputs -- */

enum { ORIGINS_NAMED = 6, ORIGIN_DIGITS = 10 };

/* Write a text such as "steps 3, 4 and 7: " to `out`, "step" being the `word`, with at most
 * ORIGINS_NAMED numbers and then the count of the others.  Returns the number of bytes. */
static size_t print_origins(char *out, size_t bytes, const char *word, const uint32_t *origins,
                            size_t n)
{
    size_t shown = n < ORIGINS_NAMED ? n : ORIGINS_NAMED;
    size_t at = (size_t)snprintf(out, bytes, "%s%s %u", word, n > 1 ? "s" : "", origins[0]);

    for (size_t i = 1; i < shown; i++)
        at +=
            (size_t)snprintf(out + at, bytes - at, "%s%u", i + 1 < n ? ", " : " and ", origins[i]);
    if (shown < n)
        at += (size_t)snprintf(out + at, bytes - at, " and %zu more", n - shown);
    return at + (size_t)snprintf(out + at, bytes - at, ": ");
}

int dpi_step_fail(dp_ctx *ctx, const dp_program *p, const uint32_t *origins, size_t n_origins)
{
    dp_error *err = &ctx->error;
    char prefix[40 + ORIGINS_NAMED * (ORIGIN_DIGITS + 5)];
    size_t n =
        print_origins(prefix, sizeof(prefix), p->of_lines ? "line" : "step", origins, n_origins);
    size_t len = strnlen(err->message, sizeof(err->message) - 1);

    if (len > sizeof(err->message) - 1 - n)
        len = sizeof(err->message) - 1 - n;
    memmove(err->message + n, err->message, len);
    memcpy(err->message, prefix, n);
    err->message[n + len] = '\0';
    return err->code;
}

/* Check dp_step.flags. */
static int check_flags(dp_builder *b, const dp_step *s)
{
    uint32_t calls = s->kind == DP_STEP_CALL || s->kind == DP_STEP_SUB ? DPI_SAVE_FLAGS : 0;
    uint32_t allowed = calls | (s->kind == DP_STEP_SUB ? DP_STEP_FLAG_RECOMPUTE : 0);

    if ((s->flags & ~allowed) == 0)
        return 0;
    return dpi_builder_fail(b, DP_EVALUE,
                            "the flags of a step are %#x; only DP_STEP_FLAG_RECOMPUTE can be set, "
                            "for a step that runs a program, and DP_STEP_FLAG_MUST_SAVE and "
                            "_PREFER_SAVE, for a step that calls an operator or runs a program",
                            s->flags);
}

int dp_builder_add(dp_builder *b, const dp_step *step, dp_ref *first, uint32_t *n_rets)
{
    dp_step copy = {0}; /* members that step->size does not cover stay 0 */
    const dp_step *s = &copy;

    if (!DPI_GIVEN(&b->ctx->error, DP_EVALUE, step))
        return DP_EVALUE;
    memcpy(&copy, step, step->size < sizeof(copy) ? step->size : sizeof(copy));
    uint32_t first_ret = b->p.n_values;

    dp_error_clear(&b->ctx->error);
    int64_t mode = dpi_builder_mode(b, s->mode);
    int rc = mode < 0 ? (int)mode : check_flags(b, s);
    for (size_t i = 0; i < s->n_args && rc == 0; i++)
        rc = dpi_builder_check(b, s->args[i]);
    for (size_t i = 0; i < s->n_kwargs && rc == 0; i++)
        rc = dpi_builder_check(b, s->kwargs[i].value);
    if (rc == 0)
        rc = dpi_reserve_origins(b, s->n_origins);
    if (rc == 0)
        rc = dpi_check_step(b, s);
    if (rc < 0)
        return s->n_origins > 0 ? dpi_step_fail(b->ctx, &b->p, s->origins, s->n_origins)
                                : dpi_step_fail(b->ctx, &b->p, &s->origin, 1);
    b->p.steps[b->p.n_steps - 1].mode = (uint8_t)mode;
    b->p.steps[b->p.n_steps - 1].flags |= (uint16_t)s->flags;
    if (first != NULL)
        *first = DPI_REF(DPI_REF_VALUE, first_ret);
    if (n_rets != NULL)
        *n_rets = b->p.n_values - first_ret;
    return 0;
}

int dp_builder_output(dp_builder *b, const char *name, dp_ref r)
{
    int rc = dpi_builder_check(b, r);

    if (rc < 0)
        return rc;
    const char *copy = dpi_builder_str(b, name != NULL ? name : "");
    if (copy == NULL || !DPI_GROW(b, outputs, 1))
        return DP_ERESOURCE;
    b->p.outputs[b->p.n_outputs++] = (dpi_output){.name = copy, .ref = r};
    return 0;
}

/* -- life -- */

int dp_builder_new(dp_ctx *ctx, dp_builder **out)
{
    if (!DPI_GIVEN(&ctx->error, DP_EVALUE, out))
        return DP_EVALUE;
    dp_builder *b = dp_calloc(1, sizeof(*b));

    if (b == NULL || (b->arena = dp_arena_new()) == NULL) {
        dp_free(b);
        return dpi_no_memory(&ctx->error, "a program");
    }
    b->ctx = ctx;
    b->p.reg = ctx->reg;
    b->p.backends = dp_backends_pin(UINT64_MAX);
    /* Inside a call without an open dp_ctx_begin(), dp_ctx_begin() would fail.  It is not needed
     * there: the call has pinned the registry's snapshot. */
    b->begun = ctx->thread == NULL || ctx->pins > 0;
    int rc = b->begun ? dp_ctx_begin(ctx) : 0;
    if (rc < 0) {
        b->begun = false;
        dp_builder_free(b);
        return rc;
    }
    *out = b;
    return 0;
}

dp_builder *dp_builder_free(dp_builder *b)
{
    if (b == NULL)
        return NULL;
    if (b->begun)
        dp_ctx_end(b->ctx);
    dpi_program_drop(&b->p);
    dp_free(b->p.inputs);
    dp_free(b->p.values);
    dp_free(b->p.constants);
    dp_free(b->p.constant_names);
    dp_free(b->p.steps);
    dp_free(b->p.links);
    dp_free(b->p.types);
    dp_free(b->p.ops);
    dp_free(b->p.binds);
    dp_free(b->p.subs);
    dp_free(b->p.outputs);
    dp_free(b->p.origins);
    dp_free(b->p.modes);
    dp_free(b->p.guards);
    dp_free(b->names);
    dp_arena_free(b->arena);
    dp_free(b);
    return NULL;
}

int dp_builder_finish(dp_builder *b, dp_program **out)
{
    if (!DPI_GIVEN(&b->ctx->error, DP_EVALUE, out))
        return DP_EVALUE;
    if (b->done)
        return dpi_builder_fail(b, DP_EVALUE, "this builder has finished its program");
    int rc = dpi_program_lay(b, out);
    b->done = rc == 0;
    return rc;
}
