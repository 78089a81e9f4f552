/* partner.c -- find the functional form of an operator that writes to its arguments: of add_.Tensor
 * and of add.out it is add.Tensor.
 *
 * The functional form has the same arguments, without those that only receive results (out=), and
 * returns a new value for each argument that is written.  It is found by its name and its types. */
#include "functional.h"
#include "dispatch/call/ctx.h"
#include "dispatch/call/find.h"
#include "dispatch/schema/parse.h"
#include <stdio.h>

enum { CANDIDATES = 64, NAME_BYTES = 160 };

/* Functional forms whose names do not follow from those of the operators. */
static const struct {
    const char *base, *functional;
} others[] = {
    {"__iand__", "__and__"},       {"__ior__", "__or__"},         {"__ixor__", "__xor__"},
    {"__ilshift__", "__lshift__"}, {"__irshift__", "__rshift__"},
};

/* Write the base name of the functional form, with its namespace, to `out`.  False: none. */
static bool base_of(const dp_schema *s, char out[NAME_BYTES])
{
    size_t n = strlen(s->base);
    int length = 0;

    for (size_t i = 0; i < DPI_COUNT(others) && length == 0; i++)
        if (strcmp(others[i].base, s->base) == 0)
            length = snprintf(out, NAME_BYTES, "%s::%s", s->ns, others[i].functional);
    if (length == 0 && s->variant == DP_VARIANT_IN_PLACE)
        length = snprintf(out, NAME_BYTES, "%s::%.*s", s->ns, (int)n - 1, s->base);
    if (length == 0 && s->variant == DP_VARIANT_OUT)
        length = snprintf(out, NAME_BYTES, "%s::%s", s->ns, s->base);
    return length > 0 && length < NAME_BYTES;
}

/* Is the functional form `c` that of `s`? */
static bool matches(const dp_schema *s, const dpi_entry *e)
{
    const dp_schema *c = e->schema;
    bool out = s->variant == DP_VARIANT_OUT;
    uint32_t n = 0, n_written = 0;

    if (c == NULL || e->written != 0 || c->viewed != 0 || e->random)
        return false;
    for (uint32_t i = 0; i < s->n_args; i++) {
        if (s->written >> i & 1) {
            if (n_written >= c->n_rets || !dpi_type_same(s->args[i].type, c->rets[n_written].type))
                return false;
            n_written++;
        }
        if (out && (s->written >> i & 1))
            continue;
        if (n >= c->n_args || !dpi_type_same(s->args[i].type, c->args[n].type))
            return false;
        n++;
    }
    return n == c->n_args && n_written == c->n_rets;
}

static bool is_one_of(const char *const *names, size_t n, const char *name)
{
    bool is = false;

    for (size_t i = 0; i < n; i++)
        is |= strcmp(names[i], name) == 0;
    return is;
}

/* Say how results may differ from the arguments that are written.  The dtype may differ where it
 * follows from several tensors and where results are bools; the strides, where results do not get
 * those of the first argument. */
static int fit_of(const dp_schema *s, const dp_schema *functional)
{
    static const char *const bools[] = {"eq",          "ne",         "lt",
                                        "le",          "gt",         "ge",
                                        "logical_not", "greater",    "greater_equal",
                                        "less",        "less_equal", "not_equal"};
    /* copy may return its second argument itself */
    static const char *const arranged[] = {
        "copy",        "addmm",          "addmv",     "addbmm",      "baddbmm",
        "addr",        "tril",           "triu",      "cumsum",      "cumprod",
        "renorm",      "mvlgamma",       "scatter",   "scatter_add", "scatter_reduce",
        "masked_fill", "masked_scatter", "index_add", "index_copy",  "index_reduce"};
    uint32_t n_tensors = 0;

    for (uint32_t i = 0; i < functional->n_args; i++)
        n_tensors += functional->args[i].type->kind == DPI_TYPE_TENSOR ||
                     functional->args[i].type->kind == DPI_TYPE_LIST;
    if (s->variant == DP_VARIANT_OUT)
        return DPI_FIT_SIZES;
    if (is_one_of(arranged, DPI_COUNT(arranged), functional->base))
        return DPI_FIT_COPY;
    return n_tensors > 1 || is_one_of(bools, DPI_COUNT(bools), functional->base) ? DPI_FIT_CAST
                                                                                 : DPI_FIT_AS_IS;
}

const dpi_partner *dpi_partner_find(dpi_functional *f, uint32_t op)
{
    const dpi_op_use *use = &f->r.from->ops[op];
    const dp_schema *s = use->schema;
    dpi_partner *partner = &f->partners[op];
    const dpi_snapshot *snapshot = dpi_ctx_snapshot(f->r.ctx);
    const dpi_entry *list[CANDIDATES];
    char name[NAME_BYTES];

    if (partner->known)
        return partner;
    partner->known = true;
    /* No functional form returns what only a tag says that the kernel writes.  Random numbers are
     * drawn in the order of the memory, and functional forms return tensors with other strides. */
    const dpi_entry *own = dpi_snapshot_at(snapshot, use->op->id);
    if (use->written != s->written || s->n_given > 0 || (own != NULL && own->random) ||
        !base_of(s, name))
        return partner;
    size_t n = dpi_overloads(snapshot, name, strlen(name), list, CANDIDATES);
    for (size_t i = 0; i < n && i < CANDIDATES; i++)
        if (matches(s, list[i]) &&
            (partner->schema == NULL || strcmp(list[i]->schema->overload, s->overload) == 0))
            partner->schema = list[i]->schema;
    if (partner->schema != NULL)
        partner->fit = fit_of(s, partner->schema);
    return partner;
}
