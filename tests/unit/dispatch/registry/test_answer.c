/* test_answer.c -- answers: copies in the asker's arena, and a failure that sticks. */
#include "dispatch/registry/answer.h"
#include "unit.h"

START_TEST(answer_copies_what_it_says)
{
    dpi_answer a = {dp_arena_new(), false};
    dpi_generation gen = {.number = 7, .plugin = "cpu"};
    dpi_kernel kernel = {.gen = &gen, .file = "mm.c", .line = 12};
    dp_provenance from = dpi_answer_cell(&a, (dpi_cell){&kernel, DPI_P_KERNEL});

    gen.plugin[0] = 'x';
    ck_assert_str_eq(from.plugin, "cpu");
    ck_assert_str_eq(from.file, "mm.c");
    ck_assert_uint_eq(from.line, 12);
    ck_assert_uint_eq(from.generation, 7);
    ck_assert_str_eq(dpi_answer_cell(&a, (dpi_cell){NULL, DPI_P_FALLTHROUGH}).plugin, "(built in)");
    ck_assert_ptr_null(dpi_answer_cell(&a, (dpi_cell){NULL, DPI_P_MISSING}).plugin);
    ck_assert_ptr_null(dpi_answer_str(&a, NULL));
    ck_assert_str_eq(dpi_answer_printf(&a, "%d of %s", 3, "x"), "3 of x");
    ck_assert(!a.failed);
    dp_arena_free(a.arena);
}
END_TEST

START_TEST(answer_without_memory_stays_failed)
{
    dpi_answer a = {dp_arena_new(), false};

    dp_fault_arm(1);
    void *big = dpi_answer_alloc(&a, 1 << 20, 8);
    dp_fault_arm(0);
    ck_assert_ptr_null(big);
    ck_assert(a.failed);
    ck_assert_ptr_nonnull(dpi_answer_str(&a, "later"));
    ck_assert(a.failed);
    dp_arena_free(a.arena);
}
END_TEST

UNIT_SUITE(answer)
{
    tcase_add_test(tc, answer_copies_what_it_says);
    tcase_add_test(tc, answer_without_memory_stays_failed);
}
