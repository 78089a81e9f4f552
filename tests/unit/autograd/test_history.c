/* test_history.c -- the history word of tensors, and how nodes are charged and freed. */
#include "graphs.h"
#include "tensor/room.h"
#include <pthread.h>

static dpi_node *node(uint32_t n_edges)
{
    dpi_node *n;

    ck_assert_int_eq(
        dpi_node_new(ctx, DPI_NODE_MISSING, dp_op_find(ctx, "t::plain"), n_edges, 1, 0, 0, 0, &n),
        0);
    return n;
}

/* The node that t's history is; not referred to. */
static dpi_node *node_of(const dp_tensor *t, uint32_t *nr)
{
    dpi_edge e;

    ck_assert_int_eq(dpi_edge_of(ctx, t, &e), 0);
    ck_assert(!e.leaf);
    *nr = e.nr;
    dpi_edge_unref(e);
    return e.to;
}

START_TEST(a_word_refers_to_a_node)
{
    dp_tensor *t = floats(FLOATS(1));
    dpi_node *n = node(0), *other = node(0);
    uint32_t nr;

    ck_assert(dp_tensor_is_leaf(t) && !dp_tensor_requires_grad(t));
    ck_assert_ptr_null(dp_tensor_grad_fn(t));
    ck_assert_int_eq(dpi_history_set(ctx, t, dpi_node_ref(n), 15), 0);
    ck_assert_ptr_null(dpi_meta_find(t)); /* it lies in the word itself */
    ck_assert_ptr_eq(node_of(t, &nr), n);
    ck_assert_uint_eq(nr, 15);
    ck_assert(!dp_tensor_is_leaf(t) && dp_tensor_requires_grad(t) && dp_tensor_may_grad(t));
    ck_assert_str_eq(dp_tensor_grad_fn(t), "t::plain");
    ck_assert_int_eq(dpi_history_set(ctx, t, dpi_node_ref(other), 3), 0);
    dpi_node_unref(n);
    ck_assert_uint_eq(dp_grad_nodes(), 1); /* the word was the last to hold it */
    ck_assert_ptr_eq(node_of(t, &nr), other);
    ck_assert_uint_eq(nr, 3);
    dpi_node_unref(other);
    dp_tensor_unref(t);
}
END_TEST

START_TEST(a_return_past_15_needs_a_meta)
{
    dp_tensor *t = floats(FLOATS(1));
    dpi_node *n = node(0);
    uint32_t nr;

    ck_assert_int_eq(dpi_history_set(ctx, t, dpi_node_ref(n), 16), 0);
    ck_assert_ptr_nonnull(dpi_meta_find(t));
    ck_assert_ptr_eq(node_of(t, &nr), n);
    ck_assert_uint_eq(nr, 16);
    dpi_node_unref(n);
    dp_tensor_unref(t);
}
END_TEST

START_TEST(a_meta_takes_over_what_the_word_said)
{
    dp_tensor *t = floats(FLOATS(1)), *grad = floats(FLOATS(2));
    dpi_node *n = node(0);
    uint32_t nr;

    ck_assert_int_eq(dpi_history_set(ctx, t, dpi_node_ref(n), 7), 0);
    ck_assert_int_eq(dp_tensor_set_grad(ctx, t, grad), 0);
    ck_assert_ptr_eq(dpi_meta_make(t), dpi_meta_find(t));
    ck_assert_ptr_eq(node_of(t, &nr), n);
    ck_assert_uint_eq(nr, 7);
    has_grad(t, FLOATS(2));
    ck_assert_int_eq(dp_tensor_set_grad(ctx, t, NULL), 0);
    ck_assert_ptr_null(dp_tensor_grad(t));
    dpi_node_unref(n);
    DROP(t, grad);
}
END_TEST

START_TEST(a_leaf_that_is_computed_is_none_any_more)
{
    dp_tensor *t = leaf(FLOATS(1));
    dpi_node *n = node(0);

    ck_assert(dpi_is_grad_leaf(t) && dp_tensor_is_leaf(t) && dp_tensor_requires_grad(t));
    ck_assert_int_eq(dpi_history_set(ctx, t, dpi_node_ref(n), 0), 0);
    ck_assert(!dpi_is_grad_leaf(t) && !dp_tensor_is_leaf(t));
    ck_assert_int_eq(dp_tensor_set_requires_grad(ctx, t, true), 0);
    refused(dp_tensor_set_requires_grad(ctx, t, false), DP_ERUNTIME, "flags of leaf variables");
    dpi_node_unref(n);
    dp_tensor_unref(t);
}
END_TEST

