/* test_generators.c -- a session's generators by handle: found, released, counted. */
#include "session.h"
#include "unit.h"

static sessions all;
static struct session *s;
static dp_error err;

static void setup(void)
{
    sessions_init(&all, limit_defaults);
    s = session_new(&all, &err);
    ck_assert_ptr_nonnull(s);
}

static void teardown(void)
{
    session_leave(s);
    sessions_fini(&all);
}

static uint64_t put(uint64_t seed)
{
    dp_generator *g = NULL;

    ck_assert_int_eq(dp_generator_new(DP_DEVICE_CPU, seed, &g, &err), 0);
    uint64_t id = session_generator_put(s, g, &err);
    ck_assert_uint_ne(id, 0);
    dp_generator_unref(g); /* the session holds one of its own */
    return id;
}

START_TEST(a_generator_is_found_until_it_is_released)
{
    uint64_t first = put(1), second = put(2);
    dp_generator *g = session_generator_get(s, first);

    ck_assert_uint_ne(first, second);
    ck_assert_uint_eq(dp_generator_initial_seed(g), 1);
    ck_assert(session_generator_release(s, first));
    ck_assert(!session_generator_release(s, first));
    ck_assert_ptr_null(session_generator_get(s, first));
    ck_assert_uint_eq(dp_generator_initial_seed(g), 1); /* who got it still holds it */
    dp_generator_unref(g);
    g = session_generator_get(s, second);
    ck_assert_uint_eq(dp_generator_initial_seed(g), 2);
    dp_generator_unref(g);
}
END_TEST

START_TEST(generators_are_charged_to_the_session)
{
    dp_usage held[DP_HOLDERS];
    uint64_t id = put(1);

    dp_account_usage(session_account(s), held);
    ck_assert_uint_eq(held[DP_HOLDER_GENERATORS].count, 1);
    ck_assert_uint_gt(held[DP_HOLDER_GENERATORS].bytes, 0);
    session_generator_release(s, id);
    dp_account_usage(session_account(s), held);
    ck_assert_uint_eq(held[DP_HOLDER_GENERATORS].count, 0);
    ck_assert_uint_eq(held[DP_HOLDER_GENERATORS].bytes, 0);
}
END_TEST

START_TEST(a_session_without_a_running_kernel_does_not_draw)
{
    put(1);
    ck_assert(!session_draws(s));
    ck_assert_ptr_nonnull(session_default_generators(s));
}
END_TEST

UNIT_SUITE(generators)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_generator_is_found_until_it_is_released);
    tcase_add_test(tc, generators_are_charged_to_the_session);
    tcase_add_test(tc, a_session_without_a_running_kernel_does_not_draw);
}
