/* test_block.c -- what a finished program holds. */
#include "programs.h"

static dp_unit *define(const char *schema)
{
    dp_item item[] = {REC_DEF(schema)};
    dp_item impl[] = {REC_IMPL("f", same)};
    dp_block both[] = {REC_BLOCK(DP_BLOCK_LIBRARY, 1, "u", "", item),
                       REC_BLOCK(DP_BLOCK_IMPL, 2, "u", "CPU", impl)};
    return rec_attach(reg, "u", both, 2);
}

START_TEST(program_holds_operators_by_name_and_schema)
{
    dp_unit *u = define("f(Tensor x, int n=1) -> Tensor");
    dp_program *p = chain("u::f", 1);
    dp_value out;
    dp_run r;

    ck_assert_int_eq(run1(p, &out, &r), 0);
    dp_values_release(&out, 1);
    rec_detach(reg, u);
    expect(run1(p, &out, &r), DP_ENOTFOUND, "step 0: u::f: no plugin defines this operator");
    ck_assert_str_eq(dp_ctx_error(ctx)->op, "u::f");
    ck_assert_int_eq(r.step, 0);
    u = define("f(Tensor x, int n=1) -> Tensor"); /* the same, newly loaded */
    ck_assert_int_eq(run1(p, &out, &r), 0);
    dp_values_release(&out, 1);
    rec_detach(reg, u);
    u = define("f(Tensor x, int n=2) -> Tensor");
    expect(run1(p, &out, &r), DP_ERUNTIME,
           "step 0: u::f: its schema has changed since the program was made, from "
           "'u::f(Tensor x, int n=1) -> Tensor' to 'u::f(Tensor x, int n=2) -> Tensor'");
    ck_assert_int_eq(r.step, 0);
    ck_assert_ptr_nonnull(p = around(p, 1));
    expect(run1(p, &out, &r), DP_ERUNTIME, "step 4: step 0: u::f: its schema has changed");
    ck_assert_int_eq(r.step, 4);
    rec_detach(reg, u);
    dp_program_unref(p);
}
END_TEST

UNIT_SUITE(program_block)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, program_holds_operators_by_name_and_schema);
}
