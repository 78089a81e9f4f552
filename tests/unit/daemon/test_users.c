/* test_users.c -- sessions of several uids: who sees and ends what, and the limits of a uid. */
#include "options.h"
#include "session.h"
#include "unit.h"
#include <string.h>
#include <unistd.h>

static sessions all;
static struct session *own, *one, *two; /* of this process's uid, and of two others */
static dp_error err;

static void setup(void)
{
    sessions_init(&all, limit_defaults);
    own = session_new(&all, &err);
    one = session_new_for(&all, geteuid() + 1, &err);
    two = session_new_for(&all, geteuid() + 2, &err);
    ck_assert(own != NULL && one != NULL && two != NULL);
}

static void teardown(void)
{
    session_leave(own);
    session_leave(one);
    session_leave(two);
    sessions_fini(&all);
    limits_apply(limit_defaults);
}

START_TEST(only_the_own_uid_sees_others)
{
    session_info *listed;
    user_info *users;

    ck_assert(session_is_owner(own) && !session_is_owner(one));
    ck_assert_int_eq(sessions_list(&all, own, &listed, &err), 3);
    dp_free(listed);
    ck_assert_int_eq(sessions_list(&all, one, &listed, &err), 1);
    ck_assert_uint_eq(listed[0].id, session_id(one));
    ck_assert_uint_eq(listed[0].uid, geteuid() + 1);
    ck_assert_int_eq(listed[0].ends_in_ms, -1);
    dp_free(listed);
    ck_assert_int_eq(users_list(&all, own, &users, &err), 3);
    dp_free(users);
    ck_assert_int_eq(users_list(&all, two, &users, &err), 1);
    ck_assert_uint_eq(users[0].uid, geteuid() + 2);
    ck_assert_uint_eq(users[0].sessions, 1);
    ck_assert_uint_eq(users[0].connections, 1);
    dp_free(users);
}
END_TEST

START_TEST(usage_is_of_what_the_asker_sees)
{
    dp_usage held[DP_HOLDERS];
    user_info *users;

    ck_assert_int_eq(dp_account_charge(session_account(one), DP_HOLDER_OBJECTS, 1, 100, &err), 0);
    sessions_usage(&all, own, held);
    ck_assert_uint_eq(held[DP_HOLDER_OBJECTS].bytes, 100);
    sessions_usage(&all, two, held);
    ck_assert_uint_eq(held[DP_HOLDER_OBJECTS].bytes, 0);
    ck_assert_int_eq(users_list(&all, one, &users, &err), 1);
    ck_assert_uint_eq(users[0].bytes, 100);
    dp_free(users);
    dp_account_refund(session_account(one), DP_HOLDER_OBJECTS, 1, 100);
}
END_TEST

START_TEST(a_key_is_of_one_uid)
{
    ck_assert_ptr_null(session_join(&all, geteuid(), session_key(one)));
    ck_assert_ptr_null(session_join(&all, geteuid() + 2, session_key(one)));
    struct session *joined = session_join(&all, geteuid() + 1, session_key(one));
    ck_assert_ptr_eq(joined, one);
    session_leave(joined);
}
END_TEST

static void refuse_end(struct session *asker, uint64_t id, int code)
{
    unsigned n;

    dp_error_clear(&err);
    ck_assert_int_eq(sessions_end(&all, asker, id, &n, &err), code);
}

START_TEST(sessions_are_ended_by_those_who_see_them)
{
    unsigned n = 0;

    refuse_end(one, session_id(two), DP_EPERM);
    refuse_end(one, session_id(own), DP_EPERM);
    refuse_end(one, 99, DP_EPERM);
    refuse_end(own, 99, DP_ENOTFOUND);
    refuse_end(own, session_id(own), DP_EVALUE);
    ck_assert(!session_has_ended(two));
    ck_assert_int_eq(sessions_end(&all, own, session_id(two), &n, &err), 0);
    ck_assert_uint_eq(n, 1);
    ck_assert(session_has_ended(two));
    ck_assert_uint_eq(sessions_count(&all), 2);
    refuse_end(own, session_id(two), DP_ENOTFOUND);
    ck_assert_ptr_null(session_join(&all, geteuid() + 2, session_key(two)));
}
END_TEST

START_TEST(another_uid_has_so_many_sessions)
{
    int64_t limits[LIMITS];

    memcpy(limits, limit_defaults, sizeof(limits));
    limits[LIMIT_AT_UID_SESSIONS] = 2;
    limits_apply(limits);
    struct session *more = session_new_for(&all, geteuid() + 1, &err);
    ck_assert_ptr_nonnull(more);
    ck_assert_ptr_null(session_new_for(&all, geteuid() + 1, &err));
    ck_assert_ptr_nonnull(strstr(err.message, "has 2 sessions (uid_sessions)"));
    session_set_linger(more, 1000);
    session_leave(more); /* it lingers, and gives way */
    more = session_new_for(&all, geteuid() + 1, &err);
    ck_assert_ptr_nonnull(more);
    for (int i = 0; i < 5; i++) { /* the own uid has no such limit */
        struct session *mine = session_new(&all, &err);
        ck_assert_ptr_nonnull(mine);
        session_leave(mine);
    }
    session_leave(more);
}
END_TEST

