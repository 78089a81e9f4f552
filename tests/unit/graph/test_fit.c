/* test_fit.c -- new values have the dtype and the strides of the tensors that they replace. */
#include "passes_fixture.h"

/* Programs after which o is read by strides or by its dtype. */
static const char *const texts[] = {
    "in x Tensor\nin y Tensor\nw = aten::add(x, x, out=y)\nr = get strides(y)\nd = "
    "aten::dropout(y, 0.5, true)\n"
    "out r r\nout d d",
    "in x Tensor\nin y Tensor\nw = aten::copy_(y, x)\nr = get strides(y)\nout r r\nout y y",
    "in x Tensor\nin y Tensor\no = aten::ones([4, 3], dtype=7)\nw = aten::add(x, x, out=o)\n"
    "r = get dtype(o)\nout r r\nout o o",
    "in x Tensor\nin y Tensor\nw = aten::ge_(y, x)\nr = get strides(y)\nout r r\nout w w",
    "in x Tensor\nin y Tensor\no = aten::empty([0], dtype=7)\nw = aten::add(x, x, out=o)\nr = get "
    "sizes(o)\n"
    "out r r\nout o o",
    "in x Tensor\nin y Tensor\nt = aten::mm(x, x, out=y)\nout t t",
    "in x Tensor\nt = aten::t(x)\no = aten::clone(t)\nm = aten::gt(o, 0)\nw = "
    "aten::masked_fill_(o, m, 2)\n"
    "r = get strides(o)\nout r r\nout o o",
    "in x Tensor\nt = aten::t(x)\no = aten::clone(t)\ni = aten::zeros([1], dtype=4)\n"
    "s = aten::ones([1, 4])\nw = aten::index_copy_(o, 0, i, s)\nr = get strides(o)\nout r r\nout o "
    "o",
    "in x Tensor\nt = aten::t(x)\no = aten::clone(t)\ni = aten::zeros([2, 2], dtype=4)\n"
    "w = aten::scatter_(o, 0, i, 3)\nr = get strides(o)\nout r r\nout o o",
};

static void check_ints(const dp_value *a, const dp_value *b, const char *text)
{
    unit_each(a->tag == b->tag && a->len == b->len, "%s", text);
    if (a->tag == DP_TAG_INTS)
        unit_each(memcmp(a->u.ints, b->u.ints, a->len * sizeof(int64_t)) == 0,
                  "%s: strides %lld, want %lld", text, (long long)b->u.ints[0],
                  (long long)a->u.ints[0]);
    if (a->tag == DP_TAG_INT)
        ck_assert_int_eq(a->u.i, b->u.i);
}

START_TEST(new_values_fit)
{
    for (size_t i = 0; i < DPI_COUNT(texts); i++) {
        dp_program *p = read_program(texts[i]), *q = pass(dp_program_ref(p), "functionalize");
        outcome a, b;
        run_program(p, 0, &a);
        run_program(q, 0, &b);
        if (a.rc == 0 && b.rc == 0)
            check_ints(&a.outputs[0], &b.outputs[0], texts[i]);
        release(p, &a);
        release(q, &b);
        check_same(p, q);
        dp_program_unref(p);
        dp_program_unref(q);
    }
}
END_TEST

/* An out= call that changes the sizes of an input is an error, not another result. */
START_TEST(sizes_must_fit)
{
    static const char text[] =
        "in x Tensor\nin y Tensor\nv = aten::slice(x, 0, 0, 1)\nw = aten::neg(v, out=y)\n"
        "out y y";
    dp_program *p = read_program(text), *q = pass(dp_program_ref(p), "functionalize");
    outcome o;

    run_program(q, 0, &o);
    ck_assert_msg(o.rc < 0 && strstr(o.message, "line 4: ") == o.message, "%d '%s'", o.rc,
                  o.message);
    release(q, &o);
    dp_program_unref(p);
    dp_program_unref(q);
}
END_TEST

UNIT_SUITE(graph_fit)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, new_values_fit);
    tcase_add_test(tc, sizes_must_fit);
}
