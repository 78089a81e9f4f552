/* call.c -- boxed calls: check the arguments, run the kernel, check its returns.
 *
 * Over 500 lines: run_kernel() is inlined into every kind of call. */
#include "enter.h"
#include "find.h"
#include "keys.h"
#include "values.h"
#include "viewed.h"
#include "written.h"

/* -- returns that are written arguments, e.g. the return of add_ -- */

/* A kernel leaves a return that is a written argument None.  For the outermost call, and for calls
 * by dpi_call_for_all() or dpi_call_within(), the dispatcher then sets the return to the argument.
 * For other callers, such as autograd kernels that redispatch, the return stays None: these callers
 * have the argument anyway. */

/* Move the returns of an unboxed kernel to their positions in the schema.  The kernel has set the
 * first s->n_given elements of `rets`, because its C type has no parameters for returns that are
 * written arguments. */
static void spread_returns(const dp_schema *s, dp_value *rets)
{
    uint32_t given = s->n_given;

    for (uint32_t i = s->n_rets; i-- > given;)
        rets[i] = s->ret_alias[i] < 0 ? rets[--given] : dp_none();
}

static void pack_returns(const dp_schema *s, const dp_value *rets, dp_value *out)
{
    for (uint32_t i = 0; i < s->n_rets; i++)
        if (s->ret_alias[i] < 0)
            *out++ = rets[i];
}

/* After a failure: set each return that stands for a written argument to None unless it is a
 * different tensor, which is released later. */
static void clear_aliased_returns(const dp_schema *s, const dp_value *args, dp_value *rets)
{
    for (uint32_t i = 0; i < s->n_rets; i++) {
        int j = s->ret_alias[i];
        if (j >= 0 && (rets[i].tag != DP_TAG_TENSOR || rets[i].u.t == args[j].u.t))
            rets[i] = dp_none();
    }
}

static int fill_aliased_returns(dp_ctx *ctx, const dp_schema *s, const dp_value *args,
                                dp_value *rets)
{
    for (uint32_t i = 0; i < s->n_rets; i++) {
        const dp_value *v = s->ret_alias[i] < 0 ? NULL : &args[s->ret_alias[i]];
        if (v == NULL || v->tag == DP_TAG_NONE)
            continue;
        dp_value copy = *v;
        if (dpi_values_copy(&ctx->arena, &copy, 1) < 0)
            return dpi_no_memory(&ctx->error, "a list of written arguments");
        dpi_values_ref(&copy, 1);
        rets[i] = copy;
    }
    return 0;
}

/* -- checking what a kernel returned -- */

static inline __attribute__((always_inline)) bool fits(const dpi_entry *e, size_t i,
                                                       const dp_value *v)
{
    return v->tag < DP_TAG_END && (e->ret_tags[i] >> v->tag & 1) &&
           ((v->tag != DP_TAG_TENSOR && v->tag != DP_TAG_OBJECT) || v->u.t != NULL);
}

static inline __attribute__((always_inline)) bool all_fit(const dpi_entry *e, const dp_value *rets)
{
    for (uint32_t i = 0; i < e->n_rets; i++)
        if (DPI_UNLIKELY(!fits(e, i, &rets[i])))
            return false;
    return true;
}

/* Check the returns against the schema, including items of lists.  Set a NULL tensor to None where
 * the type is Tensor?: an unboxed kernel returns None that way. */
static int check_returns(dp_ctx *ctx, const dpi_entry *e, const dpi_kernel *k, dp_value *rets)
{
    for (uint32_t i = 0; i < e->n_rets; i++) {
        dp_value *v = &rets[i];
        if (v->tag == DP_TAG_TENSOR && v->u.t == NULL && (e->ret_tags[i] >> DP_TAG_NONE & 1))
            *v = dp_none();
        if (!fits(e, i, v) ||
            (e->returns_memory && v->tag != DP_TAG_NONE &&
             (dpi_value_lacks_memory(v) || !dpi_type_fits(e->schema->rets[i].type, v))))
            return dpi_fail_return(ctx, e, k, i, v);
    }
    return 0;
}

