/* order.h -- values that are compared with one another, whatever their dtype. */
#ifndef CPU_ORDER_H
#define CPU_ORDER_H

#include "core/elements.h"

/* t cast to `dtype` and from there to int64 or float64, which hold every value of it, packed.  *out
 * owned. */
int order_widen(dp_ctx *ctx, dp_tensor *t, dp_dtype dtype, dp_tensor **out);

#endif
