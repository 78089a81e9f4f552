/* caching.cc -- a caching allocator, after c10/cuda/CUDACachingAllocator.cpp, but small.
 *
 * Segments come from cudaMalloc and are cut into blocks.  A block that is released goes to the free
 * blocks of its stream at once: whoever gets it next runs on that stream, after all that used it.
 * Neighbours that are free and of one stream are merged.  The state is handed from one load of this
 * plugin to the next, so it is plain data and containers of the C++ library, which stays. */
#include "simcuda.h"
#include <map>
#include <mutex>
#include <set>
#include <vector>

namespace
{

const size_t ROUND = 512, SEGMENT = 2u << 20;

struct block {
    char *p;
    size_t bytes;
    int device;
    cudaStream_t stream;
    bool used;
    block *before, *after; /* of its segment */
};

struct by_size {
    bool operator()(const block *a, const block *b) const
    {
        return a->bytes != b->bytes ? a->bytes < b->bytes : a->p < b->p;
    }
};

typedef std::pair<int, cudaStream_t> pool_key;

} // namespace

struct allocator {
    std::mutex lock;
    std::map<pool_key, std::set<block *, by_size>> free_blocks;
    std::map<const void *, block *> used;
    size_t used_bytes, cached_bytes, segments;
};

static std::set<block *, by_size> &pool_of(allocator *a, const block *b)
{
    return a->free_blocks[pool_key(b->device, b->stream)];
}

static void put(allocator *a, block *b)
{
    pool_of(a, b).insert(b);
    a->cached_bytes += b->bytes;
}

static void take(allocator *a, block *b)
{
    pool_of(a, b).erase(b);
    a->cached_bytes -= b->bytes;
}

allocator *allocator_new(void)
{
    return new allocator();
}

/* Locked.  b, which is free, and free neighbours become one. */
static block *merged(allocator *a, block *b)
{
    for (block *n; (n = b->after) != nullptr && !n->used && n->stream == b->stream; delete n) {
        take(a, n);
        b->bytes += n->bytes;
        b->after = n->after;
        if (b->after)
            b->after->before = b;
    }
    for (block *n; (n = b->before) != nullptr && !n->used && n->stream == b->stream; b = n) {
        take(a, n);
        n->bytes += b->bytes;
        n->after = b->after;
        if (n->after)
            n->after->before = n;
        delete b;
    }
    return b;
}

/* Locked.  The smallest free block that will do. */
static block *find(allocator *a, int device, size_t bytes, cudaStream_t stream)
{
    block wanted = {nullptr, bytes, device, stream, false, nullptr, nullptr};
    auto &pool = pool_of(a, &wanted);
    auto it = pool.lower_bound(&wanted);

    return it == pool.end() ? nullptr : *it;
}

/* Locked. */
static cudaError_t segment_new(allocator *a, int device, size_t bytes, cudaStream_t stream,
                               block **out)
{
    size_t whole = (bytes + SEGMENT - 1) / SEGMENT * SEGMENT;
    void *p = nullptr;
    cudaError_t e = cudaMalloc(&p, whole);

    if (e != cudaSuccess)
        return e;
    *out = new block{(char *)p, whole, device, stream, false, nullptr, nullptr};
    a->segments++;
    put(a, *out);
    return cudaSuccess;
}

cudaError_t allocator_allocate(allocator *a, int device, size_t bytes, cudaStream_t stream,
                               void **out)
{
    std::unique_lock<std::mutex> held(a->lock);
    size_t whole = (bytes + ROUND - 1) / ROUND * ROUND;
    block *b = find(a, device, whole, stream);
    cudaError_t e = b ? cudaSuccess : segment_new(a, device, whole, stream, &b);

    if (e != cudaSuccess)
        return e;
    take(a, b);
    if (b->bytes - whole >= ROUND) {
        block *rest = new block{b->p + whole, b->bytes - whole, device, stream, false, b, b->after};
        if (rest->after)
            rest->after->before = rest;
        b->after = rest;
        b->bytes = whole;
        put(a, rest);
    }
    b->used = true;
    a->used[b->p] = b;
    a->used_bytes += b->bytes;
    *out = b->p;
    return cudaSuccess;
}

void allocator_release(allocator *a, void *p)
{
    std::unique_lock<std::mutex> held(a->lock);
    auto it = a->used.find(p);

    if (it == a->used.end())
        return;
    block *b = it->second;
    a->used.erase(it);
    a->used_bytes -= b->bytes;
    b->used = false;
    put(a, merged(a, b));
}

cudaError_t allocator_trim(allocator *a, int device)
{
    std::unique_lock<std::mutex> held(a->lock);
    std::vector<block *> whole;
    cudaError_t e = cudaSuccess;

    for (auto &pool : a->free_blocks)
        for (block *b : pool.second)
            if (b->device == device && !b->before && !b->after)
                whole.push_back(b);
    for (block *b : whole) {
        if (e == cudaSuccess && (e = cudaFree(b->p)) == cudaSuccess) {
            take(a, b);
            a->segments--;
            delete b;
        }
    }
    return e;
}

void allocator_forget(allocator *a, cudaStream_t stream)
{
    std::unique_lock<std::mutex> held(a->lock);
    std::vector<block *> all;

    for (auto &pool : a->free_blocks)
        if (pool.first.second == stream)
            all.insert(all.end(), pool.second.begin(), pool.second.end());
    for (block *b : all)
        take(a, b);
    for (block *b : all)
        b->stream = nullptr;
    for (auto &u : a->used)
        if (u.second->stream == stream)
            u.second->stream = nullptr;
    for (block *b : all) /* one by one: merging looks at neighbours that are in a pool */
        put(a, b);
}

bool allocator_has(allocator *a, const void *p)
{
    std::unique_lock<std::mutex> held(a->lock);
    return a->used.count(p) != 0;
}

void allocator_stats(allocator *a, size_t *used, size_t *cached, size_t *segments)
{
    std::unique_lock<std::mutex> held(a->lock);
    *used = a->used_bytes;
    *cached = a->cached_bytes;
    *segments = a->segments;
}

void allocator_free(allocator *a)
{
    int devices = 0;

    if (cudaGetDeviceCount(&devices) == cudaSuccess)
        for (int i = 0; i < devices; i++)
            if (cudaSetDevice(i) == cudaSuccess)
                allocator_trim(a, i);
    delete a;
}
