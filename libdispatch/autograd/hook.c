/* hook.c -- hooks: operators that change the gradient of a tensor in backward
 * (Tensor.register_hook; torch/csrc/autograd/engine.cpp: call_tensor_pre_hooks).
 *
 * A hook gets the sum of all gradients of its tensor, before the node that computed the tensor runs
 * or the leaf gets the gradient.  Retained gradients and those of inputs are what hooks returned.
 * The hooks of a leaf are in its dpi_meta.  Those of a computed tensor are in the list of its node
 * (dpi_kept_item): if the tensor is written in place later, they stay with the value that it had.
 *
 * A hook is the handle of an operator, so its plugin can be unloaded; backward then fails by
 * name.  Watchers of a gradient (watcher.c) stand in the same lists.  They are told at the end of a
 * backward that has not failed. */
#include "engine.h"
#include "tensor/room.h"
#include <string.h>

/* -- adding and removing -- */

/* Check that `op` takes a gradient and returns one, and get its schema: *info. */
static int check_schema(dp_ctx *ctx, const dp_op *op, dp_schema_info *info)
{
    dp_arg_info arg = {.size = sizeof(arg)}, ret = {.size = sizeof(ret)};
    int rc = dp_schema_info_get(ctx, op, info);

    if (rc < 0)
        return rc;
    bool fits = info->n_args > 0 && info->n_rets == 1 && info->written == 0 &&
                dp_op_arg(info, 0, &arg) && arg.type == DP_TYPE_TENSOR && arg.depth == 0 &&
                dp_op_ret(info, 0, &ret) && ret.type == DP_TYPE_TENSOR && ret.depth == 0;
    for (uint32_t i = 1; i < info->n_args && fits; i++)
        fits = dp_op_arg(info, i, &arg) && arg.has_default;
    if (fits)
        return 0;
    return dp_error_set(&ctx->error, DP_ETYPE,
                        "a hook takes a gradient, (Tensor grad) -> Tensor, and writes no argument; "
                        "other arguments have defaults: %s does not fit",
                        info->text);
}

/* Find the place of t's hooks, a computed tensor that retains its gradient, in the list of `n`;
 * NULL: it does not retain it. */
static dpi_kept_item *item_of(const dp_tensor *t, const dpi_node *n)
{
    const dpi_kept *k = dpi_kept_of(t);
    dpi_kept_item *i = atomic_load_explicit(&n->kept, memory_order_acquire);

    while (i != NULL && (k == NULL || i->kept != k))
        i = i->next;
    return i;
}

