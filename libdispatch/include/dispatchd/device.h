/* dispatchd/device.h -- what a backend with memory of its own is made of: dp_device_ops.
 *
 * plugin.h and dispatch.h include this.  A backend names its functions in one record and hands it
 * to DP_BACKEND_DEVICE; the host reaches the memory by them alone.  The comment of each slot names
 * the function of the CUDA runtime that does the same, and says what the host does where the slot
 * is zero. */
#ifndef DISPATCHD_DEVICE_H
#define DISPATCHD_DEVICE_H

#include "error.h"
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dp_ctx dp_ctx; /* one request's context; belongs to one thread at a time */

/* Counted, by dp_stream_ref() and dp_event_ref(): the host's names for a backend's own handles. */
typedef struct dp_stream dp_stream;
typedef struct dp_event dp_event;

/* Direction of a copy.  DP_BETWEEN_DEVICES: from one device of the backend to another one of it. */
enum { DP_HOST_TO_DEVICE, DP_DEVICE_TO_HOST, DP_ON_DEVICE, DP_BETWEEN_DEVICES };

/* `rows` runs of `bytes`, whose beginnings lie dst_pitch and src_pitch bytes apart; one row is a
 * plain copy.  cudaMemcpy2DAsync */
typedef struct dp_device_copy {
    uint32_t size;
    int32_t index; /* of the device; for DP_BETWEEN_DEVICES of the one that `src` is on */
    int32_t direction;
    int32_t dst_index; /* of the device that `dst` is on; `index` but for DP_BETWEEN_DEVICES */
    void *dst;
    const void *src;
    size_t bytes, rows, dst_pitch, src_pitch;
    void *stream; /* of device `index` */
} dp_device_copy;

enum {                            /* dp_stream_options.flags */
       DP_STREAM_NON_BLOCKING = 1 /* neither waits for the default stream nor is waited for by it */
};

/* What a new stream is to be like.  Zero is every default. */
typedef struct dp_stream_options {
    uint32_t size;
    uint32_t flags;   /* DP_STREAM_* */
    int32_t priority; /* as dp_stream_priorities() says; lower numbers come first */
    uint32_t reserved;
} dp_stream_options;

enum {                        /* flags of an event */
       DP_EVENT_NO_TIMING = 1 /* dp_event_elapsed() of it fails, so that recording it costs less */
};

/* A block of a device as another process can open it; the bytes mean something to the backend
 * alone.  cudaIpcMemHandle_t */
typedef struct dp_block_name {
    uint8_t bytes[64];
} dp_block_name;

/* What dp_tensor_export() says of a tensor's storage; set `size` first.  It may be sent to another
 * process as it is. */
typedef struct dp_exported {
    uint32_t size;
    int32_t index;        /* of the device in the process that exports */
    uint64_t bytes;       /* of the block */
    int64_t offset_bytes; /* of the tensor's first element in it */
    dp_block_name name;
} dp_exported;

enum { /* dp_device_ops.flags */
       /* Memory is handed out and taken back in the order of a stream (cudaMallocAsync,
        * cudaFreeAsync): release may come while what `stream` was given before still uses the
        * block, and allocate may give it to who uses it on that stream. */
       DP_DEVICE_STREAM_ORDERED = 1
};

/* Memory and queues of a backend whose memory is not the host's.  `index` says which of its
 * devices.  Only allocate, release and copy must be there.  Of these groups a record has all or
 * none: streams (stream_new to stream_synchronize), events (event_new to event_synchronize), pin
 * and unpin, hand_over to hand_back, export_block to import_end.  Any thread, several at once, with
 * no lock held.
 *
 * Device functions fail as kernels do, but into `err`: they also run where there is no request, so
 * no context.  They return 0, or a DP_E* code after describing the fault with dp_error_set(), which
 * returns that code.  `err` is never NULL, and is looked at only when they fail.  One without `err`
 * cannot fail.  A failing one has done nothing.
 *
 * What fails only while a stream works it off surfaces at the next call that waits for that work or
 * asks for it: synchronize, stream_synchronize, stream_query, event_synchronize, event_query or
 * copy fails once with the fault.  The host adds the names of the operators that asked for the
 * stream since it was last synchronised.
 *
 * A stream is a queue of one device: what is given to it runs in order, and beside other streams.
 * Stream NULL is the device's default one everywhere, which waits for all others and they for it
 * (not for those with DP_STREAM_NON_BLOCKING).  The host gives handles of streams and events only
 * to the code that made them. */
