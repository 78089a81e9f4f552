/* test_checkpoint.c -- what checkpoints charge, and how they end. */
#include "checkpoints.h"
#include "base/account.h"

enum { DEEP = 100000 };

START_TEST(a_checkpoint_is_charged_as_history)
{
    dp_holder_limit limits[DP_HOLDERS];
    dp_error err = DP_ERROR_INIT;
    dp_account *a;
    dpi_checkpoint *c, *none;
    dp_program *p = program("in x Tensor\na = t::square(x)\nout a a\n");
    dp_tensor *x = floats(FLOATS(2));
    const dp_value input = dp_tensor_value(x);

    for (int i = 0; i < DP_HOLDERS; i++)
        limits[i] = (dp_holder_limit){"n", "bytes", UINT64_MAX, UINT64_MAX};
    limits[DP_HOLDER_HISTORY].count = 1;
    limits[DP_HOLDER_HISTORY].bytes = 1 << 20;
    ck_assert_int_eq(dp_account_new(limits, &a, &err), 0);
    dp_ctx_set_account(ctx, a);
    ck_assert_int_eq(dpi_checkpoint_new(ctx, p, &c), 0);
    ck_assert_uint_eq(a->charged[DP_HOLDER_HISTORY].count, 1);
    ck_assert_uint_eq(a->charged[DP_HOLDER_HISTORY].bytes, sizeof(*c));
    ck_assert_int_eq(dpi_checkpoint_new(ctx, p, &none), DP_ERESOURCE);
    ck_assert_int_eq(dp_ctx_begin(ctx), 0);
    ck_assert_int_eq(dpi_checkpoint_charge(ctx, c, 1), 0);
    ck_assert_int_eq(dpi_checkpoint_charge(ctx, c, SIZE_MAX / 2), DP_ERESOURCE);
    ck_assert_int_eq(dpi_checkpoint_save(ctx, c, &input), 0);
    dp_ctx_end(ctx);
    ck_assert_uint_eq(a->charged[DP_HOLDER_HISTORY].bytes, c->bytes);
    ck_assert_uint_eq(dpi_checkpoint_bytes(c), sizeof(float));
    dpi_checkpoint_unref(c);
    ck_assert_uint_eq(a->charged[DP_HOLDER_HISTORY].count, 0);
    ck_assert_uint_eq(a->charged[DP_HOLDER_HISTORY].bytes, 0);
    dp_ctx_set_account(ctx, NULL);
    dp_account_close(a);
    dp_tensor_unref(x);
    dp_program_unref(p);
}
END_TEST

START_TEST(a_chain_ends_without_recursion)
{
    dp_program *p = program("in x Tensor\na = t::square(x)\nout a a\n");
    dpi_checkpoint *c = NULL;

    for (int i = 0; i < DEEP; i++) {
        dpi_checkpoint *inner;
        ck_assert_int_eq(dpi_checkpoint_new(ctx, p, &inner), 0);
        inner->outer = c;
        c = inner;
    }
    ck_assert_uint_eq(dpi_checkpoint_bytes(c), 0);
    dpi_checkpoint_unref(dpi_checkpoint_ref(c));
    dpi_checkpoint_unref(c);
    dpi_checkpoint_unref(NULL);
    dp_program_unref(p);
}
END_TEST

UNIT_SUITE(autograd_checkpoint)
{
    tcase_add_checked_fixture(tc, graphs_setup, graphs_teardown);
    tcase_add_test(tc, a_checkpoint_is_charged_as_history);
    tcase_add_test(tc, a_chain_ends_without_recursion);
}
