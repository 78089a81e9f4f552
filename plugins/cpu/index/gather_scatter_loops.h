/* gather_scatter_loops.h -- the loops that gather_scatter.c runs.  All strides are in bytes. */
#ifndef CPU_GATHER_SCATTER_LOOPS_H
#define CPU_GATHER_SCATTER_LOOPS_H

#include "gather_scatter.h"

typedef struct gs_job gs_job;
typedef void (*gs_scatter_loop)(gs_job *job, char *dst, int64_t dst_step, const char *at,
                                int64_t at_step, const char *src, int64_t src_step, int64_t n);

/* arguments of the loops, shared by all threads */
struct gs_job {
    size_t bytes;       /* bytes of an element */
    int64_t size, step; /* size and stride of self in gs_call.dim */
    int outside;        /* set if an index was out of range */
    gs_scatter_loop run;
    const void *alpha; /* the element of alpha, for GS_ADD_SCALED */
};

/* Test whether all `n` indices are in [0, size). */
bool gs_inside(const char *at, int64_t at_step, int64_t n, int64_t size);
/* loop of an iterator over (dst, src, index), which sets each element of dst to the element of src
 * at its index; at an index out of range, it sets job->outside and ends */
void gs_gather_rows(char **data, const int64_t *strides, int64_t n0, int64_t n1, void *job);
/* Return the loop that sets the element of dst at each index to op(that element, element of src).
 * NULL: `op` is GS_MAX or GS_MIN, and `dtype` is complex. */
gs_scatter_loop gs_find_scatter_loop(gs_op op, dp_dtype dtype);

#endif
