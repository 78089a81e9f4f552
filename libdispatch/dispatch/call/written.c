/* written.c -- increase versions of written arguments; undo their resizing when a kernel fails.
 *
 * Versions are read before a kernel that writes.  After the kernel, each version is increased,
 * unless calls made by the kernel have increased it. */
#include "written.h"
#include "ctx.h"
#include "tensor/room.h"
#include <stdio.h>

/* An iterator over the tensors in the arguments of mask `remaining`, in order, including those in
 * lists. */
typedef struct cursor {
    const dp_value *args;
    uint64_t remaining;
    uint32_t index; /* position in the first remaining argument */
} cursor;

static dp_tensor *next_tensor(cursor *c)
{
    for (; c->remaining != 0; c->remaining &= c->remaining - 1, c->index = 0) {
        const dp_value *v = &c->args[__builtin_ctzll(c->remaining)];
        if (v->tag == DP_TAG_TENSOR && c->index++ == 0)
            return v->u.t;
        while (v->tag == DP_TAG_TENSORS && c->index < v->len)
            if (v->u.tensors[c->index++] != NULL)
                return v->u.tensors[c->index - 1];
    }
    return NULL;
}

/* -- tensors that only the calling kernel refers to -- */

static bool contains(const dp_value *args, uint32_t n, const dp_tensor *t)
{
    cursor c = {args, 0, 0};

    for (uint32_t i = 0; i < n; i++)
        c.remaining |= (uint64_t)1 << i;
    for (const dp_tensor *arg = next_tensor(&c); arg != NULL; arg = next_tensor(&c))
        if (arg == t)
            return true;
    return false;
}

/* Return the frame of the kernel that called the operator of `e`; frames of that operator itself
 * are skipped, because they are redispatches.  NULL: no kernel called the operator. */
static const dpi_frame *caller_of(const dp_ctx *ctx, const dpi_entry *e)
{
    const dpi_thread *t = ctx->thread;
    uint32_t depth = atomic_load_explicit(&t->depth, memory_order_relaxed);

    while (depth > 0 &&
           atomic_load_explicit(&t->frames[depth - 1].op, memory_order_relaxed) == e->op)
        depth--;
    return depth > 0 ? &t->frames[depth - 1] : NULL;
}

/* Does the schema of the calling kernel say that it writes no argument?  If so, a tensor to which
 * only this kernel refers will be its result, or is released soon.  The tensor's version need not
 * be increased: a new result has version 0, no matter how it was filled. */
static bool caller_writes_nothing(dp_ctx *ctx, const dpi_frame *caller)
{
    const dpi_entry *e =
        caller ? dpi_snapshot_entry(dpi_ctx_snapshot(ctx),
                                    atomic_load_explicit(&caller->op, memory_order_relaxed))
               : NULL;
    return e != NULL && e->counted == 0;
}

/* Was `t` made in the call of `caller`, and does nothing but this call refer to it? */
static bool is_new(dp_ctx *ctx, const dpi_frame *caller, const dp_tensor *t)
{
    const dp_value *args = atomic_load_explicit(&caller->args, memory_order_relaxed);
    const dpi_entry *e = dpi_snapshot_entry(
        dpi_ctx_snapshot(ctx), atomic_load_explicit(&caller->op, memory_order_relaxed));

    return dpi_tensor_is_only(t) && (args == NULL || !contains(args, e->n_args, t));
}

/* -- before and after a kernel -- */

static dpi_frame *frame_of(const dp_ctx *ctx)
{
    return &ctx->thread
                ->frames[atomic_load_explicit(&ctx->thread->depth, memory_order_relaxed) - 1];
}

/* Return the only tensor whose version a call of `e` increases, as most operators that write have
 * just one.  NULL: there are more, or none, or the argument is a list. */
static inline dp_tensor *single_written(const dpi_entry *e, const dp_value *args)
{
    if (e->counted == 0 || (e->counted & (e->counted - 1)) != 0)
        return NULL;
    const dp_value *v = &args[__builtin_ctzll(e->counted)];
    return v->tag == DP_TAG_TENSOR ? v->u.t : NULL;
}

static uint64_t version_before(dp_ctx *ctx, const dpi_frame *caller, bool caller_pure,
                               const dp_tensor *t)
{
    return caller_pure && is_new(ctx, caller, t) ? DPI_NOT_COUNTED : dp_tensor_version(t);
}

int dpi_written_read(dp_ctx *ctx, const dpi_entry *e, const dp_value *args, dpi_written *w)
{
    dpi_frame *frame = frame_of(ctx);

    w->change = dpi_last_change();
    atomic_store_explicit(&frame->touched, 0, memory_order_relaxed);
    /* For the caller, the version of an argument tagged also_written does not show that it was
     * written: record that the caller may have written. */
    if ((e->written & ~e->schema->written) != 0 && frame > ctx->thread->frames)
        atomic_store_explicit(&frame[-1].touched, 1, memory_order_relaxed);
    if (e->counted == 0)
        return 0;
    size_t n = 0;
    cursor c = {args, e->counted, 0};
    const dpi_frame *caller = caller_of(ctx, e);
    const dp_tensor *single = single_written(e, args);

    if (single != NULL) {
        w->before = w->inline_before;
        w->inline_before[0] =
            version_before(ctx, caller, caller_writes_nothing(ctx, caller), single);
        return 0;
    }
    for (uint64_t remaining = e->counted; remaining != 0; remaining &= remaining - 1) {
        const dp_value *v = &args[__builtin_ctzll(remaining)];
        n += v->tag == DP_TAG_TENSORS ? v->len : 1;
    }
    w->before = n <= DPI_COUNT(w->inline_before)
                    ? w->inline_before
                    : dp_arena_alloc_n(&ctx->arena, n, sizeof(uint64_t));
    if (w->before == NULL)
        return dp_error_set(&ctx->error, DP_ERESOURCE,
                            "out of memory: versions of %zu written tensors", n);
    bool caller_pure = caller_writes_nothing(ctx, caller);
    uint64_t *before = w->before;
    for (dp_tensor *t = next_tensor(&c); t != NULL; t = next_tensor(&c))
        *before++ = version_before(ctx, caller, caller_pure, t);
    return 0;
}

