/* test_value.c -- arguments as JSON become values: each kind, nested, and what is wrong with
 * one. */
#include "values.h"

static const json_path at = {NULL, "args", 0};

START_TEST(values_of_each_kind)
{
    dp_value v;

    ck_assert_int_eq(value_from_json(&rq, json("3"), &at, &v, &err), 0);
    ck_assert(v.tag == DP_TAG_INT && v.u.i == 3);
    ck_assert_int_eq(value_from_json(&rq, json("2.5"), &at, &v, &err), 0);
    ck_assert(v.tag == DP_TAG_DOUBLE && v.u.d == 2.5);
    ck_assert_int_eq(value_from_json(&rq, json("true"), &at, &v, &err), 0);
    ck_assert(v.tag == DP_TAG_BOOL && v.u.b);
    ck_assert_int_eq(value_from_json(&rq, json("null"), &at, &v, &err), 0);
    ck_assert(v.tag == DP_TAG_NONE);
    ck_assert_int_eq(value_from_json(&rq, json("\"sum\""), &at, &v, &err), 0);
    ck_assert(v.tag == DP_TAG_STR && v.len == 3 && strcmp(v.u.s, "sum") == 0);
    ck_assert_int_eq(value_from_json(&rq, json("{\"int\":\"-9\"}"), &at, &v, &err), 0);
    ck_assert(v.tag == DP_TAG_INT && v.u.i == -9);
    ck_assert_int_eq(value_from_json(&rq, json("{\"float\":2}"), &at, &v, &err), 0);
    ck_assert(v.tag == DP_TAG_DOUBLE && v.u.d == 2);
    ck_assert_int_eq(value_from_json(&rq, json("{\"complex\":[1,\"inf\"]}"), &at, &v, &err), 0);
    ck_assert(v.tag == DP_TAG_COMPLEX && v.u.doubles[0] == 1);
}
END_TEST

START_TEST(lists_are_nested)
{
    dp_value v;

    ck_assert_int_eq(value_from_json(&rq, json("[1,[2,3],[]]"), &at, &v, &err), 0);
    ck_assert(v.tag == DP_TAG_LIST && v.len == 3);
    ck_assert(v.u.values[1].tag == DP_TAG_LIST && v.u.values[1].len == 2);
    ck_assert_int_eq(v.u.values[1].u.values[1].u.i, 3);
    ck_assert_uint_eq(v.u.values[2].len, 0);
}
END_TEST

START_TEST(a_literal_is_a_tensor)
{
    dp_value v;
    dp_view view = {.size = sizeof(view)};

    ck_assert_int_eq(value_from_json(&rq, json("{\"data\":[[1,2],[3,4]]}"), &at, &v, &err), 0);
    ck_assert(v.tag == DP_TAG_TENSOR);
    dp_tensor_view(v.u.t, &view);
    ck_assert(view.ndim == 2 && view.dtype == DP_FLOAT32);
    ck_assert_float_eq(((const float *)view.data)[3], 4);
}
END_TEST

static const struct {
    const char *json;
    int rc;
    const char *message;
} wrong[] = {
    {"{\"tensor\":7}", DP_ENOTFOUND, "args.tensor: no tensor 7 in this session"},
    {"[1,{\"generator\":7}]", DP_ENOTFOUND, "args[1].generator: no generator 7 in this session"},
    {"{\"complex\":[1]}", DP_EVALUE, "args.complex: expected [re, im] but got array of 1 elements"},
    {"{\"ref\":\"x\"}", DP_EVALUE, "args: ref is for the steps of a program"},
};

START_TEST(wrong_values_are_named_with_their_place)
{
    dp_value v;

    ck_assert_int_eq(value_from_json(&rq, json(wrong[_i].json), &at, &v, &err), wrong[_i].rc);
    ck_assert_str_eq(err.message, wrong[_i].message);
}
END_TEST

UNIT_SUITE(values)
{
    tcase_add_checked_fixture(tc, values_begin, values_end);
    tcase_add_test(tc, values_of_each_kind);
    tcase_add_test(tc, lists_are_nested);
    tcase_add_test(tc, a_literal_is_a_tensor);
    tcase_add_loop_test(tc, wrong_values_are_named_with_their_place, 0,
                        sizeof(wrong) / sizeof(wrong[0]));
}
