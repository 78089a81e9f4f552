/* client_shared.c -- libdispatchd-client against a daemon: tensors whose memory the client maps. 
 * The daemon has plugin sleeps. */
#include <pthread.h>
#include "client_shared.h"

/* -- reading -- */

static void test_reading_without_a_copy(void)
{
    dpc_client *c = connect_to();
    int before = count_descriptors();
    static float x[N];
    dpc_answer *hold, *again;
    dpc_tensor t, u;

    for (int i = 0; i < N; i++)
        x[i] = (float)i;
    int64_t handle = create(c, x, N);
    WORKS(dpc_tensor_read(c, handle, DPC_SHARED, &t, &hold, &err));
    INT_IS(t.nbytes, N * 4);
    const float *data = t.data;
    CHECK(memcmp(data, x, sizeof(x)) == 0);
    check_same_pages(c, data);
    INT_IS(count_descriptors(), before); /* the descriptor is closed, the mapping stays */
    INT_IS(count_mappings(), 1);
    call_op(c, "aten::add_.Scalar", handle, 10); /* later calls show */
    CHECK(data[0] == 10 && data[N - 1] == N + 9);

    WORKS(dpc_tensor_read(c, handle, DPC_SHARED, &u, &again, &err));
    CHECK(u.data == t.data);
    dpc_answer_free(again);
    dpc_answer_free(hold); /* the mapping is kept for the next read */
    INT_IS(count_mappings(), 1);
    WORKS(dpc_tensor_read(c, handle, DPC_SHARED, &u, &again, &err));
    CHECK(u.data == t.data);
    WORKS(dpc_tensor_unmap(c, again, &err));
    INT_IS(count_mappings(), 0);
    WORKS(
        dpc_tensor_read(c, handle, DPC_SHARED, &u, &again, &err)); /* the descriptor comes again */
    CHECK(((const float *)u.data)[1] == 11);
    dpc_answer_free(again);
    dpc_close(c);
    INT_IS(count_mappings(), 0);
    INT_IS(count_descriptors(), before - 1);
}

static void test_views_lie_where_their_strides_say(void)
{
    dpc_client *c = connect_to();
    const float x[] = {0, 1, 2, 3, 4, 5};
    const int64_t shape[] = {2, 3};
    dpc_answer *hold, *whole;
    int64_t handle;
    dpc_tensor t, base;

    WORKS(dpc_tensor_create(c, DPC_FLOAT32, shape, 2, x, &handle, &err));
    dpc_request *r = dpc_op_new("aten::select.int");
    dpc_add_tensor(r, NULL, handle);
    dpc_add_int(r, NULL, 1);
    dpc_add_int(r, NULL, 2);
    dpc_answer *a = answer_of(c, r);
    int64_t column = output_of(a, 0).handle;
    dpc_answer_free(a);
    WORKS(dpc_tensor_read(c, handle, DPC_SHARED, &base, &whole, &err));
    WORKS(dpc_tensor_read(c, column, DPC_SHARED, &t, &hold, &err));
    INT_IS(t.ndim, 1);
    INT_IS(t.strides[0], 3);
    INT_IS(t.nbytes, 16);
    CHECK((const char *)t.data == (const char *)base.data + 8);
    CHECK(((const float *)t.data)[0] == 2 && ((const float *)t.data)[3] == 5);
    WORKS(dpc_tensor_unmap(c, whole, &err)); /* another answer uses the memory */
    CHECK(((const float *)t.data)[0] == 2);
    WORKS(dpc_tensor_unmap(c, hold, &err));
    INT_IS(count_mappings(), 0);
    dpc_close(c);
}

static void test_what_was_read_outlives_handle_and_connection(void)
{
    const float x[] = {1, 2};
    dpc_client *c = connect_to();
    dpc_answer *hold;
    dpc_tensor t;

    int64_t handle = create(c, x, 2);
    WORKS(dpc_tensor_read(c, handle, DPC_SHARED, &t, &hold, &err));
    WORKS(dpc_tensor_release(c, &handle, 1, &err));
    CHECK(((const float *)t.data)[1] == 2);
    dpc_close(c);
    CHECK(((const float *)t.data)[1] == 2);
    dpc_client *other = connect_to();
    WORKS(dpc_tensor_unmap(other, hold, &err)); /* another connection's: it is only released */
    WORKS(dpc_tensor_unmap(other, NULL, &err));
    INT_IS(count_mappings(), 0);
    dpc_close(other);
}

