/* test_listen.c -- who is told of definitions and changes. */
#include "../calls.h"

static int listened_defs, listened_undefs, listened_changes;
static void on_def(void *arg, const char *op)
{
    (void)arg, (void)op;
    listened_defs++;
}
static void on_undef(void *arg, const char *op)
{
    (void)arg, (void)op;
    listened_undefs++;
}
static void on_change(void *arg, const char *plugin, uint64_t generation, uint32_t added,
                      uint32_t removed)
{
    (void)arg, (void)plugin, (void)generation, (void)added, (void)removed;
    listened_changes++;
}

START_TEST(registry_tells_its_listeners)
{
    dp_listener l = {.defined = on_def, .undefined = on_undef, .changed = on_change};
    dp_item items[1] = {REC_DEF("extra() -> ()")};
    dp_block block = REC_BLOCK(DP_BLOCK_FRAGMENT, __LINE__, "t", "", items);
    dp_unit *u = NULL;

    ck_assert_int_eq(dp_registry_listen(reg, &l, &err), 0);
    ck_assert_int_eq(listened_defs, 2);
    ck_assert_int_eq(dp_registry_attach(reg, "extra", "1", &block, 1, &u, &err), 0);
    ck_assert_int_eq(listened_defs, 3);
    detach(u);
    ck_assert_int_eq(listened_undefs, 1);
    ck_assert_int_eq(listened_changes, 2);
    dp_registry_unlisten(reg, &l);
}
END_TEST

UNIT_SUITE(listen)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, registry_tells_its_listeners);
}
