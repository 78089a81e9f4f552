/* test_session.c -- handles are never reused, sessions end when they should, nothing is leaked. */
#include "../alive.h"
#include "tensors.h"
#include "unit.h"
#include <pthread.h>
#include <session.h>
#include <string.h>
#include <unistd.h>

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
    ck_assert_uint_eq(alive().tensors, 0);
}

START_TEST(session_handles_name_tensors)
{
    dp_tensor *a = make(), *b = make();
    uint64_t ha = session_put(s, a, &err), hb = session_put(s, b, &err), again;

    ck_assert_uint_ne(ha, 0);
    ck_assert_uint_gt(hb, ha);
    dp_tensor *got = session_tensor_get(s, ha);
    ck_assert_ptr_eq(got, a);
    dp_tensor_unref(got);
    ck_assert_ptr_null(session_tensor_get(s, 0));
    ck_assert_ptr_null(session_tensor_get(s, hb + 1));
    ck_assert_uint_eq(session_handle_of(s, b), hb);
    again = session_put(s, a, &err);
    ck_assert_uint_eq(session_handle_of(s, a), ha);
    ck_assert(session_release(s, ha));
    ck_assert(!session_release(s, ha));
    ck_assert_ptr_null(session_tensor_get(s, ha));
    ck_assert_uint_eq(session_handle_of(s, a), again);
    dp_tensor_unref(a);
    dp_tensor_unref(b);
}
END_TEST

/* Whatever is released in whatever order, the rest is found, and no number comes twice. */
START_TEST(session_handles_are_never_reused)
{
    enum { N = 1000 };
    uint64_t handles[N], last = 0, *list;
    dp_tensor *t = make();

    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < N; i++) {
            handles[i] = session_put(s, t, &err);
            ck_assert_uint_gt(handles[i], last);
            last = handles[i];
        }
        for (int i = 0; i < N; i++)
            ck_assert_int_eq(session_release(s, handles[(i * 7) % N]), true);
    }
    uint64_t first = session_put(s, t, &err), second = session_put(s, t, &err);
    ck_assert_int_eq(session_handles(s, true, &list, &err), 2);
    ck_assert_uint_eq(list[0], first);
    ck_assert_uint_eq(list[1], second);
    dp_free(list);
    dp_tensor_unref(t);
}
END_TEST

START_TEST(session_is_joined_by_its_key)
{
    struct session *other = session_new(&all, &err);

    ck_assert_uint_ne(session_id(s), session_id(other));
    ck_assert_str_ne(session_key(s), session_key(other));
    ck_assert_uint_eq(strlen(session_key(s)), 32);
    ck_assert_ptr_null(session_join(&all, geteuid(), "0"));
    struct session *joined = session_join(&all, geteuid(), session_key(s));
    ck_assert_ptr_eq(joined, s);
    session_leave(other);
    ck_assert_uint_eq(sessions_reap(&all, nanos(), false), 0);
    ck_assert_uint_eq(sessions_count(&all), 1);
    session_leave(joined);
    sessions_reap(&all, nanos(), false);
    ck_assert_uint_eq(sessions_count(&all), 1);
}
END_TEST

START_TEST(session_lingers)
{
    struct session *other = session_new(&all, &err);
    char key[33];
    dp_tensor *t = make();

    strcpy(key, session_key(other));
    session_put(other, t, &err);
    dp_tensor_unref(t);
    session_set_linger(other, 1000);
    uint64_t now = nanos();
    session_leave(other);
    uint64_t next = sessions_reap(&all, now, false);
    ck_assert_uint_ge(next, now + 1000000000);
    other = session_join(&all, geteuid(), key);
    ck_assert_ptr_nonnull(other);
    ck_assert_uint_eq(sessions_reap(&all, next, false), 0);
    session_leave(other);
    ck_assert_uint_eq(alive().tensors, 1);
    ck_assert_uint_eq(sessions_reap(&all, nanos() + 2000000000, false), 0);
    ck_assert_uint_eq(alive().tensors, 0);
    ck_assert_ptr_null(session_join(&all, geteuid(), key));
}
END_TEST

/* A running request outlives its session; what it puts there goes with its reference. */
START_TEST(session_outlived_by_a_request)
{
    struct session *other = session_new(&all, &err), *held = session_ref(other);
    dp_tensor *t = make();

    session_leave(other);
    sessions_reap(&all, nanos(), false);
    ck_assert_uint_ne(session_put(held, t, &err), 0);
    dp_tensor_unref(t);
    ck_assert_uint_eq(alive().tensors, 1);
    session_unref(held);
    ck_assert_uint_eq(alive().tensors, 0);
}
END_TEST

