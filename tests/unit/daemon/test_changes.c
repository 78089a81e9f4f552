/* test_changes.c -- changes of the registry wait in order, and are merged when too many wait. */
#include "changes.h"
#include "unit.h"
#include <string.h>

static changes c;
static change got[CHANGES_WAITING];

static void begin(void)
{
    changes_init(&c);
}

static void end(void)
{
    changes_fini(&c);
}

START_TEST(nobody_watches)
{
    ck_assert(!changes_add(&c, "p", 1, 2, 0));
    ck_assert_uint_eq(changes_take(&c, got), 0);
    ck_assert_uint_eq(changes_watch(&c, 1), 1); /* the watch begins after change 1 */
    ck_assert_uint_eq(changes_take(&c, got), 0);
}
END_TEST

START_TEST(changes_come_in_order)
{
    changes_watch(&c, 1);
    ck_assert(changes_add(&c, "first", 3, 2, 1));
    ck_assert(changes_add(&c, "second", 4, 0, 5));
    ck_assert_uint_eq(changes_take(&c, got), 2);
    ck_assert_str_eq(got[0].plugin, "first");
    ck_assert_uint_eq(got[0].generation, 3);
    ck_assert_uint_eq(got[0].added, 2);
    ck_assert_uint_eq(got[0].removed, 1);
    ck_assert_uint_eq(got[0].dropped, 0);
    ck_assert_str_eq(got[1].plugin, "second");
    ck_assert_uint_gt(got[1].number, got[0].number);
    ck_assert_uint_eq(changes_take(&c, got), 0);
    changes_watch(&c, -1);
    ck_assert(!changes_add(&c, "third", 5, 1, 0));
}
END_TEST

START_TEST(the_newest_stands_for_those_without_room)
{
    changes_watch(&c, 1);
    for (uint64_t i = 1; i <= CHANGES_WAITING + 3; i++)
        changes_add(&c, "p", i, 1, 0);
    ck_assert_uint_eq(changes_take(&c, got), CHANGES_WAITING);
    ck_assert_uint_eq(got[CHANGES_WAITING - 2].generation, CHANGES_WAITING - 1);
    ck_assert_uint_eq(got[CHANGES_WAITING - 1].generation, CHANGES_WAITING + 3);
    ck_assert_uint_eq(got[CHANGES_WAITING - 1].dropped, 3);
}
END_TEST

START_TEST(a_long_name_is_cut)
{
    char name[2 * DP_LIMIT_NAME_BYTES];

    memset(name, 'x', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    changes_watch(&c, 1);
    changes_add(&c, name, 1, 1, 0);
    ck_assert_uint_eq(changes_take(&c, got), 1);
    ck_assert_uint_eq(strlen(got[0].plugin), DP_LIMIT_NAME_BYTES);
}
END_TEST

UNIT_SUITE(registry_changes)
{
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, nobody_watches);
    tcase_add_test(tc, changes_come_in_order);
    tcase_add_test(tc, the_newest_stands_for_those_without_room);
    tcase_add_test(tc, a_long_name_is_cut);
}
