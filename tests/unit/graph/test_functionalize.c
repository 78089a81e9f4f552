/* test_functionalize.c -- programs that write, made functional. */
#include "passes_fixture.h"

#define IN "in c int; in d int; in x Tensor; in y Tensor\n"

/* Programs, and how many steps with an effect their functional forms have. */
static const struct {
    const char *text;
    int writes;
} programs[] = {
    {IN "z = aten::add(x, y); out z z", 0},
    {IN "z = aten::add_(x, y); out z z", 1},
    {IN "z = aten::add_(x, y); w = aten::mul(x, 2); out w w; out z z; out x x", 1},
    {IN "v = aten::select(x, 0, 1); aw = aten::mul_(v, 2); out v v", -1},
    {IN "v = aten::select(x, 0, 1); w = aten::mul_(v, 3); z = aten::add(x, 1); out z z; out v v; "
        "out w w",
     1},
    {IN "b = aten::mul(x, 2); v = aten::select(b, 0, 1); w = aten::mul_(v, 3); out b b; out v v",
     0},
    {IN "b = aten::mul(x, 2); v = aten::t(b); w = aten::slice(v, 1, 1, 3); u = aten::add_(w, 1); "
        "q = aten::diagonal(b); r = aten::zero_(q); out b b; out w w; out q q; out v v",
     0},
    {IN "b = aten::mul(x, 2); v = aten::view(b, [2, 6]); w = aten::fill_(v, 4); out b b", -1},
    {IN "b = aten::add(x, 0); v = aten::unsqueeze(b, 0); w = aten::permute(v, [2, 0, 1]); "
        "u = aten::copy_(w, 7); out b b",
     -1},
    {IN "b = aten::add(x, 0); v = aten::as_strided(b, [2, 2], [1, 2], 1); w = aten::exp_(v); "
        "u = aten::add_(b, 1); z = aten::mul(v, 2); out z z; out b b",
     1},
    {IN "b = aten::add(x, 0); v = aten::unfold(b, 0, 2, 2); w = aten::mul_(v, 2); out b b; out v v",
     1},
    {IN "l = aten::split(x, 1, 0); a = l[1]; w = aten::add_(a, 5); c2 = aten::cat(l); out c c2", 1},
    {IN "l = aten::unbind(x, 1); a = l[2]; w = aten::add_(a, 5); out l l; out a a", 1},
    {IN "l = aten::split_with_sizes(x, [1, 3], 0); a = l[1]; w = aten::relu_(a); out l l", 1},
    {IN "l = aten::chunk(x, 2); a = l[1]; w = aten::relu_(a); out l l", 2},
    {IN "l = [x, y]; _u = aten::neg(x); z = aten::add_(x, 1); c2 = aten::cat(l); out c c2", 1},
    {IN "z = when c: aten::add_(x, 1); w = aten::mul(x, 2); out z z; out w w", 1},
    {IN "v = aten::select(x, 0, 0); z = when c: aten::add_(v, 1); w = when d: aten::mul_(v, 2); "
        "out z z; out w w; out v v",
     1},
    {IN "z = aten::mul(x, 1); a = select(c, x, y); b = aten::add_(x, 1); q = aten::neg(a); "
        "out q q; out a a",
     -1},
    {IN "o = aten::empty([0]); z = aten::add(x, y, out=o); w = aten::mul(o, 2); out o o; out w w; "
        "out z z",
     0},
    {IN "z = aten::add(x, y, out=y); out z z; out y y", 1},
    {IN "b = aten::lt(x, 0); e = aten::eq_(x, y); out e e; out b b", 1},
    {IN "z = aten::normal_(x); w = aten::uniform_(y); b = aten::empty_like(x); "
        "q = aten::bernoulli_(b, 0.3); r = aten::dropout_(q, 0.5, true); out r r; out z z",
     -1},
    {IN "s = get sizes(x); b = aten::zeros(s); v = aten::narrow(b, 0, 1, 2); w = aten::add_(v, 2); "
        "out b b",
     -1},
    {IN "a = aten::t(x); b = aten::t(a); w = aten::add_(a, 1); u = aten::mul_(b, 2); out a a; "
        "out b b; out x x",
     1},
};

START_TEST(functional_programs_do_the_same)
{
    for (size_t i = 0; i < DPI_COUNT(programs); i++) {
        dp_program *p = read_program(programs[i].text);
        dp_program *q = pass(dp_program_ref(p), "functionalize");
        check_same(p, q);
        if (programs[i].writes >= 0)
            ck_assert_msg(count_writes(q) == (uint32_t)programs[i].writes, "%u writes\n%s",
                          count_writes(q), text_of(q));
        dp_program_unref(p);
        dp_program_unref(q);
    }
}
END_TEST

UNIT_SUITE(functionalize)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, functional_programs_do_the_same);
}
