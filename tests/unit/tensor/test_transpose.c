/* test_transpose.c -- copies between layouts whose innermost dimensions differ. */
#include "tensors.h"

/* Larger than a tile, by a rest, or by none; so large that threads share it. */
START_TEST(copies_across_the_layout_move_every_element)
{
    static const int64_t shapes[][3] = {{2, 130, 70}, {70, 2, 130},  {3, 5, 128},
                                        {1, 65, 64},  {7, 150, 210}, {301, 3, 202}};

    OK(dp_thread_pool_start(_i, &err));
    for (size_t i = 0; i < DPI_COUNT(shapes); i++)
        for (int turn = 0; turn < 6; turn++) {
            static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                             {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
            const int64_t *s = shapes[i];
            dp_tensor *whole = floats(3, s), *turned = NULL, *copy = make(DP_FLOAT32, 0, 3, s);
            int64_t strides[3], next = 1;
            for (int d = 0; d < 3; next *= s[orders[turn][d]], d++)
                strides[orders[turn][d]] = next;
            OK(dp_tensor_new(DP_FLOAT32, 0, 3, s, strides, &turned, &err));
            OK(dpi_copy(turned, whole, 0, &err));
            OK(dpi_copy(copy, turned, 0, &err));
            ck_assert_mem_eq(copy->geometry->storage->data, whole->geometry->storage->data,
                             whole->geometry->storage->bytes);
            const float *at = turned->geometry->storage->data;
            ck_assert_float_eq(at[(s[0] - 1) * strides[0]], (float)((s[0] - 1) * s[1] * s[2]));
            dp_tensor_unref(whole);
            dp_tensor_unref(turned);
            dp_tensor_unref(copy);
        }
    dp_thread_pool_stop();
}
END_TEST

UNIT_SUITE(transpose)
{
    tcase_add_checked_fixture(tc, alive_begin, alive_end);
    tcase_add_loop_test(tc, copies_across_the_layout_move_every_element, 0, 3);
}
