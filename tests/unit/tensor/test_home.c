/* test_home.c -- the end of homes. */
#include "shapes.h"

/* A view, an alias and a resized tensor hold what they need of each other's homes, whichever goes
 * first; and nothing is left in the end. */
START_TEST(homes_end_with_their_last_holder)
{
    static const int orders[][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 0, 3, 2}, {2, 3, 0, 1}};
    int64_t sizes[] = {3, COLUMNS}, none[] = {0}, two[] = {2}, one[] = {1};
    dp_error err = DP_ERROR_INIT;
    dp_tensor_stats before, now;

    dp_tensor_stats_get(&before);
    for (size_t o = 0; o < DPI_COUNT(orders); o++) {
        dp_tensor *in = make(2, sizes), *ts[4] = {make(1, none)};
        ck_assert_int_eq(dp_tensor_alias(ts[0], &ts[1], &err), DP_OK); /* of what it was */
        ck_assert_int_eq(give_shape(ts[0], in, &err), DP_OK);
        dp_tensor_unref(in);
        ck_assert_int_eq(dpi_as_strided(ts[0], 1, two, one, 5, &ts[2], &err), DP_OK);
        ck_assert_int_eq(dp_tensor_alias(ts[2], &ts[3], &err), DP_OK);
        ck_assert_int_eq(dp_tensor_write(ts[2], &(float[2]){5, 6}, &err), DP_OK);
        for (int i = 0; i < 4; i++) {
            float got[2] = {0};
            ts[orders[o][i]] = dp_tensor_unref(ts[orders[o][i]]);
            if (ts[3] == NULL)
                continue;
            ck_assert_int_eq(dp_tensor_read(ts[3], got, &err), DP_OK);
            ck_assert_msg(got[0] == 5 && got[1] == 6, "order %zu, step %d: %g %g", o, i,
                          (double)got[0], (double)got[1]);
        }
        dp_tensor_stats_get(&now);
        ck_assert_uint_eq(now.tensors, before.tensors);
        ck_assert_uint_eq(now.storages, before.storages);
        ck_assert_uint_eq(now.bytes, before.bytes);
    }
}
END_TEST

/* Each tensor is a view of the one before, and then gets the shape of a new one: each home holds
 * the next one's.  Ending the last one ends them all, on a stack of any size. */
START_TEST(a_long_chain_of_homes_ends_in_a_loop)
{
    enum { LENGTH = 20000 };
    int64_t none[] = {0}, one[] = {1};
    dp_error err = DP_ERROR_INIT;
    dp_tensor *t = make(1, none), *in = make(1, one);

    for (int i = 0; i < LENGTH; i++) {
        dp_tensor *view = NULL;
        ck_assert_int_eq(dpi_as_strided(t, 1, none, one, 0, &view, &err), DP_OK);
        dp_tensor_unref(t);
        t = view;
        ck_assert_int_eq(give_shape(t, in, &err), DP_OK);
    }
    dp_tensor_unref(in);
    dp_tensor_unref(t);
    ck_assert_uint_eq(alive().tensors, 0);
}
END_TEST

UNIT_SUITE(home)
{
    tcase_add_test(tc, homes_end_with_their_last_holder);
    tcase_add_test(tc, a_long_chain_of_homes_ends_in_a_loop);
}
