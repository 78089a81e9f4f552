/* test_keep.c -- charges and refunds are exact, limits have names, a storage is charged once. */
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
    dp_usage held[DP_HOLDERS];

    dp_account_usage(a, held);
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
    ck_assert_str_eq(dp_holder_name(DP_HOLDER_NAMES), "names");
    ck_assert_str_eq(dp_holder_name(DP_HOLDER_TENSORS), "tensors");
    ck_assert_str_eq(dp_holder_name(DP_HOLDERS - 1), "memfds");
}
END_TEST

START_TEST(account_a_storage_is_charged_once)
{
    dp_tensor *t = make(100), *view = NULL;

    ck_assert_int_eq(dp_tensor_alias(t, &view, &err), 0);
    ck_assert_int_eq(dp_account_charge_tensor(a, DP_HOLDER_TENSORS, t, &err), 0);
    ck_assert_int_eq(dp_account_charge_tensor(a, DP_HOLDER_TENSORS, view, &err), 0);
    ck_assert_int_eq(dp_account_charge_tensor(a, DP_HOLDER_INTERMEDIATES, view, &err), 0);
    is(DP_HOLDER_TENSORS, 0, 100);
    is(DP_HOLDER_INTERMEDIATES, 0, 0);
    dp_account_refund_tensor(a, DP_HOLDER_TENSORS, t);
    is(DP_HOLDER_TENSORS, 0, 100);
    dp_account_refund_tensor(a, DP_HOLDER_TENSORS, view);
    is(DP_HOLDER_TENSORS, 0, 0);
    dp_account_refund_tensor(a, DP_HOLDER_TENSORS, view); /* nobody's: nothing happens */
    is(DP_HOLDER_TENSORS, 0, 0);
    dp_tensor_unref(t);
    dp_tensor_unref(view);
}
END_TEST

/* Grown while nobody was charged, then for one holder, then for the next. */
START_TEST(account_what_a_storage_grew_by_is_its_keepers)
{
    dp_tensor *t = make(100), *u = make(100);

    ck_assert_int_eq(dpi_resize(NULL, t, 1, (int64_t[]){300}, DP_PRESERVE, &err), 0);
    ck_assert_int_eq(dp_account_charge_tensor(a, DP_HOLDER_INTERMEDIATES, t, &err), 0);
    is(DP_HOLDER_INTERMEDIATES, 0, 400);
    ck_assert_int_eq(dp_account_charge_tensor(a, DP_HOLDER_TENSORS, t, &err), 0);
    is(DP_HOLDER_INTERMEDIATES, 0, 0);
    is(DP_HOLDER_TENSORS, 0, 400);
    ck_assert_int_eq(dpi_resize(NULL, u, 1, (int64_t[]){700}, DP_PRESERVE, &err), 0);
    ck_assert_int_eq(dp_account_charge_tensor(a, DP_HOLDER_TENSORS, u, &err), DP_ERESOURCE);
    is(DP_HOLDER_TENSORS, 0, 400);
    dp_tensor_unref(t), dp_tensor_unref(u);
    is(DP_HOLDER_TENSORS, 0, 0);
}
END_TEST

