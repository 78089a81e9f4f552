/* device.h -- the device's allocator, and simcuda_failed(), for the operators of plugin simcuda. */
#ifndef SIMCUDA_DEVICE_H
#define SIMCUDA_DEVICE_H

#include "simcuda.h"
#include <dispatchd/plugin.h>

extern allocator *simcuda_memory;
/* Return 0 if `e` is cudaSuccess; otherwise describe e and `what`, the failed call, in *err, and
 * return DP_ERESOURCE if memory is missing, else DP_ERUNTIME. */
int simcuda_failed(dp_error *err, cudaError_t e, const char *what);

#endif
