/* test_empty.c -- new tensors in a memory format, or laid out like another. */
#include "../alive.h"
#include "tensor/room.h"

static dp_error err;
static const dpi_target cpu = {DP_DEVICE_CPU, 0, NULL};

static void lies_as(const dp_tensor *t, const int64_t *strides)
{
    const dpi_geometry *g = dpi_geometry_of(t);

    for (int d = 0; d < g->ndim; d++)
        ck_assert_int_eq(g->strides[d], strides[d]);
}

START_TEST(empty_lies_in_its_memory_format)
{
    dp_tensor *t = NULL;

    OK(dpi_empty(DP_FLOAT32, cpu, 4, SIZES(2, 3, 4, 5), DP_CONTIGUOUS, &t, &err));
    lies_as(t, SIZES(60, 20, 5, 1));
    dp_tensor_unref(t);
    OK(dpi_empty(DP_FLOAT32, cpu, 4, SIZES(2, 3, 4, 5), DP_CHANNELS_LAST, &t, &err));
    lies_as(t, SIZES(60, 1, 15, 3));
    dp_tensor_unref(t);
    FAILS(dpi_empty(DP_FLOAT32, cpu, 2, SIZES(-1, 3), DP_CHANNELS_LAST, &t, &err), DP_ERUNTIME,
          "negative");
}
END_TEST

START_TEST(empty_like_keeps_the_order_of_dimensions)
{
    dp_tensor *t = NULL, *gaps = NULL, *like = NULL;

    OK(dp_tensor_new(DP_INT64, DP_DEVICE_CPU, 2, SIZES(3, 4), SIZES(1, 3), &t, &err));
    OK(dpi_empty_like(t, DP_DTYPE_NONE, cpu, DP_PRESERVE, &like, &err));
    ck_assert_int_eq(like->dtype, DP_INT64);
    lies_as(like, SIZES(1, 3));
    dp_tensor_unref(like);
    OK(dpi_empty_like(t, DP_FLOAT32, cpu, DP_CONTIGUOUS, &like, &err));
    ck_assert_int_eq(like->dtype, DP_FLOAT32);
    lies_as(like, SIZES(4, 1));
    dp_tensor_unref(like);
    OK(dp_tensor_new_storage(DP_INT64, DP_DEVICE_CPU, 40, 2, SIZES(3, 4), SIZES(2, 10), 0, &gaps,
                             &err));
    OK(dpi_empty_like(gaps, DP_DTYPE_NONE, cpu, DP_PRESERVE, &like, &err));
    lies_as(like, SIZES(1, 3)); /* without the gaps */
    dp_tensor_unref(like);
    dp_tensor_unref(gaps);
    dp_tensor_unref(t);
}
END_TEST

UNIT_SUITE(empty)
{
    tcase_add_checked_fixture(tc, alive_begin, alive_end);
    tcase_add_test(tc, empty_lies_in_its_memory_format);
    tcase_add_test(tc, empty_like_keeps_the_order_of_dimensions);
}
