/* device.cc -- dp_device_ops by the CUDA runtime: each slot is a call or two of it. */
#include <dispatchd/plugin.h>
#include "device.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>

allocator *simcuda_memory; /* made by on_load, or taken over */
static allocator *handed;  /* that the new load of this code has now */

int simcuda_failed(dp_error *err, cudaError_t e, const char *what)
{
    int code = e == cudaErrorMemoryAllocation ? DP_ERESOURCE : DP_ERUNTIME;

    return e == cudaSuccess
               ? 0
               : dp_error_set(err, code, "%s: %s (%d)", what, cudaGetErrorString(e), (int)e);
}
#define TRY(err, call) simcuda_failed(err, call, #call)

/* CUDA's functions work on the calling thread's device. */
static int on(int index, dp_error *err)
{
    return TRY(err, cudaSetDevice(index));
}

static cudaStream_t stream_of(void *stream)
{
    return (cudaStream_t)stream;
}

static int count(void)
{
    int n = 0;
    return cudaGetDeviceCount(&n) == cudaSuccess ? n : 0;
}

/* -- memory -- */

static int allocate(int index, size_t bytes, void *stream, void **out, dp_error *err)
{
    int rc = on(index, err);

    return rc ? rc
              : TRY(err, allocator_allocate(simcuda_memory, index, bytes, stream_of(stream), out));
}

/* Blocks that waited for a stream at a reload come back here after the allocator was handed
 * over. */
static void release(int, void *p, size_t, void *)
{
    allocator_release(simcuda_memory ? simcuda_memory : handed, p);
}

static int trim(int index, size_t, dp_error *err)
{
    int rc = on(index, err);

    return rc ? rc : TRY(err, allocator_trim(simcuda_memory, index));
}

static int memory_info(int index, size_t *free_bytes, size_t *total, dp_error *err)
{
    int rc = on(index, err);

    return rc ? rc : TRY(err, cudaMemGetInfo(free_bytes, total));
}

static int pin(void *p, size_t bytes, dp_error *err)
{
    return TRY(err, cudaHostRegister(p, bytes, cudaHostRegisterDefault));
}

static void unpin(void *p, size_t)
{
    cudaHostUnregister(p);
}

static cudaMemcpyKind kind_of(int direction)
{
    return direction == DP_HOST_TO_DEVICE   ? cudaMemcpyHostToDevice
           : direction == DP_DEVICE_TO_HOST ? cudaMemcpyDeviceToHost
                                            : cudaMemcpyDeviceToDevice;
}

static int copy(int index, void *dst, const void *src, size_t bytes, int direction, dp_error *err)
{
    int rc = on(index, err);

    /* streams that do not block the default one are waited for, too */
    if (rc == 0)
        rc = TRY(err, cudaDeviceSynchronize());
    return rc ? rc : TRY(err, cudaMemcpy(dst, src, bytes, kind_of(direction)));
}

static int copy_between(int dst_index, void *dst, int src_index, const void *src, size_t bytes,
                        dp_error *err)
{
    int rc = on(src_index, err);

    if (rc == 0)
        rc = TRY(err, cudaDeviceSynchronize());
    if (rc == 0)
        rc = on(dst_index, err);
    if (rc == 0)
        rc = TRY(err, cudaDeviceSynchronize());
    return rc ? rc : TRY(err, cudaMemcpyPeer(dst, dst_index, src, src_index, bytes));
}

static int copy_async(const dp_device_copy *c, dp_error *err)
{
    int rc = on(c->index, err);
    char *dst = (char *)c->dst;
    const char *src = (const char *)c->src;

    if (c->direction != DP_BETWEEN_DEVICES)
        return rc ? rc
                  : TRY(err,
                        cudaMemcpy2DAsync(c->dst, c->dst_pitch, c->src, c->src_pitch, c->bytes,
                                          c->rows, kind_of(c->direction), stream_of(c->stream)));
    for (size_t i = 0; rc == 0 && i < c->rows; i++)
        rc = TRY(err,
                 cudaMemcpyPeerAsync(dst + i * c->dst_pitch, c->dst_index, src + i * c->src_pitch,
                                     c->index, c->bytes, stream_of(c->stream)));
    return rc;
}

