/* test_turns.c -- job lists, and whose turn it is: sessions take turns, and so do a session's
 * connections. */
#include "executor/parts.h"
#include "options.h"
#include "unit.h"
#include <string.h>
#include <unistd.h>

enum { CONNECTIONS = 6 };

static executor ex;
static sessions all;
static struct session *a, *b, *other; /* two sessions of one uid, and one of another uid */
static struct connection connections[CONNECTIONS];
static job jobs[2 * CONNECTIONS];
static dp_error err;

static void setup(void)
{
    sessions_init(&all, limit_defaults);
    a = session_new(&all, &err);
    b = session_new(&all, &err);
    other = session_new_for(&all, geteuid() + 1, &err);
    /* something is due at once: nothing has to wake the loop's thread, which there is none of */
    ex = (executor){.cap = 2, .watch_at = 1};
    for (int i = 0; i < CONNECTIONS; i++)
        connections[i] = (struct connection){.session = i < 2 ? a : i < 3 ? b : other};
}

static void teardown(void)
{
    session_leave(a);
    session_leave(b);
    session_leave(other);
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

/* Two sessions of a uid have three jobs, and another uid has three, which come last. */
START_TEST(uids_get_equal_numbers_of_workers)
{
    job *taken[6];

    for (int i = 0; i < 6; i++)
        submit(i, &connections[i]);
    for (int i = 0; i < 4; i++)
        taken[i] = turns_take(&ex);
    ck_assert_uint_eq(a->user->queue.running, 2);
    ck_assert_uint_eq(other->user->queue.running, 2);
    ck_assert_ptr_eq(taken[0], &jobs[0]);
    ck_assert_ptr_eq(taken[1], &jobs[3]);
    ck_assert_ptr_eq(taken[2], &jobs[2]); /* of the second session */
    ck_assert_ptr_eq(taken[3], &jobs[4]);
    done(taken[1]); /* the uid with fewer workers is next, whichever waits longer */
    done(taken[3]);
    taken[4] = turns_take(&ex);
    ck_assert_ptr_eq(taken[4], &jobs[5]);
    taken[5] = turns_take(&ex);
    ck_assert_ptr_eq(taken[5], &jobs[1]);
    ck_assert_ptr_null(turns_take(&ex));
    done(taken[0]);
    done(taken[2]);
    done(taken[4]);
    done(taken[5]);
    ck_assert_uint_eq(a->user->queue.running + other->user->queue.running, 0);
    ck_assert_uint_eq(turns_since(&ex), 0);
}
END_TEST

START_TEST(another_uid_has_at_most_uid_workers)
{
    int64_t limits[LIMITS];

    memcpy(limits, limit_defaults, sizeof(limits));
    limits[LIMIT_AT_UID_WORKERS] = 1;
    limits_apply(limits);
    submit(0, &connections[3]);
    submit(1, &connections[4]);
    submit(2, &connections[0]);
    submit(3, &connections[1]);
    job *first = turns_take(&ex), *second = turns_take(&ex), *third = turns_take(&ex);
    ck_assert_ptr_eq(first, &jobs[0]);
    ck_assert_ptr_eq(second, &jobs[2]);
    ck_assert_ptr_eq(third, &jobs[3]); /* the daemon's own uid has no such limit */
    ck_assert_ptr_null(turns_take(&ex));
    done(first);
    first = turns_take(&ex);
    ck_assert_ptr_eq(first, &jobs[1]);
    done(first);
    done(second);
    done(third);
    limits_apply(limit_defaults);
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
    tcase_add_test(tc, uids_get_equal_numbers_of_workers);
    tcase_add_test(tc, another_uid_has_at_most_uid_workers);
    tcase_add_test(tc, a_connection_with_unread_answers_is_not_ready);
    tcase_add_test(tc, done_jobs_come_back_in_order);
}
