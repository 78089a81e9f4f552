/* test_turns.c -- job lists, and whose turn it is: sessions take turns, and so do a session's
 * connections. */
#include "executor/parts.h"
#include "unit.h"

enum { CONNECTIONS = 3 };

static executor ex;
static sessions all;
static struct session *a, *b;
static struct connection connections[CONNECTIONS];
static job jobs[2 * CONNECTIONS];
static dp_error err;

static void setup(void)
{
    sessions_init(&all, limit_defaults);
    a = session_new(&all, &err);
    b = session_new(&all, &err);
    /* something is due at once: nothing has to wake the loop's thread, which there is none of */
    ex = (executor){.cap = 2, .watch_at = 1};
    for (int i = 0; i < CONNECTIONS; i++)
        connections[i] = (struct connection){.session = i < 2 ? a : b};
}

static void teardown(void)
{
    session_leave(a);
    session_leave(b);
    sessions_fini(&all);
}

/* Queue job number j of a connection. */
static void submit(int j, struct connection *c)
{
    jobs[j] = (job){.rq.conn = c, .since = (uint64_t)j + 1};
    job_push(&c->queue, &jobs[j]);
    turns_await(&ex, c);
}

static void done(job *j)
{
    struct session *s = j->rq.session;

    turns_put_back(&ex, s, j);
    j->rq.session = session_unref(s);
}

START_TEST(a_list_is_first_in_first_out)
{
    job_list l = {NULL, NULL};

    ck_assert_ptr_null(job_pop(&l));
    job_push(&l, &jobs[0]);
    job_push(&l, &jobs[1]);
    jobs_push_front(&l, &jobs[2]);
    ck_assert_ptr_eq(job_pop(&l), &jobs[2]);
    ck_assert_ptr_eq(job_pop(&l), &jobs[0]);
    ck_assert_ptr_eq(job_pop(&l), &jobs[1]);
    ck_assert_ptr_null(job_pop(&l));
    jobs_push_front(&l, &jobs[0]);
    job_push(&l, &jobs[1]);
    ck_assert_ptr_eq(job_pop(&l), &jobs[0]);
    ck_assert_ptr_eq(job_pop(&l), &jobs[1]);
}
END_TEST

START_TEST(a_connections_jobs_run_one_after_another)
{
    submit(0, &connections[0]);
    submit(1, &connections[0]);
    job *first = turns_take(&ex);
    ck_assert_ptr_eq(first, &jobs[0]);
    ck_assert_ptr_null(turns_take(&ex));
    done(first);
    job *second = turns_take(&ex);
    ck_assert_ptr_eq(second, &jobs[1]);
    done(second);
    ck_assert_ptr_null(turns_take(&ex));
    ck_assert_uint_eq(ex.n_waiting, 0);
}
END_TEST

START_TEST(sessions_take_turns)
{
    submit(0, &connections[0]);
    submit(1, &connections[1]);
    submit(2, &connections[2]);
    job *first = turns_take(&ex), *second = turns_take(&ex), *third = turns_take(&ex);
    ck_assert_ptr_eq(first, &jobs[0]);
    ck_assert_ptr_eq(second, &jobs[2]); /* of the other session, though it came last */
    ck_assert_ptr_eq(third, &jobs[1]);
    done(first);
    done(second);
    done(third);
}
END_TEST

START_TEST(a_session_has_at_most_cap_workers)
{
    ex.cap = 1;
    submit(0, &connections[0]);
    submit(1, &connections[1]);
    job *first = turns_take(&ex);
    ck_assert_ptr_eq(first, &jobs[0]);
    ck_assert_ptr_null(turns_take(&ex));
    done(first);
    job *second = turns_take(&ex);
    ck_assert_ptr_eq(second, &jobs[1]);
    done(second);
}
END_TEST

START_TEST(a_connection_with_unread_answers_is_not_ready)
{
    atomic_store(&connections[0].unsent, LIMIT_UNSENT_BYTES);
    submit(0, &connections[0]);
    ck_assert_ptr_null(turns_take(&ex));
    atomic_store(&connections[0].unsent, 0);
    turns_enter(&ex, &connections[0]);
    job *first = turns_take(&ex);
    ck_assert_ptr_eq(first, &jobs[0]);
    done(first);
}
END_TEST

/* What is done lies in ex.done, in order. */
START_TEST(done_jobs_come_back_in_order)
{
    submit(0, &connections[0]);
    submit(1, &connections[2]);
    job *first = turns_take(&ex), *second = turns_take(&ex);
    done(second);
    done(first);
    ck_assert_ptr_eq(job_pop(&ex.done), second);
    ck_assert_ptr_eq(job_pop(&ex.done), first);
}
END_TEST

UNIT_SUITE(turns)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_list_is_first_in_first_out);
    tcase_add_test(tc, a_connections_jobs_run_one_after_another);
    tcase_add_test(tc, sessions_take_turns);
    tcase_add_test(tc, a_session_has_at_most_cap_workers);
    tcase_add_test(tc, a_connection_with_unread_answers_is_not_ready);
    tcase_add_test(tc, done_jobs_come_back_in_order);
}
