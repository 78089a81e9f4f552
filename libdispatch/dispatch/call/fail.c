/* fail.c -- descriptions of errors in calls: the operator, the key, the value got and wanted. */
#include "enter.h"
#include "find.h"
#include "values.h"
#include <stdio.h>

static void set_op_and_key(dp_error *err, const dp_op *op, dp_key key)
{
    char name[DP_KEY_NAME_MAX];

    strncpy(err->op, op->name, sizeof(err->op) - 1);
    if (key != DP_KEY_Undefined)
        strncpy(err->key, dp_key_name(key, name), sizeof(err->key) - 1);
}

DPI_COLD int dpi_fail_op(dp_ctx *ctx, int code, const dp_op *op, dp_key key, const char *text)
{
    dp_error_set(&ctx->error, code, "%s: %s", op->name, text);
    set_op_and_key(&ctx->error, op, key);
    return code;
}

DPI_COLD int dpi_fail_no_op(dp_ctx *ctx)
{
    if (ctx->error.code == 0)
        dp_error_set(&ctx->error, DP_ENOTFOUND,
                     "a call of no operator: dp_op_find() gives NULL for a name that is not there");
    return ctx->error.code;
}

DPI_COLD int dpi_fail_undefined(dp_ctx *ctx, const dp_op *op)
{
    if (op == NULL)
        return dpi_fail_no_op(ctx);
    const dpi_entry *e = dpi_snapshot_entry(dpi_ctx_snapshot(ctx), op);
    if (op->reg != ctx->reg)
        return dpi_fail_op(ctx, DP_ENOTFOUND, op, DP_KEY_Undefined,
                           "its handle is of another registry than the context's");
    return dpi_fail_op(ctx, DP_ENOTFOUND, op, DP_KEY_Undefined,
                       e == NULL
                           ? "no plugin defines this operator (any more)"
                           : "it has kernels, but no plugin that is loaded defines its schema");
}

DPI_COLD int dpi_fail_count(dp_ctx *ctx, const dpi_entry *e, size_t n_args, size_t n_rets)
{
    char text[160];

    snprintf(text, sizeof(text),
             "takes %u arguments and returns %u values, called with %zu and %zu", e->n_args,
             e->n_rets, n_args, n_rets);
    return dpi_fail_op(ctx, DP_ETYPE, e->op, DP_KEY_Undefined, text);
}

DPI_COLD int dpi_fail_argument(dp_ctx *ctx, const dpi_entry *e, size_t i, const dp_value *v)
{
    dpi_text type = {0};
    char text[300];

    dpi_type_print(&type, e->schema->args[i].type, true);
    snprintf(text, sizeof(text), "argument '%s' (position %zu) must be %s, not %s",
             e->schema->args[i].name, i + 1, type.s ? type.s : "?", dpi_value_kind(v));
    dpi_text_fini(&type);
    return dpi_fail_op(ctx, DP_ETYPE, e->op, DP_KEY_Undefined, text);
}

/* Append the reason why no key is left for a call.  `ks`: its key set, with the backends of its
 * arguments. */
static void describe_no_key(const dp_ctx *ctx, dp_keyset ks, dpi_text *t)
{
    char set[400];
    dp_keyset exclude = ctx->state->exclude;

    if (ks.backend == 0) {
        dpi_text_add(t, "no kernel: no argument is a tensor and nothing is registered for calls "
                        "without one");
        return;
    }
    dpi_text_add(t, "no kernel: no key of the arguments is left");
    if (dp_keyset_list(exclude, NULL, 0) > 0)
        dpi_text_printf(t, "; the session, or a guard of a kernel, excludes: %s",
                        dp_keyset_print(exclude, set, sizeof(set)));
}

/* Append the reason why no kernel of `e` serves `key`, if it is one of two: the plugin of a kind of
 * wrapper tensors was unloaded, or a backend with its own memory has no fallback to the CPU kernel
 * (dp_fallback_cpu). */
static void describe_reason(dpi_text *t, const dpi_entry *e, dp_key key)
{
    int b = dp_key_backend(key);
    char name[DP_KEY_NAME_MAX], owner[DP_LIMIT_NAME_BYTES + 1];

    if (dp_kind_owner(key, owner) != NULL && owner[0] == '\0')
        dpi_text_printf(t, ": the plugin of kind '%s' is not loaded", dp_key_name(key, name));
    else if (dp_key_functionality(key) == DP_F_Dense && dpi_backend_has_memory(b) &&
             dpi_entry_cell(e, DP_KEY_OF(DP_F_Dense, DP_B_CPU)).kernel != NULL)
        dpi_text_printf(t,
                        ": DP_FALLBACK(%s, dp_fallback_cpu) in its plugin would run it on the CPU",
                        dp_key_name(key, name));
}