START_TEST(limits_change_for_sessions_that_exist)
{
    int64_t limits[LIMITS];

    memcpy(limits, limit_defaults, sizeof(limits));
    limits[LIMIT_AT_SESSION_OBJECTS] = 1;
    limits[LIMIT_AT_UID_BYTES] = 50;
    sessions_limits(&all, limits);
    dp_account *a = session_account(one);
    ck_assert_int_eq(dp_account_charge(a, DP_HOLDER_OBJECTS, 2, 0, &err), DP_ERESOURCE);
    ck_assert_int_eq(dp_account_charge(a, DP_HOLDER_OBJECTS, 1, 51, &err), DP_ERESOURCE);
    ck_assert_ptr_nonnull(strstr(err.message, "of 50 left (uid_bytes)"));
    ck_assert_int_eq(dp_account_charge(a, DP_HOLDER_OBJECTS, 1, 50, &err), 0);
    dp_account_refund(a, DP_HOLDER_OBJECTS, 1, 50);
}
END_TEST

/* Make a session of `uid`, which is left at once. */
static void visit(uid_t uid)
{
    struct session *s = session_new_for(&all, uid, &err);

    ck_assert_msg(s != NULL, "%s", err.message);
    session_leave(s);
    sessions_reap(&all, UINT64_MAX, false);
}

START_TEST(a_uid_that_holds_nothing_gives_way)
{
    int64_t limits[LIMITS], size = 4;
    dp_tensor *t = NULL;

    memcpy(limits, limit_defaults, sizeof(limits));
    limits[LIMIT_AT_UIDS] = 4; /* three have sessions */
    limits_apply(limits);
    visit(geteuid() + 3);
    visit(geteuid() + 4); /* instead of the one before */
    ck_assert_uint_eq(all.n_users, 4);
    struct session *s = session_new_for(&all, geteuid() + 4, &err);
    ck_assert_int_eq(dp_tensor_new(DP_UINT8, DP_DEVICE_CPU, 1, &size, NULL, &t, &err), 0);
    ck_assert_int_eq(names_add(session_user(s), "kept", t, &err), 0);
    dp_tensor_unref(t);
    ck_assert_ptr_null(session_new_for(&all, geteuid() + 5, &err));
    ck_assert_str_eq(err.message, "4 uids use this daemon, no more can (uids)");
    session_leave(s);
    sessions_reap(&all, UINT64_MAX, false);
    ck_assert_ptr_null(session_new_for(&all, geteuid() + 5, &err)); /* a name is left */
    s = session_new_for(&all, geteuid() + 4, &err);
    dp_tensor_unref(names_take(session_user(s), "kept"));
    session_leave(s);
    sessions_reap(&all, UINT64_MAX, false);
    visit(geteuid() + 5);
    session_leave(own); /* which gives way, too, but is never refused */
    sessions_reap(&all, UINT64_MAX, false);
    s = session_new_for(&all, geteuid() + 6, &err);
    struct session *last = session_new_for(&all, geteuid() + 7, &err);
    ck_assert_uint_eq(all.n_users, 4);
    own = session_new(&all, &err);
    ck_assert_ptr_nonnull(own);
    ck_assert_uint_eq(all.n_users, 5);
    session_leave(s);
    session_leave(last);
}
END_TEST

START_TEST(no_memory_for_lists)
{
    session_info *listed;
    user_info *users;

    dp_fault_arm(1);
    ck_assert_int_eq(sessions_list(&all, own, &listed, &err), DP_ERESOURCE);
    dp_fault_arm(1);
    ck_assert_int_eq(users_list(&all, own, &users, &err), DP_ERESOURCE);
    for (int n = 1;; n++) {
        dp_fault_arm(n);
        struct session *s = session_new_for(&all, geteuid() + 3, &err);
        dp_fault_arm(0);
        if (s != NULL) {
            session_leave(s);
            break;
        }
        ck_assert_int_lt(n, 20);
    }
}
END_TEST

UNIT_SUITE(users)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, only_the_own_uid_sees_others);
    tcase_add_test(tc, usage_is_of_what_the_asker_sees);
    tcase_add_test(tc, a_key_is_of_one_uid);
    tcase_add_test(tc, sessions_are_ended_by_those_who_see_them);
    tcase_add_test(tc, another_uid_has_so_many_sessions);
    tcase_add_test(tc, limits_change_for_sessions_that_exist);
    tcase_add_test(tc, a_uid_that_holds_nothing_gives_way);
    tcase_add_test(tc, no_memory_for_lists);
}
