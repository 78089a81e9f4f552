/* view.c -- history of views and of tensors written in place
 * (torch/csrc/autograd/variable.cpp: rebase_history, grad_fn).
 *
 * If a base is written through a view, the base gets a node that knows the view's geometry
 * (CopySlices).  All views of the base then have outdated nodes.  Each view gets a new node when
 * dpi_edge_of() is called for it. */
#include "history.h"
#include "tensor/room.h"

dpi_geometry_copy *dpi_geometry_copy_new(const dp_tensor *t)
{
    const dpi_geometry *g = dpi_geometry_of(t);
    size_t ndim = (size_t)g->ndim;
    dpi_geometry_copy *c = dp_malloc(dpi_geometry_copy_bytes(g->ndim));

    if (c == NULL)
        return NULL;
    c->dtype = t->dtype;
    c->device = g->storage->device;
    c->math_bits = dpi_math_bits(t);
    c->ndim = g->ndim;
    c->offset = g->offset;
    dp_copy_n(c->dims, g->sizes, ndim, sizeof(int64_t));
    dp_copy_n(c->dims + ndim, g->strides, ndim, sizeof(int64_t));
    return c;
}

/* Make a node of kind STRIDED (its return is the view) or SLICES (its return is the base).  `base`
 * and `view`, the geometries of both, are taken; if either is NULL, fail: there was no memory. */
static int window_node(dp_ctx *ctx, dpi_node_kind kind, const dp_op *op, uint32_t n_edges,
                       dpi_geometry_copy *base, dpi_geometry_copy *view, dpi_node **out)
{
    const dpi_geometry_copy *g = kind == DPI_NODE_SLICES ? base : view;
    int rc = base != NULL && view != NULL
                 ? dpi_node_new(ctx, kind, op, n_edges, 1, 0, 0, (uint32_t)g->ndim, out)
                 : dpi_no_memory(&ctx->error, "history of a view");

    if (rc < 0) {
        dp_free(base);
        dp_free(view);
        return rc;
    }
    (*out)->rets[0] = (dpi_node_ret){g->dtype, g->device, g->ndim, 0, true};
    dp_copy_n((*out)->dims, g->dims, (size_t)g->ndim, sizeof(int64_t));
    (*out)->base = base;
    (*out)->view = view;
    return 0;
}

int dpi_history_rebase(dp_ctx *ctx, dp_tensor *t, dpi_node *n, uint32_t nr, uint32_t edge)
{
    dpi_edge of_base;
    dpi_node *slices;

    int rc = t->root == NULL ? dpi_kept_follow(ctx, dpi_kept_of(t), n, nr)
                             : dpi_edge_of(ctx, t->root, &of_base);
    if (rc == 0 && t->root == NULL)
        return dpi_history_set(ctx, t, dpi_node_ref(n), nr);
    if (rc < 0)
        return rc;
    rc = window_node(ctx, DPI_NODE_SLICES, n->op, n->n_edges + 1, dpi_geometry_copy_new(t->root),
                     dpi_geometry_copy_new(t), &slices);
    if (rc < 0) {
        dpi_edge_unref(of_base);
        return rc;
    }
    dpi_node_set_edge(slices, 0, of_base);
    for (uint32_t i = 0; i < n->n_edges; i++)
        if (i != edge)
            dpi_node_set_edge(slices, i + 1, dpi_edge_ref(n->edges[i]));
    slices->inner = dpi_node_ref(n);
    slices->inner_ret = nr;
    slices->inner_edge = edge;
    return dpi_history_set(ctx, t->root, slices, 0);
}

/* Fail because t is a view that cannot be used after it, or its base, was written in place.  The
 * reason is how the view was made (t->creation); `what` says what was written. */
