/* metrics.c -- verb metrics: prints the daemon's metrics, or serves them by HTTP for Prometheus.
 *
 * The server answers one client at a time.  A client has CLIENT_SECONDS for its request and as
 * long for each part of the answer that it takes. */
#define _GNU_SOURCE
#include "cli.h"
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { HEAD_BYTES = 8 << 10, CLIENT_SECONDS = 5, QUEUE = 16, HOST_BYTES = 256 };

static void show_text(const cJSON *result)
{
    fputs(text_of(result, "text"), stdout);
}

/* -- the answer -- */

static bool send_all(int fd, const char *data, size_t bytes)
{
    while (bytes > 0) {
        ssize_t n = send(fd, data, bytes, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        data += n;
        bytes -= (size_t)n;
    }
    return true;
}

/* Send a whole HTTP answer.  `head`: no body is sent, only its length. */
static void answer(int fd, const char *status, const char *extra, const char *body, bool head)
{
    char *text = text_printf("HTTP/1.1 %s\r\nContent-Type: text/plain; version=0.0.4; "
                             "charset=utf-8\r\nContent-Length: %zu\r\nConnection: close\r\n%s\r\n",
                             status, strlen(body), extra);

    if (send_all(fd, text, strlen(text)) && !head)
        send_all(fd, body, strlen(body));
    free(text);
}

/* Get the metrics.  The daemon may have been started again since the last time, so a broken
 * connection is replaced once. */
static int scrape(cli *c, cJSON **result)
{
    int rc = CLI_NO_CONNECTION;

    for (int i = 0; i < 2 && rc == CLI_NO_CONNECTION; i++) {
        rc = fetch(c, "server.metrics", NULL, result);
        if (rc == CLI_NO_CONNECTION)
            disconnect(c);
    }
    return rc;
}

static void answer_metrics(cli *c, int fd, bool head)
{
    cJSON *result = NULL;

    c->quiet = true; /* Prometheus reports a scrape that failed */
    int rc = scrape(c, &result);
    if (rc == CLI_OK)
        answer(fd, "200 OK", "", text_of(result, "text"), head);
    else
        answer(fd, "503 Service Unavailable", "",
               rc == CLI_ERROR ? "the daemon refuses server.metrics\n" : "no daemon\n", head);
    cJSON_Delete(result);
}

/* -- the request -- */

/* Receive the head of a request into `head`, NUL-terminated.  false: it does not come, or is too
 * long. */
static bool receive_head(int fd, char head[HEAD_BYTES])
{
    time_t end = time(NULL) + CLIENT_SECONDS;
    size_t len = 0;

    while (len < HEAD_BYTES - 1 && time(NULL) <= end) {
        ssize_t n = recv(fd, head + len, HEAD_BYTES - 1 - len, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        len += (size_t)n;
        head[len] = '\0';
        if (strstr(head, "\r\n\r\n") != NULL || strstr(head, "\n\n") != NULL)
            return true;
    }
    return false;
}

/* Test whether the path of the request line is `path`, with or without a query. */
static bool asks_for(const char *target, const char *path)
{
    size_t n = strlen(path);

    return strncmp(target, path, n) == 0 && strchr(" ?\r\n", target[n]) != NULL;
}

static void serve_client(cli *c, int fd)
{
    const struct timeval limit = {.tv_sec = CLIENT_SECONDS};
    char head[HEAD_BYTES];

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    if (!receive_head(fd, head)) {
        answer(fd, "400 Bad Request", "", "no complete request\n", false);
        return;
    }
    bool get = strncmp(head, "GET ", 4) == 0, only_head = strncmp(head, "HEAD ", 5) == 0;
    const char *target = strchr(head, ' ') + 1;
    if (!get && !only_head)
        answer(fd, "405 Method Not Allowed", "Allow: GET, HEAD\r\n", "GET /metrics\n", false);
    else if (asks_for(target, "/metrics"))
        answer_metrics(c, fd, only_head);
    else
        answer(fd, "404 Not Found", "", "the metrics are at /metrics\n", only_head);
}

/* -- listening -- */

/* Split "HOST:PORT" or "[HOST]:PORT" into `host` and the port, which is returned; NULL: it is
 * neither. */
static const char *split(const char *address, char host[HOST_BYTES])
{
    const char *colon = strrchr(address, ':');
    bool bracket = *address == '[';
    size_t n = colon != NULL ? (size_t)(colon - address) : 0;

    if (n == 0 || n >= HOST_BYTES || colon[1] == '\0' || (bracket && colon[-1] != ']'))
        return NULL;
    if (!bracket && memchr(address, ':', n) != NULL)
        return NULL;
    snprintf(host, HOST_BYTES, "%.*s", (int)(bracket ? n - 2 : n), address + bracket);
    return *host != '\0' ? colon + 1 : NULL;
}

/* Return a socket that listens at the first address of `found`; -1: see errno. */
static int listen_socket(const struct addrinfo *found)
{
    const int yes = 1;
    int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (bind(fd, found->ai_addr, found->ai_addrlen) == 0 && listen(fd, QUEUE) == 0)
        return fd;
    int why = errno;
    close(fd);
    errno = why;
    return -1;
}

/* Return a listening socket, or -1 after printing why there is none. */
static int listen_at(cli *c, const char *address)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    char host[HOST_BYTES];
    const char *port = split(address, host), *why;

    if (port == NULL) {
        usage(c, "--listen wants HOST:PORT, not '%s'", address);
        return -1;
    }
    int rc = getaddrinfo(host, port, &hints, &found), fd = -1;
    if (rc == 0) {
        fd = listen_socket(found);
        why = strerror(errno);
        freeaddrinfo(found);
    } else {
        why = gai_strerror(rc);
    }
    if (fd < 0)
        fprintf(stderr, "dispatchctl: cannot listen at '%s': %s\n", address, why);
    return fd;
}

/* Print the address, with the port that the system chose if port 0 was given. */
static void print_address(int fd)
{
    struct sockaddr_storage a;
    socklen_t bytes = sizeof(a);
    char host[HOST_BYTES], port[16];

    if (getsockname(fd, (struct sockaddr *)&a, &bytes) < 0 ||
        getnameinfo((struct sockaddr *)&a, bytes, host, sizeof(host), port, sizeof(port),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return;
    bool six = a.ss_family == AF_INET6;
    printf("serving http://%s%s%s:%s/metrics\n", six ? "[" : "", host, six ? "]" : "", port);
    fflush(stdout);
}

static int serve(cli *c, const char *address)
{
    int fd = listen_at(c, address);

    if (fd < 0)
        return CLI_USAGE;
    print_address(fd);
    while (true) {
        int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
        if (client >= 0) {
            serve_client(c, client);
            shutdown(client, SHUT_WR);
            close(client);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
            sleep(1);
        } else if (errno != EINTR && errno != ECONNABORTED) {
            fprintf(stderr, "dispatchctl: accept: %s\n", strerror(errno));
            close(fd);
            return CLI_ERROR;
        }
    }
}

static int metrics(cli *c)
{
    const char *address = take_option(c, "--listen");

    if (!words_fit(c, 0, 0))
        return CLI_USAGE;
    return address != NULL ? serve(c, address) : ask(c, "server.metrics", NULL, show_text);
}

/* clang-format would set the sentences in columns. */
/* clang-format off */
const verb verbs_metrics[] = {
    {"metrics", "[--listen HOST:PORT]",
     "counts and times as text for Prometheus; --listen: serve http://HOST:PORT/metrics", metrics},
    {NULL, NULL, NULL, NULL},
};
/* clang-format on */
