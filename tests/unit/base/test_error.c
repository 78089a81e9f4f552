/* test_error.c -- errors, their names and messages. */
#include "base/backend.h"
#include "unit.h"
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

START_TEST(error_every_code_has_a_name_and_a_text)
{
#define CHECK(code, number, wire, text)                                                            \
    ck_assert_int_eq(code, number);                                                                \
    ck_assert_str_eq(dp_error_name(code), wire);                                                   \
    ck_assert_str_eq(dp_error_text(code), text);                                                   \
    ck_assert_str_ne(dp_error_text(code), "");
    DP_ERROR_MAP(CHECK)
#undef CHECK
    ck_assert_ptr_null(dp_error_name(1));
    ck_assert_ptr_null(dp_error_text(-1000));
}
END_TEST

START_TEST(error_may_be_wrapped_into_itself)
{
    dp_error err = DP_ERROR_INIT;

    ck_assert_int_eq(dp_error_set(&err, DP_EVALUE, "inner %d", 7), DP_EVALUE);
    snprintf(err.op, sizeof(err.op), "aten::add");
    ck_assert_int_eq(dp_error_set(&err, DP_EBUSY, "outer: %s", err.message), DP_EBUSY);
    ck_assert_str_eq(err.message, "outer: inner 7");
    ck_assert_str_eq(err.op, "");
    ck_assert_int_eq(dp_error_set(NULL, DP_EBUSY, "nobody listens"), DP_EBUSY);
}
END_TEST

START_TEST(error_message_is_cut_between_characters)
{
    dp_error err = DP_ERROR_INIT;
    char text[2 * DP_ERROR_MESSAGE_MAX];

    for (size_t i = 0; i + 1 < sizeof(text); i++)
        text[i] = "\xe2\x82\xac"[i % 3]; /* a euro is 3 bytes, 2047 is not a multiple of 3 */
    text[sizeof(text) - 1] = '\0';
    dp_error_set(&err, DP_EVALUE, "%s", text);
    ck_assert_uint_eq(strlen(err.message), (DP_ERROR_MESSAGE_MAX - 1) / 3 * 3);
}
END_TEST

START_TEST(error_is_due_to_a_limit)
{
    dp_error err = DP_ERROR_INIT, outer = DP_ERROR_INIT;

    ck_assert_ptr_null(dp_error_refusal(&err));
    dp_error_set(&err, DP_ERESOURCE, "71 of 70");
    ck_assert_int_eq(dp_error_limit(err.code, "programs", 70, 71), DP_ERESOURCE);
    dp_error_set(&outer, err.code, "step 3: %s", err.message);
    const dp_refusal *refused = dp_error_refusal(&outer);
    ck_assert_ptr_nonnull(refused);
    ck_assert_str_eq(refused->limit, "programs");
    ck_assert_uint_eq(refused->most, 70);
    ck_assert_uint_eq(refused->asked, 71);
    dp_error_set(&err, DP_EVALUE, "another failure");
    ck_assert_ptr_null(dp_error_refusal(&err));
    ck_assert_ptr_null(dp_error_refusal(&outer));
    dp_error_limit(dp_error_set(&err, DP_ERESOURCE, "71 of 70"), "programs", 70, 71);
    dpi_no_memory(&err, "a thing");
    ck_assert_ptr_null(dp_error_refusal(&err));
    dp_error_limit(dp_error_set(&err, DP_ERESOURCE, "71 of 70"), "programs", 70, 71);
    dp_error_refusal_clear();
    ck_assert_ptr_null(dp_error_refusal(&err));
}
END_TEST

UNIT_SUITE(error)
{
    tcase_add_test(tc, error_every_code_has_a_name_and_a_text);
    tcase_add_test(tc, error_may_be_wrapped_into_itself);
    tcase_add_test(tc, error_is_due_to_a_limit);
    tcase_add_test(tc, error_message_is_cut_between_characters);
}
