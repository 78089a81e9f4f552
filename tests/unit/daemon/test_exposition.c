/* test_exposition.c -- metrics as text: escapes, numbers, histograms, memory that runs out. */
#include "exposition.h"
#include "daemon.h"
#include "unit.h"
#include <string.h>

static exposition e;

static void teardown(void)
{
    exposition_fini(&e);
}

static void wrote(const char *want)
{
    ck_assert(!e.failed);
    ck_assert_msg(e.len == strlen(want) && memcmp(e.s, want, e.len) == 0, "got %.*s", (int)e.len,
                  e.s);
}

START_TEST(help_and_type_come_once)
{
    exposition_metric(&e, "unused", "gauge", "No sample follows.");
    exposition_metric(&e, "x_total", "counter", "All of x.");
    exposition_count(&e, NULL, 0, 3);
    exposition_count(&e, &(exposition_label){"a", "b"}, 1, UINT64_MAX);
    wrote("# HELP x_total All of x.\n# TYPE x_total counter\nx_total 3\n"
          "x_total{a=\"b\"} 18446744073709551615\n");
}
END_TEST

START_TEST(values_of_labels_are_escaped)
{
    const exposition_label labels[] = {
        {"a", "x\"y"}, {"left_out", NULL}, {"b", "\\"}, {"c", "1\n2\n"}, {"d", ""}};

    exposition_metric(&e, "x", "gauge", "Help.");
    exposition_count(&e, labels, 5, 0);
    wrote("# HELP x Help.\n# TYPE x gauge\n"
          "x{a=\"x\\\"y\",b=\"\\\\\",c=\"1\\n2\\n\",d=\"\"} 0\n");
}
END_TEST

START_TEST(seconds_have_no_needless_zeros)
{
    static const struct {
        uint64_t nanos;
        const char *text;
    } cases[] = {{0, "0"},          {1, "0.000000001"},  {300000, "0.0003"},
                 {1000000000, "1"}, {10000000000, "10"}, {12345678901, "12.345678901"}};
    char want[128];

    exposition_metric(&e, "x", "gauge", "Help.");
    exposition_seconds(&e, NULL, 0, cases[_i].nanos);
    snprintf(want, sizeof(want), "# HELP x Help.\n# TYPE x gauge\nx %s\n", cases[_i].text);
    wrote(want);
}
END_TEST

START_TEST(buckets_of_a_histogram_are_cumulative)
{
    const uint64_t bounds[] = {1000, 1000000}, buckets[] = {2, 0, 1};

    exposition_metric(&e, "x_seconds", "histogram", "Help.");
    exposition_histogram(&e, &(exposition_label){"a", "b"}, 1, bounds, 2, buckets, 2000000500);
    wrote("# HELP x_seconds Help.\n# TYPE x_seconds histogram\n"
          "x_seconds_bucket{a=\"b\",le=\"0.000001\"} 2\nx_seconds_bucket{a=\"b\",le=\"0.001\"} 2\n"
          "x_seconds_bucket{a=\"b\",le=\"+Inf\"} 3\nx_seconds_sum{a=\"b\"} 2.0000005\n"
          "x_seconds_count{a=\"b\"} 3\n");
}
END_TEST

START_TEST(without_memory)
{
    bool hit = true;

    for (uint64_t n = 1; hit; n++) {
        dp_fault_arm(n);
        exposition_metric(&e, "x", "gauge", "Help.");
        for (int i = 0; i < 5000; i++)
            exposition_count(&e, &(exposition_label){"a", "0123456789"}, 1, 1);
        hit = dp_fault_hit();
        dp_fault_arm(0);
        ck_assert_int_eq(e.failed, hit);
        exposition_fini(&e);
    }
}
END_TEST

UNIT_SUITE(exposition)
{
    tcase_add_checked_fixture(tc, NULL, teardown);
    tcase_add_test(tc, help_and_type_come_once);
    tcase_add_test(tc, values_of_labels_are_escaped);
    tcase_add_loop_test(tc, seconds_have_no_needless_zeros, 0, 6);
    tcase_add_test(tc, buckets_of_a_histogram_are_cumulative);
    tcase_add_test(tc, without_memory);
}
