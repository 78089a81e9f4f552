/* client_calls.c -- libdispatchd-client against a daemon: connections, tensors and programs.
 * The daemon has plugin sleeps (tests/plugins). */
#include <pthread.h>
#include "client_shared.h"

enum { MANY = 400, LARGE = 1 << 20 };

/* -- connections -- */

static void test_hello(void)
{
    dpc_client *c = connect_to();

    INT_IS(strlen(dpc_session_key(c)), 32);
    INT_IS(dpc_limit(c, "outstanding"), DPC_OUTSTANDING_MAX);
    INT_IS(dpc_limit(c, "outstanding_bytes"), DPC_OUTSTANDING_BYTES);
    INT_IS(dpc_limit(c, "nothing"), -1);
    CHECK(dpc_has_feature(c, "program") && !dpc_has_feature(c, "nothing"));
    CHECK(dpc_fd(c) >= 0 && *dpc_version() != '\0');
    CHECK(dpc_close(c) == NULL && dpc_close(NULL) == NULL);
}

static void test_without_hello(void)
{
    dpc_options options = DPC_OPTIONS_INIT;
    dpc_client *c;

    options.socket = path;
    options.no_hello = true;
    WORKS(dpc_connect(&options, &c, &err));
    TEXT_IS(dpc_session_key(c), "");
    INT_IS(dpc_limit(c, "outstanding"), -1);
    WORKS(dpc_call_json(c, "server.status", NULL, NULL, &err));
    dpc_close(c);
}

static void test_paths(void)
{
    char buf[108], small[4];

    setenv("DISPATCHD_SOCKET", "/a/b", 1);
    setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
    setenv("TMPDIR", "/t", 1);
    TEXT_IS(dpc_socket_path("/x", buf, sizeof(buf)), "/x");
    TEXT_IS(dpc_socket_path(NULL, buf, sizeof(buf)), "/a/b");
    CHECK(dpc_socket_path(NULL, small, sizeof(small)) == NULL);
    setenv("DISPATCHD_SOCKET", "", 1);
    TEXT_IS(dpc_socket_path(NULL, buf, sizeof(buf)), "/run/user/7/dispatchd.sock");
    setenv("XDG_RUNTIME_DIR", "relative", 1);
    if (geteuid() == 0)
        TEXT_IS(dpc_socket_path(NULL, buf, sizeof(buf)), "/run/dispatchd.sock");
    bool root = geteuid() == 0;
    CHECK(!root || seteuid(12345) == 0);
    CHECK(dpc_socket_path(NULL, buf, sizeof(buf)) != NULL);
    CHECK(!root || seteuid(0) == 0);
    TEXT_HAS(buf, root ? "/t/dispatchd-12345/dispatchd.sock" : "/t/dispatchd-");
}

static void test_no_daemon(void)
{
    dpc_options options = DPC_OPTIONS_INIT;
    char longer[200];
    dpc_client *c = NULL;

    options.socket = "/nowhere/dispatchd.sock";
    FAILS(dpc_connect(&options, &c, &err), DPC_ECONNECT);
    TEXT_HAS(err.message, "/nowhere/dispatchd.sock");
    memset(longer, 'x', sizeof(longer));
    longer[sizeof(longer) - 1] = '\0';
    options.socket = longer;
    FAILS(dpc_connect(&options, &c, &err), DPC_EARGUMENT);
    options.socket = path;
    options.session_key = "0123456789abcdef0123456789abcdef";
    FAILS(dpc_connect(&options, &c, &err), DPC_EDAEMON);
    TEXT_IS(err.type, "NotFound");
    options.size += 8;
    FAILS(dpc_connect(&options, &c, &err), DPC_EARGUMENT);
    CHECK(c == NULL);
    INT_IS(dpc_connect(&options, &c, NULL), DPC_EARGUMENT);
}

static void test_a_shared_session(void)
{
    dpc_client *c = connect_to(), *other = connect_with(dpc_session_key(c));
    const float x[] = {1, 2};

    TEXT_IS(dpc_session_key(other), dpc_session_key(c));
    int64_t handle = create(c, x, 2);
    CHECK(element(other, handle, 1) == 2);
    CHECK(dpc_handle_new(c) != dpc_handle_new(other));
    dpc_close(c);
    CHECK(element(other, handle, 0) == 1);
    dpc_close(other);
}

