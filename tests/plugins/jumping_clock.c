/* jumping_clock.c -- no plugin: preloaded into a daemon (LD_PRELOAD), its wall clock jumps by a day
 * at each reading, back and forth.  The monotonic clock stays as it is. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static time_t jump(void)
{
    static atomic_uint readings;

    return (time_t)(atomic_fetch_add(&readings, 1) % 3) * 24 * 60 * 60;
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *ts)
{
    int rc = (int)syscall(SYS_clock_gettime, clock, ts);

    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
        ts->tv_sec += jump();
    return rc;
}

__attribute__((visibility("default"))) int gettimeofday(struct timeval *restrict tv,
                                                        void *restrict zone)
{
    struct timespec ts;

    (void)zone;
    int rc = clock_gettime(CLOCK_REALTIME, &ts);
    tv->tv_sec = ts.tv_sec;
    tv->tv_usec = ts.tv_nsec / 1000;
    return rc;
}

__attribute__((visibility("default"))) time_t time(time_t *out)
{
    struct timespec ts;

    clock_gettime(CLOCK_REALTIME, &ts);
    if (out != NULL)
        *out = ts.tv_sec;
    return ts.tv_sec;
}
