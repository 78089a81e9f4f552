/* state.c -- dispatcher state of a request: keys to include and exclude, the mode, and guards.
 *
 * A context has a stack of states and a pointer to the current state.  Entering a guard
 * (dp_guard_enter()) pushes a changed copy of the current state.  Leaving the guard sets the
 * pointer back, and so does the end of the kernel that entered the guard (leave() in enter.h).  A
 * state points to its mode, so a guard that changes only keys does not copy the mode. */
#include "casts.h"
#include "enter.h"

void dp_state_default(dp_keyset *include, dp_keyset *exclude)
{
    *include = (dp_keyset){DPI_BIT(BackendSelect) | DPI_BIT(ADInplaceOrView), 0};
    *exclude = (dp_keyset){DPI_AUTOCAST_BITS, 0};
}

void dpi_ctx_watch(dp_ctx *ctx)
{
    ctx->watched = ctx->tracing || ctx->timing || ctx->state->mode->fallback != DP_FALLBACK_ALLOW;
    ctx->no_fast_path = ctx->watched || ctx->guarded || ctx->canary || !dpi_membarrier_works;
}

/* -- the skip bit: DPI_GRAD_BIT of a key set, which says that a gradient may be needed -- */

/* Remove DPI_GRAD_BIT, which has no meaning in key sets that callers give. */
static dp_keyset without_skip_bit(dp_keyset s)
{
    return (dp_keyset){s.functionality & ~DPI_GRAD_BIT, s.backend};
}

/* Exclude DPI_GRAD_BIT if gradients are off, or if no tensor of the session may need a gradient.
 * Calls then pass over kernels that are only for gradients (DP_FLAG_GRAD). */
static void install_skip_bit(const dp_ctx *ctx, dpi_state *s)
{
    bool no_tensor =
        ctx->grad_flag != NULL && atomic_load_explicit(ctx->grad_flag, memory_order_relaxed) == 0;

    s->exclude = without_skip_bit(s->exclude);
    if (no_tensor || s->mode->no_grad)
        s->exclude.functionality |= DPI_GRAD_BIT;
}

/* Call install_skip_bit() for all states up to the current one. */
static void install_skip_bits(dp_ctx *ctx)
{
    for (dpi_state *s = ctx->states; s <= ctx->state; s++)
        install_skip_bit(ctx, s);
}

void dp_ctx_set_grad_flag(dp_ctx *ctx, dp_flag *flag)
{
    ctx->grad_flag = flag;
    install_skip_bits(ctx);
}

void dpi_ctx_raise_grad_flag(dp_ctx *ctx)
{
    atomic_store_explicit(ctx->grad_flag, 1, memory_order_relaxed);
    install_skip_bits(ctx);
}

void dp_tensor_set_may_grad(dp_ctx *ctx, dp_tensor *t, bool on)
{
    dpi_tensor_may_grad(t, on);
    if (on)
        dpi_ctx_note_grad(ctx);
}

/* -- the mode -- */

/* Copy the members of `mode` that its size covers to *to.  Inference mode implies no_grad. */
static void mode_copy(dp_mode *to, const dp_mode *mode)
{
    size_t n = mode->size < sizeof(*to) ? mode->size : sizeof(*to);

    memcpy(to, mode, n);
    to->size = (uint32_t)sizeof(*to);
    to->no_grad |= to->inference;
}

static int refuse_mode(dp_ctx *ctx, const char *field, unsigned number, const char *allowed)
{
    return dp_error_set(&ctx->error, DP_EVALUE, "dp_guard_mode: %s is %u; there are %s", field,
                        number, allowed);
}

/* Check mode `m`.  Dtypes that are equal to those of `checked`, the current mode, are valid. */
static int mode_check(dp_ctx *ctx, const dp_mode *m, const dp_mode *checked)
{
    if (m->fallback > DP_FALLBACK_FORBID)
        return refuse_mode(ctx, "fallback", m->fallback, "DP_FALLBACK_ALLOW, _REPORT and _FORBID");
    if (memcmp(m->cast_dtype, checked->cast_dtype, sizeof(m->cast_dtype)) == 0)
        return 0;
    for (size_t i = 0; i < DPI_COUNT(m->cast_dtype); i++)
        if (m->cast_dtype[i] > 0 && dp_dtype_size((dp_dtype)(m->cast_dtype[i] - 1)) == 0)
            return refuse_mode(ctx, "a cast_dtype", m->cast_dtype[i],
                               "0 and the numbers of dtypes + 1");
    return 0;
}

