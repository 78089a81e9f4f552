/* test_meter.c -- the bytes that fakes would take. */
#include "tensor/meter.h"
#include "tensors.h"

/* Make a fake of a tensor of `n` floats. */
static dp_tensor *fake_of(int64_t n)
{
    dp_tensor *t = floats(1, (int64_t[]){n}), *fake = NULL;

    OK(dpi_tensor_fake(t, &fake, &err));
    dp_tensor_unref(t);
    return fake;
}

START_TEST(fakes_count_while_they_exist)
{
    dpi_meter *m = dpi_meter_new();
    dp_tensor *before = fake_of(100), *first, *second;

    ck_assert_ptr_null(dpi_meter_use(m));
    dp_tensor *real = floats(1, (int64_t[]){50});
    first = fake_of(10);
    second = fake_of(20);
    ck_assert_ptr_eq(dpi_meter_use(NULL), m);
    dp_tensor *after = fake_of(100);
    ck_assert_uint_eq(dpi_meter_now(m), 120);
    dp_tensor_unref(first);
    dp_tensor_unref(before);
    dp_tensor_unref(after);
    ck_assert_uint_eq(dpi_meter_now(m), 80);
    dpi_meter_add(m, 5);
    dpi_meter_sub(m, 3);
    ck_assert_uint_eq(dpi_meter_now(m), 82);
    ck_assert_uint_eq(dpi_meter_peak(m), 120);
    dpi_meter_unref(m);
    dp_tensor_unref(second); /* it holds the meter */
    dp_tensor_unref(real);
}
END_TEST

UNIT_SUITE(meter)
{
    tcase_add_checked_fixture(tc, alive_begin, alive_end);
    tcase_add_test(tc, fakes_count_while_they_exist);
}
