/* slice.h -- the main thread's time slice. */
#ifndef DAEMON_SLICE_H
#define DAEMON_SLICE_H

#include <stdbool.h>
#include <stdint.h>

/* struct sched_attr of linux/sched/types.h, its first version; that file cannot be included beside
 * sched.h. */
typedef struct slice_attr {
    uint32_t size, sched_policy;
    uint64_t sched_flags;
    int32_t sched_nice;
    uint32_t sched_priority;
    uint64_t sched_runtime; /* nanoseconds; SCHED_OTHER: the time slice; 0: the usual one */
    uint64_t sched_deadline, sched_period;
} slice_attr;

/* Ask Linux for short time slices for the calling thread (sched_setattr(2)), and for the usual ones
 * for threads that it creates.  Linux before 6.12 accepts this and changes nothing.  false: the
 * thread has a negative nice value or another scheduling policy, or Linux refuses. */
bool slice_shorten(void);

#endif
