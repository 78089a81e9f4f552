/* test_twist.c -- what the bits Conjugate and Negative say of bytes, done to bytes. */
#include "tensor/room.h"
#include "unit.h"
#include <math.h>

static const uint64_t conjugate = DPI_BIT(Conjugate), negative = DPI_BIT(Negative);

START_TEST(twist_negates_and_conjugates)
{
    static const struct {
        uint64_t bits;
        double re, im;
    } want[] = {{0, 1, 2},
                {DPI_BIT(Conjugate), 1, -2},
                {DPI_BIT(Negative), -1, -2},
                {DPI_BIT(Conjugate) | DPI_BIT(Negative), -1, 2}};

    for (size_t i = 0; i < DPI_COUNT(want); i++) {
        double z[4] = {1, 2, 1, 2};
        dpi_twist(DP_COMPLEX128, want[i].bits, 1, (int64_t[]){2}, (int64_t[]){1}, (char *)z);
        for (int e = 0; e < 4; e += 2) {
            ck_assert(z[e] == want[i].re);
            ck_assert(z[e + 1] == want[i].im);
        }
    }
}
END_TEST

START_TEST(twist_reaches_the_elements_alone)
{
    int32_t x[8] = {1, 2, 3, 4, 5, 6, 7, INT32_MIN};
    static const int32_t want[8] = {-1, 2, -3, 4, -5, 6, -7, INT32_MIN};

    dpi_twist(DP_INT32, negative, 2, (int64_t[]){2, 2}, (int64_t[]){4, 2}, (char *)x);
    ck_assert_mem_eq(x, want, sizeof(x));
    dpi_twist(DP_INT32, negative, 2, (int64_t[]){0, 2}, (int64_t[]){4, 2}, (char *)x);
    dpi_twist(DP_INT32, conjugate, 1, (int64_t[]){8}, (int64_t[]){1}, (char *)x);
    ck_assert_mem_eq(x, want, sizeof(x));
    dpi_twist(DP_INT32, negative, 0, NULL, NULL, (char *)&x[7]); /* two's complement: itself */
    ck_assert_int_eq(x[7], INT32_MIN);
}
END_TEST

START_TEST(twist_turns_the_sign_of_zero_and_nan)
{
    float f[2] = {0, NAN};

    dpi_twist(DP_FLOAT32, negative, 1, (int64_t[]){2}, (int64_t[]){1}, (char *)f);
    ck_assert(signbit(f[0]) && f[0] == 0);
    ck_assert(isnan(f[1]));
    ck_assert_int_ne(signbit(f[1]) != 0, signbit(NAN) != 0);
}
END_TEST

UNIT_SUITE(twist)
{
    tcase_add_test(tc, twist_negates_and_conjugates);
    tcase_add_test(tc, twist_reaches_the_elements_alone);
    tcase_add_test(tc, twist_turns_the_sign_of_zero_and_nan);
}
