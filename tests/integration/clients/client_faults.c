/* client_faults.c -- libdispatchd-client against a server that is at fault: client_faults SOCKET
 * [TIMEOUT_MS [BYTES]].  The Python test plays the server.  The program connects without
 * server.hello, submits two requests (one with an attachment if BYTES are given), receives their
 * answers, and prints a line for each step: what it got, or the code and message of the error. */
#include "client_test.h"

static void print_notification(void *context, const char *method, const dpc_value *params)
{
    int64_t n = -1;

    dpc_value_int(dpc_value_member(params, "n"), &n);
    printf("notification %s %" PRId64 "\n", method, n);
    /* A callback must not use the client. */
    if (dpc_call_json(context, "x", NULL, NULL, &err) != DPC_EARGUMENT ||
        dpc_wait(context, 0, &err) != DPC_EARGUMENT ||
        dpc_reconnect(context, 0, NULL, &err) != DPC_EARGUMENT)
        puts("the callback could use the client");
}

static void print_error(void)
{
    printf("error %d %s%s%s\n", err.code, err.type, *err.type != '\0' ? ": " : "", err.message);
}

static void print_answer(const dpc_answer *a)
{
    size_t nbytes = 0;
    dpc_tensor t;

    if (dpc_answer_error(a, &err) != 0) {
        print_error();
        return;
    }
    if (dpc_value_member(dpc_answer_result(a), "dtype") != NULL) {
        if (dpc_value_tensor(a, dpc_answer_result(a), &t, &err) != 0)
            print_error();
        else if (dpc_value_member(dpc_answer_result(a), "map") != NULL)
            printf("shared %zu:%.*s\n", t.nbytes, t.nbytes < 20 ? (int)t.nbytes : 20,
                   (const char *)t.data);
        else
            printf("tensor of %d dimensions\n", t.ndim);
        return;
    }
    printf("result %" PRIu64, dpc_answer_id(a));
    for (size_t i = 0; dpc_answer_attachment(a, i, &nbytes) != NULL; i++)
        printf(" %zu:%.*s", nbytes, nbytes < 20 ? (int)nbytes : 20,
               (const char *)dpc_answer_attachment(a, i, NULL));
    putchar('\n');
}

int main(int argc, char **argv)
{
    dpc_options options = DPC_OPTIONS_INIT;
    dpc_client *c;
    dpc_answer *a;

    CHECK(argc >= 2);
    int descriptors = count_descriptors();
    options.socket = argv[1];
    options.no_hello = true;
    options.timeout_ms = argc > 2 ? atoi(argv[2]) : -1;
    WORKS(dpc_connect(&options, &c, &err));
    dpc_on_notification(c, print_notification, c);
    dpc_request *r = dpc_request_json("m", NULL);
    size_t bytes = argc > 3 ? (size_t)atoi(argv[3]) : 0;
    void *attachment = calloc(1, bytes + 1);
    if (bytes > 0)
        dpc_attach(r, attachment, bytes);
    for (int i = 0; i < (bytes > 0 ? 1 : 2); i++)
        if (dpc_submit(c, r, NULL, &err) != 0)
            print_error();
    for (int i = 0; i < (bytes > 0 ? 1 : 2); i++)
        if (dpc_receive(c, options.timeout_ms, &a, &err) != 0) {
            print_error();
        } else {
            print_answer(a);
            dpc_answer_free(a);
        }
    dpc_request_free(r);
    free(attachment);
    dpc_close(c);
    if (count_descriptors() != descriptors)
        printf("%d descriptors are open, before it were %d\n", count_descriptors(), descriptors);
    return 0;
}
