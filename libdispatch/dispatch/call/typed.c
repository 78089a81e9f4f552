/* typed.c -- calls with C types: resolved once more only when something changed. */
#include "enter.h"
#include "find.h"

/* NULL: the host has to see what it is given and what it returns. */
static inline dp_any_fn unboxed_of(const dpi_entry *e, const dpi_kernel *k)
{
    bool makes = e->views_one && (k->flags & DP_FLAG_VIEWS);

    return DPI_LIKELY(!e->boxes) || makes ? k->unboxed : NULL;
}

static inline __attribute__((always_inline)) int enter_pinned(dp_ctx *ctx, const dp_typed *t,
                                                              const dp_keyset *given,
                                                              dp_keyset keys, unsigned how,
                                                              dp_entered *out)
{
    const dpi_entry *e = entry_of(ctx, t->op);

    if (DPI_UNLIKELY(e == NULL))
        return DP_ENOTFOUND;
    if (DPI_UNLIKELY(e->code != t->code))
        return dpi_fail_code(ctx, e, t->code);
    keys = given ? with_marks(*given, keys, ctx->state->exclude)
                 : with_state(keys, ctx->state->include, ctx->state->exclude);
    mark *m = (mark *)out->reserved;
    const dpi_kernel *k = enter(ctx, e, &keys, NULL, how | (e->returns_memory ? BY_KEEPS : 0), m);
    if (DPI_UNLIKELY(k == NULL))
        return ctx->error.code;
    m->at = ctx->arena.at;
    m->fp = dpi_fp_look();
    out->unboxed = DPI_UNLIKELY(m->how & BY_OBSERVED) ? NULL : unboxed_of(e, k);
    return 0;
}

static __attribute__((noinline)) int
enter_any(dp_ctx *ctx, const dp_typed *t, const dp_keyset *given, dp_keyset keys, dp_entered *out)
{
    bool top = is_top(ctx);
    unsigned how = given ? BY_REDISPATCH : 0;
    int rc;

    if (t->op == NULL)
        return dpi_fail_no_op(ctx);
    if (top)
        how |= BY_TOP;
    do {
        rc = top ? top_enter(ctx) : 0;
        if (DPI_UNLIKELY(rc < 0))
            return rc;
        rc = enter_pinned(ctx, t, given, keys, how, out);
        if (DPI_UNLIKELY(rc < 0) && top && ctx->pins == 0)
            dpi_unpin(ctx);
    } while (DPI_UNLIKELY(rc < 0) && top && outdated(ctx));
    return rc;
}

/* The short way keeps what it resolved.  keys: with include and exclude applied, which may be done
 * twice. */
static DPI_COLD int go_long_way(dp_ctx *ctx, const dp_typed *t, dp_keyset keys, dp_entered *out)
{
    leave_short(ctx, ctx->thread);
    return enter_any(ctx, t, NULL, keys, out);
}

static inline uint64_t op_and_code(const dp_typed *t)
{
    return (uint64_t)t->id << 32 | t->code;
}

/* th: the thread of ctx; keys: those of f. */
static inline __attribute__((always_inline)) int enter_found(dp_ctx *ctx, dpi_thread *th,
                                                             const dp_typed *t, const dpi_found *f,
                                                             dp_keyset keys, dp_entered *out)
{
    const dpi_kernel *k = f->kernel;
    dp_keyset kept = {f->kept, keys.backend};
    mark *m = (mark *)out->reserved;

    if (DPI_UNLIKELY(!publish(th, 0, k, t->op, kept, true)))
        return go_long_way(ctx, t, keys, out);
    m->depth = 0;
    m->how = BY_TOP | BY_PLAIN;
    m->fp = dpi_fp_look();
    out->unboxed = f->unboxed;
    count_up(f->count);
    return 0;
}

static inline __attribute__((always_inline)) bool is_for(const dpi_found *f, const dpi_snapshot *s,
                                                         const dp_typed *t, dp_keyset keys)
{
    return f->snapshot == s->number && f->op_and_code == op_and_code(t) &&
           f->keys.functionality == keys.functionality && f->keys.backend == keys.backend;
}

