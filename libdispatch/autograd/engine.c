/* engine.c -- backward: walk a graph from the differentiated tensors to its leaves
 * (torch/csrc/autograd/engine.cpp).
 *
 * Nodes run in the order of (topo, created), largest first.  A node's topo is larger than the topo
 * of each node that its edges lead to, so all gradients of a node have arrived before it runs, and
 * no earlier pass has to count them.  Gradients that reach the same return are summed in a buffer
 * of the backward, never of the node, so several threads can walk one graph at the same time.
 * Leaves get their gradients after the last node has run. */
#include "base/account.h"
#include "engine.h"
#include <stdio.h>
#include <time.h>

typedef dpi_engine engine;

static _Thread_local engine *innermost; /* the backward that runs on this thread; NULL: none */

static int no_memory(engine *g)
{
    return dpi_no_memory(&g->ctx->error, "backward");
}

/* -- gradients -- */

/* Add `grad`, which is taken, to the buffer of the return or leaf that `e` leads to, and queue the
 * task of the node. */
DPI_HOT static int send(engine *g, dpi_edge e, dp_tensor *grad)
{
    uint32_t t;
    int rc = dpi_engine_task(g, e, &t);

    if (rc == 0 && g->o->n_inputs > 0 && !g->tasks[t].needed) {
        dp_tensor_unref(grad);
        return 0;
    }
    if (rc == 0)
        rc = dpi_gradient_fit(g->ctx, e, &grad);
    if (rc < 0) {
        dp_tensor_unref(grad);
        return rc;
    }
    dp_tensor **buffer = &g->grads[g->tasks[t].first + e.nr];
    if (*buffer == NULL)
        *buffer = grad;
    else if (DPI_UNLIKELY(g->o->flags & DP_BACKWARD_CHECK_NAN))
        rc = dpi_anomaly_add(g->ctx, g->create, e, buffer, grad);
    else
        rc = dpi_gradient_add(g->ctx, g->create, buffer, grad);
    if (rc == 0 && !e.leaf && !g->tasks[t].queued) {
        g->tasks[t].queued = true;
        rc = dpi_engine_queue(g, t);
    }
    return rc;
}

/* -- running -- */

/* Append the call that `n` records to the message of the context's error, because backward failed
 * at `n`.  Returns the error's code. */
static int name_call(dp_ctx *ctx, const dpi_node *n)
{
    char by[140] = "", step[32] = "";
    dp_error *e = &ctx->error;
    size_t at = strlen(e->message);

    if (n->origin != NULL)
        snprintf(by, sizeof(by), ", request %s", n->origin->request);
    if (n->step >= 0)
        snprintf(step, sizeof(step), ", step %lld", (long long)n->step);
    if (at < sizeof(e->message))
        snprintf(e->message + at, sizeof(e->message) - at, " (backward of %s%s%s)",
                 n->op != NULL ? n->op->name : "a view", by, step);
    return e->code;
}

/* Does backward need a gradient along `e`? */
static bool is_wanted(engine *g, dpi_edge e)
{
    if (e.to == NULL)
        return false;
    if (g->o->n_inputs == 0)
        return true;
    uint32_t slot = *dpi_engine_slot(g, e.to);
    return slot != 0 && g->tasks[slot - 1].needed;
}

/* Check that no backward in whose formulas this one runs has reached `n`. */
static int check_outer(const engine *g, const dpi_node *n)
{
    for (engine *outer = g->outer; outer != NULL; outer = outer->outer)
        if (*dpi_engine_slot(outer, n) != 0)
            return dp_error_set(&g->ctx->error, DP_ERUNTIME,
                                "backward inside backward: both go through the call of %s; "
                                "differentiate a graph of its own",
                                n->op != NULL ? n->op->name : "a view");
    return 0;
}

enum { FEW_EDGES = 8 }; /* edges of a node for which run_node() needs no memory */

