/* mode.c -- the dispatcher state that a program sets for some of its steps. */
#include "program_i.h"
#include "dispatch/call/ctx.h"

enum { SETS_KNOWN = DP_STEP_MODE_GRAD | DP_STEP_MODE_CAST, MODES_MAX = DP_LIMIT_PROGRAM_MODES };
_Static_assert(MODES_MAX <= UINT8_MAX, "dpi_step.mode has 8 bits");

/* Copy the members of `*from` that `sets` (DP_STEP_MODE_*) names to `*to`. */
static void copy_set(dp_mode *to, const dp_mode *from, uint32_t sets)
{
    if (sets & DP_STEP_MODE_GRAD)
        to->no_grad = from->no_grad;
    if (sets & DP_STEP_MODE_CAST) {
        to->no_cast_cache = from->no_cast_cache;
        to->cast_backends = from->cast_backends;
        memcpy(to->cast_dtype, from->cast_dtype, sizeof(to->cast_dtype));
    }
}

int dpi_mode_enter(dp_ctx *ctx, const dp_step_mode *mode)
{
    dp_mode next = *dp_ctx_mode(ctx);

    copy_set(&next, &mode->mode, mode->sets);
    return dp_guard_mode(ctx, &next);
}

/* Find a mode equal to `mode` among the program's modes, or add it.  Returns 1 + its index, or an
 * error code. */
static int64_t mode_find(dp_builder *b, const dp_step_mode *mode)
{
    for (uint32_t i = b->p.n_modes; i-- > 0;)
        if (memcmp(&b->p.modes[i], mode, sizeof(*mode)) == 0)
            return i + 1;
    if (b->p.n_modes == MODES_MAX)
        return dp_error_limit(dpi_builder_fail(b, DP_ERESOURCE,
                                               "a program of more than %d modes (program_modes)",
                                               MODES_MAX),
                              "program_modes", MODES_MAX, MODES_MAX + 1);
    if (!DPI_GROW(b, modes, 1))
        return DP_ERESOURCE;
    b->p.modes[b->p.n_modes++] = *mode;
    return b->p.n_modes;
}

int64_t dpi_builder_mode(dp_builder *b, const dp_step_mode *mode)
{
    dp_step_mode copy, given = {0};

    if (mode == NULL)
        return 0;
    memcpy(&given, mode, mode->size < sizeof(given) ? mode->size : sizeof(given));
    if (given.sets == 0 || (given.sets & ~SETS_KNOWN))
        return dpi_builder_fail(b, DP_EVALUE,
                                "a step's mode sets %#x; there are DP_STEP_MODE_GRAD and _CAST",
                                given.sets);
    memset(&copy, 0, sizeof(copy)); /* the padding, too, since mode_find() compares bytes */
    copy.size = (uint32_t)sizeof(copy);
    copy.sets = given.sets;
    copy_set(&copy.mode, &given.mode, given.sets);
    int depth = dpi_mode_enter(b->ctx, &copy); /* checks the mode's members */
    if (depth < 0)
        return depth;
    dp_guard_leave(b->ctx, depth);
    return mode_find(b, &copy);
}