static dp_wrapper pair_of(dp_tensor *parts[2])
{
    return (dp_wrapper){.size = sizeof(dp_wrapper),
                        .kind = "pair",
                        .keys = {DPI_BIT(FuncTorchBatched), 0},
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

    ck_assert_int_eq(dp_account_charge_tensor(a, h, t, &err), 0);
    is(h, 0, 100);
    ck_assert_int_eq(dpi_wrapper_become(t, &fits, &err), 0);
    is(h, 0, 300);
    ck_assert_int_eq(dpi_wrapper_become(t, &large, &err), DP_ERESOURCE);
    ck_assert_str_eq(err.message, "tensors: 800 bytes asked for, 700 of 1000 left (bytes_limit)");
    is(h, 0, 300);
    dp_tensor_unref(x), dp_tensor_unref(y), dp_tensor_unref(z);
    dp_account_refund_tensor(a, h, t);
    is(h, 0, 0);
    dp_tensor_unref(t);
}
END_TEST

START_TEST(account_a_wrapper_is_charged_what_its_parts_have)
{
    dp_tensor *x = make(100), *y = make(200), *z = make(800);
    dp_tensor *in = wrapper(x, y), *t = wrapper(in, in), *large = wrapper(in, z);
    const int h = DP_HOLDER_TENSORS;

    ck_assert_int_eq(dp_account_charge_tensor(a, h, x, &err), 0);
    ck_assert_int_eq(dp_account_charge_tensor(a, h, t, &err), 0);
    is(h, 0, 300);
    ck_assert_int_eq(dp_account_charge_tensor(a, h, large, &err), DP_ERESOURCE);
    is(h, 0, 300);
    ck_assert_int_eq(dp_account_charge_tensor(a, h, t, &err), 0);
    dp_account_refund_tensor(a, h, t);
    is(h, 0, 300);
    dp_account_refund_tensor(a, h, t);
    is(h, 0, 100); /* which is kept itself */
    dp_account_refund_tensor(a, h, x);
    is(h, 0, 0);
    dp_tensor_unref(x), dp_tensor_unref(y), dp_tensor_unref(z), dp_tensor_unref(in);
    ck_assert_int_eq(dp_account_charge_tensor(a, h, t, &err), 0);
    is(h, 0, 300);
    dp_tensor_unref(large);
    dp_tensor_unref(t);
    is(h, 0, 0);
}
END_TEST

START_TEST(account_memory_that_goes_is_refunded)
{
    dp_tensor *t = make(100);

    ck_assert_int_eq(dp_account_charge_tensor(a, DP_HOLDER_INTERMEDIATES, t, &err), 0);
    is(DP_HOLDER_INTERMEDIATES, 0, 100);
    ck_assert_int_eq(dp_account_charge_tensor(a, DP_HOLDER_TENSORS, t, &err), 0); /* comes first */
    is(DP_HOLDER_INTERMEDIATES, 0, 0);
    is(DP_HOLDER_TENSORS, 0, 100);
    dp_tensor_unref(t);
    is(DP_HOLDER_TENSORS, 0, 0);
}
END_TEST

START_TEST(account_over_the_limit_of_bytes)
{
    dp_tensor *t = make(900), *u = make(200);

    ck_assert_int_eq(dp_account_charge_tensor(a, DP_HOLDER_TENSORS, t, &err), 0);
    ck_assert_int_eq(dp_account_charge_tensor(a, DP_HOLDER_TENSORS, u, &err), DP_ERESOURCE);
    ck_assert_str_eq(err.message, "tensors: 200 bytes asked for, 100 of 1000 left (bytes_limit)");
    is(DP_HOLDER_TENSORS, 0, 900);
    dp_account_charge_tensor_anyway(a, DP_HOLDER_TENSORS, u);
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
    ck_assert_int_eq(dp_account_charge_tensor(other, DP_HOLDER_TENSORS, t, &err), 0);
    ck_assert_int_eq(dp_account_charge_tensor(a, DP_HOLDER_TENSORS, t, &err),
                     0); /* it is the other's */
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
    ck_assert_int_eq(dp_account_charge_tensor(a, DP_HOLDER_TENSORS, t, &err), 0);
    is(DP_HOLDER_TENSORS, 0, 0);
    dp_tensor_unref(t);
}
END_TEST

/* -- what calls make -- */

enum { INTER = DP_HOLDER_INTERMEDIATES, NAMED = DP_HOLDER_TENSORS };

static int make_for(dp_account *who, int64_t n, dp_tensor **out)
{
    return dpi_empty(DP_UINT8, (dpi_target){DP_DEVICE_CPU, 0, who}, 1, &n, DP_CONTIGUOUS, out,
                     &err);
}

static uint64_t bytes_there(void)
{
    dp_tensor_stats s;

    dp_tensor_stats_get(&s);
    return s.bytes;
}

static void both(uint64_t intermediates, uint64_t tensors)
{
    is(INTER, 0, intermediates);
    is(NAMED, 0, tensors);
}

START_TEST(account_what_a_call_makes_is_charged_from_birth_to_death)
{
    dp_tensor *t, *small;

    ck_assert_int_eq(make_for(a, 900, &t), 0);
    ck_assert_int_eq(make_for(a, 100, &small), 0);
    both(1000, 0);
    ck_assert_int_eq(dp_account_charge_tensor(a, NAMED, t, &err), 0);
    ck_assert_int_eq(dp_account_charge_tensor(a, NAMED, t, &err), 0);
    both(100, 900);
    dp_account_refund_tensor(a, NAMED, t);
    both(100, 900);
    dp_account_refund_tensor(a, NAMED, t); /* a running call may have it still */
    both(1000, 0);
    dp_account_refund_tensor(a, NAMED, t); /* nobody's: nothing happens */
    dp_tensor_unref(t);
    both(100, 0);
    dp_tensor_unref(small);
    both(0, 0);
}
END_TEST

START_TEST(account_what_is_too_much_is_refused_before_it_is_there)
{
    uint64_t before = bytes_there(), n = 0;
    dp_tensor *kept[100], *t;

    while (n < 100 && make_for(a, 100, &kept[n]) == 0)
        n++;
    ck_assert_uint_eq(n, MOST_BYTES / 100);
    ck_assert_str_eq(err.message,
                     "intermediates: 100 bytes asked for, 0 of 1000 left (bytes_limit)");
    ck_assert_uint_eq(bytes_there(), before + MOST_BYTES);
    while (n > 0)
        dp_tensor_unref(kept[--n]);
    both(0, 0);
    ck_assert_int_eq(make_for(a, (int64_t)1 << 50, &t), DP_ERESOURCE);
    both(0, 0);
    ck_assert_uint_eq(bytes_there(), before);
}
END_TEST

/* A storage and all that it grew by are one, whoever is charged for it. */
START_TEST(account_what_a_call_grows_a_storage_by)
{
    dp_tensor *t, *u = make(100);

    ck_assert_int_eq(make_for(a, 100, &t), 0);
    ck_assert_int_eq(dpi_resize(a, t, 1, (int64_t[]){200}, DP_PRESERVE, &err), 0);
    both(300, 0);
    ck_assert_int_eq(dp_account_charge_tensor(a, NAMED, t, &err), 0);
    both(0, 300);
    ck_assert_int_eq(dpi_resize(a, t, 1, (int64_t[]){800}, DP_PRESERVE, &err), DP_ERESOURCE);
    ck_assert_str_eq(err.message, "tensors: 800 bytes asked for, 700 of 1000 left (bytes_limit)");
    ck_assert_int_eq(dp_tensor_storage_bytes(t), 200);
    dp_account_refund_tensor(a, NAMED, t);
    both(300, 0);
    dp_tensor_unref(t);
    both(0, 0);
    ck_assert_int_eq(dpi_resize(a, u, 1, (int64_t[]){200}, DP_PRESERVE, &err), 0);
    both(200, 0); /* its own bytes were made for nobody */
    ck_assert_int_eq(dp_account_charge_tensor(a, NAMED, u, &err), 0);
    both(0, 300);
    dp_account_refund_tensor(a, NAMED, u);
    both(200, 0);
    dp_tensor_unref(u);
    both(0, 0);
}
END_TEST

/* A plugin has kept what a call of one session made; another one names it. */
START_TEST(account_who_names_it_pays)
{
    dp_account *other;
    dp_tensor *t;

    ck_assert_int_eq(dp_account_new(limits, &other, &err), 0);
    ck_assert_int_eq(make_for(other, 100, &t), 0);
    ck_assert_int_eq(dp_account_charge_tensor(a, INTER, t, &err), 0); /* comes no earlier */
    both(0, 0);
    ck_assert_int_eq(dp_account_charge_tensor(a, NAMED, t, &err), 0);
    both(0, 100);
    ck_assert_int_eq(dp_account_charge_tensor(other, NAMED, t, &err), 0); /* it is a's by now */
    dp_account_refund_tensor(other, NAMED, t);
    both(0, 100);
    dp_account_close(other);
    dp_account_refund_tensor(a, NAMED, t);
    both(100, 0);
    dp_tensor_unref(t);
    both(0, 0);
}
END_TEST

static int everything(dp_tensor **t)
{
    int rc = make_for(a, 100, t);

    if (rc == 0)
        rc = dpi_resize(a, *t, 1, (int64_t[]){200}, DP_PRESERVE, &err);
    if (rc == 0)
        rc = dp_account_charge_tensor(a, NAMED, *t, &err);
    if (rc == 0)
        rc = dpi_resize(a, *t, 2, (int64_t[]){2, 150}, DP_PRESERVE, &err);
    return rc;
}

START_TEST(account_at_the_nth_allocation_that_fails)
{
    int rc = -1;

    for (int n = 1; rc != 0; n++) {
        dp_tensor *t = NULL;
        dp_fault_arm(n);
        rc = everything(&t);
        dp_fault_arm(0);
        ck_assert(rc == 0 || rc == DP_ERESOURCE);
        dp_tensor_unref(t);
        both(0, 0);
        ck_assert_int_lt(n, 30);
    }
}
END_TEST

/* A request's scratch: what it takes is charged until it is given back. */
START_TEST(account_of_scratch)
{
    dp_arena *s = dp_arena_new();
    const size_t large = 100000;

    for (int h = 0; h < DP_HOLDERS; h++)
        limits[h].bytes = 4 * large;
    dp_account_limits_changed(a);
    for (int n = 1, ok = 0; !ok; n++) {
        s->account = a;
        dp_fault_arm(n);
        ok = dp_arena_alloc(s, 10) && dp_arena_alloc(s, large) && dp_arena_alloc(s, 5000);
        dp_fault_arm(0);
        ck_assert(!ok || dp_arena_alloc(s, large));
        ck_assert(!ok || dp_arena_alloc(s, 3 * large) == NULL);
        ck_assert_int_eq(dp_arena_failed(s, 3 * large, "scratch", &err), DP_ERESOURCE);
        ck_assert(!ok || strstr(err.message, "intermediates: 300000 bytes asked for, ") != NULL);
        ck_assert(ok || strstr(err.message, "300000 bytes ") != NULL);
        dp_arena_reset(s);
        both(0, 0);
        s->account = NULL;
        ck_assert_int_lt(n, 20);
    }
    ck_assert_ptr_nonnull(dp_arena_alloc(s, 10 * large));
    both(0, 0);
    dp_arena_free(s);
}
END_TEST

static dp_tensor *shared;
static void *grower(void *arg)
{
    dp_error mine = DP_ERROR_INIT;

    for (int i = 0; i < 5000; i++) {
        dp_tensor *t = NULL;
        int64_t n = 10, more = 20;
        if (dpi_empty(DP_UINT8, (dpi_target){0, 0, a}, 1, &n, DP_CONTIGUOUS, &t, &mine) < 0 ||
            dp_account_charge_tensor(a, NAMED, t, &mine) < 0 ||
            dp_account_charge_tensor(a, NAMED, arg, &mine) < 0 ||
            dpi_resize(a, t, 1, &more, DP_PRESERVE, &mine) < 0)
            return "refused";
        dp_account_refund_tensor(a, NAMED, t);
        dp_account_refund_tensor(a, NAMED, arg);
        dp_tensor_unref(t);
    }
    return NULL;
}

START_TEST(account_of_threads_that_make_keep_and_grow)
{
    pthread_t threads[4];
    dp_tensor *t;
    void *failed;

    ck_assert_int_eq(make_for(a, 50, &t), 0);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, grower, t), 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], &failed);
        ck_assert_ptr_null(failed);
    }
    both(50, 0);
    dp_tensor_unref(t);
    both(0, 0);
}
END_TEST

