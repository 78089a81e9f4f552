/* echo.c -- what the loop and the socket cost with nothing behind them: echo SOCKET.  A libuv
 * server that sends back what it reads, until it is killed. */
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

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

static void on_read(uv_stream_t *s, ssize_t n, const uv_buf_t *buf)
{
    uv_buf_t out = uv_buf_init(buf->base, n > 0 ? (unsigned)n : 0);

    if (n < 0)
        uv_close((uv_handle_t *)s, on_closed);
    else if (n > 0)
        check(uv_try_write(s, &out, 1), "write");
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
    check(uv_pipe_init(uv_default_loop(), &server, 0), "pipe");
    check(uv_pipe_bind(&server, argv[1]), argv[1]);
    check(uv_listen((uv_stream_t *)&server, 16, on_connection), "listen");
    return uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}