/* Change the hooks of t.  `item`: the place of the hooks; NULL: t is a leaf. */
static int replace(dp_ctx *ctx, dp_tensor *t, dpi_kept_item *item, const dpi_hooks_change *change)
{
    for (bool done = false; !done;) { /* again if another connection was faster */
        dpi_hooks *before = item != NULL ? dpi_kept_hooks(item) : dpi_meta_hooks(t), *after = NULL;
        int rc = dpi_hooks_new(ctx, before, change, &after);
        if (rc == 0)
            done = item != NULL ? dpi_kept_hooks_replace(item, before, after)
                                : dpi_meta_hooks_replace(t, before, after);
        if (!done)
            dpi_hooks_unref(after);
        dpi_hooks_unref(before);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int hook_edge(dp_ctx *ctx, dp_tensor *t, dpi_edge e, const dpi_hooks_change *change)
{
    dpi_kept_item *item = e.to != NULL && !e.leaf ? item_of(t, e.to) : NULL;

    if (e.to == NULL)
        return dp_error_set(&ctx->error, DP_ERUNTIME,
                            "cannot register a hook on a tensor that doesn't require gradient");
    if (!e.leaf && item == NULL)
        return dp_error_set(&ctx->error, DP_ERUNTIME,
                            "cannot register a hook on a computed tensor that does not retain its "
                            "gradient: call aten::retain_grad first");
    return replace(ctx, t, item, change);
}

/* Change the hooks of t; check the schema of an operator that is added. */
static int hook_tensor(dp_ctx *ctx, dp_tensor *t, const dpi_hooks_change *change)
{
    dp_schema_info info = {.size = sizeof(info)};
    dpi_edge e;
    bool begun;
    int rc = dpi_ctx_pin(ctx, &begun);

    if (rc < 0)
        return rc;
    if (change->add.op != NULL)
        rc = check_schema(ctx, change->add.op, &info);
    if (rc == 0 && (rc = dpi_edge_of(ctx, t, &e)) == 0) {
        rc = hook_edge(ctx, t, e, change);
        dpi_edge_unref(e);
    }
    dpi_ctx_unpin(ctx, begun);
    return rc;
}

int dp_tensor_hook(dp_ctx *ctx, dp_tensor *t, const dp_op *op)
{
    return hook_tensor(ctx, t, &(dpi_hooks_change){.drop_ops = op == NULL, .add = {.op = op}});
}

/* Return the hooks of t, with a reference; NULL: none. */
static dpi_hooks *hooks_of(const dp_tensor *t)
{
    dpi_edge e = dpi_edge_recorded(t);
    dpi_kept_item *item = e.to != NULL && !e.leaf ? item_of(t, e.to) : NULL;
    dpi_hooks *h = item != NULL             ? dpi_kept_hooks(item)
                   : e.to == NULL || e.leaf ? dpi_meta_hooks(t)
                                            : NULL;

    dpi_edge_unref(e);
    return h;
}

int dp_tensor_watch_grad(dp_ctx *ctx, dp_tensor *t, dp_grad_watcher *w, uint64_t name)
{
    dpi_hooks *h = hooks_of(t);
    bool watched = false;

    for (uint32_t i = 0; h != NULL && i < h->n; i++)
        watched |= h->of[i].watcher == w;
    dpi_hooks_unref(h);
    int rc = hook_tensor(ctx, t, &(dpi_hooks_change){.add = {.watcher = w, .name = name}});
    return rc < 0 ? rc : !watched;
}

int dp_tensor_unwatch_grad(dp_ctx *ctx, dp_tensor *t, const dp_grad_watcher *w)
{
    return hook_tensor(ctx, t, &(dpi_hooks_change){.drop = w});
}

uint32_t dp_tensor_hooks(const dp_tensor *t)
{
    dpi_hooks *h = hooks_of(t);
    uint32_t n = dpi_hooks_ops(h);

    dpi_hooks_unref(h);
    return n;
}

/* -- backward -- */

/* Put the hook's name before the error's message. */
static int fail_inside(dp_ctx *ctx, const dp_op *op)
{
    dp_error inner = ctx->error;

    dp_error_set(&ctx->error, inner.code, "hook %s: %s", op->name, inner.message);
    memcpy(ctx->error.op, inner.op, sizeof(inner.op));
    memcpy(ctx->error.key, inner.key, sizeof(inner.key));
    return inner.code;
}

/* Check that a hook returned a gradient like the one that it got. */
static int check_result(dp_ctx *ctx, const dp_op *op, const dp_tensor *had, const dp_tensor *got)
{
    const dpi_geometry *a = dpi_geometry_of(had), *b = dpi_geometry_of(got);
    char of[DP_SHAPE_TEXT], to[DP_SHAPE_TEXT], from[DP_KEY_NAME_MAX], on[DP_KEY_NAME_MAX];

    if (had->dtype == got->dtype && a->storage->device == b->storage->device &&
        dpi_same_sizes(a, b))
        return 0;
    return dp_error_set(
        &ctx->error, DP_ERUNTIME,
        "hook %s has changed the gradient from %s %s on %s to %s %s on %s, but a "
        "hook must keep shape, dtype and device",
        op->name, dp_dtype_name(had->dtype), dp_shape_text(of, a->sizes, (size_t)a->ndim),
        dp_device_name(a->storage->device, from), dp_dtype_name(got->dtype),
        dp_shape_text(to, b->sizes, (size_t)b->ndim), dp_device_name(b->storage->device, on));
}

/* Replace *grad by what hook `op` returns for it.  `check_nan`: DP_BACKWARD_CHECK_NAN is set. */
static int run_one(dp_ctx *ctx, const dp_op *op, bool check_nan, dp_tensor **grad)
{
    dp_schema_info info = {.size = sizeof(info)};
    dp_value ret = {0};
    int rc = check_schema(ctx, op, &info); /* its plugin may have been reloaded or unloaded */

    if (rc < 0)
        return fail_inside(ctx, op);
    dp_value *args = dp_arena_alloc_n(&ctx->arena, info.n_args, sizeof(*args));
    if (args == NULL)
        return dpi_no_memory(&ctx->error, "a hook");
    args[0] = dp_tensor_value(*grad);
    for (uint32_t i = 1; i < info.n_args; i++) {
        dp_arg_info arg = {.size = sizeof(arg)};
        dp_op_arg(&info, i, &arg);
        args[i] = arg.default_value;
    }
    if (dp_call_boxed(ctx, op, args, info.n_args, &ret, 1) < 0)
        return fail_inside(ctx, op);
    if (ret.tag != DP_TAG_TENSOR)
        return 0; /* None: the gradient stays, as in PyTorch */
    rc = check_result(ctx, op, *grad, ret.u.t);
    if (rc == 0 && check_nan)
        rc = dpi_anomaly_check_hook(ctx, op, *grad, ret.u.t);
    if (rc < 0) {
        dp_tensor_unref(ret.u.t);
        return rc;
    }
    dp_tensor_unref(*grad);
    *grad = ret.u.t;
    return 0;
}

/* Note that watcher `i` is to be told that a gradient was computed. */
static int note_watcher(dpi_engine *g, const dpi_hook *i)
{
    if (g->dry != NULL)
        return 0;
    dpi_hook *told = dpi_grow(g->told, &g->cap_told, g->n_told + 1, sizeof(*told));
    if (told == NULL)
        return dpi_no_memory(&g->ctx->error, "backward");
    g->told = told;
    g->told[g->n_told] = *i;
    dpi_watcher_ref(g->told[g->n_told++].watcher);
    return 0;
}

void dpi_watchers_tell(dpi_engine *g, bool succeeded)
{
    for (uint32_t i = 0; i < g->n_told; i++) {
        if (succeeded)
            dpi_watcher_tell(g->told[i].watcher, g->told[i].name);
        dpi_watcher_unref(g->told[i].watcher);
    }
    dp_free(g->told);
}

/* Run the hooks in `h`, whose reference is released; NULL: there are none. */
static int run_all(dpi_engine *g, dpi_hooks *h, dp_tensor **grad)
{
    const bool check_nan = (g->o->flags & DP_BACKWARD_CHECK_NAN) != 0;
    dp_ctx *ctx = g->ctx;
    char *at = ctx->arena.at;
    int rc = 0;

    for (uint32_t i = 0; h != NULL && i < h->n && rc == 0; i++)
        rc = h->of[i].op != NULL ? run_one(ctx, h->of[i].op, check_nan, grad)
                                 : note_watcher(g, &h->of[i]);
    if (h != NULL && at != NULL)
        dpi_arena_rewind(&ctx->arena, at);
    dpi_hooks_unref(h);
    return rc;
}

int dpi_hooks_of_node(dpi_engine *g, const dpi_node *n, dp_tensor **grads)
{
    int rc = 0;

    for (dpi_kept_item *i = atomic_load_explicit(&n->kept, memory_order_acquire);
         i != NULL && rc == 0; i = i->next)
        if (grads[i->nr] != NULL)
            rc = run_all(g, dpi_kept_hooks(i), &grads[i->nr]);
    return rc;
}

int dpi_hooks_of_leaves(dpi_engine *g)
{
    int rc = 0;

    for (uint32_t i = 0; i < g->n_tasks && rc == 0; i++) {
        dp_tensor **grad = &g->grads[g->tasks[i].first];
        if (g->tasks[i].at.leaf && *grad != NULL)
            rc = run_all(g, dpi_meta_hooks(g->tasks[i].at.to), grad);
    }
    return rc;
}
