/* test_partner.c -- functional forms of operators that write. */
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

UNIT_SUITE(partner)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, functional_forms_are_found);
}