typedef struct dp_device_ops {
    uint32_t size;
    uint32_t flags; /* DP_DEVICE_* */

    /* How many devices.  Default: 1.  cudaGetDeviceCount */
    int (*count)(void);
    /* bytes > 0; *out aligned to 64.  `stream` is the first that will use it, as a rule.
     * DP_ERESOURCE: no room; the host gives back what waited for streams, calls trim, and asks once
     * more.  cudaMalloc, cudaMallocAsync */
    int (*allocate)(int index, size_t bytes, void *stream, void **out, dp_error *err);
    /* Nothing that was given to a stream uses it any more, as far as dp_record_stream() told; with
     * DP_DEVICE_STREAM_ORDERED: but for what `stream`, which allocate was given, still has to do.
     * cudaFree, cudaFreeAsync */
    void (*release)(int index, void *p, size_t bytes, void *stream);
    /* Begins when everything that the device was given has ended; returns when it is done.
     * cudaMemcpy */
    int (*copy)(int index, void *dst, const void *src, size_t bytes, int direction, dp_error *err);
    /* DP_ENOTIMPL: it is unknown, which is the default, too.  cudaMemGetInfo */
    int (*memory_info)(int index, size_t *free_bytes, size_t *total_bytes, dp_error *err);
    /* Wait for all streams.  Default: there is nothing to wait for.  cudaDeviceSynchronize */
    int (*synchronize)(int index, dp_error *err);

    /* Streams.  Default: every stream is NULL, and whatever is given to it has ended when the call
     * that gave it returns. */
    /* ctx: the request that asks; NULL where there is none.  The host has checked the options.
     * cudaStreamCreateWithPriority */
    int (*stream_new)(dp_ctx *ctx, int index, const dp_stream_options *options, void **out,
                      dp_error *err);
    void (*stream_free)(int index, void *stream); /* what it was given still runs */
    int (*stream_query)(int index, void *stream, bool *done, dp_error *err); /* without waiting */
    int (*stream_synchronize)(int index, void *stream, dp_error *err);
    /* Returns when the stream has it; one side in host memory is pinned.  Default: wait for the
     * stream, then copy. */
    int (*copy_async)(const dp_device_copy *c, dp_error *err);
    /* memset, by the stream.  Default: wait for the stream, then copy from host memory.
     * cudaMemsetAsync */
    int (*fill)(int index, void *stream, void *p, int byte, size_t bytes, dp_error *err);

    /* Events: places in a stream.  Default: recording one waits for the stream, so it is over then,
     * and its time is the host's. */
    /* flags: DP_EVENT_*.  cudaEventCreateWithFlags */
    int (*event_new)(int index, uint32_t flags, void **out, dp_error *err);
    void (*event_free)(int index, void *event);
    int (*event_record)(int index, void *event, void *stream, dp_error *err); /* may be repeated */
    /* What the stream is given from now on waits for the event as it was recorded last. */
    int (*event_wait)(int index, void *event, void *stream, dp_error *err);
    int (*event_query)(int index, void *event, bool *done, dp_error *err); /* without waiting */
    int (*event_synchronize)(int index, void *event, dp_error *err);
    /* Both are over.  Default, also with the other event slots: DP_ENOTIMPL. */
    int (*event_elapsed)(int index, void *begin, void *end, double *ms, dp_error *err);

    /* Make pages of the host's memory reachable for copies that run by themselves; whole pages.
     * The memory stays the host's, so that it outlives the backend.  Default: memory is left as it
     * is.  cudaHostRegister */
    int (*pin)(void *p, size_t bytes, dp_error *err);
    void (*unpin)(void *p, size_t bytes);

    /* After a reload, asked of the new code for each block that the old code allocated and that
     * tensors still hold: take it over?  0: it is this code's to release from now on; calls that
     * began before still use it.  Any code: the old code releases it when its last call has left,
     * and those tensors answer that the backend was unloaded.  Default: takes over nothing. */
    int (*adopt)(int index, void *p, size_t bytes, dp_error *err);
    /* Told to the old code for each block that the new code adopted: it is not this code's any
     * more. */
    void (*adopted)(int index, void *p, size_t bytes);

    /* Copy from one device of the backend to another.  Begins and returns as `copy` does.  With it
     * copy_async may be given DP_BETWEEN_DEVICES.  Default: by way of the host.  cudaMemcpyPeer */
    int (*copy_between)(int dst_index, void *dst, int src_index, const void *src, size_t bytes,
                        dp_error *err);
    /* Give back memory that is cached and not in use, at least `bytes` if there are so many: an
     * allocation is about to fail, or somebody asked (dp_device_trim).  Default: nothing is cached.
     * c10::cuda::CUDACachingAllocator::emptyCache */
    int (*trim)(int index, size_t bytes, dp_error *err);
    /* Priorities that streams may have: greatest <= least.  Default: 0 and 0.
     * cudaDeviceGetStreamPriorityRange */
    int (*stream_priorities)(int index, int *least, int *greatest, dp_error *err);

    /* At a reload, before adopt is asked: what the old code has of the device beyond blocks, its
     * context and the segments that blocks are parts of, goes to the new code.  *state, of memory
     * that lies in neither file, such as malloc's, is the new code's once take_over returned 0.  If
     * take_over fails, the old code gets it back by hand_back, and nothing is adopted.  Nobody is
     * inside other functions of either meanwhile; kernels of the old code may run.  The two
     * versions agree on what *state is: it should begin with a number that says so.  Default: there
     * is nothing to hand over. */
    int (*hand_over)(void **state, dp_error *err);
    int (*take_over)(void *state, dp_error *err);
    void (*hand_back)(void *state);

    /* Blocks that several processes use.  Default: DP_ENOTIMPL.  export_block names one that
     * allocate gave out; it stays this process's to release.  import_block opens one of another
     * process, `bytes` long, until import_end; a name whose process or block is gone is an error.
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
