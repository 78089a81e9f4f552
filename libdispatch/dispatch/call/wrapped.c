/* wrapped.c -- calls with wrapper tensors: a kernel for bytes gets none. */
#include "enter.h"

/* A kernel of a backend reads and writes bytes; those of other keys take wrappers apart, and
 * composites call others. */
static bool takes_bytes(const dpi_kernel *k)
{
    return dp_key_functionality(k->key) == DP_F_Dense;
}

static DPI_COLD unsigned refuse(dp_ctx *ctx, const dpi_entry *e, const dpi_kernel *k)
{
    char text[400], key[DP_KEY_NAME_MAX];

    snprintf(text, sizeof(text),
             "the kernel for %s (plugin '%s', %s:%u) reads bytes, and an argument is a tensor made "
             "of tensors, which has none",
             dp_key_name(k->key, key), k->gen->plugin, k->file, k->line);
    dpi_fail_op(ctx, DP_ENOTIMPL, e->op, k->key, text);
    return DPI_CELL_MISSING;
}

DPI_COLD unsigned dpi_resolve_wrapped(dp_ctx *ctx, const dpi_entry *e, dp_keyset *ks, unsigned cell)
{
    bool wrapped = (ks->backend & DPI_WRAPPER_BIT) != 0;

    ks->backend &= ~DPI_WRAPPER_BIT;
    if (wrapped)
        cell = resolve(e, ks);
    if (cell >= DPI_CELL_AMBIGUOUS)
        dpi_fail_missing(ctx, e, *ks, cell);
    else if (takes_bytes(e->kernels[cell]))
        return refuse(ctx, e, e->kernels[cell]);
    return cell;
}
