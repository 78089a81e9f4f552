/* test_generators.c -- default generators. */
#include "draws.h"

START_TEST(generators_are_one_a_device_with_one_seed)
{
    dp_generators *all, *others;
    uint64_t seed, other;
    dp_generator *a, *b, *meta;

    ck_assert_int_eq(dp_generators_new(&all, &err), 0);
    ck_assert_int_eq(dp_generators_new(&others, &err), 0);
    ck_assert(!dp_generators_initial_seed(all, &seed));
    ck_assert(!dp_generators_initial_seed(others, &other));
    ck_assert_uint_ne(seed, other);
    ck_assert_int_eq(dp_generators_get(all, DP_DEVICE_CPU, &a, &err), 0);
    ck_assert_int_eq(dp_generators_get(all, DP_DEVICE_CPU, &b, &err), 0);
    ck_assert_ptr_eq(a, b);
    ck_assert_uint_eq(dp_generator_initial_seed(a), seed);
    dp_generators_seed(all, 77);
    ck_assert(dp_generators_initial_seed(all, &seed));
    ck_assert_uint_eq(seed, 77);
    ck_assert_uint_eq(dp_generator_initial_seed(a), 77);
    ck_assert_int_eq(dp_generators_get(all, DP_DEVICE(DP_B_Meta, 0), &meta, &err), 0);
    ck_assert_uint_eq(dp_generator_initial_seed(meta), 77);
    ck_assert(!dp_generators_busy(all));
    dpi_generator_lock(a);
    ck_assert(dp_generators_busy(all));
    dpi_generator_unlock(a);
    ck_assert_int_eq(dp_generators_get(all, DP_DEVICE(DP_B_CUDA, 0), &b, &err), DP_ERUNTIME);
    ck_assert_int_eq(dp_generators_get(all, DP_DEVICE(DP_B_Meta, 3), &b, &err), DP_ERUNTIME);
    dp_generator_unref(a);
    dp_generator_unref(a);
    dp_generator_unref(meta);
    dp_generators_free(others);
    dp_generators_free(all);
}
END_TEST

/* A generator keeps its backend's bit from others, and is not that of a later registration. */
START_TEST(generators_forget_an_unloaded_backend)
{
    dp_generators *all;
    dp_generator *old, *now;
    int bit, second;

    ck_assert_int_eq(dp_generators_new(&all, &err), 0);
    ck_assert_int_eq(dpi_backend_register("first", "p", NULL, &bit, &err), 0);
    ck_assert_int_eq(dp_generators_get(all, DP_DEVICE(bit, 0), &old, &err), 0);
    dpi_backend_unregister(bit);
    ck_assert_int_eq(dpi_backend_register("second", "p", NULL, &second, &err), 0);
    ck_assert_int_ne(second, bit);
    ck_assert_int_eq(dpi_backend_register("first", "p", NULL, &bit, &err), 0);
    ck_assert_int_eq(dpi_generator_check(old, &err), DP_ERUNTIME);
    ck_assert_str_eq(err.message, "backend first of this generator was unloaded");
    ck_assert_int_eq(dp_generators_get(all, DP_DEVICE(bit, 0), &now, &err), 0);
    ck_assert_ptr_ne(old, now);
    dpi_backend_unregister(bit);
    dpi_backend_unregister(second);
    dp_generator_unref(old);
    dp_generator_unref(now);
    dp_generators_free(all);
}
END_TEST

START_TEST(generators_survive_every_failed_allocation)
{
    dp_generators *all = NULL;
    dp_generator *g = NULL;
    int rc = DP_ERESOURCE;

    for (uint64_t n = 1; rc < 0; n++) {
        ck_assert_uint_lt(n, 10);
        dp_fault_arm(n);
        rc = all == NULL ? dp_generators_new(&all, &err) : 0;
        if (rc == 0)
            rc = dp_generators_get(all, DP_DEVICE_CPU, &g, &err);
        dp_fault_arm(0);
        if (rc < 0)
            ck_assert_int_eq(err.code, DP_ERESOURCE);
    }
    dp_generator_unref(g);
    dp_generators_free(all);
}
END_TEST

UNIT_SUITE(generators)
{
    tcase_add_test(tc, generators_are_one_a_device_with_one_seed);
    tcase_add_test(tc, generators_forget_an_unloaded_backend);
    tcase_add_test(tc, generators_survive_every_failed_allocation);
}
