/* typed.c -- calls with C types: a context caches the kernels it found, until the registry
 * changes. */
#include "enter.h"
#include "find.h"

/* Return the unboxed function of `k`.  NULL: the call must be boxed, because `k` has no such
 * function, or because the dispatcher examines the arguments or returns.  A kernel that registers
 * its only return as a view itself (DP_FLAG_VIEWS) is called unboxed. */
static inline dp_any_fn unboxed_of(const dpi_entry *e, const dpi_kernel *k)
{
    bool makes_view = e->views_one && (k->flags & DP_FLAG_VIEWS);

    return DPI_LIKELY(!e->boxes) || makes_view ? k->unboxed : NULL;
}

static inline __attribute__((always_inline)) int enter_pinned(dp_ctx *ctx, const dp_typed *t,
                                                              const dp_keyset *given,
                                                              dp_keyset keys, unsigned flags,
                                                              dp_entered *out)
{
    const dpi_entry *e = entry_of(ctx, t->op);

    if (DPI_UNLIKELY(e == NULL))
        return DP_ENOTFOUND;
    if (DPI_UNLIKELY(e->code != t->code))
        return dpi_fail_code(ctx, e, t->code);
    keys = given ? with_marks(*given, keys, ctx->state->exclude)
                 : with_state(keys, ctx->state->include, ctx->state->exclude);
    open_call *opened = (open_call *)out->reserved;
    const dpi_kernel *k =
        enter(ctx, e, &keys, NULL, flags | (e->returns_memory ? CALL_RETURNS_MEMORY : 0), opened);
    if (DPI_UNLIKELY(k == NULL))
        return ctx->error.code;
    opened->arena_mark = ctx->arena.at;
    opened->fp_before = dpi_fp_look();
    out->unboxed = DPI_UNLIKELY(opened->flags & CALL_OBSERVED) ? NULL : unboxed_of(e, k);
    return 0;
}

static __attribute__((noinline)) int
enter_slow(dp_ctx *ctx, const dp_typed *t, const dp_keyset *given, dp_keyset keys, dp_entered *out)
{
    bool top = is_top(ctx);
    unsigned flags = given ? CALL_REDISPATCH : 0;
    int rc;

    if (t->op == NULL)
        return dpi_fail_no_op(ctx);
    if (top)
        flags |= CALL_TOP;
    do {
        rc = top ? top_enter(ctx) : 0;
        if (DPI_UNLIKELY(rc < 0))
            return rc;
        rc = enter_pinned(ctx, t, given, keys, flags, out);
        if (DPI_UNLIKELY(rc < 0) && top && ctx->pins == 0)
            dpi_unpin(ctx);
    } while (DPI_UNLIKELY(rc < 0) && top && outdated(ctx));
    return rc;
}

/* Leave the fast path and enter the slow path.  `include` and `exclude` of the state were already
 * applied to `keys`; that enter_slow() applies them again changes nothing. */
static DPI_COLD int leave_fast_path(dp_ctx *ctx, const dp_typed *t, dp_keyset keys, dp_entered *out)
{
    leave_short(ctx, ctx->thread);
    return enter_slow(ctx, t, NULL, keys, out);
}

static inline uint64_t op_and_code(const dp_typed *t)
{
    return (uint64_t)t->id << 32 | t->code;
}

/* Enter the kernel of a cached call.  `th`: ctx->thread.  `keys`: equal to cached->keys. */
static inline __attribute__((always_inline)) int enter_cached(dp_ctx *ctx, dpi_thread *th,
                                                              const dp_typed *t,
                                                              const dpi_cached_call *cached,
                                                              dp_keyset keys, dp_entered *out)
{
    const dpi_kernel *k = cached->kernel;
    dp_keyset unskipped = {cached->unskipped, keys.backend};
    open_call *opened = (open_call *)out->reserved;

    if (DPI_UNLIKELY(!publish(th, 0, k, t->op, unskipped, true)))
        return leave_fast_path(ctx, t, keys, out);
    opened->depth = 0;
    opened->flags = CALL_TOP | CALL_CACHED;
    opened->fp_before = dpi_fp_look();
    out->unboxed = cached->unboxed;
    count_up(cached->count);
    return 0;
}

static inline __attribute__((always_inline)) bool
matches(const dpi_cached_call *cached, const dpi_snapshot *s, const dp_typed *t, dp_keyset keys)
{
    return cached->snapshot == s->number && cached->op_and_code == op_and_code(t) &&
           cached->keys.functionality == keys.functionality && cached->keys.backend == keys.backend;
}

static inline dpi_cached_call *cache_slot(dp_ctx *ctx, const dp_typed *t)
{
    return &ctx->cached_calls[t->id % DPI_CACHED_CALLS];
}

