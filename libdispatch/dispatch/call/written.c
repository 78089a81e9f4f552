/* written.c -- versions are the host's: read before a kernel that writes, and counted up afterwards
 * unless the kernel's own calls did so.  So are shapes: what a kernel that fails resized is put
 * back. */
#include "written.h"
#include "ctx.h"
#include <stdio.h>

/* The tensors in the arguments of `left`, in order; lists of tensors, too. */
typedef struct cursor {
    const dp_value *args;
    uint64_t left;
    uint32_t at; /* within the list that is the first of them */
} cursor;

static dp_tensor *next(cursor *c)
{
    for (; c->left != 0; c->left &= c->left - 1, c->at = 0) {
        const dp_value *v = &c->args[__builtin_ctzll(c->left)];
        if (v->tag == DP_TAG_TENSOR && c->at++ == 0)
            return v->u.t;
        while (v->tag == DP_TAG_TENSORS && c->at < v->len)
            if (v->u.tensors[c->at++] != NULL)
                return v->u.tensors[c->at - 1];
    }
    return NULL;
}

/* -- what only the calling kernel holds -- */

static bool holds(const dp_value *args, uint32_t n, const dp_tensor *t)
{
    cursor c = {args, 0, 0};

    for (uint32_t i = 0; i < n; i++)
        c.left |= (uint64_t)1 << i;
    for (const dp_tensor *arg = next(&c); arg != NULL; arg = next(&c))
        if (arg == t)
            return true;
    return false;
}

/* The frame that called e's operator: below its redispatches.  NULL: an embedder did. */
static const dpi_frame *caller_of(const dp_ctx *ctx, const dpi_entry *e)
{
    const dpi_thread *t = ctx->thread;
    uint32_t depth = atomic_load_explicit(&t->depth, memory_order_relaxed);

    while (depth > 0 &&
           atomic_load_explicit(&t->frames[depth - 1].op, memory_order_relaxed) == e->op)
        depth--;
    return depth > 0 ? &t->frames[depth - 1] : NULL;
}

/* The caller is a kernel that says it writes to nothing: what it alone holds will be its result, or
 * is gone soon.  A result that is new has version 0, however it was filled. */
static bool caller_only_makes(dp_ctx *ctx, const dpi_frame *caller)
{
    const dpi_entry *e =
        caller ? dpi_snapshot_entry(dpi_ctx_snapshot(ctx),
                                    atomic_load_explicit(&caller->op, memory_order_relaxed))
               : NULL;
    return e != NULL && e->counted == 0;
}

static bool is_new(dp_ctx *ctx, const dpi_frame *caller, const dp_tensor *t)
{
    const dp_value *args = atomic_load_explicit(&caller->args, memory_order_relaxed);
    const dpi_entry *e = dpi_snapshot_entry(
        dpi_ctx_snapshot(ctx), atomic_load_explicit(&caller->op, memory_order_relaxed));

    return dpi_tensor_is_only(t) && (args == NULL || !holds(args, e->n_args, t));
}

/* -- around a kernel -- */

static dpi_frame *frame_of(const dp_ctx *ctx)
{
    return &ctx->thread
                ->frames[atomic_load_explicit(&ctx->thread->depth, memory_order_relaxed) - 1];
}

/* The tensor that e's kernels write, if it is one, as in most operators that write. */
static inline dp_tensor *only_written(const dpi_entry *e, const dp_value *args)
{
    if (e->counted == 0 || (e->counted & (e->counted - 1)) != 0)
        return NULL;
    const dp_value *v = &args[__builtin_ctzll(e->counted)];
    return v->tag == DP_TAG_TENSOR ? v->u.t : NULL;
}

static uint64_t version_before(dp_ctx *ctx, const dpi_frame *caller, bool makes, const dp_tensor *t)
{
    return makes && is_new(ctx, caller, t) ? DPI_NOT_COUNTED : dp_tensor_version(t);
}

