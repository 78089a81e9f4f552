/* test_flow.c -- a smallest cut of a network. */
#include "graph/joint.h"
#include "unit.h"
#include <stdlib.h>

typedef struct network_edge {
    uint32_t from, to;
    uint64_t capacity;
} network_edge;

static uint64_t cut(uint32_t n, const network_edge *edges, size_t n_edges, bool *reached)
{
    dpi_flow *f = dpi_flow_new(n);

    ck_assert_ptr_nonnull(f);
    for (size_t i = 0; i < n_edges; i++)
        ck_assert(dpi_flow_edge(f, edges[i].from, edges[i].to, edges[i].capacity));
    uint64_t flow = dpi_flow_cut(f, reached);
    dpi_flow_free(f);
    return flow;
}

START_TEST(the_cut_has_the_smallest_capacity)
{
    /* the example of Cormen et al., Introduction to Algorithms, 26.1: 23 */
    static const network_edge edges[] = {{0, 2, 16}, {0, 3, 13}, {2, 3, 10}, {3, 2, 4},  {2, 4, 12},
                                         {4, 3, 9},  {3, 5, 14}, {5, 4, 7},  {4, 1, 20}, {5, 1, 4}};
    bool reached[6];

    ck_assert_uint_eq(cut(6, edges, DPI_COUNT(edges), reached), 23);
    ck_assert(reached[0] && reached[2] && reached[3] && reached[5]);
    ck_assert(!reached[1] && !reached[4]);
}
END_TEST

START_TEST(edges_without_a_limit_are_not_cut)
{
    static const network_edge edges[] = {
        {0, 2, UINT64_MAX}, {2, 3, 5}, {3, 4, UINT64_MAX}, {4, 1, 3}, {2, 4, 1}};
    bool reached[5];

    ck_assert_uint_eq(cut(5, edges, DPI_COUNT(edges), reached), 3);
    ck_assert(reached[4] && !reached[1]);
    ck_assert_uint_eq(cut(3, (network_edge[]){{0, 2, UINT64_MAX}, {2, 1, UINT64_MAX}}, 2, reached),
                      UINT64_MAX);
    ck_assert_uint_eq(cut(3, (network_edge[]){{0, 2, 7}}, 1, reached), 0);
}
END_TEST

START_TEST(a_long_path_takes_no_stack)
{
    enum { NODES = 200000 };
    dpi_flow *f = dpi_flow_new(NODES);
    bool *reached = calloc(NODES, sizeof(*reached));

    ck_assert(f != NULL && reached != NULL);
    for (uint32_t i = 2; i < NODES; i++)
        ck_assert(dpi_flow_edge(f, i == 2 ? 0 : i - 1, i, i == NODES / 2 ? 4 : 9));
    ck_assert(dpi_flow_edge(f, NODES - 1, 1, 9));
    ck_assert_uint_eq(dpi_flow_cut(f, reached), 4);
    ck_assert(reached[NODES / 2 - 1] && !reached[NODES / 2]);
    dpi_flow_free(f);
    free(reached);
}
END_TEST

START_TEST(no_memory_is_told)
{
    dpi_flow *f = dpi_flow_new(4);

    for (uint64_t n = 1; n <= 2; n++) {
        dp_fault_arm(n);
        dpi_flow *none = dpi_flow_new(4);
        ck_assert_ptr_null(none);
        ck_assert(dp_fault_hit());
    }
    dp_fault_arm(1);
    ck_assert(!dpi_flow_edge(f, 0, 1, 1));
    dp_fault_arm(0);
    ck_assert(dpi_flow_edge(f, 0, 1, 1));
    dpi_flow_free(f);
}
END_TEST

UNIT_SUITE(flow)
{
    tcase_add_test(tc, the_cut_has_the_smallest_capacity);
    tcase_add_test(tc, edges_without_a_limit_are_not_cut);
    tcase_add_test(tc, a_long_path_takes_no_stack);
    tcase_add_test(tc, no_memory_is_told);
}
