/* graph.c -- list the graph that autograd recorded for some tensors: nodes, edges and leaves
 * (grad.h); and print it for Graphviz. */
#include "history.h"
#include <inttypes.h>

enum { FIRST_NODES = 64 };

/* A dp_grad_graph, and what is needed to build it and to keep its nodes alive. */
typedef struct listing {
    dp_grad_graph graph; /* must be first: the caller gets its address */
    dpi_edge *at;        /* [graph.n_nodes] the node or leaf of graph.nodes[i], with a reference */
    uint32_t cap_nodes, cap_edges;
    uint32_t max; /* largest number of nodes that the caller allows */
    /* [mask + 1] hash table from the address of a node or leaf to 1 + its index in graph.nodes; 0:
     * the slot is free */
    uint32_t *index;
    uint32_t mask;
} listing;

static int no_memory(dp_ctx *ctx)
{
    return dpi_no_memory(&ctx->error, "a graph");
}

static uint32_t *slot_of(const listing *l, const void *p)
{
    uint32_t i = dpi_address_hash(p) & l->mask;

    while (l->index[i] != 0 && l->at[l->index[i] - 1].to != p)
        i = (i + 1) & l->mask;
    return &l->index[i];
}

static int grow(dp_ctx *ctx, listing *l)
{
    uint32_t cap = l->cap_nodes != 0 ? 2 * l->cap_nodes : FIRST_NODES;
    uint32_t slots = 2 * cap, *index = dp_calloc(slots, sizeof(*index));
    void *at = dp_realloc(l->at, dp_size_times(cap, sizeof(*l->at)));

    if (at != NULL)
        l->at = at;
    void *nodes =
        at != NULL ? dp_realloc(l->graph.nodes, dp_size_times(cap, sizeof(dp_grad_node))) : NULL;
    if (nodes != NULL)
        l->graph.nodes = nodes;
    if (index == NULL || nodes == NULL) {
        dp_free(index);
        return no_memory(ctx);
    }
    dp_free(l->index);
    l->index = index;
    l->mask = slots - 1;
    l->cap_nodes = cap;
    for (uint32_t i = 0; i < l->graph.n_nodes; i++)
        *slot_of(l, l->at[i].to) = i + 1;
    return 0;
}

/* Return the node whose slots hold the saved values: for a node of kind SLICES, its inner node. */
static const dpi_node *saver_of(const dpi_node *n)
{
    return n->inner != NULL ? n->inner : n;
}

static bool is_released(const dpi_node *n)
{
    return __atomic_load_n(&saver_of(n)->released, __ATOMIC_RELAXED);
}

static uint64_t bytes_of(const dpi_saved *s)
{
    return s->geometry != NULL ? (uint64_t)s->geometry->numel * dpi_itemsize(s->dtype) : 0;
}

/* Return the bytes of the tensors that `n` saves now. */
static uint64_t saved_bytes(dpi_node *n)
{
    uint64_t bytes = 0;

    n = n->inner != NULL ? n->inner : n;
    dpi_node_lock(n); /* a backward on another thread may be releasing them */
    for (uint32_t i = 0; i < n->n_slots && !n->released; i++) {
        const dpi_slot *s = &n->slots[i];
        if (s->kind == DPI_SLOT_TENSOR)
            bytes += bytes_of(&s->tensor);
        for (uint32_t k = 0; s->kind == DPI_SLOT_TENSORS && k < s->n; k++)
            bytes += bytes_of(&s->list[k]);
    }
    dpi_node_unlock(n);
    return bytes;
}

static dp_grad_node describe(dpi_edge e)
{
    dpi_node *n = e.to;

    if (e.leaf)
        return (dp_grad_node){.leaf = e.to, .step = -1};
    return (dp_grad_node){.op = n->op != NULL ? n->op->name : "as_strided",
                          .request = n->origin != NULL ? n->origin->request : NULL,
                          .step = n->step,
                          .saved_bytes = saved_bytes(n),
                          .released = is_released(n),
                          .n_returns = n->n_rets};
}

