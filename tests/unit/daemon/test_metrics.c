/* test_metrics.c -- counters of calls, requests and failures, by uid, and turns of the loop. */
#include "metrics.h"
#include "dispatch/call/bound.h"
#include "methods/methods.h"
#include "options.h"

enum { KERNELS = 3 };

static metrics m;
static dp_arena *arena;
static metric_copy copy;
static dp_unit *schemas, *kernels;
static dp_bound call;
static const metric_call none;

static const dp_item f_kernel[] = {REC_IMPL("f", rec_kernel)};
static const dp_block f_block[] = {REC_BLOCK(DP_BLOCK_IMPL, 7, "t", "CPU", f_kernel)};

static void begin_with(int64_t max_series)
{
    const dp_value self = dp_tensor_value(two);
    int64_t limits[LIMITS];
    dp_error err = DP_ERROR_INIT;

    memcpy(limits, limit_defaults, sizeof(limits));
    limits[LIMIT_AT_METRIC_SERIES] = max_series;
    limits_apply(limits);
    ck_assert_int_eq(metrics_init(&m, &err), 0);
    schemas = DEFINE("d", "f(Tensor x) -> Tensor");
    kernels = rec_attach(reg, "kernels", f_block, 1);
    ck_assert_int_eq(dp_bind(ctx, "t::f", &self, 1, NULL, 0, &call), 0);
    arena = dp_arena_new();
}

static void begin(void)
{
    setup();
    begin_with(KERNELS);
}

static void end(void)
{
    metrics_fini(&m);
    limits_apply(limit_defaults);
    dp_arena_free(arena);
    rec_detach(reg, kernels);
    rec_detach(reg, schemas);
    teardown();
}

static void reload(void)
{
    rec_detach(reg, kernels);
    kernels = rec_attach(reg, "kernels", f_block, 1);
}

static uint64_t generation_now(void)
{
    dp_kernel_origin from;

    dp_bound_origin(ctx, &call, &from);
    return from.generation;
}

static metric_call begun(void)
{
    metric_call c;

    metrics_begin(ctx, &call, dp_bound_kernel(ctx, &call), &c);
    ck_assert_uint_ne(c.from.id, 0);
    c.failed = false;
    c.nanos = 100;
    return c;
}

static void called(metric_table *own, bool failed)
{
    metric_call c = begun();

    c.failed = failed;
    metrics_call(&m, own, &c);
}

static void read_table(const metric_table *t)
{
    dp_error err = DP_ERROR_INIT;

    ck_assert_int_eq(metrics_copy(&m, t, arena, &copy, &err), 0);
}

static uint64_t calls_of(const metric_series *s)
{
    uint64_t n = 0;

    for (int i = 0; i < METRIC_BUCKETS; i++)
        n += s->times.buckets[i];
    return n;
}

START_TEST(a_call_is_counted_under_its_kernel)
{
    called(NULL, false);
    called(NULL, true);
    read_table(&m.all);
    ck_assert_uint_eq(copy.n_series, 1);
    ck_assert_str_eq(copy.series[0].op, "t::f");
    ck_assert_str_eq(copy.series[0].key, "CPU");
    ck_assert_str_eq(copy.series[0].plugin, "kernels");
    ck_assert_uint_eq(copy.series[0].generation, generation_now());
    ck_assert_uint_eq(calls_of(&copy.series[0]), 2);
    ck_assert_uint_eq(copy.series[0].errors, 1);
    ck_assert_uint_eq(copy.series[0].times.nanos, 200);
}
END_TEST

