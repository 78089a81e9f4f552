/* connect.c -- connects to the daemon: the socket's path, the check of who serves it, server.hello,
 * and connecting again. */
#define _GNU_SOURCE /* struct ucred */
#include "client.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
    PROTOCOL = 1,      /* version of the protocol that this client speaks */
    RETRY_MS = 5,      /* dpc_reconnect() waits so long before its second try */
    RETRY_MS_MAX = 200 /* and at most before later ones */
};

const char *dpc_socket_path(const char *path, char *buf, size_t bytes)
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

/* -- the socket -- */

/* Test whether the user of this process trusts servers of user `uid`: their own, root's and those
 * of the user whom $DISPATCHD_SERVER_UID names. */
static bool is_trusted(uid_t uid)
{
    const char *named = secure_getenv("DISPATCHD_SERVER_UID");
    char text[24];

    snprintf(text, sizeof(text), "%u", (unsigned)uid);
    return uid == 0 || uid == geteuid() || (named != NULL && strcmp(named, text) == 0);
}

/* Check who runs the server: any process that can write to the directory could have put a socket
 * there. */
static int check_server(int fd, const char *path, dpc_error *err)
{
    struct ucred peer;
    socklen_t bytes = sizeof(peer);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) < 0)
        return dpci_fail(err, DPC_EPEER, "cannot tell who serves '%s': %s", path, strerror(errno));
    if (!is_trusted(peer.uid))
        return dpci_fail(err, DPC_EPEER,
                         "the server at '%s' runs as uid %u, not as root or as you (%u); if you "
                         "trust that user, set DISPATCHD_SERVER_UID=%u",
                         path, (unsigned)peer.uid, (unsigned)geteuid(), (unsigned)peer.uid);
    return 0;
}

static void close_socket(dpc_client *c)
{
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
}

static int open_socket(dpc_client *c, dpc_error *err)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    int rc;

    if (strlen(c->path) >= sizeof(addr.sun_path))
        return dpci_fail(err, DPC_EARGUMENT, "the socket's path is longer than %zu bytes",
                         sizeof(addr.sun_path) - 1);
    strcpy(addr.sun_path, c->path);
    c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0)
        return dpci_fail(err, DPC_ECONNECT, "no socket can be made: %s", strerror(errno));
    do
        rc = connect(c->fd, (struct sockaddr *)&addr, sizeof(addr));
    while (rc < 0 && errno == EINTR);
    rc = rc < 0 ? dpci_fail(err, DPC_ECONNECT, "no daemon at '%s': %s", c->path, strerror(errno))
                : check_server(c->fd, c->path, err);
    if (rc != 0)
        close_socket(c);
    return rc;
}

/* -- server.hello -- */

static int64_t limit_or(const dpc_client *c, const char *name, int64_t missing)
{
    const cJSON *limits = cJSON_GetObjectItemCaseSensitive(c->hello, "limits");

    dpc_value_int(cJSON_GetObjectItemCaseSensitive(limits, name), &missing);
    return missing;
}

/* Keep the result of server.hello. */
static void keep_hello(dpc_client *c, dpc_answer *a)
{
    cJSON_Delete(c->hello);
    c->hello = cJSON_DetachItemFromObjectCaseSensitive(a->root, "result");
    a->result = NULL;
    c->line_limit = limit_or(c, "line_bytes", INT64_MAX);
    c->attachment_limit = limit_or(c, "attachment_bytes", INT64_MAX);
}

/* Greet the daemon, and join the session with `key` (NULL: none). */
static int say_hello(dpc_client *c, const char *key, int64_t until, dpc_error *err)
{
    dpc_request *r = dpc_request_new("server.hello");
    dpc_answer *a;

    dpc_add_int(r, "protocol", PROTOCOL);
    if (c->name != NULL)
        dpc_add_str(r, "client", c->name);
    if (key != NULL)
        dpc_add_str(r, "session_key", key);
    if (c->linger_ms > 0)
        dpc_add_int(r, "linger_ms", c->linger_ms);
    int rc = dpci_call(c, r, until, &a, err);
    dpc_request_free(r);
    if (rc != 0)
        return rc;
    keep_hello(c, a);
    dpc_answer_free(a);
    return 0;
}

const char *dpc_session_key(const dpc_client *c)
{
    const char *key =
        cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(c->hello, "session_key"));
    return key != NULL ? key : "";
}

int64_t dpc_limit(const dpc_client *c, const char *name)
{
    return limit_or(c, name, -1);
}

bool dpc_has_feature(const dpc_client *c, const char *feature)
{
    const cJSON *features = cJSON_GetObjectItemCaseSensitive(c->hello, "features"), *f;

    cJSON_ArrayForEach(f, features)
    {
        if (cJSON_IsString(f) && strcmp(f->valuestring, feature) == 0)
            return true;
    }
    return false;
}

int dpc_fd(const dpc_client *c)
{
    return c->fd;
}

int64_t dpc_handle_new(dpc_client *c)
{
    if (c->handles == UINT32_MAX) {
        c->handle_range++;
        c->handles = 0;
    }
    return -(int64_t)(c->handle_range % (1 << 20) << 32 | ++c->handles);
}

/* -- connecting -- */

