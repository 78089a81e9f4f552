/* general_make.c -- make a program for any sizes from a captured one: steps that read the sizes and
 * compute expressions of them stand before the steps that use them. */
#include "dispatch/call/ctx.h"
#include "symbol.h"
#include <stdio.h>

/* The program while it is made. */
typedef struct maker {
    dp_ctx *ctx;
    const dp_program *p;
    const dpi_general *g;
    const dpi_dynamic *dynamic;
    const uint32_t *symbols; /* [dynamic->n] */
    dp_builder *b;
    dp_ref *values;    /* [p->n_values] what each value of `p` is now */
    dp_ref *constants; /* [p->n_constants] likewise; DPI_REF_NONE: not yet added */
    dp_ref *made;      /* [g->n] the value of varying number i; DPI_REF_NONE: not yet made */
    dp_ref symbol[DP_LIMIT_PROGRAM_SYMBOLS];
    uint32_t next;   /* index in g->varying of the next number */
    uint32_t origin; /* of the step that is made now */
} maker;

static int no_memory(dp_ctx *ctx)
{
    return dpi_no_memory(&ctx->error, "a program for any sizes");
}

/* Add a step with one return. */
static int add(maker *m, uint32_t kind, const char *name, const dp_ref *args, size_t n, dp_ref *out)
{
    dp_step s = {.size = sizeof(s),
                 .kind = kind,
                 .name = name,
                 .args = args,
                 .n_args = n,
                 .n_rets = 1,
                 .origin = m->origin};
    return dp_builder_add(m->b, &s, out, NULL);
}

static int constant(maker *m, dp_value v, dp_ref *out)
{
    return dp_builder_constant(m->b, NULL, &v, out);
}

/* Add scalar operation `name` of *x and a number: *x. */
static int scalar(maker *m, const char *name, dp_ref *x, dp_value number)
{
    dp_ref args[2] = {*x};
    int rc = constant(m, number, &args[1]);

    return rc == 0 ? add(m, DP_STEP_SCALAR, name, args, 2, x) : rc;
}

/* -- sizes and expressions -- */

/* Add the steps that read symbol `s`, the size at `at`. */
static int add_symbol(maker *m, uint32_t s, const dp_input_place *at)
{
    char name[16];
    dp_ref args[2] = {m->values[at->input]};
    int rc = 0;

    if (at->item >= 0) {
        dp_step item = {.size = sizeof(item),
                        .kind = DP_STEP_ITEM,
                        .args = args,
                        .n_args = 1,
                        .n_rets = 1,
                        .index = at->item};
        rc = dp_builder_add(m->b, &item, &args[0], NULL);
    }
    if (rc == 0)
        rc = constant(m, dp_int(at->dim), &args[1]);
    if (rc == 0)
        rc = add(m, DP_STEP_GET, "size", args, 2, &m->symbol[s]);
    if (rc < 0)
        return rc;
    snprintf(name, sizeof(name), "s%u", s);
    dp_builder_name(m->b, name, m->symbol[s],
                    0); /* an input may have this name; then it has none */
    return 0;
}

static int add_symbols(maker *m)
{
    uint32_t done = 0, used = 0;
    int rc = 0;

    for (uint32_t i = 0; i < m->g->n; i++)
        used |= m->g->varying[i].expr.first | m->g->varying[i].expr.second;
    for (uint32_t i = 0; i < m->dynamic->n && rc == 0; i++) {
        uint32_t s = m->symbols[i];
        if (!(done >> s & 1) && (used >> s & 1))
            rc = add_symbol(m, s, &m->dynamic->places[i]);
        done |= 1u << s;
    }
    return rc;
}

/* Add the steps of factor * product(set): *out. */
static int add_product(maker *m, int64_t factor, uint32_t set, dp_ref *out)
{
    int rc = 0;

    *out = DPI_REF_NONE;
    for (uint32_t s = 0; set >> s != 0 && rc == 0; s++) {
        if (!(set >> s & 1))
            continue;
        const dp_ref args[2] = {*out, m->symbol[s]};
        if (*out == DPI_REF_NONE)
            *out = m->symbol[s];
        else
            rc = add(m, DP_STEP_SCALAR, "mul", args, 2, out);
    }
    return rc == 0 && factor != 1 ? scalar(m, "mul", out, dp_int(factor)) : rc;
}

