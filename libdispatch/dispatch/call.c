/* call.c -- one call: key set of the arguments, thread state, table slot, kernel.
 *
 * Every way in (boxed, typed, redispatch) meets in enter() and leave(): the first resolves the
 * kernel and publishes its frame, the second takes both back.  Between them the kernel's code
 * cannot be unmapped (I3, I4). */
#include "thread.h"
#include <stdio.h>

/* Kept out of the way of the calls that go well. */
#define COLD __attribute__((cold, noinline))

/* What leave() needs.  Kept in dp_entered.reserved for typed calls. */
typedef struct mark {
    uint16_t depth; /* of the frame, which says what runs */
    uint16_t how;   /* BY_* */
    int32_t step;   /* of the trace; watched calls only */
    uint64_t begun; /* nanos; watched calls only */
} mark;
enum {
    BY_REDISPATCH = 1,
    BY_TOP = 2,  /* leaving it ends the request's hold on the snapshot */
    BY_PLAIN = 4 /* enter_plain() */
};
_Static_assert(sizeof(mark) <= sizeof(((dp_entered *)0)->reserved), "a mark fits into dp_entered");

/* -- pinning -------------------------------------------------------------------------------- */

/* Another context of this thread holds a snapshot: a hook's, an observer's. */
static COLD int pin_shared(dp_ctx *ctx, dpi_thread *t)
{
    const dpi_snapshot *held = atomic_load_explicit(&t->pinned, memory_order_relaxed);

    if (held->reg != ctx->reg)
        return dp_error_set(&ctx->error, DP_ERUNTIME,
                            "this thread is inside a call of another registry");
    ctx->thread = t;
    ctx->shares_pin = true;
    return 0;
}

static COLD void publish_label(dp_ctx *ctx, dpi_thread *t)
{
    uint64_t words[4];

    memcpy(words, ctx->label, sizeof(words));
    for (int i = 0; i < 4; i++)
        atomic_store_explicit(&t->label[i], words[i], memory_order_relaxed);
    atomic_store_explicit(&t->since, ctx->since, memory_order_relaxed);
}

static COLD void withdraw_label(dpi_thread *t)
{
    atomic_store_explicit(&t->label[0], 0, memory_order_relaxed);
    atomic_store_explicit(&t->since, 0, memory_order_relaxed);
}

static inline __attribute__((always_inline)) int pin(dp_ctx *ctx)
{
    dpi_thread *t = dpi_thread_self;
    const dpi_snapshot *s;

    if (DPI_UNLIKELY(t == &dpi_thread_nobody) && (t = dpi_thread_enter(&ctx->error)) == NULL)
        return DP_ERESOURCE;
    if (DPI_UNLIKELY(atomic_load_explicit(&t->pinned, memory_order_relaxed) != NULL))
        return pin_shared(ctx, t);
    if (DPI_UNLIKELY(ctx->label[0] != '\0'))
        publish_label(ctx, t);
    while (DPI_UNLIKELY(!dpi_thread_try_pin(t, ctx->reg, dpi_membarrier_works, &s)))
        ;
    ctx->thread = t;
    return 0;
}

static inline void unpin(dp_ctx *ctx)
{
    dpi_thread *t = ctx->thread;

    ctx->thread = NULL;
    if (DPI_UNLIKELY(ctx->shares_pin)) {
        ctx->shares_pin = false;
        return;
    }
    if (DPI_UNLIKELY(ctx->label[0] != '\0'))
        withdraw_label(t);
    dpi_thread_unpin(t);
}

int dp_ctx_begin(dp_ctx *ctx)
{
    if (ctx->pins == 0) {
        if (ctx->thread != NULL) /* or leaving the call would end what it began */
            return dp_error_set(&ctx->error, DP_ERUNTIME, "dp_ctx_begin() inside a call");
        int rc = pin(ctx);
        if (rc < 0)
            return rc;
    }
    ctx->pins++;
    return 0;
}

void dp_ctx_end(dp_ctx *ctx)
{
    if (ctx->pins > 0 && --ctx->pins == 0)
        unpin(ctx);
}

/* -- what goes wrong, told in full ----------------------------------------------------------- */

static COLD void tell_where(dp_error *err, const dp_op *op, dp_key key)
{
    char name[DP_KEY_NAME_MAX];

    strncpy(err->op, op->name, sizeof(err->op) - 1);
    if (key != DP_KEY_Undefined)
        strncpy(err->key, dp_key_name(key, name), sizeof(err->key) - 1);
}