/* Make a client that is not connected. */
static int client_new(const dpc_options *o, dpc_client **out, dpc_error *err)
{
    char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
    dpc_client *c;

    if (dpc_socket_path(o->socket, path, sizeof(path)) == NULL)
        return dpci_fail(err, DPC_EARGUMENT, "the socket's path is longer than %zu bytes",
                         sizeof(path) - 1);
    c = calloc(1, sizeof(*c));
    if (c == NULL)
        return dpci_fail(err, DPC_EMEMORY, "out of memory for a client");
    c->fd = -1;
    c->last = &c->first;
    c->linger_ms = o->linger_ms;
    c->timeout_ms = o->timeout_ms;
    c->spin_us = o->spin_us;
    c->no_hello = o->no_hello;
    c->line_limit = c->attachment_limit = INT64_MAX;
    c->path = strdup(path);
    c->name = o->name != NULL ? strdup(o->name) : NULL;
    if (getrandom(&c->handle_range, sizeof(c->handle_range), GRND_NONBLOCK) < 0)
        c->handle_range = (uint64_t)dpci_now() ^ (uint64_t)getpid() << 10;
    dpci_forget(c);
    if (c->path == NULL || (o->name != NULL && c->name == NULL)) {
        dpc_close(c);
        return dpci_fail(err, DPC_EMEMORY, "out of memory for a client");
    }
    *out = c;
    return 0;
}

int dpc_connect(const dpc_options *options, dpc_client **out, dpc_error *err)
{
    dpc_options o = DPC_OPTIONS_INIT;
    dpc_client *c = NULL;
    int rc;

    if (options != NULL && options->size > sizeof(o))
        return dpci_fail(err, DPC_EARGUMENT, "options of %zu bytes, this library knows %zu",
                         options->size, sizeof(o));
    if (options != NULL)
        memcpy(&o, options, options->size);
    if ((rc = client_new(&o, &c, err)) != 0)
        return rc;
    rc = open_socket(c, err);
    if (rc == 0 && !c->no_hello)
        rc = say_hello(c, o.session_key, dpci_until(c->timeout_ms), err);
    if (rc != 0)
        dpc_close(c);
    else
        *out = c;
    return rc;
}

/* Take the socket that an answer of server.open passes. */
static int take_socket(dpc_client *c, dpc_answer *a, dpc_error *err)
{
    if (a->fd < 0)
        return dpci_fail(err, DPC_EPROTOCOL,
                         "the daemon's answer to server.open has no descriptor");
    c->fd = a->fd;
    a->fd = -1;
    return check_server(c->fd, c->path, err);
}

int dpc_open(dpc_client *c, dpc_client **out, dpc_error *err)
{
    dpc_options o = {.size = sizeof(o),
                     .socket = c->path,
                     .name = c->name,
                     .linger_ms = c->linger_ms,
                     .timeout_ms = c->timeout_ms,
                     .spin_us = c->spin_us,
                     .no_hello = c->no_hello};
    dpc_client *opened;
    dpc_answer *a;
    int rc = dpc_call_json(c, "server.open", NULL, &a, err);

    if (rc != 0)
        return rc;
    rc = client_new(&o, &opened, err);
    if (rc == 0) {
        rc = take_socket(opened, a, err);
        if (rc == 0 && !o.no_hello)
            rc = say_hello(opened, NULL, dpci_until(o.timeout_ms), err);
        if (rc != 0)
            dpc_close(opened);
        else
            *out = opened;
    }
    dpc_answer_free(a);
    return rc;
}

dpc_client *dpc_close(dpc_client *c)
{
    if (c == NULL)
        return NULL;
    close_socket(c);
    dpci_forget(c);
    cJSON_Delete(c->hello);
    free(c->path);
    free(c->name);
    free(c->in.at);
    free(c->line.at);
    free(c->maps);
    free(c);
    return NULL;
}

/* -- connecting again -- */

static void sleep_ms(int64_t ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

/* Open the socket, again and again until a daemon listens or `until` is past. */
static int open_socket_until(dpc_client *c, int64_t until, dpc_error *err)
{
    int rc;

    for (int64_t wait = RETRY_MS;; wait = wait < RETRY_MS_MAX / 2 ? 2 * wait : RETRY_MS_MAX) {
        rc = open_socket(c, err);
        int64_t left = until == INT64_MAX ? wait : (until - dpci_now()) / 1000000;
        if (rc != DPC_ECONNECT || left <= 0)
            return rc;
        sleep_ms(left < wait ? left : wait);
    }
}

/* Join the session of before; if it is gone, greet the daemon for a session of one's own. */
static int rejoin(dpc_client *c, int64_t until, bool *rejoined, dpc_error *err)
{
    char key[128];
    dpc_error failure = {0};

    snprintf(key, sizeof(key), "%s", dpc_session_key(c));
    int rc = *key != '\0' ? say_hello(c, key, until, &failure) : DPC_EDAEMON;
    if (rc == DPC_EDAEMON && (*key == '\0' || strcmp(failure.type, "NotFound") == 0))
        return say_hello(c, NULL, until, err);
    if (rc != 0 && err != NULL)
        *err = failure;
    if (rc != 0)
        return rc;
    *rejoined = true;
    return 0;
}

int dpc_reconnect(dpc_client *c, int timeout_ms, bool *rejoined, dpc_error *err)
{
    int64_t until = dpci_until(timeout_ms);
    bool same = false;

    if (c->notifying)
        return dpci_check(c, err);
    close_socket(c);
    dpci_forget(c);
    c->broken = 0;
    int rc = open_socket_until(c, until, err);
    /* A daemon that accepted the connection has time to answer, also where there is one try. */
    if (rc == 0 && !c->no_hello)
        rc = rejoin(c, timeout_ms > 0 ? until : dpci_until(c->timeout_ms), &same, err);
    if (rc != 0) {
        close_socket(c);
        dpci_break(c, DPC_EBROKEN, NULL, "the client is not connected: its last try failed");
        return rc;
    }
    if (rejoined != NULL)
        *rejoined = same;
    return 0;
}
