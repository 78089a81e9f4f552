/* test_hazards.c -- plugins that must stay mapped, or whose libraries must. */
#define _GNU_SOURCE /* pthread_tryjoin_np */
#include "loaded.h"

static const struct keeper {
    const char *file, *because;
} keepers[] = {
    {"resident", "declares itself resident ("},
    {"starts_thread", "imports 'pthread_create'"},
    {"unique_symbol", "defines the unique symbol 'dp_test_unique'"},
};

START_TEST(plugin_that_must_stay_mapped_is_detached_and_says_why)
{
    const struct keeper *k = &keepers[_i];
    state before = now();

    OK(load(built(k->file)));
    OK(unload(k->file));
    ck_assert(!gone.unmapped);
    ck_assert_uint_eq(gone.bytes_returned, 0);
    says(gone.kept_because, k->because);
    ck_assert_uint_gt(mappings(cache), 0);
    ck_assert_uint_eq(entries(cache), 3); /* its copy stays, for debuggers */
    state after = now();
    ck_assert_str_eq(before.dump, after.dump);
    OK(load(built(k->file))); /* as a new generation */
    OK(reload(k->file));
    if (!gone.unmapped) /* a unique symbol is bound once: it keeps the first of its files only */
        says(gone.kept_because, k->because);
}
END_TEST

static void *call_openmp(void *arg)
{
    dp_ctx *mine;
    dp_error e = DP_ERROR_INIT;
    dp_value args[] = {dp_tensor_value(self)}, ret;

    if (dp_ctx_new(reg, &mine, &e))
        return arg;
    int rc = call(mine, "openmp::sum", args, 1, &ret, 1);
    dp_ctx_free(mine);
    return rc || ret.u.d != 6 ? arg : NULL;
}

/* The threads of libgomp outlive the plugin that brought it: the library stays, the plugin goes. */
START_TEST(plugin_with_openmp_goes_and_its_library_stays)
{
    pthread_t threads[2];

    if (thread_sanitized) /* which does not know libgomp's barriers */
        return;
    for (int i = 0; i < 20; i++) {
        OK(load(built("openmp")));
        for (int t = 0; t < 2; t++)
            pthread_create(&threads[t], NULL, call_openmp, threads);
        for (int t = 0; t < 2; t++)
            joined(threads[t]);
        OK(unload("openmp"));
        ck_assert(gone.unmapped);
        ck_assert_uint_eq(mappings(cache), 0);
    }
    ck_assert_uint_gt(mappings("libgomp"), 0);
}
END_TEST

UNIT_SUITE(hazards)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, plugin_that_must_stay_mapped_is_detached_and_says_why, 0,
                        DPI_COUNT(keepers));
    tcase_add_test(tc, plugin_with_openmp_goes_and_its_library_stays);
}
