/* node.c -- nodes of a graph, and the edges between them.
 *
 * A node is one block of memory and does not change after it was recorded, except for its list
 * `kept` and its saved tensors: a backward releases these, while a backward of another connection
 * may be reading them. */
#include "base/account.h"
#include "checkpoint.h"
#include <sched.h>

enum { MALLOC_ALIGN = 16 };

/* One number for all threads, not one for each: the requests of a connection run on several, and
 * the order in which gradients are added up must be that of the calls. */
static _Alignas(64) _Atomic uint64_t nodes_created;

uint64_t dp_grad_nodes(void)
{
    return (uint64_t)dpi_tally_sum(DPI_TALLY_NODES);
}

/* -- nodes -- */

_Static_assert(sizeof(dpi_node) % 8 == 0 && sizeof(dpi_edge) % 8 == 0 && sizeof(dpi_slot) % 8 == 0,
               "the arrays behind a node need no padding");

DPI_HOT int dpi_node_new(dp_ctx *ctx, dpi_node_kind kind, const dp_op *op, uint32_t n_edges,
                         uint32_t n_rets, uint32_t n_slots, uint32_t n_args, uint32_t n_dims,
                         dpi_node **out)
{
    size_t bytes = sizeof(dpi_node) + dp_size_times(n_edges, sizeof(dpi_edge)) +
                   dp_size_times(n_slots, sizeof(dpi_slot)) +
                   dp_size_times(n_dims, sizeof(int64_t)) +
                   dp_size_times(n_rets, sizeof(dpi_node_ret)) +
                   dp_size_times(n_args + (uint64_t)1, sizeof(uint32_t));

    if (ctx->account != NULL) {
        int rc = dp_account_charge(ctx->account, DP_HOLDER_HISTORY, 1, bytes, &ctx->error);
        if (rc < 0)
            return rc;
    }
    void *allocated = dp_malloc(bytes + DPI_NODE_ALIGN - MALLOC_ALIGN);
    if (allocated == NULL) {
        if (ctx->account != NULL)
            dp_account_refund(ctx->account, DP_HOLDER_HISTORY, 1, bytes);
        return dpi_no_memory(&ctx->error, "history");
    }
    dpi_node *n = (dpi_node *)(((uintptr_t)allocated + DPI_NODE_ALIGN - 1) &
                               ~(uintptr_t)(DPI_NODE_ALIGN - 1));
    memset(n, 0, bytes);
    n->block = allocated;
    atomic_init(&n->refs, 1);
    n->kind = kind;
    n->op = op;
    n->bytes = bytes;
    n->origin = dpi_ctx_origin(ctx);
    n->step = dpi_ctx_step(ctx);
    n->created = atomic_fetch_add_explicit(&nodes_created, 1, memory_order_relaxed) + 1;
    n->account = ctx->account != NULL ? dp_account_ref(ctx->account) : NULL;
    n->n_edges = n_edges;
    n->n_rets = n_rets;
    n->n_slots = n_slots;
    n->n_args = n_args;
    n->edges = (dpi_edge *)(n + 1);
    n->slots = (dpi_slot *)(n->edges + n_edges);
    n->dims = (int64_t *)(n->slots + n_slots);
    n->rets = (dpi_node_ret *)(n->dims + n_dims);
    n->arg_edges = (uint32_t *)(n->rets + n_rets);
    dpi_tally_add(DPI_TALLY_NODES, 1);
    *out = n;
    return 0;
}

dpi_node *dpi_node_ref(dpi_node *n)
{
    atomic_fetch_add_explicit(&n->refs, 1, memory_order_relaxed);
    return n;
}

bool dpi_node_drop_saved(dpi_node *n)
{
    bool saves = false;

    for (uint32_t i = 0; i < n->n_slots; i++) {
        dpi_slot *s = &n->slots[i];
        saves |= (s->kind == DPI_SLOT_TENSOR && s->tensor.geometry != NULL) ||
                 s->kind == DPI_SLOT_TENSORS;
        dpi_slot_release(s);
        if (s->kind == DPI_SLOT_TENSORS)
            s->n = 0; /* others who look at the slots find an empty list */
    }
    return saves;
}

