/* test_strided.c -- copies to and from any strides. */
#include "tensors.h"
#include <dispatchd/dtypes.h>

/* Each through its neighbours: contiguous, transposed and stepped destinations. */
START_TEST(every_dtype_copies_to_every_other)
{
    static const dp_dtype dtypes[] = {
#define ID(name, dtype, ...) dtype,
        DP_DTYPES_ALL(ID)
#undef ID
    };
    int64_t sizes[] = {17, 31}, transposed[] = {1, 17}, stepped[] = {62, 2};
    const int64_t *layouts[] = {NULL, transposed, stepped};
    dp_tensor *numbers_ = floats(2, sizes);

    for (size_t i = 0; i < DPI_COUNT(dtypes) * DPI_COUNT(dtypes) * 9; i++) {
        dp_dtype from = dtypes[i % 12], to = dtypes[i / 12 % 12];
        dp_tensor *a = NULL, *b = NULL, *back = make(DP_FLOAT32, 0, 2, sizes);
        OK(dp_tensor_new(from, 0, 2, sizes, layouts[i / 144 % 3], &a, &err));
        OK(dp_tensor_new(to, 0, 2, sizes, layouts[i / 432], &b, &err));
        OK(dpi_copy(a, numbers_, 0, &err));
        OK(dpi_copy(b, a, 0, &err));
        OK(dpi_copy(back, b, 0, &err));
        for (int k = 0; k < 17 * 31; k += 41) {
            float wanted = (float)k, twice[2];
            char one[2][16];
            dp_convert(from, one[0], DP_FLOAT32, &wanted, 1);
            dp_convert(to, one[1], from, one[0], 1);
            dp_convert(DP_FLOAT32, twice, to, one[1], 1);
            ck_assert_msg(((float *)back->geometry->storage->data)[k] == twice[0],
                          "%s to %s: element %d", dp_dtype_name(from), dp_dtype_name(to), k);
        }
        dp_tensor_unref(a);
        dp_tensor_unref(b);
        dp_tensor_unref(back);
    }
    dp_tensor_unref(numbers_);
}
END_TEST

START_TEST(copies_broadcast_the_source)
{
    int64_t sizes[] = {2, 3}, row[] = {3}, column[] = {2, 1}, one[] = {1, 3};
    dp_tensor *dst = make(DP_FLOAT32, 0, 2, sizes), *r = floats(1, row), *c = floats(2, column);
    dp_tensor *flat = floats(1, row), *wide = floats(2, one);

    OK(dpi_copy(dst, r, 0, &err));
    assert_floats(dst, 6, (float[]){0, 1, 2, 0, 1, 2});
    OK(dpi_copy(dst, c, 0, &err));
    assert_floats(dst, 6, (float[]){0, 0, 0, 1, 1, 1});
    FAILS(dpi_copy(flat, wide, 0, &err), DP_ERUNTIME,
          "output with shape [3] doesn't match the broadcast shape [1, 3]");
    FAILS(dpi_copy(c, r, 0, &err), DP_ERUNTIME,
          "output with shape [2, 1] doesn't match the broadcast shape [2, 3]");
    row[0] = 4;
    dp_tensor *four = floats(1, row);
    FAILS(dpi_copy(dst, four, 0, &err), DP_ERUNTIME,
          "The size of tensor a (3) must match the size of tensor b (4) at non-singleton "
          "dimension 1");
    dp_tensor *all[] = {dst, r, c, flat, wide, four};
    for (size_t i = 0; i < DPI_COUNT(all); i++)
        dp_tensor_unref(all[i]);
}
END_TEST

START_TEST(bytes_written_as_bools_become_bools)
{
    int64_t sizes[] = {4};
    dp_tensor *t = make(DP_BOOL, 0, 1, sizes);
    const unsigned char bytes[4] = {0, 1, 2, 255};
    unsigned char got[4];

    OK(dp_tensor_write(t, bytes, &err));
    OK(dp_tensor_read(t, got, &err));
    ck_assert_int_eq(got[1] + got[2] + got[3] + got[0], 3);
    dp_tensor_unref(t);
}
END_TEST

UNIT_SUITE(strided)
{
    tcase_add_checked_fixture(tc, alive_begin, alive_end);
    tcase_add_test(tc, every_dtype_copies_to_every_other);
    tcase_add_test(tc, copies_broadcast_the_source);
    tcase_add_test(tc, bytes_written_as_bools_become_bools);
}