static int run_node(engine *g, uint32_t t)
{
    dpi_node *n = g->tasks[t].at.to;
    dp_ctx *ctx = g->ctx;
    char *at = ctx->arena.at;
    bool few_wanted[FEW_EDGES], *wanted = few_wanted, any = false;
    dp_tensor *few_grads[FEW_EDGES];
    dpi_applied out = {few_grads, wanted, g->create, &g->recomputes, NULL};

    if (DPI_UNLIKELY(g->recomputes.first != NULL))
        dpi_recomputes_pass(&g->recomputes, n->topo);
    if (n->n_edges > FEW_EDGES) {
        out.grads = dp_arena_alloc_n(&ctx->arena, n->n_edges, sizeof(dp_tensor *));
        out.wanted = wanted = dp_arena_alloc_n(&ctx->arena, n->n_edges, sizeof(bool));
    }
    if (out.grads == NULL || wanted == NULL)
        return no_memory(g);
    dp_zero_n(out.grads, n->n_edges, sizeof(dp_tensor *));
    for (uint32_t i = 0; i < n->n_edges; i++)
        any |= wanted[i] = is_wanted(g, n->edges[i]);
    int rc = check_outer(g, n);
    if (rc == 0)
        rc = dpi_hooks_of_node(g, n, g->grads + g->tasks[t].first);
    if (rc == 0 && g->o->n_inputs > 0)
        dpi_inputs_capture(g, t);
    if (rc == 0 && (any || g->add) && g->dry == NULL)
        rc = dpi_retained_add(ctx, &g->retained, n, g->grads + g->tasks[t].first);
    const int64_t *step_before = ctx->step_now;
    if (DPI_UNLIKELY(ctx->capture != NULL) && n->step >= 0)
        ctx->step_now = &n->step; /* what is captured comes from the step that `n` recorded */
    if (any && rc == 0)
        rc = g->dry == NULL ? dpi_node_apply(ctx, n, g->grads + g->tasks[t].first, &out)
                            : dpi_dry_apply(g, n, g->grads + g->tasks[t].first, &out);
    if (any && rc == 0 && (g->o->flags & DP_BACKWARD_CHECK_NAN))
        rc = dpi_anomaly_check(ctx, n, g->grads + g->tasks[t].first, out.grads);
    for (uint32_t i = 0; i < g->tasks[t].n; i++)
        g->grads[g->tasks[t].first + i] = dp_tensor_unref(g->grads[g->tasks[t].first + i]);
    for (uint32_t i = 0; i < n->n_edges; i++) {
        if (rc == 0 && out.grads[i] != NULL)
            rc = send(g, n->edges[i], out.grads[i]);
        else
            dp_tensor_unref(out.grads[i]);
    }
    if (DPI_UNLIKELY(g->recomputes.first != NULL))
        dpi_recomputes_end_node(&g->recomputes, n);
    if (rc == 0 && !(g->o->flags & DP_BACKWARD_RETAIN))
        g->dry == NULL ? dpi_node_release(n) : dpi_dry_release(g, n);
    if (rc == 0)
        dpi_engine_end(g, t);
    dpi_arena_rewind(&ctx->arena, at);
    ctx->step_now = step_before;
    return rc < 0 ? name_call(ctx, n) : 0;
}

static int run_all(engine *g)
{
    int rc = 0;

    while (rc == 0 && g->n_heap > 0) {
        rc = dp_checkpoint(g->ctx);
        if (rc == 0)
            rc = run_node(g, dpi_engine_next(g));
    }
    return rc;
}

/* -- roots -- */

