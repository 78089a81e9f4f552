/* recording.c -- the calls that are recorded while a program with recompute runs: begin and end a
 * checkpoint, and number the calls (checkpoint.h). */
#include "checkpoint.h"

/* A checkpoint whose program runs. */
typedef struct running {
    dpi_recording recording;
    dpi_recording *before; /* recording of the context before */
    dpi_checkpoint *c;     /* with a reference */
    uint64_t *counts;      /* [n_counts] owned; counts of calls by operator before */
    uint32_t n_counts;
} running;

static void running_free(running *r)
{
    dpi_checkpoint_unref(r->c);
    dp_free(r->counts);
    dp_free(r);
}

/* Save the context's counts of calls. */
static int save_counts(dp_ctx *ctx, running *r)
{
    if ((r->counts = dp_malloc_n((size_t)ctx->n_counts + 1, sizeof(*r->counts))) == NULL)
        return dpi_no_memory(&ctx->error, "a checkpoint");
    r->n_counts = ctx->n_counts;
    for (uint32_t i = 0; i < r->n_counts; i++)
        r->counts[i] = atomic_load_explicit(&ctx->counts[i], memory_order_relaxed);
    return 0;
}

/* Save the inputs, unless the program of an outer checkpoint can make them again. */
static int save(dp_ctx *ctx, running *r, const dp_value *inputs)
{
    dpi_recording *outer = r->before;
    int rc = 0;

    if (outer != NULL && outer->of != NULL) {
        r->c->outer = dpi_checkpoint_ref(outer->of);
        r->c->outer_nr = ++outer->of->n_calls;
        return 0;
    }
    rc = save_counts(ctx, r);
    if (rc == 0)
        rc = dpi_checkpoint_save(ctx, r->c, inputs);
    if (rc == 0 && outer != NULL)
        rc = dpi_recomputed_add(ctx, outer->into, NULL, dpi_checkpoint_ref(r->c));
    return rc;
}

static int begin(dp_ctx *ctx, const dp_program *p, const dp_value *inputs, void **run)
{
    running *r;

    *run = NULL;
    if (dp_ctx_mode(ctx)->no_grad)
        return 0;
    if ((r = dp_calloc(1, sizeof(*r))) == NULL)
        return dpi_no_memory(&ctx->error, "a checkpoint");
    r->before = ctx->recording;
    int rc = dpi_checkpoint_new(ctx, p, &r->c);
    if (rc == 0)
        rc = save(ctx, r, inputs);
    if (rc < 0) {
        running_free(r);
        return rc;
    }
    r->recording.of = r->c;
    ctx->recording = &r->recording;
    *run = r;
    return 0;
}

static int end(dp_ctx *ctx, void *run, int rc)
{
    running *r = run;

    if (r == NULL)
        return rc;
    ctx->recording = r->before;
    if (rc == 0 && r->c->outer == NULL && r->c->n_calls > 0) {
        rc = dpi_checkpoint_settle(ctx, r->c);
        if (rc == 0)
            rc = dpi_checkpoint_called(ctx, r->c, r->counts, r->n_counts);
    }
    running_free(r);
    return rc;
}

int dpi_recording_add(dp_ctx *ctx, dpi_node *n)
{
    dpi_recording *r = ctx->recording;

    if (r->of == NULL) {
        for (uint32_t i = 0; i < n->n_slots; i++)
            if (n->slots[i].kind == DPI_SLOT_TENSORS ||
                (n->slots[i].kind == DPI_SLOT_TENSOR && n->slots[i].tensor.geometry != NULL))
                return dpi_recomputed_add(ctx, r->into, dpi_node_ref(n), NULL);
        return 0;
    }
    if (!dpi_node_drop_saved(n))
        return 0;
    n->checkpoint = dpi_checkpoint_ref(r->of);
    n->checkpoint_nr = ++r->of->n_calls;
    for (dpi_checkpoint *c = r->of; c != NULL; c = c->outer)
        c->min_topo = n->topo < c->min_topo ? n->topo : c->min_topo;
    return 0;
}

__attribute__((constructor)) static void fill(void)
{
    dpi_checkpoints = (dpi_checkpoint_fns){begin, end};
}
