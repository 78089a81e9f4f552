/* test_tensor.c -- tensor.list and tensor.release at each allocation that fails. */
#include "../tensors.h"
#include "job.h"
#include "server.h"
#include "transport/connection.h"
#include "values.h"

enum { TENSORS = 3 };
static server daemon_;
static struct connection conn = {.server = &daemon_};

static void setup(void)
{
    values_begin();
    for (int i = 0; i < TENSORS; i++) {
        dp_tensor *t = make();
        ck_assert_uint_ne(session_put(rq.session, t, &err), 0);
        dp_tensor_unref(t);
    }
}

static void teardown(void)
{
    values_end();
}

static int64_t held(void)
{
    uint64_t *list = NULL;
    int64_t n = session_handles(rq.session, true, &list, &err);

    dp_free(list);
    return n;
}

/* Return how often `what` is in the answer. */
static int times_written(const char *what)
{
    int n = 0;

    for (const char *at = written(); (at = strstr(at, what)) != NULL; at++)
        n++;
    return n;
}

/* It lists all tensors or fails. */
START_TEST(listing_at_the_nth_allocation_that_fails)
{
    bool hit = true;

    for (uint64_t n = 1; hit; n++) {
        dp_error_clear(&err);
        dp_fault_arm(n);
        int rc = tensor_list(&rq, &rq.out, &err);
        hit = dp_fault_hit();
        dp_fault_arm(0);
        ck_assert_int_eq(rc < 0 || rq.out.failed, hit);
        if (rc < 0)
            ck_assert_int_eq(err.code, DP_ERESOURCE);
        if (rc == 0 && !rq.out.failed)
            ck_assert_int_eq(times_written("\"tensor\":"), TENSORS);
        jw_fini(&rq.out);
        jw_init(&rq.out);
        ck_assert_uint_lt(n, 20);
    }
    ck_assert_int_eq(held(), TENSORS);
}
END_TEST

/* It releases all tensors, or none and fails. */
START_TEST(releasing_all_at_the_nth_allocation_that_fails)
{
    const tensor_release_params all = {.all = true};
    job j = {.rq = rq}; /* not on the event loop's thread */
    int rc = DP_ERESOURCE;

    j.rq.conn = &conn;
    for (uint64_t n = 1; rc < 0; n++) {
        dp_error_clear(&err);
        dp_fault_arm(n);
        rc = tensor_release(&j.rq, &all, &rq.out, &err);
        bool hit = dp_fault_hit();
        dp_fault_arm(0);
        ck_assert_int_eq(held(), rc < 0 ? TENSORS : 0);
        ck_assert(hit || rc == 0);
        if (rc < 0)
            ck_assert_str_eq(err.message, "out of memory: 3 handles");
        ck_assert_uint_lt(n, 20);
    }
}
END_TEST

UNIT_SUITE(methods_tensor)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, listing_at_the_nth_allocation_that_fails);
    tcase_add_test(tc, releasing_all_at_the_nth_allocation_that_fails);
}
