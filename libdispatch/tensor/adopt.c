/* adopt.c -- tensors in memory of other processes, and tensors whose memory others map. */
#define _GNU_SOURCE
#include "room.h"
#include "shared.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* A tensor of less bytes is copied out of adopted memory.  That takes no longer than to map it, and
 * a process can have only some 65,000 mappings. */
enum { MAPPED_BYTES = 64 << 10 };

/* Can the memory of `s` be replaced by shared memory? */
static int check_shareable(const dpi_storage *s, dp_error *err)
{
    bool pinned = s->release == dpi_block_release;
    char name[DP_KEY_NAME_MAX];

    if (s->memoryless)
        return dpi_no_data(s, err);
    if (dp_device_backend(s->device) != DP_B_CPU || pinned)
        return dp_error_set(err, DP_ENOTIMPL,
                            "a tensor %s %s cannot be shared with other processes: only ordinary "
                            "memory of the host can",
                            pinned ? "in pinned memory of" : "on", dp_device_name(s->device, name));
    if (dpi_memory_of(s)->release == dpi_shared_release &&
        ((const dp_shared *)dpi_memory_of(s)->release_arg)->adopted)
        return dp_error_set(err, DP_ERUNTIME,
                            "a tensor in memory that another process writes "
                            "cannot be shared");
    if (s->fixed && dpi_memory_of(s)->release != dpi_shared_release)
        return dp_error_set(err, DP_ERUNTIME,
                            "a tensor in an embedder's memory cannot be shared with other "
                            "processes");
    return DP_OK;
}

bool dp_tensor_is_shared(const dp_tensor *t)
{
    const dpi_storage *s = dpi_memory_of(dpi_storage_of(t));

    return s->release == dpi_shared_release && !((const dp_shared *)s->release_arg)->adopted;
}

int dp_tensor_share(const dp_tensor *t, dp_account *a, dp_shared **out, dp_error *err)
{
    if (!DPI_GIVEN(err, DP_EVALUE, t, out))
        return DP_EVALUE;
    dpi_storage *s = dpi_storage_of(t);
    int rc = check_shareable(s, err);
    return rc == DP_OK ? dpi_storage_share(s, a, out, err) : rc;
}

/* -- memory of other processes -- */

/* Check that `fd` is a memfd whose size cannot shrink.  `*racy`: others can still write it. */
static int check_memfd(int fd, bool *racy, size_t *bytes, dp_error *err)
{
    struct statfs fs;
    struct stat st;
    int seals = fcntl(fd, F_GET_SEALS), flags = fcntl(fd, F_GETFL);

    if (seals < 0 || flags < 0)
        return dp_error_set(err, DP_EVALUE,
                            "the descriptor is no memfd: memory for tensors must be one, sealed "
                            "against shrinking (F_SEAL_SHRINK)");
    if ((seals & F_SEAL_SHRINK) == 0)
        return dp_error_set(err, DP_EVALUE,
                            "the memfd is not sealed against shrinking: seal it with "
                            "F_SEAL_SHRINK before it is sent");
    if ((flags & O_ACCMODE) == O_WRONLY || (flags & O_PATH))
        return dp_error_set(err, DP_EVALUE, "the memfd was not opened for reading");
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size <= 0)
        return dp_error_set(err, DP_EVALUE, "the memfd has no bytes");
    /* munmap() of a part of a huge page fails, so the mapping of a tensor would stay */
    if (fstatfs(fd, &fs) < 0 || fs.f_type == HUGETLBFS_MAGIC)
        return dp_error_set(err, DP_EVALUE,
                            "the memfd has huge pages (MFD_HUGETLB): expected one of ordinary "
                            "pages");
    *racy = (seals & F_SEAL_WRITE) == 0;
    *bytes = (size_t)st.st_size;
    return DP_OK;
}

int dp_shared_adopt(int fd, dp_account *a, dp_shared **out, dp_error *err)
{
    dpi_charge charge = {0};
    bool racy = true;
    size_t bytes = 0;
    int rc = DPI_GIVEN(err, DP_EVALUE, out) ? check_memfd(fd, &racy, &bytes, err) : DP_EVALUE;

    if (rc == DP_OK)
        rc = dpi_shared_count(a, err);
    if (rc < 0)
        return rc;
    if (a != NULL && (rc = dpi_charge_begin(&charge, a, bytes, err)) < 0) {
        dpi_shared_uncount(a);
        return rc;
    }
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    dp_shared *s = own >= 0 ? dpi_shared_of(own, bytes, a) : NULL;
    if (s == NULL) {
        rc = own < 0 ? dpi_shared_failed("F_DUPFD_CLOEXEC", bytes, err)
                     : dpi_no_memory(err, "shared memory");
        if (own >= 0)
            close(own);
        dpi_charge_end(charge);
        dpi_shared_uncount(a);
        return rc;
    }
    s->adopted = true;
    s->racy = racy;
    s->charge = charge;
    *out = s;
    return DP_OK;
}

/* A private mapping of adopted memory: what releases the storage of one tensor.  It holds the whole
 * memory, of which the tensor may be a small part, and so it keeps the charge for the whole. */
typedef struct mapping {
    dp_shared *of; /* counted reference */
    void *base;
    size_t bytes;
} mapping;

static void mapping_release(void *arg)
{
    mapping *m = arg;

    munmap(m->base, m->bytes);
    dp_shared_unref(m->of);
    dp_free(m);
}

