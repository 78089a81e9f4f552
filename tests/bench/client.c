/* client.c -- round trips of libdispatchd-client beside those of a client that sends fixed bytes
 * and looks for line feeds: client SOCKET [ROUNDS].  All send a call of aten::add with one element,
 * which the library builds from typed arguments, and whose answer it reads as a value.  They take
 * turns.  Prints one JSON object: microseconds of a round trip, median, 99th percentile and
 * mean. */
#include "dispatchd-client.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { TURNS = 20, WARM_UP = 200, ROUNDS_MAX = 100000 };

static const char request[] =
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"op.call\",\"params\":{\"op\":\"aten::add.Tensor\","
    "\"args\":[{\"data\":[1]},10],\"return\":\"data\"}}\n";

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void die(const char *what)
{
    fprintf(stderr, "client: %s\n", what);
    exit(1);
}

static int connect_raw(const char *path)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
    if (fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
        die("no connection");
    return fd;
}

static dpc_client *connect_client(const char *path, int spin_us)
{
    dpc_options options = DPC_OPTIONS_INIT;
    dpc_client *c;
    dpc_error err;

    options.socket = path;
    options.spin_us = spin_us;
    if (dpc_connect(&options, &c, &err) != 0)
        die(err.message);
    return c;
}

static void call_raw(int fd)
{
    char buf[4096];
    ssize_t n;

    if (send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL) != sizeof(request) - 1)
        die("send");
    do
        n = recv(fd, buf, sizeof(buf), 0);
    while (n > 0 && memchr(buf, '\n', (size_t)n) == NULL);
    if (n <= 0)
        die("recv");
}

static void call_client(dpc_client *c, dpc_request *r)
{
    dpc_answer *a;
    dpc_error err;
    double sum = 0;

    dpc_request_reset(r);
    dpc_begin_object(r, NULL);
    dpc_add_json(r, "data", "[1]");
    dpc_end(r);
    dpc_add_int(r, NULL, 10);
    dpc_set_return(r, DPC_RETURN_DATA);
    if (dpc_call(c, r, &a, &err) != 0)
        die(err.message);
    dpc_value_float(dpc_value_at(dpc_value_member(dpc_answer_output(a, 0), "data"), 0), &sum);
    if (sum != 11)
        die("a wrong sum");
    dpc_answer_free(a);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

enum { RAW, SLEEPING, SPINNING, CLIENTS };

int main(int argc, char **argv)
{
    static const char *const names[] = {"raw", "sleeping", "spinning"};
    static double us[CLIENTS][ROUNDS_MAX];
    int rounds = argc > 2 ? atoi(argv[2]) : 20000;

    if (argc < 2 || rounds < TURNS || rounds > ROUNDS_MAX) {
        fprintf(stderr, "usage: client SOCKET [ROUNDS]\n");
        return 2;
    }
    int fd = connect_raw(argv[1]), each = rounds / TURNS;
    dpc_client *clients[CLIENTS] = {NULL, connect_client(argv[1], 0),
                                    connect_client(argv[1], DPC_SPIN_US)};
    dpc_request *r = dpc_op_new("aten::add.Tensor");
    for (int turn = 0; turn < TURNS; turn++)
        for (int who = 0; who < CLIENTS; who++)
            for (int i = -WARM_UP / TURNS; i < each; i++) {
                double start = now_us();
                if (who == RAW)
                    call_raw(fd);
                else
                    call_client(clients[who], r);
                if (i >= 0)
                    us[who][turn * each + i] = now_us() - start;
            }
    for (int who = 0; who < CLIENTS; who++) {
        size_t n = (size_t)(TURNS * each);
        double sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += us[who][i];
        qsort(us[who], n, sizeof(us[who][0]), by_value);
        printf("%s\"%s_p50_us\": %.2f, \"%s_p99_us\": %.2f, \"%s_mean_us\": %.2f",
               who == 0 ? "{" : ", ", names[who], us[who][n / 2], names[who], us[who][n * 99 / 100],
               names[who], sum / (double)n);
        dpc_close(clients[who]);
    }
    puts("}");
    dpc_request_free(r);
    close(fd);
    return 0;
}
