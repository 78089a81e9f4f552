/* dry.c -- a backward over tensors without memory (dp_backward_options.dry): how many bytes it
 * would hold, and what it could not compute.
 *
 * The engine walks the graph as always, in fake mode, and gives no tensor a gradient.  A meter
 * counts the bytes of what the formulas make, and those that the graph has saved until the node
 * that saved them has run.  What a leaf or a handle keeps is not freed then. */
#include "engine.h"
#include "tensor/meter.h"
#include "tensor/room.h"

/* The nodes of one operator. */
typedef struct op_sum {
    const dp_op *op; /* NULL: views whose bases were written */
    uint64_t calls, saved_bytes;
    bool missing; /* an operator without a formula */
} op_sum;

/* A storage that nodes save. */
typedef struct saved_storage {
    const dpi_storage *storage; /* NULL: free slot */
    uint64_t count;             /* how often nodes that have not run save it */
    bool stays;                 /* a leaf has it, or a holder that is not the graph */
} saved_storage;

struct dpi_dry {
    dpi_meter *meter, *outer; /* `outer`: the meter that the thread used before */
    op_sum *ops;              /* [n_ops] */
    uint32_t n_ops, cap_ops;
    saved_storage *table; /* [mask + 1] hash table by address */
    uint32_t mask, n_storages;
};

static int no_memory(const dpi_engine *g)
{
    return dpi_no_memory(&g->ctx->error, "a dry backward");
}

/* -- what is saved -- */

static saved_storage *slot_of(const dpi_dry *d, const dpi_storage *s)
{
    uint32_t i = dpi_address_hash(s) & d->mask;

    while (d->table[i].storage != NULL && d->table[i].storage != s)
        i = (i + 1) & d->mask;
    return &d->table[i];
}

static int table_grow(dpi_engine *g)
{
    dpi_dry *d = g->dry;
    dpi_dry larger = {.mask = d->table == NULL ? 63 : 2 * d->mask + 1};

    if ((larger.table = dp_calloc((size_t)larger.mask + 1, sizeof(*larger.table))) == NULL)
        return no_memory(g);
    for (uint32_t i = 0; d->table != NULL && i <= d->mask; i++)
        if (d->table[i].storage != NULL)
            *slot_of(&larger, d->table[i].storage) = d->table[i];
    dp_free(d->table);
    d->table = larger.table;
    d->mask = larger.mask;
    return 0;
}

/* A function that is called for each tensor that a node saves. */
typedef int (*saved_fn)(dpi_engine *g, const dpi_saved *s, void *arg);

static int each_slot(dpi_engine *g, const dpi_node *n, saved_fn see, void *arg)
{
    int rc = 0;

    for (uint32_t i = 0; i < n->n_slots && rc == 0; i++) {
        const dpi_slot *s = &n->slots[i];
        if (s->kind == DPI_SLOT_TENSOR && s->tensor.geometry != NULL)
            rc = see(g, &s->tensor, arg);
        for (uint32_t k = 0; s->kind == DPI_SLOT_TENSORS && k < s->n && rc == 0; k++)
            if (s->list[k].geometry != NULL)
                rc = see(g, &s->list[k], arg);
    }
    return rc;
}

/* Call `see` for each tensor that the outermost checkpoint of `c` saves. */
static int each_input(dpi_engine *g, const dpi_checkpoint *c, saved_fn see, void *arg)
{
    const dpi_saved *list;
    int rc = 0;

    while (c->outer != NULL)
        c = c->outer;
    for (uint32_t i = 0; i < c->program->n_inputs && rc == 0; i++) {
        uint32_t n = dpi_saved_of(dpi_checkpoint_input(c, i), &list);
        for (uint32_t k = 0; k < n && rc == 0; k++)
            if (list[k].geometry != NULL)
                rc = see(g, &list[k], arg);
    }
    return rc;
}

/* Call `see` for each tensor that is freed only after `n` has run: those that it saves, or those
 * from which they are computed again. */