/* The call of a kernel, with the data that finish() needs after the kernel. */
typedef struct running_call {
    const dpi_entry *e;
    const dpi_kernel *k;
    bool outermost;
    char *arena_mark;    /* arena position before the kernel */
    dpi_written written; /* only if e->written is not 0 */
} running_call;

/* Clean up after a failed kernel: release its returns, restore the shapes of written arguments,
 * increase their versions if the kernel may have written (dpi_written_failed()), and record in
 * error.written the arguments whose contents are unknown. */
static DPI_COLD void clean_up_failed(dp_call *call, const running_call *r)
{
    /* Release the returns first: they may be views of written arguments, whose resizing
     * dpi_written_failed() undoes. */
    dp_values_release(call->rets, r->e->n_rets);
    call->ctx->error.written =
        r->e->written != 0 ? dpi_written_failed(call->ctx, r->e, r->k, call->args, &r->written) : 0;
    call->ctx->refused = 0;
}

/* End a call in every case that finish_written(), finish_view() and the short path of run_kernel()
 * do not cover, for example after a failure, or if the kernel allocated arena memory.  Rewind the
 * arena to its position before the kernel.  Copy the memory that results point to, because it may
 * lie in the rewound part, or in the plugin's constants, which may be unmapped before results are
 * read. */
static __attribute__((noinline)) int finish(dp_call *call, const running_call *r, int rc)
{
    dp_ctx *ctx = call->ctx;
    const dpi_entry *e = r->e;

    if (r->k->unboxed != NULL)
        spread_returns(e->schema, call->rets);
    if (dpi_values_clear_dangling(call->rets, e->n_rets, call) && rc == 0)
        rc = dpi_fail_dangling(ctx, r->k, e->op);
    rc = rc == 0 ? check_returns(ctx, e, r->k, call->rets) : dpi_fail_kernel(ctx, r->k, e->op, rc);
    if (rc < 0) {
        clear_aliased_returns(e->schema, call->args, call->rets);
        clean_up_failed(call, r);
    } else if (e->counted != 0) {
        dpi_written_count(e, call->args, &r->written);
    }
    if (dpi_values_settle(&ctx->arena, r->arena_mark, call->rets, e->n_rets) < 0)
        rc = dpi_no_memory(&ctx->error, "results of a kernel");
    else if (rc < 0)
        return rc;
    else if (e->views)
        rc = dpi_viewed_join(ctx, e, call->args, call->rets);
    if (rc == 0 && r->outermost)
        rc = fill_aliased_returns(ctx, e->schema, call->args, call->rets);
    if (rc < 0)
        clean_up_failed(call, r);
    return rc;
}

static bool returned_nothing(const dp_call *call)
{
    for (uint32_t i = 0; i < call->n_rets; i++)
        if (call->rets[i].tag != DP_TAG_NONE)
            return false;
    return true;
}

/* Finish a call whose kernel succeeded and left all returns None, for an operator whose returns are
 * all written arguments, or that has no returns. */
static int finish_written(dp_call *call, const running_call *r)
{
    int rc = 0;

    if (r->e->counted != 0)
        dpi_written_count(r->e, call->args, &r->written);
    if (r->outermost)
        rc = fill_aliased_returns(call->ctx, r->e->schema, call->args, call->rets);
    if (rc < 0)
        clean_up_failed(call, r);
    return rc;
}

/* The kernel has succeeded.  Has it allocated no arena memory, is the only return a tensor that may
 * be a view, and does the operator increase no version? */
static bool returned_view(const dp_call *call, const running_call *r)
{
    const dpi_entry *e = r->e;

    return e->views && e->n_rets == 1 && e->counted == 0 && e->schema->ret_alias[0] < 0 &&
           call->rets[0].tag == DP_TAG_TENSOR && fits(e, 0, &call->rets[0]) &&
           call->ctx->arena.at == r->arena_mark;
}

static int finish_view(dp_call *call, const running_call *r)
{
    int rc = dpi_viewed_join(call->ctx, r->e, call->args, call->rets);

    if (rc < 0)
        clean_up_failed(call, r);
    return rc;
}