/* Where no more fit, the one that would end first makes room; connected ones never do. */
START_TEST(session_limit_ends_lingering_ones)
{
    enum { LINGERING = 10 };
    static struct session *held[LIMIT_SESSIONS];
    char keys[LINGERING][33];
    int n = LIMIT_SESSIONS - 1; /* s is one */

    for (int i = 0; i < n; i++) {
        held[i] = session_new(&all, &err);
        ck_assert_ptr_nonnull(held[i]);
    }
    ck_assert_ptr_null(session_new(&all, &err));
    ck_assert_int_eq(err.code, DP_ERESOURCE);
    ck_assert(!sessions_over(&all));
    for (int i = 0; i < LINGERING; i++) {
        strcpy(keys[i], session_key(held[i]));
        session_set_linger(held[i], LIMIT_LINGER_MS - (i == 3));
        session_leave(held[i]);
    }
    held[3] = session_new(&all, &err);
    ck_assert_ptr_nonnull(held[3]);
    ck_assert(sessions_over(&all));
    ck_assert_uint_eq(sessions_count(&all), LIMIT_SESSIONS);
    ck_assert_ptr_null(session_join(&all, geteuid(), keys[3]));
    ck_assert_uint_ne(sessions_reap(&all, nanos(), false), 0);
    ck_assert(!sessions_over(&all));
    session_leave(held[3]);
    for (int i = LINGERING; i < n; i++)
        session_leave(held[i]);
    sessions_reap(&all, nanos() + (LIMIT_LINGER_MS + 1000) * UINT64_C(1000000), false);
    ck_assert_uint_eq(sessions_count(&all), 1);
}
END_TEST

START_TEST(session_drops_its_tensors_when_it_ends)
{
    struct session *other = session_new(&all, &err), *held = session_ref(other);
    dp_tensor *t = make();

    session_put(other, t, &err);
    dp_tensor_unref(t);
    session_leave(other);
    sessions_reap(&all, nanos(), false);
    ck_assert_uint_eq(alive().tensors, 0);
    ck_assert_ptr_null(session_tensor_get(held, 1));
    session_unref(held);
}
END_TEST

START_TEST(session_survives_every_failed_allocation)
{
    dp_tensor *t = make();
    uint64_t got = 0;

    for (uint64_t n = 1; got == 0; n++) {
        ck_assert_uint_lt(n, 10);
        dp_fault_arm(n);
        got = session_put(s, t, &err);
        dp_fault_arm(0);
        if (got == 0)
            ck_assert_int_eq(err.code, DP_ERESOURCE);
    }
    ck_assert_uint_eq(got, 1);
    dp_fault_arm(1);
    ck_assert_ptr_null(session_new(&all, &err));
    dp_fault_arm(0);
    ck_assert_int_eq(err.code, DP_ERESOURCE);
    ck_assert_uint_eq(sessions_count(&all), 1);
    dp_tensor_unref(t);
}
END_TEST

/* Generators have handles from the same numbers, and go with the session. */
START_TEST(session_holds_generators)
{
    dp_tensor *t = make();
    dp_generator *g = NULL, *got;
    uint64_t tensor = session_put(s, t, &err), first = 0, second;

    ck_assert_int_eq(dp_generator_new(DP_DEVICE_CPU, 1, &g, &err), 0);
    for (uint64_t n = 1; first == 0; n++) {
        ck_assert_uint_lt(n, 10);
        dp_fault_arm(n);
        first = session_generator_put(s, g, &err);
        dp_fault_arm(0);
        if (first == 0)
            ck_assert_int_eq(err.code, DP_ERESOURCE);
    }
    second = session_generator_put(s, g, &err);
    dp_generator_unref(g);
    ck_assert_uint_gt(first, tensor);
    ck_assert_uint_gt(second, first);
    got = session_generator_get(s, first);
    ck_assert_ptr_eq(got, g);
    dp_generator_unref(got);
    ck_assert_ptr_null(session_generator_get(s, tensor));
    ck_assert_ptr_null(session_tensor_get(s, first));
    ck_assert(!session_draws(s));
    ck_assert(session_generator_release(s, first));
    ck_assert(!session_generator_release(s, first));
    ck_assert_ptr_null(session_generator_get(s, first));
    dp_tensor_unref(t);
}
END_TEST

static void *churn(void *arg)
{
    dp_tensor *t = arg;

    for (int i = 0; i < 2000; i++) {
        dp_error e = DP_ERROR_INIT;
        uint64_t h = session_put(s, t, &e);
        dp_tensor *got = session_tensor_get(s, h);
        ck_assert_ptr_eq(got, t);
        dp_tensor_unref(got);
        ck_assert(session_release(s, h));
    }
    return NULL;
}

