/* test_table.c -- which kernel a key gets. */
#include "units.h"

static void expect_line(dp_registry *reg, const char *key, uint32_t line)
{
    dp_arena *a = dp_arena_new();
    dp_error err = DP_ERROR_INIT;
    dp_op_info op;
    const dp_cell_info *cell = NULL;
    dp_key want = dp_key_parse(key);

    rec_check(reg);
    ck_assert_msg(dp_registry_describe(reg, "t::bar.two", a, &op, &err) == 0, "%s", err.message);
    for (uint32_t i = 0; i < op.n_cells; i++)
        if (op.cells[i].key == want)
            cell = &op.cells[i];
    ck_assert_msg(cell != NULL, "no cell for %s", key);
    uint32_t have = cell->kernel ? cell->kernel->from.line : 0;
    ck_assert_msg(have == line, "%s: line %u, want %u", key, have, line);
    ck_assert_str_eq(cell->provenance, line == 0    ? "missing"
                                       : line == 10 ? "kernel"
                                                    : "backend fallback");
    dp_arena_free(a);
}

START_TEST(a_fallback_of_a_functionality_serves_every_backend)
{
    static const dp_block all[] = {REC_PLAIN(DP_BLOCK_FALLBACK, 0, 60, "_", "Dense", rec_kernel)},
                          cuda[] = {REC_PLAIN(DP_BLOCK_FALLBACK, 0, 61, "_", "CUDA", rec_kernel)},
                          own[] = {REC_PLAIN(DP_BLOCK_BACKEND, 0, 62, "npu", "", NULL),
                                   REC_PLAIN(DP_BLOCK_FALLBACK, 0, 63, "_", "npu", rec_kernel)},
                          later[] = {REC_PLAIN(DP_BLOCK_BACKEND, 0, 64, "abc", "", NULL)};
    dp_registry *reg = rec_registry();
    dp_error err = DP_ERROR_INIT;
    dp_unit *second = NULL;

    rec_attach(reg, unit[0].name, unit[0].blocks, unit[0].n);
    rec_attach(reg, "cpu", unit1, 1);
    dp_unit *of_all = rec_attach(reg, "all", all, 1), *one = rec_attach(reg, "cuda", cuda, 1);
    rec_attach(reg, "own", own, 2);
    rec_attach(reg, "later", later, 1);
    expect_line(reg, "CPU", 10);
    expect_line(reg, "Meta", 60);
    expect_line(reg, "XLA", 60);
    expect_line(reg, "CUDA", 61);
    expect_line(reg, "npu", 63);
    expect_line(reg, "abc", 60);
    expect_line(reg, "Sparseabc", 0);
    ck_assert_int_eq(dp_registry_attach(reg, "twice", "1", all, 1, &second, &err), DP_EEXISTS);
    ck_assert_msg(strstr(err.message, "fallback for 'Dense' at t.c:60: already there") != NULL,
                  "%s", err.message);
    char *dump = rec_dump(reg);
    ck_assert_msg(strstr(dump, "  Dense: all t.c:60") != NULL, "%s", dump);
    free(dump);
    rec_detach(reg, one);
    expect_line(reg, "CUDA", 60);
    rec_detach(reg, of_all);
    expect_line(reg, "CUDA", 0);
    expect_line(reg, "npu", 63);
    expect_line(reg, "abc", 0);
    dp_registry_free(reg);
}
END_TEST

/* As in PyTorch: TORCH_LIBRARY_IMPL(t, Undefined, m) is the catch-all. */
START_TEST(kernels_for_undefined_are_composite_implicit_ones)
{
    static const dp_item named[] = {REC_IMPL("t::foo", rec_kernel)};
    static const dp_block undefined = REC_BLOCK(DP_BLOCK_IMPL, 10, "t", "Undefined", cpu),
                          composite =
                              REC_BLOCK(DP_BLOCK_IMPL, 10, "t", "CompositeImplicitAutograd", cpu),
                          whole = REC_BLOCK(DP_BLOCK_IMPL, 60, "t", "CPU", named);
    dp_registry *reg = rec_registry();

    rec_attach(reg, "definer", unit0, 1);
    dp_unit *u = rec_attach(reg, "all", &composite, 1);
    char *want = rec_dump(reg);
    rec_detach(reg, u);
    rec_detach(reg, rec_attach(reg, "whole", &whole, 1)); /* its namespace may be said again */
    rec_attach(reg, "all", &undefined, 1);
    rec_check(reg);
    rec_same(reg, want);
    dp_registry_free(reg);
}
END_TEST

UNIT_SUITE(table)
{
    tcase_add_test(tc, a_fallback_of_a_functionality_serves_every_backend);
    tcase_add_test(tc, kernels_for_undefined_are_composite_implicit_ones);
}