static __attribute__((noinline)) int find_cached(dp_ctx *ctx, const dp_typed *t, dp_keyset keys,
                                                 dp_entered *out)
{
    dpi_cached_call *first = cache_slot(ctx, t),
                    *second = &ctx->cached_calls[(t->id ^ 1) % DPI_CACHED_CALLS];
    const dpi_snapshot *s = dpi_ctx_snapshot(ctx);

    if (matches(second, s, t, keys))
        return enter_cached(ctx, ctx->thread, t, second, keys, out);
    const dpi_entry *e = t->id < s->n_plain && t->id < ctx->n_counts ? s->plain[t->id] : NULL;
    dp_keyset unskipped = keys;
    unsigned cell = e != NULL && t->op != NULL && e->code == t->code ? resolve_short(e, &unskipped)
                                                                     : DPI_CELL_MISSING;

    if (cell >= DPI_CELL_WARY)
        return leave_fast_path(ctx, t, keys, out);
    const dpi_kernel *k = e->kernels[cell];
    bool first_used = first->snapshot == s->number && first->op_and_code == op_and_code(t);
    /* an operator may alternate between two key sets */
    dpi_cached_call *cached = first_used ? second : first;
    *cached = (dpi_cached_call){.snapshot = s->number,
                                .op_and_code = op_and_code(t),
                                .keys = keys,
                                .unskipped = unskipped.functionality,
                                .kernel = k,
                                .unboxed = unboxed_of(e, k),
                                .count = &ctx->counts[t->id]};
    return enter_cached(ctx, ctx->thread, t, cached, keys, out);
}

int dp_enter(dp_ctx *ctx, const dp_typed *t, dp_keyset argument_keys, dp_entered *out)
{
    dpi_thread *th = dpi_thread_self;
    const dpi_snapshot *s;

    if (DPI_UNLIKELY(!enter_short(ctx, th, &s)))
        return enter_slow(ctx, t, NULL, argument_keys, out);
    dp_keyset keys = with_state(argument_keys, ctx->states->include, ctx->states->exclude);
    const dpi_cached_call *cached = cache_slot(ctx, t);
    if (DPI_UNLIKELY(!matches(cached, s, t, keys)))
        return find_cached(ctx, t, keys, out);
    return enter_cached(ctx, th, t, cached, keys, out);
}

int dp_enter_with(dp_ctx *ctx, const dp_typed *t, dp_keyset keys, dp_keyset argument_keys,
                  dp_entered *e)
{
    if (!DPI_GIVEN(&ctx->error, DP_EPLUGIN, t, e))
        return DP_EPLUGIN;
    return enter_slow(ctx, t, &keys, argument_keys, e);
}

static __attribute__((noinline)) int leave_slow(dp_ctx *ctx, open_call *opened, int rc)
{
    if (opened->flags & CALL_CACHED)
        ctx->thread->frames[0].state = ctx->states;
    if (opened->fp_before != dpi_fp_look())
        dpi_fp_changed(ctx, kernel_of(ctx, opened), op_of(ctx, opened), DPI_WARNED_KERNEL,
                       opened->fp_before);
    if (rc != 0) {
        rc = dpi_fail_kernel(ctx, kernel_of(ctx, opened), op_of(ctx, opened), rc);
        ctx->refused = 0;
    }
    if (!(opened->flags & (CALL_RETURNS_MEMORY | CALL_CACHED)) &&
        DPI_UNLIKELY(ctx->arena.at != opened->arena_mark))
        dpi_arena_rewind(&ctx->arena, opened->arena_mark);
    leave(ctx, opened);
    if ((opened->flags & CALL_TOP) && ctx->pins == 0)
        dpi_unpin(ctx);
    return rc;
}

int dp_leave(dp_ctx *ctx, dp_entered *entered, int rc)
{
    open_call *opened = (open_call *)entered->reserved;
    dpi_thread *t = ctx->thread;

    if (DPI_UNLIKELY(rc != 0 || !(opened->flags & CALL_CACHED) || ctx->state != ctx->states ||
                     dpi_fp_look() != opened->fp_before))
        return leave_slow(ctx, opened, rc);
    leave_short(ctx, t);
    return 0;
}

int dp_typed_init(dp_ctx *ctx, const char *name, const char *code, dp_typed *t)
{
    bool begun;

    if (!DPI_GIVEN(&ctx->error, DP_EPLUGIN, name, code, t))
        return DP_EPLUGIN;
    int rc = dpi_ctx_pin(ctx, &begun);
    const dp_op *op = rc == 0 ? dp_op_find(ctx, name) : NULL;
    const dpi_entry *e;

    *t = (dp_typed){0}; /* incomplete: calls with it fail with DP_ENOTFOUND */
    if (op == NULL) {
        dpi_ctx_unpin(ctx, begun && rc == 0);
        return ctx->error.code;
    }
    t->op = op;
    t->id = op->id;
    t->code = dpi_registry_code(ctx->reg, code);
    if ((e = entry_of(ctx, op)) == NULL)
        rc = DP_ENOTFOUND;
    else if (t->code == 0 || e->code != t->code)
        rc = dp_error_set(&ctx->error, DP_ETYPE, "%s: its schema has %s%s%s, the caller uses '%s'",
                          name, e->schema->code[0] ? "the C type '" : "no C type", e->schema->code,
                          e->schema->code[0] ? "'" : "", code);
    dpi_ctx_unpin(ctx, begun);
    return rc;
}