START_TEST(session_is_used_by_several_threads)
{
    pthread_t threads[4];
    dp_tensor *t = make();
    uint64_t *list;

    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, churn, t);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    ck_assert_int_eq(session_handles(s, true, &list, &err), 0);
    dp_free(list);
    dp_tensor_unref(t);
}
END_TEST

static void refused(int rc, const char *limit)
{
    ck_assert_int_eq(rc, DP_ERESOURCE);
    ck_assert_msg(strstr(err.message, limit) != NULL, "no '%s' in '%s'", limit, err.message);
}

START_TEST(session_stops_at_its_tensors)
{
    sessions own;
    dp_tensor *t = NULL;
    int64_t sizes[] = {1};

    sessions_init(&own, limit_defaults);
    struct session *full = session_new(&own, &err);
    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 1, sizes, NULL, &t, &err), 0);
    for (int i = 0; i < LIMIT_SESSION_TENSORS; i++)
        if (session_put(full, t, &err) == 0)
            ck_abort_msg("put %d: %s", i, err.message);
    ck_assert_uint_eq(session_put(full, t, &err), 0);
    refused(err.code, "session_tensors");
    ck_assert(session_release(full, 1));
    ck_assert_uint_ne(session_put(full, t, &err), 0);
    dp_tensor_unref(t);
    session_leave(full);
    sessions_fini(&own);
}
END_TEST

/* Each holder of a session stops at two limits that server.hello reports. */
START_TEST(session_account_stops_at_its_limits)
{
    static const struct {
        int count, bytes;
    } at[] = {
        [DP_HOLDER_TENSORS] = {LIMIT_AT_SESSION_TENSORS, LIMIT_AT_SESSION_TENSOR_BYTES},
        [DP_HOLDER_INTERMEDIATES] = {LIMIT_AT_SESSION_INTERMEDIATES,
                                     LIMIT_AT_SESSION_INTERMEDIATE_BYTES},
        [DP_HOLDER_NAMES] = {LIMIT_AT_UID_NAMES, LIMIT_AT_UID_NAMED_BYTES},
        [DP_HOLDER_PROGRAMS] = {LIMIT_AT_SESSION_PROGRAMS, LIMIT_AT_SESSION_PROGRAM_BYTES},
        [DP_HOLDER_PROGRAM_CACHE] = {LIMIT_AT_PROGRAM_CACHE, LIMIT_AT_PROGRAM_CACHE_BYTES},
        [DP_HOLDER_GENERATORS] = {LIMIT_AT_SESSION_GENERATORS, LIMIT_AT_SESSION_GENERATOR_BYTES},
        [DP_HOLDER_OBJECTS] = {LIMIT_AT_SESSION_OBJECTS, LIMIT_AT_SESSION_OBJECT_BYTES},
        [DP_HOLDER_HISTORY] = {LIMIT_AT_SESSION_NODES, LIMIT_AT_SESSION_NODE_BYTES},
    };
    int64_t limits[LIMITS];
    sessions own;

    memcpy(limits, limit_defaults, sizeof(limits));
    limits[LIMIT_AT_SESSION_TENSOR_BYTES] = 5; /* as --session-bytes has it */
    sessions_init(&own, limits);
    struct session *full = session_new(&own, &err);
    dp_account *a = session_account(full);
    for (int h = 0; h < DP_HOLDER_MEMFDS; h++) { /* which has no bytes */
        uint64_t count = (uint64_t)limits[at[h].count], bytes = (uint64_t)limits[at[h].bytes];
        ck_assert_int_eq(dp_account_charge(a, h, count, bytes, &err), 0);
        refused(dp_account_charge(a, h, 1, 0, &err), limit_names[at[h].count]);
        refused(dp_account_charge(a, h, 0, 1, &err), limit_names[at[h].bytes]);
        refused(err.code, dp_holder_name(h));
        dp_account_refund(a, h, count, bytes);
    }
    session_leave(full);
    sessions_fini(&own);
}
END_TEST

UNIT_SUITE(session)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, session_handles_name_tensors);
    tcase_add_test(tc, session_handles_are_never_reused);
    tcase_add_test(tc, session_is_joined_by_its_key);
    tcase_add_test(tc, session_lingers);
    tcase_add_test(tc, session_outlived_by_a_request);
    tcase_add_test(tc, session_limit_ends_lingering_ones);
    tcase_add_test(tc, session_drops_its_tensors_when_it_ends);
    tcase_add_test(tc, session_survives_every_failed_allocation);
    tcase_add_test(tc, session_holds_generators);
    tcase_add_test(tc, session_is_used_by_several_threads);
    tcase_add_test(tc, session_stops_at_its_tensors);
    tcase_add_test(tc, session_account_stops_at_its_limits);
}
