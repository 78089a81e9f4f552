/* test_overlap.c -- tensors that share memory. */
#include "tensors.h"

START_TEST(copies_onto_shared_elements_are_refused)
{
    int64_t six[] = {6}, five[] = {5}, one[] = {1}, zero[] = {0};
    dp_tensor *t = floats(1, six), *low = NULL, *high = NULL, *point = NULL, *same = NULL;

    OK(dpi_as_strided(t, 1, five, one, 0, &low, &err));
    OK(dpi_as_strided(t, 1, five, one, 1, &high, &err));
    OK(dpi_as_strided(t, 1, five, zero, 0, &point, &err));
    OK(dp_tensor_alias(low, &same, &err));
    ck_assert_int_eq(dp_overlap(low, high), 2);
    ck_assert_int_eq(dp_overlap(low, same), 1);
    ck_assert_int_eq(dp_overlap(low, point), 3);
    FAILS(dpi_copy(low, high, 0, &err), DP_ERUNTIME, "some elements of the input tensor");
    FAILS(dpi_copy(point, high, 0, &err), DP_ERUNTIME, "more than one element of the written-to");
    FAILS(dp_tensor_write(point, "", &err), DP_ERUNTIME, "more than one element of the written-to");
    OK(dpi_copy(low, same, 0, &err));
    OK(dpi_copy(low, low, 0, &err));
    assert_floats(t, 6, (float[]){0, 1, 2, 3, 4, 5});
    dp_tensor *all[] = {t, low, high, point, same};
    for (size_t i = 0; i < DPI_COUNT(all); i++)
        dp_tensor_unref(all[i]);
}
END_TEST

/* As on the host: it is the places in the storage that count. */
START_TEST(overlaps_are_found_without_memory)
{
    int64_t sizes[] = {8}, four[] = {4}, one[] = {1}, zero[] = {0};
    dp_tensor *m = make(DP_FLOAT32, DP_DEVICE(DP_B_Meta, 0), 1, sizes), *v[4];

    for (int i = 0; i < 3; i++)
        OK(dpi_as_strided(m, 1, four, one, 2 * i, &v[i], &err));
    OK(dpi_as_strided(m, 1, four, zero, 0, &v[3], &err));
    ck_assert_int_eq(dp_overlap(v[0], v[1]), DPI_OVERLAP_PARTIAL);
    ck_assert_int_eq(dp_overlap(v[0], v[2]), DPI_OVERLAP_NONE);
    ck_assert_int_eq(dp_overlap(v[0], v[0]), DPI_OVERLAP_FULL);
    FAILS(dpi_copy(v[0], v[1], 0, &err), DP_ERUNTIME, "refer to a single memory location");
    FAILS(dpi_copy(v[3], v[1], 0, &err), DP_ERUNTIME, "more than one element");
    for (int i = 0; i < 4; i++)
        dp_tensor_unref(v[i]);
    dp_tensor_unref(m);
}
END_TEST

UNIT_SUITE(overlap)
{
    tcase_add_checked_fixture(tc, alive_begin, alive_end);
    tcase_add_test(tc, copies_onto_shared_elements_are_refused);
    tcase_add_test(tc, overlaps_are_found_without_memory);
}
