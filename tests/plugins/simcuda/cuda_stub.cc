/* cuda_stub.cc -- threads of the host in the place of a GPU; see cuda_stub.h.
 *
 * A library of its own, as the CUDA runtime is: it stays in the process when the plugin that needed
 * it is reloaded.  One lock over all.  Each piece of work waits for the last piece of some streams,
 * which gives order within a stream, events and the default stream by one rule. */
#include "cuda_stub.h"
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <pthread.h>
#include <set>
#include <sys/types.h>
#include <thread>
#include <time.h>
#include <unistd.h>
#include <vector>

namespace
{

enum { DEVICES = 2 };
const size_t DEVICE_BYTES = 64u << 20;
const uintptr_t TAG = (uintptr_t)1 << 62; /* an address with it faults: it is not canonical */

struct work {
    std::function<void()> run;
    std::map<CUstream_st *, uint64_t> after; /* streams, and how far they must have come */
    uint64_t number;
};

} // namespace

struct CUstream_st {
    int device;
    bool blocking, destroyed;
    uint64_t given, done; /* numbers of work */
    std::deque<work> queue;
    char scrap[64]; /* what kernels reach instead of memory that is not the device's */
};

struct CUevent_st {
    CUstream_st *stream; /* nullptr: never recorded */
    uint64_t number;
    bool timed;
    timespec at;
};

namespace
{

struct gpu {
    CUstream_st legacy;                 /* the default stream */
    std::set<CUstream_st *> streams;    /* all others */
    std::map<uintptr_t, size_t> blocks; /* real addresses */
    size_t bytes;
    cudaError_t fault; /* that nobody was told of */
};

/* Never destroyed: threads wait on them until the process is gone. */
std::mutex &lock = *new std::mutex;
std::condition_variable &changed = *new std::condition_variable;
gpu *const gpus = new gpu[DEVICES]();
std::map<uintptr_t, size_t> &registered = *new std::map<uintptr_t, size_t>; /* pinned host memory */
std::set<CUstream_st *> &retired = *new std::set<CUstream_st *>;            /* streams destroyed */
std::map<uintptr_t, int> &opened = *new std::map<uintptr_t, int>;           /* IPC handles */

/* A pointer for each thread, NULL at first.  A key and not thread_local, since the leak checker of
 * GCC 12 misreads where a loaded library's thread-local variables lie, and dies of it. */
class per_thread
{
    pthread_key_t key;

