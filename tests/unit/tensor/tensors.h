/* tensors.h -- helpers to make and compare tensors, and a device whose calls can be made to fail
 * (tests/plugins/faulting_device.h). */
#ifndef TENSORS_H
#define TENSORS_H

#include "tensor_cases.h"
#include "../../plugins/faulting_device.h"
#include "../alive.h"
#include "base/stream.h"
#include <pthread.h>

static dp_error err;

static inline dp_tensor *make(dp_dtype dtype, dp_device device, int ndim, const int64_t *sizes)
{
    dp_tensor *t = NULL;
    OK(dp_tensor_new(dtype, device, ndim, sizes, NULL, &t, &err));
    return t;
}

/* Return a float32 tensor with elements 0, 1, 2 ... */
static inline dp_tensor *floats(int ndim, const int64_t *sizes)
{
    dp_tensor *t = make(DP_FLOAT32, DP_DEVICE_CPU, ndim, sizes);
    for (int64_t i = 0; i < t->geometry->numel; i++)
        ((float *)t->geometry->storage->data)[i] = (float)i;
    return t;
}

static inline void assert_floats(const dp_tensor *t, int n, const float *expected)
{
    float got[256];

    ck_assert_int_eq(t->geometry->numel, n);
    OK(dp_tensor_read(t, got, &err));
    for (int i = 0; i < n; i++)
        ck_assert_msg(got[i] == expected[i], "element %d: %g, expected %g", i, (double)got[i],
                      (double)expected[i]);
}

static int device_bit;
static dpi_device *the_device; /* borrowed from the backend that open_device(0) registered */

static inline dp_device open_device(int index)
{
    if (index == 0) {
        OK(dpi_device_new("faultdev", &faultdev_ops, &the_device, &err));
        OK(dpi_backend_install("faultdev", "test", the_device, &device_bit, &err));
        dpi_device_unref(the_device); /* the table of backends keeps its own reference */
    }
    return DP_DEVICE(device_bit, index);
}

static inline void close_device(void)
{
    dpi_backend_unregister(device_bit);
    ck_assert_uint_eq(faultdev.live, 0);
    faultdev_close();
}

#endif