static int fill(int index, void *stream, void *p, int byte, size_t bytes, dp_error *err)
{
    int rc = on(index, err);

    return rc ? rc : TRY(err, cudaMemsetAsync(p, byte, bytes, stream_of(stream)));
}

static int synchronize(int index, dp_error *err)
{
    int rc = on(index, err);

    return rc ? rc : TRY(err, cudaDeviceSynchronize());
}

/* -- streams and events -- */

static int stream_priorities(int index, int *least, int *greatest, dp_error *err)
{
    int rc = on(index, err);

    return rc ? rc : TRY(err, cudaDeviceGetStreamPriorityRange(least, greatest));
}

static int stream_new(dp_ctx *, int index, const dp_stream_options *options, void **out,
                      dp_error *err)
{
    unsigned flags = options->flags & DP_STREAM_NON_BLOCKING ? cudaStreamNonBlocking : 0;
    int rc = on(index, err);

    return rc ? rc
              : TRY(err,
                    cudaStreamCreateWithPriority((cudaStream_t *)out, flags, options->priority));
}

/* What is cached for it may go to others once it is done; who frees a stream seldom minds to
 * wait. */
static void stream_free(int index, void *stream)
{
    if (cudaSetDevice(index) != cudaSuccess)
        return;
    cudaStreamSynchronize(stream_of(stream));
    allocator_forget(simcuda_memory ? simcuda_memory : handed, stream_of(stream));
    cudaStreamDestroy(stream_of(stream));
}

static int query(cudaError_t e, bool *done, dp_error *err, const char *what)
{
    *done = e != cudaErrorNotReady;
    return *done ? simcuda_failed(err, e, what) : 0;
}

static int stream_query(int index, void *stream, bool *done, dp_error *err)
{
    int rc = on(index, err);

    return rc ? rc : query(cudaStreamQuery(stream_of(stream)), done, err, "cudaStreamQuery");
}

static int stream_synchronize(int index, void *stream, dp_error *err)
{
    int rc = on(index, err);

    return rc ? rc : TRY(err, cudaStreamSynchronize(stream_of(stream)));
}

static int event_new(int index, uint32_t flags, void **out, dp_error *err)
{
    int rc = on(index, err);

    return rc ? rc
              : TRY(err, cudaEventCreateWithFlags((cudaEvent_t *)out, flags & DP_EVENT_NO_TIMING
                                                                          ? cudaEventDisableTiming
                                                                          : 0));
}

static void event_free(int index, void *event)
{
    if (cudaSetDevice(index) == cudaSuccess)
        cudaEventDestroy((cudaEvent_t)event);
}

static int event_record(int index, void *event, void *stream, dp_error *err)
{
    int rc = on(index, err);

    return rc ? rc : TRY(err, cudaEventRecord((cudaEvent_t)event, stream_of(stream)));
}

static int event_wait(int index, void *event, void *stream, dp_error *err)
{
    int rc = on(index, err);

    return rc ? rc : TRY(err, cudaStreamWaitEvent(stream_of(stream), (cudaEvent_t)event, 0));
}

static int event_query(int index, void *event, bool *done, dp_error *err)
{
    int rc = on(index, err);

    return rc ? rc : query(cudaEventQuery((cudaEvent_t)event), done, err, "cudaEventQuery");
}

static int event_synchronize(int index, void *event, dp_error *err)
{
    int rc = on(index, err);

    return rc ? rc : TRY(err, cudaEventSynchronize((cudaEvent_t)event));
}

static int event_elapsed(int index, void *begin, void *end, double *ms, dp_error *err)
{
    float f = 0;
    int rc = on(index, err);

    if (rc == 0)
        rc = TRY(err, cudaEventElapsedTime(&f, (cudaEvent_t)begin, (cudaEvent_t)end));
    *ms = f;
    return rc;
}