static COLD int fail_op(dp_ctx *ctx, int code, const dp_op *op, dp_key key, const char *text)
{
    dp_error_set(&ctx->error, code, "%s: %s", op->name, text);
    tell_where(&ctx->error, op, key);
    return code;
}

static COLD int fail_gone(dp_ctx *ctx, const dp_op *op)
{
    const dpi_snapshot *s = dpi_ctx_snapshot(ctx);
    const dpi_entry *e = op->id < s->n_entries ? s->entries[op->id] : NULL;

    return fail_op(ctx, DP_ENOTFOUND, op, DP_KEY_Undefined,
                   e == NULL ? "no plugin defines this operator (any more)"
                             : "it has kernels, but no plugin that is loaded defines its schema");
}

static COLD int fail_count(dp_ctx *ctx, const dpi_entry *e, size_t n_args, size_t n_rets)
{
    char text[160];

    snprintf(text, sizeof(text),
             "takes %u arguments and returns %u values, called with %zu and %zu", e->n_args,
             e->n_rets, n_args, n_rets);
    return fail_op(ctx, DP_ETYPE, e->op, DP_KEY_Undefined, text);
}

static COLD int fail_argument(dp_ctx *ctx, const dpi_entry *e, size_t i, const dp_value *v)
{
    dpi_text type = {0};
    char text[300];

    dpi_type_print(&type, e->schema->args[i].type, true);
    snprintf(text, sizeof(text), "argument '%s' (position %zu) must be %s, not %s",
             e->schema->args[i].name, i + 1, type.s ? type.s : "?", dpi_value_kind(v));
    dpi_text_fini(&type);
    return fail_op(ctx, DP_ETYPE, e->op, DP_KEY_Undefined, text);
}

static void list_kernels(const dpi_entry *e, dpi_text *t)
{
    char name[DP_KEY_NAME_MAX];
    const char *sep = "";

    for (uint32_t slot = 0; slot < e->n_slots; slot++) {
        uint16_t cell = e->table[slot];
        if (cell >= e->n_kernels || (e->kernels[cell]->flags & DP_FLAG_FALLTHROUGH))
            continue;
        dpi_text_printf(t, "%s%s", sep, dp_key_name(dpi_slot_key(slot), name));
        sep = ", ";
        if (t->len > 600) {
            dpi_text_add(t, ", ...");
            break;
        }
    }
    if (*sep == '\0')
        dpi_text_add(t, "none");
}

static COLD const dpi_kernel *fail_missing(dp_ctx *ctx, const dpi_entry *e, dp_keyset ks,
                                           unsigned cell)
{
    char name[DP_KEY_NAME_MAX], set[400];
    dp_key key = dp_keyset_highest(ks);
    dpi_text t = {0};

    if (cell == DPI_CELL_AMBIGUOUS) {
        dpi_text_add(
            &t, "ambiguous for AutogradOther: it has a CompositeImplicitAutograd kernel and "
                "kernels for backends that share AutogradOther; register one for AutogradOther");
    } else {
        if (key == DP_KEY_Undefined)
            dpi_text_add(&t, "no kernel: no argument is a tensor and nothing is registered for "
                             "calls without one");
        else
            dpi_text_printf(&t, "no kernel for %s (the call's keys: %s)", dp_key_name(key, name),
                            dp_keyset_print(ks, set, sizeof(set)));
        dpi_text_add(&t, "; keys that have one: ");
        list_kernels(e, &t);
    }
    fail_op(ctx, DP_ENOTIMPL, e->op, key, t.s ? t.s : "no kernel");
    dpi_text_fini(&t);
    return NULL;
}

static COLD const dpi_kernel *fail_depth(dp_ctx *ctx, const dp_op *op)
{
    dp_error_set(&ctx->error, DP_ERUNTIME,
                 "%s: maximum recursion depth of %d calls inside calls exceeded", op->name,
                 DP_LIMIT_CALL_DEPTH);
    return NULL;
}

static COLD const dpi_kernel *fail_closed(dp_ctx *ctx, const dp_op *op, const dpi_kernel *k)
{
    char text[300];

    snprintf(text, sizeof(text),
             "plugin '%s' (generation %llu) was unloaded while this request ran", k->gen->plugin,
             (unsigned long long)k->gen->number);
    ctx->outdated = true;
    fail_op(ctx, DP_ENOTFOUND, op, k->key, text);
    return NULL;
}