static int each_held(dpi_engine *g, dpi_node *n, saved_fn see, void *arg)
{
    dpi_node *saver = n->inner != NULL ? n->inner : n;

    dpi_node_lock(saver);
    int rc = saver->released ? 0 : each_slot(g, saver, see, arg);
    if (rc == 0 && saver->checkpoint != NULL)
        rc = each_input(g, saver->checkpoint, see, arg);
    dpi_node_unlock(saver);
    return rc;
}

/* Call `see` for each tensor that `n` saves, unless a backward has released them. */
static int each_saved(dpi_engine *g, dpi_node *n, saved_fn see, void *arg)
{
    dpi_node *saver = n->inner != NULL ? n->inner : n;

    dpi_node_lock(saver);
    int rc = saver->released ? 0 : each_slot(g, saver, see, arg);
    dpi_node_unlock(saver);
    return rc;
}

/* Find the storage in the table, or add it: *out. */
static int find_storage(dpi_engine *g, dpi_storage *storage, saved_storage **out)
{
    dpi_dry *d = g->dry;

    if (d->table == NULL || 2 * d->n_storages >= d->mask) {
        int rc = table_grow(g);
        if (rc < 0)
            return rc;
    }
    *out = slot_of(d, storage);
    if ((*out)->storage == NULL) {
        **out = (saved_storage){storage, 0, dpi_storage_is_held(storage)};
        d->n_storages++;
    }
    return 0;
}

static int add_storage(dpi_engine *g, const dpi_saved *s, void *arg)
{
    saved_storage *slot;
    int rc = find_storage(g, s->geometry->storage, &slot);

    (void)arg;
    if (rc == 0 && slot->count++ == 0)
        dpi_meter_add(g->dry->meter, slot->storage->bytes);
    return rc;
}

/* The graph keeps leaf `t` until it is freed, and so the leaf's storage. */
static int keep_leaf(dpi_engine *g, const dp_tensor *t)
{
    saved_storage *slot;
    int rc = find_storage(g, dpi_storage_of(t), &slot);

    if (rc == 0)
        slot->stays = true;
    return rc;
}

static int remove_storage(dpi_engine *g, const dpi_saved *s, void *arg)
{
    (void)arg;
    const dpi_storage *storage = s->geometry->storage;
    saved_storage *slot = slot_of(g->dry, storage);

    /* a storage that was not there at first: another connection has given a leaf other elements */
    if (slot->storage != NULL && slot->count > 0 && --slot->count == 0 && !slot->stays)
        dpi_meter_sub(g->dry->meter, storage->bytes);
    return 0;
}

static int add_bytes(dpi_engine *g, const dpi_saved *s, void *bytes)
{
    (void)g;
    *(uint64_t *)bytes = dp_size_plus(
        *(uint64_t *)bytes, dp_size_times((uint64_t)s->geometry->numel, dp_dtype_size(s->dtype)));
    return 0;
}

/* -- the engine's calls -- */

int dpi_dry_begin(dpi_engine *g)
{
    int rc = 0;

    for (uint32_t i = 0; i < g->n_tasks && rc == 0; i++)
        if (g->tasks[i].at.leaf)
            rc = keep_leaf(g, g->tasks[i].at.to);
        else
            rc = each_held(g, g->tasks[i].at.to, add_storage, NULL);
    if (rc == 0)
        g->o->dry->saved_bytes = dpi_meter_now(g->dry->meter);
    return rc;
}

/* Find the sums of the operator of n, or add them. */
static op_sum *sums_of(dpi_engine *g, const dpi_node *n)
{
    dpi_dry *d = g->dry;
    const dp_op *op = n->inner != NULL ? n->inner->op : n->op;

    for (uint32_t i = 0; i < d->n_ops; i++)
        if (d->ops[i].op == op)
            return &d->ops[i];
    void *grown = dpi_grow(d->ops, &d->cap_ops, d->n_ops + 1, sizeof(*d->ops));
    if (grown == NULL)
        return NULL;
    d->ops = grown;
    d->ops[d->n_ops] = (op_sum){.op = op};
    return &d->ops[d->n_ops++];
}

