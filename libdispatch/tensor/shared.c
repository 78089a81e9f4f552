/* shared.c -- tensor memory that other processes map: memfds made here, and adopted ones.
 *
 * A memfd made here is sealed against shrinking and growing, so its mapping stays valid.  When a
 * reader of the same user is made, it is sealed against new writable mappings, too: the mapping
 * that this process has can still write.  If all readers are other users', its pages are freed with
 * it instead.  A memfd of another process is only adopted if it is sealed against shrinking; then
 * reading a mapping of it raises no SIGBUS.  Bytes that are copied are read by pread(), which does
 * not even need a mapping. */
#define _GNU_SOURCE
#include "base/account.h"
#include "room.h"
#include "shared.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

/* -- free memory --
 *
 * Making a memfd and writing its fresh pages takes ten times as long as writing pages that were
 * used before.  Therefore the shared memory of an account that asks for it (dp_account_share()) is
 * kept when it is freed, and used again by a tensor of the same size and account, unless another
 * process may still map it. */

enum { FREE_MOST = 32 };
static struct {
    pthread_mutex_t lock;       /* protects all members, and stores to dp_account.share_from */
    dp_shared *kept[FREE_MOST]; /* oldest first */
    size_t n, bytes;
} freed = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void destroy(dp_shared *s)
{
    if (s->data != NULL)
        munmap(s->data, s->bytes);
    if (s->revocable &&
        !s->sealed) /* the readers' mappings stay valid, and have zeros from now on */
        fallocate(s->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)s->bytes);
    close(s->fd);
    pthread_mutex_destroy(&s->lock);
    dp_account_close(s->account);
    dp_free(s);
}

/* Remove entry `i` of freed.kept. */
static dp_shared *remove_kept(size_t i)
{
    dp_shared *s = freed.kept[i];

    freed.n--;
    freed.bytes -= s->bytes;
    dp_move_n(freed.kept + i, freed.kept + i + 1, freed.n - i, sizeof(freed.kept[0]));
    return s;
}

/* Keep `s`, which nobody uses any more, if possible. */
static bool keep(dp_shared *s)
{
    bool kept;

    if (s->account == NULL || s->adopted || s->mapped_elsewhere)
        return false;
    pthread_mutex_lock(&freed.lock);
    kept = dpi_account_shares(s->account, s->bytes) && freed.n < FREE_MOST &&
           s->bytes <= DP_LIMIT_WARM_BYTES - freed.bytes;
    if (kept) {
        freed.kept[freed.n++] = s;
        freed.bytes += s->bytes;
    }
    pthread_mutex_unlock(&freed.lock);
    return kept;
}

/* Take memory of `bytes` bytes that account `a` had before; NULL: there is none. */
static dp_shared *take_kept(const dp_account *a, size_t bytes)
{
    dp_shared *s = NULL;

    pthread_mutex_lock(&freed.lock);
    for (size_t i = freed.n; i > 0 && s == NULL; i--)
        if (freed.kept[i - 1]->account == a && freed.kept[i - 1]->bytes == bytes)
            s = remove_kept(i - 1);
    pthread_mutex_unlock(&freed.lock);
    if (s != NULL)
        atomic_store_explicit(&s->refs, 1, memory_order_relaxed);
    return s;
}

void dp_account_share(dp_account *a, uint64_t bytes)
{
    dp_shared *dropped[FREE_MOST];
    size_t n = 0;

    pthread_mutex_lock(&freed.lock);
    atomic_store_explicit(&a->share_from, bytes, memory_order_relaxed);
    for (size_t i = freed.n; i > 0; i--)
        if (freed.kept[i - 1]->account == a && freed.kept[i - 1]->bytes < bytes)
            dropped[n++] = remove_kept(i - 1);
    pthread_mutex_unlock(&freed.lock);
    while (n > 0)
        destroy(dropped[--n]);
}

uint64_t dp_account_share_from(const dp_account *a)
{
    return atomic_load_explicit(&a->share_from, memory_order_relaxed);
}

/* -- life -- */

int dpi_shared_count(dp_account *a, dp_error *err)
{
    return a != NULL ? dp_account_charge(a, DP_HOLDER_MEMFDS, 1, 0, err) : DP_OK;
}

void dpi_shared_uncount(dp_account *a)
{
    if (a != NULL)
        dp_account_refund(a, DP_HOLDER_MEMFDS, 1, 0);
}

dp_shared *dpi_shared_of(int fd, size_t bytes, dp_account *a)
{
    dp_shared *s = dp_calloc(1, sizeof(*s));

    if (s == NULL)
        return NULL;
    atomic_init(&s->refs, 1);
    pthread_mutex_init(&s->lock, NULL);
    s->fd = fd;
    s->bytes = bytes;
    s->account = a != NULL ? dp_account_ref(a) : NULL;
    return s;
}

dp_shared *dp_shared_ref(dp_shared *s)
{
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    return s;
}