void dpi_node_lock(dpi_node *n)
{
    while (atomic_exchange_explicit(&n->locked, 1, memory_order_acquire) != 0)
        sched_yield();
}

void dpi_node_unlock(dpi_node *n)
{
    atomic_store_explicit(&n->locked, 0, memory_order_release);
}

DPI_HOT void dpi_node_release(dpi_node *n)
{
    bool saves = false;

    for (uint32_t i = 0; i < n->n_slots; i++)
        saves |= n->slots[i].kind == DPI_SLOT_TENSOR || n->slots[i].kind == DPI_SLOT_TENSORS;
    if (saves) {
        dpi_node_lock(n);
        bool first = !n->released;
        __atomic_store_n(&n->released, true, __ATOMIC_RELAXED);
        dpi_node_unlock(n);
        /* from now on no other thread reads the saved tensors; the slots' kinds stay, because other
         * threads may read them */
        for (uint32_t i = 0; i < n->n_slots && first; i++)
            dpi_slot_release(&n->slots[i]);
        if (first && n->checkpoint != NULL) {
            dpi_checkpoint_unref(n->checkpoint);
            n->checkpoint = NULL;
        }
    }
    if (n->inner != NULL)
        dpi_node_release(n->inner);
}

/* List of this thread's nodes without references.  node_free() may drop the last reference to
 * further nodes; the dpi_node_unref() that runs frees these too, so long chains need no
 * recursion. */
static _Thread_local dpi_node *dead;
static _Thread_local bool freeing;

static void node_free(dpi_node *n)
{
    for (uint32_t i = 0; i < n->n_slots; i++)
        dpi_slot_clear(&n->slots[i]);
    for (uint32_t i = 0; i < n->n_edges; i++)
        if (n->edges[i].to != NULL)
            dpi_edge_unref(n->edges[i]);
    dpi_kept_items_free(atomic_load_explicit(&n->kept, memory_order_relaxed));
    dpi_node_unref(n->inner);
    dpi_formula_unref(n->formula);
    dpi_checkpoint_unref(n->checkpoint);
    dpi_origin_unref(n->origin);
    if (n->base != NULL) {
        dp_free(n->base);
        dp_free(n->view);
    }
    if (n->account != NULL) {
        dp_account_refund(n->account, DP_HOLDER_HISTORY, 1, n->bytes);
        dp_account_close(n->account);
    }
    dp_free(n->block);
    dpi_tally_add(DPI_TALLY_NODES, -1);
}

/* Free the nodes on the list.  After `most` nodes the thread of drop.c gets the others, if it can
 * be started. */
DPI_HOT static void free_dead_nodes(uint64_t most)
{
    dpi_node *n;

    freeing = true;
    while ((n = dead) != NULL) {
        dead = n->next_dead;
        if (most > 0)
            most--;
        else if (dpi_node_drop(n, dpi_nodes_free))
            continue;
        node_free(n);
    }
    freeing = false;
}

void dpi_nodes_free(dpi_node *n)
{
    dead = n;
    free_dead_nodes(UINT64_MAX);
}

DPI_HOT void dpi_node_unref(dpi_node *n)
{
    if (n == NULL || !dpi_unref_last(&n->refs))
        return;
    n->next_dead = dead;
    dead = n;
    if (!freeing)
        free_dead_nodes(DPI_NODES_FREED_AT_ONCE);
}

/* -- edges -- */

DPI_HOT dpi_edge dpi_edge_ref(dpi_edge e)
{
    if (e.to != NULL && e.leaf)
        dp_tensor_ref(e.to);
    else if (e.to != NULL)
        dpi_node_ref(e.to);
    return e;
}

DPI_HOT void dpi_edge_unref(dpi_edge e)
{
    if (e.leaf)
        dp_tensor_unref(e.to);
    else
        dpi_node_unref(e.to);
}
