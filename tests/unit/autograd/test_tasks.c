/* test_tasks.c -- the tasks of one backward: found again by address, used again, and ordered. */
#include "autograd/engine.h"
#include "graphs.h"

enum { NODES = 300 };

static dpi_node *node_of(uint32_t topo, uint32_t n_rets)
{
    dpi_node *n;

    unit_each(dpi_node_new(ctx, DPI_NODE_MISSING, NULL, 0, n_rets, 0, 0, 0, &n) == 0, "no node");
    n->topo = topo;
    return n;
}

START_TEST(tasks_are_found_and_run_in_order)
{
    const dp_backward_options o = {.size = sizeof(o)};
    dpi_node *nodes[NODES];
    dpi_engine g;
    uint32_t t, last = UINT32_MAX;

    dpi_engine_init(&g, ctx, &o);
    for (int i = 0; i < NODES; i++) {
        nodes[i] = node_of((uint32_t)(i * 7919 % NODES), i % 5 == 0 ? 3 : 1);
        unit_each(dpi_engine_task(&g, (dpi_edge){nodes[i], 0, false}, &t) == 0, "no task");
        unit_each(dpi_engine_queue(&g, t) == 0, "not queued");
    }
    for (int i = 0; i < NODES; i++)
        unit_each(*dpi_engine_slot(&g, nodes[i]) == (uint32_t)i + 1, "another task");
    for (int i = 0; i < NODES; i++) {
        t = dpi_engine_next(&g);
        const dpi_node *n = g.tasks[t].at.to;
        unit_each(n->topo < last, "%u runs after %u", n->topo, last);
        last = n->topo;
        dpi_engine_end(&g, t);
        unit_each(*dpi_engine_slot(&g, n) == 0, "it is found after its end");
    }
    ck_assert_uint_eq(g.n_heap, 0);
    dpi_engine_fini(&g);
    for (int i = 0; i < NODES; i++)
        dpi_node_unref(nodes[i]);
}
END_TEST

/* In a chain, a node's task ends before the task after the next one begins, so memory of tasks is
 * used again. */
START_TEST(a_chain_needs_few_tasks)
{
    const dp_backward_options o = {.size = sizeof(o)};
    dpi_engine g;
    uint32_t t;

    dpi_engine_init(&g, ctx, &o);
    for (int i = 0; i < NODES; i++) {
        dpi_node *n = node_of(1, 1);
        unit_each(dpi_engine_task(&g, (dpi_edge){n, 0, false}, &t) == 0, "no task");
        dpi_node_unref(n);
        dpi_engine_end(&g, t);
    }
    ck_assert_uint_eq(g.n_tasks, 1);
    ck_assert_uint_eq(dp_grad_nodes(), 0);
    dpi_engine_fini(&g);
}
END_TEST

UNIT_SUITE(autograd_tasks)
{
    tcase_add_checked_fixture(tc, graphs_setup, graphs_teardown);
    tcase_add_test(tc, tasks_are_found_and_run_in_order);
    tcase_add_test(tc, a_chain_needs_few_tasks);
}