/* Does backward want a gradient for which n's operator has no formula? */
static bool is_missing(const dpi_node *n, const bool *wanted)
{
    const dpi_formula *f = n->formula;

    if (f == NULL)
        return n->kind == DPI_NODE_MISSING;
    for (uint32_t a = 0; a < n->n_args && a < 64; a++)
        for (uint32_t e = n->arg_edges[a]; (f->missing >> a & 1) && e < n->arg_edges[a + 1]; e++)
            if (wanted[e])
                return true;
    return false;
}

/* Make zeros of the shape that the gradient of edge `e` has: *out, owned. */
static int zeros_for(dp_ctx *ctx, dpi_edge e, dp_tensor **out)
{
    if (e.leaf) {
        const dp_tensor *t = e.to;
        const dpi_geometry *g = dpi_geometry_of(t);
        return dpi_zeros(ctx, g->ndim, g->sizes, t->dtype, g->storage->device, out);
    }
    const dpi_node *n = e.to;
    const dpi_node_ret *r = &n->rets[e.nr];
    return dpi_zeros(ctx, r->ndim, n->dims + r->sizes, r->dtype, r->device, out);
}

int dpi_dry_apply(dpi_engine *g, dpi_node *n, dp_tensor *const *grads, dpi_applied *out)
{
    bool missing =
        is_missing(n, out->wanted) || (n->inner != NULL && is_missing(n->inner, out->wanted + 1));
    op_sum *sums = sums_of(g, n);
    int rc = 0;

    if (sums == NULL)
        return no_memory(g);
    sums->calls++;
    sums->missing |= missing;
    each_saved(g, n, add_bytes, &sums->saved_bytes);
    if (!missing)
        return dpi_node_apply(g->ctx, n, grads, out);
    for (uint32_t i = 0; i < n->n_edges && rc == 0; i++)
        if (out->wanted[i])
            rc = zeros_for(g->ctx, n->edges[i], &out->grads[i]);
    return rc;
}

void dpi_dry_release(dpi_engine *g, dpi_node *n)
{
    each_held(g, n, remove_storage, NULL);
}

int dpi_dry_new(dpi_engine *g)
{
    if ((g->dry = dp_calloc(1, sizeof(*g->dry))) == NULL)
        return no_memory(g);
    if ((g->dry->meter = dpi_meter_new()) == NULL)
        return no_memory(g);
    g->dry->outer = dpi_meter_use(g->dry->meter);
    return 0;
}

/* Copy the sums to the caller's report, in the context's arena. */
int dpi_dry_report(dpi_engine *g)
{
    dp_backward_dry *to = g->o->dry;
    const dpi_dry *d = g->dry;

    to->peak_bytes = dpi_meter_peak(d->meter);
    to->n_ops = d->n_ops;
    if ((to->ops = dp_arena_alloc_n(&g->ctx->arena, (size_t)d->n_ops + 1, sizeof(*to->ops))) ==
        NULL)
        return no_memory(g);
    if (g->recomputes.runs > 0)
        to->ops[to->n_ops++] = (dp_backward_dry_op){
            .op = "recompute", .calls = g->recomputes.runs, .saved_bytes = g->recomputes.bytes};
    for (uint32_t i = 0; i < d->n_ops; i++)
        to->ops[i] =
            (dp_backward_dry_op){.op = d->ops[i].op != NULL ? d->ops[i].op->name : "as_strided",
                                 .calls = d->ops[i].calls,
                                 .saved_bytes = d->ops[i].saved_bytes,
                                 .missing = d->ops[i].missing};
    return 0;
}

void dpi_dry_free(dpi_engine *g)
{
    if (g->dry == NULL)
        return;
    if (g->dry->meter != NULL)
        dpi_meter_use(g->dry->outer);
    dpi_meter_unref(g->dry->meter);
    dp_free(g->dry->ops);
    dp_free(g->dry->table);
    dp_free(g->dry);
    g->dry = NULL;
}
