/* test_base.c -- arrays grow without losing items, and items are found by their ids. */
#include "daemon.h"
#include "unit.h"
#include <string.h>

START_TEST(an_array_keeps_its_items_as_it_grows)
{
    uint64_t *items = NULL;
    size_t cap = 0;

    for (size_t n = 0; n < 1000; n++) {
        items = array_grow(items, n, &cap, sizeof(*items));
        ck_assert_uint_gt(cap, n);
        items[n] = n;
    }
    for (size_t i = 0; i < 1000; i++)
        ck_assert_uint_eq(items[i], i);
    dp_free(items);
}
END_TEST

START_TEST(an_array_without_memory_stays_as_it_is)
{
    size_t cap = 0;
    uint64_t *items = array_grow(NULL, 0, &cap, sizeof(*items));
    size_t before = cap;

    dp_fault_arm(1);
    ck_assert_ptr_null(array_grow(items, cap, &cap, sizeof(*items)));
    dp_fault_arm(0);
    ck_assert_uint_eq(cap, before);
    dp_free(items);
}
END_TEST

typedef struct item {
    uint64_t id;
    const char *name;
} item;

START_TEST(items_are_found_by_their_ids)
{
    static const item items[] = {{2, "b"}, {3, "c"}, {7, "g"}, {90, "z"}};

    for (size_t n = 0; n <= 4; n++)
        for (size_t i = 0; i < 4; i++) {
            const item *found = array_find(items, n, sizeof(items[0]), items[i].id);
            ck_assert_ptr_eq(found, i < n ? &items[i] : NULL);
        }
    ck_assert_ptr_null(array_find(items, 4, sizeof(items[0]), 1));
    ck_assert_ptr_null(array_find(items, 4, sizeof(items[0]), 8));
    ck_assert_ptr_null(array_find(items, 4, sizeof(items[0]), UINT64_MAX));
}
END_TEST

START_TEST(limits_have_names_and_defaults)
{
    ck_assert_str_eq(limit_names[LIMIT_AT_LINE_BYTES], "line_bytes");
    ck_assert_int_eq(limit_defaults[LIMIT_AT_LINE_BYTES], LIMIT_LINE_BYTES);
    for (int i = 0; i < LIMITS; i++)
        ck_assert_msg(limit_defaults[i] > 0, "%s", limit_names[i]);
}
END_TEST

START_TEST(the_clock_does_not_go_back)
{
    for (uint64_t i = 0, last = 0; i < 1000; i++) {
        uint64_t now = nanos();
        ck_assert_uint_ge(now, last);
        last = now;
    }
}
END_TEST

UNIT_SUITE(daemon_base)
{
    tcase_add_test(tc, an_array_keeps_its_items_as_it_grows);
    tcase_add_test(tc, an_array_without_memory_stays_as_it_is);
    tcase_add_test(tc, items_are_found_by_their_ids);
    tcase_add_test(tc, limits_have_names_and_defaults);
    tcase_add_test(tc, the_clock_does_not_go_back);
}
