/* order.h -- conversion of values to a dtype in which they are compared. */
#ifndef CPU_ORDER_H
#define CPU_ORDER_H

#include "core/elements.h"

/* Convert `t` to `dtype`, and then to int64 or float64, which can represent all values of that
 * dtype, contiguous.  *out owned. */
int order_widen(dp_ctx *ctx, dp_tensor *t, dp_dtype dtype, dp_tensor **out);

#endif
