/* test_drop.c -- the thread that frees large graphs. */
#include "graphs.h"

enum { LENGTH = 20000 };

/* Make a chain of LENGTH nodes: its last one. */
static dpi_node *chain(void)
{
    dpi_node *last = NULL;

    for (int i = 0; i < LENGTH; i++) {
        dpi_node *n = NULL;
        ck_assert_int_eq(dpi_node_new(ctx, DPI_NODE_MISSING, NULL, 1, 0, 0, 0, 0, &n), 0);
        n->edges[0] = (dpi_edge){last, 0, false};
        last = n;
    }
    return last;
}

START_TEST(large_graphs_are_freed_by_another_thread)
{
    dpi_node *n = chain();

    ck_assert_uint_eq(dp_grad_nodes(), LENGTH);
    dpi_node_unref(n);
    dpi_node_drop_wait();
    ck_assert_uint_eq(dp_grad_nodes(), 0);
    dpi_node_drop_wait(); /* with nothing to do */
}
END_TEST

START_TEST(a_node_can_be_given_to_the_thread)
{
    dpi_node *n = NULL;

    ck_assert_int_eq(dpi_node_new(ctx, DPI_NODE_MISSING, NULL, 1, 0, 0, 0, 0, &n), 0);
    atomic_store(&n->refs, 0);
    n->edges[0] = (dpi_edge){chain(), 0, false};
    ck_assert(dpi_node_drop(n, dpi_nodes_free));
    dpi_node_drop_wait();
    ck_assert_uint_eq(dp_grad_nodes(), 0);
}
END_TEST

UNIT_SUITE(autograd_drop)
{
    tcase_add_checked_fixture(tc, graphs_setup, graphs_teardown);
    tcase_add_test(tc, large_graphs_are_freed_by_another_thread);
    tcase_add_test(tc, a_node_can_be_given_to_the_thread);
}