void dpi_written_count(const dpi_entry *e, const dp_value *args, const dpi_written *w)
{
    const uint64_t *before = w->before;
    cursor c = {args, e->counted, 0};
    dp_tensor *single = single_written(e, args);

    if (single != NULL)
        c.remaining = 0;
    for (dp_tensor *t = single ? single : next_tensor(&c); t != NULL; t = next_tensor(&c), before++)
        if (*before == dp_tensor_version(t))
            dp_tensor_bump_version(t);
}

void dpi_written_may_grad(const dpi_entry *e, const dp_value *args)
{
    cursor c = {args, e->written, 0};

    for (dp_tensor *t = next_tensor(&c); t != NULL; t = next_tensor(&c))
        if (dpi_differentiable(t->dtype))
            dpi_tensor_may_grad(t->root != NULL ? t->root : t, true);
}

static uint64_t changed_versions(const dpi_entry *e, const dp_value *args, const dpi_written *w)
{
    uint64_t changed = 0;
    const uint64_t *before = w->before;

    for (uint64_t remaining = e->counted; remaining != 0; remaining &= remaining - 1) {
        cursor c = {args, remaining & -remaining, 0};
        for (dp_tensor *t = next_tensor(&c); t != NULL; t = next_tensor(&c), before++)
            if (*before != DPI_NOT_COUNTED && *before != dp_tensor_version(t))
                changed |= remaining & -remaining;
    }
    return changed;
}

/* Has the kernel itself written nothing so far, except by calling other operators? */
static bool wrote_nothing_itself(const dp_ctx *ctx, const dpi_kernel *k)
{
    if ((k->flags & DP_FLAG_META) &&
        atomic_load_explicit(&frame_of(ctx)->touched, memory_order_relaxed) == 0)
        return true;
    int f = dp_key_functionality(k->key);

    return (k->flags & DP_FLAG_BELOW) || f == DP_ALIAS_CompositeImplicitAutograd ||
           f == DP_ALIAS_CompositeImplicitAutogradNestedTensor || f == DP_ALIAS_Autograd ||
           f == DP_ALIAS_FuncTorchBatchedDecomposition || dpi_is_layer(k->key);
}

/* Restore the geometry that the written arguments had before the kernel, and release the memory by
 * which their storages have grown since. */
static void restore_shapes(dp_ctx *ctx, const dpi_entry *e, const dp_value *args, uint64_t change)
{
    cursor c = {args, e->written, 0};
    dp_error why, *of_kernel = &ctx->error;

    for (dp_tensor *t = next_tensor(&c); t != NULL; t = next_tensor(&c))
        if (dpi_tensor_restore(t, change, &why) < 0) {
            size_t n = strlen(of_kernel->message);
            snprintf(of_kernel->message + n, sizeof(of_kernel->message) - n,
                     "; an output keeps the shape that it got: %s", why.message);
        }
    c = (cursor){args, e->written, 0};
    for (dp_tensor *t = next_tensor(&c); t != NULL; t = next_tensor(&c))
        dpi_tensor_shrink(t, change);
}

uint64_t dpi_written_failed(dp_ctx *ctx, const dpi_entry *e, const dpi_kernel *k,
                            const dp_value *args, const dpi_written *w)
{
    bool refused = ctx->refused == atomic_load_explicit(&ctx->thread->depth, memory_order_relaxed);
    uint64_t unversioned = e->written & ~e->counted; /* writes to these change no version */

    ctx->refused = 0;
    restore_shapes(ctx, e, args, w->change);
    if (wrote_nothing_itself(ctx, k))
        unversioned = ctx->error.written != 0 ? unversioned : 0;
    else if (refused)
        unversioned = 0;
    else
        dpi_written_count(e, args, w);
    return changed_versions(e, args, w) | unversioned;
}

int dp_vrefuse(dp_ctx *ctx, int code, const char *format, va_list ap)
{
    if (format != NULL)
        dp_error_vset(&ctx->error, code, format, ap);
    /* If an inner call failed while it wrote, or a copy or a loop was cancelled, an argument may be
     * partly written; then this call must not count as one that has written nothing. */
    bool stopped_early = code == DP_ECANCELLED || code == DP_EDEADLINE;
    if (ctx->thread != NULL && ctx->error.written == 0 && !stopped_early)
        ctx->refused = atomic_load_explicit(&ctx->thread->depth, memory_order_relaxed);
    return code;
}
