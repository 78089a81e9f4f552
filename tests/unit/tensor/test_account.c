/* test_account.c -- charges and refunds are exact, limits have names, a storage is charged once. */
#include "tensor/tensor_i.h"
#include "unit.h"
#include <pthread.h>

enum { MOST = 3, MOST_BYTES = 1000 };
static dp_holder_limit limits[DP_HOLDERS];
static dp_account *a;
static dp_error err;

static void setup(void)
{
    for (int h = 0; h < DP_HOLDERS; h++)
        limits[h] = (dp_holder_limit){"count_limit", "bytes_limit", MOST, MOST_BYTES};
    ck_assert_int_eq(dp_account_new(limits, &a, &err), 0);
}

static void teardown(void)
{
    a = dp_account_close(a);
}

static dp_tensor *make(int64_t n)
{
    dp_tensor *t = NULL;

    ck_assert_int_eq(dp_tensor_new(DP_UINT8, DP_DEVICE_CPU, 1, &n, NULL, &t, &err), 0);
    return t;
}

static void is(int holder, uint64_t count, uint64_t bytes)
{
    dp_held held[DP_HOLDERS];

    dp_account_held(a, held);
    ck_assert_uint_eq(held[holder].count, count);
    ck_assert_uint_eq(held[holder].bytes, bytes);
}

START_TEST(account_limits_name_holder_asked_and_left)
{
    const int h = DP_HOLDER_PROGRAMS;

    ck_assert_int_eq(dp_account_charge(a, h, 2, 900, &err), 0);
    ck_assert_int_eq(dp_account_charge(a, h, 2, 1, &err), DP_ERESOURCE);
    ck_assert_str_eq(err.message, "programs: 2 more asked for, 1 of 3 left (count_limit)");
    ck_assert_int_eq(dp_account_charge(a, h, 1, 101, &err), DP_ERESOURCE);
    ck_assert_str_eq(err.message, "programs: 101 bytes asked for, 100 of 1000 left (bytes_limit)");
    ck_assert_int_eq(dp_account_charge(a, h, 0, UINT64_MAX, &err), DP_ERESOURCE);
    is(h, 2, 900);
    ck_assert_int_eq(dp_account_charge(a, h, 1, 100, &err), 0);
    is(h, 3, 1000);
    is(DP_HOLDER_TENSORS, 0, 0);
    dp_account_refund(a, h, 3, 1000);
    is(h, 0, 0);
}
END_TEST

START_TEST(account_holders_have_names)
{
    ck_assert_str_eq(dp_holder_name(DP_HOLDER_TENSORS), "tensors");
    ck_assert_str_eq(dp_holder_name(DP_HOLDERS - 1), "generators");
}
END_TEST

START_TEST(account_a_storage_is_charged_once)
{
    dp_tensor *t = make(100), *view = NULL;

    ck_assert_int_eq(dp_tensor_alias(t, &view, &err), 0);
    ck_assert_int_eq(dp_account_keep(a, DP_HOLDER_TENSORS, t, &err), 0);
    ck_assert_int_eq(dp_account_keep(a, DP_HOLDER_TENSORS, view, &err), 0);
    ck_assert_int_eq(dp_account_keep(a, DP_HOLDER_INTERMEDIATES, view, &err), 0);
    is(DP_HOLDER_TENSORS, 0, 100);
    is(DP_HOLDER_INTERMEDIATES, 0, 0);
    dp_account_let(a, DP_HOLDER_TENSORS, t);
    is(DP_HOLDER_TENSORS, 0, 100);
    dp_account_let(a, DP_HOLDER_TENSORS, view);
    is(DP_HOLDER_TENSORS, 0, 0);
    dp_account_let(a, DP_HOLDER_TENSORS, view); /* nobody's: nothing happens */
    is(DP_HOLDER_TENSORS, 0, 0);
    dp_tensor_unref(t);
    dp_tensor_unref(view);
}
END_TEST

/* Grown while nobody was charged, then for one holder, then for the next. */
START_TEST(account_what_a_storage_grew_by_is_its_keepers)
{
    dp_tensor *t = make(100), *u = make(100);

    ck_assert_int_eq(dpi_resize(t, 1, (int64_t[]){300}, DP_PRESERVE, &err), 0);
    ck_assert_int_eq(dp_account_keep(a, DP_HOLDER_INTERMEDIATES, t, &err), 0);
    is(DP_HOLDER_INTERMEDIATES, 0, 400);
    ck_assert_int_eq(dp_account_keep(a, DP_HOLDER_TENSORS, t, &err), 0);
    is(DP_HOLDER_INTERMEDIATES, 0, 0);
    is(DP_HOLDER_TENSORS, 0, 400);
    ck_assert_int_eq(dpi_resize(u, 1, (int64_t[]){700}, DP_PRESERVE, &err), 0);
    ck_assert_int_eq(dp_account_keep(a, DP_HOLDER_TENSORS, u, &err), DP_ERESOURCE);
    is(DP_HOLDER_TENSORS, 0, 400);
    dp_tensor_unref(t), dp_tensor_unref(u);
    is(DP_HOLDER_TENSORS, 0, 0);
}
END_TEST

