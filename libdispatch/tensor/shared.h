/* shared.h -- struct dp_shared (dispatchd/shared.h), for shared.c and adopt.c. */
#ifndef DPI_SHARED_H
#define DPI_SHARED_H

#include "room.h"
#include <pthread.h>

struct dp_shared {
    atomic_uint refs;
    int fd;
    bool adopted;
    bool racy;            /* adopted, and other processes may write */
    pthread_mutex_t lock; /* protects `reader`, `sealed` and, if adopted, the making of `data` */
    int reader;           /* read-only descriptor of a memfd made here; -1: not made yet */
    bool sealed;          /* with F_SEAL_FUTURE_WRITE, which also forbids to free the pages */
    void *data;           /* the mapping; NULL: adopted, and not mapped yet */
    size_t bytes;         /* size of the memfd */
    /* owned: the account whose later tensors may use the memory again; NULL: none */
    dp_account *owner;
    bool mapped_elsewhere; /* another process may still map it, so it is not used again */
    dpi_charge charge;     /* refunded when this struct is freed */
};

/* Make the dp_shared of memfd `fd`, which it takes over; NULL: out of memory, and `fd` stays the
 * caller's. */
dp_shared *dpi_shared_of(int fd, size_t bytes);
/* Set an error: `what`, a system call for `bytes` bytes, failed with errno.  Returns
 * DP_ERESOURCE. */
int dpi_shared_failed(const char *what, size_t bytes, dp_error *err);

#endif
