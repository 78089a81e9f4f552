/* dispatch_client.c -- a small blocking client of dispatchd; see dispatch_client.h.
 *
 * A client owns its socket and the bytes received after the last answer.  After a failed send or
 * receive, only dc_close() may be called. */
#define _GNU_SOURCE /* struct ucred */
#include "dispatch_client.h"
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { READ_BYTES = 64 << 10 }; /* free bytes in the buffer before each read */

struct dc_client {
    int fd;
    double last_id;
    char *in; /* [cap]; the first `len` bytes are received but not consumed yet */
    size_t len, cap;
};

static int fail(dc_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int fail(dc_error *err, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    vsnprintf(err->message, sizeof(err->message), format, ap);
    va_end(ap);
    return -1;
}

/* -- connecting -- */

const char *dc_socket_path(const char *path, char *buf, size_t bytes)
{
    const char *env = getenv("DISPATCHD_SOCKET"), *runtime = getenv("XDG_RUNTIME_DIR");
    const char *tmp = getenv("TMPDIR");
    int n;

    if (path == NULL && env != NULL && *env != '\0')
        path = env;
    if (path != NULL)
        n = snprintf(buf, bytes, "%s", path);
    else if (runtime != NULL && *runtime == '/')
        n = snprintf(buf, bytes, "%s/dispatchd.sock", runtime);
    else if (geteuid() == 0)
        n = snprintf(buf, bytes, "/run/dispatchd.sock");
    else
        n = snprintf(buf, bytes, "%s/dispatchd-%u/dispatchd.sock",
                     tmp != NULL && *tmp == '/' ? tmp : "/tmp", (unsigned)geteuid());
    return n >= 0 && (size_t)n < bytes ? buf : NULL;
}

/* Check that root or our own user runs the server: any process that can write to the directory
 * could have put a socket there. */
static int check_server(int fd, const char *path, dc_error *err)
{
    struct ucred peer;
    socklen_t bytes = sizeof(peer);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) < 0)
        return fail(err, "cannot tell who serves '%s': %s", path, strerror(errno));
    if (peer.uid != 0 && peer.uid != geteuid())
        return fail(err, "the server at '%s' runs as uid %u, not as root or as you (%u)", path,
                    (unsigned)peer.uid, (unsigned)geteuid());
    return 0;
}

int dc_connect(const char *path, dc_client **out, dc_error *err)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    dc_client *c;

    if (dc_socket_path(path, addr.sun_path, sizeof(addr.sun_path)) == NULL)
        return fail(err, "the socket's path is longer than %zu bytes", sizeof(addr.sun_path) - 1);
    c = calloc(1, sizeof(*c));
    if (c == NULL)
        return fail(err, "out of memory");
    c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&addr, sizeof(addr)) < 0) {
        fail(err, "no daemon at '%s': %s", addr.sun_path, strerror(errno));
        goto fail;
    }
    if (check_server(c->fd, addr.sun_path, err) < 0)
        goto fail;
    *out = c;
    return 0;

fail:
    dc_close(c);
    return -1;
}

dc_client *dc_close(dc_client *c)
{
    if (c == NULL)
        return NULL;
    if (c->fd >= 0)
        close(c->fd);
    free(c->in);
    free(c);
    return NULL;
}

/* -- sending -- */

static int send_all(dc_client *c, const void *data, size_t bytes, dc_error *err)
{
    const char *p = data;

    while (bytes > 0) {
        ssize_t n = send(c->fd, p, bytes, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EPIPE)
            return 0; /* the daemon has closed; a last answer may say why, and is read next */
        if (n < 0)
            return fail(err, "the connection broke while sending: %s", strerror(errno));
        p += n;
        bytes -= (size_t)n;
    }
    return 0;
}

/* Make {"jsonrpc","id","method","params","attachments"}; takes ownership of `params`, also on
 * failure.  NULL: out of memory. */
static cJSON *request_new(double id, const char *method, cJSON *params, const dc_bytes *attachments,
                          size_t n)
{
    cJSON *root = cJSON_CreateObject(), *sizes = NULL;

    if (params != NULL && !cJSON_AddItemToObject(root, "params", params)) {
        cJSON_Delete(params);
        goto fail;
    }
    if (!cJSON_AddStringToObject(root, "jsonrpc", "2.0") ||
        !cJSON_AddNumberToObject(root, "id", id) ||
        !cJSON_AddStringToObject(root, "method", method))
        goto fail;
    if (n > 0 && (sizes = cJSON_AddArrayToObject(root, "attachments")) == NULL)
        goto fail;
    for (size_t i = 0; i < n; i++) {
        cJSON *size = cJSON_CreateNumber((double)attachments[i].bytes);
        if (!cJSON_AddItemToArray(sizes, size)) {
            cJSON_Delete(size);
            goto fail;
        }
    }
    return root;

fail:
    cJSON_Delete(root);
    return NULL;
}

