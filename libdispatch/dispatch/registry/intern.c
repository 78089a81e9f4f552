/* intern.c -- gives each full operator name an id, which it keeps as long as the registry lives. */
#include "change.h"

int dpi_op_intern(dpi_change *c, const char *name, uint32_t *id, dp_error *err)
{
    dp_registry *reg = c->reg;
    const dpi_names *names = c->names != NULL ? c->names : reg->names;
    int64_t found = dpi_names_find(names, name, strlen(name));

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
    reg->ops[reg->n_ops] = op;
    if (!dpi_names_add(&c->names, reg->ops, reg->n_ops + 1)) {
        dpi_op_free(op);
        return dpi_no_memory(err, name);
    }
    reg->n_ops++;
    return 0;
}
