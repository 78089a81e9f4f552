/* take_put.h -- a check of the tensors' devices for put_ and masked_scatter_. */
#ifndef CPU_TAKE_PUT_H
#define CPU_TAKE_PUT_H

#include "core/elements.h"

/* Check that `a` and `b` are on self's device; `what` is the operator's name for the error message.
 * DP_ERUNTIME: a or b is on another device. */
int index_check_devices(dp_ctx *ctx, const char *what, dp_tensor *self, dp_tensor *a, dp_tensor *b);

#endif
