/* log.c -- the log, one line for each event: 2026-11-21T11:24:21.123Z info plugin.load plugin='cpu'
 * generation=3
 *
 * Each line is written by a single write(), so lines of several threads never mix.  A line that
 * cannot be written is lost, and no operation fails because of it.  Every function may be called on
 * any thread. */
#include "daemon.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LINE_BYTES = 4096, GATE_NS = 1000 * 1000 * 1000 };

static atomic_int log_level = LOG_INFO;
static atomic_int log_fd = STDERR_FILENO;

void log_level_set(int level)
{
    atomic_store(&log_level, level);
}

int log_open(const char *path, dp_error *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    if (fd < 0)
        return dp_error_set(err, DP_ERUNTIME, "log '%s': %s", path, strerror(errno));
    atomic_store(&log_fd, fd);
    return 0;
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

static void write_line(int level, const char *event, uint64_t left_out, const char *format,
                       va_list ap)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};
    char line[LINE_BYTES];

    size_t n = stamp(line, sizeof(line));
    n += (size_t)snprintf(line + n, sizeof(line) - n, " %s %s ", names[level], event);
    if (left_out > 0)
        n += (size_t)snprintf(line + n, sizeof(line) - n, "left_out=%llu ",
                              (unsigned long long)left_out);
    int more = vsnprintf(line + n, sizeof(line) - n, format, ap);
    n = more < 0 ? n : n + (size_t)more < sizeof(line) - 1 ? n + (size_t)more : sizeof(line) - 2;
    /* Text from a client or plugin must not be able to start a new line. */
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)line[i] < 0x20)
            line[i] = ' ';
    line[n++] = '\n';
    if (write(atomic_load(&log_fd), line, n) < 0)
        return;
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