static inline __attribute__((always_inline)) int run_boxed(dp_call *call, const dpi_kernel *k)
{
    dpi_fp before = dpi_fp_look();
    if (DPI_UNLIKELY(k->falls_back))
        dpi_count_fallback(call);
    int rc = k->boxed(call);

    if (DPI_UNLIKELY(dpi_fp_look() != before))
        dpi_fp_changed(call->ctx, k, call->op, DPI_WARNED_KERNEL, before);
    return rc;
}

/* Run kernel `k` of an entry whose `settles` is true: calls need steps before and after it. */
static __attribute__((noinline)) int run_settling(dp_call *call, const dpi_entry *e,
                                                  const dpi_kernel *k, bool outermost)
{
    running_call r; /* not cleared: `written` is large, and read only after it was filled in */

    r.e = e;
    r.k = k;
    r.outermost = outermost;
    if (DPI_UNLIKELY(k->dtypes != 0) && dpi_check_dtypes_known(call->ctx, e, k, call->args) < 0)
        return call->ctx->error.code;
    if (e->written != 0 && dpi_written_read(call->ctx, e, call->args, &r.written) < 0)
        return call->ctx->error.code;
    r.arena_mark = call->ctx->arena.at;
    int rc = run_boxed(call, k);
    if (rc == 0 && (k->flags & DP_FLAG_GRAD) && e->written != 0)
        dpi_written_may_grad(e, call->args);
    if (rc == 0 && returned_view(call, &r))
        return finish_view(call, &r);
    bool plain =
        rc == 0 && e->schema->n_given == 0 && !e->views && call->ctx->arena.at == r.arena_mark;
    return plain && returned_nothing(call) ? finish_written(call, &r) : finish(call, &r, rc);
}

static DPI_COLD int finish_plain(dp_call *call, const dpi_entry *e, const dpi_kernel *k,
                                 char *arena_mark, bool outermost, int rc)
{
    return finish(call,
                  &(running_call){.e = e, .k = k, .outermost = outermost, .arena_mark = arena_mark},
                  rc);
}

/* `keys` is a parameter although the thread's frame has it, too: a load of 16 bytes that were just
 * stored as 2 x 8 bytes stalls the CPU. */
static inline __attribute__((always_inline)) int run_kernel(dp_ctx *ctx, const dpi_entry *e,
                                                            const dpi_kernel *k, dp_keyset keys,
                                                            const dp_value *args, dp_value *rets,
                                                            bool outermost)
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

    if (DPI_UNLIKELY(e->settles))
        return run_settling(&call, e, k, outermost);
    char *arena_mark = ctx->arena.at;
    int rc = run_boxed(&call, k);
    if (DPI_UNLIKELY(rc != 0 || ctx->arena.at != arena_mark || !all_fit(e, rets)))
        rc = finish_plain(&call, e, k, arena_mark, outermost, rc);
    return rc;
}

static DPI_COLD int run_observed(dp_ctx *ctx, const dpi_entry *e, const dpi_kernel *k,
                                 dp_keyset keys, const dp_value *args, dp_value *rets,
                                 bool outermost, bool redispatch)
{
    dpi_observed seen;

    dpi_observe_before(ctx, e, k, keys, redispatch, args, &seen);
    int rc = run_kernel(ctx, e, k, keys, args, rets, outermost);
    dpi_observe_after(ctx, &seen, e->n_rets, rets, rc);
    return rc;
}

/* The first element is set outside of the loop: most operators have one return, and compilers turn
 * a loop alone into a call of memset(). */
static inline void clear_returns(dp_value *rets, size_t n)
{
    if (n > 0)
        rets[0] = (dp_value){0};
    for (size_t i = 1; i < n; i++)
        rets[i] = (dp_value){0};
}

/* Return the index of the first of the n arguments whose tag the schema does not allow, or n.  If
 * it is n, *keys is the union of the arguments' key sets (marked_keys()), made in the same loop. */
static inline __attribute__((always_inline)) size_t
first_misfit(const dpi_entry *e, const dp_value *args, size_t n, dp_keyset *keys)
{
    dp_keyset ks = {0, 0};

    for (size_t i = 0; i < n; i++) {
        if (DPI_UNLIKELY(args[i].tag >= DP_TAG_END || !(e->arg_tags[i] >> args[i].tag & 1)))
            return i;
        ks = add_keys(ks, &args[i]);
    }
    *keys = DPI_UNLIKELY(ks.functionality & DPI_GRAD_BIT) ? dpi_settle_grad(ks, args, n) : ks;
    return n;
}