/* Add the steps of an expression that has symbols: *out. */
static int add_expression(maker *m, const dpi_expr *e, dp_ref *out)
{
    static const char *const outer[] = {[DPI_EXPR_FLOORDIV] = "floordiv",
                                        [DPI_EXPR_MOD] = "mod",
                                        [DPI_EXPR_MIN] = "min",
                                        [DPI_EXPR_MAX] = "max"};
    dp_ref args[2];
    int rc = add_product(m, e->a, e->first, &args[0]);

    *out = args[0];
    if (rc == 0 && e->second != 0) {
        rc = add_product(m, e->b, e->second, &args[1]);
        if (rc == 0)
            rc = add(m, DP_STEP_SCALAR, "add", args, 2, out);
    }
    if (rc == 0 && e->c != 0)
        rc = scalar(m, "add", out, dp_int(e->c));
    if (rc == 0 && e->outer != DPI_EXPR_PLAIN)
        rc = scalar(m, outer[e->outer], out, dp_int(e->d));
    return rc == 0 && e->times > 1 ? scalar(m, "mul", out, dp_int(e->times)) : rc;
}

static int add_double(maker *m, uint32_t as, dp_ref *out)
{
    dp_ref args[2] = {0, *out};

    if (as == DPI_AS_DOUBLE)
        return scalar(m, "mul", out, dp_double(1.0));
    int rc = constant(m, dp_double(1.0), &args[0]);
    return rc == 0 ? add(m, DP_STEP_SCALAR, "div", args, 2, out) : rc;
}

/* Find or make the value of varying number `i`: *out. */
static int add_varying(maker *m, uint32_t i, dp_ref *out)
{
    const dpi_varying *x = &m->g->varying[i];
    char name[DPI_EXPR_TEXT];
    int rc = 0;

    for (uint32_t k = 0; k < i; k++)
        if (m->g->varying[k].as == x->as && dpi_expr_is_equal(&m->g->varying[k].expr, &x->expr)) {
            *out = m->made[i] = m->made[k];
            return 0;
        }
    rc = add_expression(m, &x->expr, out);
    if (rc == 0 && x->as != DPI_AS_INT)
        rc = add_double(m, x->as, out);
    else if (rc == 0) /* a name is a help only: an input may have it, or the symbol itself */
        dp_builder_name(m->b, dpi_expr_text(&x->expr, name), *out, m->origin);
    m->made[i] = *out;
    return rc;
}

/* -- references -- */

static int constant_ref(maker *m, uint32_t i, dp_ref *out)
{
    int rc = 0;

    if (m->constants[i] == DPI_REF_NONE)
        rc = dp_builder_constant(m->b, m->p->constant_names[i], &m->p->constants[i],
                                 &m->constants[i]);
    *out = m->constants[i];
    return rc;
}

static bool is_next(const maker *m, uint32_t step, uint32_t arg)
{
    return m->next < m->g->n && m->g->varying[m->next].step == step &&
           m->g->varying[m->next].arg == arg;
}

/* Make the list `v`, argument `arg` of `step`, some items of which vary. */
static int add_list(maker *m, const dp_value *v, uint32_t step, uint32_t arg, dp_ref *out)
{
    dp_ref *items = dp_arena_alloc_n(&m->ctx->arena, v->len, sizeof(*items));
    int rc = items != NULL ? 0 : no_memory(m->ctx);

    for (uint32_t i = 0; i < v->len && rc == 0; i++) {
        if (is_next(m, step, arg) && m->g->varying[m->next].item == i)
            rc = add_varying(m, m->next++, &items[i]);
        else
            rc = constant(m, dp_list_item(v, i), &items[i]);
    }
    return rc == 0 ? add(m, DP_STEP_LIST, NULL, items, v->len, out) : rc;
}

/* Find or make what `r`, argument `arg` of `step`, is now. */
static int ref_of(maker *m, dp_ref r, uint32_t step, uint32_t arg, dp_ref *out)
{
    const dp_value *v = dp_program_constant(m->p, r);

    if (v == NULL) {
        *out = m->values[DPI_REF_INDEX(r)];
        return 0;
    }
    if (!is_next(m, step, arg))
        return constant_ref(m, DPI_REF_INDEX(r), out);
    return dp_is_list(v) ? add_list(m, v, step, arg, out) : add_varying(m, m->next++, out);
}

/* -- the program -- */