/* Find the entry of the node or leaf that `e` leads to in graph.nodes, or add it: *out, its
 * index. */
static int entry_of(dp_ctx *ctx, listing *l, dpi_edge e, uint32_t *out)
{
    if (l->graph.n_nodes == l->cap_nodes && grow(ctx, l) < 0)
        return ctx->error.code;
    uint32_t *slot = slot_of(l, e.to);
    if (*slot == 0) {
        if (l->graph.n_nodes == l->max)
            return dp_error_limit(
                dp_error_set(&ctx->error, DP_ERESOURCE,
                             "the graph has more than %u nodes and leaves, which is the limit "
                             "(graph_nodes)",
                             l->max),
                "graph_nodes", l->max, l->max + 1);
        l->at[l->graph.n_nodes] = dpi_edge_ref((dpi_edge){e.to, 0, e.leaf});
        l->graph.nodes[l->graph.n_nodes] = describe(e);
        *slot = ++l->graph.n_nodes;
    }
    *out = *slot - 1;
    return 0;
}

static int add_edge(dp_ctx *ctx, listing *l, uint32_t from, uint32_t input, dpi_edge e)
{
    uint32_t to;
    int rc = entry_of(ctx, l, e, &to);

    if (rc < 0)
        return rc;
    void *edges =
        dpi_grow(l->graph.edges, &l->cap_edges, l->graph.n_edges + 1, sizeof(dp_grad_edge));
    if (edges == NULL)
        return no_memory(ctx);
    l->graph.edges = edges;
    /* Edges have a limit of their own: one node may have a million, as cat() of a million
     * tensors. */
    if (l->graph.n_edges / 16 == l->max)
        return dp_error_limit(
            dp_error_set(&ctx->error, DP_ERESOURCE,
                         "the graph has more than %u edges, 16 for each node of the limit "
                         "(graph_nodes)",
                         16 * l->max),
            "graph_nodes", l->max, l->max + 1);
    l->graph.edges[l->graph.n_edges++] = (dp_grad_edge){from, input, to, e.nr};
    return 0;
}

/* Add the nodes of `tensors`, and then every node and leaf that edges of an added node lead to. */
static int list_all(dp_ctx *ctx, listing *l, dp_tensor *const *tensors, size_t n)
{
    int rc = 0;

    for (size_t i = 0; i < n && rc == 0; i++) {
        dp_grad_edge *root = &l->graph.roots[i];
        dpi_edge e;
        if ((rc = dpi_edge_of(ctx, tensors[i], &e)) < 0)
            break;
        if (e.to == NULL)
            rc = dpi_fail_no_history(ctx, i);
        else
            rc = entry_of(ctx, l, e, &root->to);
        root->nr = e.nr;
        dpi_edge_unref(e);
    }
    for (uint32_t i = 0; i < l->graph.n_nodes && rc == 0; i++) {
        const dpi_node *node = l->at[i].to;
        for (uint32_t k = 0; !l->at[i].leaf && k < node->n_edges && rc == 0; k++)
            if (node->edges[k].to != NULL)
                rc = add_edge(ctx, l, i, k, node->edges[k]);
    }
    return rc;
}

int dp_grad_graph_new(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, uint32_t max_nodes,
                      dp_grad_graph **out)
{
    listing *l = dp_calloc(1, sizeof(*l));

    *out = NULL;
    if (l == NULL)
        return no_memory(ctx);
    l->max = max_nodes;
    l->graph.roots = dp_calloc(n + 1, sizeof(*l->graph.roots));
    l->graph.n_roots = n;
    int rc = l->graph.roots != NULL ? grow(ctx, l) : no_memory(ctx);
    if (rc == 0)
        rc = list_all(ctx, l, tensors, n);
    *out = &l->graph;
    if (rc < 0)
        *out = dp_grad_graph_free(*out);
    return rc;
}

dp_grad_graph *dp_grad_graph_free(dp_grad_graph *g)
{
    listing *l = (listing *)(void *)g;

    if (l == NULL)
        return NULL;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        dpi_edge_unref(l->at[i]);
    dp_free(g->roots);
    dp_free(g->nodes);
    dp_free(g->edges);
    dp_free(l->at);
    dp_free(l->index);
    dp_free(l);
    return NULL;
}

