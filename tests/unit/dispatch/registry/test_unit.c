/* test_unit.c -- units with many backends. */
#include "../calls.h"

START_TEST(registry_forty_backends_at_once)
{
    enum { N = DP_B_NAMED_MAX };
    dp_unit *u[N + 1] = {NULL};
    char names[N + 1][16];
    dp_block block = REC_PLAIN(DP_BLOCK_BACKEND, 0, 1, NULL, "", NULL);

    attach_as("cpu", "CPU", first, NULL, 0);
    for (int i = 0; i <= N; i++) {
        snprintf(names[i], sizeof(names[i]), "dev%d", i);
        block.ns = names[i];
        int rc = dp_registry_attach(reg, names[i], "1", &block, 1, &u[i], &err);
        ck_assert_msg(rc == (i < N ? 0 : DP_ERESOURCE), "%d: %d %s", i, rc, err.message);
        expect_tensor(a);
    }
    dp_unit *last = attach_as("users", "dev39", second, NULL, 0);
    ck_assert_msg(last != NULL, "%s", err.message);
    ck_assert_int_eq(dp_registry_detach(reg, u[39], 0, &err), DP_EBUSY);
    detach(last);
    for (int i = 0; i < N; i++)
        detach(u[i]);
    ck_assert_uint_eq(dp_key_parse("dev39"), DP_KEY_Undefined);
    expect_tensor(a);
}
END_TEST

UNIT_SUITE(registry_unit)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, registry_forty_backends_at_once);
}