static void *keeper(void *arg)
{
    dp_error mine = DP_ERROR_INIT;

    (void)arg;
    for (int i = 0; i < 20000; i++) {
        dp_tensor *t = NULL;
        int64_t n = 10;
        if (dp_account_charge_tensor(a, DP_HOLDER_INTERMEDIATES, shared, &mine) < 0 ||
            dp_tensor_new(DP_UINT8, DP_DEVICE_CPU, 1, &n, NULL, &t, &mine) < 0 ||
            dp_account_charge_tensor(a, DP_HOLDER_INTERMEDIATES, t, &mine) < 0 ||
            dp_account_charge_tensor(a, DP_HOLDER_TENSORS, t, &mine) < 0)
            return "refused";
        dp_tensor_unref(t);
        dp_account_refund_tensor(a, DP_HOLDER_INTERMEDIATES, shared);
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

UNIT_SUITE(keep)
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
    tcase_add_test(tc, account_what_a_call_makes_is_charged_from_birth_to_death);
    tcase_add_test(tc, account_what_is_too_much_is_refused_before_it_is_there);
    tcase_add_test(tc, account_what_a_call_grows_a_storage_by);
    tcase_add_test(tc, account_who_names_it_pays);
    tcase_add_test(tc, account_at_the_nth_allocation_that_fails);
    tcase_add_test(tc, account_of_scratch);
    tcase_add_test(tc, account_of_threads_that_make_keep_and_grow);
    tcase_add_test(tc, account_without_memory);
}
