/* test_kept.c -- the gradient that a tensor keeps, and the node at which it is meant. */
#include "graphs.h"

static dpi_kept *kept(void)
{
    dpi_kept *k;

    ck_assert_int_eq(dpi_kept_new(ctx, &k), 0);
    return k;
}

static dpi_node *node(void)
{
    dpi_node *n;

    ck_assert_int_eq(
        dpi_node_new(ctx, DPI_NODE_MISSING, dp_op_find(ctx, "t::plain"), 0, 2, 0, 0, 0, &n), 0);
    return n;
}

START_TEST(it_is_meant_where_its_tensor_is_a_return)
{
    dpi_kept *k = kept();
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
    dpi_kept *k = kept();
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

START_TEST(it_is_charged_as_history)
{
    static const dp_holder_limit limits[DP_HOLDERS] = {
        [DP_HOLDER_HISTORY] = {"NODES", "NODE_BYTES", 1, 2000}};
    dp_error err = DP_ERROR_INIT;
    dp_usage held[DP_HOLDERS];
    dp_account *a = NULL;

    ck_assert_int_eq(dp_account_new(limits, &a, &err), 0);
    dp_ctx_set_account(ctx, a);
    dpi_node *n = node();
    dpi_kept *k = kept();
    uint64_t bytes = n->bytes + sizeof(dpi_kept), follows = (2000 - bytes) / sizeof(dpi_kept_item);
    for (uint64_t i = 0; i < follows; i++)
        ck_assert_int_eq(dpi_kept_follow(ctx, k, n, 0), 0);
    refused(dpi_kept_follow(ctx, k, n, 0), DP_ERESOURCE, "(NODE_BYTES)");
    refused(dpi_kept_new(ctx, &(dpi_kept *){NULL}), DP_ERESOURCE, "(NODE_BYTES)");
    dp_account_usage(a, held);
    ck_assert_uint_eq(held[DP_HOLDER_HISTORY].bytes, bytes + follows * sizeof(dpi_kept_item));
    dpi_node_unref(n);
    dpi_kept_end(k);
    dp_account_usage(a, held);
    ck_assert_uint_eq(held[DP_HOLDER_HISTORY].bytes, 0);
    dp_ctx_set_account(ctx, NULL);
    dp_account_close(a);
}
END_TEST

UNIT_SUITE(autograd_kept)
{
    tcase_add_checked_fixture(tc, graphs_setup, graphs_teardown);
    tcase_add_test(tc, it_is_meant_where_its_tensor_is_a_return);
    tcase_add_test(tc, it_is_charged_as_history);
    tcase_add_test(tc, nothing_is_stored_for_a_tensor_that_has_ended);
}