static void *thread_of_calls(void *key)
{
    dpc_client *c = connect_with(key);

    for (int i = 0; i < MANY; i++) {
        float x[] = {(float)i};
        int64_t handle = create(c, x, 1);
        dpc_request *r = dpc_op_new("aten::add.Tensor");
        dpc_add_tensor(r, NULL, handle);
        dpc_add_int(r, NULL, 1);
        dpc_set_return(r, DPC_RETURN_BYTES);
        dpc_answer *a = answer_of(c, r);
        CHECK(*(const float *)output_of(a, 0).data == (float)i + 1);
        dpc_answer_free(a);
        WORKS(dpc_tensor_release(c, &handle, 1, &err));
    }
    dpc_close(c);
    return NULL;
}

static void test_threads(void)
{
    dpc_client *c = connect_to();
    pthread_t threads[4];

    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, thread_of_calls, (void *)dpc_session_key(c)) == 0);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    dpc_close(c);
}

/* -- tensors -- */

static void test_bytes_of_every_dtype(void)
{
    dpc_client *c = connect_to();
    unsigned char data[2 * 3 * 16];
    const int64_t shape[] = {2, 3}, none[] = {0, 3};
    int n = 0;

    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = i & 1;
    for (int d = 0; d < 32; d++) {
        dpc_tensor t;
        dpc_answer *hold;
        int64_t handle;
        size_t bytes = dpc_dtype_size((dpc_dtype)d);
        CHECK((bytes == 0) == (dpc_dtype_name((dpc_dtype)d) == NULL));
        if (bytes == 0)
            continue;
        n++;
        WORKS(dpc_tensor_create(c, (dpc_dtype)d, shape, 2, data, &handle, &err));
        WORKS(dpc_tensor_read(c, handle, DPC_COPY, &t, &hold, &err));
        INT_IS(t.handle, handle);
        INT_IS(t.dtype, d);
        INT_IS(t.nbytes, 6 * bytes);
        CHECK(t.ndim == 2 && t.shape[1] == 3 && t.strides[0] == 3);
        CHECK(memcmp(t.data, data, t.nbytes) == 0);
        dpc_answer_free(hold);
    }
    INT_IS(n, 12);
    dpc_tensor t;
    dpc_answer *hold;
    int64_t handle;
    WORKS(dpc_tensor_create(c, DPC_INT16, none, 2, NULL, &handle, &err));
    WORKS(dpc_tensor_read(c, handle, DPC_COPY, &t, &hold, &err));
    CHECK(t.nbytes == 0 && t.data != NULL);
    dpc_answer_free(hold);
    FAILS(dpc_tensor_read(c, handle, 7, &t, &hold, &err), DPC_EARGUMENT);
    dpc_close(c);
}

static void test_descriptions(void)
{
    dpc_client *c = connect_to();
    const float x[] = {1, 2, 3, 4, 5, 6};
    int64_t handle = create(c, x, 6);
    dpc_answer *a;
    dpc_tensor view, t;

    dpc_request *r = dpc_op_new("aten::slice.Tensor");
    dpc_add_tensor(r, NULL, handle);
    dpc_add_int(r, NULL, 0);
    dpc_add_int(r, NULL, 1);
    dpc_add_none(r, NULL);
    dpc_add_int(r, NULL, 2);
    a = answer_of(c, r);
    view = output_of(a, 0);
    dpc_answer_free(a);
    CHECK(view.storage_offset == 1 && view.strides[0] == 2 && view.shape[0] == 3);
    r = dpc_op_new("aten::mul_.Tensor");
    dpc_add_tensor(r, NULL, handle);
    dpc_add_float(r, NULL, 2);
    a = answer_of(c, r);
    t = output_of(a, 0);
    dpc_answer_free(a);
    INT_IS(t.handle, handle);
    INT_IS(t.storage, view.storage);
    INT_IS(t.version, 1);
    CHECK(element(c, view.handle, 0) == 4 && !t.requires_grad);
    WORKS(dpc_call_json(c, "server.status", NULL, &a, &err));
    FAILS(dpc_value_tensor(a, dpc_answer_result(a), &t, &err), DPC_EKIND);
    dpc_answer_free(a);
    dpc_close(c);
}

static void test_large_tensors(void)
{
    dpc_client *c = connect_to();
    float *x = malloc(8 * LARGE);
    int64_t n = 2 * LARGE, handle;
    dpc_tensor t;
    dpc_answer *hold;

    CHECK(x != NULL);
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)i;
    handle = create(c, x, n);
    WORKS(dpc_tensor_read(c, handle, DPC_COPY, &t, &hold, &err));
    CHECK(t.nbytes == 8 * LARGE && memcmp(t.data, x, t.nbytes) == 0);
    free(x);
    dpc_answer_free(hold);
    dpc_close(c);
}