/* Check all arguments against the schema, before a kernel runs. */
static inline int check_arguments(dp_ctx *ctx, const dpi_entry *e, const dp_value *args,
                                  size_t n_args, size_t n_rets, dp_keyset *keys)
{
    if (DPI_UNLIKELY(n_args != e->n_args || n_rets != e->n_rets))
        return dpi_fail_count(ctx, e, n_args, n_rets);
    size_t wrong = first_misfit(e, args, n_args, keys);
    return DPI_LIKELY(wrong == n_args) ? 0 : dpi_fail_argument(ctx, e, wrong, &args[wrong]);
}

/* Call the kernel of `e` for key set `ks`; the arguments were checked. */
static inline __attribute__((always_inline)) int call_checked(dp_ctx *ctx, const dpi_entry *e,
                                                              dp_keyset ks, const dp_value *args,
                                                              dp_value *rets, unsigned flags,
                                                              bool outermost)
{
    open_call opened;
    const dpi_kernel *k = enter(ctx, e, &ks, args, flags, &opened);

    if (DPI_UNLIKELY(k == NULL))
        return ctx->error.code;
    int rc = DPI_UNLIKELY(opened.flags & CALL_OBSERVED)
                 ? run_observed(ctx, e, k, ks, args, rets, outermost, flags & CALL_REDISPATCH)
                 : run_kernel(ctx, e, k, ks, args, rets, outermost);
    leave(ctx, &opened);
    return rc;
}

static inline __attribute__((always_inline)) int
call_boxed(dp_ctx *ctx, const dp_op *op, const dp_keyset *given, const dp_value *args,
           size_t n_args, dp_value *rets, size_t n_rets, bool outermost)
{
    dp_keyset ks;
    const dpi_entry *e = entry_of(ctx, op);
    int rc = e == NULL ? DP_ENOTFOUND : check_arguments(ctx, e, args, n_args, n_rets, &ks);

    if (DPI_UNLIKELY(rc < 0))
        return rc;
    ks = given ? with_marks(*given, ks, ctx->state->exclude)
               : with_state(ks, ctx->state->include, ctx->state->exclude);
    return call_checked(ctx, e, ks, args, rets, given ? CALL_REDISPATCH : 0, outermost);
}

static DPI_COLD int fail_null(dp_ctx *ctx, const char *what, size_t n)
{
    return dp_error_set(&ctx->error, DP_EVALUE, "%s is NULL for a count of %zu", what, n);
}

static inline __attribute__((always_inline)) int
top_boxed(dp_ctx *ctx, const dp_op *op, const dp_keyset *given, const dp_value *args, size_t n_args,
          dp_value *rets, size_t n_rets, bool outermost)
{
    bool top = is_top(ctx);
    int rc;

    if (DPI_UNLIKELY(rets == NULL && n_rets))
        return fail_null(ctx, "rets", n_rets);
    clear_returns(rets, n_rets);
    if (DPI_UNLIKELY(args == NULL && n_args))
        return fail_null(ctx, "args", n_args);
    if (DPI_UNLIKELY(op == NULL))
        return dpi_fail_no_op(ctx);
    do {
        rc = top ? top_enter(ctx) : 0;
        if (DPI_UNLIKELY(rc < 0))
            return rc;
        rc = call_boxed(ctx, op, given, args, n_args, rets, n_rets, top | outermost);
        if (top && ctx->pins == 0)
            dpi_unpin(ctx);
    } while (DPI_UNLIKELY(rc < 0) && top && outdated(ctx));
    return rc;
}

static __attribute__((noinline)) int call_slow(dp_ctx *ctx, const dp_op *op, const dp_value *args,
                                               size_t n_args, dp_value *rets, size_t n_rets)
{
    return top_boxed(ctx, op, NULL, args, n_args, rets, n_rets, false);
}

