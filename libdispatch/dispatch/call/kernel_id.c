/* kernel_id.c -- dp_bound_kernel(): the kernels that a bound call would run, as one number. */
#include "ctx.h"
#include "keys.h"

/* Does this kernel redispatch the call to a lower key, as layers do?  A composite kernel makes
 * other calls instead. */
static bool is_layer(dp_key k, dpi_cell c)
{
    return dpi_is_layer(k) && (c.provenance == DPI_P_KERNEL || c.provenance == DPI_P_AUTOGRAD ||
                               c.provenance == DPI_P_FALLBACK);
}

/* Return the result of dp_bound_kernel() for a call with key set `keys`, to which include and
 * exclude were applied. */
static uint64_t number_kernels(const dpi_entry *e, dp_keyset keys)
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
        id = c.kernel->id;
        more = is_layer(k, c);
        layers = more ? layers * 31 + id : layers;
        keys = more ? dpi_keyset_below(keys, k) : keys;
        keys.functionality |= grad;
    }
    return id | layers << (DP_KERNEL_BITS + 1);
}

uint64_t dp_bound_kernel(dp_ctx *ctx, const dp_bound *b)
{
    uint64_t id = 0;
    bool begun;

    if (dpi_ctx_pin(ctx, &begun) < 0)
        return 0;
    const dpi_entry *e = dpi_snapshot_entry(dpi_ctx_snapshot(ctx), b->op);
    if (e != NULL && e->schema != NULL && e->n_args == b->n_args) {
        dp_keyset keys = dp_keyset_or(dpi_argument_keys(e, b->args), ctx->state->include);
        id = number_kernels(e, dp_keyset_minus(keys, ctx->state->exclude));
    }
    dpi_ctx_unpin(ctx, begun);
    return id;
}