/* -- programs -- */

static void test_programs(void)
{
    dpc_client *c = connect_to();
    const float x[] = {1, 2};
    int64_t program, handle = create(c, x, 2), n = 2;

    WORKS(dpc_program_create(
        c,
        "{\"inputs\":[{\"name\":\"x\",\"type\":\"Tensor\"},{\"name\":\"n\"}],\n"
        "\"steps\":[{\"op\":\"aten::mul.Tensor\",\"args\":[{\"ref\":\"x\"},{\"ref\":\"n\"}],"
        "\"as\":[\"y\"]},{\"get\":\"sizes\",\"args\":[{\"ref\":\"y\"}],\"as\":[\"s\"]}],"
        "\"outputs\":[\"y\",\"s\"]}",
        &program, &err));
    dpc_request *r = dpc_run_new(program);
    for (int i = 0; i < 2; i++) { /* the tensor by handle, then by its elements */
        int64_t size = 0;
        dpc_request_reset(r);
        if (i == 0)
            dpc_add_tensor(r, "x", handle);
        else
            dpc_add_data(r, "x", DPC_FLOAT32, &n, 1, x);
        dpc_add_int(r, "n", 3);
        dpc_set_return(r, DPC_RETURN_BYTES);
        dpc_set_json(r, "grad_enabled", "false");
        dpc_answer *a;
        WORKS(dpc_call(c, r, &a, &err));
        CHECK(((const float *)output_of(a, 0).data)[1] == 6);
        INT_IS(dpc_value_int(dpc_value_at(dpc_answer_output(a, 1), 0), &size), 0);
        INT_IS(size, 2);
        dpc_answer_free(a);
    }
    dpc_request_free(r);
    WORKS(dpc_program_release(c, program, &err));
    FAILS(dpc_program_release(c, program, &err), DPC_EDAEMON);
    TEXT_IS(err.type, "NotFound");
    FAILS(dpc_program_create(c, "{\"inputs\":[]}", &program, &err), DPC_EDAEMON);
    dpc_close(c);
}

/* -- connections by descriptor -- */

static void test_another_connection_of_the_session(void)
{
    const float x[] = {8};
    dpc_client *c = connect_to(), *second, *third;
    int64_t handle = create(c, x, 1);
    bool rejoined = false;

    CHECK(dpc_has_feature(c, "open"));
    WORKS(dpc_open(c, &second, &err));
    TEXT_IS(dpc_session_key(second), dpc_session_key(c));
    CHECK(element(second, handle, 0) == 8);
    WORKS(dpc_open(second, &third, &err));
    dpc_close(c); /* the session has other connections */
    CHECK(element(third, handle, 0) == 8);
    WORKS(dpc_reconnect(third, 0, &rejoined, &err));
    CHECK(rejoined);
    CHECK(element(third, handle, 0) == 8);
    dpc_request *r = dpc_op_new("aten::neg");
    dpc_add_tensor(r, NULL, handle);
    WORKS(dpc_submit(second, r, NULL, &err));
    FAILS(dpc_open(second, &c, &err), DPC_EARGUMENT); /* an answer is outstanding */
    dpc_request_free(r);
    dpc_close(second);
    dpc_close(third);
}

static void test_a_raw_descriptor_is_closed_with_its_answer(void)
{
    dpc_client *c = connect_to();
    int before = count_descriptors();
    dpc_answer *a;

    WORKS(dpc_call_json(c, "server.open", NULL, &a, &err));
    INT_IS(count_descriptors(), before + 1);
    dpc_answer_free(a);
    INT_IS(count_descriptors(), before);
    WORKS(dpc_call_json(c, "server.open", NULL, NULL, &err));
    INT_IS(count_descriptors(), before);
    dpc_close(c);
}

static const struct test tests[] = {
    TEST(another_connection_of_the_session),
    TEST(a_raw_descriptor_is_closed_with_its_answer),
    TEST(hello),
    TEST(without_hello),
    TEST(paths),
    TEST(no_daemon),
    TEST(a_shared_session),
    TEST(threads),
    TEST(bytes_of_every_dtype),
    TEST(descriptions),
    TEST(large_tensors),
    TEST(programs),
};

int main(int argc, char **argv)
{
    return run_test(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
