/* test_reservations.c -- handles that the client chooses: reserved, live, failed, free again. */
#include "../alive.h"
#include "tensors.h"
#include "unit.h"
#include <session.h>
#include <string.h>

#define ID(n) ((uint64_t)(int64_t)(n))

enum { ME = 1, ANOTHER = 2 }; /* numbers of requests */

static sessions all;
static struct session *s;
static dp_error err;

static failure *fault(const char *message)
{
    dp_error e = DP_ERROR_INIT;

    dp_error_set(&e, DP_EVALUE, "%s", message);
    strcpy(e.op, "aten::x");
    return failure_new(&e, "op.call", "7");
}

static uint64_t charged(void)
{
    dp_usage held[DP_HOLDERS];

    dp_account_usage(session_account(s), held);
    return held[DP_HOLDER_TENSORS].count;
}

static void setup(void)
{
    sessions_init(&all, limit_defaults);
    all.limits[DP_HOLDER_TENSORS].count = 5000;
    s = session_new(&all, &err);
    ck_assert_ptr_nonnull(s);
}

static void teardown(void)
{
    session_leave(s);
    sessions_fini(&all);
    ck_assert_uint_eq(alive().tensors, 0);
}

START_TEST(a_number_is_reserved_then_names_a_tensor)
{
    dp_tensor *t = make();
    uint64_t *list;

    ck_assert_int_eq(session_reserve(s, ID(-5), ME, &err), 0);
    ck_assert_ptr_null(session_tensor_get(s, ID(-5)));
    ck_assert(!session_release(s, ID(-5)));
    ck_assert_int_eq(session_handles(s, true, &list, &err), 0);
    dp_free(list);
    ck_assert_int_eq(session_reserve(s, ID(-5), ANOTHER, &err), DP_EEXISTS);
    ck_assert_str_eq(err.message, "handle -5 is reserved by a request that runs");
    ck_assert_int_eq(session_reserve(s, ID(-5), ME, &err), DP_EEXISTS);
    ck_assert_str_eq(err.message, "handle -5 is given to two outputs");
    ck_assert_int_eq(session_put_at(s, t, ID(-5), ANOTHER, &err), DP_ENOTFOUND);
    ck_assert_int_eq(session_put_at(s, t, ID(-5), ME, &err), 0);
    ck_assert_uint_eq(charged(), 1);
    dp_tensor *got = session_tensor_get(s, ID(-5));
    ck_assert_ptr_eq(got, t);
    dp_tensor_unref(got);
    ck_assert_uint_eq(session_handle_of(s, t), ID(-5));
    ck_assert_int_eq(session_reserve(s, ID(-5), ME, &err), DP_EEXISTS);
    ck_assert_str_eq(err.message, "handle -5 names a tensor that was not released");
    session_unreserve(s, ID(-5), ME); /* no effect: the number names a tensor */
    uint64_t own = session_put(s, t, &err);
    ck_assert_uint_eq(session_handle_of(s, t), own);
    ck_assert_int_eq(session_handles(s, false, &list, &err), 2);
    ck_assert_uint_eq(list[0], own);
    ck_assert_uint_eq(list[1], ID(-5));
    dp_free(list);
    ck_assert(session_release(s, ID(-5)));
    ck_assert(!session_release(s, ID(-5)));
    ck_assert_uint_eq(charged(), 1);
    ck_assert_int_eq(session_reserve(s, ID(-5), ANOTHER, &err), 0);
    session_unreserve(s, ID(-5), ME); /* no effect: another request has reserved it */
    ck_assert_int_eq(session_reserve(s, ID(-5), ME, &err), DP_EEXISTS);
    session_unreserve(s, ID(-5), ANOTHER);
    ck_assert_uint_eq(charged(), 1);
    dp_tensor_unref(t);
}
END_TEST