/* Include the autocast keys of the backends for which autocast is on in `mode`, and exclude those
 * of the others, unless it was on for the same backends before.  So a kernel that has excluded the
 * keys, such as dp_autocast()'s, keeps them excluded for all guards inside. */
static void autocast_install(dpi_state *s, const dp_mode *mode, uint64_t before)
{
    uint64_t on = dpi_autocast_bits(mode->cast_backends);

    if (mode->cast_backends == before)
        return;
    s->include.functionality = (s->include.functionality & ~DPI_AUTOCAST_BITS) | on;
    s->exclude.functionality = (s->exclude.functionality | DPI_AUTOCAST_BITS) & ~on;
}

/* Set s->mode, and change the keys of `s` accordingly: those that c10::InferenceMode changes, those
 * of autocast, and DPI_GRAD_BIT.  `before`: the mode that the keys of `s` belong to. */
static void mode_install(const dp_ctx *ctx, dpi_state *s, const dp_mode *mode,
                         const dp_mode *before)
{
    uint64_t view = DPI_BIT(ADInplaceOrView);

    if (mode->inference && !before->inference) {
        s->include.functionality &= ~view;
        s->exclude.functionality |= DPI_AUTOGRAD_BITS;
    } else if (!mode->inference && before->inference) {
        s->include.functionality |= view;
        s->exclude.functionality &= ~DPI_AUTOGRAD_BITS;
    }
    autocast_install(s, mode, before->cast_backends);
    s->mode = mode;
    install_skip_bit(ctx, s);
}

/* Remove key Fake from `exclude`.  If Fake were excluded, kernels that need bytes would get tensors
 * without memory. */
static inline dp_keyset without_fake(dp_keyset exclude)
{
    exclude.functionality &= ~DPI_BIT(Fake);
    return exclude;
}

void dp_ctx_set_state(dp_ctx *ctx, dp_keyset include, dp_keyset exclude, const dp_mode *mode)
{
    static const dp_mode defaults = {.size = (uint32_t)sizeof(dp_mode)};
    dpi_state *s = ctx->state = &ctx->states[0];

    dpi_casts_clear(ctx);
    ctx->guarded = false;
    s->include = without_skip_bit(include);
    if (ctx->capture != NULL)
        s->include.functionality |= ctx->capture_bits;
    s->exclude = without_fake(exclude);
    s->n_modes = 0;
    ctx->mode = defaults;
    if (mode != NULL)
        mode_copy(&ctx->mode, mode);
    mode_install(ctx, s, &ctx->mode, &defaults);
    dpi_ctx_watch(ctx);
}

void dpi_state_reset(dp_ctx *ctx)
{
    dp_keyset include, exclude;

    ctx->grad_flag = NULL;
    dp_state_default(&include, &exclude);
    dp_ctx_set_state(ctx, include, exclude, NULL);
}

void dpi_state_fini(dp_ctx *ctx)
{
    for (uint32_t i = 0; i < ctx->cap_modes; i++)
        dp_free(ctx->modes[i]);
    dp_free(ctx->modes);
}

/* -- guards -- */

DPI_COLD int dpi_fail_guards(dp_ctx *ctx)
{
    return dp_error_limit(dp_error_set(&ctx->error, DP_ERESOURCE,
                                       "%d guards are open, which is the limit (guards)",
                                       DP_LIMIT_GUARDS),
                          "guards", DP_LIMIT_GUARDS, DP_LIMIT_GUARDS + 1);
}

/* Return a struct for the mode of one more guard, allocated if there is none.  The struct lives as
 * long as the context, because kernels may have pointers to it.  NULL: no memory. */
static dp_mode *mode_reserve(dp_ctx *ctx)
{
    uint32_t n = (uint32_t)ctx->state->n_modes, old_cap = ctx->cap_modes;

    if (n == old_cap) {
        dp_mode **modes = dpi_grow(ctx->modes, &ctx->cap_modes, n + 1, sizeof(*modes));
        if (modes == NULL)
            return NULL;
        dp_zero_n(modes + old_cap, ctx->cap_modes - old_cap, sizeof(*modes));
        ctx->modes = modes;
    }
    if (ctx->modes[n] == NULL)
        ctx->modes[n] = dp_calloc(1, sizeof(dp_mode));
    return ctx->modes[n];
}

