/* test_entry.c -- entries that share the cells of their dispatch tables. */
#include "units.h"

static const dpi_entry *entry_of(const dpi_snapshot *s, const char *name)
{
    const dpi_entry *e = dpi_snapshot_find(s, name, strlen(name));

    ck_assert_msg(e != NULL, "%s: no entry", name);
    return e;
}

/* The kernels of a, b and c are for the same key; that of c has a flag, and d takes no tensor. */
START_TEST(entries_with_like_kernels_share_cells)
{
    static const dp_item defs[] = {REC_DEF("a(Tensor x) -> Tensor"),
                                   REC_DEF("b(Tensor x, int n) -> Tensor"),
                                   REC_DEF("c(Tensor x) -> Tensor"), REC_DEF("d(int n) -> int")};
    static const dp_item like[] = {REC_IMPL("a", rec_kernel), REC_IMPL("b", rec_kernel),
                                   REC_IMPL_FLAGS("c", rec_kernel, DP_FLAG_META),
                                   REC_IMPL("d", rec_kernel)};
    static const dp_block blocks[] = {
        REC_BLOCK(DP_BLOCK_LIBRARY, 1, "s", "", defs),
        REC_BLOCK(DP_BLOCK_IMPL, 10, "s", "CompositeExplicitAutograd", like),
        REC_PLAIN(DP_BLOCK_FALLBACK, 0, 30, "_", "AutogradCPU", rec_kernel)};
    const dp_key cpu_key = DP_KEY_OF(DP_F_Dense, DP_B_CPU);
    const dp_key grad_key = DP_KEY_OF(DP_F_AutogradFunctionality, DP_B_CPU);
    dp_registry *reg = rec_registry();
    dp_unit *u = rec_attach(reg, "like", blocks, 3);
    const dpi_snapshot *s = dpi_snapshot_get(reg);
    const dpi_entry *a = entry_of(s, "s::a"), *b = entry_of(s, "s::b");

    ck_assert_ptr_eq(a->cells, b->cells);
    ck_assert_ptr_ne(a->cells, entry_of(s, "s::c")->cells);
    ck_assert_ptr_ne(a->cells, entry_of(s, "s::d")->cells);
    ck_assert_ptr_ne(dpi_entry_cell(a, cpu_key).kernel, dpi_entry_cell(b, cpu_key).kernel);
    ck_assert_ptr_eq(dpi_entry_cell(b, cpu_key).kernel, b->composite);
    ck_assert_ptr_nonnull(dpi_entry_cell(a, grad_key).kernel);
    ck_assert_ptr_eq(dpi_entry_cell(a, grad_key).kernel, dpi_entry_cell(b, grad_key).kernel);
    rec_check(reg);
    dpi_snapshot_put(s);
    rec_detach(reg, u);
    rec_check(reg);
    dp_registry_free(reg);
}
END_TEST

UNIT_SUITE(entry)
{
    tcase_add_test(tc, entries_with_like_kernels_share_cells);
}
