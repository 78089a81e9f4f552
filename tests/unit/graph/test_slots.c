/* test_slots.c -- values that are made again after writes: as seldom as possible. */
#include "passes_fixture.h"

#define IN "in c int\nin d int\nin x Tensor\nin y Tensor\n"

/* Programs, an operator, and how often the functional program calls it. */
static const struct {
    const char *text, *name;
    uint32_t n;
} cases[] = {
    /* nothing reads v after the writes */
    {IN
     "b = aten::neg(x)\nv = aten::t(b)\nz = aten::abs(v)\nw = aten::add_(b, 1)\nout b b\nout z z",
     "aten::t", 1},
    /* v is read twice after one write */
    {IN
     "b = aten::neg(x)\nv = aten::t(b)\nw = aten::add_(b, 1)\nz = aten::abs(v)\nu = aten::neg(v)\n"
     "out z z\nout u u",
     "aten::t", 2},
    /* another tensor is written */
    {IN "b = aten::neg(x)\nv = aten::t(b)\nw = aten::add_(y, 1)\nz = aten::abs(v)\nu = "
        "aten::mul_(b, 2)\n"
        "out z z\nout b b",
     "aten::t", 1},
    /* a list is made again only if an element was written */
    {IN "b = aten::neg(x)\nl = [b, y]\ne = aten::cat(l)\nw = aten::add_(b, 1)\nf = aten::cat(l)\n"
        "out e e\nout f f",
     "aten::cat", 2},
    /* a view of one of two values is not made again for a write to a third tensor */
    {IN
     "b = aten::neg(x)\nl = [b, y]\ne = select(c, x, y)\nz = aten::abs(x)\nw = aten::add_(z, 1)\n"
     "v = aten::t(e)\nf = aten::cat(l)\nw2 = aten::add_(b, 1)\nw3 = aten::add_(x, 1)\ng = "
     "aten::neg(v)\n"
     "w4 = aten::add_(z, 1)\nh = aten::neg(v)\nout f f\nout g g\nout h h",
     "aten::t", 2},
    /* one copy serves several writes in place */
    {IN "b = aten::neg(x)\nv = aten::unfold(b, 0, 2, 2)\nw = aten::mul_(v, 2)\nu = aten::exp_(v)\n"
        "n = aten::normal_(b)\nout v v\nout b b",
     "aten::clone", 1},
    /* an item of a list without a known length, twice */
    {"in l Tensor[]\na = l[1]\nw = aten::add_(a, 1)\nb = l[1]\nc = l[0]\nz = aten::mul_(b, c)\nout "
     "a a\n"
     "out z z",
     "aten::copy_", 1},
};

START_TEST(values_are_made_again_only_when_read)
{
    for (size_t i = 0; i < DPI_COUNT(cases); i++) {
        dp_program *p = read_program(cases[i].text), *q = pass(dp_program_ref(p), "functionalize");
        ck_assert_msg(count(q, cases[i].name) == cases[i].n, "%u times %s\n%s",
                      count(q, cases[i].name), cases[i].name, text_of(q));
        check_same(p, q);
        dp_program_unref(p);
        dp_program_unref(q);
    }
}
END_TEST

UNIT_SUITE(graph_slots)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, values_are_made_again_only_when_read);
}
