/* endpoint.h -- the path of the daemon's socket, its lock file, and the listening socket. */
#ifndef DAEMON_TRANSPORT_ENDPOINT_H
#define DAEMON_TRANSPORT_ENDPOINT_H

#include "options.h"
#include <sys/stat.h>

typedef struct endpoint {
    char *path, *lock_path; /* owned; NULL: --serve-fd, nothing is listened on */
    int fd, lock_fd;        /* -1: none */
    bool passed;            /* the service manager passed `fd` and owns the file at `path` */
    struct stat bound;      /* the file that bind() created at `path`; only this file is removed */
} endpoint;
/* Choose the path of the socket: --socket, else $DISPATCHD_SOCKET, else a default
 * (docs/operating.md).  `*out` is owned by the caller. */
int endpoint_path(const options *o, char **out, dp_error *err);
/* Choose the path and lock it; or take the socket that the service manager passed (systemd.h), with
 * its path and without a lock.  Nothing is done with --serve-fd.  DP_EBUSY: another process has
 * locked the path; the message names the process.  Even after a failure endpoint_close() must be
 * called. */
int endpoint_open(endpoint *e, const options *o, dp_error *err);
/* Check the inherited descriptor `n` of --serve-fd: a connected stream socket of the local machine.
 * `*out`: its duplicate, which is non-blocking and owned by the caller; `n` itself is closed.
 * DP_EVALUE: it is something else. */
int endpoint_inherit(int64_t n, int *out, dp_error *err);
/* Make the socket, with permissions `mode`, and listen; a passed socket listens already.  A socket
 * that a dead daemon left is replaced.  DP_EBUSY: a process that does not use our lock serves the
 * path.  DP_EEXISTS: the path names another file. */
int endpoint_listen(endpoint *e, int64_t mode, dp_error *err);
void endpoint_stop_listening(endpoint *e); /* Close the listening socket and remove its file. */
void endpoint_remove(endpoint *e);         /* Also remove the lock file; the lock stays held. */
void endpoint_close(endpoint *e);

#endif
