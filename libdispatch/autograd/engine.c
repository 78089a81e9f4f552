/* engine.c -- backward: run the nodes of an autograd graph, from the tensors that the caller
 * differentiates (the roots) to the leaves (torch/csrc/autograd/engine.cpp).
 *
 * dpi_node.topo is PyTorch's topological number: it is larger than the topo of every node that the
 * node's edges lead to.  Nodes run in the order of topo, largest first, and of `created` where topo
 * is equal.  So a node runs only after it has received all its gradients, and PyTorch's pass that
 * counts them beforehand is not needed.  Gradients that reach the same return are summed in a
 * buffer of this backward, never in the node, so several threads can run backward on one graph at
 * the same time.  Leaves get their gradients after the last node has run.
 *
 * "With inputs" below means that the caller asked for the gradients of certain tensors
 * (dp_backward_options.inputs, like torch.autograd.grad).
 *
 * Over 500 lines: all functions share struct engine, the state of one backward. */
#include "engine.h"
#include <stdlib.h>

enum { FEW_TASKS = 16, FEW_SLOTS = 64 }; /* of small graphs, which need no memory */

/* A node or leaf that has received a gradient or, with inputs, may receive one. */
typedef struct task {
    dpi_edge at;    /* the node or leaf, with a reference; at.nr is 0 */
    uint32_t first; /* index of its first gradient in engine.grads */
    uint32_t n;     /* number of its returns; a leaf has one */
    uint32_t spare; /* in the list of engine.spare: 1 + index of the next task; 0: last */
    bool queued;    /* the task was pushed on the heap */
    bool needed;    /* with inputs: the task is an input, or edges lead from its node to one */
} task;

typedef struct engine {
    dp_ctx *ctx;
    const dp_backward_options *o;
    task *tasks;
    uint32_t n_tasks, cap_tasks;
    dp_tensor **grads; /* [n_grads] sums of the gradients of each task's returns; NULL: none yet */
    uint32_t n_grads, cap_grads;
    /* [mask + 1] hash table from the address of a node or leaf to 1 + the index of its task; 0: the
     * slot is free */
    uint32_t *index;
    uint32_t mask;
    uint32_t spare; /* first of a list of ended tasks with one return: 1 + its index; 0: none */
    uint32_t *heap; /* [n_heap] binary heap of indices of queued tasks */
    uint32_t n_heap, cap_heap;
    uint32_t *input_tasks, *input_nrs; /* [n_inputs] index of task and return of each input */
    dp_tensor **captured;              /* [n_inputs] gradients of inputs; owned */
    dpi_retained retained;             /* gradients of tensors with retain_grad() */
    bool create;                       /* record the calls that backward makes (create_graph) */
    bool add; /* add to .grad of all leaves or of the inputs; false: return the gradients */
    /* Memory of `index`, `tasks`, `grads` and `heap` of a small graph; only the first is zeroed. */
    uint32_t few_slots[FEW_SLOTS];
    task few_tasks[FEW_TASKS];
    dp_tensor *few_grads[FEW_TASKS];
    uint32_t few_heap[FEW_TASKS];
} engine;

/* -- tasks -- */

static int no_memory(engine *g)
{
    return dpi_no_memory(&g->ctx->error, "backward");
}

/* Make *array, of `*cap` items, large enough for `need` items.  `few`: the engine's own memory for
 * it. */
static bool grow(void *array, const void *few, uint32_t *cap, uint32_t need, size_t item)
{
    void **at = array, *p;
    uint32_t to = *cap;

    if (need <= *cap)
        return true;
    while (to < need)
        to *= 2;
    if (*at == few) {
        p = dp_malloc_n(to, item);
        if (p != NULL)
            dp_copy_n(p, few, *cap, item);
    } else {
        p = dp_realloc(*at, dp_size_times(to, item));
    }
    if (p == NULL)
        return false;
    *at = p;
    *cap = to;
    return true;
}

static uint32_t hash_of(const void *p)
{
    return (uint32_t)(((uint64_t)(uintptr_t)p >> 4) * 0x9e3779b97f4a7c15u >> 32);
}

static uint32_t *slot_of(engine *g, const void *p)
{
    uint32_t i = hash_of(p) & g->mask;

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
        *slot_of(g, g->tasks[i].at.to) = i + 1;
    return 0;
}

/* Add a task for a node with `n` returns, or for a leaf (`n` is 1): *out, the task's index. */
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

