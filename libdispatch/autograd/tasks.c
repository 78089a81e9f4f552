/* tasks.c -- the tasks of one backward: a table by address of node or leaf, the buffers of their
 * gradients, and a heap of the tasks that are to run.
 *
 * The heap's order is (topo, created), largest first.  Small graphs need no allocation. */
#include "engine.h"

typedef dpi_engine engine;
typedef dpi_task task;

void dpi_engine_init(engine *g, dp_ctx *ctx, const dp_backward_options *o)
{
    memset(g, 0, offsetof(engine, few_tasks));
    g->ctx = ctx;
    g->o = o;
    g->create = (o->flags & DP_BACKWARD_CREATE) != 0;
    g->add = o->n_inputs == 0 || (o->flags & DP_BACKWARD_ADD) != 0;
    g->index = g->few_slots;
    g->mask = DPI_FEW_SLOTS - 1;
    g->tasks = g->few_tasks;
    g->grads = g->few_grads;
    g->heap = g->few_heap;
    g->cap_tasks = g->cap_grads = g->cap_heap = DPI_FEW_TASKS;
}

void dpi_engine_fini(engine *g)
{
    for (uint32_t i = 0; i < g->n_grads; i++)
        dp_tensor_unref(g->grads[i]);
    for (uint32_t i = 0; i < g->n_tasks; i++)
        dpi_edge_unref(g->tasks[i].at);
    if (g->grads != g->few_grads)
        dp_free(g->grads);
    if (g->tasks != g->few_tasks)
        dp_free(g->tasks);
    if (g->index != g->few_slots)
        dp_free(g->index);
    if (g->heap != g->few_heap)
        dp_free(g->heap);
}

/* -- tasks -- */

static int no_memory(engine *g)
{
    return dpi_no_memory(&g->ctx->error, "backward");
}

/* Make *array, of `*cap` items, large enough for `need`; `few` is its memory in the engine. */
static bool grow(void *array, const void *few, uint32_t *cap, uint32_t need, size_t item)
{
    void **at = array;
    uint32_t had = *cap;

    if (need <= had)
        return true;
    void *p = dpi_grow(*at == few ? NULL : *at, cap, need, item);
    if (p == NULL)
        return false;
    if (*at == few)
        dp_copy_n(p, few, had, item);
    *at = p;
    return true;
}

DPI_HOT uint32_t *dpi_engine_slot(const engine *g, const void *p)
{
    uint32_t i = dpi_address_hash(p) & g->mask;

    while (g->index[i] != 0 && g->tasks[g->index[i] - 1].at.to != p)
        i = (i + 1) & g->mask;
    return &g->index[i];
}

static int index_grow(engine *g)
{
    uint32_t slots = (g->mask + 1) << 1;
    uint32_t *index = dp_calloc(slots, sizeof(*index));

    if (index == NULL)
        return no_memory(g);
    if (g->index != g->few_slots)
        dp_free(g->index);
    g->index = index;
    g->mask = slots - 1;
    for (uint32_t i = 0; i < g->n_tasks; i++)
        if (g->tasks[i].at.to != NULL) /* else it has ended */
            *dpi_engine_slot(g, g->tasks[i].at.to) = i + 1;
    return 0;
}

/* Add a task of `n` returns: *out. */
static int task_new(engine *g, uint32_t n, uint32_t *out)
{
    if (n == 1 && g->spare != 0) {
        *out = g->spare - 1;
        g->spare = g->tasks[*out].spare;
        return 0;
    }
    if (!grow(&g->tasks, g->few_tasks, &g->cap_tasks, g->n_tasks + 1, sizeof(*g->tasks)) ||
        !grow(&g->grads, g->few_grads, &g->cap_grads, g->n_grads + n, sizeof(dp_tensor *)))
        return no_memory(g);
    dp_zero_n(g->grads + g->n_grads, n, sizeof(dp_tensor *));
    *out = g->n_tasks++;
    g->tasks[*out].first = g->n_grads;
    g->n_grads += n;
    return 0;
}

DPI_HOT int dpi_engine_task(engine *g, dpi_edge e, uint32_t *out)
{
    int rc = 2 * g->n_tasks >= g->mask ? index_grow(g) : 0;
    uint32_t n = e.leaf ? 1 : ((const dpi_node *)e.to)->n_rets;

    if (rc < 0)
        return rc;
    uint32_t *slot = dpi_engine_slot(g, e.to);
    if (*slot != 0) {
        *out = *slot - 1;
        return 0;
    }
    if ((rc = task_new(g, n, out)) < 0)
        return rc;
    task *t = &g->tasks[*out];
    *t = (task){.at = dpi_edge_ref((dpi_edge){e.to, 0, e.leaf}), .first = t->first, .n = n};
    *slot = *out + 1;
    return 0;
}

/* Remove the task in slot `at` from the index.  Tasks that were stored in later slots only because
 * slot `at` was in use move back (linear probing). */
static void index_remove(engine *g, uint32_t at)
{
    for (uint32_t i = (at + 1) & g->mask; g->index[i] != 0; i = (i + 1) & g->mask) {
        uint32_t home = dpi_address_hash(g->tasks[g->index[i] - 1].at.to) & g->mask;
        if (((i - home) & g->mask) < ((i - at) & g->mask))
            continue;
        g->index[at] = g->index[i];
        at = i;
    }
    g->index[at] = 0;
}

DPI_HOT void dpi_engine_end(engine *g, uint32_t t)
{
    task *done = &g->tasks[t];

    if (g->o->n_inputs > 0) /* is_wanted() still reads the task */
        return;
    index_remove(g, (uint32_t)(dpi_engine_slot(g, done->at.to) - g->index));
    dpi_edge_unref(done->at);
    done->at = (dpi_edge){0};
    if (done->n == 1) {
        done->spare = g->spare;
        g->spare = t + 1;
    }
}

/* -- the heap -- */

static bool runs_before(const engine *g, uint32_t a, uint32_t b)
{
    const dpi_node *x = g->tasks[a].at.to, *y = g->tasks[b].at.to;

    return x->topo != y->topo ? x->topo > y->topo : x->created > y->created;
}

DPI_HOT int dpi_engine_queue(engine *g, uint32_t t)
{
    uint32_t i = g->n_heap;

    if (!grow(&g->heap, g->few_heap, &g->cap_heap, i + 1, sizeof(*g->heap)))
        return no_memory(g);
    g->n_heap++;
    for (; i > 0 && runs_before(g, t, g->heap[(i - 1) / 2]); i = (i - 1) / 2)
        g->heap[i] = g->heap[(i - 1) / 2];
    g->heap[i] = t;
    return 0;
}

DPI_HOT uint32_t dpi_engine_next(engine *g)
{
    uint32_t top = g->heap[0], last = g->heap[--g->n_heap], i = 0;

    for (uint32_t child; (child = 2 * i + 1) < g->n_heap; i = child) {
        if (child + 1 < g->n_heap && runs_before(g, g->heap[child + 1], g->heap[child]))
            child++;
        if (!runs_before(g, g->heap[child], last))
            break;
        g->heap[i] = g->heap[child];
    }
    g->heap[i] = last;
    return top;
}
