/* echo.c -- what the loop and the socket cost with nothing behind them: echo SOCKET.  A libuv
 * server that sends back what it reads, until it is killed.  It answers what begins with '#' by a
 * line of LONG_BYTES. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

enum { LONG_BYTES = 4 << 20 };

static void check(int rc, const char *what)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "%s: %s\n", what, uv_strerror(rc));
    exit(1);
}

static void on_closed(uv_handle_t *h)
{
    free(h);
}

static void on_room(uv_handle_t *h, size_t suggested, uv_buf_t *buf)
{
    static char room[1 << 16];

    (void)h, (void)suggested;
    *buf = uv_buf_init(room, sizeof(room));
}

static void on_written(uv_write_t *w, int status)
{
    (void)status;
    free(w);
}

static void write_long(uv_stream_t *s)
{
    static char line[LONG_BYTES];
    uv_write_t *w = malloc(sizeof(*w));
    uv_buf_t out = uv_buf_init(line, LONG_BYTES);

    if (line[0] == '\0') {
        memset(line, 'x', LONG_BYTES - 1);
        line[LONG_BYTES - 1] = '\n';
    }
    check(w != NULL ? uv_write(w, s, &out, 1, on_written) : UV_ENOMEM, "write");
}

static void on_read(uv_stream_t *s, ssize_t n, const uv_buf_t *buf)
{
    uv_buf_t out = uv_buf_init(buf->base, n > 0 ? (unsigned)n : 0);

    if (n < 0)
        uv_close((uv_handle_t *)s, on_closed);
    else if (n > 0 && buf->base[0] == '#')
        write_long(s);
    else if (n > 0 && uv_try_write(s, &out, 1) < 0)
        uv_close((uv_handle_t *)s, on_closed); /* the client has left */
}

static void on_connection(uv_stream_t *server, int status)
{
    uv_pipe_t *client = malloc(sizeof(*client));

    check(client != NULL ? status : UV_ENOMEM, "connection");
    check(uv_pipe_init(server->loop, client, 0), "pipe");
    check(uv_accept(server, (uv_stream_t *)client), "accept");
    check(uv_read_start((uv_stream_t *)client, on_room, on_read), "read");
}

int main(int argc, char **argv)
{
    uv_pipe_t server;

    if (argc != 2) {
        fprintf(stderr, "usage: echo SOCKET\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    check(uv_pipe_init(uv_default_loop(), &server, 0), "pipe");
    check(uv_pipe_bind(&server, argv[1]), argv[1]);
    check(uv_listen((uv_stream_t *)&server, 16, on_connection), "listen");
    return uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}
