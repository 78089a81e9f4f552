/* test_partner.c -- functional forms of operators that write. */
#include "dispatch/call/ctx.h"
#include "passes_fixture.h"

/* Steps that write, and the operator that replaces each; NULL: it writes to a copy. */
static const struct {
    const char *step, *functional;
} cases[] = {
    {"w = aten::add_(x, y)", "aten::add.Tensor"},
    {"w = aten::add_(x, 1)", "aten::add.Scalar"},
    {"w = aten::add(x, y, out=x)", "aten::add.Tensor"},
    {"w = aten::clamp_(x, 0, 1)", "aten::clamp"},
    {"w = aten::fill_(x, 1)", "aten::fill.Scalar"},
    {"w = aten::zero_(x)", "aten::zero"},
    {"w = aten::copy_(x, y)", "aten::copy"},
    {"w = aten::lt_(x, 0.5)", "aten::lt.Scalar"},
    {"w = aten::addmm_(x, z, y)", "aten::addmm"},
    {"w = aten::masked_fill_(x, b, 0)", "aten::masked_fill.Scalar"},
    {"w = aten::cumsum_(x, 0)", "aten::cumsum"},
    {"w = aten::tril_(x)", "aten::tril"},
    {"w = aten::mm(z, y, out=x)", "aten::mm"},
    {"w = aten::index_put_(x, [i], y)", "aten::index_put"},
    {"w, v = aten::max(x, 0, max=m, max_values=j)", "aten::max.dim"},
    {"w = aten::normal_(x)", NULL},
    {"w = aten::random_(x, 7)", NULL},
    {"w = aten::dropout_(x, 0.5, true)", NULL},
    {"w = aten::rrelu_(x)", NULL},
};

START_TEST(functional_forms_are_found)
{
    char text[500];

    for (size_t i = 0; i < DPI_COUNT(cases); i++) {
        bool lists = strstr(cases[i].step, "[i]") != NULL;
        snprintf(text, sizeof(text),
                 "in x Tensor\nin y Tensor\nz = aten::ones([4, 4])\nb = aten::gt(x, y)\nm = "
                 "aten::empty([0])\n"
                 "j = aten::empty([0], dtype=4)\n%s\nout x x\nout w w",
                 lists ? "i = aten::arange(4)\nl = [i]\nw = aten::index_put_(x, l, y)"
                       : cases[i].step);
        dp_program *p = read_program(text), *q = pass(dp_program_ref(p), "functionalize");
        uint32_t write_backs = count(q, "aten::copy_");
        if (cases[i].functional != NULL)
            ck_assert_msg(count(q, cases[i].functional) == 1 && count_writes(q) == write_backs,
                          "%s\n%s", cases[i].step, text_of(q));
        else
            ck_assert_msg(count(q, "aten::clone") == 1 && count_writes(q) == write_backs + 1,
                          "%s\n%s", cases[i].step, text_of(q));
        check_same(p, q);
        dp_program_unref(p);
        dp_program_unref(q);
    }
}
END_TEST

/* Write to `text` a program in which operator `e` writes to y, a transposed tensor [4, 3] or, if
 * `square`, [4, 4].  False: `e` needs other arguments than tensors and numbers. */
static bool program_text(const dpi_entry *e, bool square, char text[600])
{
    const dp_schema *s = e->schema;
    int n =
        snprintf(text, 600, "%sz = aten::neg(x)\nw = %s(",
                 square ? "in a Tensor\nin b Tensor\nk = aten::ones([3, 4])\nx = aten::mm(a, k)\n"
                          "t = aten::t(x)\ny = aten::clone(t)\n"
                        : "in x Tensor\nin y Tensor\n",
                 s->name);
    uint32_t tensors = 0;

    for (uint32_t i = 0; i < s->n_args; i++) {
        const dpi_argument *a = &s->args[i];
        if (a->type->kind == DPI_TYPE_TENSOR) {
            n += snprintf(text + n, 600 - (size_t)n, "%s%s", i > 0 ? ", " : "",
                          a->written      ? "y"
                          : tensors++ % 2 ? "z"
                                          : "x");
            if (a->kwarg_only || a->has_default)
                return false;
        } else if (a->type->kind == DPI_TYPE_SCALAR && !a->has_default) {
            n += snprintf(text + n, 600 - (size_t)n, "%s%s", i > 0 ? ", " : "", "0.5");
        } else if (a->type->kind == DPI_TYPE_INT && !a->has_default) {
            n += snprintf(text + n, 600 - (size_t)n, "%s%s", i > 0 ? ", " : "", "1");
        } else if (!a->has_default) {
            return false;
        }
    }
    snprintf(text + n, 600 - (size_t)n,
             ")\nr = get strides(y)\nd = aten::bernoulli(y, 0.5)\nout r r\nout d d");
    return s->n_rets == 1;
}

/* Does what runs give the same strides?  The first output is a list of ints. */
static bool same_strides(const outcome *a, const outcome *b)
{
    return a->outputs[0].len == b->outputs[0].len &&
           memcmp(a->outputs[0].u.ints, b->outputs[0].u.ints,
                  a->outputs[0].len * sizeof(int64_t)) == 0;
}

START_TEST(every_operator_in_place_gives_the_same)
{
    int ran = 0, functional = 0;
    bool begun;

    ck_assert_int_eq(dpi_ctx_pin(ctx, &begun), 0);
    const dpi_snapshot *snapshot = dpi_ctx_snapshot(ctx);
    for (uint32_t i = 0; i < 2 * snapshot->n_entries; i++) {
        const dpi_entry *e = snapshot->entries[i / 2];
        char text[600];
        if (e == NULL || e->schema == NULL || e->schema->variant != DP_VARIANT_IN_PLACE ||
            !program_text(e, i % 2, text))
            continue;
        dp_builder *b;
        dp_program *p = NULL, *q = NULL;
        ck_assert_int_eq(dp_builder_new(ctx, &b), 0);
        if (dp_builder_text(b, text) == 0)
            ck_assert_int_eq(dp_builder_finish(b, &p), 0);
        dp_builder_free(b);
        if (p == NULL)
            continue;
        outcome have, got;
        run_program(p, 0, &have);
        if (have.rc == 0 && dp_program_functionalize(ctx, p, &q) == 0) {
            run_program(q, 0, &got);
            const char *how = difference(&have, &got);
            unit_each(how == NULL, "%s\n%s%s", how, text, text_of(q));
            unit_each(same_strides(&have, &got), "other strides\n%s%s", text, text_of(q));
            release(q, &got);
            ran++;
            functional += count_writes(q) == count(q, "aten::copy_");
            dp_program_unref(q);
        }
        release(p, &have);
        dp_program_unref(p);
    }
    dpi_ctx_unpin(ctx, begun);
    printf("%d operators in place, %d with functional forms\n", ran, functional);
    ck_assert_int_gt(functional, 100);
}
END_TEST

UNIT_SUITE(partner)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, functional_forms_are_found);
    tcase_add_test(tc, every_operator_in_place_gives_the_same);
}
