/* test_hook_list.c -- lists of hooks: what they charge, their limit, and how they end. */
#include "graphs.h"
#include "base/account.h"

/* Make the list that has operator `op` after the hooks of `before`. */
static int list(const dpi_hooks *before, const dp_op *op, dpi_hooks **out)
{
    dpi_hooks_change change = {.add = {.op = op}};

    return dpi_hooks_new(ctx, before, &change, out);
}

START_TEST(a_list_is_charged_and_counted)
{
    dp_holder_limit limits[DP_HOLDERS];
    dp_error err = DP_ERROR_INIT;
    dp_account *a;
    dpi_hooks *one, *two, *none = NULL;
    const dp_op *neg = dp_op_find(ctx, "t::plain"), *square = dp_op_find(ctx, "t::square");

    for (int i = 0; i < DP_HOLDERS; i++)
        limits[i] = (dp_holder_limit){"n", "bytes", UINT64_MAX, UINT64_MAX};
    limits[DP_HOLDER_HISTORY].bytes = 2 * sizeof(dpi_hooks) + 3 * sizeof(dpi_hook);
    ck_assert_int_eq(dp_account_new(limits, &a, &err), 0);
    dp_ctx_set_account(ctx, a);
    ck_assert_int_eq(list(NULL, neg, &one), 0);
    ck_assert_int_eq(list(one, square, &two), 0);
    ck_assert(one->n == 1 && one->of[0].op == neg); /* a list does not change */
    ck_assert(two->n == 2 && two->of[0].op == neg && two->of[1].op == square);
    ck_assert_uint_eq(a->charged[DP_HOLDER_HISTORY].bytes, limits[DP_HOLDER_HISTORY].bytes);
    ck_assert_int_eq(list(NULL, neg, &none), DP_ERESOURCE); /* over the limit */
    dp_ctx_set_account(ctx, NULL);
    dpi_hooks_unref(dpi_hooks_ref(one));
    dpi_hooks_unref(two);
    ck_assert_uint_eq(a->charged[DP_HOLDER_HISTORY].bytes, one->bytes);
    dpi_hooks_unref(one);
    ck_assert_uint_eq(a->charged[DP_HOLDER_HISTORY].bytes, 0);
    dp_account_close(a);
    dpi_hooks_unref(dpi_hooks_ref(NULL));
}
END_TEST

START_TEST(the_limit_of_a_list)
{
    const dp_op *op = dp_op_find(ctx, "t::plain");
    dpi_hooks *h = NULL, *more;

    for (uint32_t i = 0; i < DP_LIMIT_HOOKS; i++) {
        ck_assert_int_eq(list(h, op, &more), 0);
        dpi_hooks_unref(h);
        h = more;
    }
    ck_assert_uint_eq(h->n, DP_LIMIT_HOOKS);
    ck_assert_int_eq(list(h, op, &more), DP_ERESOURCE);
    ck_assert_ptr_nonnull(strstr(said(), "(hooks)"));
    dpi_hooks_unref(h);
}
END_TEST

static int make_two(void)
{
    const dp_op *op = dp_op_find(ctx, "t::plain");
    dpi_hooks *one = NULL, *two = NULL;
    int rc = list(NULL, op, &one);

    if (rc == 0)
        rc = list(one, op, &two);
    dpi_hooks_unref(one);
    dpi_hooks_unref(two);
    return rc;
}

START_TEST(a_list_without_memory)
{
    ck_assert_uint_eq(each_allocation(make_two), 2);
}
END_TEST

UNIT_SUITE(autograd_hook_list)
{
    tcase_add_checked_fixture(tc, graphs_setup, graphs_teardown);
    tcase_add_test(tc, a_list_is_charged_and_counted);
    tcase_add_test(tc, the_limit_of_a_list);
    tcase_add_test(tc, a_list_without_memory);
}
