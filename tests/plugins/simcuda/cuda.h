/* cuda.h -- includes the CUDA runtime or, without CUDA, its simulation cuda_stub.h; and defines
 * device_pointer() and launch(), which differ between the two. */
#ifndef SIMCUDA_CUDA_H
#define SIMCUDA_CUDA_H

#ifdef __has_include
#if defined(SIMCUDA_REAL) && __has_include(<cuda_runtime.h>)
#include <cuda_runtime.h>

#ifdef __CUDACC__
template <class T> static __host__ __device__ inline T *device_pointer(T *p)
{
    return p;
}

/* Launch `kernel` for n elements, in blocks of 256 threads. */
template <class... P, class... A>
static cudaError_t launch(void (*kernel)(P...), long n, cudaStream_t stream, A... args)
{
    long blocks = (n + 255) / 256;

    kernel < <<blocks<65535 ? (unsigned)blocks : 65535u, 256, 0, stream>>>(args...);
    return cudaGetLastError();
}
#endif
#else
#include "cuda_stub.h"
#endif
#endif

#endif