/* A kernel failed: its code and its text must agree, whoever wrote it. */
static COLD int fail_kernel(dp_ctx *ctx, const dpi_kernel *k, const dp_op *op, int rc)
{
    char text[300];

    if (dp_error_name(rc) == NULL || ctx->error.code == 0) {
        snprintf(text, sizeof(text),
                 "kernel of plugin '%s' (%s:%u) returned %d without describing it", k->gen->plugin,
                 k->file, k->line, rc);
        return fail_op(ctx, dp_error_name(rc) ? rc : DP_EPLUGIN, op, dp_ctx_key(ctx), text);
    }
    ctx->error.code = rc;
    if (ctx->error.op[0] == '\0')
        tell_where(&ctx->error, op, dp_ctx_key(ctx));
    return rc;
}

static COLD int fail_return(dp_ctx *ctx, const dpi_entry *e, const dpi_kernel *k, size_t i,
                            const dp_value *v)
{
    dpi_text type = {0};
    char text[500];

    dpi_type_print(&type, e->schema->rets[i].type, true);
    snprintf(text, sizeof(text),
             "kernel of plugin '%s' (%s:%u) gave %s for return %zu of %u, which is %s",
             k->gen->plugin, k->file, k->line,
             v->tag == DP_TAG_NONE || (v->tag == DP_TAG_TENSOR && v->u.t == NULL)
                 ? "nothing"
                 : dpi_value_kind(v),
             i + 1, e->n_rets, type.s ? type.s : "?");
    dpi_text_fini(&type);
    return fail_op(ctx, DP_EPLUGIN, e->op, dp_ctx_key(ctx), text);
}

/* -- key sets ------------------------------------------------------------------------------- */

static dp_keyset list_keys(const dp_value *v)
{
    dp_keyset ks = {0, 0};

    for (uint32_t i = 0; i < v->len; i++)
        if (v->u.tensors[i] != NULL)
            ks = dp_keyset_or(ks, v->u.tensors[i]->keys);
    return ks;
}

static inline dp_keyset add_keys(dp_keyset ks, const dp_value *v)
{
    if (v->tag == DP_TAG_TENSOR)
        return dp_keyset_or(ks, v->u.t->keys);
    return DPI_UNLIKELY(v->tag == DP_TAG_TENSORS) ? dp_keyset_or(ks, list_keys(v)) : ks;
}

dp_keyset dpi_argument_keys(const dpi_entry *e, const dp_value *args)
{
    dp_keyset ks = {0, 0};

    for (uint32_t i = 0; i < e->n_args; i++)
        ks = add_keys(ks, &args[i]);
    return ks;
}

/* Highest bit that is set, of a word with one. */
static inline unsigned top_bit(uint64_t word)
{
    return (unsigned)__builtin_clzll(word) ^ 63;
}

_Static_assert(DP_F_COUNT <= 64, "bit 63 of the functionalities is free");
static inline unsigned functionality_of(dp_keyset ks) /* 0: none */
{
    return top_bit(ks.functionality << 1 | 1);
}

static inline dp_keyset with_state(dp_keyset arguments, dp_keyset include, dp_keyset exclude)
{
    return dp_keyset_minus(dp_keyset_or(arguments, include), exclude);
}

/* Takes what falls through out of *ks; the index of its highest key's kernel in e, or DPI_CELL_*.
 * A backend that is younger than the entry has none. */
static inline unsigned resolve(const dpi_entry *e, dp_keyset *ks)
{
    unsigned column = dpi_slot_rows[top_bit(ks->backend | 1)].column; /* without any: of bit 0 */

    if (DPI_UNLIKELY(column >= e->n_columns))
        return DPI_CELL_MISSING;
    ks->functionality &= e->mask[column];
    const dpi_slot_row *row = &dpi_slot_rows[functionality_of(*ks)];
    return e->table[row->base + row->stride * column];
}

dp_keyset dpi_call_keys(const dpi_entry *e, dp_keyset arguments, dp_keyset include,
                        dp_keyset exclude)
{
    dp_keyset ks = with_state(arguments, include, exclude);

    resolve(e, &ks);
    return ks;
}

/* -- enter and leave ------------------------------------------------------------------------ */

/* An observer's code is held like a kernel's: a frame names it while it runs. */
static void observe(dp_ctx *ctx, const dpi_kernel *k, dp_observation *o, const dp_op *op)
{
    dpi_thread *t = ctx->thread;
    uint32_t d = atomic_load_explicit(&t->depth, memory_order_relaxed);

    if (d == DP_LIMIT_CALL_DEPTH)
        return;
    atomic_store_explicit(&t->frames[d].kernel, k, memory_order_release);
    atomic_store_explicit(&t->frames[d].op, op, memory_order_relaxed);
    atomic_store_explicit(&t->depth, d + 1, memory_order_release);
    dpi_thread_fence(dpi_membarrier_works);
    if (atomic_load_explicit(&k->gen->closed, memory_order_acquire) == 0) {
        o->nanos = dpi_nanos();
        ((dp_observer_fn)k->unboxed)(o);
    }
    atomic_store_explicit(&t->depth, d, memory_order_release);
}

