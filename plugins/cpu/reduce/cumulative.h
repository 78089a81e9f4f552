/* cumulative.h -- the loops of cumulative operators: scan.c prepares them, levels/scan.c runs
 * them. */
#ifndef CPU_SCAN_H
#define CPU_SCAN_H

#include "lib/poll.h"
#include "core/isa.h"
#include "pointwise/loops/types.h"

enum { SC_SUM, SC_PROD, SC_MAX, SC_MIN, SC_LOGSUMEXP, SC_OPS };
enum { SC_WIDE = 64 }; /* neighbouring lines that are worked on at a time */

/* w <= SC_WIDE lines of n elements: x is read, out is written (and may be x), index is written by
 * SC_MAX and SC_MIN.  Strides are bytes: from one element to the next, from one line to the
 * next. */
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
    sc_loop loop[PW_TYPES]; /* by the place of a type; NULL: there is none */
} sc_row;
DP_ISA_TABLE(sc_row, sc_loops) /* [SC_OPS] */

#endif
