/* client_values.c -- libdispatchd-client against a daemon: arguments, faults of requests, values of
 * answers and errors.  The daemon has plugin sleeps (tests/plugins). */
#include "client_test.h"
#include <math.h>

/* -- arguments -- */

/* Call an operator that returns one value, and check the value's JSON kind. */
static dpc_answer *scalar_of(dpc_client *c, dpc_request *r, dpc_kind kind)
{
    dpc_set_return(r, DPC_RETURN_DATA);
    dpc_answer *a = answer_of(c, r);
    INT_IS(dpc_answer_outputs(a), 1);
    INT_IS(dpc_value_kind(dpc_answer_output(a, 0)), kind);
    return a;
}

static double item_of(dpc_client *c, dpc_request *r)
{
    double value = 0;
    dpc_answer *a = scalar_of(c, r, DPC_KIND_TENSOR);

    const dpc_value *data = dpc_value_member(dpc_answer_output(a, 0), "data");
    INT_IS(dpc_value_float(data, &value), 0);
    dpc_answer_free(a);
    return value;
}

static double neg_float(dpc_client *c, double value)
{
    static const double minus_one = -1;
    dpc_request *r = dpc_op_new("aten::mul.Tensor");

    dpc_add_data(r, NULL, DPC_FLOAT64, NULL, 0, &minus_one);
    dpc_add_float(r, NULL, value);
    return item_of(c, r);
}

static int64_t neg_int(dpc_client *c, int64_t value)
{
    dpc_request *r = dpc_op_new("aten::neg");
    int64_t got = 0;

    dpc_add_int(r, NULL, value);
    dpc_answer *a = scalar_of(c, r, DPC_KIND_TENSOR);
    const dpc_value *data = dpc_value_member(dpc_answer_output(a, 0), "data");
    INT_IS(dpc_value_int(data, &got), 0);
    dpc_answer_free(a);
    return got;
}

static void test_numbers(void)
{
    static const double floats[] = {
        0, 2, -0.1, 1e300, 5e-324, 9007199254740993.0, 0.30000000000000004};
    static const int64_t ints[] = {0, -5, (INT64_C(1) << 53) - 1, INT64_C(1) << 53, INT64_MAX};
    dpc_client *c = connect_to();

    for (size_t i = 0; i < sizeof(floats) / sizeof(floats[0]); i++)
        CHECK(neg_float(c, floats[i]) == -floats[i]);
    CHECK(neg_float(c, INFINITY) == -INFINITY && neg_float(c, -INFINITY) == INFINITY);
    CHECK(isnan(neg_float(c, NAN)));
    for (size_t i = 0; i < sizeof(ints) / sizeof(ints[0]); i++) {
        INT_IS(neg_int(c, ints[i]), -ints[i]);
        INT_IS(neg_int(c, -ints[i]), ints[i]);
    }
    INT_IS(neg_int(c, INT64_MIN), INT64_MIN);
    dpc_close(c);
}

static void test_complex(void)
{
    dpc_client *c = connect_to();
    dpc_request *r = dpc_op_new("aten::mul.Tensor");
    double re = 0, im = 0;

    dpc_add_complex(r, NULL, 1.5, -2);
    dpc_add_complex(r, NULL, 0, 1);
    dpc_answer *a = scalar_of(c, r, DPC_KIND_TENSOR);
    const dpc_value *data = dpc_value_member(dpc_answer_output(a, 0), "data");
    INT_IS(dpc_value_complex(data, &re, &im), 0);
    CHECK(re == 2 && im == 1.5);
    dpc_answer_free(a);
    r = dpc_op_new("aten::item");
    dpc_add_complex(r, NULL, 1, INFINITY);
    a = scalar_of(c, r, DPC_KIND_COMPLEX);
    INT_IS(dpc_value_complex(dpc_answer_output(a, 0), &re, &im), 0);
    CHECK(re == 1 && im == INFINITY);
    dpc_answer_free(a);
    dpc_close(c);
}