static inline const dpi_kernel *kernel_of(const dp_ctx *ctx, const mark *m)
{
    return atomic_load_explicit(&ctx->thread->frames[m->depth].kernel, memory_order_relaxed);
}

static inline const dp_op *op_of(const dp_ctx *ctx, const mark *m)
{
    return atomic_load_explicit(&ctx->thread->frames[m->depth].op, memory_order_relaxed);
}

static void observe_all(dp_ctx *ctx, const mark *m, int phase, int rc)
{
    const dpi_snapshot *s = dpi_ctx_snapshot(ctx);
    const dp_op *op = op_of(ctx, m);
    dp_observation o = {.size = (uint32_t)sizeof(o),
                        .phase = phase,
                        .op = op->name,
                        .key = dp_ctx_key(ctx),
                        .depth = m->depth,
                        .rc = rc};

    for (uint32_t i = 0; !(m->how & BY_REDISPATCH) && i < s->n_observers; i++)
        observe(ctx, s->observers[i], &o, op);
}

static COLD void enter_watched(dp_ctx *ctx, mark *m, const dpi_entry *e)
{
    dp_key key = dp_ctx_key(ctx);

    m->step = -1;
    observe_all(ctx, m, 0, 0);
    if (ctx->tracing)
        m->step = dpi_trace_enter(ctx, e->op, key, m->depth, m->how & BY_REDISPATCH,
                                  kernel_of(ctx, m), e->provenance[dpi_key_slot(key)]);
    m->begun = dpi_nanos();
    if (ctx->timing && ctx->facts.n_calls == 1)
        ctx->facts.dispatch_nanos = m->begun - ctx->t_top;
}

static COLD void leave_watched(dp_ctx *ctx, const mark *m, int rc)
{
    uint64_t spent = dpi_nanos() - m->begun;

    if (ctx->timing)
        ctx->facts.kernel_nanos = spent; /* the outermost call leaves last */
    if (m->step >= 0)
        dpi_trace_leave(ctx, m->step, spent);
    observe_all(ctx, m, 1, rc);
}

/* Does anything want to see the calls of this context? */
static inline __attribute__((always_inline)) bool is_watched(const dp_ctx *ctx)
{
    return ctx->watched | (dpi_ctx_snapshot(ctx)->n_observers != 0);
}

/* dp_keyset_highest(), from what resolve() has looked up. */
static inline dp_key highest_of(dp_keyset ks)
{
    unsigned f = functionality_of(ks);

    return (dp_key)(dpi_slot_rows[f].stride ? DP_KEY_OF(f, top_bit(ks.backend | 1)) : DP_KEY(f));
}

/* Publish the frame at `depth`.  False: the kernel's generation is closed, nothing is published. */
static inline bool publish(dpi_thread *t, uint32_t depth, const dpi_kernel *k, const dp_op *op,
                           dp_keyset ks, bool barriers)
{
    dpi_frame *frame = &t->frames[depth];

    atomic_store_explicit(&frame->kernel, k, memory_order_release);
    atomic_store_explicit(&frame->op, op, memory_order_relaxed);
    atomic_store_explicit(&frame->functionality, ks.functionality, memory_order_relaxed);
    atomic_store_explicit(&frame->backend, ks.backend, memory_order_relaxed);
    atomic_store_explicit(&t->depth, depth + 1, memory_order_release);
    dpi_thread_fence(barriers);
    if (DPI_LIKELY(atomic_load_explicit(&k->gen->closed, memory_order_acquire) == 0))
        return true;
    atomic_store_explicit(&t->depth, depth, memory_order_release);
    return false;
}

static inline void count_call(dp_ctx *ctx, uint32_t id)
{
    uint64_t n = atomic_load_explicit(&ctx->counts[id], memory_order_relaxed);
    atomic_store_explicit(&ctx->counts[id], n + 1, memory_order_relaxed);
}

/* Without memory it is not counted. */
static COLD void count_first(dp_ctx *ctx, uint32_t id)
{
    if (dpi_ctx_count_grow(ctx, id) == 0)
        count_call(ctx, id);
}

/* Resolve *ks in e and publish the frame.  *m is to be given to leave() iff this returns a kernel;
 * NULL: the context's error says why. */