static int fail_creation(dp_ctx *ctx, const char *op, const dp_tensor *t, const char *what)
{
    static const char *const reasons[DP_CREATED_END] = {
        [DP_CREATED_NO_GRAD] = "was created in no_grad mode and %s with grad mode enabled. Given "
                               "that this use case is ambiguous and error-prone, it is forbidden",
        [DP_CREATED_INFERENCE] = "was created in inference mode and %s in normal mode",
        [DP_CREATED_MULTIPLE] = "is the output of a function that returns multiple views. Such "
                                "functions do not allow the output views to be modified inplace; "
                                "it %s. You should replace the inplace operation by an "
                                "out-of-place one",
        [DP_CREATED_CUSTOM] = "was created inside a custom Function and %s"};
    char text[400];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(text, sizeof(text), reasons[t->creation], what);
#pragma GCC diagnostic pop
    return dp_error_set(&ctx->error, DP_ERUNTIME, "%s: a view %s", op, text);
}

/* Make a new node for view t, whose base was written: *out, owned; NULL: the base requires no
 * gradient. */
static int view_history(dp_ctx *ctx, const dp_tensor *t, dpi_node **out)
{
    dpi_edge of_base;

    *out = NULL;
    if (t->creation != DP_CREATED_DEFAULT)
        return fail_creation(ctx, "autograd", t,
                             "its base or another view of its base has been "
                             "modified inplace");
    int rc = dpi_edge_of(ctx, t->root, &of_base);
    if (rc < 0 || of_base.to == NULL)
        return rc;
    rc = window_node(ctx, DPI_NODE_STRIDED, NULL, 1, dpi_geometry_copy_new(t->root),
                     dpi_geometry_copy_new(t), out);
    if (rc == 0)
        dpi_node_set_edge(*out, 0, of_base);
    else
        dpi_edge_unref(of_base);
    return rc;
}

static dpi_geometry_copy *copied(const dpi_geometry_copy *g)
{
    size_t bytes = dpi_geometry_copy_bytes(g->ndim);
    dpi_geometry_copy *c = dp_malloc(bytes);

    if (c != NULL)
        memcpy(c, g, bytes);
    return c;
}

int dpi_view_of_slices(dp_ctx *ctx, dpi_node *slices, dpi_node **out)
{
    int rc = window_node(ctx, DPI_NODE_STRIDED, NULL, 1, copied(slices->base), copied(slices->view),
                         out);

    if (rc == 0)
        dpi_node_set_edge(*out, 0, (dpi_edge){dpi_node_ref(slices), 0, false});
    return rc;
}

int dpi_edge_of_view(dp_ctx *ctx, const dp_tensor *t, dpi_edge *out)
{
    /* read before the edge, because dpi_history_set() stores the version after the edge */
    bool outdated = dpi_is_outdated(t);

    *out = dpi_edge_recorded(t);
    if (!outdated || (out->to == NULL && !dpi_needs_grad(t->root)))
        return 0;
    dpi_edge_unref(*out);
    *out = (dpi_edge){0};
    dpi_node *n;
    int rc = view_history(ctx, t, &n);
    if (rc < 0 || n == NULL)
        return rc;
    rc = dpi_kept_follow(ctx, dpi_kept_of(t), n, 0);
    if (rc == 0) /* the cast drops const: only t's history changes */
        rc = dpi_history_set(ctx, (dp_tensor *)(uintptr_t)t, dpi_node_ref(n), 0);
    if (rc == 0)
        *out = (dpi_edge){n, 0, false};
    else
        dpi_node_unref(n);
    return rc;
}

int dpi_check_inplace(dp_ctx *ctx, const dp_op *op, const dp_tensor *t)
{
    if (t == NULL)
        return 0;
    if (t->root != NULL && t->creation != DP_CREATED_DEFAULT && dpi_differentiable(t->dtype))
        return fail_creation(ctx, op->name, t, "is being modified inplace");
    if (t->root != NULL && dpi_is_grad_leaf(t->root))
        return dp_error_set(&ctx->error, DP_ERUNTIME,
                            "%s: a view of a leaf Variable that requires grad is being used in an "
                            "in-place operation.",
                            op->name);
    if (dpi_is_grad_leaf(t))
        return dp_error_set(&ctx->error, DP_ERUNTIME,
                            "%s: a leaf Variable that requires grad is being used in an in-place "
                            "operation.",
                            op->name);
    return 0;
}