bool dp_grad_graph_return(const dp_grad_graph *g, uint32_t node, uint32_t nr, dp_grad_return *out)
{
    const listing *l = (const listing *)(const void *)g;

    if (node >= g->n_nodes || nr >= g->nodes[node].n_returns)
        return false;
    const dpi_node *n = l->at[node].to;
    const dpi_node_ret *r = &n->rets[nr];
    if (!r->defined)
        return false;
    *out = (dp_grad_return){r->dtype, r->ndim, &n->dims[r->sizes]};
    return true;
}

/* -- Graphviz -- */

enum { RETURNS_SHOWN = 4 }; /* most returns of one call in the picture */

/* Add `s` to a quoted string of the dot language. */
static void add_escaped(dpi_text *t, const char *s)
{
    for (; *s != '\0'; s++) {
        if (*s == '"' || *s == '\\')
            dpi_text_add(t, "\\");
        dpi_text_addn(t, (unsigned char)*s < ' ' ? " " : s, 1);
    }
}

static void add_shape(dpi_text *t, dp_dtype dtype, const int64_t *sizes, int32_t ndim)
{
    char shape[DP_SHAPE_TEXT];

    dpi_text_printf(t, "%s %s", dp_dtype_name(dtype), dp_shape_text(shape, sizes, (size_t)ndim));
}

static void add_returns(dpi_text *t, const dp_grad_graph *g, uint32_t i)
{
    const uint32_t n = g->nodes[i].n_returns;
    dp_grad_return r;

    for (uint32_t nr = 0; nr < n && nr < RETURNS_SHOWN; nr++)
        if (dp_grad_graph_return(g, i, nr, &r)) {
            dpi_text_add(t, "\\n");
            add_shape(t, r.dtype, r.sizes, r.ndim);
        }
    if (n > RETURNS_SHOWN)
        dpi_text_printf(t, "\\n%" PRIu32 " more", n - RETURNS_SHOWN);
}

static void add_node(dpi_text *t, const dp_grad_graph *g, uint32_t i, uint64_t handle)
{
    const dp_grad_node *n = &g->nodes[i];

    dpi_text_printf(t, "  n%" PRIu32 " [shape=%s, label=\"", i, n->leaf ? "ellipse" : "box");
    if (n->leaf != NULL) {
        const dpi_geometry *of = dpi_geometry_of(n->leaf);
        if (handle != 0)
            dpi_text_printf(t, "tensor %" PRIu64 "\\n", handle);
        add_shape(t, n->leaf->dtype, of->sizes, of->ndim);
    } else {
        dpi_text_add(t, n->op);
        add_returns(t, g, i);
        if (n->request != NULL) {
            dpi_text_add(t, "\\nrequest ");
            add_escaped(t, n->request);
        }
        if (n->step >= 0)
            dpi_text_printf(t, "\\nstep %" PRId64, n->step);
        if (n->saved_bytes > 0)
            dpi_text_printf(t, "\\n%" PRIu64 " bytes saved", n->saved_bytes);
    }
    dpi_text_add(t, "\"];\n");
}

const char *dp_grad_graph_dot(const dp_grad_graph *g, const uint64_t *handles, dp_arena *a)
{
    dpi_text t = {0};

    dpi_text_add(&t, "digraph gradients {\n");
    for (uint32_t i = 0; i < g->n_nodes; i++)
        add_node(&t, g, i, handles != NULL ? handles[i] : 0);
    for (uint32_t i = 0; i < g->n_edges; i++)
        dpi_text_printf(&t, "  n%" PRIu32 " -> n%" PRIu32 ";\n", g->edges[i].from, g->edges[i].to);
    dpi_text_add(&t, "}\n");
    const char *text = t.failed ? NULL : dp_arena_dup(a, t.s, t.len + 1);
    dpi_text_fini(&t);
    return text;
}
