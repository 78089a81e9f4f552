/* test_printing.c -- long answers are printed by few workers at once, in the order of coming. */
#include "printing.h"
#include "server.h"
#include "unit.h"
#include <string.h>
#include <time.h>

enum { LONG = 1 << 20 };

static server s;
static options o;
static struct connection c;
static job first, second;
static dp_error err;

static void setup(void)
{
    memset(&s, 0, sizeof(s));
    o = (options){.threads = 2}; /* one printer at a time */
    s.options = &o;
    pthread_mutex_init(&s.executor.lock, NULL);
    c = (struct connection){.server = &s};
    first = (job){.rq.conn = &c};
    second = (job){.rq.conn = &c};
}

static void *print_second(void *result)
{
    *(int *)result = print_begin(&second.rq, LONG, &err);
    return NULL;
}

/* Wait until the second worker waits for its turn. */
static void await_second(void)
{
    static const struct timespec moment = {0, 1000000};

    for (unsigned waits = 0; waits == 0; nanosleep(&moment, NULL)) {
        pthread_mutex_lock(&s.executor.lock);
        waits = s.executor.n_to_print;
        pthread_mutex_unlock(&s.executor.lock);
    }
}

START_TEST(short_answers_and_the_loop_do_not_wait)
{
    ck_assert_int_eq(print_begin(&first.rq, 100, &err), 0);
    first.on_loop = true;
    ck_assert_int_eq(print_begin(&first.rq, LONG, &err), 0);
    ck_assert_uint_eq(s.executor.n_printing, 0);
}
END_TEST

START_TEST(the_second_waits_for_the_first)
{
    pthread_t t;
    int result = 0;

    ck_assert_int_eq(print_begin(&first.rq, LONG, &err), 1);
    pthread_create(&t, NULL, print_second, &result);
    await_second();
    print_end(&first.rq, 1);
    pthread_join(t, NULL);
    ck_assert_int_eq(result, 1);
    ck_assert_uint_eq(s.executor.n_printing, 1);
    print_end(&second.rq, 1);
    ck_assert_uint_eq(s.executor.n_printing, 0);
}
END_TEST

START_TEST(who_waits_can_be_called_off)
{
    pthread_t t;
    int result = 0;

    ck_assert_int_eq(print_begin(&first.rq, LONG, &err), 1);
    pthread_create(&t, NULL, print_second, &result);
    await_second();
    pthread_mutex_lock(&s.executor.lock);
    printing_call_off(&s.executor, &second.rq);
    pthread_mutex_unlock(&s.executor.lock);
    pthread_join(t, NULL);
    ck_assert_int_eq(result, DP_ECANCELLED);
    print_end(&second.rq, result);
    print_end(&first.rq, 1);
    ck_assert_uint_eq(s.executor.n_printing, 0);
}
END_TEST

UNIT_SUITE(printing)
{
    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_test(tc, short_answers_and_the_loop_do_not_wait);
    tcase_add_test(tc, the_second_waits_for_the_first);
    tcase_add_test(tc, who_waits_can_be_called_off);
}
