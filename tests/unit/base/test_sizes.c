/* test_sizes.c -- products of sizes, and their refusals. */
#include "../tensor/huge.h"

START_TEST(products_are_exact_or_over_every_limit)
{
    static const struct {
        uint64_t each;
        int64_t sizes[3];
        size_t n;
        uint64_t product;
    } rows[] = {
        {8, {0}, 0, 8},
        {1, {2, 3, 4}, 3, 24},
        {8, {BIG / 4}, 1, (uint64_t)1 << 62},
        {8, {BIG}, 1, UINT64_MAX}, /* 2^64 */
        {4, {BIG * 2}, 1, UINT64_MAX},
        {1, {INT64_MAX, INT64_MAX}, 2, UINT64_MAX},
        {2, {INT64_MAX}, 1, (uint64_t)INT64_MAX * 2},
        {8, {BIG, BIG, 0}, 3, 0},
        {8, {0, INT64_MAX, INT64_MAX}, 3, 0},
        {0, {BIG, BIG}, 2, 0},
        {1, {-1, 2}, 2, UINT64_MAX},
    };

    for (size_t i = 0; i < DPI_COUNT(rows); i++) {
        uint64_t got = dp_sizes_product(rows[i].each, rows[i].sizes, rows[i].n);
        ck_assert_msg(got == rows[i].product, "row %zu: got %llu, want %llu", i,
                      (unsigned long long)got, (unsigned long long)rows[i].product);
    }
    ck_assert_uint_eq(dp_size_plus(UINT64_MAX - 1, 1), UINT64_MAX);
    ck_assert_uint_eq(dp_size_plus(UINT64_MAX, UINT64_MAX), UINT64_MAX);
    ck_assert_uint_eq(dp_size_times(0, UINT64_MAX), 0);
}
END_TEST

START_TEST(a_refusal_names_sizes_item_and_limit)
{
    int64_t sizes[] = {3, BIG};

    ck_assert_int_eq(dp_sizes_check(10, 10, "LIMIT_X", sizes, 2, 8, &err), DP_OK);
    ck_assert_int_eq(dp_sizes_check(11, 10, "LIMIT_X", sizes, 1, 8, &err), DP_ERESOURCE);
    ck_assert_str_eq(err.message,
                     "sizes [3] with items of 8 bytes come to 11 bytes, the limit is 10 (LIMIT_X)");
    ck_assert_int_eq(dp_sizes_check(UINT64_MAX, 10, "LIMIT_X", sizes, 2, 8, &err), DP_ERESOURCE);
    ck_assert_str_eq(err.message, "sizes [3, 2305843009213693952] with items of 8 bytes come to "
                                  "2^64 or more bytes, the limit is 10 (LIMIT_X)");
}
END_TEST

START_TEST(long_shapes_are_cut_within_their_room)
{
    int64_t sizes[DP_DIM_MAX];
    char text[DP_SHAPE_TEXT];

    ck_assert_str_eq(dp_shape_text(text, NULL, 0), "[]");
    ck_assert_str_eq(dp_shape_text(text, (int64_t[]){2, -1}, 2), "[2, -1]");
    for (int d = 0; d < DP_DIM_MAX; d++)
        sizes[d] = INT64_MIN;
    size_t n = strlen(dp_shape_text(text, sizes, DP_DIM_MAX));
    ck_assert_uint_lt(n, DP_SHAPE_TEXT);
    ck_assert_str_eq(text + n - 6, ", ...]");
}
END_TEST

UNIT_SUITE(sizes)
{
    tcase_add_test(tc, products_are_exact_or_over_every_limit);
    tcase_add_test(tc, a_refusal_names_sizes_item_and_limit);
    tcase_add_test(tc, long_shapes_are_cut_within_their_room);
}