/* Find the task of the node or leaf that `e` leads to, or add a task for it: *out, its index. */
static int task_at(engine *g, dpi_edge e, uint32_t *out)
{
    int rc = 2 * g->n_tasks >= g->mask ? index_grow(g) : 0;
    uint32_t n = e.leaf ? 1 : ((const dpi_node *)e.to)->n_rets;

    if (rc < 0)
        return rc;
    uint32_t *slot = slot_of(g, e.to);
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

/* Remove the task in slot `at` from the hash table.  Later slots may hold tasks that were put there
 * because `at` was occupied: move each of those back, so that slot_of() still finds it. */
static void index_remove(engine *g, uint32_t at)
{
    for (uint32_t i = (at + 1) & g->mask; g->index[i] != 0; i = (i + 1) & g->mask) {
        uint32_t home = hash_of(g->tasks[g->index[i] - 1].at.to) & g->mask;
        if (((i - home) & g->mask) < ((i - at) & g->mask))
            continue;
        g->index[at] = g->index[i];
        at = i;
    }
    g->index[at] = 0;
}

/* End task `t`, whose node has run.  The node receives no further gradient, because all nodes with
 * edges to it have run before. */
static void task_end(engine *g, uint32_t t)
{
    task *done = &g->tasks[t];

    if (g->o->n_inputs > 0) /* the marks of find_needed() are still read */
        return;
    index_remove(g, (uint32_t)(slot_of(g, done->at.to) - g->index));
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

static int heap_push(engine *g, uint32_t t)
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

static uint32_t heap_pop(engine *g)
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

/* -- gradients -- */

/* Add `grad`, whose reference is taken, to the sum for the return or leaf that `e` leads to.  Push
 * the node's task on the heap. */
static int send(engine *g, dpi_edge e, dp_tensor *grad)
{
    uint32_t t;
    int rc = task_at(g, e, &t);

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
    else
        rc = dpi_gradient_add(g->ctx, g->create, buffer, grad);
    if (rc == 0 && !e.leaf && !g->tasks[t].queued) {
        g->tasks[t].queued = true;
        rc = heap_push(g, t);
    }
    return rc;
}

/* -- with inputs: find the tasks that are needed -- */

typedef struct ranked {
    uint32_t topo, task;
} ranked;

static int by_topo(const void *a, const void *b)
{
    uint32_t x = ((const ranked *)a)->topo, y = ((const ranked *)b)->topo;

    return x < y ? -1 : x > y;
}

/* Add a task for each node and leaf that edges lead to from the tasks, directly or through other
 * nodes. */
static int reach_all(engine *g)
{
    for (uint32_t i = 0; i < g->n_tasks; i++) {
        if (g->tasks[i].at.leaf)
            continue;
        const dpi_node *n = g->tasks[i].at.to;
        for (uint32_t k = 0; k < n->n_edges; k++) {
            uint32_t t;
            int rc = n->edges[k].to != NULL ? task_at(g, n->edges[k], &t) : 0;
            if (rc < 0)
                return rc;
        }
    }
    return 0;
}

/* Find the task and return of each input.  Mark the tasks of the inputs, and those whose nodes have
 * a chain of edges to an input, as needed. */
static int find_needed(engine *g)
{
    size_t n_inputs = g->o->n_inputs;
    int rc = reach_all(g);
    ranked *order;

    if (rc < 0)
        return rc;
    if ((order = dp_malloc_n(g->n_tasks + 1, sizeof(*order))) == NULL)
        return no_memory(g);
    for (uint32_t i = 0; i < n_inputs && rc == 0; i++) {
        dpi_edge e;
        rc = dpi_edge_of(g->ctx, g->o->inputs[i], &e);
        if (rc == 0 && e.to == NULL)
            rc = dp_error_set(&g->ctx->error, DP_ERUNTIME,
                              "One of the differentiated Tensors does not require grad: input %u",
                              i);
        g->input_tasks[i] = UINT32_MAX;
        uint32_t slot = rc == 0 && g->n_tasks > 0 ? *slot_of(g, e.to) : 0;
        if (slot != 0) {
            g->input_tasks[i] = slot - 1;
            g->input_nrs[i] = e.nr;
            g->tasks[slot - 1].needed = true;
        }
        if (rc == 0)
            dpi_edge_unref(e);
    }
    for (uint32_t i = 0; i < g->n_tasks; i++)
        order[i] = (ranked){dpi_edge_topo(g->tasks[i].at), i};
    qsort(order, g->n_tasks, sizeof(*order), by_topo);
    for (uint32_t i = 0; i < g->n_tasks; i++) {
        task *t = &g->tasks[order[i].task];
        const dpi_node *n = t->at.to;
        for (uint32_t k = 0; !t->at.leaf && k < n->n_edges && !t->needed; k++)
            t->needed = n->edges[k].to != NULL && g->tasks[*slot_of(g, n->edges[k].to) - 1].needed;
    }
    dp_free(order);
    return rc;
}

/* -- running -- */

/* Store the gradients of task `t` that are gradients of inputs in `captured`. */
static void capture(engine *g, uint32_t t)
{
    for (size_t i = 0; i < g->o->n_inputs; i++)
        if (g->input_tasks[i] == t && g->grads[g->tasks[t].first + g->input_nrs[i]] != NULL)
            g->captured[i] = dp_tensor_ref(g->grads[g->tasks[t].first + g->input_nrs[i]]);
}

/* Does backward need the gradient that `e` leads to? */
static bool is_wanted(engine *g, dpi_edge e)
{
    if (e.to == NULL)
        return false;
    if (g->o->n_inputs == 0)
        return true;
    uint32_t slot = *slot_of(g, e.to);
    return slot != 0 && g->tasks[slot - 1].needed;
}

static int run_node(engine *g, uint32_t t)
{
    dpi_node *n = g->tasks[t].at.to;
    dp_ctx *ctx = g->ctx;
    char *at = ctx->arena.at;
    bool *wanted = dp_arena_alloc_n(&ctx->arena, n->n_edges, sizeof(bool)), any = false;
    dpi_applied out = {dp_arena_alloc_n(&ctx->arena, n->n_edges, sizeof(dp_tensor *)), wanted,
                       g->create, NULL};

    if (g->o->n_inputs > 0)
        capture(g, t);
    if (out.grads == NULL || wanted == NULL)
        return no_memory(g);
    dp_zero_n(out.grads, n->n_edges, sizeof(dp_tensor *));
    for (uint32_t i = 0; i < n->n_edges; i++)
        any |= wanted[i] = is_wanted(g, n->edges[i]);
    int rc =
        any || g->add ? dpi_retained_add(ctx, &g->retained, n, g->grads + g->tasks[t].first) : 0;
    if (any && rc == 0)
        rc = dpi_node_apply(ctx, n, g->grads + g->tasks[t].first, &out);
    for (uint32_t i = 0; i < g->tasks[t].n; i++)
        g->grads[g->tasks[t].first + i] = dp_tensor_unref(g->grads[g->tasks[t].first + i]);
    for (uint32_t i = 0; i < n->n_edges; i++) {
        if (rc == 0 && out.grads[i] != NULL)
            rc = send(g, n->edges[i], out.grads[i]);
        else
            dp_tensor_unref(out.grads[i]);
    }
    if (rc == 0 && !(g->o->flags & DP_BACKWARD_RETAIN))
        dpi_node_release(n);
    if (rc == 0)
        task_end(g, t);
    dpi_arena_rewind(&ctx->arena, at);
    return rc < 0 ? dpi_name_call(ctx, n) : 0;
}

static int run_all(engine *g)
{
    int rc = 0;

    while (rc == 0 && g->n_heap > 0) {
        rc = dp_checkpoint(g->ctx);
        if (rc == 0)
            rc = run_node(g, heap_pop(g));
    }
    return rc;
}

/* -- roots -- */

static int add_roots(engine *g)
{
    int rc = 0;

    /* Pass 0 runs only with inputs: it finds the needed tasks.  Pass 1 sends the gradients. */
    for (int pass = g->o->n_inputs > 0 ? 0 : 1; pass < 2 && rc == 0; pass++) {
        for (size_t i = 0; i < g->o->n && rc == 0; i++) {
            dpi_edge e;
            dp_tensor *grad = NULL;
            uint32_t t;
            if ((rc = dpi_edge_of(g->ctx, g->o->tensors[i], &e)) < 0)
                break;
            if (e.to == NULL)
                rc = dp_error_set(&g->ctx->error, DP_ERUNTIME,
                                  "element %zu of tensors does not require grad and does not have "
                                  "a grad_fn",
                                  i);
            else if (pass == 0)
                rc = task_at(g, e, &t);
            else if ((rc = dpi_gradient_of_root(g->ctx, g->o, i, &grad)) == 0)
                rc = send(g, e, grad);
            if (rc < 0 && e.to != NULL && !e.leaf)
                dpi_name_call(g->ctx, e.to);
            dpi_edge_unref(e);
        }
        if (pass == 0 && rc == 0)
            rc = find_needed(g);
    }
    return rc;
}

/* -- leaves -- */

/* List the leaves that gradients have reached: *out [*n], with the gradients. */
static int list_leaves(engine *g, dpi_leaf_grad **out, uint32_t *n)
{
    *out = dp_calloc((size_t)g->n_tasks + 1, sizeof(**out));
    *n = 0;
    if (*out == NULL)
        return no_memory(g);
    for (uint32_t i = 0; i < g->n_tasks; i++) {
        dp_tensor **grad = &g->grads[g->tasks[i].first];
        if (g->tasks[i].at.leaf && *grad != NULL) {
            (*out)[(*n)++] = (dpi_leaf_grad){.leaf = g->tasks[i].at.to, .grad = *grad};
            *grad = NULL;
        }
    }
    return 0;
}

/* Give leaves, and computed tensors that keep theirs, their gradients: all of them or none. */
static int commit(engine *g)
{
    dpi_leaf_grad *leaves = NULL;
    uint32_t n = 0;
    int rc = g->add ? list_leaves(g, &leaves, &n) : 0;

    if (rc == 0)
        rc = dpi_retained_sum(g->ctx, &g->retained);
    if (rc == 0)
        rc = dpi_leaves_sum(g->ctx, g->create, leaves, n);
    if (rc == 0)
        rc = dpi_leaves_store(g->ctx, leaves, n);
    if (rc == 0)
        dpi_retained_store(&g->retained);
    dpi_leaves_free(leaves, n);
    return rc;
}

static void give_inputs(engine *g)
{
    for (size_t i = 0; i < g->o->n_inputs; i++) {
        uint32_t t = g->input_tasks[i];
        if (t != UINT32_MAX && g->tasks[t].at.leaf && g->grads[g->tasks[t].first] != NULL)
            g->captured[i] = dp_tensor_ref(g->grads[g->tasks[t].first]);
        g->o->grads[i] = g->captured[i];
        g->captured[i] = NULL;
    }
}

static void fini(engine *g)
{
    for (uint32_t i = 0; i < g->n_grads; i++)
        dp_tensor_unref(g->grads[i]);
    for (uint32_t i = 0; i < g->n_tasks; i++)
        dpi_edge_unref(g->tasks[i].at);
    for (size_t i = 0; g->captured != NULL && i < g->o->n_inputs; i++)
        dp_tensor_unref(g->captured[i]);
    dpi_retained_fini(&g->retained);
    if (g->grads != g->few_grads)
        dp_free(g->grads);
    if (g->tasks != g->few_tasks)
        dp_free(g->tasks);
    if (g->index != g->few_slots)
        dp_free(g->index);
    if (g->heap != g->few_heap)
        dp_free(g->heap);
    dp_free(g->input_tasks);
    dp_free(g->input_nrs);
    dp_free(g->captured);
}

static int run(engine *g)
{
    size_t n = g->o->n_inputs;

    if (n > 0) {
        g->input_tasks = dp_calloc(n, sizeof(uint32_t));
        g->input_nrs = dp_calloc(n, sizeof(uint32_t));
        g->captured = dp_calloc(n, sizeof(dp_tensor *));
        if (g->input_tasks == NULL || g->input_nrs == NULL || g->captured == NULL)
            return no_memory(g);
    }
    int rc = add_roots(g);
    if (rc == 0)
        rc = run_all(g);
    if (rc == 0)
        rc = commit(g);
    if (rc == 0 && !g->add)
        give_inputs(g);
    return rc;
}

int dp_backward(dp_ctx *ctx, const dp_backward_options *o)
{
    if (!DPI_GIVEN(&ctx->error, DP_EVALUE, o))
        return DP_EVALUE;
    engine g;
    memset(&g, 0, offsetof(engine, few_tasks));
    g.ctx = ctx;
    g.o = o;
    g.create = (o->flags & DP_BACKWARD_CREATE) != 0;
    g.add = o->n_inputs == 0 || (o->flags & DP_BACKWARD_ADD) != 0;
    g.index = g.few_slots;
    g.mask = FEW_SLOTS - 1;
    g.tasks = g.few_tasks;
    g.grads = g.few_grads;
    g.heap = g.few_heap;
    g.cap_tasks = g.cap_grads = g.cap_heap = FEW_TASKS;
    dp_mode mode = *dp_ctx_mode(ctx);
    bool begun;
    int depth, rc;

    dp_error_clear(&ctx->error);
    for (size_t i = 0; i < o->n_inputs && !g.add; i++)
        o->grads[i] = NULL;
    mode.no_grad = !g.create;
    mode.inference = false;
    if ((rc = dpi_ctx_pin(ctx, &begun)) < 0)
        return rc;
    for (size_t i = 0; i < o->n_inputs && g.add && rc == 0; i++)
        rc = dp_tensor_retain_grad(ctx, o->inputs[i]);
    if (rc == 0 && (depth = rc = dp_guard_mode(ctx, &mode)) >= 0) {
        rc = run(&g);
        dp_guard_leave(ctx, depth);
    }
    fini(&g);
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