static void test_every_kind_of_argument(void)
{
    dpc_client *c = connect_to();
    const float x[] = {3, 1, 2};
    const int64_t one = 1, shape[] = {3, 1};
    int64_t pair[2] = {create(c, x, 3), create(c, x, 3)}, generator = 0;

    dpc_request *r = dpc_op_new("aten::cat"); /* a list of tensors, an int by name */
    dpc_add_tensors(r, NULL, pair, 2);
    dpc_add_int(r, "dim", 0);
    dpc_answer *a = answer_of(c, r);
    dpc_tensor t = output_of(a, 0);
    INT_IS(t.shape[0], 6);
    CHECK(t.handle > 0 && t.data == NULL && element(c, t.handle, 3) == 3);
    dpc_answer_free(a);

    r = dpc_op_new("aten::view"); /* a list of ints */
    dpc_add_tensor(r, NULL, pair[0]);
    dpc_add_ints(r, NULL, shape, 2);
    a = answer_of(c, r);
    t = output_of(a, 0);
    CHECK(t.ndim == 2 && t.shape[0] == 3 && t.shape[1] == 1 && t.strides[0] == 1);
    dpc_answer_free(a);

    r = dpc_op_new("aten::_to_copy"); /* a dtype, a device, None */
    dpc_add_tensor(r, NULL, pair[0]);
    dpc_add_str(r, "dtype", "float64");
    dpc_add_str(r, "device", "cpu");
    dpc_add_none(r, "layout");
    a = answer_of(c, r);
    t = output_of(a, 0);
    INT_IS(t.dtype, DPC_FLOAT64);
    TEXT_IS(t.device, "cpu");
    dpc_answer_free(a);

    r = dpc_op_new("aten::sort"); /* bools, two outputs */
    dpc_add_tensor(r, NULL, pair[0]);
    dpc_add_int(r, NULL, -1);
    dpc_add_bool(r, NULL, true);
    dpc_set_return(r, DPC_RETURN_BYTES);
    a = answer_of(c, r);
    INT_IS(dpc_answer_outputs(a), 2);
    CHECK(((const float *)output_of(a, 0).data)[2] == 1);
    INT_IS(output_of(a, 1).dtype, DPC_INT64);
    INT_IS(((const int64_t *)output_of(a, 1).data)[2], 1);
    CHECK(dpc_answer_output(a, 2) == NULL && dpc_answer_attachment(a, 2, NULL) == NULL);
    dpc_answer_free(a);

    r = dpc_op_new("aten::_upsample_nearest_exact1d.vec"); /* a list of floats */
    dpc_begin_object(r, NULL);
    dpc_add_json(r, "data", "[[[1,\n2]]]");
    dpc_end(r);
    dpc_add_none(r, NULL);
    dpc_add_floats(r, NULL, (const double[]){2.5}, 1);
    a = answer_of(c, r);
    INT_IS(output_of(a, 0).shape[2], 5);
    dpc_answer_free(a);

    WORKS(dpc_call_json(c, "generator.create", "{\"seed\":\n5}", &a, &err));
    r = dpc_op_new("aten::rand.generator"); /* a generator */
    dpc_add_ints(r, NULL, &one, 1);
    INT_IS(dpc_value_int(dpc_value_member(dpc_answer_result(a), "generator"), &generator), 0);
    dpc_add_generator(r, "generator", generator);
    dpc_answer_free(a);
    a = answer_of(c, r);
    INT_IS(output_of(a, 0).ndim, 1);
    dpc_answer_free(a);
    WORKS(dpc_tensor_release(c, pair, 2, &err));
    FAILS(dpc_tensor_release(c, pair, 2, &err), DPC_EDAEMON);
    TEXT_IS(err.type, "NotFound");
    dpc_close(c);
}

static void test_strings_are_escaped(void)
{
    dpc_client *c = connect_to();
    dpc_request *r = dpc_request_new("registry.list");

    dpc_add_str(r, "match", "\"\\\n\t\x01é");
    dpc_answer *a = answer_of(c, r);
    const dpc_value *ops = dpc_value_member(dpc_answer_result(a), "ops");
    INT_IS(dpc_value_kind(ops), DPC_KIND_LIST);
    INT_IS(dpc_value_len(ops), 0);
    dpc_answer_free(a);
    FAILS(dpc_call_json(c, "rpc.\"\n", NULL, NULL, &err), DPC_EDAEMON);
    INT_IS(err.rpc_code, -32601);
    dpc_close(c);
}

/* Sending `r` fails with EARGUMENT and a message that has `part`; the connection is unharmed. */
static void refused(dpc_client *c, dpc_request *r, const char *part)
{
    FAILS(dpc_call(c, r, NULL, &err), DPC_EARGUMENT);
    TEXT_HAS(err.message, part);
    dpc_request_free(r);
    WORKS(dpc_call_json(c, "tensor.list", NULL, NULL, &err));
}