static inline __attribute__((always_inline)) const dpi_kernel *
enter(dp_ctx *ctx, const dpi_entry *e, dp_keyset *ks, unsigned how, mark *m)
{
    dpi_thread *t = ctx->thread;
    uint32_t depth = atomic_load_explicit(&t->depth, memory_order_relaxed);
    unsigned cell = resolve(e, ks);

    if (DPI_UNLIKELY(cell >= DPI_CELL_AMBIGUOUS))
        return fail_missing(ctx, e, *ks, cell);
    if (DPI_UNLIKELY(depth >= DP_LIMIT_CALL_DEPTH))
        return fail_depth(ctx, e->op);
    const dpi_kernel *k = e->kernels[cell];
    if (DPI_UNLIKELY(!publish(t, depth, k, e->op, *ks, dpi_membarrier_works)))
        return fail_closed(ctx, e->op, k);

    uint32_t id = e->op->id;
    if (DPI_LIKELY(id < ctx->n_counts))
        count_call(ctx, id);
    else
        count_first(ctx, id);
    if (ctx->facts.n_calls++ == 0)
        ctx->facts.kernel_id = k->id;
    m->depth = (uint16_t)depth;
    m->how = (uint16_t)how;
    if (DPI_UNLIKELY(is_watched(ctx)))
        enter_watched(ctx, m, e);
    return k;
}

static inline __attribute__((always_inline)) void leave(dp_ctx *ctx, const mark *m, int rc)
{
    if (DPI_UNLIKELY(is_watched(ctx)))
        leave_watched(ctx, m, rc);
    atomic_store_explicit(&ctx->thread->depth, m->depth, memory_order_release);
}

/* -- boxed ---------------------------------------------------------------------------------- */

void dp_values_release(dp_value *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        dp_value *v = &values[i];
        if (v->tag == DP_TAG_TENSOR)
            dp_tensor_unref(v->u.t);
        else if (v->tag == DP_TAG_TENSORS)
            for (uint32_t j = 0; j < v->len; j++)
                dp_tensor_unref(v->u.tensors[j]);
        else if (v->tag == DP_TAG_LIST)
            dp_values_release((dp_value *)(uintptr_t)v->u.values, v->len);
        v->tag = DP_TAG_NONE;
    }
}

/* A return that the schema calls a written argument is that argument, not a tensor like it. */
static __attribute__((noinline)) int check_written(dp_ctx *ctx, const dpi_entry *e,
                                                   const dpi_kernel *k, const dp_value *args,
                                                   const dp_value *rets)
{
    const dp_schema *s = e->schema;
    char text[500];

    for (uint32_t i = 0; i < e->n_rets; i++) {
        int j = s->ret_alias[i];
        if (j < 0 || rets[i].tag != DP_TAG_TENSOR || rets[i].u.t == args[j].u.t)
            continue;
        snprintf(text, sizeof(text),
                 "kernel of plugin '%s' (%s:%u) gave another tensor for return %u of %u, which is "
                 "argument '%s'",
                 k->gen->plugin, k->file, k->line, i + 1, e->n_rets, s->args[j].name);
        return fail_op(ctx, DP_EPLUGIN, e->op, dp_ctx_key(ctx), text);
    }
    return 0;
}

static inline __attribute__((always_inline)) int check_returns(dp_ctx *ctx, const dpi_entry *e,
                                                               const dpi_kernel *k,
                                                               const dp_value *args,
                                                               const dp_value *rets)
{
    for (uint32_t i = 0; i < e->n_rets; i++) {
        const dp_value *v = &rets[i];
        bool fits = v->tag < DP_TAG_END && (e->ret_tags[i] >> v->tag & 1) &&
                    (v->tag != DP_TAG_TENSOR || v->u.t != NULL);
        if (DPI_UNLIKELY(!fits))
            return fail_return(ctx, e, k, i, v);
    }
    return DPI_UNLIKELY(e->written) ? check_written(ctx, e, k, args, rets) : 0;
}

/* A kernel failed: what it gave goes, and what it was to write counts as written, since nobody
 * knows what it holds now. */
static COLD void give_up(dp_ctx *ctx, const dpi_entry *e, const dp_value *args, dp_value *rets)
{
    for (uint32_t i = 0; i < e->n_args; i++) {
        if (!(e->written & (uint64_t)1 << i))
            continue;
        if (args[i].tag == DP_TAG_TENSOR)
            dp_tensor_bump_version(args[i].u.t);
        for (uint32_t j = 0; args[i].tag == DP_TAG_TENSORS && j < args[i].len; j++)
            if (args[i].u.tensors[j] != NULL)
                dp_tensor_bump_version(args[i].u.tensors[j]);
    }
    ctx->error.written = e->written;
    dp_values_release(rets, e->n_rets);
}