/* Return the kernel for a call on the fast path; NULL: the slow path is needed. */
static inline __attribute__((always_inline)) const dpi_kernel *
find_short(const dp_ctx *ctx, const dp_op *op, const dpi_entry *e, const dp_value *args,
           size_t n_args, size_t n_rets, dp_keyset *keys)
{
    if (DPI_UNLIKELY(e == NULL || e->callable != op || n_args != e->n_args || n_rets != e->n_rets))
        return NULL;
    if (DPI_UNLIKELY(first_misfit(e, args, n_args, keys) < n_args))
        return NULL;
    *keys = with_state(*keys, ctx->states->include, ctx->states->exclude);
    unsigned cell = resolve_short(e, keys);
    return DPI_LIKELY(cell < DPI_CELL_WARY) ? e->kernels[cell] : NULL;
}

DPI_HOT int dp_call_boxed(dp_ctx *ctx, const dp_op *op, const dp_value *args, size_t n_args,
                          dp_value *rets, size_t n_rets)
{
    dpi_thread *th = dpi_thread_self;
    const dpi_snapshot *s;
    dp_keyset ks;

    if (DPI_UNLIKELY(op == NULL || args == NULL || rets == NULL || !enter_short(ctx, th, &s)))
        return call_slow(ctx, op, args, n_args, rets, n_rets);
    uint32_t id = op->id;
    const dpi_entry *e = id < s->n_plain && id < ctx->n_counts ? s->plain[id] : NULL;
    const dpi_kernel *k = find_short(ctx, op, e, args, n_args, n_rets, &ks);
    if (DPI_UNLIKELY(k == NULL || !publish(th, 0, k, op, ks, true))) {
        leave_short(ctx, th);
        return call_slow(ctx, op, args, n_args, rets, n_rets);
    }
    clear_returns(rets, n_rets);
    atomic_store_explicit(&th->frames[0].args, args, memory_order_relaxed);
    count_up(&ctx->counts[id]);
    ctx->stats.n_calls = 1;
    ctx->stats.kernel_id = k->id;
    int rc = run_kernel(ctx, e, k, ks, args, rets, true);
    if (DPI_UNLIKELY(ctx->state != ctx->states))
        dpi_state_restore(ctx, ctx->states);
    atomic_store_explicit(&th->frames[0].args, NULL, memory_order_relaxed);
    leave_short(ctx, th);
    return rc;
}

int dpi_call_for_all(dp_ctx *ctx, const dp_op *op, const dp_value *args, size_t n_args,
                     dp_value *rets, size_t n_rets)
{
    return top_boxed(ctx, op, NULL, args, n_args, rets, n_rets, true);
}

DPI_HOT int dpi_call_within(dp_ctx *ctx, const dp_op *op, const dp_value *args, size_t n_args,
                            dp_value *rets, size_t n_rets)
{
    clear_returns(rets, n_rets);
    return call_boxed(ctx, op, NULL, args, n_args, rets, n_rets, true);
}

int dp_redispatch_boxed(dp_ctx *ctx, const dp_op *op, dp_keyset keys, const dp_value *args,
                        size_t n_args, dp_value *rets, size_t n_rets)
{
    return top_boxed(ctx, op, &keys, args, n_args, rets, n_rets, false);
}

DPI_HOT int dpi_call_below(const dp_call *call, uint32_t n_args, uint64_t exclude)
{
    dp_ctx *ctx = call->ctx;
    const dpi_thread *t = ctx->thread;
    dpi_state *s = ctx->state;
    uint32_t depth = atomic_load_explicit(&t->depth, memory_order_relaxed);
    const dpi_frame *f = &t->frames[depth - 1]; /* read only if depth is not 0 */
    const dpi_entry *e = dpi_snapshot_entry(dpi_ctx_snapshot(ctx), call->op);
    dp_keyset ks = dpi_keyset_below(call->keys, call->key);
    int rc;

    if (DPI_UNLIKELY(s == &ctx->states[DP_LIMIT_GUARDS]))
        return dpi_fail_guards(ctx);
    s[1] = *s;
    s[1].exclude.functionality |= exclude;
    ctx->state = s + 1;
    if (DPI_LIKELY(depth > 0 &&
                   atomic_load_explicit(&f->args, memory_order_relaxed) == call->args &&
                   atomic_load_explicit(&f->op, memory_order_relaxed) == call->op &&
                   n_args == e->n_args && call->n_rets == e->n_rets)) {
        dp_keyset marks = dpi_frame_keys(f);
        marks.functionality |= DPI_GRAD_BIT;
        ks = with_marks(ks, marks, s[1].exclude);
        clear_returns(call->rets, call->n_rets);
        rc = call_checked(ctx, e, ks, call->args, call->rets, CALL_REDISPATCH, false);
    } else {
        rc = dp_redispatch_boxed(ctx, call->op, ks, call->args, n_args, call->rets, call->n_rets);
    }
    ctx->state = s;
    return rc;
}

