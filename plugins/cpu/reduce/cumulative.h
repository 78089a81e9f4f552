/* cumulative.h -- the loops of cumulative operators, which levels/cumulative.c defines and
 * cumulative.c calls. */
#ifndef CPU_SCAN_H
#define CPU_SCAN_H

#include "lib/poll.h"
#include "core/isa.h"
#include "pointwise/loops/types.h"

enum { SC_SUM, SC_PROD, SC_MAX, SC_MIN, SC_LOGSUMEXP, SC_OPS };
enum { SC_WIDE = 64 }; /* greatest number of neighbouring lines in one call of a loop */

/* Arguments of a loop over `w` <= SC_WIDE lines of `n` elements.  A line is all elements along the
 * scanned dimension.  The loop reads `x` and writes `out`, which may be x; SC_MAX and SC_MIN also
 * write `index`.  Fields *_step are strides in bytes between the elements of a line, fields *_line
 * are strides in bytes between lines. */
typedef struct sc_lines {
    const dp_ctx *ctx;
    const char *x;
    char *out, *index;
    int64_t n, w;
    int64_t x_step, out_step, index_step;
    int64_t x_line, out_line, index_line;
} sc_lines;

typedef void (*sc_loop)(const sc_lines *l);
typedef struct sc_row {
    sc_loop loop[PW_TYPES]; /* indexed by pw_type.place; NULL: the type is not supported */
} sc_row;
DP_ISA_TABLE(sc_row, sc_loops) /* [SC_OPS] */

#endif