static void test_faults_of_requests(void)
{
    dpc_client *c = connect_to();
    const int64_t huge[] = {INT64_C(1) << 40, INT64_C(1) << 40}, less[] = {-1}, five = 5;

    dpc_request *r = dpc_op_new("aten::neg");
    dpc_add_int(r, "self", 1);
    dpc_add_int(r, NULL, 1);
    refused(c, r, "by position follows one by name");
    r = dpc_request_new("tensor.list");
    dpc_add_int(r, NULL, 1);
    refused(c, r, "needs a name");
    r = dpc_op_new("aten::neg");
    dpc_begin_list(r, NULL);
    dpc_add_int(r, "x", 1);
    refused(c, r, "'x' has a name");
    r = dpc_op_new("aten::neg");
    dpc_begin_object(r, NULL);
    dpc_add_int(r, NULL, 1);
    refused(c, r, "needs a name");
    r = dpc_op_new("aten::neg");
    dpc_begin_list(r, NULL);
    refused(c, r, "1 lists or objects");
    r = dpc_op_new("aten::neg");
    dpc_end(r);
    refused(c, r, "dpc_end()");
    r = dpc_op_new("aten::neg");
    for (int i = 0; i <= DPC_DEPTH_MAX; i++)
        dpc_begin_list(r, NULL);
    refused(c, r, "more than 64");
    r = dpc_request_json("tensor.list", NULL);
    dpc_add_int(r, "x", 1);
    refused(c, r, "no more values");
    r = dpc_request_json("tensor.list", NULL);
    dpc_set_deadline(r, 1);
    refused(c, r, "'deadline_ms'");
    r = dpc_op_new("aten::neg");
    dpc_set_return(r, 9);
    refused(c, r, "return is 9");
    r = dpc_op_new("aten::neg");
    dpc_set_into(r, &five, 1);
    refused(c, r, "into[0] is 5");
    r = dpc_create_new(DPC_FLOAT32, huge, 2, "");
    refused(c, r, "2^53");
    r = dpc_create_new(DPC_FLOAT32, less, 1, "");
    refused(c, r, "shape[0] is -1");
    r = dpc_create_new((dpc_dtype)8, less, 0, "");
    refused(c, r, "dtype 8");

    r = dpc_op_new("aten::neg"); /* after a reset the fault is gone */
    dpc_end(r);
    dpc_request_reset(r);
    dpc_add_int(r, NULL, 1);
    WORKS(dpc_call(c, r, NULL, &err));
    WORKS(dpc_call(c, r, NULL, &err)); /* a request may be sent again */
    dpc_request_free(r);
    FAILS(dpc_call(c, NULL, NULL, &err), DPC_EMEMORY);
    CHECK(dpc_request_free(NULL) == NULL);
    dpc_add_int(NULL, NULL, 1);
    dpc_end(NULL);
    dpc_request_reset(NULL);
    dpc_set_return(NULL, 1);
    dpc_close(c);
}

static void test_requests_over_the_limits(void)
{
    dpc_client *c = connect_to();
    size_t n = (size_t)dpc_limit(c, "line_bytes");
    char *text = malloc(n + 3);

    CHECK(text != NULL);
    memset(text, ' ', n);
    memcpy(text + n, "{}", 3);
    refused(c, dpc_request_json("tensor.list", text), "line_bytes");
    free(text);
    dpc_request *r = dpc_request_json("tensor.list", NULL);
    dpc_attach(r, "", (size_t)dpc_limit(c, "attachment_bytes") + 1);
    refused(c, r, "attachment_bytes");
    dpc_close(c);
}

/* -- values and errors -- */

