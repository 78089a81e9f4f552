/* fit.c -- give a new value the dtype and the strides of the tensor whose new value it is. */
#include "functional.h"
#include "dispatch/call/ctx.h"

/* Is `v` a new tensor without elements, which an out= call gives its sizes? */
static bool is_empty(const dpi_functional *f, uint32_t v)
{
    const dpi_slot *slot = &f->slots[v];
    const dp_program *p = f->r.from;

    if (slot->kind != DPI_SLOT_ROOT || slot->written != 0 || slot->step == DPI_SLOT_NONE)
        return false;
    const dpi_step *s = &p->steps[slot->step];
    if (s->kind != DP_STEP_CALL || s->n_args == 0 ||
        strcmp(p->ops[s->operand].schema->name, "aten::empty.memory_format") != 0)
        return false;
    const dp_value *sizes = dp_program_constant(p, p->links[s->args]);
    bool empty = false;
    for (uint32_t i = 0; sizes != NULL && sizes->tag == DP_TAG_INTS && i < sizes->len; i++)
        empty |= sizes->u.ints[i] == 0;
    return empty;
}

/* Copy *ref into a new tensor with the sizes, the strides and the dtype of `like`: *ref.  The sizes
 * must be the same. */
static int copy_into(dpi_functional *f, dp_ref like, dp_ref *ref)
{
    dp_ref zero, whole[2] = {like}, part[4] = {0, *ref};
    int rc = dpi_rewrite_int(&f->r, 0, &zero);

    whole[1] = part[2] = part[3] = zero;
    if (rc == 0)
        rc = dpi_functional_call(f, "aten::unsqueeze", whole, 2, &part[0]);
    if (rc == 0)
        rc = dpi_functional_call(f, "aten::select_scatter", part, 4, &whole[0]);
    dp_ref item[3] = {whole[0], zero, zero};
    return rc == 0 ? dpi_functional_call(f, "aten::select.int", item, 3, ref) : rc;
}

int dpi_functional_fit(dpi_functional *f, uint32_t v, int fit, dp_ref *ref)
{
    dp_ref old, args[2] = {*ref};

    if (fit == DPI_FIT_AS_IS)
        return 0;
    int rc = dpi_functional_now(f, v, &old);
    if (fit == DPI_FIT_CAST || (fit == DPI_FIT_SIZES && is_empty(f, v))) {
        if (rc == 0)
            rc = dpi_functional_get(f, "dtype", old, &args[1]);
        return rc == 0 ? dpi_functional_call(f, "aten::to.dtype", args, 2, ref) : rc;
    }
    return rc == 0 ? copy_into(f, old, ref) : rc;
}
