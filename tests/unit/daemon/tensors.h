/* tensors.h -- a small tensor for tests of handles, whose elements do not matter. */
#ifndef DAEMON_TENSORS_H
#define DAEMON_TENSORS_H

#include "unit.h"
#include <dispatchd/dispatch.h>

/* Return a new float32 tensor of two elements, owned by the caller. */
static inline dp_tensor *make(void)
{
    int64_t sizes[] = {2};
    dp_error err = DP_ERROR_INIT;
    dp_tensor *t = NULL;

    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 1, sizes, NULL, &t, &err), 0);
    return t;
}

#endif
