/* socket.c -- what op.call aten::add costs over the socket: socket SOCKET [HOG [N]].  One client
 * that writes fixed bytes and looks for line feeds, so that what is measured is the daemon.  Prints
 * one JSON object: microseconds of a round trip, calls a second with many outstanding.
 *
 * HOG is a file of requests that a second process sends meanwhile on each of its N connections, one
 * after another: those before an empty line once, the others over and over.  With more than one
 * connection it runs at nice 19.  A call is due every PACE_US then, and its time counts from there:
 * the longer the daemon holds up, the more calls see it.  trip_...: from sending to the answer. */
#define _GNU_SOURCE /* memmem */
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    WARM_UP = 2000,
    ROUNDS = 20000,
    PACED = 4000, /* calls beside a hog */
    PACE_US = 1000,
    OUTSTANDING = 64,
    PIPELINED = 100000,
    HOGS = 1000 /* connections of the second process, at most */
};

static const char request[] =
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"op.call\",\"params\":{\"op\":\"aten::add.Tensor\","
    "\"args\":[{\"data\":[1,2,3,4]},10],\"return\":\"data\"}}\n";
enum { REQUEST_BYTES = sizeof(request) - 1 };

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static int connect_to(const char *path)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
    if (fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
        die(path);
    return fd;
}

/* Send n requests, at most OUTSTANDING, in one piece, as clients that pipeline do. */
static void write_requests(int fd, int n)
{
    static char text[OUTSTANDING * REQUEST_BYTES];
    ssize_t bytes = (ssize_t)n * REQUEST_BYTES;

    if (text[0] == '\0')
        for (int i = 0; i < OUTSTANDING; i++)
            memcpy(text + i * REQUEST_BYTES, request, REQUEST_BYTES);
    if (n > 0 && send(fd, text, (size_t)bytes, MSG_NOSIGNAL) != bytes)
        die("send");
}

/* Answers that end in what one read gives. */
static int read_answers(int fd)
{
    static char buf[1 << 16];
    ssize_t n = recv(fd, buf, sizeof(buf), 0);
    int lines = 0;

    if (n <= 0)
        die("recv");
    if (memmem(buf, (size_t)n, "\"error\"", 7) != NULL) {
        fprintf(stderr, "%.*s", (int)n, buf);
        exit(1);
    }
    for (char *p = buf; (p = memchr(p, '\n', (size_t)(buf + n - p))) != NULL; p++)
        lines++;
    return lines;
}

static double round_trip(int fd)
{
    double start = now_us();

    write_requests(fd, 1);
    while (read_answers(fd) == 0)
        ;
    return now_us() - start;
}

static double pipelined(int fd)
{
    double start = now_us();
    int done = 0, sent = OUTSTANDING;

    write_requests(fd, OUTSTANDING);
    while (done < PIPELINED) {
        int n = read_answers(fd);
        int more = sent + n <= PIPELINED ? n : PIPELINED - sent;
        done += n;
        sent += more;
        write_requests(fd, more);
    }
    return PIPELINED / (now_us() - start) * 1e6;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Send the line at p; the next line. */
static const char *send_line(int fd, const char *p)
{
    const char *end = strchr(p, '\n') + 1;

    while (p < end) {
        ssize_t n = send(fd, p, (size_t)(end - p), MSG_NOSIGNAL);
        if (n < 0)
            die("send");
        p += n;
    }
    return end;
}

static char *read_file(const char *path)
{
    static char text[1 << 20];
    FILE *f = fopen(path, "r");

    if (f == NULL)
        die(path);
    text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
    fclose(f);
    return text;
}

/* Send what comes once, line by line; returns what comes over and over. */
static const char *send_first(int fd, const char *p)
{
    while (*p != '\n') {
        p = send_line(fd, p);
        while (read_answers(fd) == 0)
            ;
    }
    return p + 1;
}

static void hog(const char *socket_path, const char *path, int n)
{
    const char *text = read_file(path), *cycle = text, *next[HOGS];
    struct pollfd fds[HOGS];

    if (n > 1 && nice(19) < 0)
        die("nice");
    for (int i = 0; i < n; i++) {
        fds[i] = (struct pollfd){.fd = connect_to(socket_path), .events = POLLIN};
        cycle = send_first(fds[i].fd, text);
        next[i] = send_line(fds[i].fd, cycle);
    }
    for (;;) {
        if (poll(fds, (nfds_t)n, -1) < 0)
            die("poll");
        for (int i = 0; i < n; i++)
            if (fds[i].revents != 0 && read_answers(fds[i].fd) > 0)
                next[i] = send_line(fds[i].fd, *next[i] != '\0' ? next[i] : cycle);
    }
}

static void paced(double us[PACED], double trip[PACED], int fd)
{
    double due = now_us();

    for (int i = 0; i < PACED; i++, due += PACE_US) {
        double early = due - now_us();
        if (early > 0)
            usleep((unsigned)early);
        double start = now_us();
        start = start < due || early < 0 ? due : start; /* the sleep's own lateness is not ours */
        trip[i] = round_trip(fd);
        us[i] = now_us() - start;
    }
}

static int measure(double us[ROUNDS], double trip[ROUNDS], int fd, bool beside)
{
    int n = beside ? PACED : ROUNDS;

    for (int i = 0; i < WARM_UP; i++)
        round_trip(fd);
    for (int i = 0; i < ROUNDS && !beside; i++)
        trip[i] = us[i] = round_trip(fd);
    if (beside)
        paced(us, trip, fd);
    qsort(us, (size_t)n, sizeof(us[0]), by_value);
    qsort(trip, (size_t)n, sizeof(trip[0]), by_value);
    return n;
}

int main(int argc, char **argv)
{
    static double us[ROUNDS], trip[ROUNDS];

    int hogs = argc > 3 ? atoi(argv[3]) : 1;
    if (argc < 2 || argc > 4 || hogs < 1 || hogs > HOGS) {
        fprintf(stderr, "usage: socket SOCKET [HOG [N]]\n");
        return 2;
    }
    pid_t other = argc > 2 ? fork() : -1;
    if (other == 0)
        hog(argv[1], argv[2], hogs);
    int fd = connect_to(argv[1]);
    int n = measure(us, trip, fd, other > 0);
    if (other > 0) {
        kill(other, SIGKILL);
        waitpid(other, NULL, 0);
    }
    printf("{\"p10_us\": %.2f, \"p50_us\": %.2f, \"p99_us\": %.2f, \"max_us\": %.2f, "
           "\"trip_p99_us\": %.2f, \"trip_max_us\": %.2f, \"pipelined_per_s\": %.0f}\n",
           us[n / 10], us[n / 2], us[n * 99 / 100], us[n - 1], trip[n * 99 / 100], trip[n - 1],
           pipelined(fd));
    close(fd);
    return 0;
}
