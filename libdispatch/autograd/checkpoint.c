/* checkpoint.c -- checkpoints: what a program needs to run again in backward, as long as the nodes
 * of its calls live. */
#include "checkpoint.h"
#include "base/account.h"

int dpi_checkpoint_new(dp_ctx *ctx, const dp_program *p, dpi_checkpoint **out)
{
    dpi_checkpoint *c = dp_calloc(1, sizeof(*c));

    if (c == NULL)
        return dpi_no_memory(&ctx->error, "a checkpoint");
    atomic_init(&c->refs, 1);
    if (ctx->account != NULL) {
        int rc = dp_account_charge(ctx->account, DP_HOLDER_HISTORY, 1, sizeof(*c), &ctx->error);
        if (rc < 0) {
            dp_free(c);
            return rc;
        }
        c->account = dp_account_ref(ctx->account);
        c->bytes = sizeof(*c);
    }
    c->program = dp_program_ref((dp_program *)(uintptr_t)p);
    c->min_topo = UINT32_MAX;
    *out = c;
    return 0;
}

dpi_checkpoint *dpi_checkpoint_ref(dpi_checkpoint *c)
{
    atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
    return c;
}

int dpi_checkpoint_charge(dp_ctx *ctx, dpi_checkpoint *c, size_t bytes)
{
    int rc = c->account != NULL
                 ? dp_account_charge(c->account, DP_HOLDER_HISTORY, 0, bytes, &ctx->error)
                 : 0;

    if (rc == 0)
        c->bytes += bytes;
    return rc;
}

static void free_slots(dpi_slot *slots, uint32_t n)
{
    for (uint32_t i = 0; slots != NULL && i < n; i++)
        dpi_slot_clear(&slots[i]);
    dp_free(slots);
}

static void checkpoint_free(dpi_checkpoint *c)
{
    free_slots(c->inputs, c->program->n_inputs);
    free_slots(c->copies, c->program->n_inputs);
    dp_free(c->needs);
    dp_free(c->called);
    dp_generators_free(c->generators);
    dp_program_unref(c->program);
    if (c->account != NULL) {
        dp_account_refund(c->account, DP_HOLDER_HISTORY, 1, c->bytes);
        dp_account_close(c->account);
    }
    dp_free(c);
}

void dpi_checkpoint_unref(dpi_checkpoint *c)
{
    while (c != NULL && dpi_unref_last(&c->refs)) {
        dpi_checkpoint *outer = c->outer;
        checkpoint_free(c);
        c = outer;
    }
}

uint64_t dpi_checkpoint_bytes(const dpi_checkpoint *c)
{
    const dpi_saved *list;
    uint64_t bytes = 0;

    for (uint32_t i = 0; c->inputs != NULL && i < c->program->n_inputs; i++) {
        uint32_t n = dpi_saved_of(dpi_checkpoint_input(c, i), &list);
        for (uint32_t k = 0; k < n; k++)
            if (list[k].geometry != NULL)
                bytes = dp_size_plus(bytes, dp_size_times((uint64_t)list[k].geometry->numel,
                                                          dp_dtype_size(list[k].dtype)));
    }
    return bytes;
}

int dpi_checkpoint_tensors(dp_ctx *ctx, dp_value *v)
{
    uint32_t n = v->tag == DP_TAG_LIST ? v->len : 0, i = 0;

    while (i < n && v->u.values[i].tag == DP_TAG_TENSOR)
        i++;
    if (n == 0 || i < n)
        return 0;
    dp_tensor **list = dp_arena_alloc_n(&ctx->arena, n, sizeof(dp_tensor *));
    if (list == NULL)
        return dpi_no_memory(&ctx->error, "a checkpoint");
    for (i = 0; i < n; i++)
        list[i] = v->u.values[i].u.t;
    *v = dp_tensors(list, n);
    return 0;
}
