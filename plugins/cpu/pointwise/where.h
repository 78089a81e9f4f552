/* where.h -- the loops of the operator where, by vector level, and where_choose(). */
#ifndef CPU_CHOOSE_H
#define CPU_CHOOSE_H

#include "core/isa.h"

/* loops that compute data[0] = data[1] ? data[2] : data[3], where the elements of data[1] are
 * bytes; the table is indexed by the size of an element of the other operands */
DP_ISA_TABLE(dp_iter_loop2d, choose_loops)

/* Compute *out = condition ? a : b, where `a` and `b` have the same dtype.  *out NULL: it is set to
 * a new tensor. */
int where_choose(dp_ctx *ctx, dp_tensor *condition, dp_tensor *a, dp_tensor *b, dp_tensor **out);

#endif