DPI_COLD const dpi_kernel *dpi_fail_missing(dp_ctx *ctx, const dpi_entry *e, dp_keyset ks,
                                            unsigned cell)
{
    char name[DP_KEY_NAME_MAX], set[400], plugin[DP_LIMIT_NAME_BYTES + 1];
    dp_key key = dpi_keyset_highest(ks);
    dpi_text t = {0};

    if (cell == DPI_CELL_AMBIGUOUS) {
        dpi_text_add(
            &t, "ambiguous for AutogradOther: it has a CompositeImplicitAutograd kernel and "
                "kernels for backends that share AutogradOther; register one for AutogradOther");
    } else {
        if (key == DP_KEY_Undefined)
            describe_no_key(ctx, ks, &t);
        else
            dpi_text_printf(&t, "no kernel for %s (the call's keys: %s)", dp_key_name(key, name),
                            dp_keyset_print(ks, set, sizeof(set)));
        if (key == DP_KEY_OF(DP_F_Dense, DP_B_Meta) &&
            dpi_entry_cell(e, DP_KEY_OF(DP_F_Dense, DP_B_CPU)).kernel != NULL)
            dpi_text_add(&t, ": the one for CPU needs the bytes of its tensors");
        describe_reason(&t, e, key);
        dpi_text_add(&t, "; keys that have one: ");
        dpi_entry_list(e, &t);
        if (dpi_registry_gone(ctx->reg, e->op->name, plugin))
            dpi_text_printf(&t, "; plugin '%s' had one: load it", plugin);
    }
    dpi_fail_op(ctx, DP_ENOTIMPL, e->op, key, t.s ? t.s : "no kernel");
    dpi_text_fini(&t);
    return NULL;
}

DPI_COLD const dpi_kernel *dpi_fail_depth(dp_ctx *ctx, const dp_op *op)
{
    unsigned depth = atomic_load_explicit(&ctx->thread->depth, memory_order_relaxed);

    if (depth >= DP_LIMIT_CALL_DEPTH)
        dp_error_set(&ctx->error, DP_ERUNTIME,
                     "%s: maximum recursion depth of %d calls inside calls exceeded", op->name,
                     DP_LIMIT_CALL_DEPTH);
    else
        dp_error_set(&ctx->error, DP_ERUNTIME,
                     "%s: the thread's stack ends after %u calls inside calls", op->name, depth);
    return NULL;
}

DPI_COLD const dpi_kernel *dpi_fail_closed(dp_ctx *ctx, const dp_op *op, const dpi_kernel *k)
{
    char text[300];

    snprintf(text, sizeof(text),
             "plugin '%s' (generation %llu) was unloaded while this request ran", k->gen->plugin,
             (unsigned long long)k->gen->number);
    ctx->outdated = true;
    dpi_fail_op(ctx, DP_ENOTFOUND, op, k->key, text);
    return NULL;
}

DPI_COLD void dpi_fail_fallback(dp_ctx *ctx, const dp_op *op, const dpi_kernel *k, dp_key key)
{
    char text[300], name[DP_KEY_NAME_MAX];

    snprintf(text, sizeof(text),
             "no kernel for %s but the fallback of plugin '%s' (%s:%u), which the mode forbids",
             dp_key_name(key, name), k->gen->plugin, k->file, k->line);
    dpi_fail_op(ctx, DP_ENOTIMPL, op, key, text);
}

/* May a kernel return code `rc` without describing the error?  Errors about names, plugins and
 * permissions arise only in calls that the kernel made, and those calls describe them. */
static bool is_plain(int rc)
{
    return (rc <= DP_ERUNTIME && rc >= DP_ENOTIMPL) || rc == DP_ERESOURCE || rc == DP_EDEADLINE ||
           rc == DP_ECANCELLED;
}

/* Complete the error of a failed kernel, so that its code and its text agree. */
DPI_COLD int dpi_fail_kernel(dp_ctx *ctx, const dpi_kernel *k, const dp_op *op, int rc)
{
    char text[300];

    if (dp_error_name(rc) == NULL || ctx->error.code == 0) {
        snprintf(text, sizeof(text),
                 "kernel of plugin '%s' (%s:%u) returned %d without describing it", k->gen->plugin,
                 k->file, k->line, rc);
        return dpi_fail_op(ctx, is_plain(rc) ? rc : DP_EPLUGIN, op, dp_ctx_key(ctx), text);
    }
    ctx->error.code = rc;
    if (ctx->error.op[0] == '\0')
        set_op_and_key(&ctx->error, op, dp_ctx_key(ctx));
    return rc;
}

enum { RETURNED_KIND_MAX = 250 };

/* Return a text for the kind of a value that a kernel returned, as a type of the schema language if
 * possible.  `buf`: space for the kind of an object. */