static int add_roots(engine *g)
{
    int rc = 0;

    /* Pass 0, with inputs or a dry run only: find the tasks that lead to an input, and what is
     * saved, before gradients are sent. */
    for (int pass = g->o->n_inputs > 0 || g->dry ? 0 : 1; pass < 2 && rc == 0; pass++) {
        for (size_t i = 0; i < g->o->n && rc == 0; i++) {
            dpi_edge e;
            dp_tensor *grad = NULL;
            uint32_t t;
            if ((rc = dpi_edge_of(g->ctx, g->o->tensors[i], &e)) < 0)
                break;
            if (e.to == NULL)
                rc = dpi_fail_no_history(g->ctx, i);
            else if (pass == 0)
                rc = dpi_engine_task(g, e, &t);
            else if ((rc = dpi_gradient_of_root(g->ctx, g->o, i, &grad)) == 0)
                rc = send(g, e, grad);
            if (rc < 0 && e.to != NULL && !e.leaf)
                name_call(g->ctx, e.to);
            dpi_edge_unref(e);
        }
        if (pass == 0 && rc == 0)
            rc = g->o->n_inputs > 0 ? dpi_inputs_find(g) : dpi_engine_reach(g);
        if (pass == 0 && rc == 0 && g->dry != NULL)
            rc = dpi_dry_begin(g);
    }
    return rc;
}

/* -- leaves -- */

/* List the leaves that gradients have reached: *out [*n], with the gradients. */
static int list_leaves(engine *g, dpi_leaf_grad **out, uint32_t *n)
{
    uint32_t leaves = 0;

    for (uint32_t i = 0; i < g->n_tasks && g->add; i++)
        leaves += g->tasks[i].at.leaf;
    if ((*out = dp_arena_alloc_n(&g->ctx->arena, leaves, sizeof(**out))) == NULL)
        return no_memory(g);
    for (uint32_t i = 0; i < g->n_tasks && g->add; i++) {
        dp_tensor **grad = &g->grads[g->tasks[i].first];
        if (g->tasks[i].at.leaf && *grad != NULL) {
            (*out)[(*n)++] = (dpi_leaf_grad){.leaf = g->tasks[i].at.to, .grad = *grad};
            *grad = NULL;
        }
    }
    return 0;
}

/* Store the gradients in the leaves and in the computed tensors that retain them: in all or in
 * none. */
static int commit(engine *g)
{
    char *at = g->ctx->arena.at;
    dpi_leaf_grad *leaves;
    uint32_t n = 0;
    int rc = list_leaves(g, &leaves, &n);

    if (rc == 0)
        rc = dpi_retained_sum(g->ctx, &g->retained);
    if (rc == 0)
        rc = dpi_leaves_sum(g->ctx, g->create, false, leaves, n);
    if (rc == 0)
        rc = dpi_leaves_store(g->ctx, leaves, n);
    if (rc == 0)
        dpi_retained_store(&g->retained);
    dpi_leaves_release(leaves, n);
    dpi_arena_rewind(&g->ctx->arena, at);
    return rc;
}

/* Call commit() while no other backward of the account does.  Two at once could lose a gradient,
 * because commit() reads gradients and replaces them by sums. */
static int commit_alone(engine *g)
{
    static pthread_mutex_t without_account = PTHREAD_MUTEX_INITIALIZER;
    dp_account *a = g->ctx->account;
    pthread_mutex_t *lock = a != NULL ? &a->backward : &without_account;
    int rc = 0;

    for (bool locked = pthread_mutex_trylock(lock) == 0; !locked;) {
        struct timespec until;
        if ((rc = dp_checkpoint(g->ctx)) < 0)
            return rc;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 5000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        locked = pthread_mutex_timedlock(lock, &until) == 0;
    }
    g->commits = true;
    rc = commit(g);
    pthread_mutex_unlock(lock);
    return rc;
}

/* Compute what the gradients of the leaves would be, for the bytes that this takes. */
static int sum_leaves(engine *g)
{
    char *at = g->ctx->arena.at;
    dpi_leaf_grad *leaves;
    uint32_t n = 0;
    int rc = list_leaves(g, &leaves, &n);

    if (rc == 0)
        rc = dpi_leaves_sum(g->ctx, g->create, true, leaves, n);
    dpi_leaves_release(leaves, n);
    dpi_arena_rewind(&g->ctx->arena, at);
    return rc;
}

