/* test_check.c -- violations that a check finds. */
#include "asked.h"

/* How the current snapshot of t::f.a is broken, and what check must say. */
static void wrong_cell(dpi_entry *e)
{
    e->table[dpi_key_slot(DP_KEY_OF(DP_F_Dense, DP_B_CPU))] = DPI_CELL_MISSING;
}
static void wrong_provenance(dpi_entry *e)
{
    e->provenance[0] = DPI_P_MATH;
}
static void wrong_mask(dpi_entry *e)
{
    e->mask[3] ^= DPI_BIT(Tracer);
}
static void wrong_even_mask(dpi_entry *e)
{
    e->mask[2] ^= DPI_BIT(Tracer);
}
static void wrong_schema(dpi_entry *e)
{
    e->schema = NULL;
}
static void wrong_room(dpi_entry *e)
{
    e->n_slots = DPI_SLOTS(0);
}

static const struct {
    void (*harm)(dpi_entry *e);
    const char *says;
} broken[] = {
    {wrong_cell, "t::f.a: table of CPU says kernel (:0), its registrations say kernel (t.c:22)"},
    {wrong_provenance, "t::f.a: table of Undefined says math kernel"},
    {wrong_mask,
     "t::f.a: Tracer is passed over by its table, but kept by its mask with the skip bit"},
    {wrong_even_mask,
     "t::f.a: Tracer is passed over by its table, but kept by its mask without the skip bit"},
    {wrong_schema, "t::f.a: the snapshot's schema is not the one defined"},
    {wrong_room, "t::f.a: its table has no room for backend npu"},
};

START_TEST(check_names_what_is_wrong)
{
    const dpi_snapshot *s = dpi_snapshot_get(reg);
    const char *const *lines = NULL;
    size_t n = 0;

    rec_check(reg);
    dpi_entry *e = (dpi_entry *)(uintptr_t)dpi_snapshot_find(s, "t::f.a", strlen("t::f.a"));
    dpi_entry good = *e;
    uint16_t table[DPI_SLOTS_MAX];
    uint8_t provenance[DPI_SLOTS_MAX];
    memcpy(table, e->table, e->n_slots * sizeof(*table));
    memcpy(provenance, e->provenance, e->n_slots);
    const uint64_t masks[] = {e->mask[2], e->mask[3]};

    broken[_i].harm(e);
    ck_assert_int_eq(dp_registry_check(reg, arena, &lines, &n, &err), 0);
    *e = good;
    memcpy(e->table, table, e->n_slots * sizeof(*table));
    memcpy(e->provenance, provenance, e->n_slots);
    memcpy(&e->mask[2], masks, sizeof(masks));
    dpi_snapshot_put(s);
    ck_assert_uint_gt(n, 0);
    ck_assert_msg(strstr(lines[0], broken[_i].says) == lines[0], "'%s' is not '%s'", lines[0],
                  broken[_i].says);
    rec_check(reg);
}
END_TEST

UNIT_SUITE(registry_check)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, check_names_what_is_wrong, 0, DPI_COUNT(broken));
}
