/* anomaly.c -- find the first step of backward that computes a gradient which is not finite
 * (DP_BACKWARD_CHECK_NAN; torch.autograd.detect_anomaly with check_nan). */
#include "engine.h"
#include "tensor/room.h"
#include <stdio.h>

/* Write the indices of the element at which the bool `v` is false as text, "[0, 2]". */
static const char *false_at(const dp_view *v, char text[DP_SHAPE_TEXT])
{
    int64_t at[DP_DIM_MAX] = {0};
    const char *data = v->data;

    for (int64_t i = 0; i < v->numel; i++) {
        int64_t rest = i, offset = 0;
        for (int d = v->ndim - 1; d >= 0; d--) {
            at[d] = rest % v->sizes[d];
            rest /= v->sizes[d];
            offset += at[d] * v->strides[d];
        }
        if (data[offset] == 0)
            break;
    }
    return dp_shape_text(text, at, (size_t)v->ndim);
}

/* Are all elements of t finite?  *finite; if not, `where` has the indices of the first element that
 * is not, or is "" if t is not in the host's memory. */
static int is_finite(dp_ctx *ctx, dp_tensor *t, bool *finite, char where[DP_SHAPE_TEXT])
{
    dp_tensor *mask, *all;
    dp_value ret = {0};

    *finite = true;
    where[0] = '\0';
    if (t == NULL || dpi_is_memoryless(t))
        return 0;
    int rc = dpi_call_one(ctx, "aten::isfinite", (dp_value[]){dp_tensor_value(t)}, 1, &mask);
    if (rc < 0)
        return rc;
    rc = dpi_call_one(ctx, "aten::all", (dp_value[]){dp_tensor_value(mask)}, 1, &all);
    if (rc == 0) {
        const dp_value args[1] = {dp_tensor_value(all)};
        const dp_op *item = dp_op_find(ctx, "aten::item");
        rc = item != NULL ? dp_call_boxed(ctx, item, args, 1, &ret, 1) : ctx->error.code;
        dp_tensor_unref(all);
    }
    DP_VIEW(v, mask);
    *finite = rc < 0 || ret.u.b;
    if (!*finite && dpi_storage_of(mask)->host)
        false_at(&v, where);
    dp_tensor_unref(mask);
    return rc;
}

static int all_finite(dp_ctx *ctx, dp_tensor *const *grads, uint32_t n, bool *finite)
{
    char where[DP_SHAPE_TEXT];
    int rc = 0;

    *finite = true;
    for (uint32_t i = 0; i < n && rc == 0 && *finite; i++)
        rc = is_finite(ctx, grads[i], finite, where);
    return rc;
}

/* Name the argument to which edge `e` of n belongs: "argument 'self'". */
static void name_argument(dp_ctx *ctx, const dpi_node *n, uint32_t e, char *text, size_t bytes)
{
    dp_schema_info info = {.size = sizeof(info)};
    dp_arg_info arg = {.size = sizeof(arg)};
    uint32_t i = 0;

    while (i + 1 < n->n_args && n->arg_edges[i + 1] <= e)
        i++;
    if (n->n_args > 0 && n->op != NULL && dp_schema_info_get(ctx, n->op, &info) == 0 &&
        dp_op_arg(&info, i, &arg))
        snprintf(text, bytes, "argument '%s'", arg.name);
    else
        snprintf(text, bytes, "tensor %u", e);
}

static int fail_step(dp_ctx *ctx, const dpi_node *n, uint32_t e, const char *where)
{
    char argument[DP_LIMIT_NAME_BYTES + 32];

    name_argument(ctx, n, e, argument, sizeof(argument));
    return dp_error_set(&ctx->error, DP_ERUNTIME,
                        "%s returned a gradient of its %s that is not finite%s%s, although the "
                        "gradients that it got are",
                        n->op != NULL ? n->op->name : "a view", argument, where[0] ? ", at " : "",
                        where);
}

/* Let no call be recorded until dp_guard_leave(); else these calls would be, with create_graph.
 * Returns the depth for dp_guard_leave(). */