START_TEST(a_number_fails_with_the_first_error)
{
    failure *first = fault("first"), *second = fault("second");
    dp_tensor *t = make();

    ck_assert_int_eq(session_reserve(s, ID(-1), ME, &err), 0);
    ck_assert_int_eq(session_reserve(s, ID(-2), ANOTHER, &err), 0);
    ck_assert_int_eq(session_reserve(s, ID(-3), ME, &err), 0);
    ck_assert_int_eq(session_put_at(s, t, ID(-3), ME, &err), 0);
    for (int n = 1; n <= 4; n++)
        session_fail(s, ID(-n), ME, first);
    session_fail(s, ID(-1), ME, second);
    session_fail(s, ID(-1), 0, second);
    ck_assert_ptr_null(session_failure(s, ID(-2))); /* of another request */
    ck_assert_ptr_null(session_failure(s, ID(-3))); /* live */
    ck_assert_uint_eq(charged(), 2);
    failure *got = session_failure(s, ID(-1));
    ck_assert_ptr_eq(got, first);
    failure_unref(got);
    got = session_failure(s, ID(-4));
    ck_assert_ptr_eq(got, first);
    failure_get(got, &err);
    ck_assert_int_eq(err.code, DP_EVALUE);
    ck_assert_str_eq(err.message, "first");
    ck_assert_str_eq(err.op, "aten::x");
    ck_assert_str_eq(got->method, "op.call");
    ck_assert_str_eq(got->request_id, "7");
    failure_unref(got);
    failure_unref(first);
    failure_unref(second);
    ck_assert_ptr_null(session_tensor_get(s, ID(-1)));
    ck_assert_int_eq(session_reserve(s, ID(-1), ME, &err), DP_EEXISTS);
    ck_assert_str_eq(err.message, "handle -1 has failed and was not released");
    ck_assert(session_release(s, ID(-1)));
    ck_assert_int_eq(session_reserve(s, ID(-1), ME, &err), 0);
    dp_tensor_unref(t);
}
END_TEST

START_TEST(numbers_are_charged_and_found_among_many)
{
    enum { MANY = 5000 };
    dp_tensor *t = make();

    for (int n = 1; n <= MANY; n++)
        ck_assert_int_eq(session_reserve(s, ID(-((int64_t)n << 40)), ME, &err), 0);
    ck_assert_int_eq(session_reserve(s, ID(-1), ME, &err), DP_ERESOURCE);
    ck_assert_ptr_nonnull(strstr(err.message, "session_tensors"));
    ck_assert_ptr_null(session_failure(s, ID(-1)));
    for (int n = 1; n <= MANY; n++)
        ck_assert_int_eq(session_put_at(s, t, ID(-((int64_t)n << 40)), ME, &err), 0);
    dp_tensor_unref(t);
    for (int n = 0; n < MANY; n += 2)
        ck_assert(session_release(s, ID(-((int64_t)(n * 7 % MANY + 1) << 40))));
    ck_assert_uint_eq(charged(), MANY / 2);
    ck_assert_int_eq(session_reserve(s, ID(-1), ME, &err), 0); /* the end of the session frees it */
}
END_TEST

START_TEST(every_allocation_can_fail)
{
    failure *f = fault("x");

    for (unsigned n = 1; n <= 2; n++) { /* the entry, and the first buckets */
        dp_fault_arm(n);
        ck_assert_int_eq(session_reserve(s, ID(-1), ME, &err), DP_ERESOURCE);
        ck_assert(dp_fault_hit());
        ck_assert_uint_eq(charged(), 0);
    }
    dp_fault_arm(1);
    session_fail(s, ID(-1), ME, f); /* the number stays free */
    ck_assert(dp_fault_hit());
    ck_assert_ptr_null(session_failure(s, ID(-1)));
    ck_assert_uint_eq(atomic_load(&f->refs), 1);
    dp_fault_arm(1);
    ck_assert_ptr_null(fault("y"));
    for (int n = 1; n <= 16; n++)
        ck_assert_int_eq(session_reserve(s, ID(-n), ME, &err), 0);
    dp_fault_arm(2); /* more buckets: the table works without them */
    ck_assert_int_eq(session_reserve(s, ID(-17), ME, &err), 0);
    ck_assert(dp_fault_hit());
    ck_assert_uint_eq(charged(), 17);
    for (int n = 1; n <= 17; n++)
        session_unreserve(s, ID(-n), ME);
    ck_assert_uint_eq(charged(), 0);
    failure_unref(f);
}
END_TEST

UNIT_SUITE(reservations)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_number_is_reserved_then_names_a_tensor);
    tcase_add_test(tc, a_number_fails_with_the_first_error);
    tcase_add_test(tc, numbers_are_charged_and_found_among_many);
    tcase_add_test(tc, every_allocation_can_fail);
}
