/* cuda.h -- the CUDA runtime, or what stands in for it; and what differs between the two. */
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

/* n elements, 256 a block. */
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
