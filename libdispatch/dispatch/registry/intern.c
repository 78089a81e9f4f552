/* intern.c -- gives each full operator name an id, which it keeps as long as the registry lives. */
#include "change.h"

static int64_t op_find(const dp_registry *reg, const char *name, uint32_t from)
{
    int64_t id = dpi_names_find(reg->names, name, strlen(name));

    /* Operators from `from` on are new in this change and not in the hash yet. */
    for (uint32_t i = from; id < 0 && i < reg->n_ops; i++)
        if (strcmp(reg->ops[i]->name, name) == 0)
            id = i;
    return id;
}

int dpi_op_intern(dpi_change *c, const char *name, uint32_t *id, dp_error *err)
{
    dp_registry *reg = c->reg;
    int64_t found = op_find(reg, name, c->n_ops_before);

    if (found >= 0) {
        *id = (uint32_t)found;
        return 0;
    }
    if (reg->n_ops == DP_LIMIT_OPERATORS)
        return dp_error_set(err, DP_ERESOURCE, "over the limit of %d operator names",
                            DP_LIMIT_OPERATORS);
    dp_op **ops = dpi_grow(reg->ops, &reg->cap_ops, reg->n_ops + 1, sizeof(*ops));
    if (ops == NULL)
        return dpi_no_memory(err, name);
    reg->ops = ops;
    dp_op *op = dp_calloc(1, sizeof(*op));
    if (op == NULL || (op->name = dp_strdup(name)) == NULL) {
        dp_free(op);
        return dpi_no_memory(err, name);
    }
    op->id = reg->n_ops;
    op->reg = reg;
    *id = op->id;
    reg->ops[reg->n_ops++] = op;
    return 0;
}