static dp_wrapper pair_of(dp_tensor *parts[2])
{
    return (dp_wrapper){.size = sizeof(dp_wrapper),
                        .kind = "pair",
                        .keys = {DP_FBIT(DP_F_FuncTorchBatched), 0},
                        .n_tensors = 2,
                        .tensors = parts};
}

static dp_tensor *wrapper(dp_tensor *x, dp_tensor *y)
{
    dp_tensor *t = NULL;
    dp_wrapper w = pair_of((dp_tensor *[]){x, y});

    ck_assert_int_eq(dpi_wrapper_new(&w, &t, &err), 0);
    return t;
}

START_TEST(account_a_wrapper_is_charged_for_its_next_parts)
{
    dp_tensor *x = make(100), *y = make(200), *z = make(800), *t = wrapper(x, x);
    dp_wrapper fits = pair_of((dp_tensor *[]){x, y}), large = pair_of((dp_tensor *[]){y, z});
    const int h = DP_HOLDER_TENSORS;

    ck_assert_int_eq(dp_account_keep(a, h, t, &err), 0);
    is(h, 0, 100);
    ck_assert_int_eq(dpi_wrapper_become(t, &fits, &err), 0);
    is(h, 0, 300);
    ck_assert_int_eq(dpi_wrapper_become(t, &large, &err), DP_ERESOURCE);
    ck_assert_str_eq(err.message, "tensors: 800 bytes asked for, 700 of 1000 left (bytes_limit)");
    is(h, 0, 300);
    dp_tensor_unref(x), dp_tensor_unref(y), dp_tensor_unref(z);
    dp_account_let(a, h, t);
    is(h, 0, 0);
    dp_tensor_unref(t);
}
END_TEST

START_TEST(account_a_wrapper_is_charged_what_its_parts_have)
{
    dp_tensor *x = make(100), *y = make(200), *z = make(800);
    dp_tensor *in = wrapper(x, y), *t = wrapper(in, in), *large = wrapper(in, z);
    const int h = DP_HOLDER_TENSORS;

    ck_assert_int_eq(dp_account_keep(a, h, x, &err), 0);
    ck_assert_int_eq(dp_account_keep(a, h, t, &err), 0);
    is(h, 0, 300);
    ck_assert_int_eq(dp_account_keep(a, h, large, &err), DP_ERESOURCE);
    is(h, 0, 300);
    ck_assert_int_eq(dp_account_keep(a, h, t, &err), 0);
    dp_account_let(a, h, t);
    is(h, 0, 300);
    dp_account_let(a, h, t);
    is(h, 0, 100); /* which is kept itself */
    dp_account_let(a, h, x);
    is(h, 0, 0);
    dp_tensor_unref(x), dp_tensor_unref(y), dp_tensor_unref(z), dp_tensor_unref(in);
    ck_assert_int_eq(dp_account_keep(a, h, t, &err), 0);
    is(h, 0, 300);
    dp_tensor_unref(large);
    dp_tensor_unref(t);
    is(h, 0, 0);
}
END_TEST

START_TEST(account_memory_that_goes_is_refunded)
{
    dp_tensor *t = make(100);

    ck_assert_int_eq(dp_account_keep(a, DP_HOLDER_INTERMEDIATES, t, &err), 0);
    is(DP_HOLDER_INTERMEDIATES, 0, 100);
    ck_assert_int_eq(dp_account_keep(a, DP_HOLDER_TENSORS, t, &err), 0); /* comes first */
    is(DP_HOLDER_INTERMEDIATES, 0, 0);
    is(DP_HOLDER_TENSORS, 0, 100);
    dp_tensor_unref(t);
    is(DP_HOLDER_TENSORS, 0, 0);
}
END_TEST

