/* dispatch_client.h -- a small blocking client of dispatchd: one connection, one call at a time.
 *
 *     dc_error err;
 *     dc_client *c = NULL;
 *     dc_answer a;
 *     if (dc_connect(NULL, &c, &err) < 0) ...
 *     if (dc_call(c, "server.status", NULL, NULL, 0, &a, &err) == 0) {
 *         ...
 *         dc_answer_fini(&a);
 *     }
 *     c = dc_close(c);
 *
 * The client needs cJSON.  Only one thread at a time may use a client.  Functions that take a
 * `dc_error *` return 0; or -1, and `err->message` says what failed: the connection, or memory ran
 * out.  A call that the daemon answers with an error returns 0 and sets `error` of the answer. */
#ifndef DISPATCH_CLIENT_H
#define DISPATCH_CLIENT_H

#include <cjson/cJSON.h>
#include <stddef.h>

typedef struct dc_client dc_client;

typedef struct dc_error {
    char message[512];
} dc_error;

typedef struct dc_bytes {
    const void *data;
    size_t bytes;
} dc_bytes;

/* One answer.  Exactly one of `result` and `error` is not NULL; both point into `root`. */
typedef struct dc_answer {
    cJSON *root; /* owned */
    const cJSON *result, *error;
    dc_bytes *attachments; /* [n_attachments], owned, and so are their bytes */
    size_t n_attachments;
} dc_answer;

/* Return the socket's path, written to `buf`: `path` if it is not NULL, else $DISPATCHD_SOCKET,
 * else the default path (docs/operating.md).  NULL: the path is too long for `buf`. */
const char *dc_socket_path(const char *path, char *buf, size_t bytes);

/* Connect to dc_socket_path(path) and check that root or our own user runs the server.  `*out` is
 * owned; it is unchanged on failure. */
int dc_connect(const char *path, dc_client **out, dc_error *err);
dc_client *dc_close(dc_client *c); /* `c` may be NULL; returns NULL */

/* Send one request and read its answer.  Takes ownership of `params` (NULL: none), also on failure.
 * The bytes of `attachments[n]`, borrowed, follow the request's line; params refer to an attachment
 * by its index.  cJSON does not print doubles exactly: put numbers that must arrive unchanged into
 * `params` as text (cJSON_CreateRaw) without line feeds.  After a result of 0, the caller releases
 * `*out` with dc_answer_fini(). */
int dc_call(dc_client *c, const char *method, cJSON *params, const dc_bytes *attachments, size_t n,
            dc_answer *out, dc_error *err);
void dc_answer_fini(dc_answer *a);

#endif
