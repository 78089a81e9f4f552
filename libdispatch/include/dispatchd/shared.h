/* dispatchd/shared.h -- tensor memory that other processes map, for embedders such as the daemon.
 *
 * A dp_shared is a memfd (memfd_create(2)): either one that this process made for a tensor, so that
 * other processes can map the tensor's bytes, or one of another process, which was adopted.
 *
 *     dp_tensor_share(t, account, &s, err);      move the bytes of `t` into a memfd
 *     dp_shared_reader(s, false, &fd, err);      a read-only descriptor to send
 *
 *     dp_shared_adopt(fd, account, &s, err);     a descriptor that came from another process
 *     dp_shared_tensor(s, DP_SHARED_PRIVATE, 0, DP_FLOAT32, 10, account, &t, err);
 *
 * References are counted; a dp_shared may outlive its tensor.  All functions may be called from any
 * thread. */
#ifndef DISPATCHD_SHARED_H
#define DISPATCHD_SHARED_H

#include "account.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dp_shared dp_shared;

/* Ask that storages of at least `bytes` bytes that the calls of account `a` allocate are in shared
 * memory from the start, so that dp_tensor_share() copies nothing.  UINT64_MAX: no storage, as in a
 * new account.  If no memfd can be made, the storage is in ordinary memory.  Shared memory of the
 * account that is freed is kept for its next tensors of the same size, up to DP_LIMIT_WARM_BYTES of
 * all accounts, until this function is called with a larger size; call it with UINT64_MAX before
 * the account ends. */
DP_API void dp_account_share(dp_account *a, uint64_t bytes);
DP_API uint64_t dp_account_share_from(const dp_account *a);

/* Return the shared memory of t's storage, owned by the caller.  If the storage is in ordinary
 * memory of the host, its bytes are first copied into a memfd, once; writes that another thread's
 * call makes at that time may be lost.  Afterwards the storage stays where it is and cannot grow.
 * `a`: charged for that memory if the storage is charged to nobody; may be NULL.
 * `a` also pays for the descriptor that a new memfd takes (DP_HOLDER_MEMFDS).
 * DP_ENOTIMPL: a wrapper, or a tensor on meta, on a device or in pinned memory.  DP_ERUNTIME: the
 * memory is an embedder's.  DP_ERESOURCE: over the account's limit, or out of memory or of
 * descriptors.  After an error nothing has changed. */
DP_API int dp_tensor_share(const dp_tensor *t, dp_account *a, dp_shared **out, dp_error *err);
/* Is t's storage in shared memory that this process made?  Then dp_tensor_share() copies
 * nothing. */
DP_API bool dp_tensor_is_shared(const dp_tensor *t);
/* Get a descriptor of shared memory that this process made, which reads the memory and can never
 * write it.  `*fd` is the caller's to close.  Unless `revocable`, no process can map the memory
 * writable from now on (F_SEAL_FUTURE_WRITE); this process's tensors still write it.
 * `revocable`: for a reader of another user, whom the mode of the memory (0600) keeps from opening
 * it for writing.  When the last reference to `s` is dropped, its pages are freed: a reader that
 * still maps them sees zeros, and cannot hold memory that is charged to nobody.  A reader that is
 * not revocable ends that for `s`.
 * DP_EVALUE: `s` was adopted.  DP_ERESOURCE: out of descriptors.  DP_ERUNTIME: the system
 * refuses. */
DP_API int dp_shared_reader(dp_shared *s, bool revocable, int *fd, dp_error *err);

/* Another process that got a descriptor of `s` has not said that it unmapped the memory: never use
 * the memory again for another tensor. */
DP_API void dp_shared_left_mapped(dp_shared *s);

/* Adopt the memfd `fd` of another process; `fd` stays the caller's.  It must be sealed against
 * shrinking (F_SEAL_SHRINK).  Its whole size is charged to DP_HOLDER_INTERMEDIATES of `a`, and its
 * descriptor to DP_HOLDER_MEMFDS, until the last reference is dropped.  *out owned.  DP_EVALUE:
 * `fd` is no memfd, is not sealed, or cannot be read.  DP_ERESOURCE: over the account's limit, or
 * out of memory or descriptors. */
DP_API int dp_shared_adopt(int fd, dp_account *a, dp_shared **out, dp_error *err);
/* Was `s` adopted, and can another process still write it (no F_SEAL_WRITE)? */
DP_API bool dp_shared_is_racy(const dp_shared *s);
/* How a tensor uses adopted memory */
enum {
    /* The tensor's storage is a private mapping: nothing is copied, and pages that a call writes
     * become the tensor's own.  For memory that is not racy.  The mapping keeps the whole of `s`,
     * and so its charge.  A tensor of less than 64 KiB is copied instead. */
    DP_SHARED_PRIVATE,
    /* The bytes are copied into the tensor.  For racy memory. */
    DP_SHARED_COPY,
    /* The tensor's storage is the mapping that all such tensors of `s` use: nothing is copied or
     * mapped again.  No call may write the tensor, and calls must bear that its bytes change while
     * they run. */
    DP_SHARED_BORROW,
};
/* Make a contiguous tensor whose elements are in adopted memory and begin at byte `offset`. `how`:
 * one of DP_SHARED_*.  `a`: the account that is charged for a copy; may be NULL.  Private mappings
 * are charged while a holder has them (account.h).  *out owned.  DP_EVALUE: the elements are not
 * inside the memory, or `offset` is no multiple of the element size.  DP_ERESOURCE: over the
 * account's limit, or out of memory. */
DP_API int dp_shared_tensor(dp_shared *s, int how, uint64_t offset, dp_dtype dtype, int ndim,
                            const int64_t *sizes, dp_account *a, dp_tensor **out, dp_error *err);

DP_API size_t dp_shared_bytes(const dp_shared *s); /* size of the memfd */
DP_API dp_shared *dp_shared_ref(dp_shared *s);     /* returns `s` */
DP_API dp_shared *dp_shared_unref(dp_shared *s);   /* NULL is allowed; returns NULL */

#ifdef __cplusplus
}
#endif
#endif