/* Run a backward that changes nothing, in fake mode. */
static int run_dry(engine *g)
{
    int depth = dp_guard_enter(g->ctx, dp_keyset_of(DP_KEY(DP_F_Fake)), (dp_keyset){0, 0});
    int rc = depth < 0 ? depth : dpi_dry_new(g);

    if (rc == 0)
        rc = add_roots(g);
    if (rc == 0)
        rc = run_all(g);
    if (rc == 0)
        rc = dpi_hooks_of_leaves(g);
    if (rc == 0)
        rc = sum_leaves(g);
    if (rc == 0)
        rc = dpi_dry_report(g);
    dp_guard_leave(g->ctx, depth);
    return rc;
}

static int run(engine *g)
{
    if (g->o->n_inputs > 0 && (g->inputs = dp_calloc(g->o->n_inputs, sizeof(*g->inputs))) == NULL)
        return no_memory(g);
    if (g->o->dry != NULL)
        return run_dry(g);
    int rc = add_roots(g);
    if (rc == 0)
        rc = run_all(g);
    if (rc == 0)
        rc = dpi_hooks_of_leaves(g);
    if (rc == 0)
        rc = commit_alone(g);
    if (rc == 0 && !g->add)
        dpi_inputs_give(g);
    return rc;
}

int dp_backward(dp_ctx *ctx, const dp_backward_options *o)
{
    if (!DPI_GIVEN(&ctx->error, DP_EVALUE, o))
        return DP_EVALUE;
    engine g;
    dpi_engine_init(&g, ctx, o);
    g.outer = innermost;
    dp_mode mode = *dp_ctx_mode(ctx);
    bool begun;
    int depth, rc;

    dp_error_clear(&ctx->error);
    for (size_t i = 0; i < o->n_inputs && !g.add && o->dry == NULL; i++)
        o->grads[i] = NULL;
    mode.no_grad = !g.create;
    mode.inference = false;
    for (engine *outer = innermost; outer != NULL; outer = outer->outer)
        if (outer->commits)
            return dp_error_set(&ctx->error, DP_ERUNTIME,
                                "backward inside backward: an operator that adds gradients has "
                                "called it");
    if (g.add && ctx->recording != NULL)
        return dp_error_set(&ctx->error, DP_ERUNTIME,
                            "recompute: the program adds gradients to tensors, so that it cannot "
                            "be run again");
    if ((rc = dpi_ctx_pin(ctx, &begun)) < 0)
        return rc;
    innermost = &g;
    for (size_t i = 0; i < o->n_inputs && g.add && o->dry == NULL && rc == 0; i++)
        rc = dp_tensor_retain_grad(ctx, o->inputs[i]);
    if (rc == 0 && (depth = rc = dp_guard_mode(ctx, &mode)) >= 0) {
        rc = run(&g);
        dp_guard_leave(ctx, depth);
    }
    dpi_watchers_tell(&g, rc == 0);
    dpi_inputs_fini(&g);
    dpi_retained_fini(&g.retained);
    dpi_recomputes_fini(&g.recomputes);
    dpi_engine_fini(&g);
    dpi_dry_free(&g);
    innermost = g.outer;
    dpi_ctx_unpin(ctx, begun);
    return rc;
}

int dp_gradients(dp_ctx *ctx, dp_tensor *const *tensors, dp_tensor *const *gradients, size_t n,
                 dp_tensor *const *inputs, size_t n_inputs, uint32_t flags, dp_tensor **grads)
{
    const dp_backward_options o = {.size = sizeof(o),
                                   .flags = flags,
                                   .tensors = tensors,
                                   .gradients = gradients,
                                   .n = n,
                                   .inputs = inputs,
                                   .n_inputs = n_inputs,
                                   .grads = grads};

    return dp_backward(ctx, &o);
}

int dp_tensor_backward(dp_ctx *ctx, dp_tensor *t, dp_tensor *grad, dp_tensor *const *inputs,
                       size_t n, uint32_t flags)
{
    const dp_backward_options o = {.size = sizeof(o),
                                   .flags = flags | DP_BACKWARD_ADD,
                                   .tensors = &t,
                                   .gradients = &grad,
                                   .n = 1,
                                   .inputs = inputs,
                                   .n_inputs = n};

    return dp_backward(ctx, &o);
}
