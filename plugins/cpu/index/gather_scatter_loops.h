/* gather_scatter_loops.h -- the loops of gather_scatter.c.  All strides are in bytes. */
#ifndef CPU_GATHER_SCATTER_LOOPS_H
#define CPU_GATHER_SCATTER_LOOPS_H

#include "gather_scatter.h"

typedef struct gs_job gs_job;
typedef void (*gs_scatter_loop)(gs_job *job, char *dst, int64_t dst_step, const char *at,
                                int64_t at_step, const char *src, int64_t src_step, int64_t n);

struct gs_job {
    size_t bytes;       /* bytes of an element */
    int64_t size, step; /* size and stride of self in dim */
    int outside;        /* set if an index was out of range */
    gs_scatter_loop run;
    const void *alpha;
};

/* Test whether all `n` indices are in [0, size). */
bool gs_inside(const char *at, int64_t at_step, int64_t n, int64_t size);
/* A dp_iter_loop2d over (dst, src, index): dst = src at its index.  It ends at the first index out
 * of range, and sets job->outside. */
void gs_gather_rows(char **data, const int64_t *strides, int64_t n0, int64_t n1, void *job);
/* Return the loop for: dst at its index = op(that element, src).  NULL: MAX and MIN of complex
 * numbers. */
gs_scatter_loop gs_find_scatter_loop(gs_op op, dp_dtype dtype);

#endif
