/* once.c -- gradients that cannot be differentiated again (torch.autograd.function's
 * once_differentiable): backward computes them without recording, and gives them a node that fails
 * when a second backward reaches it. */
#include "history.h"
#include "tensor/room.h"

int dpi_fail_once(dp_ctx *ctx, const dpi_node *n)
{
    return dp_error_set(&ctx->error, DP_ERUNTIME,
                        "%s: trying to differentiate twice a function that was marked with "
                        "@once_differentiable",
                        n->op->name);
}

/* Does some tensor that `n` saved have history, or does one of the `n_edges` edges from edges[0] on
 * lead anywhere?  Otherwise the gradients are constants. */
static bool depends(const dpi_node *n, const dpi_edge *edges, uint32_t n_edges)
{
    for (uint32_t i = 0; i < n_edges; i++)
        if (edges[i].to != NULL)
            return true;
    for (uint32_t i = 0; i < n->formula->n_inputs; i++) {
        const dpi_source *from = &n->formula->inputs[i];
        if (from->kind == DPI_FROM_RET && (n->formula->differentiable >> from->index & 1))
            return true;
        if (from->kind != DPI_FROM_ARG)
            continue;
        for (uint32_t k = n->arg_edges[from->index]; k < n->arg_edges[from->index + 1]; k++)
            if (n->edges[k].to != NULL)
                return true;
    }
    return false;
}

/* Give node `m` the edges of `n`, and those of the gradients that n's formula got. */
static void give_edges(dpi_node *m, const dpi_node *n, const dpi_edge *edges)
{
    for (uint32_t i = 0; i < m->n_edges; i++) {
        dpi_edge e = i < n->n_edges ? dpi_edge_ref(n->edges[i]) : edges[i - n->n_edges];
        dpi_node_set_edge(m, i, e);
    }
}

/* Make return `nr` of `m` the history of an alias of *t, which replaces *t. */
static int mark(dp_ctx *ctx, dpi_node *m, uint32_t nr, dp_tensor **t, uint32_t *dims)
{
    dp_tensor *alias;
    int rc = dp_tensor_alias(*t, &alias, &ctx->error);

    if (rc < 0)
        return rc;
    dpi_node_set_return(m, nr, *t, dims);
    dp_tensor_unref(*t);
    *t = alias;
    return dpi_history_set(ctx, alias, dpi_node_ref(m), nr);
}

/* Give the gradients in `out` history that fails.  The references in `edges` are taken. */
static int mark_all(dp_ctx *ctx, const dpi_node *n, const dpi_edge *edges, dpi_applied *out)
{
    uint32_t n_dims = 0, dims = 0;
    dpi_node *m;

    for (uint32_t i = 0; i < n->n_edges; i++)
        n_dims += out->grads[i] != NULL ? (uint32_t)dpi_geometry_of(out->grads[i])->ndim : 0;
    int rc = dpi_node_new(ctx, DPI_NODE_MISSING, n->op, n->n_edges + n->n_rets, n->n_edges, 0, 0,
                          n_dims, &m);
    if (rc < 0) {
        for (uint32_t i = 0; i < n->n_rets; i++)
            dpi_edge_unref(edges[i]);
        return rc;
    }
    m->formula = dpi_formula_ref(n->formula);
    give_edges(m, n, edges);
    for (uint32_t i = 0; i < n->n_edges && rc == 0; i++)
        if (out->grads[i] != NULL && dpi_differentiable(out->grads[i]->dtype))
            rc = mark(ctx, m, i, &out->grads[i], &dims);
    dpi_node_unref(m);
    return rc;
}

/* Give the gradients history that fails, unless they are constants. */
static int mark_dependent(dp_ctx *ctx, const dpi_node *n, dp_tensor *const *grads, dpi_applied *out)
{
    dpi_edge *edges = dp_arena_alloc_n(&ctx->arena, n->n_rets, sizeof(*edges));
    int rc = 0;

    if (edges == NULL)
        return dpi_no_memory(&ctx->error, "gradients");
    dp_zero_n(edges, n->n_rets, sizeof(*edges));
    for (uint32_t i = 0; i < n->n_rets && rc == 0; i++)
        if (grads[i] != NULL && dpi_may_have_edge(grads[i]))
            rc = dpi_edge_of(ctx, grads[i], &edges[i]);
    if (rc == 0 && depends(n, edges, n->n_rets))
        return mark_all(ctx, n, edges, out);
    for (uint32_t i = 0; i < n->n_rets; i++)
        dpi_edge_unref(edges[i]);
    return rc;
}

int dpi_apply_once(dp_ctx *ctx, dpi_node *n, dp_tensor *const *grads, dpi_applied *out,
                   dpi_apply_fn apply)
{
    dp_mode mode = *dp_ctx_mode(ctx);
    dpi_applied plain = *out;

    mode.no_grad = true;
    plain.create_graph = false;
    int depth = dp_guard_mode(ctx, &mode);
    if (depth < 0)
        return depth;
    int rc = apply(ctx, n, grads, &plain);
    dp_guard_leave(ctx, depth);
    return rc == 0 ? mark_dependent(ctx, n, grads, out) : rc;
}
