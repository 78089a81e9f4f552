/* test_graph.c -- listing what was recorded. */
#include "graphs.h"

static dp_grad_graph *graph_of(dp_tensor *t)
{
    dp_grad_graph *g;

    ck_assert_msg(dp_grad_graph_new(ctx, &t, 1, 100, &g) == 0, "%s", said());
    return g;
}

START_TEST(nodes_edges_and_leaves)
{
    dp_tensor *x = leaf(FLOATS(1, 2)), *w = leaf(FLOATS(5, 7));
    const int64_t number = 42, step = 3;

    dp_ctx_set_request(ctx, NULL, &number);
    dp_tensor *y = call2("aten::mul.Tensor", x, w);
    dp_ctx_set_request(ctx, "a name", NULL);
    dp_ctx_set_step(ctx, &step);
    dp_tensor *z = call2("aten::mul.Tensor", y, x);
    dp_ctx_set_request(ctx, NULL, NULL);
    dp_ctx_set_step(ctx, NULL);
    dp_grad_graph *g = graph_of(z);
    ck_assert_uint_eq(g->n_nodes, 4);
    ck_assert_uint_eq(g->n_edges, 4);
    ck_assert(g->n_roots == 1 && g->roots[0].to == 0 && g->roots[0].nr == 0);
    ck_assert_str_eq(g->nodes[0].op, "aten::mul.Tensor");
    ck_assert_str_eq(g->nodes[0].request, "a name");
    ck_assert_int_eq(g->nodes[0].step, 3);
    ck_assert_uint_eq(g->nodes[0].saved_bytes, 16);
    ck_assert_str_eq(g->nodes[1].request, "42");
    ck_assert_int_eq(g->nodes[1].step, -1);
    ck_assert(g->nodes[2].leaf == x && g->nodes[3].leaf == w && g->nodes[1].leaf == NULL);
    const dp_grad_edge want[4] = {{0, 0, 1, 0}, {0, 1, 2, 0}, {1, 0, 2, 0}, {1, 1, 3, 0}};
    for (int i = 0; i < 4; i++)
        ck_assert_msg(memcmp(&g->edges[i], &want[i], sizeof(want[i])) == 0, "edge %d", i);
    dp_grad_return r;
    ck_assert(g->nodes[0].n_returns == 1 && g->nodes[2].n_returns == 0);
    ck_assert(dp_grad_graph_return(g, 0, 0, &r) && r.dtype == DP_FLOAT32 && r.ndim == 1 &&
              r.sizes[0] == 2);
    ck_assert(!dp_grad_graph_return(g, 0, 1, &r) && !dp_grad_graph_return(g, 2, 0, &r) &&
              !dp_grad_graph_return(g, 4, 0, &r));
    dp_grad_graph_free(g);
    DROP(x, w, y, z);
}
END_TEST

START_TEST(what_backward_released)
{
    dp_tensor *x = leaf(FLOATS(3)), *y = call1("t::square", x);

    backward(y);
    dp_grad_graph *g = graph_of(y);
    ck_assert(g->nodes[0].released && g->nodes[0].saved_bytes == 0);
    dp_grad_graph_free(g);
    DROP(x, y);
}
END_TEST

START_TEST(a_base_that_was_written_through_a_view)
{
    dp_tensor *x = leaf(FLOATS(3, 4, 5, 6)), *w = leaf(FLOATS(5, 7)),
              *grad = floats(FLOATS(1, 1, 1, 1));
    dp_tensor *base = call1("t::square", x), *view = call1("t::half", base);

    write2("aten::mul_.Tensor", view, w);
    dp_grad_graph *g = graph_of(base);
    ck_assert_str_eq(g->nodes[0].op, "aten::mul_.Tensor");
    ck_assert(!g->nodes[0].released && g->nodes[0].saved_bytes == 16);
    dp_grad_graph_free(g);
    ck_assert_msg(try_backward(base, grad, 0) == 0, "%s", said());
    g = graph_of(base);
    ck_assert(g->nodes[0].released && g->nodes[0].saved_bytes == 0);
    dp_grad_graph_free(g);
    DROP(x, w, grad, base, view);
}
END_TEST

START_TEST(large_graphs)
{
    dp_tensor *x = leaf(FLOATS(3)), *y = dp_tensor_ref(x), *plain = floats(FLOATS(1));
    dp_grad_graph *g;

    for (int i = 0; i < 99; i++) {
        dp_tensor *next = call1("t::square", y);
        dp_tensor_unref(y);
        y = next;
    }
    g = graph_of(y);
    ck_assert_uint_eq(g->n_nodes, 100);
    ck_assert_ptr_eq(g->nodes[99].leaf, x);
    dp_grad_graph_free(g);
    refused(dp_grad_graph_new(ctx, &y, 1, 99, &g), DP_ERESOURCE, "more than 99 nodes and leaves");
    ck_assert_ptr_null(g);
    refused(dp_grad_graph_new(ctx, &plain, 1, 99, &g), DP_ERUNTIME, "does not require grad");
    DROP(x, y, plain);
}
END_TEST

START_TEST(a_picture)
{
    dp_arena *a = dp_ctx_arena(ctx);
    dp_tensor *x = leaf(FLOATS(3));

    dp_ctx_set_request(ctx, "a \"quoted\" name", NULL);
    dp_tensor *y = call1("t::square", x);
    dp_grad_graph *g = graph_of(y);
    const uint64_t handles[2] = {0, 7};
    ck_assert_str_eq(dp_grad_graph_dot(g, handles, a),
                     "digraph gradients {\n"
                     "  n0 [shape=box, label=\"t::square\\nfloat32 [1]\\nrequest a "
                     "\\\"quoted\\\" name\\n4 bytes saved\"];\n"
                     "  n1 [shape=ellipse, label=\"tensor 7\\nfloat32 [1]\"];\n"
                     "  n0 -> n1;\n}\n");
    ck_assert_ptr_nonnull(strstr(dp_grad_graph_dot(g, NULL, a), "label=\"float32 [1]\""));
    dp_grad_graph_free(g);
    DROP(x, y);
}
END_TEST

UNIT_SUITE(autograd_graph)
{
    tcase_add_checked_fixture(tc, graphs_setup, graphs_teardown);
    tcase_add_test(tc, nodes_edges_and_leaves);
    tcase_add_test(tc, what_backward_released);
    tcase_add_test(tc, a_base_that_was_written_through_a_view);
    tcase_add_test(tc, large_graphs);
    tcase_add_test(tc, a_picture);
}