static const char *describe_returned(const dp_value *v, char buf[RETURNED_KIND_MAX])
{
    if (v->tag == DP_TAG_OBJECT && v->u.o != NULL) {
        snprintf(buf, RETURNED_KIND_MAX, "object of kind '%.200s'", dp_object_kind(v->u.o));
        return buf;
    }
    if (v->tag == DP_TAG_NONE || (v->tag == DP_TAG_TENSOR && v->u.t == NULL) ||
        dpi_value_lacks_memory(v))
        return "nothing";
    for (uint32_t i = 0; v->tag == DP_TAG_TENSORS && i < v->len; i++)
        if (v->u.tensors[i] == NULL)
            return "Tensor?[]";
    return dpi_value_kind(v);
}

DPI_COLD int dpi_fail_return(dp_ctx *ctx, const dpi_entry *e, const dpi_kernel *k, size_t i,
                             const dp_value *v)
{
    dpi_text type = {0};
    char text[700], buf[RETURNED_KIND_MAX];

    if (e->schema->ret_alias[i] >= 0) {
        snprintf(text, sizeof(text),
                 "kernel of plugin '%s' (%s:%u) set return %zu of %u, which is argument '%s': it "
                 "stays None, the host returns the argument",
                 k->gen->plugin, k->file, k->line, i + 1, e->n_rets,
                 e->schema->args[e->schema->ret_alias[i]].name);
        return dpi_fail_op(ctx, DP_EPLUGIN, e->op, dp_ctx_key(ctx), text);
    }
    dpi_type_print(&type, e->schema->rets[i].type, true);
    snprintf(text, sizeof(text),
             "kernel of plugin '%s' (%s:%u) gave %s for return %zu of %u, which is %s",
             k->gen->plugin, k->file, k->line, describe_returned(v, buf), i + 1, e->n_rets,
             type.s ? type.s : "?");
    dpi_text_fini(&type);
    return dpi_fail_op(ctx, DP_EPLUGIN, e->op, dp_ctx_key(ctx), text);
}

DPI_COLD int dpi_fail_dangling(dp_ctx *ctx, const dpi_kernel *k, const dp_op *op)
{
    char text[300];

    snprintf(text, sizeof(text),
             "kernel of plugin '%s' (%s:%u) returned what points to its own stack; dp_alloc() has "
             "memory for that",
             k->gen->plugin, k->file, k->line);
    return dpi_fail_op(ctx, DP_EPLUGIN, op, dp_ctx_key(ctx), text);
}

DPI_COLD int dpi_fail_code(dp_ctx *ctx, const dpi_entry *e, uint32_t code)
{
    char text[400];

    snprintf(text, sizeof(text), "its schema has the C type '%s', the caller uses '%s'",
             e->schema->code, dpi_code_text(code));
    return dpi_fail_op(ctx, DP_ETYPE, e->op, DP_KEY_Undefined, text);
}

/* Fail with DP_EPLUGIN: the running kernel did `what`. */
static int fail_running(dp_ctx *ctx, const char *what)
{
    const dpi_frame *f = &ctx->thread->frames[atomic_load(&ctx->thread->depth) - 1];
    const dpi_kernel *k = atomic_load_explicit(&f->kernel, memory_order_relaxed);
    char text[300];

    snprintf(text, sizeof(text), "kernel of plugin '%s' (%s:%u) %s", k->gen->plugin, k->file,
             k->line, what);
    return dpi_fail_op(ctx, DP_EPLUGIN, atomic_load_explicit(&f->op, memory_order_relaxed),
                       dp_ctx_key(ctx), text);
}

DPI_COLD int dpi_fail_memoryless(dp_ctx *ctx)
{
    return fail_running(ctx, "asked for dp_parallel_for(), which works on bytes, and its tensors "
                             "have no memory");
}

/* Do the same as fail_running(), also for a loop that was started outside of any kernel. */
static int fail_loop(dp_ctx *ctx, const char *what)
{
    bool running = ctx->thread != NULL && atomic_load(&ctx->thread->depth) > 0;

    return running ? fail_running(ctx, what)
                   : dp_error_set(&ctx->error, DP_EPLUGIN, "its caller %s", what);
}

DPI_COLD int dpi_fail_looping(dp_ctx *ctx)
{
    return fail_loop(ctx, "called an operator from the body of dp_parallel_for()");
}

DPI_COLD int dpi_fail_stopped(dp_ctx *ctx, int code)
{
    double late = ctx->stop.deadline != 0 ? (double)(dpi_nanos() - ctx->stop.deadline) / 1e6 : 0;

    if (code == DPI_THREAD_LEFT)
        return fail_loop(ctx, "ended a thread of the pool, from the body of its loop");
    if (code == DP_ECANCELLED)
        return dp_error_set(&ctx->error, code, "cancelled while it ran");
    return dp_error_set(&ctx->error, code, "its deadline passed %.3f ms ago", late);
}
