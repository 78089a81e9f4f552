/* dispatchd/device.h -- dp_device_ops, the functions of a backend whose memory is not host memory.
 *
 * plugin.h and dispatch.h include this header.  A plugin passes its record to DP_BACKEND_DEVICE;
 * the host accesses the memory only through these functions.  The comment of a function gives the
 * function of the CUDA runtime that does the same, and its default: what the host does if the
 * member is NULL. */
#ifndef DISPATCHD_DEVICE_H
#define DISPATCHD_DEVICE_H

#include "error.h"
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dp_ctx dp_ctx; /* context of one request; used by one thread at a time */

/* A stream and an event as the host knows them: each contains the handle that the backend made.
 * Both are reference-counted (dp_stream_ref, dp_event_ref). */
typedef struct dp_stream dp_stream;
typedef struct dp_event dp_event;

/* Direction of a copy.  DP_BETWEEN_DEVICES: from one device of the backend to another of its
 * devices. */
enum { DP_HOST_TO_DEVICE, DP_DEVICE_TO_HOST, DP_ON_DEVICE, DP_BETWEEN_DEVICES };

/* A copy of `rows` rows of `bytes` bytes each.  The rows begin dst_pitch and src_pitch bytes apart;
 * one row is a plain copy.  cudaMemcpy2DAsync */
typedef struct dp_device_copy {
    uint32_t size;
    /* number of the device; for DP_BETWEEN_DEVICES the device of `src` */
    int32_t index;
    int32_t direction;
    /* number of the device of `dst`; equals `index` except for DP_BETWEEN_DEVICES */
    int32_t dst_index;
    void *dst;
    const void *src;
    size_t bytes, rows, dst_pitch, src_pitch;
    void *stream; /* a stream of device `index` */
} dp_device_copy;

enum { /* dp_stream_options.flags */
       /* the stream does not wait for the default stream, nor the default stream for it */
       DP_STREAM_NON_BLOCKING = 1
};

/* Properties of a new stream.  A struct of zeros, except for `size`, has all defaults. */
typedef struct dp_stream_options {
    uint32_t size;
    uint32_t flags;   /* DP_STREAM_* */
    int32_t priority; /* in the range of dp_stream_priorities(); a lower number has priority */
    uint32_t reserved;
} dp_stream_options;

enum { /* flags of an event */
       /* recording the event is cheaper, and dp_event_elapsed() of the event fails */
       DP_EVENT_NO_TIMING = 1
};

/* Name of a block of device memory, with which another process can open it.  Only the backend knows
 * the meaning of the bytes.  cudaIpcMemHandle_t */
typedef struct dp_block_name {
    uint8_t bytes[64];
} dp_block_name;

/* Name of a tensor's storage for other processes, filled in by dp_tensor_export(); set `size`
 * first.  The struct may be sent to another process as it is. */
typedef struct dp_exported {
    uint32_t size;
    int32_t index;        /* number of the device in the exporting process */
    uint64_t bytes;       /* size of the block */
    int64_t offset_bytes; /* offset of the tensor's first element in the block */
    dp_block_name name;
} dp_exported;

enum { /* dp_device_ops.flags */
       /* Memory is allocated and released in the order of a stream (cudaMallocAsync,
        * cudaFreeAsync).  `release` may be called while earlier work of `stream` still uses the
        * block, and `allocate` may give such a block to later work of the same stream. */
       DP_DEVICE_STREAM_ORDERED = 1
};

/* Memory, streams and events of a backend whose memory is not host memory.  `index` is the number
 * of a device of the backend.  Only `allocate`, `release` and `copy` are required.  Each of the
 * following groups must be set completely or not at all: streams (stream_new to
 * stream_synchronize), events (event_new to event_synchronize), `pin` and `unpin`, hand_over to
 * hand_back, export_block to import_end.  The host calls the functions on any thread, several at
 * once, and holds no lock meanwhile.
 *
 * Failure: a function with a parameter `err` returns 0, or a DP_E* code after describing the
 * failure in *err with dp_error_set(), which returns the code.  `err` is never NULL, and the host
 * reads it only after a failure.  The parameter `err` is used in place of a context because the
 * functions also run outside of requests.  A function without `err` cannot fail.  A function that
 * fails must have changed nothing.
 *
 * Asynchronous failure: if an operation fails while a stream executes it, the next call that waits
 * for the operation or queries it (synchronize, stream_synchronize, stream_query,
 * event_synchronize, event_query or copy) returns the failure, once.  The host adds the names of
 * the operators that used the stream since it was synchronized last.
 *
 * A stream is a queue of one device: its operations run in order, concurrently with those of other
 * streams.  Stream NULL is the device's default stream: it waits for all other streams, and they
 * wait for it, except streams with DP_STREAM_NON_BLOCKING.  The host passes handles of streams and
 * events only to the code that made them. */
