/* client_order.c -- libdispatchd-client against a daemon: pipelining, timeouts, cancelling and
 * connecting again.  The daemon has plugin sleeps (tests/plugins). */
#include "client_test.h"
#include <unistd.h>

enum { MANY = 400, LARGE = 1 << 20 };

/* -- pipelining -- */

static void test_pipelining(void)
{
    dpc_client *c = connect_to();
    uint64_t ids[MANY];
    dpc_answer *a;
    dpc_request *r = dpc_op_new("aten::neg");

    for (int i = 0; i < MANY; i++) {
        dpc_request_reset(r);
        dpc_add_int(r, NULL, i);
        if (i % 100 == 99) /* an error in between */
            dpc_add_int(r, NULL, i);
        dpc_set_return(r, DPC_RETURN_DATA);
        WORKS(dpc_submit(c, r, &ids[i], &err));
    }
    INT_IS(dpc_outstanding(c), MANY);
    FAILS(dpc_call(c, r, NULL, &err), DPC_EARGUMENT);
    dpc_request_free(r);
    for (int i = 0; i < MANY; i++) {
        int64_t value = 0;
        WORKS(dpc_receive(c, -1, &a, &err));
        INT_IS(dpc_answer_id(a), ids[i]);
        INT_IS(dpc_answer_error(a, &err), i % 100 == 99 ? DPC_EDAEMON : 0);
        const dpc_value *data = dpc_value_member(dpc_answer_output(a, 0), "data");
        INT_IS(dpc_value_int(data, &value), i % 100 == 99 ? DPC_EKIND : 0);
        INT_IS(value, i % 100 == 99 ? 0 : -i);
        dpc_answer_free(a);
    }
    INT_IS(dpc_outstanding(c), 0);
    FAILS(dpc_receive(c, -1, &a, &err), DPC_EARGUMENT);
    dpc_close(c);
}

/* Neither side may wait for the other: answers of 1 MiB are not received until all is sent. */
static void test_no_deadlock(void)
{
    dpc_client *c = connect_to();
    const int64_t shape[] = {LARGE / 4};
    float *x = calloc(1, LARGE);
    dpc_answer *a;

    CHECK(x != NULL);
    dpc_request *r = dpc_op_new("aten::neg");
    dpc_add_data(r, NULL, DPC_FLOAT32, shape, 1, x);
    dpc_set_return(r, DPC_RETURN_BYTES);
    for (int i = 0; i < 100; i++)
        WORKS(dpc_submit(c, r, NULL, &err));
    for (int i = 0; i < 100; i++) {
        WORKS(dpc_receive(c, -1, &a, &err));
        INT_IS(output_of(a, 0).nbytes, LARGE);
        dpc_answer_free(a);
    }
    dpc_request_free(r);
    free(x);
    dpc_close(c);
}

static void test_at_most_1000_are_outstanding(void)
{
    dpc_client *c = connect_to();
    dpc_request *r = dpc_request_json("tensor.list", NULL);
    dpc_answer *a;

    for (int i = 0; i < DPC_OUTSTANDING_MAX; i++)
        WORKS(dpc_submit(c, r, NULL, &err));
    FAILS(dpc_submit(c, r, NULL, &err), DPC_EFULL);
    WORKS(dpc_receive(c, -1, &a, &err));
    dpc_answer_free(a);
    WORKS(dpc_submit(c, r, NULL, &err));
    for (int i = 0; i < DPC_OUTSTANDING_MAX; i++) {
        WORKS(dpc_receive(c, -1, &a, &err));
        INT_IS(dpc_answer_id(a), i + 3); /* server.hello was 1 */
        dpc_answer_free(a);
    }
    dpc_request_free(r);
    dpc_close(c);
}