static void test_values(void)
{
    dpc_client *c = connect_to();
    dpc_answer *a;
    bool b = true;
    int64_t i = 0;
    double x = 0, y = 0;

    dpc_request *r = dpc_op_new("aten::tolist_of_nothing");
    FAILS(dpc_call(c, r, &a, &err), DPC_EDAEMON);
    dpc_request_free(r);
    WORKS(dpc_call_json(c, "op.call",
                        "{\"op\":\"aten::neg\",\"args\":[{\"data\":[[1,2],[3,4.5]]}],"
                        "\"return\":\"data\"}",
                        &a, &err));
    const dpc_value *v = dpc_answer_output(a, 0), *data = dpc_value_member(v, "data");
    INT_IS(dpc_value_kind(v), DPC_KIND_TENSOR);
    INT_IS(output_of(a, 0).handle, 0);
    CHECK(output_of(a, 0).data == NULL);
    INT_IS(dpc_value_len(data), 2);
    INT_IS(dpc_value_float(dpc_value_at(dpc_value_at(data, 1), 1), &x), 0);
    CHECK(x == -4.5);
    INT_IS(dpc_value_int(dpc_value_at(dpc_value_at(data, 1), 1), &i), DPC_EKIND);
    INT_IS(dpc_value_int(dpc_value_at(dpc_value_at(data, 0), 1), &i), 0);
    INT_IS(i, -2);
    INT_IS(dpc_value_kind(dpc_value_at(dpc_value_at(data, 1), 1)), DPC_KIND_FLOAT);
    INT_IS(dpc_value_bool(dpc_value_member(v, "requires_grad"), &b), 0);
    CHECK(!b && dpc_value_at(data, 2) == NULL && dpc_value_member(v, "nothing") == NULL);
    INT_IS(dpc_value_bool(v, &b), DPC_EKIND);
    INT_IS(dpc_value_float(v, &x), DPC_EKIND);
    INT_IS(dpc_value_complex(v, &x, &y), DPC_EKIND);
    INT_IS(dpc_value_complex(dpc_value_at(dpc_value_at(data, 1), 1), &x, &y), 0);
    CHECK(x == -4.5 && y == 0);
    TEXT_IS(dpc_value_str(dpc_value_member(v, "dtype")), "float32");
    CHECK(dpc_value_str(v) == NULL && dpc_value_str(NULL) == NULL);
    INT_IS(dpc_value_kind(NULL), DPC_KIND_NONE);
    INT_IS(dpc_value_kind(dpc_value_member(v, "keys")), DPC_KIND_LIST);
    INT_IS(dpc_value_kind(dpc_answer_result(a)), DPC_KIND_DICT);
    INT_IS(dpc_value_len(dpc_answer_result(a)), 1);
    CHECK(dpc_answer_id(a) > 0 && dpc_answer_fault(a) == NULL && dpc_answer_error(a, &err) == 0);
    dpc_answer_free(a);
    r = dpc_op_new("aten::item");
    dpc_add_float(r, NULL, 3);
    a = scalar_of(c, r, DPC_KIND_FLOAT);
    INT_IS(dpc_value_float(dpc_answer_output(a, 0), &x), 0);
    CHECK(x == 3);
    dpc_answer_free(a);
    r = dpc_op_new("aten::item");
    dpc_add_int(r, NULL, INT64_MIN);
    a = scalar_of(c, r, DPC_KIND_INT);
    INT_IS(dpc_value_int(dpc_answer_output(a, 0), &i), 0);
    INT_IS(i, INT64_MIN);
    INT_IS(dpc_value_float(dpc_answer_output(a, 0), &x), 0);
    CHECK(x == -9223372036854775808.0);
    dpc_answer_free(a);
    CHECK(dpc_answer_free(NULL) == NULL);
    dpc_close(c);
}

static void test_errors_of_the_daemon(void)
{
    dpc_client *c = connect_to();
    dpc_answer *a = NULL;

    FAILS(dpc_call_json(c, "op.call",
                        "{\"op\":\"aten::mm\",\"args\":[{\"data\":[[1,2]]},"
                        "{\"data\":[[1,2,3]]}]}",
                        &a, &err),
          DPC_EDAEMON);
    TEXT_IS(err.type, "RuntimeError");
    TEXT_IS(err.op, "aten::mm");
    TEXT_HAS(err.message, "1x2");
    TEXT_HAS(err.message, "1x3");
    INT_IS(err.rpc_code, -32000);
    CHECK(a == NULL);
    FAILS(dpc_call_json(c, "tensor.list", "{\"x\":1}", &a, &err), DPC_EDAEMON);
    INT_IS(err.rpc_code, -32602);
    FAILS(dpc_call_json(c, "tensor.list", "{\"x\":", &a, &err), DPC_EDAEMON); /* no JSON: no id */
    INT_IS(err.rpc_code, -32700);
    WORKS(dpc_call_json(c, "tensor.list", NULL, &a, &err));
    dpc_answer_free(a);
    INT_IS(dpc_call_json(c, "tensor.list", "{\"x\":1}", NULL, NULL), DPC_EDAEMON);
    dpc_close(c);
}

static const struct test tests[] = {
    TEST(numbers),
    TEST(complex),
    TEST(every_kind_of_argument),
    TEST(strings_are_escaped),
    TEST(faults_of_requests),
    TEST(requests_over_the_limits),
    TEST(values),
    TEST(errors_of_the_daemon),
};

int main(int argc, char **argv)
{
    return run_test(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
