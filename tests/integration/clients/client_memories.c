/* client_memories.c -- libdispatchd-client against a daemon: memory of the client's own that
 * becomes tensors without a copy. */
#include <signal.h>
#include <sys/wait.h>
#include "client_shared.h"

static void test_creating_without_a_copy(void)
{
    dpc_client *c = connect_to();
    int before = count_descriptors();
    static float x[N];
    const int64_t shape[] = {N}, half[] = {2, N / 4};
    int64_t handle, second;

    for (int i = 0; i < N; i++)
        x[i] = (float)i;
    dpc_memory *m = memory_of(x, N);
    WORKS(dpc_tensor_share(c, DPC_FLOAT32, shape, 1, m, 0, &handle, &err));
    CHECK(element(c, handle, N - 1) == N - 1);
    CHECK(((const float *)dpc_memory_data(m))[5] == 5);
    dpc_request *r = dpc_op_new("aten::sum");
    dpc_add_tensor(r, NULL, handle);
    dpc_set_return(r, DPC_RETURN_BYTES);
    dpc_answer_free(answer_of(c, r)); /* the daemon has read each page */
    check_same_pages(c, dpc_memory_data(m));

    WORKS(dpc_tensor_share(c, DPC_FLOAT32, half, 2, m, N * 2, &second, &err));
    CHECK(element(c, second, 1) == N / 2 + 1);
    call_op(c, "aten::add_.Scalar", handle, 1); /* writes pages of its own */
    CHECK(element(c, handle, 5) == 6);
    CHECK(((const float *)dpc_memory_data(m))[5] == 5);
    dpc_memory_free(m); /* the tensors keep it */
    CHECK(element(c, second, 1) == N / 2 + 1);
    dpc_close(c);
    INT_IS(count_descriptors(), before - 1);
    INT_IS(count_mappings(), 0);
}

static void test_memory_as_an_argument(void)
{
    const float x[] = {1, 2, 3, 4};
    const int64_t two[] = {2}, into = -1;
    dpc_client *c = connect_to();
    dpc_memory *m = memory_of(x, 4), *other = memory_of(x, 2);

    dpc_request *r = dpc_op_new("aten::mul.Tensor");
    dpc_add_memory(r, NULL, DPC_FLOAT32, two, 1, m, 0);
    dpc_add_memory(r, NULL, DPC_FLOAT32, two, 1, m, 8);
    dpc_set_return(r, DPC_RETURN_BYTES);
    for (int i = 0; i < 2; i++) { /* a request may be sent again */
        dpc_answer *a;
        WORKS(dpc_call(c, r, &a, &err));
        dpc_tensor t = output_of(a, 0);
        CHECK(((const float *)t.data)[0] == 3 && ((const float *)t.data)[1] == 8);
        dpc_answer_free(a);
    }
    dpc_request_reset(r);
    dpc_add_memory(r, NULL, DPC_FLOAT32, two, 1, m, 4);
    dpc_add_memory(r, NULL, DPC_FLOAT32, two, 1, other, 0);
    dpc_memory_free(other); /* the request uses it */
    dpc_set_return(r, DPC_RETURN_BYTES);
    dpc_answer *a = answer_of(c, r);
    CHECK(((const float *)output_of(a, 0).data)[1] == 6);
    dpc_answer_free(a);

    r = dpc_share_new(DPC_FLOAT32, two, 1, m, 8); /* pipelined, and with a handle of our own */
    dpc_set_into(r, &into, 1);
    WORKS(dpc_submit(c, r, NULL, &err));
    dpc_request_free(r);
    dpc_memory_free(m);
    r = dpc_op_new("aten::neg");
    dpc_add_tensor(r, NULL, -1);
    dpc_set_return(r, DPC_RETURN_BYTES);
    WORKS(dpc_submit(c, r, NULL, &err));
    dpc_request_free(r);
    WORKS(dpc_receive(c, -1, &a, &err));
    INT_IS(dpc_answer_error(a, &err), 0);
    dpc_answer_free(a);
    WORKS(dpc_receive(c, -1, &a, &err));
    CHECK(((const float *)output_of(a, 0).data)[0] == -3);
    dpc_answer_free(a);
    dpc_close(c);
}

