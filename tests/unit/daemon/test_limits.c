/* test_limits.c -- the limits in force: defaults, what options and the system change, and too few
 * descriptors. */
#include "server.h"
#include "unit.h"
#include <string.h>
#include <sys/resource.h>

static server s;
static options o;
static dp_error err;

static void setup(void)
{
    o = (options){.max_line = 5000, .max_attachment = 6000};
    memset(&s, 0, sizeof(s));
    s.options = &o;
}

/* As if `ulimit -n` said so many. */
static void allow_descriptors(rlim_t n)
{
    struct rlimit r;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &r), 0);
    r.rlim_cur = n;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &r), 0);
}

START_TEST(options_change_limits)
{
    limits_init(&s);
    ck_assert_int_eq(s.limits[LIMIT_AT_LINE_BYTES], 5000);
    ck_assert_int_eq(s.limits[LIMIT_AT_ATTACHMENT_BYTES], 6000);
    ck_assert_int_eq(s.limits[LIMIT_AT_BATCH], LIMIT_BATCH);
    ck_assert_int_gt(s.limits[LIMIT_AT_SESSION_TENSOR_BYTES], 0); /* half of memory */
    o.session_bytes = 7000;
    limits_init(&s);
    ck_assert_int_eq(s.limits[LIMIT_AT_SESSION_TENSOR_BYTES], 7000);
    ck_assert_int_eq(s.limits[LIMIT_AT_SESSION_INTERMEDIATE_BYTES], 7000);
}
END_TEST

START_TEST(few_descriptors_are_few_connections)
{
    allow_descriptors(100);
    limits_init(&s);
    ck_assert_int_eq(s.limits[LIMIT_AT_CONNECTIONS], 36); /* 64 are kept for files */
    ck_assert_int_eq(limits_check(&s, &err), 0);
    allow_descriptors(65);
    limits_init(&s);
    ck_assert_int_eq(limits_check(&s, &err), DP_ERESOURCE);
    ck_assert_ptr_nonnull(strstr(err.message, "(ulimit -n) is 65, at least 66 are needed"));
}
END_TEST

UNIT_SUITE(server_limits)
{
    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_test(tc, options_change_limits);
    tcase_add_test(tc, few_descriptors_are_few_connections);
}