/* keys: those of the frame, handed on; reading 16 bytes back that were just stored as 2 x 8 stalls.
 */
static inline __attribute__((always_inline)) int run_kernel(dp_ctx *ctx, const dpi_entry *e,
                                                            const dpi_kernel *k, dp_keyset keys,
                                                            const dp_value *args, dp_value *rets)
{
    dp_call call = {.size = (uint32_t)sizeof(call),
                    .n_args = e->n_args,
                    .n_rets = e->n_rets,
                    .key = highest_of(keys),
                    .ctx = ctx,
                    .op = e->op,
                    .keys = keys,
                    .args = args,
                    .rets = rets};

    int rc = k->boxed(&call, &ctx->error);
    if (DPI_LIKELY(rc == 0))
        rc = check_returns(ctx, e, k, args, rets);
    else
        rc = fail_kernel(ctx, k, e->op, rc);
    if (DPI_UNLIKELY(rc < 0))
        give_up(ctx, e, args, rets);
    return rc;
}

static inline __attribute__((always_inline)) const dpi_entry *entry_of(dp_ctx *ctx, const dp_op *op)
{
    const dpi_snapshot *s = dpi_ctx_snapshot(ctx);
    const dpi_entry *e = DPI_LIKELY(op->id < s->n_entries) ? s->entries[op->id] : NULL;

    if (DPI_LIKELY(e != NULL && e->schema != NULL))
        return e;
    fail_gone(ctx, op);
    return NULL;
}

/* The first by hand: for most operators it is the only one, and a loop becomes a call of memset. */
static inline void none_all(dp_value *rets, size_t n)
{
    if (n > 0)
        rets[0] = (dp_value){0};
    for (size_t i = 1; i < n; i++)
        rets[i] = (dp_value){0};
}

/* Every argument against the schema, before a kernel runs; and, in the same pass, their key sets.
 */
static inline int check_arguments(dp_ctx *ctx, const dpi_entry *e, const dp_value *args,
                                  size_t n_args, size_t n_rets, dp_keyset *keys)
{
    dp_keyset ks = {0, 0};

    if (DPI_UNLIKELY(n_args != e->n_args || n_rets != e->n_rets))
        return fail_count(ctx, e, n_args, n_rets);
    for (size_t i = 0; i < n_args; i++) {
        if (DPI_UNLIKELY(args[i].tag >= DP_TAG_END || !(e->arg_tags[i] >> args[i].tag & 1)))
            return fail_argument(ctx, e, i, &args[i]);
        ks = add_keys(ks, &args[i]);
    }
    *keys = ks;
    return 0;
}

static inline __attribute__((always_inline)) int call_boxed(dp_ctx *ctx, const dp_op *op,
                                                            const dp_keyset *given,
                                                            const dp_value *args, size_t n_args,
                                                            dp_value *rets, size_t n_rets)
{
    mark m;
    dp_keyset ks;
    const dpi_entry *e = entry_of(ctx, op);
    int rc = e == NULL ? DP_ENOTFOUND : check_arguments(ctx, e, args, n_args, n_rets, &ks);

    if (DPI_UNLIKELY(rc < 0))
        return rc;
    ks = given ? *given : with_state(ks, ctx->include, ctx->exclude);
    const dpi_kernel *k = enter(ctx, e, &ks, given ? BY_REDISPATCH : 0, &m);
    if (DPI_UNLIKELY(k == NULL))
        return ctx->error.code;
    rc = run_kernel(ctx, e, k, ks, args, rets);
    leave(ctx, &m, rc);
    return rc;
}

/* The top of a request's call: pin, start the facts. */
static inline __attribute__((always_inline)) int top_enter(dp_ctx *ctx)
{
    if (DPI_UNLIKELY(ctx->error.code != 0)) {
        dp_error_clear(&ctx->error);
        ctx->outdated = false;
    }
    ctx->facts.n_calls = 0;
    if (DPI_UNLIKELY(ctx->timing))
        ctx->t_top = dpi_nanos();
    return ctx->thread != NULL ? 0 : pin(ctx);
}

/* No call is open in this context; a program may be. */
static inline bool is_top(const dp_ctx *ctx)
{
    return ctx->thread == NULL ||
           (ctx->pins > 0 && atomic_load_explicit(&ctx->thread->depth, memory_order_relaxed) == 0);
}

/* The call met a generation that was unloaded after this request took its snapshot, and nothing has
 * run yet: the newest snapshot will do as well. */
static bool outdated(const dp_ctx *ctx)
{
    return ctx->outdated && ctx->facts.n_calls == 0 && ctx->pins == 0 && !ctx->shares_pin;
}

