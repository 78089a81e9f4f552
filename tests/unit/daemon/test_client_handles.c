/* test_client_handles.c -- the table of handles that the client chooses, and their failures. */
#include "../alive.h"
#include "client_handles.h"
#include "unit.h"
#include <string.h>

#define ID(n) ((uint64_t)(int64_t)(n))

static client_handles table;
static dp_account *account;
static dp_error err;

static failure *fault(const char *message)
{
    dp_error e = DP_ERROR_INIT;

    dp_error_set(&e, DP_EVALUE, "%s", message);
    strcpy(e.op, "aten::x");
    strcpy(e.key, "CPU");
    return failure_new(&e, "op.call", "\"a\"");
}

static void setup(void)
{
    static const dp_holder_limit limits[DP_HOLDERS] = {
        [DP_HOLDER_TENSORS] = {"tensors", "tensor_bytes", 100, 1 << 20}};

    ck_assert_int_eq(dp_account_new(limits, &account, &err), 0);
}

static void teardown(void)
{
    client_handles_fini(&table, account);
    ck_assert_uint_eq(table.n, 0);
    dp_account_close(account);
    ck_assert_uint_eq(alive().tensors, 0);
}

START_TEST(a_failure_is_a_copy)
{
    dp_error e = DP_ERROR_INIT;
    failure *f = fault("100 %s");

    ck_assert_ptr_eq(failure_ref(f), f);
    failure_unref(f);
    failure_get(f, &e);
    ck_assert_int_eq(e.code, DP_EVALUE);
    ck_assert_str_eq(e.message, "100 %s");
    ck_assert_str_eq(e.op, "aten::x");
    ck_assert_str_eq(e.key, "CPU");
    ck_assert_str_eq(f->method, "op.call");
    ck_assert_str_eq(f->request_id, "\"a\"");
    ck_assert_ptr_null(failure_unref(f));
    ck_assert_ptr_null(failure_unref(NULL));
}
END_TEST

/* Numbers are found whatever was removed before, and `reachable` stays in the order of adding. */
START_TEST(entries_are_found_among_many)
{
    enum { MANY = 3000 };

    ck_assert_ptr_null(client_handles_find(&table, ID(-1)));
    for (int n = 1; n <= MANY; n++)
        client_handles_add(&table, ID(-((int64_t)n << 40)));
    for (int n = 1; n <= MANY; n++) {
        client_handle *e = client_handles_find(&table, ID(-((int64_t)n << 40)));
        ck_assert_uint_eq(e->id, ID(-((int64_t)n << 40)));
        if (n % 3 != 0)
            client_handles_remove(&table, e);
    }
    ck_assert_uint_eq(table.n, MANY / 3);
    int n = 0;
    for (client_handle *e = table.reachable.oldest; e != NULL; e = e->newer)
        ck_assert_uint_eq(e->id, ID(-((int64_t)(n += 3) << 40)));
    ck_assert_int_eq(n, MANY);
    ck_assert_int_eq(dp_account_charge(account, DP_HOLDER_TENSORS, 1, 0, &err), 0);
    while (table.n > 1) /* the last one is charged, so that the teardown can refund it */
        client_handles_remove(&table, table.reachable.newest);
}
END_TEST

START_TEST(the_oldest_failed_entries_are_removed)
{
    enum { MORE = 100 };
    failure *f = fault("x");
    dp_tensor *t;

    for (int n = 1; n <= LIMIT_SESSION_FAILED + MORE; n++)
        client_handles_fail(&table, client_handles_add(&table, ID(-n)), failure_ref(f));
    ck_assert_uint_eq(table.n_failed, LIMIT_SESSION_FAILED);
    ck_assert_uint_eq(atomic_load(&f->refs), LIMIT_SESSION_FAILED + 1);
    ck_assert_ptr_null(client_handles_find(&table, ID(-MORE)));
    ck_assert_uint_eq(table.failed.oldest->id, ID(-MORE - 1));
    for (int i = 0; i < LIMIT_SESSION_FAILED; i++) {
        uint64_t id = ID(-MORE - 1 - i * 7 % LIMIT_SESSION_FAILED);
        ck_assert(client_handles_take(&table, id, &t));
        ck_assert_ptr_null(t);
        ck_assert(!client_handles_take(&table, id, &t));
    }
    ck_assert_uint_eq(atomic_load(&f->refs), 1);
    failure_unref(f);
}
END_TEST

UNIT_SUITE(client_handles)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_failure_is_a_copy);
    tcase_add_test(tc, entries_are_found_among_many);
    tcase_add_test(tc, the_oldest_failed_entries_are_removed);
}
