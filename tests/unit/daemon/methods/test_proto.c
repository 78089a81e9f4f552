/* test_proto.c -- checked params arrive in their method's struct: each kind, given and left out. */
#include "methods/methods.h"
#include "unit.h"
#include <string.h>

static cJSON *root;

/* The params that `text` holds, checked against those of the method; 0, or DP_EPARAMS with *err. */
static int read_params(const char *name, const char *text, void *out, dp_error *err)
{
    dp_error_clear(err);
    ck_assert_int_eq(json_parse(text, strlen(text), &root, err), 0);
    return proto_read(method_find(name)->params, root, out, err);
}

START_TEST(params_of_every_kind_are_stored)
{
    op_call_params p = {0};
    dp_error err = DP_ERROR_INIT;
    int rc = read_params("op.call",
                         "{\"op\":\"aten::add\",\"args\":[1],\"return\":\"attachment\","
                         "\"deadline_ms\":7,\"trace\":true}",
                         &p, &err);

    ck_assert_int_eq(rc, 0);
    ck_assert_str_eq(p.op, "aten::add");
    ck_assert_int_eq(cJSON_GetArraySize(p.args), 1);
    ck_assert_int_eq(p.return_, RETURN_ATTACHMENT);
    ck_assert(p.has_return && p.has_deadline_ms && p.has_trace);
    ck_assert_int_eq(p.deadline_ms, 7);
    ck_assert(p.trace);
    json_free(root);
}
END_TEST

START_TEST(params_that_are_left_out_are_zero)
{
    op_call_params p = {0};
    dp_error err = DP_ERROR_INIT;

    ck_assert_int_eq(read_params("op.call", "{\"op\":\"a\"}", &p, &err), 0);
    ck_assert_ptr_null(p.args);
    ck_assert_ptr_null(p.kwargs);
    ck_assert_int_eq(p.return_, RETURN_HANDLE);
    ck_assert(!p.has_return && !p.has_deadline_ms && !p.trace && !p.has_timing);
    json_free(root);
}
END_TEST

/* false was given, and is no value that was left out. */
START_TEST(a_param_that_was_given_is_known)
{
    session_set_params p = {0};
    dp_error err = DP_ERROR_INIT;

    ck_assert_int_eq(
        read_params("session.set", "{\"grad_enabled\":false,\"fallback\":\"allow\"}", &p, &err), 0);
    ck_assert(p.has_grad_enabled && !p.grad_enabled);
    ck_assert(p.has_fallback && !p.has_inference);
    json_free(root);
}
END_TEST

static const struct {
    const char *params, *message;
} wrong[] = {
    {"{}", "params: missing member 'op'"},
    {"{\"op\":3}", "op: expected string but got 3"},
    {"{\"op\":\"a\",\"deadline\":1}",
     "params: unknown member 'deadline', did you mean 'deadline_ms'?"},
    {"{\"args\":3}", "args: expected array but got 3"}, /* before what is missing */
    {"[]", "params: expected object but got array"},
};

START_TEST(wrong_params_are_refused)
{
    op_call_params p = {0};
    dp_error err = DP_ERROR_INIT;

    ck_assert_int_eq(read_params("op.call", wrong[_i].params, &p, &err), DP_EPARAMS);
    ck_assert_str_eq(err.message, wrong[_i].message);
    json_free(root);
}
END_TEST

/* A literal among a call's arguments has the members that tensor.create takes. */
START_TEST(an_object_fills_a_struct_without_a_check)
{
    static const char text[] = "{\"storage_offset\":2,\"dtype\":\"bool\",\"device\":\"cpu\"}";
    tensor_create_params p = {0};
    dp_error err = DP_ERROR_INIT;

    ck_assert_int_eq(json_parse(text, sizeof(text) - 1, &root, &err), 0);
    proto_fill(&proto_tensor_create_params, root, &p);
    ck_assert_int_eq(p.storage_offset, 2);
    ck_assert_int_eq(p.dtype, DTYPE_BOOL);
    ck_assert_str_eq(p.device, "cpu");
    ck_assert(p.has_dtype && p.has_storage_offset && !p.has_attachment);
    json_free(root);
}
END_TEST

UNIT_SUITE(params)
{
    tcase_add_test(tc, params_of_every_kind_are_stored);
    tcase_add_test(tc, params_that_are_left_out_are_zero);
    tcase_add_test(tc, a_param_that_was_given_is_known);
    tcase_add_loop_test(tc, wrong_params_are_refused, 0, sizeof(wrong) / sizeof(wrong[0]));
    tcase_add_test(tc, an_object_fills_a_struct_without_a_check);
}