static inline __attribute__((always_inline)) int top_boxed(dp_ctx *ctx, const dp_op *op,
                                                           const dp_keyset *given,
                                                           const dp_value *args, size_t n_args,
                                                           dp_value *rets, size_t n_rets)
{
    bool top = is_top(ctx);
    int rc;

    none_all(rets, n_rets);
    do {
        rc = top ? top_enter(ctx) : 0;
        if (DPI_UNLIKELY(rc < 0))
            return rc;
        rc = call_boxed(ctx, op, given, args, n_args, rets, n_rets);
        if (top && ctx->pins == 0)
            unpin(ctx);
    } while (DPI_UNLIKELY(rc < 0) && top && outdated(ctx));
    return rc;
}

int dp_call_boxed(dp_ctx *ctx, const dp_op *op, const dp_value *args, size_t n_args, dp_value *rets,
                  size_t n_rets)
{
    return top_boxed(ctx, op, NULL, args, n_args, rets, n_rets);
}

int dp_redispatch_boxed(dp_ctx *ctx, const dp_op *op, dp_keyset keys, const dp_value *args,
                        size_t n_args, dp_value *rets, size_t n_rets)
{
    return top_boxed(ctx, op, &keys, args, n_args, rets, n_rets);
}

/* -- typed ---------------------------------------------------------------------------------- */

static COLD int fail_code(dp_ctx *ctx, const dpi_entry *e, uint32_t code)
{
    char text[400];

    snprintf(text, sizeof(text), "its schema has the C type '%s', the caller uses '%s'",
             e->schema->code, dpi_code_text(code));
    return fail_op(ctx, DP_ETYPE, e->op, DP_KEY_Undefined, text);
}

static inline __attribute__((always_inline)) int
enter_pinned(dp_ctx *ctx, const dp_typed *t, dp_keyset keys, unsigned how, dp_entered *out)
{
    const dpi_entry *e = entry_of(ctx, t->op);

    if (DPI_UNLIKELY(e == NULL))
        return DP_ENOTFOUND;
    if (DPI_UNLIKELY(e->code != t->code))
        return fail_code(ctx, e, t->code);
    if (!(how & BY_REDISPATCH))
        keys = with_state(keys, ctx->include, ctx->exclude);
    const dpi_kernel *k = enter(ctx, e, &keys, how, (mark *)out->reserved);
    if (DPI_UNLIKELY(k == NULL))
        return ctx->error.code;
    out->unboxed = k->unboxed;
    return 0;
}

static __attribute__((noinline)) int enter_any(dp_ctx *ctx, const dp_typed *t, dp_keyset keys,
                                               unsigned how, dp_entered *out)
{
    bool top = is_top(ctx);
    int rc;

    if (top)
        how |= BY_TOP;
    do {
        rc = top ? top_enter(ctx) : 0;
        if (DPI_UNLIKELY(rc < 0))
            return rc;
        rc = enter_pinned(ctx, t, keys, how, out);
        if (DPI_UNLIKELY(rc < 0) && top && ctx->pins == 0)
            unpin(ctx);
    } while (DPI_UNLIKELY(rc < 0) && top && outdated(ctx));
    return rc;
}

/* The outermost call of a context that nobody watches goes the same way as enter_any(), with
 * nothing that calls out and with as few loads and stores as can be; what it resolved it keeps.
 * When something is unusual nothing has happened, and enter_any() is asked.  keys: with include and
 * exclude applied, which may be done twice. */
static COLD int leave_lane(dp_ctx *ctx, const dp_typed *t, dp_keyset keys, dp_entered *out)
{
    dpi_thread_unpin(ctx->thread);
    ctx->thread = NULL;
    return enter_any(ctx, t, keys, 0, out);
}

static inline uint64_t op_and_code(const dp_typed *t)
{
    return (uint64_t)t->id << 32 | t->code;
}

static inline __attribute__((always_inline)) int enter_found(dp_ctx *ctx, const dp_typed *t,
                                                             const dpi_found *f, dp_entered *out)
{
    const dpi_kernel *k = f->kernel;
    dp_keyset kept = {f->kept, f->keys.backend};
    mark *m = (mark *)out->reserved;

    if (DPI_UNLIKELY(!publish(ctx->thread, 0, k, t->op, kept, true)))
        return leave_lane(ctx, t, f->keys, out);
    m->depth = 0;
    m->how = BY_TOP | BY_PLAIN;
    out->unboxed = k->unboxed;
    count_call(ctx, t->id);
    return 0;
}