START_TEST(another_uid_has_figures_of_its_own)
{
    dp_error err = DP_ERROR_INIT;
    metric_table *own = metrics_table_new(&m, &err), *third = metrics_table_new(&m, &err);

    ck_assert(own != NULL && third != NULL);
    called(NULL, false);
    called(own, false);
    metrics_request(&m, own, 0, 1000, &none);
    read_table(own);
    ck_assert_uint_eq(copy.n_series, 1);
    ck_assert_uint_eq(calls_of(&copy.series[0]), 1);
    ck_assert_uint_eq(copy.methods[0].times.buckets[0], 1);
    read_table(third);
    ck_assert_uint_eq(copy.n_series, 0);
    metrics_table_free(own);
    metrics_table_free(third);
    ck_assert_ptr_null(m.foreign);
    read_table(&m.all);
    ck_assert_uint_eq(calls_of(&copy.series[0]), 2);
    ck_assert_uint_eq(copy.methods[0].times.buckets[0], 1);
}
END_TEST

START_TEST(generations_that_are_gone_are_folded)
{
    uint64_t live[1];

    for (int i = 0; i < 5; i++) {
        called(NULL, i == 0);
        reload();
        live[0] = generation_now();
        metrics_fold(&m, live, 1);
    }
    called(NULL, false);
    read_table(&m.all);
    ck_assert_uint_eq(copy.n_series, 2);
    ck_assert_uint_eq(copy.series[0].kernel, 0);
    ck_assert_uint_eq(calls_of(&copy.series[0]), 5);
    ck_assert_uint_eq(copy.series[0].errors, 1);
    ck_assert_uint_eq(calls_of(&copy.series[1]), 1);
    /* a call that ends when its generation is folded makes a series for it once more */
    metric_call running = begun();
    metrics_fold(&m, live, 0);
    read_table(&m.all);
    ck_assert_uint_eq(copy.n_series, 1);
    metrics_call(&m, NULL, &running);
    read_table(&m.all);
    ck_assert_uint_eq(copy.n_series, 2);
    ck_assert_str_eq(copy.series[1].plugin, "kernels");
    ck_assert_uint_eq(calls_of(&copy.series[1]), 1);
    metrics_fold(&m, live, 0);
    read_table(&m.all);
    ck_assert_uint_eq(copy.n_series, 1);
    ck_assert_uint_eq(calls_of(&copy.series[0]), 7);
}
END_TEST

START_TEST(calls_over_the_limit_are_one_series)
{
    for (int i = 0; i < KERNELS + 2; i++) {
        called(NULL, false);
        reload();
    }
    read_table(&m.all);
    ck_assert_uint_eq(copy.n_series, KERNELS);
    ck_assert_uint_eq(calls_of(&copy.over), 2);
    metrics_fold(&m, NULL, 0); /* which makes room again */
    called(NULL, false);
    read_table(&m.all);
    ck_assert_uint_eq(copy.n_series, 2);
    ck_assert_uint_eq(calls_of(&copy.over), 2);
}
END_TEST

START_TEST(a_call_without_memory_for_its_series_is_counted)
{
    dp_fault_arm(1);
    called(NULL, false);
    bool hit = dp_fault_hit();
    dp_fault_arm(0);
    ck_assert(hit);
    read_table(&m.all);
    ck_assert_uint_eq(copy.n_series, 0);
    ck_assert_uint_eq(calls_of(&copy.over), 1);
}
END_TEST

START_TEST(a_request_is_counted_with_its_call)
{
    metric_call c = begun();

    metrics_request(&m, NULL, 2, 1500, &c);
    read_table(&m.all);
    ck_assert_uint_eq(copy.methods[2].times.nanos, 1500);
    ck_assert_uint_eq(copy.n_series, 1);
    ck_assert_uint_eq(calls_of(&copy.series[0]), 1);
}
END_TEST

START_TEST(times_are_in_the_bucket_of_their_bound)
{
    static const uint64_t nanos[] = {0, 1000, 1001, 3000, 10000000000, 10000000001};
    static const int buckets[] = {0, 0, 1, 1, METRIC_BOUNDS - 1, METRIC_BOUNDS};

    metrics_request(&m, NULL, 1, nanos[_i], &none);
    read_table(&m.all);
    for (int i = 0; i < METRIC_BUCKETS; i++)
        ck_assert_uint_eq(copy.methods[1].times.buckets[i], i == buckets[_i]);
    ck_assert_uint_eq(copy.methods[1].times.nanos, nanos[_i]);
}
END_TEST

