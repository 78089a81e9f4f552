/* dispatch_client.h -- a small blocking client of dispatchd: one connection, one call at a time.
 *
 *     dc_error err;
 *     dc_client *c = NULL;
 *     dc_answer a;
 *     if (dc_connect(NULL, &c, &err) < 0) ...
 *     if (dc_call(c, "server.status", cJSON_CreateObject(), NULL, 0, &a, &err) == 0) ...
 *     dc_answer_fini(&a);
 *     c = dc_close(c);
 *
 * Needs cJSON.  A client belongs to one thread at a time.  Functions return 0, or -1 with *err
 * saying why the connection failed; an error that the daemon answers is not a failure of the call.
 */
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

/* One answer; exactly one of result and error is set.  Both lie in root. */
typedef struct dc_answer {
    cJSON *root; /* owned */
    const cJSON *result, *error;
    dc_bytes *attachments; /* owned, with what they point to */
    size_t n_attachments;
} dc_answer;

/* Where the daemon listens: path if it is not NULL, else what the environment says, else the usual
 * place (docs/operating.md).  Returns buf, or NULL when it does not fit. */
const char *dc_socket_path(const char *path, char *buf, size_t bytes);

/* Connect to dc_socket_path(path) and check that the server is root's or our own.
 * *out owned; untouched on failure. */
int dc_connect(const char *path, dc_client **out, dc_error *err);
dc_client *dc_close(dc_client *c); /* NULL is fine; returns NULL */

/* Send one request and read its answer.  Takes params (NULL: none).  attachments [n], borrowed,
 * follow the line; params name them by index.  cJSON does not print doubles exactly: put numbers
 * that must arrive unchanged into params as text (cJSON_CreateRaw) without line feeds.  *out:
 * release with dc_answer_fini(). */
int dc_call(dc_client *c, const char *method, cJSON *params, const dc_bytes *attachments, size_t n,
            dc_answer *out, dc_error *err);
void dc_answer_fini(dc_answer *a);

#endif