static __attribute__((noinline)) int find(dp_ctx *ctx, const dp_typed *t, dp_keyset keys,
                                          dpi_found *f, dp_entered *out)
{
    const dpi_snapshot *s = dpi_ctx_snapshot(ctx);
    const dpi_entry *e = t->id < s->n_plain && t->id < ctx->n_counts ? s->entries[t->id] : NULL;
    dp_keyset kept = keys;
    unsigned cell = e != NULL && e->code == t->code ? resolve(e, &kept) : DPI_CELL_MISSING;

    if (cell >= DPI_CELL_AMBIGUOUS)
        return leave_lane(ctx, t, keys, out);
    *f = (dpi_found){s->number, op_and_code(t), keys, kept.functionality, e->kernels[cell]};
    return enter_found(ctx, t, f, out);
}

int dp_enter(dp_ctx *ctx, const dp_typed *t, dp_keyset argument_keys, dp_entered *out)
{
    dpi_thread *th = dpi_thread_self;
    const dpi_snapshot *held = atomic_load_explicit(&th->pinned, memory_order_relaxed), *s;

    if (DPI_UNLIKELY(((uintptr_t)held | (uintptr_t)ctx->thread | (unsigned)ctx->error.code |
                      ctx->special) != 0))
        return enter_any(ctx, t, argument_keys, 0, out);
    ctx->thread = th;
    if (DPI_UNLIKELY(!dpi_thread_try_pin(th, ctx->reg, true, &s)))
        return leave_lane(ctx, t, argument_keys, out);
    dp_keyset keys = with_state(argument_keys, ctx->include, ctx->exclude);
    dpi_found *f = &ctx->found[t->id % DPI_FOUND];
    if (DPI_UNLIKELY(f->snapshot != s->number || f->op_and_code != op_and_code(t) ||
                     f->keys.functionality != keys.functionality ||
                     f->keys.backend != keys.backend))
        return find(ctx, t, keys, f, out);
    return enter_found(ctx, t, f, out);
}

int dp_enter_with(dp_ctx *ctx, const dp_typed *t, dp_keyset keys, dp_entered *e)
{
    return enter_any(ctx, t, keys, BY_REDISPATCH, e);
}

int dp_run_boxed(dp_ctx *ctx, dp_entered *entered, const dp_value *args, size_t n_args,
                 dp_value *rets, size_t n_rets)
{
    const mark *m = (const mark *)entered->reserved;
    const dpi_entry *e = dpi_ctx_snapshot(ctx)->entries[op_of(ctx, m)->id];
    dp_keyset ks;
    int rc = check_arguments(ctx, e, args, n_args, n_rets, &ks);

    none_all(rets, n_rets);
    return rc < 0 ? rc : run_kernel(ctx, e, kernel_of(ctx, m), dp_ctx_keys(ctx), args, rets);
}

static __attribute__((noinline)) int leave_any(dp_ctx *ctx, const mark *m, int rc)
{
    if (rc != 0)
        rc = fail_kernel(ctx, kernel_of(ctx, m), op_of(ctx, m), rc);
    leave(ctx, m, rc);
    if ((m->how & BY_TOP) && ctx->pins == 0)
        unpin(ctx);
    return rc;
}

int dp_leave(dp_ctx *ctx, dp_entered *entered, int rc)
{
    const mark *m = (const mark *)entered->reserved;
    dpi_thread *t = ctx->thread;

    if (DPI_UNLIKELY(rc != 0 || !(m->how & BY_PLAIN)))
        return leave_any(ctx, m, rc);
    ctx->thread = NULL;
    atomic_store_explicit(&t->depth, 0, memory_order_release);
    dpi_thread_unpin(t);
    return 0;
}

int dp_typed_init(dp_ctx *ctx, const char *name, const char *code, dp_typed *t)
{
    bool mine = ctx->thread == NULL;
    int rc = mine ? dp_ctx_begin(ctx) : 0;
    const dp_op *op = rc == 0 ? dp_op_find(ctx, name) : NULL;
    const dpi_entry *e;

    if (op == NULL) {
        if (rc == 0 && mine)
            dp_ctx_end(ctx);
        return ctx->error.code;
    }
    t->op = op;
    t->id = op->id;
    t->code = dpi_code_intern(code);
    if ((e = entry_of(ctx, op)) == NULL)
        rc = DP_ENOTFOUND;
    else if (t->code == 0 || e->code != t->code)
        rc = dp_error_set(&ctx->error, DP_ETYPE,
                          "%s: its schema has the C type '%s', the caller uses '%s'", name,
                          e->schema->code, code);
    if (mine)
        dp_ctx_end(ctx);
    return rc;
}
