/* second_cuda.c -- another device for the built-in backend CUDA, which one plugin at a time may
 * bring. */
#include <dispatchd/plugin.h>

DP_PLUGIN(second_cuda, "1.0")
DP_BACKEND(cuda)
