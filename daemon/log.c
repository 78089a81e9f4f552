/* log.c -- the log, one line for each event: 2026-11-21T11:24:21.123Z info plugin.load plugin='cpu'
 * generation=3, or the same as a JSON object (log_json.c).
 *
 * Each line is written by a single write(), so lines of several threads never mix.  A line that
 * cannot be written, such as on a full disk, is lost, and no operation fails because of it.  So is
 * a line for which a pipe has no space, because to wait for its reader would stop the daemon.  When
 * the log can be written again, a line says how many were lost.  Every function may be called on
 * any thread. */
#define _GNU_SOURCE /* for dup3() */
#include "log_json.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { GATE_NS = 1000 * 1000 * 1000 };

static atomic_int log_level = LOG_INFO;
static atomic_int log_fd = STDERR_FILENO, format_now = LOG_TEXT;
/* The descriptor of the log file; -1: none was opened yet.  This number is never closed, because a
 * thread that is about to write may have read it. */
static int file_fd = -1;
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER; /* protects `file_fd` */
static atomic_ullong lost_lines; /* lines lost since the last report of lost lines */
static atomic_bool torn;         /* the log ends in the first part of a line that was lost */

void log_level_set(int level)
{
    atomic_store(&log_level, level);
}

int log_open(const char *path, dp_error *err)
{
    int fd, rc = 0;

    if (path == NULL) {
        atomic_store(&log_fd, STDERR_FILENO);
        return 0;
    }
    /* O_NONBLOCK: opening a FIFO would wait for its reader, and writing to a full one would block
     */
    fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0600);
    if (fd < 0)
        return dp_error_set(err, DP_ERUNTIME, "log '%s': %s", path, strerror(errno));
    pthread_mutex_lock(&open_lock);
    if (file_fd < 0) {
        file_fd = fd;
    } else {
        /* the new file takes over the number of the old one, which other threads may use */
        if (dup3(fd, file_fd, O_CLOEXEC) < 0)
            rc = dp_error_set(err, DP_ERUNTIME, "log '%s': %s", path, strerror(errno));
        close(fd);
    }
    if (rc == 0)
        atomic_store(&log_fd, file_fd);
    pthread_mutex_unlock(&open_lock);
    return rc;
}

void log_format_set(int format)
{
    atomic_store(&format_now, format);
}

int log_format(void)
{
    return atomic_load(&format_now);
}

int log_descriptor(void)
{
    return atomic_load(&log_fd);
}

static size_t stamp(char *line, size_t bytes)
{
    struct timespec now;
    struct tm tm;

    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &tm);
    size_t n = strftime(line, bytes, "%Y-%m-%dT%H:%M:%S", &tm);
    return n + (size_t)snprintf(line + n, bytes - n, ".%03ldZ", now.tv_nsec / 1000000);
}

static const char *const names[] = {"error", "warn", "info", "debug"};

static size_t print_json(char line[LOG_LINE_BYTES], int level, const char *event, uint64_t left_out,
                         const char *format, va_list ap)
{
    char time[32], count[24];
    log_json j;

    stamp(time, sizeof(time));
    log_json_begin(&j, time, names[level], event);
    if (left_out > 0) {
        snprintf(count, sizeof(count), "%llu", (unsigned long long)left_out);
        log_json_number(&j, "left_out", count);
    }
    log_json_fields(&j, format, ap);
    size_t n = log_json_end(&j);
    memcpy(line, j.line, n);
    return n;
}

static size_t print_text(char line[LOG_LINE_BYTES], int level, const char *event, uint64_t left_out,
                         const char *format, va_list ap)
{
    const size_t cap = LOG_LINE_BYTES;

    size_t n = stamp(line, cap);
    n += (size_t)snprintf(line + n, cap - n, " %s %s ", names[level], event);
    if (left_out > 0)
        n += (size_t)snprintf(line + n, cap - n, "left_out=%llu ", (unsigned long long)left_out);
    int more = vsnprintf(line + n, cap - n, format, ap);
    n = more < 0 ? n : n + (size_t)more < cap - 1 ? n + (size_t)more : cap - 2;
    /* Text from a client or plugin must not be able to start a new line. */
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)line[i] < 0x20)
            line[i] = ' ';
    line[n++] = '\n';
    return n;
}

/* Write without waiting.  A pipe that poll() calls writable has space for PIPE_BUF bytes, and so
 * for a line; the lock keeps that space for this thread. */
static ssize_t write_now(const char *line, size_t n)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    ssize_t written = -1;

    pthread_mutex_lock(&lock);
    struct pollfd p = {.fd = atomic_load(&log_fd), .events = POLLOUT};
    if (poll(&p, 1, 0) == 1 && (p.revents & (POLLOUT | POLLERR)))
        written = write(p.fd, line, n);
    pthread_mutex_unlock(&lock);
    return written;
}

_Static_assert(LOG_LINE_BYTES <= PIPE_BUF, "a line fits into a pipe that is writable");

/* Write one line.  false: it is lost. */
static bool write_bytes(int level, const char *event, uint64_t left_out, const char *format,
                        va_list ap)
{
    char line[LOG_LINE_BYTES];
    size_t n = log_format() == LOG_JSON ? print_json(line, level, event, left_out, format, ap)
                                        : print_text(line, level, event, left_out, format, ap);
    ssize_t written = write_now(line, n);

    if (written > 0 && (size_t)written < n)
        atomic_store(&torn, true);
    return written == (ssize_t)n;
}

static bool write_event(int level, const char *event, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    bool written = write_bytes(level, event, 0, format, ap);
    va_end(ap);
    return written;
}

/* Report the lines that were lost, if the log can be written again.  `n`: their number. */
static void report_lost(unsigned long long n)
{
    if (atomic_exchange(&torn, false) && write_now("\n", 1) != 1)
        atomic_store(&torn, true);
    else if (write_event(LOG_WARN, "log.lost", "lines=%llu", n))
        return;
    atomic_fetch_add(&lost_lines, n);
}

static void write_line(int level, const char *event, uint64_t left_out, const char *format,
                       va_list ap)
{
    unsigned long long lost = atomic_load_explicit(&lost_lines, memory_order_relaxed);

    if (lost > 0 && (lost = atomic_exchange(&lost_lines, 0)) > 0)
        report_lost(lost);
    if (!write_bytes(level, event, left_out, format, ap))
        atomic_fetch_add(&lost_lines, 1);
}

static bool is_logged(int level)
{
    return level <= atomic_load_explicit(&log_level, memory_order_relaxed);
}

void log_event(int level, const char *event, const char *format, ...)
{
    va_list ap;

    if (!is_logged(level))
        return;
    va_start(ap, format);
    write_line(level, event, 0, format, ap);
    va_end(ap);
}

void log_gated(log_gate *g, int level, const char *event, const char *format, ...)
{
    uint64_t now = nanos(), left_out = 0;
    va_list ap;

    if (!is_logged(level))
        return;
    pthread_mutex_lock(&g->lock);
    bool open = now >= g->open_at;
    if (open) {
        g->open_at = now + GATE_NS;
        left_out = g->left_out;
        g->left_out = 0;
    } else {
        g->left_out++;
    }
    pthread_mutex_unlock(&g->lock);
    if (!open)
        return;
    va_start(ap, format);
    write_line(level, event, left_out, format, ap);
    va_end(ap);
}
