/* cuda_stub.h -- the part of the CUDA runtime that plugin simcuda uses, for machines without CUDA.
 *
 * The names, numbers and rules are those of cuda_runtime_api.h, so that the same sources compile
 * with nvcc (make CUDA=1).  A stream is a thread of the host.  An access of the host to a device
 * address is a SIGSEGV; kernels access device memory through device_pointer().
 *
 * The simulation has the legacy default stream, streams with priorities (which change nothing),
 * events, pinned memory (asynchronous copies of other host memory fail), a limit of memory, peers,
 * IPC handles within this machine, and faults of kernels, which the next synchronizing call
 * returns. */
#ifndef SIMCUDA_CUDA_STUB_H
#define SIMCUDA_CUDA_STUB_H

#include <cstddef>
#include <cstdint>
#include <functional>

#define __global__ static
#define __device__
#define __host__

enum cudaError_t {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInvalidDevice = 101,
    cudaErrorInvalidResourceHandle = 400,
    cudaErrorNotReady = 600,
    cudaErrorIllegalAddress = 700,
    cudaErrorHostMemoryNotRegistered = 713
};
enum cudaMemcpyKind {
    cudaMemcpyHostToHost = 0,
    cudaMemcpyHostToDevice = 1,
    cudaMemcpyDeviceToHost = 2,
    cudaMemcpyDeviceToDevice = 3
};
enum { cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2, cudaHostRegisterDefault = 0 };
enum { cudaIpcMemLazyEnablePeerAccess = 1 };

struct CUstream_st;
struct CUevent_st;
typedef CUstream_st *cudaStream_t;
typedef CUevent_st *cudaEvent_t;
struct cudaIpcMemHandle_t {
    char reserved[64];
};

extern "C" {
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaSetDevice(int device); /* set the device of the calling thread */
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest);
const char *cudaGetErrorString(cudaError_t error);

cudaError_t cudaMalloc(void **p, size_t bytes);
cudaError_t cudaFree(void *p); /* waits for the device */
cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total);
cudaError_t cudaHostRegister(void *p, size_t bytes, unsigned flags);
cudaError_t cudaHostUnregister(void *p);
cudaError_t cudaMemcpy(void *dst, const void *src, size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DAsync(void *dst, size_t dst_pitch, const void *src, size_t src_pitch,
                              size_t bytes, size_t rows, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemcpyPeer(void *dst, int dst_device, const void *src, int src_device,
                           size_t bytes);
cudaError_t cudaMemcpyPeerAsync(void *dst, int dst_device, const void *src, int src_device,
                                size_t bytes, cudaStream_t stream);
cudaError_t cudaMemsetAsync(void *p, int byte, size_t bytes, cudaStream_t stream);

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t begin, cudaEvent_t end);

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *p);
cudaError_t cudaIpcOpenMemHandle(void **p, cudaIpcMemHandle_t handle, unsigned flags);
cudaError_t cudaIpcCloseMemHandle(void *p);

/* Not a function of CUDA: return the host address of the device address `p`.  If p is not an
 * address of device memory, a kernel gets the address of unused memory, and its device has a fault;
 * NULL outside of kernels. */
void *simcudaReach(const void *p);
}

/* Not a function of CUDA: queue `kernel` in `stream`. */
cudaError_t simcudaLaunch(cudaStream_t stream, std::function<void()> kernel);

/* Dimensions of a launch.  One thread of one block runs a whole kernel, so kernels must loop over
 * their elements (grid-stride loops). */
struct simcuda_dim3 {
    unsigned x, y, z;
};
static const simcuda_dim3 threadIdx = {0, 0, 0}, blockIdx = {0, 0, 0}, blockDim = {1, 1, 1},
                          gridDim = {1, 1, 1};

template <class T> static inline T *device_pointer(T *p)
{
    return static_cast<T *>(simcudaReach(p));
}

template <class... P, class... A>
static cudaError_t launch(void (*kernel)(P...), long n, cudaStream_t stream, A... args)
{
    (void)n;
    return simcudaLaunch(stream, [=] { kernel(args...); });
}

#endif
