/* captured.c -- make a program from what a capture has recorded. */
#include "capture.h"
#include "dispatch/call/enter.h"

/* State of dp_capture_finish(). */
typedef struct maker {
    dp_ctx *ctx;
    const dp_capture *c;
    dp_builder *b;
    dp_ref *refs;    /* [n_values] the program's reference of each value */
    uint32_t index;  /* of the call whose step is made now */
    uint32_t origin; /* number of that step */
} maker;

static int no_memory(dp_ctx *ctx)
{
    return dpi_no_memory(&ctx->error, "a program that was captured");
}

static int add_inputs(maker *m)
{
    const dp_capture *c = m->c;
    int rc = 0;

    for (uint32_t i = 0; i < c->n_inputs && rc == 0; i++) {
        const dpi_captured_input *in = &c->inputs[i];
        const char *type = in->tag == DP_TAG_TENSOR    ? "Tensor"
                           : in->tag == DP_TAG_TENSORS ? "Tensor[]"
                                                       : NULL;
        rc = dp_builder_input(m->b, in->name, type, &m->refs[in->value]);
    }
    return rc;
}

static int add_constants(maker *m)
{
    const dp_capture *c = m->c;
    int rc = 0;

    for (uint32_t v = 0; v < c->n_values && rc == 0; v++)
        if (c->values[v].constant != 0)
            rc = dp_builder_constant(m->b, c->values[v].name[0] != '\0' ? c->values[v].name : NULL,
                                     &c->constants[c->values[v].constant - 1], &m->refs[v]);
    return rc;
}

static int ref_of(maker *m, uint32_t recorded, dp_ref *out);

static int list_of(maker *m, uint32_t at, dp_ref *out)
{
    const uint32_t *items = m->c->items + at;
    uint32_t n = items[0];
    dp_ref *refs = dp_arena_alloc_n(&m->ctx->arena, n, sizeof(*refs));
    int rc = refs != NULL ? 0 : no_memory(m->ctx);

    for (uint32_t i = 0; i < n && rc == 0; i++)
        rc = ref_of(m, items[1 + i], &refs[i]);
    dp_step list = {.size = sizeof(list),
                    .kind = DP_STEP_LIST,
                    .args = refs,
                    .n_args = n,
                    .n_rets = 1,
                    .origin = m->origin};
    return rc < 0 ? rc : dp_builder_add(m->b, &list, out, NULL);
}

/* Find or make what a recorded argument is in the program. */
static int ref_of(maker *m, uint32_t recorded, dp_ref *out)
{
    uint32_t index = recorded & 0xfffffffu;

    switch (recorded >> 28) {
    case DPI_HAS_VALUE:
        *out = m->refs[index];
        return 0;
    case DPI_HAS_CONSTANT:
        return dp_builder_constant(m->b, NULL, &m->c->constants[index], out);
    default:
        return list_of(m, index, out);
    }
}

/* Check that the operator of a call has the schema that it had when it was recorded. */
static int check_schema(maker *m, const dpi_captured_call *call)
{
    const dpi_entry *e = dpi_snapshot_entry(dpi_ctx_snapshot(m->ctx), call->op);
    const dp_schema *was = call->schema,
                    *now = e != NULL && e->callable == call->op ? e->schema : NULL;

    if (now == was || (now != NULL && strcmp(now->text, was->text) == 0))
        return 0;
    if (now == NULL)
        dpi_builder_fail(m->b, DP_ENOTFOUND, "%s: no plugin defines this operator any more",
                         call->op->name);
    else
        dpi_builder_fail(m->b, DP_ETYPE,
                         "%s: its schema has changed since the call was recorded, from '%s' to "
                         "'%s'",
                         call->op->name, was->text, now->text);
    return dpi_step_fail(m->ctx, &m->b->p, &m->origin, 1);
}

/* Check that the last step calls `op`, and no other overload, which its name without an overload
 * could mean. */
