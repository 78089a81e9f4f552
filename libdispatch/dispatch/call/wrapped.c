/* wrapped.c -- calls with tensors without bytes: refuse kernels that may need bytes.
 *
 * Tensors without bytes are wrapper tensors, fakes and tensors on device meta. */
#include "enter.h"

static DPI_COLD int refuse(dp_ctx *ctx, const dpi_entry *e, const dpi_kernel *k, bool wrapped)
{
    bool wary = dpi_may_want_bytes(e, k);
    char text[400], key[DP_KEY_NAME_MAX];

    snprintf(text, sizeof(text), "the kernel for %s (plugin '%s', %s:%u) %s, and %s",
             dp_key_name(k->key, key), k->gen->plugin, k->file, k->line,
             wary ? "has no DP_FLAG_META, so it may read bytes" : "reads bytes",
             wrapped ? "an argument is a tensor made of tensors, which has none"
                     : "in this call tensors have none (device meta, fakes)");
    return dpi_fail_op(ctx, DP_ENOTIMPL, e->op, k->key, text);
}

DPI_COLD int dpi_check_bytes(dp_ctx *ctx, const dpi_entry *e, const dpi_kernel *k, dp_keyset ks,
                             bool wrapped)
{
    /* A backend's kernel reads and writes bytes.  Kernels for other keys unpack wrappers. */
    bool dense = wrapped && dp_key_functionality(k->key) == DP_F_Dense;

    return dense || ((wrapped || dpi_keys_memoryless(ks)) && dpi_may_want_bytes(e, k))
               ? refuse(ctx, e, k, wrapped)
               : 0;
}

DPI_COLD unsigned dpi_resolve_wrapped(dp_ctx *ctx, const dpi_entry *e, dp_keyset *ks, unsigned cell)
{
    bool wrapped = (ks->backend & DPI_WRAPPER_BIT) != 0;

    ks->backend &= ~DPI_WRAPPER_BIT;
    if (wrapped)
        cell = resolve(e, ks);
    if (cell >= DPI_CELL_AMBIGUOUS) {
        dpi_fail_missing(ctx, e, *ks, cell);
        return cell;
    }
    cell &= ~DPI_CELL_WARY;
    return dpi_check_bytes(ctx, e, e->kernels[cell], *ks, wrapped) < 0 ? DPI_CELL_MISSING : cell;
}
