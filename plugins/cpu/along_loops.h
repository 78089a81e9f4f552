/* along_loops.h -- the loops of along.c.  All steps are in bytes. */
#ifndef CPU_ALONG_LOOPS_H
#define CPU_ALONG_LOOPS_H

#include "along.h"

typedef struct along_job along_job;
typedef void (*along_run)(const along_job *job, char *dst, int64_t dst_step, const char *at,
                          int64_t at_step, const char *src, int64_t src_step, int64_t n);

struct along_job {
    size_t bytes;       /* of an element */
    int64_t size, step; /* of self's dimension */
    bool checked;       /* no index is outside */
    int outside;        /* one was */
    along_run run;
    const void *alpha;
};

/* Are these n indices in [0, size)? */
bool along_inside(const char *at, int64_t at_step, int64_t n, int64_t size);
/* Copies n indices, at most ALONG_OWN, and says whether the copies are inside: another thread of the
 * session may be writing to the index, so that only what nobody else can reach is trusted. */
enum { ALONG_OWN = 512 };
bool along_own(int64_t *own, const char *at, int64_t at_step, int64_t n, int64_t size);
/* dst = src at its index; nothing, and job->outside, if one is outside */
void along_get_row(along_job *job, char *dst, int64_t dst_step, const char *src, int64_t src_step,
                   const char *at, int64_t at_step, int64_t n);
/* dst at its index = op(that, src); NULL for MAX and MIN of complex numbers */
along_run along_run_of(along_op op, dp_dtype dtype);

#endif
