/* test_maps.c -- numbers of a connection's shared memory: one for each memfd, never used twice. */
#define _GNU_SOURCE
#include "options.h"
#include "session.h"
#include "unit.h"
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static sessions all;
static struct session *session;
static user *u;
static dp_error err;

static void setup(void)
{
    sessions_init(&all, limit_defaults);
    session = session_new(&all, &err);
    ck_assert_ptr_nonnull(session);
    u = session_user(session);
}

static void teardown(void)
{
    ck_assert_uint_eq(u->n_maps, 0);
    session_leave(session);
    sessions_fini(&all);
}

static dp_shared *adopted(void)
{
    dp_shared *s = NULL;
    int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    ck_assert_int_eq(ftruncate(fd, 100), 0);
    ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    ck_assert_int_eq(dp_shared_adopt(fd, NULL, &s, &err), 0);
    close(fd);
    return s;
}

START_TEST(memory_keeps_its_number_until_it_is_released)
{
    maps *m = NULL;
    dp_shared *a = adopted(), *b = adopted();
    bool fresh = false;

    ck_assert(!maps_release(m, 1));
    ck_assert_ptr_null(maps_get(m, 1));
    ck_assert_uint_eq(maps_put(&m, u, a, &fresh, &err), 1);
    ck_assert(fresh);
    ck_assert_uint_eq(maps_put(&m, u, b, &fresh, &err), 2);
    ck_assert_uint_eq(maps_put(&m, u, a, &fresh, &err), 1);
    ck_assert(!fresh);
    ck_assert_uint_eq(maps_bytes(m), 200);
    ck_assert(maps_release(m, 1));
    ck_assert(!maps_release(m, 1));
    ck_assert_ptr_null(maps_get(m, 1));
    ck_assert_ptr_eq(maps_get(m, 2), b);
    ck_assert_uint_eq(maps_put(&m, u, a, &fresh, &err), 3);
    dp_shared_unref(a);
    dp_shared_unref(b);
    maps_free(m);
}
END_TEST

START_TEST(maps_are_limited)
{
    maps *m = NULL;
    dp_shared *s[LIMIT_MAPS + 1];
    bool fresh;

    for (int i = 0; i <= LIMIT_MAPS; i++)
        s[i] = adopted();
    for (int i = 0; i < LIMIT_MAPS; i++)
        ck_assert_uint_ne(maps_put(&m, u, s[i], &fresh, &err), 0);
    ck_assert_uint_eq(maps_put(&m, u, s[LIMIT_MAPS], &fresh, &err), 0);
    ck_assert_int_eq(err.code, DP_ERESOURCE);
    ck_assert_uint_ne(maps_put(&m, u, s[0], &fresh, &err), 0);
    for (int i = 0; i <= LIMIT_MAPS; i++)
        dp_shared_unref(s[i]);
    maps_free(m);
}
END_TEST

START_TEST(maps_of_a_uid_are_limited)
{
    maps *m = NULL, *second = NULL;
    dp_shared *s[3] = {adopted(), adopted(), adopted()};
    int64_t limits[LIMITS];
    bool fresh;

    memcpy(limits, limit_defaults, sizeof(limits));
    limits[LIMIT_AT_UID_MAPS] = 2;
    limits_apply(limits);
    ck_assert_uint_eq(maps_put(&m, u, s[0], &fresh, &err), 1);
    ck_assert_uint_eq(maps_put(&second, u, s[1], &fresh, &err), 1);
    ck_assert_uint_eq(maps_put(&second, u, s[2], &fresh, &err), 0);
    ck_assert_ptr_nonnull(
        strstr(err.message, " has 2 maps; release some by map.release (uid_maps)"));
    ck_assert_uint_eq(maps_put(&second, u, s[1], &fresh, &err), 1); /* it has a number already */
    ck_assert(maps_release(m, 1));
    ck_assert_uint_eq(maps_put(&second, u, s[2], &fresh, &err), 2);
    ck_assert_uint_eq(u->n_maps, 2);
    for (int i = 0; i < 3; i++)
        dp_shared_unref(s[i]);
    maps_free(m);
    maps_free(second);
    limits_apply(limit_defaults);
}
END_TEST

START_TEST(maps_at_the_nth_allocation_that_fails)
{
    uint64_t number = 0;

    for (int n = 1; number == 0; n++) {
        maps *m = NULL;
        bool fresh;
        dp_shared *s = adopted();
        dp_fault_arm((uint64_t)n);
        number = maps_put(&m, u, s, &fresh, &err);
        dp_fault_arm(0);
        ck_assert(number != 0 || err.code == DP_ERESOURCE);
        dp_shared_unref(s);
        maps_free(m);
        ck_assert_int_lt(n, 10);
    }
}
END_TEST

UNIT_SUITE(daemon_maps)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, memory_keeps_its_number_until_it_is_released);
    tcase_add_test(tc, maps_are_limited);
    tcase_add_test(tc, maps_of_a_uid_are_limited);
    tcase_add_test(tc, maps_at_the_nth_allocation_that_fails);
}
