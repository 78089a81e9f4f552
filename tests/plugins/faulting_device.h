/* faulting_device.h -- a device with its own memory: an access by the host to an address that the
 * device allocated is a SIGSEGV.  The device accesses the same bytes through a second mapping.
 *
 * Both mappings map one memfd.  Blocks are whole pages, allocated first fit.  All functions may run
 * on any thread.  The including file includes plugin.h or dispatch.h first. */
#ifndef FAULTING_DEVICE_H
#define FAULTING_DEVICE_H

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FAULTDEV_PAGE = 4096, FAULTDEV_PAGES = 16384, FAULTDEV_COUNT = 2 };
#define FAULTDEV_BYTES ((size_t)FAULTDEV_PAGE * FAULTDEV_PAGES)

static struct {
    pthread_mutex_t lock;
    char *given;  /* mapping with PROT_NONE, to which tensors point; NULL: not open */
    char *window; /* mapping of the same bytes for the device, readable and writable */
    unsigned char used[FAULTDEV_PAGES];
    size_t live;    /* number of allocated blocks */
    size_t between; /* number of copies between devices so far */
    int refuse;     /* code with which allocations and copies fail; 0: they do not fail */
    size_t off;     /* bytes added to allocated addresses, so that tests see misaligned ones */
} faultdev = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Map the memory, unless it is mapped.  The caller holds the lock.  -1: failed. */
static int faultdev_open(void)
{
    if (faultdev.given)
        return 0;
    int fd = (int)syscall(SYS_memfd_create, "faultdev", 0u);
    if (fd < 0 || ftruncate(fd, (off_t)FAULTDEV_BYTES) < 0)
        return -1;
    void *given = mmap(NULL, FAULTDEV_BYTES, PROT_NONE, MAP_SHARED, fd, 0);
    void *window = mmap(NULL, FAULTDEV_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (given == MAP_FAILED || window == MAP_FAILED)
        return -1;
    faultdev.given = given;
    faultdev.window = window;
    return 0;
}

__attribute__((unused)) static void faultdev_close(void)
{
    if (faultdev.given) {
        munmap(faultdev.given, FAULTDEV_BYTES);
        munmap(faultdev.window, FAULTDEV_BYTES);
    }
    faultdev.given = faultdev.window = NULL;
    memset(faultdev.used, 0, sizeof(faultdev.used));
}

/* For DP_ON_UNLOAD: refuse to go while blocks are there, else unmap the memory. */
__attribute__((unused)) static int faultdev_unload(dp_ctx *ctx)
{
    if (faultdev.live)
        return dp_fail(ctx, DP_EBUSY, "%zu blocks were not released", faultdev.live);
    faultdev_close();
    return 0;
}

/* Return the address in `window` of the `bytes` at p; NULL: they are not in the device's memory. */
static void *faultdev_reach(const void *p, size_t bytes)
{
    size_t at = (size_t)((const char *)p - faultdev.given);
    return at < FAULTDEV_BYTES && bytes <= FAULTDEV_BYTES - at ? faultdev.window + at : NULL;
}

static int faultdev_count(void)
{
    return FAULTDEV_COUNT;
}

/* Return the index of the first of `n` free pages in a row; -1: there are none.  The caller holds
 * the lock. */
static int faultdev_find(int n)
{
    for (int i = 0, run = 0; i < FAULTDEV_PAGES; i++) {
        run = faultdev.used[i] ? 0 : run + 1;
        if (run == n)
            return i + 1 - n;
    }
    return -1;
}

static int faultdev_allocate(int index, size_t bytes, void *stream, void **out, dp_error *err)
{
    int n = bytes > FAULTDEV_BYTES ? FAULTDEV_PAGES + 1
                                   : (int)((bytes + FAULTDEV_PAGE - 1) / FAULTDEV_PAGE);

    (void)index, (void)stream;
    if (faultdev.refuse)
        return dp_error_set(err, faultdev.refuse, "told to refuse");
    pthread_mutex_lock(&faultdev.lock);
    int at = faultdev_open() < 0 ? -1 : faultdev_find(n);
    if (at >= 0) {
        memset(faultdev.used + at, 1, (size_t)n);
        faultdev.live++;
        *out = faultdev.given + (size_t)at * FAULTDEV_PAGE + faultdev.off;
    }
    pthread_mutex_unlock(&faultdev.lock);
    return at < 0 ? dp_error_set(err, DP_ERESOURCE, "no room on the device") : 0;
}

static void faultdev_release(int index, void *p, size_t bytes, void *stream)
{
    size_t n = (bytes + FAULTDEV_PAGE - 1) / FAULTDEV_PAGE;

    (void)index, (void)stream;
    pthread_mutex_lock(&faultdev.lock);
    memset(faultdev.used + (size_t)((char *)p - faultdev.given) / FAULTDEV_PAGE, 0, n);
    faultdev.live--;
    pthread_mutex_unlock(&faultdev.lock);
}

static int faultdev_copy(int index, void *dst, const void *src, size_t bytes, int direction,
                         dp_error *err)
{
    void *to = direction == 1 ? dst : faultdev_reach(dst, bytes);
    const void *from = direction == 0 ? src : faultdev_reach(src, bytes);

    (void)index;
    if (faultdev.refuse)
        return dp_error_set(err, faultdev.refuse, "told to refuse");
    if (to == NULL || from == NULL)
        return dp_error_set(err, DP_EVALUE, "an address that is not the device's");
    memmove(to, from, bytes);
    return 0;
}

static int faultdev_copy_between(int dst_index, void *dst, int src_index, const void *src,
                                 size_t bytes, dp_error *err)
{
    (void)src_index;
    faultdev.between++;
    return faultdev_copy(dst_index, dst, src, bytes, 2, err);
}

static const dp_device_ops faultdev_ops = {
    .size = (uint32_t)sizeof(dp_device_ops),
    .count = faultdev_count,
    .allocate = faultdev_allocate,
    .release = faultdev_release,
    .copy = faultdev_copy,
    .copy_between = faultdev_copy_between,
};

#endif
