/* recompute.c -- run the program of a checkpoint again in backward, to get what its calls would
 * have saved (torch.utils.checkpoint with use_reentrant=False).
 *
 * The program runs as it did, and records its calls in new nodes, whose order is that of the calls'
 * numbers.  Backward reads the saved values of these nodes in place of the nodes of the graph,
 * and releases them when the node of the graph has run.  What was computed belongs to
 * one backward, so several can go through one graph at the same time. */
#include "engine.h"

int dpi_recomputed_add(dp_ctx *ctx, dpi_recomputed *r, dpi_node *node, dpi_checkpoint *inner)
{
    void *grown = dpi_grow(r->items, &r->cap, r->n + 1, sizeof(*r->items));

    if (grown == NULL) {
        dpi_node_unref(node);
        dpi_checkpoint_unref(inner);
        return dpi_no_memory(&ctx->error, "a program that backward runs again");
    }
    r->items = grown;
    r->items[r->n++] = (struct dpi_recomputed_item){node, inner};
    return 0;
}

/* -- what was computed -- */

/* End an item, whose number stays. */
static void item_end(struct dpi_recomputed_item *item)
{
    if (item->node != NULL)
        dpi_node_release(item->node); /* nodes of later calls may keep the node itself */
    dpi_node_unref(item->node);
    dpi_checkpoint_unref(item->inner);
    *item = (struct dpi_recomputed_item){NULL, NULL};
}

static void recomputed_free(dpi_recomputed *r)
{
    for (uint32_t i = r->n; i-- > 0;)
        item_end(&r->items[i]);
    dpi_checkpoint_unref(r->of);
    dp_free(r->items);
    dp_free(r);
}

static dpi_recomputed *find(const dpi_recomputes *all, const dpi_checkpoint *c)
{
    dpi_recomputed *r = all->first;

    while (r != NULL && r->of != c)
        r = r->next;
    return r;
}

void dpi_recomputes_pass(dpi_recomputes *all, uint32_t topo)
{
    for (dpi_recomputed **at = &all->first; *at != NULL;) {
        dpi_recomputed *r = *at;
        if (r->of->min_topo <= topo) {
            at = &r->next;
            continue;
        }
        *at = r->next;
        recomputed_free(r);
    }
}

void dpi_recomputes_end_node(dpi_recomputes *all, dpi_node *n)
{
    n = n->inner != NULL ? n->inner : n;
    dpi_node_lock(n); /* another backward may be releasing it */
    dpi_recomputed *r = n->checkpoint != NULL ? find(all, n->checkpoint) : NULL;
    dpi_node_unlock(n);
    if (r != NULL && n->checkpoint_nr <= r->n)
        item_end(&r->items[n->checkpoint_nr - 1]);
}

void dpi_recomputes_fini(dpi_recomputes *all)
{
    while (all->first != NULL) {
        dpi_recomputed *r = all->first;
        all->first = r->next;
        recomputed_free(r);
    }
}

/* -- running a program again -- */

static int fail_otherwise(dp_ctx *ctx, const dpi_node *n)
{
    return dp_error_set(&ctx->error, DP_ERUNTIME,
                        "recompute: the program did not record the calls that it recorded at "
                        "first; the first that differs is one of %s",
                        n != NULL ? n->op->name : "a program with recompute");
}

/* Put "recompute: " before the message, unless it is about the request. */
static int fail_again(dp_ctx *ctx, int rc)
{
    dp_error e = ctx->error;

    if (rc == DP_ECANCELLED || rc == DP_EDEADLINE || strncmp(e.message, "recompute: ", 11) == 0)
        return rc;
    dp_error_set(&ctx->error, e.code, "recompute: %s", e.message);
    memcpy(ctx->error.op, e.op, sizeof(e.op));
    memcpy(ctx->error.key, e.key, sizeof(e.key));
    return rc;
}

/* Run the program, while `r` collects the calls. */
static int run_program(dp_ctx *ctx, dpi_recomputed *r, const dpi_checkpoint *c,
                       const dp_value *inputs, dp_generators *generators)
{
    dpi_recording recording = {NULL, r}, *before = ctx->recording;
    dp_generators *usual = ctx->generators;
    uint32_t n = c->program->n_outputs;
    dp_run run = {.size = sizeof(run),
                  .inputs = inputs,
                  .outputs = dp_arena_alloc_n(&ctx->arena, n, sizeof(dp_value))};
    int depth = dpi_guard_state(ctx, c->include, c->exclude, &c->mode);

    if (depth < 0)
        return depth;
    ctx->recording = &recording;
    ctx->generators = generators;
    int rc = run.outputs != NULL ? dp_program_run(ctx, c->program, &run)
                                 : dpi_no_memory(&ctx->error, "outputs of a program");
    if (rc == 0)
        dp_values_release(run.outputs, n);
    ctx->generators = usual;
    ctx->recording = before;
    dp_guard_leave(ctx, depth);
    return rc;
}

