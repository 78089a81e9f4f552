/* alloc.c -- the allocator of host memory for tensors: size classes, and a cache of freed blocks.
 *
 * Fresh pages cost ten times as much as pages that were used before: 64 MiB take 37 ms, or 4 ms
 * with huge pages, which large blocks request.  Therefore a freed block is cached ("warm") on the
 * shelf of its size class for the next request.  All warm blocks together have about
 * DP_LIMIT_WARM_BYTES at most.  Small blocks come from the C library; each larger block is a
 * mapping of its own.
 *
 * Shelves are arrays outside of the blocks, so a stray write into freed memory cannot corrupt the
 * allocator.  The shelves exist SHARDS times; each such set of shelves, a shard, has its own lock,
 * so threads seldom wait for each other.  A thread uses one shard, and looks into the others if
 * that shard has no suitable block.
 *
 * Under the address sanitizer, every block is an allocation of exactly the requested size.  Then
 * the sanitizer reports plugins that write past the end of an output or after its release. */
#include "room.h"
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

enum {
    ALIGN = 64,
    MAPPED_MIN = 64 << 10, /* blocks of at least this size are mapped */
    CLASSES = 92,          /* four per doubling, 64 bytes to 1 GiB; larger blocks are not cached */
    SHARDS = 8,
    SHELF = 32, /* greatest number of warm blocks of one class in one shard */
#ifdef __SANITIZE_ADDRESS__
    EXACT = 1
#else
    EXACT = 0
#endif
};
#define HUGE_MIN  ((size_t)4 << 20) /* blocks of at least this size request huge pages */
#define BLOCK_MAX (((size_t)1 << 40) - 4096)
#define PAGE      ((size_t)4096)

typedef struct shelf {
    atomic_uint n; /* number of blocks; written under the lock */
    void *blocks[SHELF];
} shelf;

typedef struct shard {
    _Alignas(ALIGN) pthread_mutex_t lock;
    shelf shelves[CLASSES];
} shard;

static shard shards[SHARDS] = {[0 ... SHARDS - 1] = {.lock = PTHREAD_MUTEX_INITIALIZER}};
static atomic_size_t warm; /* bytes of all warm blocks */

typedef struct size_class {
    unsigned number;
    size_t bytes;
} size_class;

/* Return the size class of `bytes`, which is at least 1.  Above 256 bytes each doubling has four
 * classes, numbered by the two bits below the highest one. */
static size_class class_of(size_t bytes)
{
    size_t last = bytes - 1;
    unsigned shift = last < 256 ? 6 : 61 - (unsigned)__builtin_clzll(last);
    size_t quarter = last >> shift;
    unsigned number = (shift - 6) * 4 + (unsigned)quarter;

    if (number >= CLASSES)
        return (size_class){CLASSES, (last | (PAGE - 1)) + 1};
    return (size_class){number, (quarter + 1) << shift};
}

static size_t class_bytes(unsigned number)
{
    return number < 4 ? (number + 1) * (size_t)64 : (number % 4 + 5) << (number / 4 + 5);
}

/* Return the i-th shard that this thread searches; number 0 is the thread's own. */
static shard *shard_of(unsigned i)
{
    static atomic_uint threads;
    static _Thread_local unsigned mine; /* the thread's number, from 1 */

    if (mine == 0)
        mine = atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) + 1;
    return &shards[(mine + i) % SHARDS];
}

static void *block_new(size_t bytes)
{
    void *p = NULL;

    if (EXACT || bytes < MAPPED_MIN)
        return posix_memalign(&p, ALIGN, bytes) == 0 ? p : NULL;
    p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    if (bytes >= HUGE_MIN)
        madvise(p, bytes, MADV_HUGEPAGE); /* without huge pages, small ones are used */
    return p;
}

static void block_free(void *p, size_t bytes)
{
    if (EXACT || bytes < MAPPED_MIN)
        free(p);
    else
        munmap(p, bytes);
}

/* Take the newest block of class `number` from the shelf of shard `s`; NULL: the shelf is empty. */
static void *shelf_take(shard *s, unsigned number)
{
    shelf *f = &s->shelves[number];
    void *p = NULL;

    if (atomic_load_explicit(&f->n, memory_order_relaxed) == 0)
        return NULL;
    pthread_mutex_lock(&s->lock);
    unsigned n = atomic_load_explicit(&f->n, memory_order_relaxed);
    if (n > 0) {
        p = f->blocks[n - 1];
        atomic_store_explicit(&f->n, n - 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&s->lock);
    if (p)
        atomic_fetch_sub_explicit(&warm, class_bytes(number), memory_order_relaxed);
    return p;
}

/* Put `p`, of class `number`, on the shelf; false: the shelf is full. */
static bool shelf_put(shard *s, unsigned number, void *p)
{
    shelf *f = &s->shelves[number];

    pthread_mutex_lock(&s->lock);
    unsigned n = atomic_load_explicit(&f->n, memory_order_relaxed);
    if (n < SHELF) {
        f->blocks[n] = p;
        atomic_store_explicit(&f->n, n + 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&warm, class_bytes(number), memory_order_relaxed);
    }
    pthread_mutex_unlock(&s->lock);
    return n < SHELF;
}

void *dpi_memory_alloc(size_t bytes)
{
    if (bytes == 0 || bytes > BLOCK_MAX || dpi_fault())
        return NULL;
    if (EXACT)
        return block_new(bytes);
    size_class c = class_of(bytes);
    for (unsigned i = 0; c.number < CLASSES && i < SHARDS; i++) {
        void *p = shelf_take(shard_of(i), c.number);
        if (p)
            return p;
    }
    return block_new(c.bytes);
}

void dpi_memory_free(void *p, size_t bytes)
{
    if (p == NULL)
        return;
    if (EXACT) {
        block_free(p, bytes);
        return;
    }
    size_class c = class_of(bytes);
    bool cacheable = c.number < CLASSES && c.bytes <= DP_LIMIT_WARM_BYTES / 2;
    if (cacheable && dpi_memory_warm() + c.bytes > DP_LIMIT_WARM_BYTES)
        /* to half, so that the next calls need not trim again */
        dp_memory_trim(DP_LIMIT_WARM_BYTES / 2);
    if (!cacheable || !shelf_put(shard_of(0), c.number, p))
        block_free(p, c.bytes);
}

size_t dpi_memory_warm(void)
{
    return atomic_load_explicit(&warm, memory_order_relaxed);
}

void dp_memory_trim(size_t keep)
{
    for (unsigned number = CLASSES; number-- > 0;)
        for (unsigned i = 0; i < SHARDS; i++) {
            void *p;
            while (dpi_memory_warm() > keep && (p = shelf_take(&shards[i], number)) != NULL)
                block_free(p, class_bytes(number));
        }
}
