/* test_names.c -- the table of names: who has them, who pays, what a failure leaves. */
#include "../alive.h"
#include "session.h"
#include "unit.h"
#include <string.h>

enum { UID = 1000, OTHER = 1001 };
static sessions all;
static user *one, *other; /* the records of UID and of OTHER */
static dp_account *session;
static dp_holder_limit session_limits[DP_HOLDERS];
static int64_t limits[LIMITS];
static dp_error err;

static user *record(uid_t uid)
{
    pthread_mutex_lock(&all.lock);
    user *u = users_get(&all, uid, &err);
    pthread_mutex_unlock(&all.lock);
    ck_assert_ptr_nonnull(u);
    return u;
}

static void setup(void)
{
    memcpy(limits, limit_defaults, sizeof(limits));
    limits[LIMIT_AT_UID_NAMES] = 3;
    limits[LIMIT_AT_UID_NAMED_BYTES] = 1000;
    sessions_init(&all, limits);
    one = record(UID);
    other = record(OTHER);
    for (int h = 0; h < DP_HOLDERS; h++)
        session_limits[h] = (dp_holder_limit){"count", "bytes", 100, 100000};
    ck_assert_int_eq(dp_account_new(session_limits, &session, &err), 0);
}

static void teardown(void)
{
    sessions_fini(&all);
    dp_account_close(session);
    ck_assert_uint_eq(alive().tensors, 0);
}

/* A tensor of `n` bytes, charged as one that a call of the session made and a handle names. */
static dp_tensor *make(int64_t n)
{
    static const uint8_t bytes[2000];
    dp_tensor *t = NULL;

    ck_assert_int_eq(
        dp_tensor_from(session, DP_UINT8, DP_DEVICE_CPU, 1, &n, DP_UINT8, bytes, &t, &err), 0);
    ck_assert_int_eq(dp_account_charge_tensor(session, DP_HOLDER_TENSORS, t, &err), 0);
    return t;
}

/* Release the handle of `t`. */
static void release(dp_tensor *t)
{
    dp_account_refund_tensor(session, DP_HOLDER_TENSORS, t);
    dp_tensor_unref(t);
}

static uint64_t session_bytes(void)
{
    dp_usage usage[DP_HOLDERS];

    dp_account_usage(session, usage);
    return usage[DP_HOLDER_TENSORS].bytes + usage[DP_HOLDER_INTERMEDIATES].bytes;
}

static void uid_has(uint64_t count, uint64_t named, uint64_t unlinked)
{
    dp_usage held[DP_HOLDERS];

    names_usage(one, held);
    ck_assert_uint_eq(held[DP_HOLDER_NAMES].count, count);
    ck_assert_uint_eq(held[DP_HOLDER_NAMES].bytes, named);
    ck_assert_uint_eq(held[DP_HOLDER_TENSORS].bytes, unlinked);
}

START_TEST(a_name_is_its_uids_until_it_is_taken)
{
    dp_tensor *t = make(10), *got;

    ck_assert_int_eq(names_add(one, "w", t, &err), 0);
    ck_assert_int_eq(names_add(one, "w", t, &err), DP_EEXISTS);
    ck_assert_str_eq(err.message,
                     "the name 'w' is taken by a tensor of dtype uint8 and shape [10]: choose "
                     "another name, or free this one with tensor.unlink");
    ck_assert_int_eq(names_add(other, "w", t, &err), 0);
    ck_assert_ptr_null(names_get(one, "v"));
    ck_assert_ptr_null(names_get(record(OTHER + 1), "w"));
    got = names_get(one, "w");
    ck_assert_ptr_eq(got, t);
    dp_tensor_unref(got);
    dp_tensor_unref(names_take(one, "w"));
    ck_assert_ptr_null(names_take(one, "w"));
    dp_tensor_unref(names_take(other, "w"));
    release(t);
}
END_TEST

START_TEST(names_are_sorted)
{
    static const char *const names[] = {"b", "c", "a"};
    char name[LIMIT_TENSOR_NAME_BYTES + 1] = "", seen[4] = "";
    dp_tensor *t = make(10);

    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(names_add(one, names[i], t, &err), 0);
    for (dp_tensor *next; (next = names_next(one, name)) != NULL; dp_tensor_unref(next))
        strcat(seen, name);
    ck_assert_str_eq(seen, "abc");
    uid_has(3, 10, 0);
    ck_assert_int_eq(names_add(one, "d", t, &err), DP_ERESOURCE);
    ck_assert_str_eq(err.message, "names: 1 more asked for, 0 of 3 left (uid_names)");
    release(t);
}
END_TEST

/* The uid pays from the naming on, also after the session's handle was released; after the
 * unlinking for as long as a handle is left. */
START_TEST(the_uid_pays_for_what_it_names)
{
    dp_tensor *t = make(600), *second = make(500);

    ck_assert_uint_eq(session_bytes(), 1100);
    ck_assert_int_eq(names_add(one, "w", t, &err), 0);
    ck_assert_uint_eq(session_bytes(), 500);
    uid_has(1, 600, 0);
    ck_assert_int_eq(names_add(one, "second", second, &err), DP_ERESOURCE);
    ck_assert_str_eq(err.message,
                     "uid 1000 has 600 bytes of named tensors and 0 of unlinked ones that are "
                     "still in use: 500 more exceed 1000 (uid_named_bytes)");
    ck_assert_uint_eq(session_bytes(), 500);
    ck_assert_int_eq(names_add(one, "again", t, &err), 0);
    uid_has(2, 600, 0);
    dp_tensor_unref(names_take(one, "again"));
    dp_tensor_unref(names_take(one, "w"));
    uid_has(0, 0, 600);
    /* a session that names and unlinks cannot make the uid pay for more than its limit */
    ck_assert_int_eq(names_add(one, "second", second, &err), DP_ERESOURCE);
    release(t);
    uid_has(0, 0, 0);
    ck_assert_int_eq(names_add(one, "second", second, &err), 0);
    release(second);
    uid_has(1, 500, 0);
    ck_assert_uint_eq(session_bytes(), 0);
}
END_TEST

START_TEST(naming_at_the_nth_allocation_that_fails)
{
    dp_tensor *t = make(10);
    int rc = -1;

    for (uint64_t n = 1; rc != 0; n++) {
        dp_fault_arm(n);
        rc = names_add(one, "w", t, &err);
        dp_fault_arm(0);
        ck_assert(rc == 0 || rc == DP_ERESOURCE);
        uid_has(rc == 0, rc == 0 ? 10 : 0, 0);
        ck_assert_msg(n < 10, "%s", err.message);
    }
    release(t);
}
END_TEST

UNIT_SUITE(names)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_name_is_its_uids_until_it_is_taken);
    tcase_add_test(tc, names_are_sorted);
    tcase_add_test(tc, the_uid_pays_for_what_it_names);
    tcase_add_test(tc, naming_at_the_nth_allocation_that_fails);
}