  public:
    per_thread() { pthread_key_create(&key, nullptr); }
    void *get() const { return pthread_getspecific(key); }
    void set(const void *value) { pthread_setspecific(key, value); }
};
per_thread current_device; /* its number, as a pointer */
per_thread running;        /* the stream whose work this thread runs */

int current()
{
    return (int)(uintptr_t)current_device.get();
}
bool begun;

void *tagged(uintptr_t p)
{
    return (void *)(p | TAG);
}

uintptr_t real(const void *p)
{
    return (uintptr_t)p & ~TAG;
}

bool is_tagged(const void *p)
{
    return ((uintptr_t)p & TAG) != 0;
}

/* Locked. */
bool within(const std::map<uintptr_t, size_t> &all, uintptr_t at, size_t bytes)
{
    auto next = all.upper_bound(at);

    if (next == all.begin())
        return false;
    --next;
    return at - next->first <= next->second && bytes <= next->second - (at - next->first);
}

/* Locked. */
bool is_ready(const work &w)
{
    for (const auto &a : w.after)
        if (a.first->done < a.second)
            return false;
    return true;
}

/* Works off one stream until the process ends. */
void serve(CUstream_st *s)
{
    std::unique_lock<std::mutex> held(lock);

    for (;;) {
        changed.wait(held,
                     [s] { return !s->queue.empty() ? is_ready(s->queue.front()) : s->destroyed; });
        if (s->queue.empty())
            return; /* `s` itself stays: events may name it */
        work w = std::move(s->queue.front());
        s->queue.pop_front();
        held.unlock();
        running.set(s);
        w.run();
        held.lock();
        s->done = w.number;
        changed.notify_all();
    }
}

/* Locked. */
void begin()
{
    if (begun)
        return;
    begun = true;
    for (int i = 0; i < DEVICES; i++) {
        gpus[i].legacy.device = i;
        gpus[i].legacy.blocking = true;
        std::thread(serve, &gpus[i].legacy).detach();
    }
}

/* Locked. */
CUstream_st *of(cudaStream_t stream)
{
    begin();
    return stream ? stream : &gpus[current()].legacy;
}

/* Locked.  `also`: streams to wait for beside those that the rules of the default stream name. */
uint64_t give(CUstream_st *s, std::function<void()> run,
              std::map<CUstream_st *, uint64_t> also = {})
{
    gpu &g = gpus[s->device];

    if (s == &g.legacy) {
        for (CUstream_st *other : g.streams)
            if (other->blocking)
                also[other] = other->given;
    } else if (s->blocking) {
        also[&g.legacy] = g.legacy.given;
    }
    s->queue.push_back(work{std::move(run), std::move(also), ++s->given});
    changed.notify_all();
    return s->given;
}

/* Locked.  Fault that is told once. */
cudaError_t fault_of(int device)
{
    cudaError_t e = gpus[device].fault;

    gpus[device].fault = cudaSuccess;
    return e;
}

/* Locked by `held`. */
cudaError_t wait_for(std::unique_lock<std::mutex> &held, CUstream_st *s, uint64_t number)
{
    changed.wait(held, [=] { return s->done >= number; });
    return fault_of(s->device);
}

/* Locked by `held`. */
cudaError_t wait_for_all(std::unique_lock<std::mutex> &held, int device)
{
    gpu &g = gpus[device];

    begin();
    for (CUstream_st *s : std::vector<CUstream_st *>(g.streams.begin(), g.streams.end())) {
        uint64_t n = s->given;
        changed.wait(held, [=] { return s->done >= n; });
    }
    uint64_t n = g.legacy.given;
    changed.wait(held, [&] { return g.legacy.done >= n; });
    return fault_of(device);
}

/* Memory that `bytes` at p are, for whoever copies: a device's or the host's; nullptr: neither. */
char *side(const void *p, bool device, size_t bytes)
{
    if (!device)
        return is_tagged(p) ? nullptr : (char *)p;
    for (int i = 0; i < DEVICES; i++)
        if (is_tagged(p) && within(gpus[i].blocks, real(p), bytes))
            return (char *)real(p);
    return nullptr;
}

} // namespace

extern "C" {

const char *cudaGetErrorString(cudaError_t error)
{
    switch (error) {
    case cudaSuccess:
        return "no error";
    case cudaErrorInvalidValue:
        return "invalid argument";
    case cudaErrorMemoryAllocation:
        return "out of memory";
    case cudaErrorInvalidDevice:
        return "invalid device ordinal";
    case cudaErrorInvalidResourceHandle:
        return "invalid resource handle";
    case cudaErrorNotReady:
        return "device not ready";
    case cudaErrorIllegalAddress:
        return "an illegal memory access was encountered";
    case cudaErrorHostMemoryNotRegistered:
        return "pointer does not correspond to a registered memory region";
    }
    return "unrecognized error code";
}

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = DEVICES;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    if (device < 0 || device >= DEVICES)
        return cudaErrorInvalidDevice;
    current_device.set((void *)(uintptr_t)device);
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
    *device = current();
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void)
{
    std::unique_lock<std::mutex> held(lock);
    return wait_for_all(held, current());
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    *least = 0;
    *greatest = -5;
    return cudaSuccess;
}

/* -- memory -- */

cudaError_t cudaMalloc(void **p, size_t bytes)
{
    std::unique_lock<std::mutex> held(lock);
    gpu &g = gpus[current()];
    size_t whole = (bytes + 511) / 512 * 512;

    if (bytes == 0 || whole < bytes || whole > DEVICE_BYTES - g.bytes)
        return bytes == 0 ? cudaErrorInvalidValue : cudaErrorMemoryAllocation;
    void *at = aligned_alloc(512, whole);
    if (at == nullptr)
        return cudaErrorMemoryAllocation;
    memset(at, 0xee, whole);
    g.blocks[(uintptr_t)at] = whole;
    g.bytes += whole;
    *p = tagged((uintptr_t)at);
    return cudaSuccess;
}

cudaError_t cudaFree(void *p)
{
    std::unique_lock<std::mutex> held(lock);

    for (int i = 0; i < DEVICES; i++) {
        if (!is_tagged(p) || gpus[i].blocks.count(real(p)) == 0)
            continue;
        wait_for_all(held, i);
        gpus[i].bytes -= gpus[i].blocks[real(p)];
        gpus[i].blocks.erase(real(p));
        free((void *)real(p));
        return cudaSuccess;
    }
    return cudaErrorInvalidValue;
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
    std::unique_lock<std::mutex> held(lock);

    *total = DEVICE_BYTES;
    *free_bytes = DEVICE_BYTES - gpus[current()].bytes;
    return cudaSuccess;
}

