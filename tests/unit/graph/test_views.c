/* test_views.c -- every operator of plugin aten that returns a view is known, or is written in a
 * copy. */
#include "passes_fixture.h"

START_TEST(the_table_names_operators)
{
    static const struct {
        const char *step;
        int how;
    } cases[] = {
        {"v = aten::select(x, 0, 1)", DPI_VIEW_SCATTER},
        {"v = aten::t(x)", DPI_VIEW_AGAIN},
        {"v = aten::to(x, 7)", DPI_VIEW_PERHAPS},
        {"v = aten::flatten(x)", DPI_VIEW_PERHAPS},
        {"v = aten::expand(x, [4, 3])", DPI_VIEW_EXPANDED},
        {"v = aten::unfold(x, 0, 2, 1)", DPI_VIEW_OTHER},
    };
    char text[200];

    for (size_t i = 0; i < DPI_COUNT(cases); i++) {
        snprintf(text, sizeof(text), "in x Tensor\n%s\nout v v", cases[i].step);
        dp_program *p = read_program(text);
        int how = (int)dpi_view_of(p, &p->steps[0])->how;
        ck_assert_msg(how == cases[i].how, "%s: %d, not %d", cases[i].step, how, cases[i].how);
        dp_program_unref(p);
    }
}
END_TEST

UNIT_SUITE(graph_views)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, the_table_names_operators);
}
