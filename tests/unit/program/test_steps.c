/* test_steps.c -- steps that call no operator: lists and their items. */
#include "programs.h"

START_TEST(program_lists_and_their_items)
{
    dp_ref t, list, item, both, y;
    dp_builder *b = begin(&t);
    dp_value out, in;
    dp_run r;

    ck_assert_int_eq(add(b, 0, "t::parts", &t, 1, &list), 0);
    dp_step s = {.size = sizeof(s),
                 .kind = DP_STEP_ITEM,
                 .args = &list,
                 .n_args = 1,
                 .index = 1,
                 .n_rets = 1,
                 .origin = 1};
    ck_assert_int_eq(dp_builder_add(b, &s, &item, NULL), 0);
    s = (dp_step){.size = sizeof(s),
                  .kind = DP_STEP_LIST,
                  .args = (dp_ref[]){t, item},
                  .n_args = 2,
                  .n_rets = 1,
                  .origin = 2};
    ck_assert_int_eq(dp_builder_add(b, &s, &both, NULL), 0);
    ck_assert_int_eq(add(b, 3, "t::join", &both, 1, &y), 0);
    ck_assert_int_eq(add(b, 3, "t::join", &list, 1, &y), 0);
    dp_program *p = end(b, both);
    ck_assert_msg(run1(p, &out, &r) == 0, "%s", dp_ctx_error(ctx)->message);
    ck_assert_uint_eq(out.tag, DP_TAG_TENSORS);
    ck_assert_uint_eq(out.len, 2);
    ck_assert_ptr_eq(out.u.tensors[0], x);
    dp_values_release(&out, 1);
    dp_program_unref(p);

    b = begin(&t);
    ck_assert_int_eq(add(b, 0, "t::parts", &t, 1, &list), 0);
    s = (dp_step){.size = sizeof(s),
                  .kind = DP_STEP_ITEM,
                  .args = &list,
                  .n_args = 1,
                  .index = 2,
                  .n_rets = 1,
                  .origin = 5};
    ck_assert_int_eq(dp_builder_add(b, &s, &item, NULL), 0);
    p = end(b, item);
    in = dp_tensor_value(x);
    expect(run1(p, &out, &r), DP_EINDEX, "step 5: index 2 of '%1', a list of 2");
    (void)in;
    dp_program_unref(p);
}
END_TEST

UNIT_SUITE(steps)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, program_lists_and_their_items);
}