static int begin(dp_ctx *ctx)
{
    dp_mode mode = *dp_ctx_mode(ctx);

    mode.no_grad = true;
    return dp_guard_mode(ctx, &mode);
}

static int check_step(dp_ctx *ctx, const dpi_node *n, dp_tensor *const *got,
                      dp_tensor *const *returned)
{
    char where[DP_SHAPE_TEXT];
    bool finite = true, was_finite;
    int rc = 0;

    for (uint32_t i = 0; i < n->n_edges && rc == 0; i++) {
        rc = is_finite(ctx, returned[i], &finite, where);
        if (rc < 0 || finite)
            continue;
        rc = all_finite(ctx, got, n->n_rets, &was_finite);
        return rc == 0 && was_finite ? fail_step(ctx, n, i, where) : rc;
    }
    return rc;
}

int dpi_anomaly_check(dp_ctx *ctx, const dpi_node *n, dp_tensor *const *got, dp_tensor **returned)
{
    int rc = 0, depth;

    /* a cast to the dtype of the argument can overflow, too */
    for (uint32_t i = 0; i < n->n_edges && rc == 0; i++)
        if (returned[i] != NULL && n->edges[i].to != NULL)
            rc = dpi_gradient_fit(ctx, n->edges[i], &returned[i]);
    if (rc < 0 || (depth = rc = begin(ctx)) < 0)
        return rc;
    rc = check_step(ctx, n, got, returned);
    dp_guard_leave(ctx, depth);
    return rc;
}

static int check_hook(dp_ctx *ctx, const dp_op *op, dp_tensor *got, dp_tensor *returned)
{
    char where[DP_SHAPE_TEXT], before[DP_SHAPE_TEXT];
    bool finite = true, was_finite = true;
    int rc = is_finite(ctx, returned, &finite, where);

    if (rc == 0 && !finite)
        rc = is_finite(ctx, got, &was_finite, before);
    if (rc < 0 || finite || !was_finite)
        return rc;
    return dp_error_set(&ctx->error, DP_ERUNTIME,
                        "hook %s returned a gradient that is not finite%s%s, although the gradient "
                        "that it got is",
                        op->name, where[0] ? ", at " : "", where);
}

int dpi_anomaly_check_hook(dp_ctx *ctx, const dp_op *op, dp_tensor *got, dp_tensor *returned)
{
    int depth = begin(ctx);

    if (depth < 0)
        return depth;
    int rc = check_hook(ctx, op, got, returned);
    dp_guard_leave(ctx, depth);
    return rc;
}

static int fail_sum(dp_ctx *ctx, dpi_edge e, const char *where)
{
    const dpi_node *n = e.leaf ? NULL : e.to;

    return dp_error_set(&ctx->error, DP_ERUNTIME,
                        "the sum of two gradients of %s%s is not finite%s%s, although both are",
                        n == NULL ? "a leaf" : "a tensor returned by ",
                        n == NULL       ? ""
                        : n->op != NULL ? n->op->name
                                        : "a view",
                        where[0] ? ", at " : "", where);
}

int dpi_anomaly_add(dp_ctx *ctx, bool create, dpi_edge e, dp_tensor **sum, dp_tensor *grad)
{
    char where[DP_SHAPE_TEXT];
    bool were_finite = true, finite = true;
    int depth, rc = depth = begin(ctx);

    if (depth >= 0) {
        rc = all_finite(ctx, (dp_tensor *[]){*sum, grad}, 2, &were_finite);
        dp_guard_leave(ctx, depth);
    }
    if (rc < 0) {
        dp_tensor_unref(grad);
        return rc;
    }
    rc = dpi_gradient_add(ctx, create, sum, grad);
    if (rc < 0 || !were_finite || (depth = rc = begin(ctx)) < 0)
        return rc;
    rc = is_finite(ctx, *sum, &finite, where);
    dp_guard_leave(ctx, depth);
    return rc < 0 || finite ? rc : fail_sum(ctx, e, where);
}
