/* test_node.c -- nodes: what they cost, how they are freed, and what they saved. */
#include "graphs.h"

START_TEST(a_long_chain_is_freed_without_recursion)
{
    enum { LENGTH = 100000 };
    dpi_node *last = NULL;

    for (int i = 0; i < LENGTH; i++) {
        dpi_node *n;
        unit_each(dpi_node_new(ctx, DPI_NODE_MISSING, NULL, 1, 1, 0, 0, 0, &n) == 0, "no node");
        n->edges[0] = (dpi_edge){last, 0, false};
        n->topo = dpi_edge_topo(n->edges[0]) + 1;
        last = n;
    }
    ck_assert_uint_eq(last->topo, LENGTH);
    ck_assert_uint_eq(dp_grad_nodes(), LENGTH);
    dpi_node_unref(last);
    dpi_node_drop_wait();
    ck_assert_uint_eq(dp_grad_nodes(), 0);
}
END_TEST

/* The nodes hang on tensors that other nodes hold: leaves with gradients that have history. */
START_TEST(a_chain_through_leaves_is_freed_too)
{
    dp_tensor *x = leaf(FLOATS(1)), *y = call1("t::square", x), *z;

    ck_assert_int_eq(dp_tensor_set_grad(ctx, x, y), 0); /* a cycle, as create_graph makes one */
    z = call1("t::square", x);
    ck_assert_int_eq(dp_tensor_set_grad(ctx, x, NULL), 0);
    ck_assert_uint_eq(dp_grad_nodes(), 2);
    DROP(x, y);
    ck_assert_uint_eq(dp_grad_nodes(), 1);
    dp_tensor_unref(z);
}
END_TEST

/* -- accounts -- */

static const dp_holder_limit limits[DP_HOLDERS] = {
    [DP_HOLDER_TENSORS] = {"A", "B", 100, 1 << 20},
    [DP_HOLDER_INTERMEDIATES] = {"C", "D", 100, 1 << 20},
    [DP_HOLDER_HISTORY] = {"NODES", "NODE_BYTES", 3, 1 << 20},
};

static dp_usage history_of(const dp_account *a)
{
    dp_usage held[DP_HOLDERS];

    dp_account_usage(a, held);
    return held[DP_HOLDER_HISTORY];
}

START_TEST(nodes_are_charged_and_refunded)
{
    dp_error err = DP_ERROR_INIT;
    dp_account *a = NULL;
    dp_tensor *x = leaf(FLOATS(1)), *y, *z, *w, *none;

    ck_assert_int_eq(dp_account_new(limits, &a, &err), 0);
    dp_ctx_set_account(ctx, a);
    y = call1("t::square", x);
    ck_assert_uint_eq(history_of(a).count, 1);
    ck_assert_uint_ge(history_of(a).bytes, sizeof(dpi_node));
    z = call1("t::square", y), w = call1("t::square", z);
    ck_assert_uint_eq(history_of(a).count, 3);
    refused(try_call("t::square", &(dp_value){DP_TAG_TENSOR, 0, {.t = w}}, 1, &none), DP_ERESOURCE,
            "0 of 3 left (NODES)");
    ck_assert_uint_eq(history_of(a).count, 3);
    DROP(x, y, z);
    ck_assert_uint_eq(history_of(a).count, 3); /* w's history */
    dp_ctx_set_account(ctx, NULL);
    dp_tensor_unref(w);
    ck_assert_uint_eq(history_of(a).count, 0);
    ck_assert_uint_eq(history_of(a).bytes, 0);
    dp_account_close(a);
}
END_TEST

START_TEST(edges_and_slots_of_nothing)
{
    dpi_edge none = dpi_edge_ref((dpi_edge){0});
    dpi_slot slot = {.kind = DPI_SLOT_NONE};

    dpi_edge_unref(none);
    dpi_node_unref(NULL);
    dpi_slot_clear(&slot);
    ck_assert_uint_eq(dpi_edge_topo(none), 0);
}
END_TEST

START_TEST(what_a_node_saved_is_released_once)
{
    dp_tensor *x = leaf(FLOATS(3)), *y = call1("t::square", x);
    dpi_edge e = dpi_edge_recorded(y);
    dpi_node *n = e.to;

    ck_assert(!n->released && n->n_slots == 1 && n->slots[0].tensor.geometry != NULL);
    dpi_node_lock(n);
    dpi_node_unlock(n);
    dpi_node_release(n);
    ck_assert(n->released && n->slots[0].tensor.geometry == NULL);
    dpi_node_release(n);
    dpi_edge_unref(e);
    DROP(x, y);
}
END_TEST

UNIT_SUITE(autograd_node)
{
    tcase_add_checked_fixture(tc, graphs_setup, graphs_teardown);
    tcase_add_test(tc, a_long_chain_is_freed_without_recursion);
    tcase_add_test(tc, a_chain_through_leaves_is_freed_too);
    tcase_add_test(tc, nodes_are_charged_and_refunded);
    tcase_add_test(tc, edges_and_slots_of_nothing);
    tcase_add_test(tc, what_a_node_saved_is_released_once);
}
