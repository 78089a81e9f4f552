/* device.h -- what operators need of the device. */
#ifndef SIMCUDA_DEVICE_H
#define SIMCUDA_DEVICE_H

#include "simcuda.h"
#include <dispatchd/plugin.h>

extern allocator *simcuda_memory;
/* Describe a CUDA error in err, and return its code; 0 for none. */
int simcuda_failed(dp_error *err, cudaError_t e, const char *what);

#endif
