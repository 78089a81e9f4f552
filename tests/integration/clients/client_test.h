/* client_test.h -- checks for the test programs of libdispatchd-client: the first that fails prints
 * where and why, and ends the program with status 1.  A program is called with the daemon's socket
 * and the name of a test; without arguments it prints the names. */
#ifndef CLIENT_TEST_H
#define CLIENT_TEST_H

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "dispatchd-client.h"

#define CHECK(condition)                                                                           \
    ((condition) ? (void)0                                                                         \
                 : (printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition), exit(1)))
#define INT_IS(got, want)   check_int(__FILE__, __LINE__, #got, (int64_t)(got), (int64_t)(want))
#define TEXT_IS(got, want)  check_text(__FILE__, __LINE__, #got, got, want)
#define TEXT_HAS(got, part) check_part(__FILE__, __LINE__, #got, got, part)
/* `call` uses `err`; it has to succeed, or to fail with `code`. */
#define WORKS(call)       check_code(__FILE__, __LINE__, #call, call, 0)
#define FAILS(call, code) check_code(__FILE__, __LINE__, #call, call, code)

static dpc_error err;

static inline void check_int(const char *file, int line, const char *what, int64_t got,
                             int64_t want)
{
    if (got == want)
        return;
    printf("%s:%d: %s is %" PRId64 ", want %" PRId64 "\n", file, line, what, got, want);
    exit(1);
}

static inline void check_text(const char *file, int line, const char *what, const char *got,
                              const char *want)
{
    if (got != NULL && strcmp(got, want) == 0)
        return;
    printf("%s:%d: %s is '%s', want '%s'\n", file, line, what, got != NULL ? got : "NULL", want);
    exit(1);
}

static inline void check_part(const char *file, int line, const char *what, const char *got,
                              const char *part)
{
    if (got != NULL && strstr(got, part) != NULL)
        return;
    printf("%s:%d: %s is '%s', without '%s'\n", file, line, what, got != NULL ? got : "NULL", part);
    exit(1);
}

static inline void check_code(const char *file, int line, const char *what, int got, int want)
{
    if (got == want && (want == 0 || (err.code == want && *err.message != '\0')))
        return;
    printf("%s:%d: %s returned %d, want %d; error %d %s: %s\n", file, line, what, got, want,
           err.code, err.type, err.message);
    exit(1);
}

/* -- clients -- */

/* Count the open descriptors of this process, and a constant number more. */
static inline int count_descriptors(void)
{
    DIR *all = opendir("/proc/self/fd");
    int n = 0;

    CHECK(all != NULL);
    while (readdir(all) != NULL)
        n++;
    closedir(all);
    return n;
}

static const char *path; /* of the socket */

static inline dpc_client *connect_with(const char *session_key)
{
    dpc_options options = DPC_OPTIONS_INIT;
    dpc_client *c;

    options.socket = path;
    options.session_key = session_key;
    WORKS(dpc_connect(&options, &c, &err));
    return c;
}

static inline dpc_client *connect_to(void)
{
    return connect_with(NULL);
}

/* Send `r` once, release it, and return its answer. */
static inline dpc_answer *answer_of(dpc_client *c, dpc_request *r)
{
    dpc_answer *a;

    WORKS(dpc_call(c, r, &a, &err));
    dpc_request_free(r);
    return a;
}

static inline dpc_tensor output_of(const dpc_answer *a, size_t i)
{
    dpc_tensor t;

    WORKS(dpc_value_tensor(a, dpc_answer_output(a, i), &t, &err));
    return t;
}

static inline int64_t create(dpc_client *c, const float *data, int64_t n)
{
    int64_t handle;

    WORKS(dpc_tensor_create(c, DPC_FLOAT32, &n, 1, data, &handle, &err));
    return handle;
}

/* Read float32 element `i` of a tensor. */
static inline float element(dpc_client *c, int64_t handle, size_t i)
{
    dpc_tensor t;
    dpc_answer *hold;

    WORKS(dpc_tensor_read(c, handle, DPC_COPY, &t, &hold, &err));
    INT_IS(t.dtype, DPC_FLOAT32);
    CHECK(i < t.nbytes / sizeof(float));
    float value = ((const float *)t.data)[i];
    dpc_answer_free(hold);
    return value;
}

/* -- main -- */

struct test {
    const char *name;
    void (*run)(void);
};
#define TEST(name)                                                                                 \
    {                                                                                              \
#name, test_##name                                                                         \
    }

static inline int run_test(int argc, char **argv, const struct test *tests, size_t n)
{
    for (size_t i = 0; i < n && argc == 1; i++)
        puts(tests[i].name);
    for (size_t i = 0; i < n && argc > 2; i++)
        if (strcmp(tests[i].name, argv[2]) == 0) {
            path = argv[1];
            tests[i].run();
            return 0;
        }
    return argc == 1 ? 0 : 2;
}

#endif
