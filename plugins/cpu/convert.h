/* convert.h -- elements of each dtype to every other, on the calling thread. */
#ifndef CPU_CONVERT_H
#define CPU_CONVERT_H

#include "isa.h"

enum {
    CPU_DTYPES = DP_BFLOAT16 + 1
}; /* numbers below have rows; those of no dtype of ours are NULL */

/* n elements that lie src_stride bytes apart to others that lie dst_stride apart.  They do not overlap. */
typedef void (*cpu_convert_fn)(char *dst, int64_t dst_stride, const char *src, int64_t src_stride,
                               int64_t n);
typedef cpu_convert_fn cpu_convert_row[CPU_DTYPES]; /* by the dtype that is read */
CPU_TABLE(cpu_convert_row, cpu_converts) /* [the dtype that is written]; the same: a copy */

#define CPU_CONVERT(to, from) (CPU_CHOSEN(cpu_converts)[to][from])

#endif
