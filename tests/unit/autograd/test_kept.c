/* test_kept.c -- the gradient that a tensor keeps, and the node at which it is meant. */
#include "graphs.h"

static dpi_node *node(void)
{
    dpi_node *n;

    ck_assert_int_eq(
        dpi_node_new(ctx, DPI_NODE_MISSING, dp_op_find(ctx, "t::plain"), 0, 2, 0, 0, 0, &n), 0);
    return n;
}

START_TEST(it_is_meant_where_its_tensor_is_a_return)
{
    dpi_kept *k = dpi_kept_new();
    dpi_node *first = node(), *second = node();
    dp_tensor *a = floats(FLOATS(1)), *b = floats(FLOATS(2)), *grads[2] = {a, b};

    ck_assert_ptr_null(dpi_kept_pick(k, first, grads));
    ck_assert_int_eq(dpi_kept_follow(ctx, k, first, 1), 0);
    ck_assert_ptr_eq(dpi_kept_pick(k, first, grads), b);
    ck_assert_int_eq(dpi_kept_follow(ctx, k, second, 0), 0);
    ck_assert_ptr_null(dpi_kept_pick(k, first, grads));
    ck_assert_ptr_eq(dpi_kept_pick(k, second, grads), a);
    ck_assert(first->kept->kept == k && second->kept->kept == k);
    dpi_node_unref(first);
    dpi_kept_end(k);
    ck_assert_ptr_null(dpi_kept_pick(second->kept->kept, second, grads));
    dpi_node_unref(second);
    ck_assert_int_eq(dpi_kept_follow(ctx, NULL, NULL, 0), 0);
    DROP(a, b);
}
END_TEST

START_TEST(nothing_is_stored_for_a_tensor_that_has_ended)
{
    dpi_kept *k = dpi_kept_new();
    dpi_node *n = node();
    dp_tensor *a = floats(FLOATS(1));

    ck_assert_int_eq(dpi_kept_follow(ctx, k, n, 0), 0);
    dpi_kept_store(k, a);
    dp_tensor *got = dpi_kept_grad(k);
    ck_assert_ptr_eq(got, a);
    dpi_kept_set(k, NULL);
    ck_assert_ptr_null(dpi_kept_grad(k));
    dpi_kept_ref(k);
    dpi_kept_end(k);
    dpi_kept_store(k, a);
    ck_assert_ptr_null(dpi_kept_grad(k));
    dpi_kept_unref(k);
    dpi_node_unref(n);
    DROP(a, got);
}
END_TEST

UNIT_SUITE(autograd_kept)
{
    tcase_add_checked_fixture(tc, graphs_setup, graphs_teardown);
    tcase_add_test(tc, it_is_meant_where_its_tensor_is_a_return);
    tcase_add_test(tc, nothing_is_stored_for_a_tensor_that_has_ended);
}
