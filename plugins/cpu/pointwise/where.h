/* where.h -- the loops of the operator where, by vector level, and where_choose(). */
#ifndef CPU_CHOOSE_H
#define CPU_CHOOSE_H

#include "core/isa.h"

/* data[0] = data[1] (a byte, true if it is not 0) ? data[2] : data[3], by the size of an element */
DP_ISA_TABLE(dp_iter_loop2d, choose_loops)

/* Compute *out = condition ? a : b for `a` and `b` of one dtype.  *out NULL: a tensor is made. */
int where_choose(dp_ctx *ctx, dp_tensor *condition, dp_tensor *a, dp_tensor *b, dp_tensor **out);

#endif
