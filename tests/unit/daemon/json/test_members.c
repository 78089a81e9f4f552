/* test_members.c -- two members of one name are found, however many there are. */
#include "json/text.h"
#include "unit.h"

static int repeated(const char *text, size_t n)
{
    cJSON *object = cJSON_Parse(text);
    dp_error err = DP_ERROR_INIT;

    ck_assert_ptr_nonnull(object);
    int rc = json_name_repeated(object, n, &err);
    if (rc < 0)
        ck_assert_str_eq(err.message, "duplicate member 'a'");
    cJSON_Delete(object);
    return rc;
}

START_TEST(a_repeated_name_is_found)
{
    ck_assert_int_eq(repeated("{\"a\":1,\"b\":2,\"c\":3}", 3), 0);
    ck_assert_int_eq(repeated("{\"a\":1,\"b\":2,\"a\":3}", 3), DP_EVALUE);
    ck_assert_int_eq(repeated("{\"a\":1,\"A\":2,\"aa\":3}", 3), 0);
}
END_TEST

UNIT_SUITE(members)
{
    tcase_add_test(tc, a_repeated_name_is_found);
}