START_TEST(account_over_the_limit_of_bytes)
{
    dp_tensor *t = make(900), *u = make(200);

    ck_assert_int_eq(dp_account_keep(a, DP_HOLDER_TENSORS, t, &err), 0);
    ck_assert_int_eq(dp_account_keep(a, DP_HOLDER_TENSORS, u, &err), DP_ERESOURCE);
    ck_assert_str_eq(err.message, "tensors: 200 bytes asked for, 100 of 1000 left (bytes_limit)");
    is(DP_HOLDER_TENSORS, 0, 900);
    dp_account_keep_anyway(a, DP_HOLDER_TENSORS, u);
    is(DP_HOLDER_TENSORS, 0, 1100);
    ck_assert_int_eq(dp_account_charge(a, DP_HOLDER_TENSORS, 0, 1, &err), DP_ERESOURCE);
    ck_assert_str_eq(err.message, "tensors: 1 bytes asked for, 0 of 1000 left (bytes_limit)");
    dp_tensor_unref(t);
    is(DP_HOLDER_TENSORS, 0, 200);
    dp_tensor_unref(u);
    is(DP_HOLDER_TENSORS, 0, 0);
}
END_TEST

/* Whoever owns the account is gone before the memory. */
START_TEST(account_outlives_its_owner)
{
    dp_account *other;
    dp_tensor *t = make(100);

    ck_assert_int_eq(dp_account_new(limits, &other, &err), 0);
    ck_assert_int_eq(dp_account_keep(other, DP_HOLDER_TENSORS, t, &err), 0);
    ck_assert_int_eq(dp_account_keep(a, DP_HOLDER_TENSORS, t, &err), 0); /* it is the other's */
    is(DP_HOLDER_TENSORS, 0, 0);
    dp_account_close(other);
    dp_tensor_unref(t);
    ck_assert_ptr_null(dp_account_close(NULL));
}
END_TEST

START_TEST(account_memory_that_is_none_costs_nothing)
{
    int64_t n = 100;
    dp_tensor *t = NULL;

    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE(DP_B_Meta, 0), 1, &n, NULL, &t, &err), 0);
    ck_assert_int_eq(dp_account_keep(a, DP_HOLDER_TENSORS, t, &err), 0);
    is(DP_HOLDER_TENSORS, 0, 0);
    dp_tensor_unref(t);
}
END_TEST

static dp_tensor *shared;
static void *keeper(void *arg)
{
    dp_error mine = DP_ERROR_INIT;

    (void)arg;
    for (int i = 0; i < 20000; i++) {
        dp_tensor *t = NULL;
        int64_t n = 10;
        if (dp_account_keep(a, DP_HOLDER_INTERMEDIATES, shared, &mine) < 0 ||
            dp_tensor_new(DP_UINT8, DP_DEVICE_CPU, 1, &n, NULL, &t, &mine) < 0 ||
            dp_account_keep(a, DP_HOLDER_INTERMEDIATES, t, &mine) < 0 ||
            dp_account_keep(a, DP_HOLDER_TENSORS, t, &mine) < 0)
            return "refused";
        dp_tensor_unref(t);
        dp_account_let(a, DP_HOLDER_INTERMEDIATES, shared);
    }
    return NULL;
}

START_TEST(account_of_two_threads_comes_out_even)
{
    pthread_t threads[4];
    void *failed;

    shared = make(50);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, keeper, NULL), 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], &failed);
        ck_assert_ptr_null(failed);
    }
    dp_tensor_unref(shared);
    is(DP_HOLDER_TENSORS, 0, 0);
    is(DP_HOLDER_INTERMEDIATES, 0, 0);
}
END_TEST

START_TEST(account_without_memory)
{
    dp_account *none = NULL;

    dp_fault_arm(1);
    ck_assert_int_eq(dp_account_new(limits, &none, &err), DP_ERESOURCE);
    ck_assert_ptr_null(none);
}
END_TEST

UNIT_SUITE(account)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, account_limits_name_holder_asked_and_left);
    tcase_add_test(tc, account_holders_have_names);
    tcase_add_test(tc, account_a_storage_is_charged_once);
    tcase_add_test(tc, account_a_wrapper_is_charged_what_its_parts_have);
    tcase_add_test(tc, account_what_a_storage_grew_by_is_its_keepers);
    tcase_add_test(tc, account_a_wrapper_is_charged_for_its_next_parts);
    tcase_add_test(tc, account_memory_that_goes_is_refunded);
    tcase_add_test(tc, account_over_the_limit_of_bytes);
    tcase_add_test(tc, account_outlives_its_owner);
    tcase_add_test(tc, account_memory_that_is_none_costs_nothing);
    tcase_add_test(tc, account_of_two_threads_comes_out_even);
    tcase_add_test(tc, account_without_memory);
}
