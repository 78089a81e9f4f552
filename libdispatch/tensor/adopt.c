/* adopt.c -- tensors in memory of other processes, and tensors whose memory others map. */
#define _GNU_SOURCE
#include "room.h"
#include "shared.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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
    if (s->fixed && dpi_memory_of(s)->release != dpi_shared_release)
        return dp_error_set(err, DP_ERUNTIME,
                            "a tensor in an embedder's memory cannot be shared with other "
                            "processes");
    return DP_OK;
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

    if (rc == DP_OK && a != NULL)
        rc = dpi_charge_begin(&charge, a, bytes, err);
    if (rc < 0)
        return rc;
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    dp_shared *s = own >= 0 ? dpi_shared_of(own, bytes) : NULL;
    if (s == NULL) {
        rc = own < 0 ? dpi_shared_failed("F_DUPFD_CLOEXEC", bytes, err)
                     : dpi_no_memory(err, "shared memory");
        if (own >= 0)
            close(own);
        dpi_charge_end(charge);
        return rc;
    }
    s->adopted = true;
    s->racy = racy;
    s->charge = charge;
    *out = s;
    return DP_OK;
}

/* A private mapping of adopted memory: what releases the storage of one tensor. */
typedef struct mapping {
    void *base;
    size_t bytes;
} mapping;

static void mapping_release(void *arg)
{
    mapping *m = arg;

    munmap(m->base, m->bytes);
    dp_free(m);
}

/* Make a tensor whose storage is a mapping of its own, from byte `offset` to `offset` + `want`. */
static int private_tensor(const dp_shared *s, uint64_t offset, size_t want, dp_dtype dtype,
                          int64_t n, dp_tensor **out, dp_error *err)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), before = (size_t)offset % page;
    mapping *m = dp_calloc(1, sizeof(*m));
    int rc = m == NULL ? dpi_no_memory(err, "a mapping") : DP_OK;

    if (rc == DP_OK) {
        m->bytes = before + want;
        m->base = mmap(NULL, m->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, s->fd,
                       (off_t)(offset - before));
        if (m->base == MAP_FAILED)
            rc = dpi_shared_failed("mmap", want, err);
    }
    if (rc < 0) {
        dp_free(m);
        return rc;
    }
    rc = dp_tensor_wrap(dtype, 1, &n, NULL, (char *)m->base + before, want, mapping_release, m, out,
                        err);
    if (rc < 0)
        mapping_release(m);
    else
        dpi_storage_of(*out)->fixed = false; /* it may move: nobody else uses this mapping */
    return rc;
}

/* Read `want` bytes of `s`, from byte `offset`, into `to`. */
static int read_all(const dp_shared *s, uint64_t offset, size_t want, char *to, dp_error *err)
{
    for (size_t done = 0; done < want;) {
        ssize_t n = pread(s->fd, to + done, want - done, (off_t)(offset + done));
        if (n > 0)
            done += (size_t)n;
        else if (n == 0 || errno != EINTR)
            return dp_error_set(err, DP_ERUNTIME, "pread of shared memory: %s at byte %llu",
                                n == 0 ? "end of file" : strerror(errno),
                                (unsigned long long)(offset + done));
    }
    return DP_OK;
}

static int copied_tensor(const dp_shared *s, uint64_t offset, size_t want, dp_dtype dtype,
                         int64_t n, dp_account *a, dp_tensor **out, dp_error *err)
{
    dpi_target at = {DP_DEVICE_CPU, 0, a};
    int rc = dpi_empty(dtype, at, 1, &n, DP_CONTIGUOUS, out, err);

    if (rc == DP_OK && (rc = read_all(s, offset, want, dpi_tensor_data(*out), err)) < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

static int borrowed_tensor(dp_shared *s, uint64_t offset, size_t want, dp_dtype dtype, int64_t n,
                           dp_tensor **out, dp_error *err)
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
    int rc = dp_tensor_wrap(dtype, 1, &n, NULL, data + offset, want, dpi_shared_release,
                            dp_shared_ref(s), out, err);
    if (rc < 0)
        dp_shared_unref(s);
    return rc;
}

int dp_shared_tensor(dp_shared *s, int how, uint64_t offset, dp_dtype dtype, int64_t n,
                     dp_account *a, dp_tensor **out, dp_error *err)
{
    int rc = DPI_GIVEN(err, DP_EVALUE, s, out) ? dpi_dtype_check(dtype, err) : DP_EVALUE;

    if (rc < 0)
        return rc;
    size_t size = dp_dtype_size(dtype), want = dp_size_times((uint64_t)(n < 0 ? 0 : n), size);
    if (!s->adopted)
        return dp_error_set(err, DP_EVALUE, "the memory was not adopted from another process");
    if (n < 0 || offset > s->bytes || want > s->bytes - offset)
        return dp_error_set(err, DP_EVALUE,
                            "%lld elements of %s from byte %llu are not inside a memfd of %zu "
                            "bytes",
                            (long long)n, dp_dtype_name(dtype), (unsigned long long)offset,
                            s->bytes);
    if (offset % size != 0)
        return dp_error_set(err, DP_EVALUE,
                            "offset %llu is no multiple of the %zu bytes of an element of %s",
                            (unsigned long long)offset, size, dp_dtype_name(dtype));
    if (how == DP_SHARED_COPY || want == 0)
        return copied_tensor(s, offset, want, dtype, n, a, out, err);
    if (how == DP_SHARED_PRIVATE)
        return private_tensor(s, offset, want, dtype, n, out, err);
    return how == DP_SHARED_BORROW
               ? borrowed_tensor(s, offset, want, dtype, n, out, err)
               : dp_error_set(err, DP_EVALUE, "no use of shared memory has the number %d", how);
}