/* The elements of a new tensor in adopted memory. */
typedef struct piece {
    uint64_t offset; /* of the first byte */
    size_t bytes;
    dp_dtype dtype;
    int ndim;
    const int64_t *sizes;
} piece;

/* Make a tensor whose storage is a mapping of its own. */
static int private_tensor(dp_shared *s, const piece *p, dp_tensor **out, dp_error *err)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), before = (size_t)p->offset % page;
    mapping *m = dp_calloc(1, sizeof(*m));

    if (m == NULL)
        return dpi_no_memory(err, "a mapping");
    m->bytes = before + p->bytes;
    m->base = mmap(NULL, m->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, s->fd,
                   (off_t)(p->offset - before));
    if (m->base == MAP_FAILED) {
        dp_free(m);
        return dpi_shared_failed("mmap", p->bytes, err);
    }
    m->of = dp_shared_ref(s);
    int rc = dp_tensor_wrap(p->dtype, p->ndim, p->sizes, NULL, (char *)m->base + before, p->bytes,
                            mapping_release, m, out, err);
    if (rc < 0)
        mapping_release(m);
    else
        dpi_storage_of(*out)->fixed = false; /* it may move: nobody else uses this mapping */
    return rc;
}

/* Read the bytes of `p` into `to`. */
static int read_all(const dp_shared *s, const piece *p, char *to, dp_error *err)
{
    for (size_t done = 0; done < p->bytes;) {
        ssize_t n = pread(s->fd, to + done, p->bytes - done, (off_t)(p->offset + done));
        if (n > 0)
            done += (size_t)n;
        else if (n == 0 || errno != EINTR)
            return dp_error_set(err, DP_ERUNTIME, "pread of shared memory: %s at byte %llu",
                                n == 0 ? "end of file" : strerror(errno),
                                (unsigned long long)(p->offset + done));
    }
    return DP_OK;
}

static int copied_tensor(const dp_shared *s, const piece *p, dp_account *a, dp_tensor **out,
                         dp_error *err)
{
    dpi_target at = {DP_DEVICE_CPU, 0, a};
    int rc = dpi_empty(p->dtype, at, p->ndim, p->sizes, DP_CONTIGUOUS, out, err);

    if (rc == DP_OK && (rc = read_all(s, p, dpi_tensor_data(*out), err)) < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

static int borrowed_tensor(dp_shared *s, const piece *p, dp_tensor **out, dp_error *err)
{
    pthread_mutex_lock(&s->lock);
    if (s->data == NULL) {
        void *data = mmap(NULL, s->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, s->fd, 0);
        s->data = data != MAP_FAILED ? data : NULL;
    }
    char *data = s->data;
    pthread_mutex_unlock(&s->lock);
    if (data == NULL)
        return dpi_shared_failed("mmap", s->bytes, err);
    int rc = dp_tensor_wrap(p->dtype, p->ndim, p->sizes, NULL, data + p->offset, p->bytes,
                            dpi_shared_release, dp_shared_ref(s), out, err);
    if (rc < 0)
        dp_shared_unref(s);
    return rc;
}

/* Check that the elements of `p` are inside the memory of `s`, and set p->bytes. */
static int check_piece(const dp_shared *s, piece *p, dp_error *err)
{
    size_t size = dp_dtype_size(p->dtype);
    char shape[DP_SHAPE_TEXT];
    int64_t numel;
    int rc = dpi_sizes_check(p->ndim, p->sizes, &numel, err);

    if (rc < 0)
        return rc;
    uint64_t bytes = dp_size_times((uint64_t)numel, size);
    if (p->offset > s->bytes || bytes > s->bytes - p->offset)
        return dp_error_set(err, DP_EVALUE,
                            "a tensor %s of %s from byte %llu is not inside a memfd of %zu bytes",
                            dp_shape_text(shape, p->sizes, (size_t)p->ndim),
                            dp_dtype_name(p->dtype), (unsigned long long)p->offset, s->bytes);
    if (p->offset % size != 0)
        return dp_error_set(err, DP_EVALUE,
                            "offset %llu is no multiple of the %zu bytes of an element of %s",
                            (unsigned long long)p->offset, size, dp_dtype_name(p->dtype));
    p->bytes = (size_t)bytes;
    return DP_OK;
}

int dp_shared_tensor(dp_shared *s, int how, uint64_t offset, dp_dtype dtype, int ndim,
                     const int64_t *sizes, dp_account *a, dp_tensor **out, dp_error *err)
{
    piece p = {offset, 0, dtype, ndim, sizes};
    int rc = DPI_GIVEN(err, DP_EVALUE, s, out) ? dpi_dtype_check(dtype, err) : DP_EVALUE;

    if (rc == DP_OK && !s->adopted)
        rc = dp_error_set(err, DP_EVALUE, "the memory was not adopted from another process");
    if (rc == DP_OK)
        rc = check_piece(s, &p, err);
    if (rc < 0)
        return rc;
    if (how == DP_SHARED_COPY || p.bytes < (how == DP_SHARED_PRIVATE ? MAPPED_BYTES : 1))
        return copied_tensor(s, &p, a, out, err);
    if (how == DP_SHARED_PRIVATE)
        return private_tensor(s, &p, out, err);
    return how == DP_SHARED_BORROW
               ? borrowed_tensor(s, &p, out, err)
               : dp_error_set(err, DP_EVALUE, "no use of shared memory has the number %d", how);
}