static int check_op(maker *m, const dp_op *op)
{
    const dp_program *p = &m->b->p;
    const dpi_step *s = &p->steps[p->n_steps - 1];
    const char *is = s->kind == DP_STEP_CALL ? p->ops[s->operand].op->name : "(undecided)";

    if (s->kind == DP_STEP_CALL && p->ops[s->operand].op == op)
        return 0;
    dpi_builder_fail(m->b, DP_ETYPE, "the call of %s that was recorded is now one of %s", op->name,
                     is);
    return dpi_step_fail(m->ctx, p, &m->origin, 1);
}

static int add_step(maker *m, const dpi_captured_call *call)
{
    dp_step_mode no_grad = {.size = sizeof(no_grad),
                            .sets = DP_STEP_MODE_GRAD,
                            .mode = {.size = sizeof(dp_mode), .no_grad = true}};
    dp_ref args[DP_LIMIT_ARGUMENTS], first = DPI_REF_NONE;
    dp_ref_kwarg kwargs[DP_LIMIT_ARGUMENTS];
    dp_step s = {.size = sizeof(s),
                 .kind = call->kind,
                 .name = call->op != NULL               ? call->op->name
                         : call->kind == DP_STEP_SCALAR ? "expect"
                                                        : NULL,
                 .args = args,
                 .kwargs = kwargs,
                 .index = call->item,
                 .n_rets = call->n_rets,
                 .origin = m->origin,
                 .flags = call->flags,
                 .mode = call->no_grad ? &no_grad : NULL};
    const dp_schema *schema = call->schema;
    int rc = call->op != NULL ? check_schema(m, call) : 0;

    for (uint32_t i = 0; i < call->n_args && rc == 0; i++) {
        rc = ref_of(m, m->c->args[call->first_arg + i], &args[i]);
        if (schema == NULL || i >= schema->n_args || !schema->args[i].kwarg_only)
            s.n_args = i + 1;
        else
            kwargs[s.n_kwargs++] = (dp_ref_kwarg){schema->args[i].name, args[i]};
    }
    if (rc == 0)
        rc = dp_builder_add(m->b, &s, &first, NULL);
    if (rc == 0 && call->op != NULL)
        rc = check_op(m, call->op);
    for (uint32_t i = 0; i < call->n_rets && rc == 0; i++)
        m->refs[call->first_ret + i] = first + i;
    return rc;
}

static int make(maker *m, dp_program **out)
{
    const dp_capture *c = m->c;
    int rc = add_inputs(m);

    if (rc == 0)
        rc = dpi_capture_guards(m->ctx, c, m->b);
    if (rc == 0)
        rc = add_constants(m);
    for (; m->index < c->n_calls && rc == 0; m->index++) {
        const dpi_captured_call *call = &c->calls[m->index];
        m->origin = call->origin != UINT32_MAX ? call->origin : m->index;
        rc = add_step(m, call);
    }
    for (uint32_t i = 0; i < c->n_outputs && rc == 0; i++) {
        dp_ref ref;
        rc = ref_of(m, c->outputs[i].ref, &ref);
        if (rc == 0)
            rc = dp_builder_output(m->b, c->outputs[i].name, ref);
    }
    return rc < 0 ? rc : dp_builder_finish(m->b, out);
}

int dp_capture_finish(dp_ctx *ctx, const dp_capture *c, dp_program **out)
{
    maker m = {.ctx = ctx, .c = c};
    /* Each value is set before it is read, since calls refer to earlier values only. */
    m.refs = dp_malloc_n(c->n_values, sizeof(*m.refs));

    if (m.refs == NULL)
        return no_memory(ctx);
    int rc = dp_builder_new(ctx, &m.b);
    if (rc == 0) {
        m.b->whole_names = true;
        rc = make(&m, out);
    }
    dp_builder_free(m.b);
    dp_free(m.refs);
    return rc;
}

uint32_t dp_capture_steps(const dp_capture *c)
{
    return c->n_calls;
}
