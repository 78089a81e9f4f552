/* schema_info.c -- access to schemas, for kernels that serve any operator, such as fallbacks. */
#include "enter.h"

/* Copy `source` to `out`.  The first member of `out` is the size of the caller's struct, which may
 * be smaller or larger than `bytes`. */
static void copy_sized(void *out, const void *source, size_t bytes)
{
    uint32_t size = *(const uint32_t *)out;

    memcpy(out, source, size < bytes ? size : bytes);
    *(uint32_t *)out = size;
}

/* Return a mask of the arguments that are or may hold tensors.  The schema's own mask is not used,
 * because it also has generators, which have keys, too. */
static uint64_t tensors_of(const dp_schema *s)
{
    const uint32_t tags = 1u << DP_TAG_TENSOR | 1u << DP_TAG_TENSORS;
    uint64_t mask = 0;

    for (uint32_t i = 0; i < s->n_args && i < 64; i++)
        mask |= (uint64_t)((s->args[i].tags & tags) != 0) << i;
    return mask;
}

static uint32_t flags_of(const dpi_entry *e)
{
    uint32_t flags = 0;

    if (e->composite != NULL)
        flags |= DP_OP_COMPOSITE;
    if (e->composite != NULL && e->composite->key == DP_KEY(DP_ALIAS_CompositeImplicitAutograd))
        flags |= DP_OP_IMPLICIT;
    return flags | (e->schema->vararg ? DP_OP_VARARG : 0) | (e->schema->varret ? DP_OP_VARRET : 0);
}

int dp_schema_info_get(dp_ctx *ctx, const dp_op *op, dp_schema_info *out)
{
    if (!DPI_GIVEN(&ctx->error, DP_EPLUGIN, out))
        return DP_EPLUGIN;
    if (ctx->thread == NULL)
        return dp_error_set(&ctx->error, DP_ERUNTIME,
                            "info of %s outside of a call: dp_ctx_begin() holds the registry that "
                            "they are of",
                            dp_op_name(op));
    const dpi_entry *e = entry_of(ctx, op);
    if (e == NULL)
        return ctx->error.code;
    const dp_schema *s = e->schema;
    dp_schema_info info = {.flags = flags_of(e),
                           .n_args = s->n_args,
                           .n_rets = s->n_rets,
                           .variant = s->variant,
                           .tensors = tensors_of(s),
                           .written = e->written,
                           .viewed = s->viewed,
                           .text = s->text,
                           .schema = s};
    copy_sized(out, &info, sizeof(info));
    return 0;
}

/* -- arguments and returns -- */

static int32_t type_number(const dpi_type *t)
{
    static const uint8_t numbers[DPI_TYPE_FUTURE + 1] = {
        [DPI_TYPE_TENSOR] = DP_TYPE_TENSOR,
        [DPI_TYPE_INT] = DP_TYPE_INT,
        [DPI_TYPE_SYMINT] = DP_TYPE_SYMINT,
        [DPI_TYPE_FLOAT] = DP_TYPE_FLOAT,
        [DPI_TYPE_BOOL] = DP_TYPE_BOOL,
        [DPI_TYPE_COMPLEX] = DP_TYPE_COMPLEX,
        [DPI_TYPE_SCALAR] = DP_TYPE_SCALAR,
        [DPI_TYPE_STR] = DP_TYPE_STR,
        [DPI_TYPE_SCALAR_TYPE] = DP_TYPE_DTYPE,
        [DPI_TYPE_LAYOUT] = DP_TYPE_LAYOUT,
        [DPI_TYPE_MEMORY_FORMAT] = DP_TYPE_MEMORY_FORMAT,
        [DPI_TYPE_DEVICE] = DP_TYPE_DEVICE,
        [DPI_TYPE_GENERATOR] = DP_TYPE_GENERATOR,
        [DPI_TYPE_CLASS] = DP_TYPE_OBJECT,
    };
    return numbers[t->kind];
}

/* Describe `a` in *out.  An optional around the outermost list makes the argument optional
 * (int[]?); an optional inside the innermost list makes the list's items optional (Tensor?[]). */
static void fill_arg_info(const dpi_argument *a, int alias_of, bool is_argument, dp_arg_info *out)
{
    const dpi_type *t = a->type;
    dp_arg_info info = {.kwarg_only = a->kwarg_only,
                        .written = a->written,
                        .has_default = a->has_default,
                        .is_argument = is_argument,
                        .alias_of = alias_of,
                        .name = a->name,
                        .default_value = a->has_default ? a->def : dp_none()};

    for (; t->kind == DPI_TYPE_OPTIONAL || t->kind == DPI_TYPE_LIST; t = t->elem) {
        if (t->kind == DPI_TYPE_OPTIONAL) {
            info.optional |= info.depth == 0;
            info.optional_item = info.depth > 0;
            continue;
        }
        if (info.depth++ == 0 && t->sized)
            info.length = t->n;
        info.optional_item = false;
    }
    info.type = type_number(t);
    info.type_name = t->name != NULL ? t->name : "";
    copy_sized(out, &info, sizeof(info));
}

bool dp_op_arg(const dp_schema_info *info, uint32_t i, dp_arg_info *out)
{
    const dp_schema *s = info->schema;

    if (i >= s->n_args)
        return false;
    dpi_argument a = s->args[i];
    a.written |= i < 64 && (info->written >> i & 1); /* the operator's tag also_written */
    fill_arg_info(&a, -1, false, out);
    return true;
}

bool dp_op_ret(const dp_schema_info *info, uint32_t i, dp_arg_info *out)
{
    const dp_schema *s = info->schema;

    if (i >= s->n_rets)
        return false;
    fill_arg_info(&s->rets[i], s->ret_view[i], s->ret_alias[i] >= 0, out);
    return true;
}