/* Run the program of `c`, which has its inputs. */
static int run_checkpoint(dp_ctx *ctx, dpi_recomputed *r, dpi_checkpoint *c)
{
    char *at = ctx->arena.at;
    dp_generators *generators = NULL;
    dp_value *inputs = dp_arena_alloc_n(&ctx->arena, c->program->n_inputs, sizeof(*inputs));

    if (inputs == NULL)
        return dpi_no_memory(&ctx->error, "the inputs of a program");
    int rc = dpi_checkpoint_check(ctx, c);
    if (rc == 0 && ctx->capture != NULL && (c->program->flags & DP_STEP_FLAG_RANDOM))
        rc = dp_error_set(&ctx->error, DP_ENOTIMPL,
                          "recompute: the program draws random numbers, and a capture that began "
                          "after its first run cannot record the same ones");
    if (rc < 0)
        return rc;
    rc = dpi_checkpoint_inputs(ctx, c, inputs, &generators);
    if (rc == 0 && (rc = run_program(ctx, r, c, inputs, generators)) < 0)
        rc = fail_again(ctx, rc);
    dpi_checkpoint_inputs_end(c, inputs);
    dp_generators_free(generators);
    dpi_arena_rewind(&ctx->arena, at);
    return rc;
}

/* Get what the calls of `c` save: *out, which `all` owns.  Checkpoints are nested at most
 * DP_LIMIT_PROGRAM_DEPTH deep, and so is this function. */
static int get(dp_ctx *ctx, dpi_recomputes *all, dpi_checkpoint *c, dpi_recomputed **out)
{
    dpi_recomputed *outer = NULL;
    dpi_checkpoint *source = c;
    int rc = 0;

    if ((*out = find(all, c)) != NULL)
        return 0;
    if (c->outer != NULL) {
        rc = get(ctx, all, c->outer, &outer);
        if (rc < 0)
            return rc;
        source = c->outer_nr <= outer->n ? outer->items[c->outer_nr - 1].inner : NULL;
        if (source == NULL)
            return fail_otherwise(ctx, NULL);
    }
    dpi_recomputed *r = dp_calloc(1, sizeof(*r));
    if (r == NULL)
        return dpi_no_memory(&ctx->error, "a program that backward runs again");
    r->of = dpi_checkpoint_ref(c);
    all->runs++;
    all->bytes += outer == NULL ? dpi_checkpoint_bytes(source) : 0;
    rc = run_checkpoint(ctx, r, source);
    if (rc < 0) {
        recomputed_free(r);
        return rc;
    }
    if (outer != NULL)
        item_end(&outer->items[c->outer_nr - 1]);
    r->next = all->first;
    all->first = *out = r;
    return 0;
}

static bool same_source(const dpi_source *a, const dpi_source *b)
{
    return a->kind == b->kind && a->index == b->index && a->field == b->field &&
           a->slot == b->slot && a->optional == b->optional && a->list == b->list;
}

/* Have the nodes saved the same values of the same operator's call? */
static bool same_call(const dpi_node *a, const dpi_node *b)
{
    const dpi_formula *f = a->formula, *g = b->formula;

    if (a->op != b->op || a->n_slots != b->n_slots || a->n_edges != b->n_edges || f == NULL ||
        g == NULL || f->n_inputs != g->n_inputs || f->clone != g->clone)
        return false;
    for (uint32_t i = 0; i < f->n_inputs && f != g; i++)
        if (!same_source(&f->inputs[i], &g->inputs[i]))
            return false;
    for (uint32_t i = 0; i < a->n_slots; i++)
        if (a->slots[i].kind != b->slots[i].kind)
            return false;
    return true;
}

int dpi_recomputes_node(dp_ctx *ctx, dpi_recomputes *all, dpi_node *n, const dpi_node **out)
{
    dpi_recomputed *r;
    dpi_checkpoint *c;

    *out = n;
    dpi_node_lock(n); /* another backward may be releasing it */
    c = n->checkpoint != NULL ? dpi_checkpoint_ref(n->checkpoint) : NULL;
    dpi_node_unlock(n);
    if (c == NULL)
        return 0;
    int rc = get(ctx, all, c, &r);
    if (rc == 0) {
        *out = n->checkpoint_nr <= r->n ? r->items[n->checkpoint_nr - 1].node : NULL;
        rc = *out != NULL && same_call(n, *out) ? 0 : fail_otherwise(ctx, n);
    }
    dpi_checkpoint_unref(c);
    return rc;
}