static inline __attribute__((always_inline)) int run_entered(dp_ctx *ctx, const open_call *opened,
                                                             const dpi_entry *e,
                                                             const dp_value *args, size_t n_args,
                                                             dp_value *rets, size_t n_rets)
{
    dp_keyset ks;
    int rc = check_arguments(ctx, e, args, n_args, n_rets, &ks);

    clear_returns(rets, n_rets);
    atomic_store_explicit(&ctx->thread->frames[opened->depth].args, args, memory_order_relaxed);
    if (rc < 0)
        return rc;
    const dpi_kernel *k = kernel_of(ctx, opened);
    /* dp_ctx_keys() is in another file, so the compiler cannot turn it into the slow load of 16
     * bytes that run_kernel() avoids. */
    dp_keyset keys = dp_ctx_keys(ctx);
    return DPI_UNLIKELY(opened->flags & CALL_OBSERVED)
               ? run_observed(ctx, e, k, keys, args, rets, false, opened->flags & CALL_REDISPATCH)
               : run_kernel(ctx, e, k, keys, args, rets, false);
}

/* Do the same as run_entered() for a typed call, whose `rets` have no elements for returns that are
 * written arguments. */
static __attribute__((noinline)) int run_packed(dp_ctx *ctx, const open_call *opened,
                                                const dpi_entry *e, const dp_value *args,
                                                size_t n_args, dp_value *rets)
{
    dp_value all[DP_LIMIT_ARGUMENTS];
    int rc = run_entered(ctx, opened, e, args, n_args, all, e->n_rets);

    pack_returns(e->schema, all, rets);
    return rc;
}

int dp_run_boxed(dp_ctx *ctx, dp_entered *entered, const dp_value *args, size_t n_args,
                 dp_value *rets, size_t n_rets)
{
    const open_call *opened = (const open_call *)entered->reserved;
    const dpi_entry *e = dpi_ctx_snapshot(ctx)->entries[op_of(ctx, opened)->id];

    int rc = DPI_UNLIKELY(n_rets != e->n_rets) && n_rets == e->schema->n_given
                 ? run_packed(ctx, opened, e, args, n_args, rets)
                 : run_entered(ctx, opened, e, args, n_args, rets, n_rets);
    /* dp_leave() of a cached call does not, and the next one may have no boxed arguments. */
    atomic_store_explicit(&ctx->thread->frames[opened->depth].args, NULL, memory_order_relaxed);
    return rc;
}

int dp_decompose(dp_call *call)
{
    if (call == NULL)
        return DP_EPLUGIN; /* without a context there is nowhere to describe the error */
    dp_ctx *ctx = call->ctx;
    const dpi_entry *e = entry_of(ctx, call->op);
    open_call opened;

    if (e == NULL)
        return ctx->error.code;
    if (e->composite == NULL || e->composite == dpi_ctx_kernel(ctx))
        return dpi_fail_op(ctx, DP_ENOTIMPL, call->op, call->key,
                           e->composite == NULL
                               ? "it has no composite kernel to run in place of this one"
                               : "its composite kernel asks for itself");
    dp_keyset ks = marked_keys(e, call->args);
    if (dpi_check_bytes(ctx, e, e->composite, dp_keyset_or(ks, call->keys),
                        (ks.backend & DPI_WRAPPER_BIT) != 0) < 0)
        return ctx->error.code;
    const dpi_kernel *k = enter_kernel(ctx, e, e->composite, call->keys, call->args,
                                       CALL_REDISPATCH | CALL_COMPOSITE, &opened);
    if (k == NULL)
        return ctx->error.code;
    int rc = run_kernel(ctx, e, k, call->keys, call->args, call->rets, false);
    leave(ctx, &opened);
    return rc;
}
