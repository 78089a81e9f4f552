/* test_elf.c -- files that end too early. */
#define _GNU_SOURCE /* pthread_tryjoin_np */
#include "loaded.h"

START_TEST(plugin_truncated_file_is_refused)
{
    void *bytes;
    size_t n;
    state before = now();

    OK(dpi_file_read(built("plugins/template"), &bytes, &n, &err));
    for (size_t keep = 0; keep < n; keep += n / 64) {
        int rc = load(file_of(bytes, keep));
        if (rc == 0) /* what is missing is debug information only */
            OK(unload("template"));
        else
            ck_assert_msg(rc == DP_EPLUGIN, "%zu bytes gave %d: %s", keep, rc, err.message);
    }
    dp_free(bytes);
    state after = now();
    same(&before, &after);
}
END_TEST

UNIT_SUITE(elf)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, plugin_truncated_file_is_refused);
}