cudaError_t cudaHostRegister(void *p, size_t bytes, unsigned)
{
    std::unique_lock<std::mutex> held(lock);

    registered[(uintptr_t)p] = bytes;
    return cudaSuccess;
}

cudaError_t cudaHostUnregister(void *p)
{
    std::unique_lock<std::mutex> held(lock);

    return registered.erase((uintptr_t)p) ? cudaSuccess : cudaErrorHostMemoryNotRegistered;
}

void *simcudaReach(const void *p)
{
    std::unique_lock<std::mutex> held(lock);
    CUstream_st *stream = (CUstream_st *)running.get();

    for (int i = 0; i < DEVICES; i++)
        if (is_tagged(p) && within(gpus[i].blocks, real(p), 0))
            return (void *)real(p);
    if (stream == nullptr)
        return nullptr; /* no kernel's: the host dies of it, as it would */
    gpus[stream->device].fault = cudaErrorIllegalAddress;
    return stream->scrap;
}

cudaError_t cudaMemcpy2DAsync(void *dst, size_t dst_pitch, const void *src, size_t src_pitch,
                              size_t bytes, size_t rows, cudaMemcpyKind kind, cudaStream_t stream)
{
    bool up = kind == cudaMemcpyDeviceToHost, down = kind == cudaMemcpyHostToDevice;
    std::unique_lock<std::mutex> held(lock);
    size_t to_bytes = rows ? (rows - 1) * dst_pitch + bytes : 0;
    size_t from_bytes = rows ? (rows - 1) * src_pitch + bytes : 0;
    char *to = side(dst, !up, to_bytes);
    const char *from = side(src, !down, from_bytes);

    if (to == nullptr || from == nullptr)
        return cudaErrorInvalidValue;
    if ((up && !within(registered, (uintptr_t)to, to_bytes)) ||
        (down && !within(registered, (uintptr_t)from, from_bytes)))
        /* CUDA would stage it; here nobody may count on that */
        return cudaErrorHostMemoryNotRegistered;
    give(of(stream), [=] {
        for (size_t i = 0; i < rows; i++)
            memmove(to + i * dst_pitch, from + i * src_pitch, bytes);
    });
    return cudaSuccess;
}

/* Waits for everything, as a copy to or from memory that is not pinned does. */
cudaError_t cudaMemcpy(void *dst, const void *src, size_t bytes, cudaMemcpyKind kind)
{
    std::unique_lock<std::mutex> held(lock);
    char *to = side(dst, kind != cudaMemcpyDeviceToHost, bytes);
    const char *from = side(src, kind != cudaMemcpyHostToDevice, bytes);

    if (to == nullptr || from == nullptr)
        return cudaErrorInvalidValue;
    cudaError_t e = wait_for_all(held, current());
    if (e == cudaSuccess)
        memmove(to, from, bytes);
    return e;
}

cudaError_t cudaMemcpyPeerAsync(void *dst, int, const void *src, int, size_t bytes,
                                cudaStream_t stream)
{
    std::unique_lock<std::mutex> held(lock);
    char *to = side(dst, true, bytes);
    const char *from = side(src, true, bytes);

    if (to == nullptr || from == nullptr)
        return cudaErrorInvalidValue;
    give(of(stream), [=] { memmove(to, from, bytes); });
    return cudaSuccess;
}

cudaError_t cudaMemcpyPeer(void *dst, int dst_device, const void *src, int src_device, size_t bytes)
{
    std::unique_lock<std::mutex> held(lock);
    char *to = side(dst, true, bytes);
    const char *from = side(src, true, bytes);
    cudaError_t e = to && from ? wait_for_all(held, dst_device) : cudaErrorInvalidValue;

    if (e == cudaSuccess)
        e = wait_for_all(held, src_device);
    if (e == cudaSuccess)
        memmove(to, from, bytes);
    return e;
}

cudaError_t cudaMemsetAsync(void *p, int byte, size_t bytes, cudaStream_t stream)
{
    std::unique_lock<std::mutex> held(lock);
    char *to = side(p, true, bytes);

    if (to == nullptr)
        return cudaErrorInvalidValue;
    give(of(stream), [=] { memset(to, byte, bytes); });
    return cudaSuccess;
}

