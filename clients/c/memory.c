/* memory.c -- memory that client and daemon share: counts who uses it, makes memory of the client's
 * own, seals it, and adds it to requests. */
#define _GNU_SOURCE /* memfd_create, memory seals */
#include "client.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* -- memory, which is counted: answers and clients in several threads may use it -- */

dpc_memory *dpci_memory_ref(dpc_memory *m)
{
    __atomic_add_fetch(&m->refs, 1, __ATOMIC_RELAXED);
    return m;
}

dpc_memory *dpc_memory_free(dpc_memory *m)
{
    if (m == NULL || __atomic_sub_fetch(&m->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return NULL;
    if (m->data != NULL)
        munmap(m->data, m->nbytes);
    if (m->fd >= 0)
        close(m->fd);
    free(m);
    return NULL;
}

dpc_memory *dpci_memory_of(int fd, void *data, size_t nbytes)
{
    dpc_memory *m = malloc(sizeof(*m));

    if (m != NULL)
        *m = (dpc_memory){.refs = 1, .fd = fd, .data = data, .nbytes = nbytes};
    return m;
}

/* -- memory of the client -- */

int dpc_memory_new(size_t nbytes, dpc_memory **out, dpc_error *err)
{
    if (nbytes == 0 || nbytes > INT64_MAX)
        return dpci_fail(err, DPC_EARGUMENT, "a memory of %zu bytes, want 1 to 2^63 - 1", nbytes);
    dpc_memory *m = dpci_memory_of(-1, NULL, 0);
    if (m != NULL)
        m->fd = memfd_create("dispatchd", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (m != NULL && m->fd >= 0 && ftruncate(m->fd, (off_t)nbytes) == 0) {
        void *data = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);
        if (data != MAP_FAILED) {
            madvise(data, nbytes, MADV_DONTFORK); /* a child's mapping would prevent the seal */
            m->data = data;
            m->nbytes = nbytes;
            *out = m;
            return 0;
        }
    }
    dpci_fail(err, DPC_EMEMORY, "no shared memory of %zu bytes can be made: %s", nbytes,
              strerror(errno));
    dpc_memory_free(m);
    return DPC_EMEMORY;
}

void *dpc_memory_data(dpc_memory *m)
{
    return m->data;
}

/* Make the memory unchangeable.  The kernel refuses the seal while the memory is mapped as shared
 * and writable; so a private mapping of the same pages takes the place of the first one. */
static int seal(dpc_memory *m)
{
    if (m->sealed)
        return 0;
    if (mmap(m->data, m->nbytes, PROT_READ, MAP_PRIVATE | MAP_FIXED, m->fd, 0) == MAP_FAILED ||
        fcntl(m->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
        return -1;
    m->sealed = true;
    return 0;
}

size_t dpc_attach_memory(dpc_request *r, dpc_memory *m)
{
    size_t i = 0;

    if (r == NULL || r->fault != 0)
        return 0;
    while (i < r->n_memories && r->memories[i] != m)
        i++;
    if (i < r->n_memories)
        return i;
    if (i == DPCI_FDS_MAX)
        dpci_fault(r, DPC_EARGUMENT, "more than %d memories in one request", DPCI_FDS_MAX);
    else if (seal(m) < 0)
        dpci_fault(r, DPC_EARGUMENT, "the memory cannot be sealed against writing: %s",
                   strerror(errno));
    if (r->fault != 0)
        return 0;
    r->memories[r->n_memories++] = dpci_memory_ref(m);
    return i;
}

void dpci_put_memory(dpc_request *r, dpc_dtype dtype, const int64_t *shape, size_t ndim,
                     dpc_memory *m, size_t offset)
{
    size_t bytes;

    if (r == NULL || r->fault != 0 || !dpci_data_bytes(r, dtype, shape, ndim, &bytes))
        return;
    if (offset > m->nbytes || bytes > m->nbytes - offset) {
        dpci_fault(r, DPC_EARGUMENT, "a tensor of %zu bytes from byte %zu of a memory of %zu",
                   bytes, offset, m->nbytes);
        return;
    }
    dpc_add_str(r, "dtype", dpc_dtype_name(dtype));
    dpc_add_ints(r, "shape", shape, ndim);
    dpc_add_int(r, "fd", (int64_t)dpc_attach_memory(r, m));
    dpc_add_int(r, "offset", (int64_t)offset);
}

void dpc_add_memory(dpc_request *r, const char *name, dpc_dtype dtype, const int64_t *shape,
                    size_t ndim, dpc_memory *m, size_t offset)
{
    dpc_begin_object(r, name);
    dpci_put_memory(r, dtype, shape, ndim, m, offset);
    dpc_end(r);
}
