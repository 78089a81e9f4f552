/* safetensors.c -- fuzzes files of tensors: an input is the content of a file that a client loads
 * by store.load.  What was loaded is saved, and loading and saving that gives the same file. */
#define _GNU_SOURCE
#include "served.h"
#include <fcntl.h>

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    served_start();
    return 0;
}

static int file_of(const void *data, size_t size)
{
    int fd = memfd_create("safetensors", MFD_CLOEXEC);

    FUZZ_CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size, "no file");
    return fd;
}

static char error_type[64]; /* type of the last error */

/* Run a request on the file `fd` and return its result, which the caller frees; NULL: it failed. */
static cJSON *ask(struct connection *c, const char *line, int fd)
{
    int fds[] = {fcntl(fd, F_DUPFD_CLOEXEC, 3)};
    const uint8_t *body = NULL;
    size_t left = 0;
    job *j = served_run(c, line, strlen(line), fds, 1, &body, &left);

    FUZZ_CHECK(j != NULL && j->rq.out.len > 0, "no answer to %s", line);
    cJSON *answer = cJSON_ParseWithLength(j->rq.out.s, j->rq.out.len);
    cJSON *result = cJSON_DetachItemFromObject(answer, "result");
    const cJSON *error = cJSON_GetObjectItem(answer, "error");
    const cJSON *type = cJSON_GetObjectItem(cJSON_GetObjectItem(error, "data"), "type");
    FUZZ_CHECK((result != NULL) == (error == NULL), "%.*s", (int)j->rq.out.len, j->rq.out.s);
    snprintf(error_type, sizeof(error_type), "%s", cJSON_IsString(type) ? type->valuestring : "");
    cJSON_Delete(answer);
    connection_job_free(j);
    return result;
}

static cJSON *load(struct connection *c, int fd)
{
    return ask(c,
               "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"store.load\",\"params\":{\"fd\":0},"
               "\"fds\":1}",
               fd);
}

/* Save what store.load has answered as `loaded`; returns the new file.  -1: it is over a limit,
 * because names are longer with the escapes that the daemon writes. */
static int save(struct connection *c, const cJSON *loaded)
{
    cJSON *tensors = cJSON_CreateObject(), *request = cJSON_CreateObject(), *params;
    const cJSON *t;

    cJSON_AddStringToObject(request, "jsonrpc", "2.0");
    cJSON_AddNumberToObject(request, "id", 1);
    cJSON_AddStringToObject(request, "method", "store.save");
    cJSON_AddNumberToObject(request, "fds", 1);
    params = cJSON_AddObjectToObject(request, "params");
    cJSON_AddNumberToObject(params, "fd", 0);
    cJSON_AddItemToObject(params, "metadata",
                          cJSON_Duplicate(cJSON_GetObjectItem(loaded, "metadata"), true));
    cJSON_ArrayForEach(t, cJSON_GetObjectItem(loaded, "tensors")) cJSON_AddItemToObject(
        tensors, t->string, cJSON_Duplicate(cJSON_GetObjectItem(t, "tensor"), true));
    cJSON_AddItemToObject(params, "tensors", tensors);
    char *line = cJSON_PrintUnformatted(request);
    int fd = file_of("", 0);
    cJSON *result = ask(c, line, fd);
    FUZZ_CHECK(result != NULL || strcmp(error_type, "ResourceExhausted") == 0, "%s: %s", error_type,
               line);
    if (result == NULL) {
        close(fd);
        fd = -1;
    }
    cJSON_Delete(result);
    cJSON_Delete(request);
    cJSON_free(line);
    return fd;
}

static void check_same(int a, int b)
{
    static char x[1 << 20], y[1 << 20];
    ssize_t n = pread(a, x, sizeof(x), 0), m = pread(b, y, sizeof(y), 0);

    FUZZ_CHECK(n == m && n >= 0 && memcmp(x, y, (size_t)n) == 0, "files of %zd and %zd bytes", n,
               m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int client = served_connect(), given = file_of(data, size);
    struct connection *c = served.connections;

    c->refs++;
    cJSON *loaded = load(c, given);
    int first = loaded != NULL ? save(c, loaded) : -1;
    if (first >= 0) {
        cJSON *again = load(c, first);
        FUZZ_CHECK(again != NULL, "%s: cannot load what was saved", error_type);
        int second = save(c, again);
        check_same(first, second);
        cJSON_Delete(again);
        close(first);
        close(second);
    }
    cJSON_Delete(loaded);
    close(given);
    connection_close(c);
    connection_unref(c);
    close(client);
    served_clean();
    return 0;
}
