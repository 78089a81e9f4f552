/* test_measure.c -- a request is counted under its method, and under the uid of its client. */
#include "measure.h"
#include "methods/methods.h"
#include "server.h"
#include "unit.h"
#include <string.h>

static server s;
static metric_table *own;
static user other, daemons;
static struct connection c;
static job j;
static dp_error err;

static void begin(void)
{
    s.metrics = (metrics){0};
    ck_assert_int_eq(metrics_init(&s.metrics, &err), 0);
    own = metrics_table_new(&s.metrics, &err);
    other = (user){.figures = own};
    c = (struct connection){.server = &s, .user = &other};
    j = (job){.rq = {.conn = &c, .t_read = 1000}};
    dp_error_set(&err, DP_ENOTFOUND, "none");
}

static void end(void)
{
    metrics_table_free(own);
    metrics_fini(&s.metrics);
}

START_TEST(a_request_is_counted_from_the_time_when_it_was_read)
{
    j.rq.method = &methods[3];
    measure_request(&j, 3500);
    ck_assert_uint_eq(s.metrics.all.methods[3].times.nanos, 2500);
    ck_assert_uint_eq(own->methods[3].times.nanos, 2500);
    c.user = &daemons; /* a client of the daemon's own uid */
    measure_request(&j, 3500);
    ck_assert_uint_eq(s.metrics.all.methods[3].times.nanos, 5000);
    ck_assert_uint_eq(own->methods[3].times.nanos, 2500);
}
END_TEST

START_TEST(batches_and_unknown_methods_are_apart)
{
    static const method batch = {.name = ""};

    j.rq.method = &batch;
    measure_request(&j, 1001);
    ck_assert_uint_eq(own->methods[n_methods].times.nanos, 1);
    j.rq.method = NULL;
    measure_request(&j, 1002);
    ck_assert_uint_eq(own->methods[n_methods + 1].times.nanos, 2);
}
END_TEST

START_TEST(a_failure_has_a_method)
{
    request_failed(&j.rq, &methods[1], -32000, &err);
    request_failed(&j.rq, NULL, -32601, &err);
    ck_assert_uint_eq(own->methods[1].failures[FAILURE_DP_ENOTFOUND], 1);
    ck_assert_uint_eq(own->methods[n_methods + 1].failures[FAILURE_METHOD], 1);
}
END_TEST

START_TEST(a_failure_without_a_connection_is_not_counted)
{
    j.rq.conn = NULL;
    request_failed(&j.rq, &methods[1], -32000, &err);
    ck_assert_uint_eq(s.metrics.all.methods[1].failures[FAILURE_DP_ENOTFOUND], 0);
}
END_TEST

START_TEST(a_call_without_a_kernel_is_not_measured)
{
    j.work.kernel = 0;
    request_call_begin(&j.rq, &(dp_bound){0});
    request_call_end(&j.rq, true);
    measure_request(&j, 2000);
    ck_assert_uint_eq(s.metrics.all.n_series, 0);
}
END_TEST

START_TEST(a_call_is_counted_once)
{
    j.rq.call = (metric_call){.from = {.id = 5, .plugin = "p"}, .op = "t::f"};
    request_call_end(&j.rq, true);
    measure_request(&j, 2000);
    measure_call(&j.rq);
    ck_assert_uint_eq(s.metrics.all.n_series, 1);
    j.rq.call.from.id = 5; /* in a batch, the next call counts the one before */
    request_call_begin(&j.rq, &(dp_bound){0});
    measure_call(&j.rq);
    ck_assert_uint_eq(own->n_series, 1);
    for (size_t i = 0; i < METRIC_HEADS; i++)
        if (own->heads[i] != NULL)
            ck_assert_uint_eq(own->heads[i]->errors, 2);
}
END_TEST

UNIT_SUITE(measure)
{
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, a_request_is_counted_from_the_time_when_it_was_read);
    tcase_add_test(tc, batches_and_unknown_methods_are_apart);
    tcase_add_test(tc, a_failure_has_a_method);
    tcase_add_test(tc, a_failure_without_a_connection_is_not_counted);
    tcase_add_test(tc, a_call_without_a_kernel_is_not_measured);
    tcase_add_test(tc, a_call_is_counted_once);
}
