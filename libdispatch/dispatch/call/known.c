/* known.c -- refuse dtypes that are newer than the plugin of the kernel that would get them.
 *
 * A kernel looks up its dtype in tables that end with the newest dtype of its header.  So a call of
 * a kernel with an older header is boxed (dpi_entry.boxes), and its arguments are checked first.
 * Kernels that know all dtypes pay nothing. */
#include "enter.h"
#include "enums.h"

static bool knows(const dpi_kernel *k, int64_t dtype)
{
    return dtype < 0 || (dtype < 64 && k->dtypes >> dtype & 1);
}

/* Return a dtype in `v` that `k` does not know: the dtype of a tensor, a ScalarType argument, or
 * one in a list of these.  DP_DTYPE_NONE: there is none. */
static dp_dtype unknown_in(const dpi_kernel *k, uint8_t kind, const dp_value *v)
{
    dp_dtype found = DP_DTYPE_NONE;

    if (v->tag == DP_TAG_TENSOR && !knows(k, v->u.t->dtype))
        return v->u.t->dtype;
    if (v->tag == DP_TAG_INT && kind == DPI_TYPE_SCALAR_TYPE && !knows(k, v->u.i))
        return (dp_dtype)v->u.i;
    for (uint32_t i = 0; dp_is_list(v) && i < v->len && found == DP_DTYPE_NONE; i++) {
        dp_value item = dp_list_item(v, i);
        found = unknown_in(k, kind, &item);
    }
    return found;
}

DPI_COLD int dpi_check_dtypes_known(dp_ctx *ctx, const dpi_entry *e, const dpi_kernel *k,
                                    const dp_value *args)
{
    char text[300];

    for (uint32_t i = 0; i < e->n_args; i++) {
        bool named = i < e->schema->n_args;
        uint8_t kind = named ? dpi_enum_kind(e->schema->args[i].type) : 0;
        dp_dtype d = unknown_in(k, kind, &args[i]);
        if (d == DP_DTYPE_NONE)
            continue;
        snprintf(
            text, sizeof(text),
            "argument '%s' (position %u) has dtype %s, which plugin '%s' was built before: build "
            "the plugin with this host's headers",
            named ? e->schema->args[i].name : "", i + 1, dp_dtype_name(d), k->gen->plugin);
        return dpi_fail_op(ctx, DP_ENOTIMPL, e->op, k->key, text);
    }
    return 0;
}
