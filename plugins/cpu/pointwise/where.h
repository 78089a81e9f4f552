/* where.h -- the loops of where.c, by vector level, and where for elements of one dtype. */
#ifndef CPU_CHOOSE_H
#define CPU_CHOOSE_H

#include "core/isa.h"

/* data[0] = data[1] (bytes that are 0 or not) ? data[2] : data[3], by the bytes of an element */
DP_ISA_TABLE(dp_iter_loop2d, choose_loops)

/* *out = condition ? a : b, for a and b of one dtype.  *out NULL: it is allocated. */
int where_choose(dp_ctx *ctx, dp_tensor *condition, dp_tensor *a, dp_tensor *b, dp_tensor **out);

#endif
