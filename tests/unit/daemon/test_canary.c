/* test_canary.c -- how the calls of a canary are counted, and when it serves no more. */
#include "server.h"
#include "unit.h"

static server s;
static shadow_call call;

static void begin(void)
{
    memset(&s, 0, sizeof(s));
    shadow_init(&s.shadow);
    s.shadow.stopping = true; /* no thread: nobody rolls the canary back */
    canary_init(&s.canary, &s);
    s.canary.report =
        (canary_report){.state = CANARY_RUNS, .plugin = "trial", .generation = 7, .differences = 2};
    call = (shadow_call){.judge = &s.canary.judge, .canary = 7};
}

static void end(void)
{
    shadow_fini(&s.shadow);
}

static void ended(const shadow_outcome *o)
{
    atomic_fetch_add(&s.canary.ahead, 1);
    call.judge->ended(call.judge, &call, o);
    ck_assert_uint_eq(atomic_load(&s.canary.ahead), 0);
}

static void counted(uint64_t compared, uint64_t differs, canary_state state)
{
    ck_assert_uint_eq(s.canary.report.compared, compared);
    ck_assert_uint_eq(s.canary.report.differs, differs);
    ck_assert_int_eq(s.canary.report.state, state);
}

START_TEST(counts_what_was_compared)
{
    ended(&(shadow_outcome){0});
    counted(1, 0, CANARY_RUNS);
    ended(NULL);
    ended(&(shadow_outcome){.cancelled = true});
    ended(&(shadow_outcome){.failed = true, .code = DP_ERESOURCE});
    ended(&(shadow_outcome){.failed = true, .code = DP_EDEADLINE});
    counted(1, 0, CANARY_RUNS);
}
END_TEST

START_TEST(leaves_after_differences)
{
    atomic_store(&s.canary.chosen, true);
    ended(&(shadow_outcome){.differs = true, .what = "one"});
    counted(1, 1, CANARY_RUNS);
    ck_assert(atomic_load(&s.canary.chosen));
    ended(&(shadow_outcome){.failed = true, .code = DP_ETYPE, .what = "two"});
    counted(2, 2, CANARY_LEAVES);
    ck_assert(!atomic_load(&s.canary.chosen));
    ck_assert_ptr_nonnull(strstr(s.canary.report.why, "differs: two"));
    ended(&(shadow_outcome){.differs = true, .what = "three"});
    ck_assert_ptr_nonnull(strstr(s.canary.report.why, "differs: two"));
}
END_TEST

START_TEST(counts_no_calls_of_an_earlier_canary)
{
    atomic_store(&s.canary.chosen, true);
    call.canary = 6;
    for (int i = 0; i < 3; i++)
        ended(&(shadow_outcome){.differs = true, .what = "late"});
    counted(0, 0, CANARY_RUNS);
    ck_assert(atomic_load(&s.canary.chosen));
}
END_TEST

UNIT_SUITE(canary_counts)
{
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, counts_what_was_compared);
    tcase_add_test(tc, leaves_after_differences);
    tcase_add_test(tc, counts_no_calls_of_an_earlier_canary);
}