static void test_what_cannot_be_shared(void)
{
    dpc_client *c = connect_to();
    int before = count_descriptors();
    dpc_answer *hold;
    dpc_tensor t;

    FAILS(dpc_tensor_read(c, 1, DPC_SHARED, &t, &hold, &err), DPC_EDAEMON);
    TEXT_IS(err.type, "NotFound");
    FAILS(dpc_tensor_read(c, 1, 0, &t, &hold, &err), DPC_EARGUMENT);
    FAILS(dpc_tensor_read(c, 1, DPC_COPY | DPC_SHARED, &t, &hold, &err), DPC_EARGUMENT);
    TEXT_HAS(err.message, "how is 3, want DPC_COPY (1) or DPC_SHARED (2)");
    dpc_request *r = dpc_request_json("tensor.create", "{\"shape\":[2],\"device\":\"meta\"}");
    dpc_answer *a = answer_of(c, r);
    int64_t handle;
    INT_IS(dpc_value_int(dpc_value_member(dpc_answer_result(a), "tensor"), &handle), 0);
    dpc_answer_free(a);
    FAILS(dpc_tensor_read(c, handle, DPC_SHARED, &t, &hold, &err), DPC_EDAEMON);
    TEXT_IS(err.type, "NotImplementedError");
    INT_IS(count_descriptors(), before);
    dpc_close(c);
}

static void test_idle_memories_make_place(void)
{
    const float x[] = {5};
    dpc_client *c = connect_to();
    int before = count_descriptors();
    int64_t most = dpc_limit(c, "maps");
    dpc_answer *holds[4096], *hold;
    dpc_tensor t;

    CHECK(most > 0 && most < 4096);
    for (int64_t i = 0; i < 2 * most; i++) {
        WORKS(dpc_tensor_read(c, create(c, x, 1), DPC_SHARED, &t, &hold, &err));
        CHECK(((const float *)t.data)[0] == 5);
        dpc_answer_free(hold);
    }
    CHECK(count_mappings() <= most);
    for (int64_t i = 0; i < most; i++)
        WORKS(dpc_tensor_read(c, create(c, x, 1), DPC_SHARED, &t, &holds[i], &err));
    INT_IS(count_mappings(), most);
    FAILS(dpc_tensor_read(c, create(c, x, 1), DPC_SHARED, &t, &hold, &err), DPC_EDAEMON);
    TEXT_IS(err.type, "ResourceExhausted");
    WORKS(dpc_tensor_unmap(c, holds[0], &err));
    WORKS(dpc_tensor_read(c, create(c, x, 1), DPC_SHARED, &t, &holds[0], &err));
    for (int64_t i = 0; i < most; i++)
        WORKS(dpc_tensor_unmap(c, holds[i], &err));
    INT_IS(count_mappings(), 0);
    INT_IS(count_descriptors(), before);
    dpc_close(c);
}

static dpc_request *read_request(int64_t handle)
{
    dpc_request *r = dpc_request_new("tensor.read");

    dpc_add_int(r, "tensor", handle);
    dpc_add_str(r, "as", "fd");
    return r;
}

/* The daemon passes the descriptor beside the first answer only. */
static void test_reads_that_are_pipelined(void)
{
    const float x[] = {3}, y[] = {4};
    dpc_client *c = connect_to();
    int before = count_descriptors();
    int64_t handles[] = {create(c, x, 1), create(c, y, 1)};
    dpc_answer *a, *first = NULL;
    dpc_tensor t;

    for (int i = 0; i < 6; i++) {
        dpc_request *r = read_request(handles[i % 2]);
        WORKS(dpc_submit(c, r, NULL, &err));
        dpc_request_free(r);
    }
    for (int i = 0; i < 6; i++) {
        WORKS(dpc_receive(c, -1, &a, &err));
        WORKS(dpc_value_tensor(a, dpc_answer_result(a), &t, &err));
        CHECK(((const float *)t.data)[0] == (i % 2 == 0 ? 3 : 4));
        if (i == 0)
            first = a; /* read again by an answer that is on the way */
        else if (i == 1)
            WORKS(dpc_tensor_unmap(c, first, &err));
        if (i != 0)
            WORKS(dpc_tensor_unmap(c, a, &err));
    }
    INT_IS(count_descriptors(), before);
    WORKS(dpc_tensor_read(c, handles[0], DPC_SHARED, &t, &a, &err));
    CHECK(((const float *)t.data)[0] == 3);
    WORKS(dpc_tensor_unmap(c, a, &err));
    dpc_close(c);
    INT_IS(count_mappings(), 0);
}

/* An answer that comes too late is dropped, but not the descriptor, which comes only once. */
static void test_a_read_that_timed_out(void)
{
    dpc_options options = DPC_OPTIONS_INIT;
    const float x[] = {6};
    dpc_client *c;
    dpc_answer *hold;
    dpc_tensor t;
    int rc = DPC_ETIMEOUT;

    options.socket = path;
    options.timeout_ms = 100;
    dpc_client *patient = connect_to();
    options.session_key = dpc_session_key(patient);
    WORKS(dpc_connect(&options, &c, &err));
    int before = count_descriptors();
    int64_t handle = create(patient, x, 1);
    dpc_request *r = dpc_op_new("sleeps::sleep");
    dpc_add_tensor(r, NULL, handle);
    dpc_add_int(r, NULL, 1000);
    WORKS(dpc_notify(c, r, &err)); /* what follows waits for that */
    dpc_request_free(r);
    FAILS(dpc_tensor_read(c, handle, DPC_SHARED, &t, &hold, &err), DPC_ETIMEOUT);
    for (int i = 0; i < 600 && rc == DPC_ETIMEOUT; i++)
        rc = dpc_tensor_read(c, handle, DPC_SHARED, &t, &hold, &err);
    INT_IS(rc, 0);
    CHECK(((const float *)t.data)[0] == 6);
    INT_IS(count_descriptors(), before);
    dpc_answer_free(hold);
    dpc_close(c);
    dpc_close(patient);
}

