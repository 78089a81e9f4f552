/* test_siphash.c -- known results of SipHash-2-4-128, whatever the pieces are. */
#include "base/base.h"
#include "../unit.h"

/* Key 00 01 .. 0f, input 00 01 02 ..: from the reference implementation's vectors_sip128. */
static const struct {
    size_t n;
    uint8_t wants[16];
} known[] = {
    {0,
     {0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6, 0x6d, 0xf6, 0x72, 0x14, 0xc7, 0x55, 0x02,
      0x93}},
    {1,
     {0xda, 0x87, 0xc1, 0xd8, 0x6b, 0x99, 0xaf, 0x44, 0x34, 0x76, 0x59, 0x11, 0x9b, 0x22, 0xfc,
      0x45}},
    {15,
     {0x54, 0x93, 0xe9, 0x99, 0x33, 0xb0, 0xa8, 0x11, 0x7e, 0x08, 0xec, 0x0f, 0x97, 0xcf, 0xc3,
      0xd9}},
};

START_TEST(results_are_those_of_the_reference)
{
    uint8_t in[64], got[16];
    uint64_t out[2];

    for (size_t i = 0; i < sizeof(in); i++)
        in[i] = (uint8_t)i;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        dpi_siphash h;
        dpi_siphash_begin(&h, 0x0706050403020100, 0x0f0e0d0c0b0a0908);
        dpi_siphash_add(&h, in, known[i].n);
        dpi_siphash_end(&h, out);
        for (size_t k = 0; k < 16; k++)
            got[k] = (uint8_t)(out[k / 8] >> 8 * (k % 8));
        ck_assert_mem_eq(got, known[i].wants, 16);
    }
}
END_TEST

START_TEST(pieces_do_not_matter)
{
    uint8_t in[64];
    uint64_t whole[2], pieces[2];

    for (size_t i = 0; i < sizeof(in); i++)
        in[i] = (uint8_t)(i * 7);
    for (size_t n = 0; n <= sizeof(in); n++)
        for (size_t a = 0; a <= n; a++) {
            dpi_siphash h;
            dpi_siphash_begin(&h, 1, 2);
            for (size_t i = 0; i < n; i++)
                dpi_siphash_add(&h, in + i, 1);
            dpi_siphash_end(&h, whole);
            dpi_siphash_begin(&h, 1, 2);
            dpi_siphash_add(&h, in, a);
            dpi_siphash_add(&h, in + a, n - a);
            dpi_siphash_end(&h, pieces);
            unit_each(whole[0] == pieces[0] && whole[1] == pieces[1], "%zu bytes, cut at %zu", n,
                      a);
        }
}
END_TEST

UNIT_SUITE(siphash)
{
    tcase_add_test(tc, results_are_those_of_the_reference);
    tcase_add_test(tc, pieces_do_not_matter);
}