/* The numbers that the daemon gives to memories are released without being asked for. */
static void test_more_memories_than_maps(void)
{
    const float x[] = {1, 2};
    const int64_t two[] = {2};
    dpc_client *c = connect_to();
    int before = count_descriptors();

    for (int64_t i = 0; i < dpc_limit(c, "maps") + 50; i++) {
        dpc_memory *m = memory_of(x, 2);
        int64_t handle;
        WORKS(dpc_tensor_share(c, DPC_FLOAT32, two, 1, m, 0, &handle, &err));
        dpc_memory_free(m);
        WORKS(dpc_tensor_release(c, &handle, 1, &err));
    }
    INT_IS(count_descriptors(), before);
    INT_IS(count_mappings(), 0);
    dpc_answer *a;
    WORKS(dpc_call_json(c, "session.sync", NULL, &a, &err));
    INT_IS(dpc_value_len(dpc_value_member(dpc_answer_result(a), "failed")), 0);
    dpc_answer_free(a);
    dpc_close(c);
}

static void test_wrong_memories(void)
{
    const float x[] = {1, 2};
    const int64_t two[] = {2}, three[] = {3}, none[] = {0};
    dpc_client *c = connect_to();
    dpc_memory *m;
    int64_t handle;

    FAILS(dpc_memory_new(0, &m, &err), DPC_EARGUMENT);
    FAILS(dpc_memory_new(SIZE_MAX, &m, &err), DPC_EARGUMENT);
    FAILS(dpc_memory_new((size_t)INT64_MAX, &m, &err), DPC_EMEMORY);
    dpc_memory_free(NULL);
    m = memory_of(x, 2);
    FAILS(dpc_tensor_share(c, DPC_FLOAT32, three, 1, m, 0, &handle, &err), DPC_EARGUMENT);
    TEXT_HAS(err.message, "a tensor of 12 bytes from byte 0 of a memory of 8");
    FAILS(dpc_tensor_share(c, DPC_FLOAT32, two, 1, m, 4, &handle, &err), DPC_EARGUMENT);
    FAILS(dpc_tensor_share(c, DPC_FLOAT32, none, 1, m, 12, &handle, &err), DPC_EARGUMENT);
    FAILS(dpc_tensor_share(c, DPC_DTYPE_OTHER, two, 1, m, 0, &handle, &err), DPC_EARGUMENT);
    WORKS(dpc_tensor_share(c, DPC_UINT8, two, 1, m, 1, &handle, &err));
    FAILS(dpc_tensor_share(c, DPC_INT16, two, 1, m, 1, &handle, &err), DPC_EDAEMON);
    TEXT_HAS(err.message, "no multiple of the 2 bytes");
    dpc_request *r = dpc_op_new("aten::cat");
    dpc_begin_list(r, NULL);
    dpc_memory *many[17];
    for (int i = 0; i < 17; i++) {
        many[i] = memory_of(x, 2);
        INT_IS(dpc_attach_memory(r, many[i]), i < 16 ? i : 0);
    }
    dpc_end(r);
    FAILS(dpc_call(c, r, NULL, &err), DPC_EARGUMENT);
    TEXT_HAS(err.message, "more than 16 memories");
    dpc_request_free(r);
    for (int i = 0; i < 17; i++)
        dpc_memory_free(many[i]);
    dpc_memory_free(m);
    INT_IS(count_mappings(), 0);
    dpc_close(c);
}

static void test_memory_that_was_handed_over_cannot_be_written(void)
{
    const float x[] = {1, 2};
    const int64_t two[] = {2};
    dpc_client *c = connect_to();
    dpc_memory *m = memory_of(x, 2);
    int64_t handle;
    int status;

    WORKS(dpc_tensor_share(c, DPC_FLOAT32, two, 1, m, 0, &handle, &err));
    pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        *(volatile float *)dpc_memory_data(m) = 7;
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    CHECK(element(c, handle, 0) == 1);
    dpc_memory_free(m);
    dpc_close(c);
}

static const struct test tests[] = {
    TEST(creating_without_a_copy),
    TEST(memory_as_an_argument),
    TEST(more_memories_than_maps),
    TEST(wrong_memories),
    TEST(memory_that_was_handed_over_cannot_be_written),
};

int main(int argc, char **argv)
{
    return run_test(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
