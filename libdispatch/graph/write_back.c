/* write_back.c -- the end of a program that is made functional: inputs get their new values, and
 * outputs that share memory with inputs are made again from these. */
#include "functional.h"
#include "dispatch/call/ctx.h"

/* Does autograd pass over the operator of step `writer`, as over an optimizer's?  Such an operator
 * may write to a leaf that requires grad, so the copy in its place must be allowed to. */
static bool passes_autograd(const dpi_functional *f, uint32_t writer)
{
    const dpi_step *s = &f->r.from->steps[writer];

    if (s->kind != DP_STEP_CALL)
        return false;
    const dp_op *op = f->r.from->ops[s->operand].op;
    const dpi_entry *e = dpi_snapshot_at(dpi_ctx_snapshot(f->r.ctx), op->id);
    dp_key key = dp_key_find(f->r.ctx, "AutogradCPU");

    return e != NULL && dpi_cell_falls_through(dpi_entry_cell(e, key));
}

/* Write the new value of root `v` back to the input whose memory it is: `input`, a new
 * reference. */
static int write_back(dpi_functional *f, uint32_t v, dp_ref input, dp_ref *copied)
{
    dpi_slot *slot = &f->slots[v];
    dp_ref args[2] = {input, f->r.values[v]};
    const dp_step_mode no_grad = {.size = sizeof(no_grad),
                                  .sets = DP_STEP_MODE_GRAD,
                                  .mode = {.size = sizeof(no_grad.mode), .no_grad = true}};
    dp_step s = {.kind = DP_STEP_CALL,
                 .name = "aten::copy_",
                 .args = args,
                 .n_args = 2,
                 .n_rets = 1,
                 .mode = passes_autograd(f, slot->writer) ? &no_grad : NULL};

    f->step = slot->writer;
    f->when = DPI_REF_NONE;
    int rc = dpi_functional_add(f, &s, copied);
    slot->settled = ++f->now;
    f->r.values[v] = input;
    return rc;
}

/* Write the items of list input `list` back that were written. */
static int write_items_back(dpi_functional *f, uint32_t list)
{
    int rc = 0;

    for (uint32_t i = f->slots[list].items; i != DPI_SLOT_NONE && rc == 0; i = f->slots[i].next) {
        dp_ref item, copied, of = list;
        dp_step s = {.kind = DP_STEP_ITEM,
                     .args = &of,
                     .n_args = 1,
                     .n_rets = 1,
                     .index = f->slots[i].index};
        if (f->slots[i].written == 0)
            continue;
        f->step = f->slots[i].writer;
        rc = dpi_functional_add(f, &s, &item);
        if (rc == 0)
            rc = write_back(f, i, item, &copied);
    }
    return rc;
}

/* Return `copied`, what the step returns that writes to an input, in place of the input for those
 * values that a step returned because it wrote to it, so that dp_run.written stays the same. */
static int enter_copied(dpi_functional *f, dp_ref *copied)
{
    const dp_program *p = f->r.from;
    int rc = 0;

    for (uint32_t i = 0; i < p->n_outputs && rc == 0; i++) {
        dp_ref ref = p->outputs[i].ref, out;
        rc = dpi_functional_now(f, ref, &out);
        bool returned = dpi_is_value(ref) && ref >= p->n_inputs && dpi_same(f, ref) < p->n_inputs;
        if (rc == 0 && returned && copied[dpi_same(f, ref)] != DPI_REF_NONE)
            out = copied[dpi_same(f, ref)];
        if (rc == 0)
            rc = dp_builder_output(f->r.b, p->outputs[i].name, out);
    }
    return rc;
}

int dpi_functional_finish(dpi_functional *f, dp_program **out)
{
    const dp_program *p = f->r.from;
    dp_ref *copied = dp_malloc_n((size_t)p->n_inputs + 1, sizeof(*copied));
    int rc = copied != NULL ? 0 : dpi_no_memory(&f->r.ctx->error, "a pass over a program");

    for (uint32_t v = 0; v < p->n_inputs && rc == 0; v++) {
        copied[v] = DPI_REF_NONE;
        if (f->slots[v].written != 0 && dpi_is_list(f, v)) {
            f->step = f->slots[v].writer;
            rc = dpi_functional_fail(f,
                                     "it writes to the tensors of input '%.64s', a list whose "
                                     "length is not known",
                                     dp_program_input_name(p, v));
        } else if (f->slots[v].written != 0)
            rc = write_back(f, v, v, &copied[v]);
        else if (f->slots[v].items != DPI_SLOT_NONE)
            rc = write_items_back(f, v);
    }
    if (rc == 0)
        rc = enter_copied(f, copied);
    dp_free(copied);
    return rc == 0 ? dpi_rewrite_finish(&f->r, out) : rc;
}
