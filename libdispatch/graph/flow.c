/* flow.c -- a smallest cut of a network, by Dinic's method (E. A. Dinic, Soviet Math. Dokl. 11,
 * 1970): again and again, number the nodes by their distance from the source and push flow along
 * edges that lead one step further.  Paths are kept in an array, since a program may have 100,000
 * steps in a row. */
#include "joint.h"

/* Edge e and its reverse, e ^ 1. */
typedef struct edge {
    uint32_t to, next; /* `next`: 1 + the next edge of the same node; 0: none */
    uint64_t left;     /* capacity that is not used */
} edge;

struct dpi_flow {
    uint32_t n, n_edges, cap_edges;
    edge *edges;
    uint32_t *first; /* [n] 1 + the first edge of each node */
    uint32_t *now;   /* [n] 1 + the edge that is tried next */
    uint32_t *level; /* [n] 1 + distance from the source; 0: not reached */
    uint32_t *queue; /* [n] nodes to visit, then the edges of a path */
};

dpi_flow *dpi_flow_new(uint32_t n)
{
    dpi_flow *f = dp_calloc(1, sizeof(*f));

    if (f == NULL)
        return NULL;
    f->n = n;
    if ((f->first = dp_calloc(dp_size_times(n, 4), sizeof(*f->first))) == NULL) {
        dp_free(f);
        return NULL;
    }
    f->now = f->first + n;
    f->level = f->now + n;
    f->queue = f->level + n;
    return f;
}

void dpi_flow_free(dpi_flow *f)
{
    if (f == NULL)
        return;
    dp_free(f->edges);
    dp_free(f->first);
    dp_free(f);
}

static void add(dpi_flow *f, uint32_t from, uint32_t to, uint64_t capacity)
{
    f->edges[f->n_edges] = (edge){to, f->first[from], capacity};
    f->first[from] = ++f->n_edges;
}

bool dpi_flow_edge(dpi_flow *f, uint32_t from, uint32_t to, uint64_t capacity)
{
    edge *grown = dpi_grow(f->edges, &f->cap_edges, f->n_edges + 2, sizeof(*grown));

    if (grown == NULL)
        return false;
    f->edges = grown;
    add(f, from, to, capacity);
    add(f, to, from, 0);
    return true;
}

/* Number the nodes by their distance from the source.  True: the sink is reached. */
static bool number_nodes(dpi_flow *f)
{
    uint32_t n = 1;

    dp_zero_n(f->level, f->n, sizeof(*f->level));
    f->level[0] = 1;
    f->queue[0] = 0;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t e = f->first[f->queue[i]]; e != 0; e = f->edges[e - 1].next) {
            const edge *x = &f->edges[e - 1];
            if (x->left == 0 || f->level[x->to] != 0)
                continue;
            f->level[x->to] = f->level[f->queue[i]] + 1;
            f->queue[n++] = x->to;
        }
    return f->level[1] != 0;
}

/* Push flow along the path of `n` edges in f->queue.  Returns it. */
static uint64_t push(dpi_flow *f, uint32_t n)
{
    uint64_t least = UINT64_MAX;

    for (uint32_t i = 0; i < n; i++)
        if (f->edges[f->queue[i]].left < least)
            least = f->edges[f->queue[i]].left;
    for (uint32_t i = 0; i < n; i++) {
        edge *x = &f->edges[f->queue[i]], *back = &f->edges[f->queue[i] ^ 1];
        x->left -= x->left != UINT64_MAX ? least : 0;
        back->left += back->left != UINT64_MAX ? least : 0;
    }
    return least;
}

/* Find a path from the source to the sink, by edges that lead one step further: its number of
 * edges, which are in f->queue; 0: there is none any more. */
static uint32_t find_path(dpi_flow *f)
{
    uint32_t at = 0, n = 0;

    while (at != 1) {
        uint32_t e = f->now[at];
        if (e == 0) { /* a dead end: go back, and do not come here again */
            if (n == 0)
                return 0;
            f->level[at] = 0;
            at = f->edges[f->queue[--n] ^ 1].to;
            continue;
        }
        const edge *x = &f->edges[e - 1];
        if (x->left > 0 && f->level[x->to] == f->level[at] + 1) {
            f->queue[n++] = e - 1;
            at = x->to;
        } else {
            f->now[at] = x->next;
        }
    }
    return n;
}

uint64_t dpi_flow_cut(dpi_flow *f, bool *reached)
{
    uint64_t flow = 0;

    while (flow != UINT64_MAX && number_nodes(f)) {
        uint32_t n;
        dp_copy_n(f->now, f->first, f->n, sizeof(*f->now));
        while (flow != UINT64_MAX && (n = find_path(f)) > 0)
            flow = dp_size_plus(flow, push(f, n));
    }
    for (uint32_t i = 0; i < f->n; i++)
        reached[i] = f->level[i] != 0;
    return flow;
}
