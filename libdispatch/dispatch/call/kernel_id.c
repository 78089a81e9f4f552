/* kernel_id.c -- questions about a bound call before it runs: the kernels that it would run, as one
 * number, where the kernel below the layers comes from, and whether the bytes of its arguments may
 * change meanwhile. */
#include "ctx.h"
#include "keys.h"
#include <stdio.h>
#include <string.h>

/* Does this kernel redispatch the call to a lower key, as layers do?  A composite kernel makes
 * other calls instead. */
static bool is_layer(dp_key k, dpi_cell c)
{
    return dpi_is_layer(k) && (c.provenance == DPI_P_KERNEL || c.provenance == DPI_P_AUTOGRAD ||
                               c.provenance == DPI_P_FALLBACK);
}

/* Return the result of dp_bound_kernel() for a call with key set `keys`, to which include and
 * exclude were applied.  `*below`: the kernel below the layers; unchanged if there is none. */
static uint64_t number_kernels(const dpi_entry *e, dp_keyset keys, const dpi_kernel **below)
{
    const dp_keyset none = {0, 0};
    uint64_t grad = keys.functionality & DPI_GRAD_BIT, layers = 0, id = 0;
    bool more = true;

    while (more) {
        keys = dpi_call_keys(e, keys, none, none);
        dp_key k = dpi_keyset_highest(keys);
        dpi_cell c = dpi_entry_cell(e, k);
        if (c.kernel == NULL)
            break;
        *below = c.kernel;
        id = c.kernel->id;
        more = is_layer(k, c);
        layers = more ? layers * 31 + id : layers;
        keys = more ? dpi_keyset_below(keys, k) : keys;
        keys.functionality |= grad;
    }
    return id | layers << (DP_KERNEL_BITS + 1);
}

/* Return the number of the kernels of the bound call; the snapshot is pinned, so `*below` lives
 * while it is. */
static uint64_t bound_kernels(const dp_ctx *ctx, const dp_bound *b, const dpi_kernel **below)
{
    const dpi_entry *e = dpi_snapshot_entry(dpi_ctx_snapshot(ctx), b->op);

    if (e == NULL || e->schema == NULL || e->n_args != b->n_args)
        return 0;
    dp_keyset keys = dp_keyset_or(dpi_argument_keys(e, b->args), ctx->state->include);
    return number_kernels(e, dp_keyset_minus(keys, ctx->state->exclude), below);
}

uint64_t dp_bound_kernel(dp_ctx *ctx, const dp_bound *b)
{
    const dpi_kernel *below = NULL;
    bool begun;

    if (dpi_ctx_pin(ctx, &begun) < 0)
        return 0;
    uint64_t id = bound_kernels(ctx, b, &below);
    dpi_ctx_unpin(ctx, begun);
    return id;
}

/* Do tensors in `v` require a gradient?  Then records of autograd may keep `v` after the call. */
static bool requires_grad(const dp_value *v)
{
    bool any = v->tag == DP_TAG_TENSOR && v->u.t != NULL && dp_tensor_requires_grad(v->u.t);

    for (uint32_t i = 0; v->tag == DP_TAG_TENSORS && i < v->len && !any; i++)
        any = v->u.tensors[i] != NULL && dp_tensor_requires_grad(v->u.tensors[i]);
    return any;
}

bool dp_bound_reads_once(dp_ctx *ctx, const dp_bound *b)
{
    bool begun;

    if (b->written != 0 || dpi_ctx_pin(ctx, &begun) < 0)
        return false;
    const dpi_entry *e = dpi_snapshot_entry(dpi_ctx_snapshot(ctx), b->op);
    bool once = e != NULL && e->reads_once;
    dpi_ctx_unpin(ctx, begun);
    for (uint32_t i = 0; i < b->n_args && once; i++)
        once = !requires_grad(&b->args[i]);
    return once;
}

bool dp_bound_random(dp_ctx *ctx, const dp_bound *b)
{
    bool begun;

    if (dpi_ctx_pin(ctx, &begun) < 0)
        return true;
    const dpi_entry *e = dpi_snapshot_entry(dpi_ctx_snapshot(ctx), b->op);
    bool random = e == NULL || e->random;
    dpi_ctx_unpin(ctx, begun);
    return random;
}

void dp_bound_origin(dp_ctx *ctx, const dp_bound *b, dp_kernel_origin *out)
{
    const dpi_kernel *k = NULL;
    bool begun;

    memset(out, 0, sizeof(*out));
    if (dpi_ctx_pin(ctx, &begun) < 0)
        return;
    bound_kernels(ctx, b, &k);
    if (k != NULL && k->gen != NULL) {
        out->id = k->id;
        out->key = k->key;
        snprintf(out->plugin, sizeof(out->plugin), "%s", k->gen->plugin);
        out->generation = k->gen->number;
    }
    dpi_ctx_unpin(ctx, begun);
}
