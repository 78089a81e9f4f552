/* transfer.h -- the state and functions that store.save (save.c) and store.load (load.c) share. */
#ifndef DAEMON_TRANSFER_H
#define DAEMON_TRANSFER_H

#include "methods.h"
#include "store/store.h"

enum { PIECE_BYTES = 1 << 20 }; /* bytes moved between two looks at cancel and deadline */

/* The state of one store.save or store.load. */
typedef struct transfer {
    request *rq;
    int fd;
    const char *path;       /* for messages */
    char descriptor[32];    /* `path` of a file that came as a descriptor */
    bool progress;          /* notify the client */
    uint64_t total, done;   /* bytes to move, and bytes moved so far */
    uint64_t notified_at;   /* time (nanos()) of the last notification */
    uint64_t synced;        /* store.save: bytes that the disk has or writes */
    store_replacement file; /* store.save */
} transfer;

store *store_of(request *rq); /* borrowed */
/* Set t->fd, borrowed, and t->path to the descriptor with this index in the message; see
 * descriptor_of_file(). */
int transfer_descriptor(transfer *t, int64_t index, bool writes, dp_error *err);
/* Record that `bytes` more were moved.  DP_ECANCELLED, DP_EDEADLINE: the request must stop. */
int transfer_moved(transfer *t, size_t bytes, dp_error *err);
/* Count a call that has ended with result `rc` and moved `n` bytes.  DP_EWAIT: it runs again later,
 * and is not counted.  Returns `rc`. */
int transfer_counted(request *rq, int rc, atomic_uint_fast64_t *calls, atomic_uint_fast64_t *bytes,
                     uint64_t n);

#endif