static int copy_step(maker *m, uint32_t i)
{
    const dpi_step *from = &m->p->steps[i];
    const dp_schema *schema = from->kind == DP_STEP_CALL ? m->p->ops[from->operand].schema : NULL;
    dp_arena *a = &m->ctx->arena;
    char *at = a->at;
    dp_ref *args = dp_arena_alloc_n(a, from->n_args, sizeof(*args)), first;
    dp_ref_kwarg *kwargs = dp_arena_alloc_n(a, from->n_args, sizeof(*kwargs));
    dp_step_info info = {.size = sizeof(info)};
    int rc = 0;

    if (args == NULL || kwargs == NULL) /* a step that makes a list may have any number */
        return no_memory(m->ctx);
    dp_program_step(m->p, i, &info);
    m->origin = from->origin;
    dp_step s = {.size = sizeof(s),
                 .kind = from->kind,
                 .name = info.name,
                 .args = args,
                 .kwargs = kwargs,
                 .index = info.index,
                 .n_rets = from->n_rets,
                 .origin = from->origin,
                 .mode = info.mode,
                 .flags = from->flags & DPI_SAVE_FLAGS};
    for (uint32_t k = 0; k < from->n_args && rc == 0; k++) {
        rc = ref_of(m, info.args[k], i, k, &args[k]);
        if (schema == NULL || !schema->args[k].kwarg_only)
            s.n_args = k + 1;
        else
            kwargs[s.n_kwargs++] = (dp_ref_kwarg){schema->args[k].name, args[k]};
    }
    if (rc == 0)
        rc = dp_builder_add(m->b, &s, &first, NULL);
    for (uint32_t k = 0; k < from->n_rets && rc == 0; k++)
        m->values[from->ret + k] = first + k;
    dpi_arena_rewind(a, at);
    return rc;
}

static bool is_at(const dp_input_place *a, const dp_input_place *b)
{
    return a->input == b->input && a->item == b->item;
}

/* Add a copy of guard `g`, in which dynamic sizes may be any. */
static int copy_guard(maker *m, dp_input_guard g)
{
    int64_t sizes[DP_DIM_MAX];

    if (g.kind == DP_GUARD_TENSOR) {
        dp_copy_n(sizes, g.sizes, (size_t)g.ndim, sizeof(*sizes));
        for (uint32_t i = 0; i < m->dynamic->n; i++)
            if (is_at(&m->dynamic->places[i], &g.of))
                sizes[m->dynamic->places[i].dim] = -1;
        g.sizes = sizes;
    }
    return dp_builder_guard(m->b, &g);
}

static int add_guards(maker *m, const int64_t *least)
{
    int rc = 0;

    for (uint32_t i = 0; i < m->p->n_guards && rc == 0; i++)
        rc = copy_guard(m, m->p->guards[i]);
    for (uint32_t i = 0; i < m->dynamic->n && rc == 0; i++) {
        dp_input_guard g = {.size = sizeof(g), .of = m->dynamic->places[i]};
        uint32_t first = 0;
        while (m->symbols[first] != m->symbols[i])
            first++;
        g.kind = first < i ? DP_GUARD_EQUAL : DP_GUARD_SIZE;
        g.other = m->dynamic->places[first];
        g.number = least[m->symbols[i]];
        rc = dp_builder_guard(m->b, &g); /* also for a least size of 0: it declares the symbol */
    }
    return rc;
}

static int make(maker *m, const int64_t *least, dp_program **out)
{
    const dp_program *p = m->p;
    int rc = dp_builder_new(m->ctx, &m->b);

    if (rc == 0)
        m->b->whole_names = true;
    for (uint32_t i = 0; i < p->n_inputs && rc == 0; i++) {
        const dpi_type_text *t = &p->types[p->inputs[i].type];
        rc = dp_builder_input(m->b, p->values[i].name, t->schema != NULL ? t->text : NULL,
                              &m->values[i]);
    }
    if (rc == 0)
        rc = add_guards(m, least);
    if (rc == 0)
        rc = add_symbols(m);
    for (uint32_t i = 0; i < p->n_steps && rc == 0; i++)
        rc = copy_step(m, i);
    for (uint32_t i = 0; i < p->n_outputs && rc == 0; i++) {
        dp_ref r = DPI_REF_NONE;
        rc = ref_of(m, p->outputs[i].ref, p->n_steps, i, &r);
        if (rc == 0)
            rc = dp_builder_output(m->b, p->outputs[i].name, r);
    }
    return rc == 0 ? dp_builder_finish(m->b, out) : rc;
}

int dpi_general_make(dp_ctx *ctx, const dp_program *p, const dpi_general *g,
                     const dpi_dynamic *dynamic, const uint32_t *symbols, const int64_t *least,
                     dp_program **out)
{
    dp_arena *a = &ctx->arena;
    maker m = {.ctx = ctx, .p = p, .g = g, .dynamic = dynamic, .symbols = symbols};

    m.values = dp_arena_alloc_n(a, p->n_values, sizeof(*m.values));
    m.constants = dp_arena_alloc_n(a, p->n_constants, sizeof(*m.constants));
    m.made = dp_arena_alloc_n(a, g->n, sizeof(*m.made));
    if (m.values == NULL || m.constants == NULL || m.made == NULL)
        return no_memory(ctx);
    for (uint32_t i = 0; i < p->n_constants; i++)
        m.constants[i] = DPI_REF_NONE;
    int rc = make(&m, least, out);
    dp_builder_free(m.b);
    return rc;
}
