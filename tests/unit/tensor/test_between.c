/* test_between.c -- copies from one device of a backend to another. */
#include "tensors.h"

START_TEST(alike_tensors_are_copied_without_the_host)
{
    int64_t sizes[] = {2, 3}, turned[] = {1, 2};
    dp_tensor *host = floats(2, sizes), *a = NULL, *b = NULL, *back = make(DP_FLOAT32, 0, 2, sizes);
    dp_device one = open_device(0), other = open_device(1);
    size_t before = faultdev.between;

    OK(dp_tensor_new(DP_FLOAT32, one, 2, sizes, NULL, &a, &err));
    OK(dp_tensor_new(DP_FLOAT32, other, 2, sizes, NULL, &b, &err));
    OK(dpi_copy(a, host, 0, &err));
    ck_assert(dpi_copies_between(b, a) && !dpi_copies_between(a, a) &&
              !dpi_copies_between(a, host));
    OK(dpi_copy(b, a, 0, &err));
    ck_assert_uint_eq(faultdev.between, before + 1);
    OK(dpi_copy(back, b, 0, &err));
    assert_floats(back, 6, (float[]){0, 1, 2, 3, 4, 5});
    faultdev.refuse = DP_EBUSY;
    FAILS(dpi_copy(b, a, 0, &err), DP_EBUSY, "copy_between failed: told to refuse");
    faultdev.refuse = 0;
    dp_tensor_unref(b);
    OK(dp_tensor_new(DP_FLOAT32, other, 2, sizes, turned, &b,
                     &err)); /* lies otherwise: by way of the host */
    before = faultdev.between;
    OK(dpi_copy(b, a, 0, &err));
    ck_assert_uint_eq(faultdev.between, before);
    dp_tensor_unref(a);
    dp_tensor_unref(b);
    dp_tensor_unref(back);
    dp_tensor_unref(host);
    close_device();
}
END_TEST

UNIT_SUITE(between)
{
    tcase_add_checked_fixture(tc, alive_begin, alive_end);
    tcase_add_test(tc, alike_tensors_are_copied_without_the_host);
}
