/* gather_scatter_loops.h -- the loops of along.c.  All steps are in bytes. */
#ifndef CPU_ALONG_LOOPS_H
#define CPU_ALONG_LOOPS_H

#include "gather_scatter.h"

typedef struct along_job along_job;
typedef void (*along_run)(along_job *job, char *dst, int64_t dst_step, const char *at,
                          int64_t at_step, const char *src, int64_t src_step, int64_t n);

struct along_job {
    size_t bytes;       /* of an element */
    int64_t size, step; /* of self's dimension */
    int outside;        /* one was */
    along_run run;
    const void *alpha;
};

/* Are these n indices in [0, size)? */
bool along_inside(const char *at, int64_t at_step, int64_t n, int64_t size);
/* A dp_iter_loop2d over (dst, src, index): dst = src at its index, up to the first one outside, of
 * which job->outside tells. */
void along_get_rows(char **data, const int64_t *strides, int64_t n0, int64_t n1, void *job);
/* dst at its index = op(that, src), likewise; NULL for MAX and MIN of complex numbers */
along_run along_run_of(along_op op, dp_dtype dtype);

#endif