static uint64_t refusals_after(const char *limit)
{
    dp_error err = DP_ERROR_INIT;
    uint64_t n = 0;

    dp_error_refusal_clear();
    dp_error_set(&err, DP_ERESOURCE, "the message names (sessions)");
    if (limit != NULL)
        dp_error_limit(err.code, limit, 70, 71);
    metrics_failure(&m, NULL, 0, -32000, &err);
    read_table(&m.all);
    for (size_t i = 0; i < METRIC_LIMITS; i++)
        n += copy.refusals[i];
    return n;
}

START_TEST(refusals_are_counted_by_limit)
{
    ck_assert_uint_eq(refusals_after(NULL), 0); /* whatever the message says */
    ck_assert_uint_eq(refusals_after("no_such_limit"), 0);
    ck_assert_uint_eq(refusals_after("sessions"), 1);
    ck_assert_uint_eq(copy.refusals[LIMIT_AT_SESSIONS], 1);
    ck_assert_uint_eq(refusals_after("call_depth"), 2);
    ck_assert_uint_eq(copy.refusals[LIMITS + LIBRARY_LIMIT_CALL_DEPTH], 1);
    ck_assert_uint_eq(copy.methods[0].failures[FAILURE_DP_ERESOURCE], 4);
}
END_TEST

START_TEST(failures_have_a_type)
{
    dp_error err = DP_ERROR_INIT;

    dp_error_set(&err, DP_EVALUE, "wrong");
    metrics_failure(&m, NULL, 2, -32700, &err);
    metrics_failure(&m, NULL, 2, -32602, &err);
    metrics_failure(&m, NULL, 2, -32000, &err);
    read_table(&m.all);
    ck_assert_uint_eq(copy.methods[2].failures[FAILURE_PARSE], 1);
    ck_assert_uint_eq(copy.methods[2].failures[FAILURE_PARAMS], 1);
    ck_assert_uint_eq(copy.methods[2].failures[FAILURE_DP_EVALUE], 1);
    ck_assert_str_eq(metric_failures[FAILURE_DP_EVALUE], "ValueError");
    ck_assert_str_eq(metric_failures[FAILURE_PARAMS], "InvalidParams");
}
END_TEST

START_TEST(the_longest_turn_is_forgotten_after_a_while)
{
    const uint64_t slot = TURN_SLOT_MS * UINT64_C(1000000);
    loop_turns t = {0};
    uint64_t now = nanos();

    turn_end(&t); /* no turn has begun */
    ck_assert_uint_eq(turns_longest(&t, now), 0);
    turn_begin_at(&t, now - 5000000);
    turn_begin_at(&t, now); /* the turn goes on */
    turn_begin(&t);
    turn_end(&t);
    ck_assert_uint_ge(turns_longest(&t, nanos()), 5000000);
    uint64_t longest = turns_longest(&t, nanos());
    turn_begin(&t);
    turn_end(&t);
    ck_assert_uint_ge(turns_longest(&t, nanos()), longest);
    ck_assert_uint_ge(turns_longest(&t, now + (TURN_SLOTS - 1) * slot), longest);
    ck_assert_uint_eq(turns_longest(&t, now + (TURN_SLOTS + 2) * slot), 0);
}
END_TEST

UNIT_SUITE(metrics)
{
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, a_call_is_counted_under_its_kernel);
    tcase_add_test(tc, another_uid_has_figures_of_its_own);
    tcase_add_test(tc, generations_that_are_gone_are_folded);
    tcase_add_test(tc, calls_over_the_limit_are_one_series);
    tcase_add_test(tc, a_call_without_memory_for_its_series_is_counted);
    tcase_add_test(tc, a_request_is_counted_with_its_call);
    tcase_add_loop_test(tc, times_are_in_the_bucket_of_their_bound, 0, 6);
    tcase_add_test(tc, refusals_are_counted_by_limit);
    tcase_add_test(tc, failures_have_a_type);
    tcase_add_test(tc, the_longest_turn_is_forgotten_after_a_while);
}
