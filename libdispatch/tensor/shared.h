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
    pthread_mutex_t lock; /* protects `sealed`, `revocable` and, if adopted, the making of `data` */
    bool sealed;          /* with F_SEAL_FUTURE_WRITE, which also forbids to free the pages */
    bool revocable;       /* was read by others, and is not sealed: its pages are freed with it */
    void *data;           /* the mapping; NULL: adopted, and not mapped yet */
    size_t bytes;         /* size of the memfd */
    /* counted reference: pays for the descriptor, and its later tensors may use memory again that
     * was made here; NULL: nobody */
    dp_account *account;
    bool mapped_elsewhere; /* another process may still map it, so it is not used again */
    dpi_charge charge;     /* refunded when this struct is freed */
};

/* Make the dp_shared of memfd `fd`, which it takes over; NULL: out of memory, and `fd` stays the
 * caller's.  `a` was charged by dpi_shared_count() and gets a reference; may be NULL. */
dp_shared *dpi_shared_of(int fd, size_t bytes, dp_account *a);
/* Charge `a` for one descriptor, and refund it.  NULL: nothing happens. */
int dpi_shared_count(dp_account *a, dp_error *err);
void dpi_shared_uncount(dp_account *a);
/* Set an error: `what`, a system call for `bytes` bytes, failed with errno.  Returns
 * DP_ERESOURCE. */
int dpi_shared_failed(const char *what, size_t bytes, dp_error *err);

#endif
