/* test_limits.c -- the limits in force: defaults, what options and the system change, and too few
 * descriptors. */
#include "options.h"
#include "unit.h"
#include <string.h>
#include <sys/resource.h>

static options o;
static int64_t limits[LIMITS];
static dp_error err;

static void setup(void)
{
    o = (options){.serve_fd = -1};
    for (int i = 0; i < LIMITS; i++)
        o.limits[i] = -1;
    o.limits[LIMIT_AT_LINE_BYTES] = 5000;
    o.limits[LIMIT_AT_ATTACHMENT_BYTES] = 0;
    dp_error_clear(&err);
}

static void teardown(void)
{
    limits_apply(limit_defaults);
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
    ck_assert_int_eq(limits_compute(&o, limits, &err), 0);
    ck_assert_int_eq(limits[LIMIT_AT_LINE_BYTES], 5000);
    ck_assert_int_eq(limits[LIMIT_AT_ATTACHMENT_BYTES], 0);
    ck_assert_int_eq(limits[LIMIT_AT_BATCH], LIMIT_BATCH);
    ck_assert_int_gt(limits[LIMIT_AT_SESSION_TENSOR_BYTES], 0); /* half of memory */
    ck_assert_int_eq(limits[LIMIT_AT_UID_BYTES], 2 * limits[LIMIT_AT_SESSION_TENSOR_BYTES]);
    o.session_bytes = 7000;
    ck_assert_int_eq(limits_compute(&o, limits, &err), 0);
    ck_assert_int_eq(limits[LIMIT_AT_SESSION_TENSOR_BYTES], 7000);
    ck_assert_int_eq(limits[LIMIT_AT_SESSION_INTERMEDIATE_BYTES], 7000);
    o.limits[LIMIT_AT_SESSION_TENSOR_BYTES] = 8000; /* says more than --session-bytes */
    ck_assert_int_eq(limits_compute(&o, limits, &err), 0);
    ck_assert_int_eq(limits[LIMIT_AT_SESSION_TENSOR_BYTES], 8000);
    ck_assert_int_eq(limits[LIMIT_AT_SESSION_INTERMEDIATE_BYTES], 7000);
    ck_assert_int_eq(LIMIT(LINE_BYTES), LIMIT_LINE_BYTES);
    limits_apply(limits);
    ck_assert_int_eq(LIMIT(LINE_BYTES), 5000);
}
END_TEST

START_TEST(few_descriptors_are_few_connections)
{
    allow_descriptors(100);
    ck_assert_int_eq(limits_compute(&o, limits, &err), 0);
    ck_assert_int_eq(limits[LIMIT_AT_CONNECTIONS], 18); /* 64 are kept for files */
    ck_assert_int_eq(limits[LIMIT_AT_UID_MEMFDS], 4);
    ck_assert_int_eq(limits[LIMIT_AT_UID_MAPS], 4);
    ck_assert_int_eq(limits[LIMIT_AT_UID_CONNECTIONS], 4); /* of 18, so that others find places */
    o.limits[LIMIT_AT_CONNECTIONS] = 10;
    o.limits[LIMIT_AT_UID_MEMFDS] = 1000;
    ck_assert_int_eq(limits_compute(&o, limits, &err), 0);
    ck_assert_int_eq(limits[LIMIT_AT_CONNECTIONS], 10);
    ck_assert_int_eq(limits[LIMIT_AT_UID_CONNECTIONS], 2);
    ck_assert_int_eq(limits[LIMIT_AT_UID_SESSIONS], LIMIT_UID_SESSIONS);
    o.limits[LIMIT_AT_SESSIONS] = 20;
    ck_assert_int_eq(limits_compute(&o, limits, &err), 0);
    ck_assert_int_eq(limits[LIMIT_AT_UID_SESSIONS], 5);
    ck_assert_int_eq(limits[LIMIT_AT_UID_MEMFDS], 1000); /* the operator knows better */
    o.limits[LIMIT_AT_UID_CONNECTIONS] = 9;
    o.limits[LIMIT_AT_CONNECTIONS] = 2;
    ck_assert_int_eq(limits_compute(&o, limits, &err), 0);
    ck_assert_int_eq(limits[LIMIT_AT_UID_CONNECTIONS], 9);
    o.limits[LIMIT_AT_UID_CONNECTIONS] = -1;
    ck_assert_int_eq(limits_compute(&o, limits, &err), 0);
    ck_assert_int_eq(limits[LIMIT_AT_UID_CONNECTIONS], 1);
    allow_descriptors(66);
    ck_assert_int_eq(limits_compute(&o, limits, &err), DP_ERESOURCE);
    ck_assert_ptr_nonnull(strstr(err.message, "(ulimit -n) is 66, at least 67 are needed"));
}
END_TEST

/* A limit without a range, or with a wrong one, could not be set to its own default. */
START_TEST(defaults_are_in_their_ranges)
{
    static const char *const fixed[] = {"descriptors", "sync_failed", "workers", "dimensions"};
    size_t n_fixed = 0;

    for (size_t i = 0; i < LIMITS; i++) {
        limit_range r = limits_range(i);
        if (r.high == 0) {
            bool known = false;
            for (size_t k = 0; k < sizeof(fixed) / sizeof(fixed[0]); k++)
                known = known || strcmp(fixed[k], limit_names[i]) == 0;
            ck_assert_msg(known, "%s has no range in limits.c", limit_names[i]);
            n_fixed++;
            continue;
        }
        ck_assert_msg(r.low <= limit_defaults[i] && limit_defaults[i] <= r.high, "%s",
                      limit_names[i]);
    }
    ck_assert_uint_eq(n_fixed, sizeof(fixed) / sizeof(fixed[0]));
}
END_TEST

UNIT_SUITE(server_limits)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, options_change_limits);
    tcase_add_test(tc, few_descriptors_are_few_connections);
    tcase_add_test(tc, defaults_are_in_their_ranges);
}
