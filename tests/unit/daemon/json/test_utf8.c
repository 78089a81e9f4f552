/* test_utf8.c -- UTF-8 sequences: valid ones by their length, invalid ones refused, code points
 * written. */
#include "json/text.h"
#include "unit.h"

static const struct {
    const char *bytes;
    size_t n, length;
} sequences[] = {
    {"a", 1, 1},
    {"\xc3\xa9", 2, 2},
    {"\xe2\x82\xac", 3, 3},
    {"\xf0\x9f\x98\x80", 4, 4},
    {"\xf0\x9f\x98\x80", 3, 0}, /* cut */
    {"\xc0\xaf", 2, 0},         /* overlong */
    {"\xe0\x80\x80", 3, 0},     /* overlong */
    {"\xed\xa0\x80", 3, 0},     /* a surrogate */
    {"\xf4\x90\x80\x80", 4, 0}, /* beyond U+10FFFF */
    {"\x80", 1, 0},             /* a continuation alone */
    {"\xc3\x28", 2, 0},         /* no continuation */
};

START_TEST(sequences_have_their_lengths)
{
    ck_assert_uint_eq(utf8_sequence(sequences[_i].bytes, sequences[_i].n), sequences[_i].length);
}
END_TEST

START_TEST(every_code_point_is_written_as_a_valid_sequence)
{
    char text[8];

    for (unsigned c = 1; c < 0x110000; c++) {
        size_t n = (size_t)(utf8_put(text, c) - text);
        if (c < 0xd800 || c > 0xdfff)
            unit_each(utf8_sequence(text, n) == n, "U+%04X", c);
    }
}
END_TEST

UNIT_SUITE(utf8)
{
    tcase_add_loop_test(tc, sequences_have_their_lengths, 0,
                        sizeof(sequences) / sizeof(sequences[0]));
    tcase_add_test(tc, every_code_point_is_written_as_a_valid_sequence);
}