/* -- connections that end -- */

static void test_a_second_life_of_the_connection(void)
{
    dpc_options options = DPC_OPTIONS_INIT;
    const float x[] = {1, 2};
    dpc_client *c;
    dpc_answer *hold, *fresh;
    dpc_tensor t, u;
    bool rejoined;

    options.socket = path;
    options.linger_ms = 60000;
    WORKS(dpc_connect(&options, &c, &err));
    int before = count_descriptors();
    int64_t handle = create(c, x, 2);
    WORKS(dpc_tensor_read(c, handle, DPC_SHARED, &t, &hold, &err));
    WORKS(dpc_reconnect(c, -1, &rejoined, &err));
    CHECK(rejoined);
    CHECK(((const float *)t.data)[1] == 2);
    WORKS(dpc_tensor_read(c, handle, DPC_SHARED, &u, &fresh, &err));
    CHECK(u.data != t.data);
    CHECK(((const float *)u.data)[1] == 2);
    WORKS(dpc_tensor_unmap(c, hold, &err));
    CHECK(((const float *)u.data)[1] == 2);
    WORKS(dpc_tensor_unmap(c, fresh, &err));
    INT_IS(count_mappings(), 0);
    INT_IS(count_descriptors(), before);
    WORKS(dpc_tensor_release(c, &handle, 1, &err)); /* the session lingers */
    dpc_close(c);
}

/* The Python test kills the daemon when this program says so. */
static void test_the_daemon_dies(void)
{
    const float x[] = {1, 2};
    const int64_t two[] = {2};
    dpc_client *c = connect_to();
    char line[16];
    int64_t handle;
    dpc_answer *hold, *a;
    dpc_tensor t;

    int before = count_descriptors();
    dpc_memory *m = memory_of(x, 2);
    WORKS(dpc_tensor_share(c, DPC_FLOAT32, two, 1, m, 0, &handle, &err));
    WORKS(dpc_tensor_read(c, create(c, x, 2), DPC_SHARED, &t, &hold, &err));
    puts("kill the daemon");
    fflush(stdout);
    CHECK(fgets(line, sizeof(line), stdin) != NULL);
    FAILS(dpc_tensor_read(c, handle, DPC_SHARED, &t, &a, &err), DPC_EBROKEN);
    FAILS(dpc_open(c, &c, &err), DPC_EBROKEN);
    CHECK(((const float *)t.data)[1] == 2); /* what was read stays */
    WORKS(dpc_tensor_unmap(c, hold, &err));
    puts("start a daemon");
    fflush(stdout);
    WORKS(dpc_reconnect(c, 60000, NULL, &err));
    WORKS(dpc_tensor_share(c, DPC_FLOAT32, two, 1, m, 0, &handle, &err));
    CHECK(element(c, handle, 1) == 2);
    WORKS(dpc_tensor_read(c, handle, DPC_SHARED, &t, &hold, &err));
    CHECK(((const float *)t.data)[1] == 2);
    dpc_answer_free(hold);
    dpc_memory_free(m);
    INT_IS(count_descriptors(), before);
    dpc_close(c);
    INT_IS(count_mappings(), 0);
}

/* -- threads: answers are released where they are used -- */

static void *release_answers(void *arg)
{
    dpc_answer **holds = arg;

    for (int i = 0; i < 100; i++)
        dpc_answer_free(holds[i]);
    return NULL;
}

static void test_answers_of_one_memory_in_two_threads(void)
{
    const float x[] = {9};
    dpc_client *c = connect_to();
    int64_t handle = create(c, x, 1);
    static dpc_answer *holds[200];
    pthread_t other;
    dpc_tensor t;

    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 200; i++)
            WORKS(dpc_tensor_read(c, handle, DPC_SHARED, &t, &holds[i], &err));
        CHECK(pthread_create(&other, NULL, release_answers, holds) == 0);
        for (int i = 100; i < 200; i++)
            WORKS(dpc_tensor_unmap(c, holds[i], &err));
        pthread_join(other, NULL);
        CHECK(count_mappings() <= 1); /* the other thread may have had the last answer */
    }
    dpc_close(c);
    INT_IS(count_mappings(), 0);
}

static const struct test tests[] = {
    TEST(reading_without_a_copy),
    TEST(views_lie_where_their_strides_say),
    TEST(what_was_read_outlives_handle_and_connection),
    TEST(what_cannot_be_shared),
    TEST(idle_memories_make_place),
    TEST(reads_that_are_pipelined),
    TEST(a_read_that_timed_out),
    TEST(a_second_life_of_the_connection),
    TEST(the_daemon_dies),
    TEST(answers_of_one_memory_in_two_threads),
};

int main(int argc, char **argv)
{
    return run_test(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