static inline dpi_found *place_of(dp_ctx *ctx, const dp_typed *t)
{
    return &ctx->found[t->id % DPI_FOUND];
}

static __attribute__((noinline)) int find(dp_ctx *ctx, const dp_typed *t, dp_keyset keys,
                                          dp_entered *out)
{
    dpi_found *first = place_of(ctx, t), *second = &ctx->found[(t->id ^ 1) % DPI_FOUND];
    const dpi_snapshot *s = dpi_ctx_snapshot(ctx);

    if (is_for(second, s, t, keys))
        return enter_found(ctx, ctx->thread, t, second, keys, out);
    const dpi_entry *e = t->id < s->n_plain && t->id < ctx->n_counts ? s->plain[t->id] : NULL;
    dp_keyset kept = keys;
    unsigned cell = e != NULL && t->op != NULL && e->code == t->code ? resolve_short(e, &kept)
                                                                     : DPI_CELL_MISSING;

    if (cell >= DPI_CELL_WARY)
        return go_long_way(ctx, t, keys, out);
    const dpi_kernel *k = e->kernels[cell];
    bool taken = first->snapshot == s->number && first->op_and_code == op_and_code(t);
    dpi_found *f = taken ? second : first; /* two key sets may take turns */
    *f = (dpi_found){.snapshot = s->number,
                     .op_and_code = op_and_code(t),
                     .keys = keys,
                     .kept = kept.functionality,
                     .kernel = k,
                     .unboxed = unboxed_of(e, k),
                     .count = &ctx->counts[t->id]};
    return enter_found(ctx, ctx->thread, t, f, keys, out);
}

int dp_enter(dp_ctx *ctx, const dp_typed *t, dp_keyset argument_keys, dp_entered *out)
{
    dpi_thread *th = dpi_thread_self;
    const dpi_snapshot *s;

    if (DPI_UNLIKELY(!enter_short(ctx, th, &s)))
        return enter_any(ctx, t, NULL, argument_keys, out);
    dp_keyset keys = with_state(argument_keys, ctx->states->include, ctx->states->exclude);
    const dpi_found *f = place_of(ctx, t);
    if (DPI_UNLIKELY(!is_for(f, s, t, keys)))
        return find(ctx, t, keys, out);
    return enter_found(ctx, th, t, f, keys, out);
}

int dp_enter_with(dp_ctx *ctx, const dp_typed *t, dp_keyset keys, dp_keyset argument_keys,
                  dp_entered *e)
{
    if (!DPI_GIVEN(&ctx->error, DP_EPLUGIN, t, e))
        return DP_EPLUGIN;
    return enter_any(ctx, t, &keys, argument_keys, e);
}

static __attribute__((noinline)) int leave_any(dp_ctx *ctx, mark *m, int rc)
{
    if (m->how & BY_PLAIN)
        ctx->thread->frames[0].state = ctx->states;
    if (m->fp != dpi_fp_look())
        dpi_fp_left(ctx, kernel_of(ctx, m), op_of(ctx, m), DPI_WARNED_KERNEL, m->fp);
    if (rc != 0) {
        rc = dpi_fail_kernel(ctx, kernel_of(ctx, m), op_of(ctx, m), rc);
        ctx->refused = 0;
    }
    if (!(m->how & (BY_KEEPS | BY_PLAIN)) && DPI_UNLIKELY(ctx->arena.at != m->at))
        dpi_arena_rewind(&ctx->arena, m->at);
    leave(ctx, m);
    if ((m->how & BY_TOP) && ctx->pins == 0)
        dpi_unpin(ctx);
    return rc;
}

int dp_leave(dp_ctx *ctx, dp_entered *entered, int rc)
{
    mark *m = (mark *)entered->reserved;
    dpi_thread *t = ctx->thread;

    if (DPI_UNLIKELY(rc != 0 || !(m->how & BY_PLAIN) || ctx->state != ctx->states ||
                     dpi_fp_look() != m->fp))
        return leave_any(ctx, m, rc);
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

    *t = (dp_typed){0}; /* calls fail by name until it is whole */
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