typedef struct dp_device_ops {
    uint32_t size;
    uint32_t flags; /* DP_DEVICE_* */

    /* Number of devices.  Default: 1.  cudaGetDeviceCount */
    int (*count)(void);
    /* Allocate `bytes` > 0; *out is 64-byte aligned.  `stream` usually is the stream that uses the
     * block first.  DP_ERESOURCE: out of memory; the host then releases blocks for which it still
     * waited for streams, calls `trim`, and tries once more.  cudaMalloc, cudaMallocAsync */
    int (*allocate)(int index, size_t bytes, void *stream, void **out, dp_error *err);
    /* Release a block.  The streams that dp_record_stream() recorded no longer use the block; with
     * DP_DEVICE_STREAM_ORDERED, operations of `stream`, the one that `allocate` got, may still use
     * it.  cudaFree, cudaFreeAsync */
    void (*release)(int index, void *p, size_t bytes, void *stream);
    /* Wait until all earlier work of the device has ended, copy, and return when the copy is done.
     * cudaMemcpy */
    int (*copy)(int index, void *dst, const void *src, size_t bytes, int direction, dp_error *err);
    /* Default: DP_ENOTIMPL, which means that the numbers are unknown.  cudaMemGetInfo */
    int (*memory_info)(int index, size_t *free_bytes, size_t *total_bytes, dp_error *err);
    /* Wait for all streams of the device.  Default: do nothing.  cudaDeviceSynchronize */
    int (*synchronize)(int index, dp_error *err);

    /* Streams.  Default: every stream is NULL, and each operation has ended when the function that
     * started it returns. */
    /* `ctx`: the request that wants the stream, or NULL.  The host has checked the options.
     * cudaStreamCreateWithPriority */
    int (*stream_new)(dp_ctx *ctx, int index, const dp_stream_options *options, void **out,
                      dp_error *err);
    /* operations that the stream was given before still run */
    void (*stream_free)(int index, void *stream);
    int (*stream_query)(int index, void *stream, bool *done, dp_error *err); /* does not wait */
    int (*stream_synchronize)(int index, void *stream, dp_error *err);
    /* Start a copy and return; memory on the host side is pinned.  Default: wait for the stream,
     * then copy. */
    int (*copy_async)(const dp_device_copy *c, dp_error *err);
    /* memset in the order of the stream.  Default: wait for the stream, then copy from host memory.
     * cudaMemsetAsync */
    int (*fill)(int index, void *stream, void *p, int byte, size_t bytes, dp_error *err);

    /* Events: points in the order of a stream.  Default: recording an event waits for the stream,
     * so the event is complete at once, and its time is read from the host's clock. */
    /* `flags`: DP_EVENT_*.  cudaEventCreateWithFlags */
    int (*event_new)(int index, uint32_t flags, void **out, dp_error *err);
    void (*event_free)(int index, void *event);
    int (*event_record)(int index, void *event, void *stream, dp_error *err); /* may be repeated */
    /* Later operations of the stream wait for the event, as it was recorded last. */
    int (*event_wait)(int index, void *event, void *stream, dp_error *err);
    int (*event_query)(int index, void *event, bool *done, dp_error *err); /* does not wait */
    int (*event_synchronize)(int index, void *event, dp_error *err);
    /* *ms: milliseconds between two complete events.  Default if there are other event functions:
     * DP_ENOTIMPL. */
    int (*event_elapsed)(int index, void *begin, void *end, double *ms, dp_error *err);

    /* Pin whole pages of host memory, so that asynchronous copies can use them.  The memory
     * belongs to the host, and outlives the backend.  Default: the memory is not pinned.
     * cudaHostRegister */
    int (*pin)(void *p, size_t bytes, dp_error *err);
    void (*unpin)(void *p, size_t bytes);

    /* Take over a block at a reload: the host calls this function of the new code for each block
     * that the old code allocated and that tensors still use.  0: the new code releases the block
     * later; calls that began before may still use it.  Any other code: the old code releases the
     * block after its last call has ended, and its tensors then fail with the error that the
     * backend was unloaded.  Default: no block is taken over. */
    int (*adopt)(int index, void *p, size_t bytes, dp_error *err);
    /* Called in the old code for each block that the new code adopted: the old code no longer owns
     * the block. */
    void (*adopted)(int index, void *p, size_t bytes);

    /* Copy from one device of the backend to another.  Order and completion are those of `copy`.
     * With this function, copy_async may get DP_BETWEEN_DEVICES.  Default: a copy through host
     * memory.  cudaMemcpyPeer */
    int (*copy_between)(int dst_index, void *dst, int src_index, const void *src, size_t bytes,
                        dp_error *err);
    /* Release cached memory that is not in use, at least `bytes` if there is that much: an
     * allocation failed, or dp_device_trim() was called.  Default: nothing is cached.
     * c10::cuda::CUDACachingAllocator::emptyCache */
    int (*trim)(int index, size_t bytes, dp_error *err);
    /* Range of the priorities of streams: *greatest <= *least.  Default: 0 and 0.
     * cudaDeviceGetStreamPriorityRange */
    int (*stream_priorities)(int index, int *least, int *greatest, dp_error *err);

    /* Move state of the old code to the new code at a reload, before `adopt` is called: everything
     * other than blocks, such as the device's context and the segments that contain the blocks.
     * hand_over of the old code sets *state to memory that belongs to neither file, for example
     * from malloc.  take_over of the new code owns it after returning 0.  If take_over fails,
     * hand_back of the old code gets it back, and no block is adopted.  Meanwhile no other function
     * of either code runs, but kernels of the old code may run.  The two versions must agree on the
     * layout of *state: it should begin with a version number.  Default: no state is moved. */
    int (*hand_over)(void **state, dp_error *err);
    int (*take_over)(void *state, dp_error *err);
    void (*hand_back)(void *state);

    /* Blocks that several processes use.  Default: DP_ENOTIMPL.  export_block names a block that
     * `allocate` returned; this process still releases it.  import_block opens a block of another
     * process, `bytes` long, until import_end; it fails if that process or block no longer exists.
     * cudaIpcGetMemHandle, cudaIpcOpenMemHandle, cudaIpcCloseMemHandle */
    int (*export_block)(int index, void *p, size_t bytes, dp_block_name *out, dp_error *err);
    int (*import_block)(int index, const dp_block_name *name, size_t bytes, void **out,
                        dp_error *err);
    void (*import_end)(int index, void *p, size_t bytes);
} dp_device_ops;

#ifdef __cplusplus
}
#endif
#endif