int dpi_written_read(dp_ctx *ctx, const dpi_entry *e, const dp_value *args, dpi_written *w)
{
    dpi_frame *frame = frame_of(ctx);

    w->change = dpi_last_change();
    atomic_store_explicit(&frame->touched, 0, memory_order_relaxed);
    /* No version tells the caller that e wrote to an argument tagged also_written. */
    if ((e->written & ~e->schema->written) != 0 && frame > ctx->thread->frames)
        atomic_store_explicit(&frame[-1].touched, 1, memory_order_relaxed);
    if (e->counted == 0)
        return 0;
    size_t n = 0;
    cursor c = {args, e->counted, 0};
    const dpi_frame *caller = caller_of(ctx, e);
    const dp_tensor *only = only_written(e, args);

    if (only != NULL) {
        w->before = w->few;
        w->few[0] = version_before(ctx, caller, caller_only_makes(ctx, caller), only);
        return 0;
    }
    for (uint64_t left = e->counted; left != 0; left &= left - 1) {
        const dp_value *v = &args[__builtin_ctzll(left)];
        n += v->tag == DP_TAG_TENSORS ? v->len : 1;
    }
    w->before =
        n <= DPI_COUNT(w->few) ? w->few : dp_arena_alloc_n(&ctx->arena, n, sizeof(uint64_t));
    if (w->before == NULL)
        return dp_error_set(&ctx->error, DP_ERESOURCE,
                            "out of memory: versions of %zu written tensors", n);
    bool makes = caller_only_makes(ctx, caller);
    uint64_t *before = w->before;
    for (dp_tensor *t = next(&c); t != NULL; t = next(&c))
        *before++ = version_before(ctx, caller, makes, t);
    return 0;
}

void dpi_written_count(const dpi_entry *e, const dp_value *args, const dpi_written *w)
{
    const uint64_t *before = w->before;
    cursor c = {args, e->counted, 0};
    dp_tensor *only = only_written(e, args);

    if (only != NULL)
        c.left = 0;
    for (dp_tensor *t = only ? only : next(&c); t != NULL; t = next(&c), before++)
        if (*before == dp_tensor_version(t))
            dp_tensor_bump_version(t);
}

static uint64_t dpi_written_moved(const dpi_entry *e, const dp_value *args, const dpi_written *w)
{
    uint64_t moved = 0;
    const uint64_t *before = w->before;

    for (uint64_t left = e->counted; left != 0; left &= left - 1) {
        cursor c = {args, left & -left, 0};
        for (dp_tensor *t = next(&c); t != NULL; t = next(&c), before++)
            if (*before != DPI_NOT_COUNTED && *before != dp_tensor_version(t))
                moved |= left & -left;
    }
    return moved;
}

/* Has the kernel itself written nothing so far, or does it write through others alone? */
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

/* Whatever the kernel, or what it called, made of them; what they have grown by is released. */
static void restore_shapes(dp_ctx *ctx, const dpi_entry *e, const dp_value *args, uint64_t change)
{
    cursor c = {args, e->written, 0};
    dp_error why, *of_kernel = &ctx->error;

    for (dp_tensor *t = next(&c); t != NULL; t = next(&c))
        if (dpi_tensor_restore(t, change, &why) < 0) {
            size_t n = strlen(of_kernel->message);
            snprintf(of_kernel->message + n, sizeof(of_kernel->message) - n,
                     "; an output keeps the shape that it got: %s", why.message);
        }
    c = (cursor){args, e->written, 0};
    for (dp_tensor *t = next(&c); t != NULL; t = next(&c))
        dpi_tensor_shrink(t, change);
}

uint64_t dpi_written_failed(dp_ctx *ctx, const dpi_entry *e, const dpi_kernel *k,
                            const dp_value *args, const dpi_written *w)
{
    bool refused = ctx->refused == atomic_load_explicit(&ctx->thread->depth, memory_order_relaxed);
    uint64_t silent = e->written & ~e->counted; /* versions do not tell of these */

    ctx->refused = 0;
    restore_shapes(ctx, e, args, w->change);
    if (wrote_nothing_itself(ctx, k))
        silent = ctx->error.written != 0 ? silent : 0;
    else if (refused)
        silent = 0;
    else
        dpi_written_count(e, args, w);
    return dpi_written_moved(e, args, w) | silent;
}

int dp_vrefuse(dp_ctx *ctx, int code, const char *format, va_list ap)
{
    if (format != NULL)
        dp_error_vset(&ctx->error, code, format, ap);
    /* An inner call that failed while it wrote may have written to an argument of this one, and so
     * may a copy or a loop that was called off. */
    bool called_off = code == DP_ECANCELLED || code == DP_EDEADLINE;
    if (ctx->thread != NULL && ctx->error.written == 0 && !called_off)
        ctx->refused = atomic_load_explicit(&ctx->thread->depth, memory_order_relaxed);
    return code;
}