static void test_into(void)
{
    dpc_client *c = connect_to();
    const int64_t n = 2;
    const float x[] = {1, 2};
    int64_t h[4];
    dpc_answer *a;

    if (!dpc_has_feature(c, "into")) {
        printf("skipped: this daemon has no feature 'into'\n");
        exit(0);
    }
    for (int i = 0; i < 4; i++)
        h[i] = dpc_handle_new(c);
    dpc_request *r = dpc_create_new(DPC_FLOAT32, &n, 1, x);
    dpc_set_into(r, &h[0], 1);
    WORKS(dpc_submit(c, r, NULL, &err));
    dpc_request_free(r);
    for (int i = 0; i < 2; i++) {
        r = dpc_op_new("aten::add.Tensor");
        dpc_add_tensor(r, NULL, h[i]);
        dpc_add_int(r, NULL, 10);
        dpc_set_into(r, &h[i + 1], 1);
        WORKS(dpc_submit(c, r, NULL, &err));
        dpc_request_free(r);
    }
    for (int i = 0; i < 3; i++) {
        WORKS(dpc_receive(c, -1, &a, &err));
        WORKS(dpc_answer_error(a, &err));
        dpc_answer_free(a);
    }
    CHECK(element(c, h[2], 1) == 22);
    r = dpc_op_new("aten::sort"); /* one of two outputs; a failed handle */
    dpc_add_tensor(r, NULL, h[3]);
    dpc_set_into(r, (const int64_t[]){0, 0}, 2);
    FAILS(dpc_call(c, r, NULL, &err), DPC_EDAEMON);
    TEXT_IS(err.type, "NotFound");
    dpc_request_free(r);
    r = dpc_op_new("aten::sort");
    dpc_add_tensor(r, NULL, h[0]);
    dpc_set_into(r, (const int64_t[]){0, h[3]}, 2);
    a = answer_of(c, r);
    CHECK(output_of(a, 0).handle > 0);
    INT_IS(output_of(a, 1).handle, h[3]);
    dpc_answer_free(a);
    WORKS(dpc_tensor_release(c, h, 4, &err));
    dpc_close(c);
}

static void test_notifications_to_the_daemon(void)
{
    dpc_client *c = connect_to();
    const float x[] = {1};
    int64_t handle = create(c, x, 1);
    dpc_request *r = dpc_request_new("tensor.release");
    dpc_tensor t;
    dpc_answer *hold;

    dpc_add_ints(r, "tensors", &handle, 1);
    WORKS(dpc_notify(c, r, &err));
    WORKS(dpc_notify(c, r, &err)); /* fails in the daemon, and is not answered */
    INT_IS(dpc_outstanding(c), 0);
    dpc_request_free(r);
    FAILS(dpc_tensor_read(c, handle, DPC_COPY, &t, &hold, &err), DPC_EDAEMON);
    TEXT_IS(err.type, "NotFound");
    dpc_close(c);
}

/* -- time -- */

static dpc_request *sleeping(const char *ms)
{
    dpc_request *r = dpc_op_new("sleeps::sleep");

    dpc_begin_object(r, NULL);
    dpc_add_json(r, "data", "[1]");
    dpc_end(r);
    dpc_add_json(r, NULL, ms);
    return r;
}

static void test_timeouts(void)
{
    dpc_options options = DPC_OPTIONS_INIT;
    dpc_client *c;
    dpc_answer *a;

    options.socket = path;
    WORKS(dpc_connect(&options, &c, &err));
    dpc_request *r = sleeping("300");
    WORKS(dpc_submit(c, r, NULL, &err));
    FAILS(dpc_receive(c, 0, &a, &err), DPC_ETIMEOUT);
    FAILS(dpc_wait(c, 10, &err), DPC_ETIMEOUT);
    INT_IS(dpc_outstanding(c), 1);
    WORKS(dpc_wait(c, -1, &err));
    WORKS(dpc_receive(c, 0, &a, &err));
    WORKS(dpc_answer_error(a, &err));
    dpc_answer_free(a);
    dpc_close(c);

    WORKS(dpc_connect(&options, &c, &err));
    options.timeout_ms = 100;
    options.session_key = dpc_session_key(c);
    dpc_client *hurried;
    WORKS(dpc_connect(&options, &hurried, &err));
    FAILS(dpc_call(hurried, r, NULL, &err), DPC_ETIMEOUT);
    dpc_request_free(r);
    INT_IS(dpc_outstanding(hurried), 0);
    int rc; /* the late answer is dropped, and not taken for another one */
    do
        rc = dpc_call_json(hurried, "tensor.describe", "{\"tensor\":12345}", NULL, &err);
    while (rc == DPC_ETIMEOUT);
    INT_IS(rc, DPC_EDAEMON);
    TEXT_HAS(err.message, "12345");
    dpc_close(hurried);
    dpc_close(c);
}