/* -- streams and events -- */

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int)
{
    std::unique_lock<std::mutex> held(lock);

    begin();
    *stream = new CUstream_st{current(), !(flags & cudaStreamNonBlocking), false, 0, 0, {}, {}};
    gpus[current()].streams.insert(*stream);
    std::thread(serve, *stream).detach();
    return cudaSuccess;
}

/* What it was given still runs.  The few bytes of a stream are kept, since events may name it. */
cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    std::unique_lock<std::mutex> held(lock);

    stream->destroyed = true;
    gpus[stream->device].streams.erase(stream);
    retired.insert(stream);
    changed.notify_all();
    return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    std::unique_lock<std::mutex> held(lock);
    CUstream_st *s = of(stream);

    if (stream == nullptr)
        for (CUstream_st *other : gpus[current()].streams)
            if (other->blocking && other->done < other->given)
                return cudaErrorNotReady;
    return s->done < s->given ? cudaErrorNotReady : fault_of(s->device);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    std::unique_lock<std::mutex> held(lock);
    CUstream_st *s = of(stream);

    return stream == nullptr ? wait_for(held, s, give(s, [] {})) : wait_for(held, s, s->given);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned)
{
    std::unique_lock<std::mutex> held(lock);

    if (event->stream)
        give(of(stream), [] {}, {{event->stream, event->number}});
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    *event = new CUevent_st{nullptr, 0, !(flags & cudaEventDisableTiming), {0, 0}};
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    std::unique_lock<std::mutex> held(lock);
    CUstream_st *s = event->stream;
    uint64_t n = event->number;

    if (s != nullptr)
        changed.wait(held, [=] { return s->done >= n; }); /* its time is still to be written */
    delete event;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    std::unique_lock<std::mutex> held(lock);
    CUstream_st *s = of(stream);

    event->stream = s;
    event->number = give(s, [=] { clock_gettime(CLOCK_MONOTONIC, &event->at); });
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    std::unique_lock<std::mutex> held(lock);

    if (event->stream == nullptr)
        return cudaSuccess;
    return event->stream->done < event->number ? cudaErrorNotReady
                                               : fault_of(event->stream->device);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    std::unique_lock<std::mutex> held(lock);

    return event->stream ? wait_for(held, event->stream, event->number) : cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t begin, cudaEvent_t end)
{
    std::unique_lock<std::mutex> held(lock);

    if (!begin->timed || !end->timed || !begin->stream || !end->stream)
        return cudaErrorInvalidResourceHandle;
    *ms = (float)((double)(end->at.tv_sec - begin->at.tv_sec) * 1e3 +
                  (double)(end->at.tv_nsec - begin->at.tv_nsec) / 1e6);
    return cudaSuccess;
}

/* -- other processes: of this one alone, since its memory is its own -- */

struct ipc_name {
    pid_t pid;
    uintptr_t at;
};

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *p)
{
    std::unique_lock<std::mutex> held(lock);
    ipc_name name = {getpid(), real(p)};

    for (int i = 0; i < DEVICES; i++)
        if (is_tagged(p) && within(gpus[i].blocks, real(p), 0)) {
            memset(handle, 0, sizeof(*handle));
            memcpy(handle, &name, sizeof(name));
            return cudaSuccess;
        }
    return cudaErrorInvalidValue;
}

cudaError_t cudaIpcOpenMemHandle(void **p, cudaIpcMemHandle_t handle, unsigned)
{
    std::unique_lock<std::mutex> held(lock);
    ipc_name name;

    memcpy(&name, &handle, sizeof(name));
    for (int i = 0; i < DEVICES; i++)
        if (name.pid == getpid() && within(gpus[i].blocks, name.at, 0)) {
            opened[name.at]++;
            *p = tagged(name.at);
            return cudaSuccess;
        }
    return cudaErrorInvalidResourceHandle;
}

cudaError_t cudaIpcCloseMemHandle(void *p)
{
    std::unique_lock<std::mutex> held(lock);
    auto it = opened.find(real(p));

    if (it == opened.end())
        return cudaErrorInvalidValue;
    if (--it->second == 0)
        opened.erase(it);
    return cudaSuccess;
}

} // extern "C"

cudaError_t simcudaLaunch(cudaStream_t stream, std::function<void()> kernel)
{
    std::unique_lock<std::mutex> held(lock);

    give(of(stream), std::move(kernel));
    return cudaSuccess;
}