START_TEST(history_can_be_taken)
{
    dp_tensor *x = leaf(FLOATS(1)), *y = call1("t::square", x), *grad = floats(FLOATS(2));

    dpi_history_clear(y);
    ck_assert(dp_tensor_is_leaf(y) && !dp_tensor_requires_grad(y));
    ck_assert_uint_eq(dp_grad_nodes(), 0);
    dpi_history_clear(y); /* there is none any more */
    ck_assert_int_eq(dp_tensor_set_grad(ctx, x, grad), 0);
    dpi_history_clear(x);
    ck_assert(!dp_tensor_requires_grad(x));
    has_grad(x, FLOATS(2));
    DROP(x, y, grad);
}
END_TEST

START_TEST(who_can_require_gradients)
{
    dp_error err = DP_ERROR_INIT;
    int64_t n = 1;
    dp_tensor *ints = NULL, *t = leaf(FLOATS(1)), *two = floats(FLOATS(1, 2));

    ck_assert_int_eq(dp_tensor_new(DP_INT64, DP_DEVICE_CPU, 1, &n, NULL, &ints, &err), 0);
    refused(dp_tensor_set_requires_grad(ctx, ints, true), DP_ERUNTIME, "not int64");
    ck_assert_int_eq(dp_tensor_set_requires_grad(ctx, ints, false), 0);
    ck_assert_ptr_null(dpi_meta_find(ints));
    refused(
        dp_tensor_set_grad(ctx, t, two), DP_ERUNTIME,
        "assigned grad has another shape, dtype or device than its tensor: float32 [2] on cpu for "
        "float32 [1] on cpu");
    refused(dp_tensor_set_grad(ctx, t, ints), DP_ERUNTIME, "int64 [1] on cpu for float32");
    ck_assert_int_eq(dp_tensor_set_requires_grad(ctx, t, false), 0);
    ck_assert(!dp_tensor_requires_grad(t));
    DROP(ints, t, two);
}
END_TEST

/* Each thread sets history while another reads it. */
static dp_tensor *shared;
static dpi_node *two_nodes[2];
static atomic_int stop;

static void *reads(void *unused)
{
    while (!atomic_load(&stop)) {
        dpi_edge e;
        unit_each(dpi_edge_of(ctx, shared, &e) == 0, "an edge fails");
        unit_each(e.to == two_nodes[0] || e.to == two_nodes[1], "another node");
        dpi_edge_unref(e);
    }
    return unused;
}

START_TEST(a_word_is_read_while_it_changes)
{
    pthread_t reader;

    shared = floats(FLOATS(1));
    two_nodes[0] = node(0), two_nodes[1] = node(0);
    atomic_store(&stop, 0);
    ck_assert_int_eq(dpi_history_set(ctx, shared, dpi_node_ref(two_nodes[0]), 0), 0);
    ck_assert_int_eq(pthread_create(&reader, NULL, reads, NULL), 0);
    for (int i = 0; i < 20000; i++)
        unit_each(dpi_history_set(ctx, shared, dpi_node_ref(two_nodes[i & 1]), 0) == 0,
                  "%d: no history", i);
    atomic_store(&stop, 1);
    pthread_join(reader, NULL);
    dp_tensor_unref(shared);
    unit_each(atomic_load(&two_nodes[0]->refs) == 1, "references are lost");
    unit_each(atomic_load(&two_nodes[1]->refs) == 1, "references are lost");
    dpi_node_unref(two_nodes[0]);
    dpi_node_unref(two_nodes[1]);
}
END_TEST

UNIT_SUITE(autograd_history)
{
    tcase_add_checked_fixture(tc, graphs_setup, graphs_teardown);
    tcase_add_test(tc, a_word_refers_to_a_node);
    tcase_add_test(tc, a_return_past_15_needs_a_meta);
    tcase_add_test(tc, a_meta_takes_over_what_the_word_said);
    tcase_add_test(tc, a_leaf_that_is_computed_is_none_any_more);
    tcase_add_test(tc, history_can_be_taken);
    tcase_add_test(tc, who_can_require_gradients);
    tcase_add_test(tc, a_word_is_read_while_it_changes);
}