/* -- reloads -- */

enum { STATE_VERSION = 1 };
struct state {
    uint32_t version; /* of what `memory` points to, too */
    allocator *memory;
};

static int hand_over(void **out, dp_error *err)
{
    state *s = (state *)malloc(sizeof(*s));

    if (s == nullptr)
        return dp_error_set(err, DP_ERESOURCE, "no memory for the state");
    *s = state{STATE_VERSION, simcuda_memory};
    handed = simcuda_memory;
    simcuda_memory = nullptr;
    *out = s;
    return 0;
}

static int take_over(void *given, dp_error *err)
{
    state *s = (state *)given;

    if (s->version != STATE_VERSION)
        return dp_error_set(err, DP_ERUNTIME, "the allocator of version %u, not %d", s->version,
                            STATE_VERSION);
    allocator_free(simcuda_memory); /* on_load's, which nobody has used */
    simcuda_memory = s->memory;
    free(s);
    return 0;
}

static void hand_back(void *given)
{
    simcuda_memory = ((state *)given)->memory;
    handed = nullptr;
    free(given);
}

static int adopt(int, void *p, size_t, dp_error *err)
{
    return allocator_has(simcuda_memory, p)
               ? 0
               : dp_error_set(err, DP_ERUNTIME, "no block of the allocator");
}

static void adopted(int, void *, size_t) {} /* the allocator that knew it is gone already */

/* -- other processes: a block is a part of a segment, whose handle CUDA gives -- */

struct name {
    cudaIpcMemHandle_t segment;
};

static int export_block(int index, void *p, size_t, dp_block_name *out, dp_error *err)
{
    static_assert(sizeof(cudaIpcMemHandle_t) <= sizeof(dp_block_name), "a handle is a name");
    cudaIpcMemHandle_t handle;
    int rc = on(index, err);

    if (rc == 0)
        rc = TRY(err, cudaIpcGetMemHandle(&handle, p));
    memset(out, 0, sizeof(*out));
    memcpy(out, &handle, sizeof(handle));
    return rc;
}

static int import_block(int index, const dp_block_name *name, size_t, void **out, dp_error *err)
{
    cudaIpcMemHandle_t handle;
    int rc = on(index, err);

    memcpy(&handle, name, sizeof(handle));
    return rc ? rc : TRY(err, cudaIpcOpenMemHandle(out, handle, cudaIpcMemLazyEnablePeerAccess));
}

static void import_end(int index, void *p, size_t)
{
    if (cudaSetDevice(index) == cudaSuccess)
        cudaIpcCloseMemHandle(p);
}

/* In the order of dp_device_ops: C++17 knows no other. */
static const dp_device_ops ops = {sizeof(dp_device_ops),
                                  DP_DEVICE_STREAM_ORDERED,
                                  count,
                                  allocate,
                                  release,
                                  copy,
                                  memory_info,
                                  synchronize,
                                  stream_new,
                                  stream_free,
                                  stream_query,
                                  stream_synchronize,
                                  copy_async,
                                  fill,
                                  event_new,
                                  event_free,
                                  event_record,
                                  event_wait,
                                  event_query,
                                  event_synchronize,
                                  event_elapsed,
                                  pin,
                                  unpin,
                                  adopt,
                                  adopted,
                                  copy_between,
                                  trim,
                                  stream_priorities,
                                  hand_over,
                                  take_over,
                                  hand_back,
                                  export_block,
                                  import_block,
                                  import_end};

static int on_load(dp_ctx *)
{
    simcuda_memory = allocator_new();
    return 0;
}

static int on_unload(dp_ctx *)
{
    if (simcuda_memory != nullptr)
        allocator_free(simcuda_memory);
    simcuda_memory = nullptr;
    return 0;
}

DP_PLUGIN(simcuda, "1.0")
DP_BACKEND_DEVICE(cuda, ops)
DP_ON_LOAD(on_load)
DP_ON_UNLOAD(on_unload)