static inline bool in_call(const dp_ctx *ctx)
{
    const dpi_thread *t = ctx->thread;

    return t != NULL &&
           (ctx->shares_pin || atomic_load_explicit(&t->depth, memory_order_relaxed) > 0);
}

/* Make `s` the current state. */
static inline void enter_state(dp_ctx *ctx, dpi_state *s)
{
    ctx->state = s;
    if (DPI_UNLIKELY(!ctx->guarded && !in_call(ctx))) {
        ctx->guarded = true;
        ctx->no_fast_path = 1;
    }
}

int dp_guard_enter(dp_ctx *ctx, dp_keyset include, dp_keyset exclude)
{
    dpi_state *s = ctx->state;
    int depth = (int)(s - ctx->states);

    if (DPI_UNLIKELY(depth == DP_LIMIT_GUARDS))
        return dpi_fail_guards(ctx);
    s[1].include = dp_keyset_or(s->include, without_skip_bit(include));
    s[1].exclude = dp_keyset_or(s->exclude, without_skip_bit(without_fake(exclude)));
    s[1].mode = s->mode;
    s[1].n_modes = s->n_modes;
    enter_state(ctx, s + 1);
    return depth;
}

int dp_guard_mode(dp_ctx *ctx, const dp_mode *mode)
{
    if (!DPI_GIVEN(&ctx->error, DP_EVALUE, mode))
        return DP_EVALUE;
    dpi_state *s = ctx->state;
    dp_mode *next = mode_reserve(ctx);

    if (next == NULL)
        return dpi_no_memory(&ctx->error, "a guard's mode");
    if (s == &ctx->states[DP_LIMIT_GUARDS])
        return dpi_fail_guards(ctx);
    *next = *s->mode;
    mode_copy(next, mode);
    int rc = mode_check(ctx, next, s->mode);
    if (rc < 0)
        return rc;
    s[1] = *s;
    s[1].n_modes++;
    mode_install(ctx, &s[1], next, s->mode);
    enter_state(ctx, s + 1);
    dpi_ctx_watch(ctx);
    return (int)(s - ctx->states);
}

int dpi_guard_state(dp_ctx *ctx, dp_keyset include, dp_keyset exclude, const dp_mode *mode)
{
    int depth = dp_guard_mode(ctx, mode);

    if (depth < 0)
        return depth;
    dpi_state *s = ctx->state;
    include.functionality |= s->include.functionality & DPI_BIT(Fake);
    s->include = without_skip_bit(include);
    s->exclude = without_fake(exclude);
    install_skip_bit(ctx, s);
    return depth;
}

static inline void restore_state(dp_ctx *ctx, dpi_state *to)
{
    bool mode_changes = ctx->state->mode != to->mode;

    ctx->state = to;
    if (DPI_LIKELY(!mode_changes && !(to == ctx->states && ctx->guarded)))
        return;
    if (to->mode->cast_backends == 0) /* the outermost region of autocast ends */
        dpi_casts_clear(ctx);
    ctx->guarded &= to != ctx->states;
    dpi_ctx_watch(ctx);
}

/* Return the state with which the running kernel began.  The kernel must not leave guards of its
 * callers, which are outside of that state. */
static inline const dpi_state *first_state_of_kernel(const dp_ctx *ctx)
{
    const dpi_thread *t = ctx->thread;

    if (!in_call(ctx) || ctx->shares_pin)
        return ctx->states;
    uint32_t d = atomic_load_explicit(&t->depth, memory_order_relaxed);
    return d > 1 || ctx->guarded ? t->frames[d - 1].state : ctx->states;
}

void dp_guard_leave(dp_ctx *ctx, int depth)
{
    dpi_state *to = &ctx->states[(uint32_t)depth]; /* a negative depth is beyond all states */

    if (DPI_LIKELY(to < ctx->state && to >= first_state_of_kernel(ctx)))
        restore_state(ctx, to);
}

DPI_COLD void dpi_state_restore(dp_ctx *ctx, dpi_state *to)
{
    restore_state(ctx, to);
}

/* -- queries -- */

dp_keyset dp_ctx_include(const dp_ctx *ctx)
{
    return ctx->state->include;
}

dp_keyset dp_ctx_exclude(const dp_ctx *ctx)
{
    return without_skip_bit(ctx->state->exclude);
}

DPI_HOT const dp_mode *dp_ctx_mode(const dp_ctx *ctx)
{
    return ctx->state->mode;
}
