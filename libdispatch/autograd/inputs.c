/* inputs.c -- the inputs of a backward, which are the tensors whose gradients are wanted: find the
 * nodes that lead to them, and collect their gradients. */
#include "engine.h"
#include <stdlib.h>

enum { TASKS_PER_CHECKPOINT = 1024 };

typedef struct ranked {
    uint32_t topo, task;
} ranked;

static int by_topo(const void *a, const void *b)
{
    uint32_t x = ((const ranked *)a)->topo, y = ((const ranked *)b)->topo;

    return x < y ? -1 : x > y;
}

int dpi_engine_reach(dpi_engine *g)
{
    int rc = 0;

    for (uint32_t i = 0; i < g->n_tasks && rc == 0; i++) {
        if (i % TASKS_PER_CHECKPOINT == 0)
            rc = dp_checkpoint(g->ctx);
        const dpi_node *n = g->tasks[i].at.to;
        for (uint32_t k = 0; !g->tasks[i].at.leaf && k < n->n_edges && rc == 0; k++) {
            uint32_t t;
            rc = n->edges[k].to != NULL ? dpi_engine_task(g, n->edges[k], &t) : 0;
        }
    }
    return rc;
}

/* Find the task of the node that made input `i`, and which of its results that input is. */
static int find_one(dpi_engine *g, uint32_t i)
{
    dpi_edge e;
    int rc = dpi_edge_of(g->ctx, g->o->inputs[i], &e);

    if (rc < 0)
        return rc;
    if (e.to == NULL)
        return dp_error_set(&g->ctx->error, DP_ERUNTIME,
                            "One of the differentiated Tensors does not require grad: input %u", i);
    uint32_t slot = *dpi_engine_slot(g, e.to);
    if (slot != 0) {
        dpi_task *t = &g->tasks[slot - 1];
        g->inputs[i] = (dpi_backward_input){.task = slot - 1, .nr = e.nr, .next = t->input};
        t->input = i + 1;
        t->needed = true;
    }
    dpi_edge_unref(e);
    return 0;
}

static bool leads_to_input(dpi_engine *g, const dpi_task *t)
{
    const dpi_node *n = t->at.to;

    for (uint32_t k = 0; !t->at.leaf && k < n->n_edges; k++)
        if (n->edges[k].to != NULL && g->tasks[*dpi_engine_slot(g, n->edges[k].to) - 1].needed)
            return true;
    return false;
}

int dpi_inputs_find(dpi_engine *g)
{
    int rc = dpi_engine_reach(g);
    ranked *order;

    for (uint32_t i = 0; i < g->o->n_inputs && rc == 0; i++) {
        g->inputs[i].task = UINT32_MAX;
        rc = find_one(g, i);
    }
    if (rc < 0)
        return rc;
    if ((order = dp_malloc_n((size_t)g->n_tasks + 1, sizeof(*order))) == NULL)
        return dpi_no_memory(&g->ctx->error, "backward");
    for (uint32_t i = 0; i < g->n_tasks; i++)
        order[i] = (ranked){dpi_edge_topo(g->tasks[i].at), i};
    qsort(order, g->n_tasks, sizeof(*order), by_topo);
    for (uint32_t i = 0; i < g->n_tasks; i++) {
        dpi_task *t = &g->tasks[order[i].task];
        t->needed = t->needed || leads_to_input(g, t);
    }
    dp_free(order);
    return 0;
}

void dpi_inputs_capture(dpi_engine *g, uint32_t t)
{
    for (uint32_t i = g->tasks[t].input; i != 0; i = g->inputs[i - 1].next) {
        dp_tensor *grad = g->grads[g->tasks[t].first + g->inputs[i - 1].nr];
        g->inputs[i - 1].grad = grad != NULL ? dp_tensor_ref(grad) : NULL;
    }
}

void dpi_inputs_give(dpi_engine *g)
{
    for (uint32_t i = 0; i < g->o->n_inputs; i++) {
        dpi_backward_input *in = &g->inputs[i];
        if (in->task != UINT32_MAX && g->tasks[in->task].at.leaf) {
            in->grad = g->grads[g->tasks[in->task].first];
            in->grad = in->grad != NULL ? dp_tensor_ref(in->grad) : NULL;
        }
        g->o->grads[i] = in->grad;
        in->grad = NULL;
    }
}

void dpi_inputs_fini(dpi_engine *g)
{
    for (uint32_t i = 0; g->inputs != NULL && i < g->o->n_inputs; i++)
        dp_tensor_unref(g->inputs[i].grad);
    dp_free(g->inputs);
}
