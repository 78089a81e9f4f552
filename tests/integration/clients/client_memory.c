/* client_memory.c -- libdispatchd-client without memory: client_memory SOCKET.  Makes the first
 * allocation of a round of calls fail, then the second, and so on.  In each round the client
 * reports that memory ran out, and works again, if need be after dpc_reconnect(). */
#include "client_test.h"
#include <cjson/cJSON.h>
#include <errno.h>

/* The linker has the library call these in place of malloc() and others (-Wl,--wrap). */
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *p, size_t bytes);
char *__real_strdup(const char *s);

static int left = -1; /* allocations until one fails; -1: none fails */

static bool fails(void)
{
    if (left < 0 || left-- > 0)
        return false;
    errno = ENOMEM;
    return true;
}

void *__wrap_malloc(size_t bytes)
{
    return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t n, size_t bytes)
{
    return fails() ? NULL : __real_calloc(n, bytes);
}

void *__wrap_realloc(void *p, size_t bytes)
{
    return fails() ? NULL : __real_realloc(p, bytes);
}

char *__wrap_strdup(const char *s)
{
    return fails() ? NULL : __real_strdup(s);
}

/* Pass memory both ways, and open a second connection. */
static int use_shared(dpc_client *c, int64_t tensor)
{
    const int64_t shape[] = {1000};
    dpc_memory *m;
    dpc_client *second;
    dpc_answer *a;
    dpc_tensor t;
    int64_t handle;
    int rc;

    if ((rc = dpc_tensor_read(c, tensor, DPC_SHARED, &t, &a, &err)) != 0 ||
        (rc = dpc_tensor_unmap(c, a, &err)) != 0 || (rc = dpc_memory_new(4000, &m, &err)) != 0)
        return rc;
    rc = dpc_tensor_share(c, DPC_FLOAT32, shape, 1, m, 0, &handle, &err);
    dpc_memory_free(m);
    if (rc == 0 && (rc = dpc_open(c, &second, &err)) == 0)
        dpc_close(second);
    return rc;
}

/* Use most functions once.  Returns the first code that is not 0. */
static int use(dpc_client *c)
{
    const int64_t shape[] = {5000};
    static const float x[5000];
    int64_t handle, program;
    dpc_answer *a = NULL;
    dpc_tensor t;
    int rc;

    if ((rc = dpc_tensor_create(c, DPC_FLOAT32, shape, 1, x, &handle, &err)) != 0 ||
        (rc = dpc_tensor_read(c, handle, DPC_COPY, &t, &a, &err)) != 0)
        return rc;
    dpc_answer_free(a);
    if ((rc = use_shared(c, handle)) != 0)
        return rc;
    dpc_request *r = dpc_op_new("aten::add.Tensor");
    dpc_add_data(r, NULL, DPC_FLOAT32, shape, 1, x);
    dpc_add_float(r, NULL, 0.5);
    dpc_add_int(r, "alpha", 2);
    dpc_set_return(r, DPC_RETURN_BYTES);
    dpc_set_deadline(r, 60000);
    rc = dpc_submit(c, r, NULL, &err);
    if (rc == 0)
        rc = dpc_submit(c, r, NULL, &err);
    for (int i = 0; i < 2 && rc == 0; i++)
        if ((rc = dpc_receive(c, -1, &a, &err)) == 0)
            dpc_answer_free(a);
    dpc_request_free(r);
    if (rc == 0)
        rc = dpc_program_create(c,
                                "{\"inputs\":[],\"steps\":[{\"op\":\"aten::zeros\",\"args\":[[1]],"
                                "\"as\":[\"z\"]}],\"outputs\":[\"z\"]}",
                                &program, &err);
    if (rc == 0)
        rc = dpc_program_release(c, program, &err);
    return rc == 0 ? dpc_call_json(c, "tensor.release", "{\"all\":true}", NULL, &err) : rc;
}

static int connect_and_use(const char *socket)
{
    dpc_options options = DPC_OPTIONS_INIT;
    dpc_client *c = NULL;
    dpc_answer *a;

    options.socket = socket;
    options.name = "memory";
    int rc = dpc_connect(&options, &c, &err);
    if (rc != 0)
        return rc;
    rc = use(c);
    if (rc != 0) {
        CHECK(rc == err.code);
        left = -1; /* the client works again */
        while (dpc_outstanding(c) > 0 && dpc_receive(c, -1, &a, &err) == 0)
            dpc_answer_free(a);
        if (dpc_call_json(c, "tensor.list", NULL, NULL, &err) != 0)
            WORKS(dpc_reconnect(c, -1, NULL, &err));
        WORKS(use(c));
    }
    dpc_close(c);
    return rc;
}

int main(int argc, char **argv)
{
    cJSON_Hooks hooks = {__wrap_malloc, free};
    int n, rc = -1;

    CHECK(argc == 2);
    cJSON_InitHooks(&hooks);
    for (n = 0; rc != 0; n++) {
        left = n;
        rc = connect_and_use(argv[1]);
        left = -1;
        CHECK(rc == 0 || rc == DPC_EMEMORY);
    }
    printf("%d allocations failed in turn\n", n - 1);
    CHECK(n > 100);
    return 0;
}
