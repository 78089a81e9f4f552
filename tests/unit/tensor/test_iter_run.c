/* test_iter_run.c -- loops that run on the pool, and loops that do not. */
#include "loops.h"

START_TEST(no_elements_no_loop)
{
    int64_t sizes[] = {0, 5}, one[] = {1, 5};
    dp_tensor *in[2] = {counting(DP_FLOAT32, 2, sizes), counting(DP_INT64, 2, one)};
    dp_tensor *out[1] = {NULL};
    atomic_llong elements = 0;
    dp_iter it;

    ck_assert_int_eq(init(out, 1, in, 2, DP_ITER_PROMOTE, DP_DTYPE_NONE, &it), DP_OK);
    ck_assert_int_eq(dpi_iter_run_1d(&it, 0, count_calls, &elements, NULL, &err), DP_OK);
    ck_assert_int_eq(elements, 0);
    ck_assert_int_eq(out[0]->geometry->sizes[0], 0);
    dp_tensor_unref(in[0]);
    dp_tensor_unref(in[1]);
    dp_tensor_unref(out[0]);
}
END_TEST

/* Pieces begin and end anywhere in the nest. */
START_TEST(big_loops_run_on_the_pool)
{
    int64_t sizes[] = {50, 3, 1000}, rows[] = {50, 1, 1000};
    dp_tensor *in[2] = {counting(DP_INT32, 3, sizes), counting(DP_INT32, 3, rows)},
              *out[1] = {NULL};
    dp_tensor *back = NULL;
    dp_iter it;
    double *all = calloc(150000, sizeof(*all));

    ck_assert_int_eq(dp_thread_pool_start(3, &err), DP_OK);
    ck_assert_int_eq(
        init(out, 1, in, 2, DP_ITER_PROMOTE | DP_ITER_INT_TO_FLOAT, DP_DTYPE_NONE, &it), DP_OK);
    ck_assert_int_eq(dpi_iter_run_1d(&it, 0, add_float, NULL, NULL, &err), DP_OK);
    dp_thread_pool_stop();
    ck_assert_int_eq(dp_tensor_new(DP_FLOAT64, 0, 3, sizes, NULL, &back, &err), DP_OK);
    ck_assert_int_eq(dpi_copy(back, out[0], 0, &err), DP_OK);
    ck_assert_int_eq(dp_tensor_read(back, all, &err), DP_OK);
    for (int64_t i = 0; i < 150000; i++)
        ck_assert_double_eq(all[i], (double)(i + i / 3000 * 1000 + i % 1000));
    free(all);
    dp_tensor_unref(back);
    dp_tensor_unref(in[0]);
    dp_tensor_unref(in[1]);
    dp_tensor_unref(out[0]);
}
END_TEST

static void count_pieces(char *const *data, const int64_t *s, int64_t n, void *user)
{
    (void)data, (void)s, (void)n;
    atomic_fetch_add((atomic_int *)user, 1);
}

/* Flags for the order of elements, or for the layout of outputs, do not make a loop serial. */
START_TEST(only_serial_loops_are_one_piece)
{
    const uint32_t flags[] = {DP_ITER_SERIAL, 0, DP_ITER_NUMBER, DP_ITER_LINEAR,
                              DP_ITER_LOOP_CASTS};
    int64_t sizes[] = {1 << 17}; /* four grains */
    dp_tensor *in = counting(DP_FLOAT32, 1, sizes);

    ck_assert_int_eq(dp_thread_pool_start(3, &err), DP_OK);
    for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
        dp_tensor *out = NULL;
        atomic_int pieces = 0;
        dp_iter it;
        ck_assert_int_eq(init(&out, 1, &in, 1, flags[i], DP_DTYPE_NONE, &it), DP_OK);
        ck_assert_int_eq(dpi_iter_run_1d(&it, 4, count_pieces, &pieces, NULL, &err), DP_OK);
        ck_assert_msg((atomic_load(&pieces) == 1) == (i == 0), "flags %u: %d pieces", flags[i],
                      atomic_load(&pieces));
        dp_tensor_unref(out);
    }
    dp_thread_pool_stop();
    dp_tensor_unref(in);
}
END_TEST

UNIT_SUITE(iter_run)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, no_elements_no_loop);
    tcase_add_test(tc, big_loops_run_on_the_pool);
    tcase_add_test(tc, only_serial_loops_are_one_piece);
}
