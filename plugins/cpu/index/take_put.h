/* take_put.h -- a check of index that put_ and masked_scatter_ share. */
#ifndef CPU_TAKE_PUT_H
#define CPU_TAKE_PUT_H

#include "core/elements.h"

/* DP_ERUNTIME unless `a` and `b` lie on self's device. */
int index_check_devices(dp_ctx *ctx, const char *what, dp_tensor *self, dp_tensor *a, dp_tensor *b);

#endif