dp_shared *dp_shared_unref(dp_shared *s)
{
    if (s == NULL || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) > 1)
        return NULL;
    dpi_charge_end(s->charge);
    s->charge = (dpi_charge){0};
    dpi_shared_uncount(s->account);
    if (!keep(s))
        destroy(s);
    return NULL;
}

void dp_shared_left_mapped(dp_shared *s)
{
    __atomic_store_n(&s->mapped_elsewhere, true, __ATOMIC_RELAXED);
}

size_t dp_shared_bytes(const dp_shared *s)
{
    return s->bytes;
}

bool dp_shared_is_racy(const dp_shared *s)
{
    return s->racy;
}

void dpi_shared_release(void *shared)
{
    dp_shared_unref(shared);
}

void dpi_shared_charge(dp_shared *shared, dpi_charge charge)
{
    shared->charge = charge;
}

/* -- memory that other processes read -- */

int dpi_shared_failed(const char *what, size_t bytes, dp_error *err)
{
    return dp_error_set(err, DP_ERESOURCE, "%s for %zu bytes of shared memory: %s", what, bytes,
                        strerror(errno));
}

/* Make a memfd of `bytes` bytes that can neither shrink nor grow.  Its pages are reserved now, so
 * that writing them later cannot raise a SIGBUS.  Returns the descriptor, or a negative error
 * code. */
static int memfd_new(size_t bytes, dp_error *err)
{
    int fd = memfd_create("dispatchd-tensor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    const char *failed = NULL;

    if (fd < 0)
        return dpi_shared_failed("memfd_create", bytes, err);
    if (fchmod(fd, 0600) < 0)
        failed = "fchmod";
    else if (fallocate(fd, 0, 0, (off_t)bytes) < 0)
        failed = "fallocate";
    else if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) < 0)
        failed = "F_ADD_SEALS";
    if (failed == NULL)
        return fd;
    int rc = dpi_shared_failed(failed, bytes, err);
    close(fd);
    return rc;
}

/* Let `s` have its data in `shared`. */
static int use(dpi_storage *s, dp_shared *shared)
{
    s->data = shared->data;
    s->release = dpi_shared_release;
    s->release_arg = shared;
    return DP_OK;
}

size_t dpi_shared_bytes(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return bytes > 0 ? (bytes + page - 1) / page * page : page;
}

/* Let `s` have its data in a new memfd of `bytes` bytes, for which `a` pays. */
static int use_new(dpi_storage *s, dp_account *a, size_t bytes, dp_error *err)
{
    int fd = memfd_new(bytes, err);

    if (fd < 0)
        return fd;
    void *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    dp_shared *shared = data != MAP_FAILED ? dpi_shared_of(fd, bytes, a) : NULL;
    if (shared == NULL) {
        int rc = data == MAP_FAILED ? dpi_shared_failed("mmap", bytes, err)
                                    : dpi_no_memory(err, "shared memory");
        if (data != MAP_FAILED)
            munmap(data, bytes);
        close(fd);
        return rc;
    }
    shared->data = data;
    return use(s, shared);
}

int dpi_shared_new(dpi_storage *s, dp_account *a, dp_error *err)
{
    if (s->bytes > (size_t)DP_LIMIT_STORAGE_BYTES)
        return dp_error_set(err, DP_ERESOURCE, "%zu bytes of shared memory, at most %zu", s->bytes,
                            (size_t)DP_LIMIT_STORAGE_BYTES);
    size_t bytes = dpi_shared_bytes(s->bytes);
    int rc = dpi_shared_count(a, err);
    if (rc < 0)
        return rc;
    dp_shared *kept = a != NULL ? take_kept(a, bytes) : NULL;
    rc = kept != NULL ? use(s, kept) : use_new(s, a, bytes, err);
    if (rc < 0)
        dpi_shared_uncount(a);
    return rc;
}

/* Seal `s` against writing by others, or note that its pages are freed with it. */
static int restrict_readers(dp_shared *s, bool revocable, dp_error *err)
{
    if (revocable) {
        s->revocable = true;
    } else if (!s->sealed) {
        if (fcntl(s->fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) < 0)
            return dp_error_set(err, DP_ERUNTIME, "F_ADD_SEALS of shared memory: %s",
                                strerror(errno));
        s->sealed = true;
    }
    return DP_OK;
}

int dp_shared_reader(dp_shared *s, bool revocable, int *fd, dp_error *err)
{
    char path[32];

    if (!DPI_GIVEN(err, DP_EVALUE, s, fd))
        return DP_EVALUE;
    if (s->adopted)
        return dp_error_set(err, DP_EVALUE, "adopted memory of another process has no reader");
    pthread_mutex_lock(&s->lock);
    int rc = restrict_readers(s, revocable, err);
    pthread_mutex_unlock(&s->lock);
    if (rc < 0)
        return rc;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", s->fd);
    int opened = open(path, O_RDONLY | O_CLOEXEC);
    if (opened < 0)
        return dp_error_set(err, errno == EMFILE || errno == ENFILE ? DP_ERESOURCE : DP_ERUNTIME,
                            "open %s: %s", path, strerror(errno));
    *fd = opened;
    return DP_OK;
}
