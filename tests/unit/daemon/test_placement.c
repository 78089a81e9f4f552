/* test_placement.c -- work moves to the loop's thread after enough short runs, and away after a
 * long one. */
#include "placement.h"
#include "unit.h"

enum { CALLS = 16, SHORT_NS = 1000, LONG_NS = 2 * 1000 * 1000 };

static placement pl;
static dp_registry *reg;
static dp_error err;
static const work kernel = {.kernel = 77, .op = "t::f", .bytes = 100, .asked = 1};
static const work other_size = {.kernel = 77, .op = "t::f", .bytes = 1 << 20, .asked = 1};
static const work method_work = {.kernel = 99, .bytes = 100, .asked = 1, .method = "tensor.read"};

static void setup(void)
{
    ck_assert_int_eq(dp_registry_new(&reg, &err), 0);
    ck_assert_int_eq(placement_init(&pl, reg, &err), 0);
}

static void teardown(void)
{
    placement_fini(&pl);
    dp_registry_free(reg);
}

/* The work ran n times, for so long each time. */
static void ran(const work *w, int n, uint64_t nanos_each, bool on_loop)
{
    static const dp_call_stats one_call = {.n_calls = 1};
    job j = {.work = *w, .spent = nanos_each, .on_loop = on_loop};

    for (int i = 0; i < n; i++)
        placement_note(&pl, &j, &one_call);
}

START_TEST(a_kernel_is_proven_by_short_calls)
{
    ck_assert(!placement_proven(&pl, &kernel));
    ran(&kernel, CALLS - 1, SHORT_NS, false);
    ck_assert(!placement_proven(&pl, &kernel));
    ran(&kernel, 1, SHORT_NS, false);
    ck_assert(placement_proven(&pl, &kernel));
    ck_assert(!placement_proven(&pl, &other_size));
}
END_TEST

START_TEST(a_long_call_begins_the_count_anew)
{
    ran(&kernel, CALLS - 1, SHORT_NS, false);
    ran(&kernel, 1, LONG_NS, false);
    ran(&kernel, 1, SHORT_NS, false);
    ck_assert(!placement_proven(&pl, &kernel));
    ran(&kernel, CALLS - 1, SHORT_NS, false);
    ck_assert(placement_proven(&pl, &kernel));
}
END_TEST

START_TEST(a_long_call_on_the_loop_asks_for_more)
{
    ran(&kernel, CALLS, SHORT_NS, false);
    ran(&kernel, 1, LONG_NS, true);
    ck_assert(!placement_proven(&pl, &kernel));
    ck_assert_uint_eq(atomic_load(&pl.demotions), 1);
    ran(&kernel, CALLS, SHORT_NS, false);
    ck_assert(!placement_proven(&pl, &kernel));
    ran(&kernel, 15 * CALLS, SHORT_NS, false);
    ck_assert(placement_proven(&pl, &kernel));
}
END_TEST

START_TEST(a_method_is_trusted_from_the_start)
{
    ck_assert(placement_proven(&pl, &method_work));
    ran(&method_work, 1, LONG_NS, false); /* its thread may have waited for a core */
    ck_assert(placement_proven(&pl, &method_work));
    ran(&method_work, 1, LONG_NS, true);
    ck_assert(!placement_proven(&pl, &method_work));
}
END_TEST

START_TEST(a_call_that_calls_others_proves_nothing)
{
    static const dp_call_stats calls = {.n_calls = 3};
    job j = {.work = kernel, .spent = SHORT_NS};

    for (int i = 0; i < 2 * CALLS; i++)
        placement_note(&pl, &j, &calls);
    ck_assert(!placement_proven(&pl, &kernel));
}
END_TEST

UNIT_SUITE(placement)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_kernel_is_proven_by_short_calls);
    tcase_add_test(tc, a_long_call_begins_the_count_anew);
    tcase_add_test(tc, a_long_call_on_the_loop_asks_for_more);
    tcase_add_test(tc, a_method_is_trusted_from_the_start);
    tcase_add_test(tc, a_call_that_calls_others_proves_nothing);
}
