/* test_literal.c -- tensor literals: dtype, shape, strides, attachments, and what does not fit
 * together. */
#include "values.h"

/* The tensor that the literal makes, kept until the request ends. */
static dp_view tensor(const char *text)
{
    dp_view v = {.size = sizeof(v)};
    dp_tensor *t = NULL;
    int rc = tensor_from_json(&rq, json(text), NULL, &t, &err);

    ck_assert_msg(rc == 0, "%s", err.message);
    ck_assert_int_eq(run_keep(&rq, t, &err), 0);
    dp_tensor_view(t, &v);
    return v;
}

START_TEST(data_says_its_shape)
{
    dp_view v = tensor("{\"data\":[[1,2,3],[4,5,6]],\"dtype\":\"int16\"}");

    ck_assert(v.ndim == 2 && v.sizes[0] == 2 && v.sizes[1] == 3 && v.dtype == DP_INT16);
    ck_assert_int_eq(((const int16_t *)v.data)[5], 6);
    v = tensor("{\"data\":7}");
    ck_assert(v.ndim == 0 && v.dtype == DP_FLOAT32);
    v = tensor("{\"data\":[true,false]}");
    ck_assert_int_eq(v.dtype, DP_BOOL);
    v = tensor("{\"data\":[[1,2]],\"dtype\":\"complex64\"}");
    ck_assert(v.ndim == 1 && v.dtype == DP_COMPLEX64);
}
END_TEST

START_TEST(every_dtype_has_its_name)
{
    static const char *const names[] = {"uint8",   "int8",      "int16",      "int32",
                                        "int64",   "float16",   "bfloat16",   "float32",
                                        "float64", "complex64", "complex128", "bool"};
    char text[64];

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(text, sizeof(text), "{\"data\":[],\"dtype\":\"%s\"}", names[i]);
        ck_assert_str_eq(dp_dtype_name(tensor(text).dtype), names[i]);
    }
}
END_TEST

START_TEST(strides_lie_over_a_flat_storage)
{
    dp_view v = tensor("{\"data\":[1,2,3,4,5],\"shape\":[2,2],\"strides\":[1,2],"
                       "\"storage_offset\":1}");

    ck_assert(v.sizes[0] == 2 && v.strides[0] == 1 && v.strides[1] == 2);
    ck_assert_float_eq(((const float *)v.data)[0], 2);
}
END_TEST

START_TEST(an_attachment_holds_the_elements)
{
    static uint8_t bytes[] = {9, 1, 2};
    static size_t sizes[] = {1, 2}, offsets[] = {0, 1};

    rq.attached = bytes;
    rq.n_attachments = 2;
    rq.attachment_bytes = sizes;
    rq.attachment_offset = offsets;
    dp_view v = tensor("{\"attachment\":1,\"dtype\":\"uint8\",\"shape\":[2]}");
    ck_assert_int_eq(((const uint8_t *)v.data)[1], 2);
}
END_TEST

static const struct {
    const char *json;
    int rc;
    const char *message;
} wrong[] = {
    {"{}", DP_EVALUE, "params: a tensor literal needs one of data, attachment, fd and map"},
    {"{\"data\":[1],\"attachment\":0}", DP_EVALUE,
     "params: a tensor literal needs one of data, attachment, fd and map"},
    {"{\"attachment\":0}", DP_EVALUE, "params: an attachment needs dtype and shape"},
    {"{\"attachment\":3,\"dtype\":\"bool\",\"shape\":[1]}", DP_EVALUE,
     "attachment: attachment 3, but the message has 0"},
    {"{\"data\":[1,2],\"shape\":[3]}", DP_EVALUE, "data: shape [3] was given but data has [2]"},
    {"{\"data\":[1],\"strides\":[1]}", DP_EVALUE,
     "params: strides and storage_offset need a shape"},
    {"{\"data\":[1],\"shape\":[1],\"strides\":[1,1]}", DP_EVALUE,
     "params: strides have 2 dimensions but shape has 1"},
    {"{\"data\":[300],\"dtype\":\"uint8\"}", DP_EVALUE,
     "data[0]: 300 does not fit uint8 (0 to 255)"},
};

START_TEST(wrong_literals_are_told)
{
    dp_tensor *t = NULL;

    ck_assert_int_eq(tensor_from_json(&rq, json(wrong[_i].json), NULL, &t, &err), wrong[_i].rc);
    ck_assert_str_eq(err.message, wrong[_i].message);
}
END_TEST

UNIT_SUITE(literal)
{
    tcase_add_checked_fixture(tc, values_begin, values_end);
    tcase_add_test(tc, data_says_its_shape);
    tcase_add_test(tc, every_dtype_has_its_name);
    tcase_add_test(tc, strides_lie_over_a_flat_storage);
    tcase_add_test(tc, an_attachment_holds_the_elements);
    tcase_add_loop_test(tc, wrong_literals_are_told, 0, sizeof(wrong) / sizeof(wrong[0]));
}
