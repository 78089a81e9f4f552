/* test_fp.c -- base/fp.h: each mode that an operation can be told by is seen and set back. */
#include "unit.h"
#include "base/fp.h"
#include <fenv.h>

#if defined(__x86_64__)
enum { DEFAULT_MXCSR = 0x1f80, ROUNDINGS = 4 };

/* The environment of C with these modes; both units round alike, as after fesetround(). */
static dpi_fp environment(unsigned rounding, unsigned ftz, unsigned daz)
{
    return (dpi_fp)(0x037f | rounding << 10) << 32 | DEFAULT_MXCSR | rounding << 13 |
           (ftz ? DPI_MXCSR_FTZ : 0) | (daz ? DPI_MXCSR_DAZ : 0);
}

START_TEST(fp_modes_are_seen)
{
    for (unsigned m = 0; m < ROUNDINGS * 4; m++) {
        dpi_fp set = environment(m / 4, m & 1, m & 2);
        dpi_fp_set(set);
        dpi_fp seen = dpi_fp_look();
        dpi_fp back = dpi_fp_of(seen, dpi_fp_get());
        dpi_fp changed =
            dpi_fp_of(seen, environment(3, 1, 1)); /* after other code set all of them */
        dpi_fp_set(DPI_FP_DEFAULT);
        ck_assert_uint_eq(seen, m == 0 ? 0 : set);
        ck_assert_uint_eq(back, set);
        ck_assert_uint_eq(changed, set);
    }
}
END_TEST
#endif

START_TEST(fp_rounding_is_seen)
{
    static const int directions[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    const dpi_fp usual = dpi_fp_look();

    for (size_t i = 0; i < sizeof(directions) / sizeof(directions[0]); i++) {
        fesetround(directions[i]);
        dpi_fp seen = dpi_fp_look();
        dpi_fp_set(dpi_fp_of(usual, dpi_fp_get()));
        int now = fegetround();
        fesetround(FE_TONEAREST);
        ck_assert_msg(seen != usual, "direction %d: got %#llx, want another", directions[i],
                      (unsigned long long)seen);
        ck_assert_int_eq(now, FE_TONEAREST);
    }
    ck_assert_uint_eq(dpi_fp_look(), usual);
}
END_TEST

UNIT_SUITE(fp)
{
    tcase_set_tags(tc, "not_valgrind"); /* which keeps no modes */
#if defined(__x86_64__)
    tcase_add_test(tc, fp_modes_are_seen);
#endif
    tcase_add_test(tc, fp_rounding_is_seen);
}