static void test_cancel_and_deadline(void)
{
    dpc_client *c = connect_to();
    uint64_t id;
    dpc_answer *a;
    dpc_request *first = sleeping("300"), *second = sleeping("1");

    WORKS(dpc_submit(c, first, NULL, &err));
    WORKS(dpc_submit(c, second, &id, &err));
    WORKS(dpc_cancel(c, id, &err));
    WORKS(dpc_receive(c, -1, &a, &err));
    WORKS(dpc_answer_error(a, &err));
    dpc_answer_free(a);
    WORKS(dpc_receive(c, -1, &a, &err));
    FAILS(dpc_answer_error(a, &err), DPC_EDAEMON);
    TEXT_IS(err.type, "Cancelled");
    dpc_answer_free(a);
    WORKS(dpc_submit(c, first, NULL, &err));
    dpc_set_deadline(second, 10);
    WORKS(dpc_submit(c, second, NULL, &err));
    WORKS(dpc_receive(c, -1, &a, &err));
    dpc_answer_free(a);
    WORKS(dpc_receive(c, -1, &a, &err));
    FAILS(dpc_answer_error(a, &err), DPC_EDAEMON);
    TEXT_IS(err.type, "DeadlineExceeded");
    TEXT_IS(dpc_value_str(dpc_value_member(dpc_value_member(dpc_answer_fault(a), "data"), "type")),
            "DeadlineExceeded");
    CHECK(dpc_answer_result(a) == NULL && dpc_answer_outputs(a) == 0);
    dpc_answer_free(a);
    dpc_request_free(first);
    dpc_request_free(second);
    dpc_close(c);
}

/* -- connecting again -- */

static void test_reconnect_to_the_same_daemon(void)
{
    dpc_options options = DPC_OPTIONS_INIT;
    dpc_client *c;
    const float x[] = {7};
    bool rejoined = true;
    dpc_answer *a;

    options.socket = path;
    options.name = "test";
    WORKS(dpc_connect(&options, &c, &err)); /* without linger_ms the session ends */
    dpc_request *r = dpc_request_json("tensor.list", NULL);
    WORKS(dpc_submit(c, r, NULL, &err));
    dpc_request_free(r);
    int rc; /* the daemon may see the new connection before the end of the old one */
    for (int i = 0; i < 100 && rejoined; i++) {
        WORKS(dpc_reconnect(c, 0, &rejoined, &err));
        INT_IS(dpc_outstanding(c), 0);
        usleep(10000);
    }
    dpc_close(c);

    options.linger_ms = 60000;
    WORKS(dpc_connect(&options, &c, &err));
    int64_t handle = create(c, x, 1);
    WORKS(dpc_reconnect(c, -1, &rejoined, &err));
    CHECK(rejoined && element(c, handle, 0) == 7);
    rc = dpc_receive(c, 0, &a, &err);
    INT_IS(rc, DPC_EARGUMENT);
    WORKS(dpc_call_json(c, "server.hello", "{\"linger_ms\":0}", NULL, &err));
    WORKS(dpc_call_json(c, "tensor.release", "{\"all\":true}", NULL, &err));
    dpc_close(c);
}

/* Wait for a line of the Python test, after it has read `line`. */
static void say_and_wait(const char *line)
{
    char buf[16];

    puts(line);
    fflush(stdout);
    CHECK(fgets(buf, sizeof(buf), stdin) != NULL);
}

/* The Python test kills the daemon by SIGKILL, and starts another one on the same path. */
static void test_reconnect_to_a_new_daemon(void)
{
    dpc_client *c = connect_to();
    const float x[] = {7};
    int64_t handle = create(c, x, 1);
    bool rejoined = true;
    dpc_answer *a;
    dpc_tensor t;
    dpc_request *r = sleeping("60000");

    WORKS(dpc_submit(c, r, NULL, &err));
    dpc_request_free(r);
    say_and_wait("kill the daemon");
    FAILS(dpc_receive(c, -1, &a, &err), DPC_EBROKEN);
    FAILS(dpc_receive(c, -1, &a, &err), DPC_EBROKEN);
    FAILS(dpc_call_json(c, "tensor.list", NULL, NULL, &err), DPC_EBROKEN);
    FAILS(dpc_reconnect(c, 0, &rejoined, &err), DPC_ECONNECT);
    FAILS(dpc_call_json(c, "tensor.list", NULL, NULL, &err), DPC_EBROKEN);
    FAILS(dpc_reconnect(c, 50, &rejoined, &err), DPC_ECONNECT);
    puts("start a daemon");
    fflush(stdout);
    WORKS(dpc_reconnect(c, 60000, &rejoined, &err));
    CHECK(!rejoined);
    INT_IS(dpc_outstanding(c), 0);
    FAILS(dpc_tensor_read(c, handle, DPC_COPY, &t, &a, &err), DPC_EDAEMON);
    TEXT_IS(err.type, "NotFound");
    handle = create(c, x, 1);
    CHECK(element(c, handle, 0) == 7);
    dpc_close(c);
}

static const struct test tests[] = {
    TEST(pipelining),
    TEST(no_deadlock),
    TEST(at_most_1000_are_outstanding),
    TEST(into),
    TEST(notifications_to_the_daemon),
    TEST(timeouts),
    TEST(cancel_and_deadline),
    TEST(reconnect_to_the_same_daemon),
    TEST(reconnect_to_a_new_daemon),
};

int main(int argc, char **argv)
{
    return run_test(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