static int send_request(dc_client *c, const char *method, cJSON *params,
                        const dc_bytes *attachments, size_t n, dc_error *err)
{
    cJSON *request = request_new(++c->last_id, method, params, attachments, n);
    char *line = request ? cJSON_PrintUnformatted(request) : NULL;
    int rc = line ? 0 : fail(err, "out of memory");

    cJSON_Delete(request);
    if (rc == 0)
        rc = send_all(c, line, strlen(line), err);
    if (rc == 0)
        rc = send_all(c, "\n", 1, err);
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = send_all(c, attachments[i].data, attachments[i].bytes, err);
    cJSON_free(line);
    return rc;
}

/* -- receiving -- */

static int reserve(dc_client *c, size_t cap, dc_error *err)
{
    char *in;

    if (cap <= c->cap)
        return 0;
    cap = cap < 2 * c->cap ? 2 * c->cap : cap;
    in = realloc(c->in, cap);
    if (in == NULL)
        return fail(err, "out of memory for an answer of %zu bytes", cap);
    c->in = in;
    c->cap = cap;
    return 0;
}

static int read_more(dc_client *c, dc_error *err)
{
    ssize_t n;

    if (reserve(c, c->len + READ_BYTES, err) < 0)
        return -1;
    do
        n = recv(c->fd, c->in + c->len, c->cap - c->len, 0);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return fail(err, "the connection broke: %s", strerror(errno));
    if (n == 0)
        return fail(err, "the daemon closed the connection");
    c->len += (size_t)n;
    return 0;
}

static void consume(dc_client *c, size_t bytes)
{
    c->len -= bytes;
    memmove(c->in, c->in + bytes, c->len);
}

static int read_line(dc_client *c, cJSON **root, dc_error *err)
{
    size_t seen = 0;
    char *end;

    while (c->len == seen || (end = memchr(c->in + seen, '\n', c->len - seen)) == NULL) {
        seen = c->len;
        if (read_more(c, err) < 0)
            return -1;
    }
    *root = cJSON_ParseWithLength(c->in, (size_t)(end - c->in));
    consume(c, (size_t)(end - c->in) + 1);
    return cJSON_IsObject(*root) ? 0 : fail(err, "the daemon's answer is not a JSON object");
}

static int read_attachment(dc_client *c, const cJSON *size, dc_bytes *out, dc_error *err)
{
    double wanted = cJSON_IsNumber(size) ? size->valuedouble : -1;
    size_t bytes;
    void *data;

    if (!(wanted >= 0 && wanted < (double)(SIZE_MAX / 4)))
        return fail(err, "the daemon announced an attachment of no valid size");
    bytes = (size_t)wanted;
    while (c->len < bytes)
        if (read_more(c, err) < 0)
            return -1;
    data = malloc(bytes ? bytes : 1);
    if (data == NULL)
        return fail(err, "out of memory for an attachment of %zu bytes", bytes);
    if (bytes > 0)
        memcpy(data, c->in, bytes);
    consume(c, bytes);
    *out = (dc_bytes){data, bytes};
    return 0;
}

static int read_attachments(dc_client *c, dc_answer *a, dc_error *err)
{
    const cJSON *sizes = cJSON_GetObjectItemCaseSensitive(a->root, "attachments"), *size;
    int n = cJSON_GetArraySize(sizes);

    if (n == 0)
        return 0;
    a->attachments = calloc((size_t)n, sizeof(*a->attachments));
    if (a->attachments == NULL)
        return fail(err, "out of memory");
    cJSON_ArrayForEach(size, sizes)
    {
        if (read_attachment(c, size, &a->attachments[a->n_attachments], err) < 0)
            return -1;
        a->n_attachments++;
    }
    return 0;
}

static int read_answer(dc_client *c, dc_answer *a, dc_error *err)
{
    if (read_line(c, &a->root, err) < 0 || read_attachments(c, a, err) < 0)
        return -1;
    a->result = cJSON_GetObjectItemCaseSensitive(a->root, "result");
    a->error = cJSON_GetObjectItemCaseSensitive(a->root, "error");
    return (a->result == NULL) != (a->error == NULL)
               ? 0
               : fail(err, "the daemon's answer has neither a result nor an error");
}

int dc_call(dc_client *c, const char *method, cJSON *params, const dc_bytes *attachments, size_t n,
            dc_answer *out, dc_error *err)
{
    dc_answer a = {0};

    if (send_request(c, method, params, attachments, n, err) < 0)
        return -1;
    if (read_answer(c, &a, err) < 0) {
        dc_answer_fini(&a);
        return -1;
    }
    *out = a;
    return 0;
}

void dc_answer_fini(dc_answer *a)
{
    cJSON_Delete(a->root);
    for (size_t i = 0; i < a->n_attachments; i++)
        free((void *)a->attachments[i].data);
    free(a->attachments);
    *a = (dc_answer){0};
}
