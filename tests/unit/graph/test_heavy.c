/* test_heavy.c -- which steps a backward computes again only to save memory. */
#include "passes_fixture.h"
#include "graph/joint.h"

START_TEST(products_and_factorizations_are_heavy)
{
    static const bool heavy[] = {true, false, true, true, false, false};
    dp_program *p = read_program("in x Tensor\na = aten::mm(x, x)\nb = aten::mul(a, x)\n"
                                 "c = aten::addmm(b, a, x)\nq, r = aten::linalg_qr(c)\n"
                                 "s = get sizes(q)\nd = aten::matmul(q, r)\nout d d\nout s s");

    ck_assert_uint_eq(p->n_steps, DPI_COUNT(heavy));
    for (uint32_t i = 0; i < p->n_steps; i++)
        ck_assert_msg(dpi_is_heavy(p, &p->steps[i]) == heavy[i], "step %u", i);
    dp_program_unref(p);
}
END_TEST

UNIT_SUITE(heavy)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, products_and_factorizations_are_heavy);
}
