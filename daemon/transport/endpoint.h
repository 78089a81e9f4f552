/* endpoint.h -- the path of the socket, its lock, and the listening socket itself. */
#ifndef DAEMON_TRANSPORT_ENDPOINT_H
#define DAEMON_TRANSPORT_ENDPOINT_H

#include "options.h"
#include <sys/stat.h>

typedef struct endpoint {
    char *path, *lock_path; /* owned */
    int fd, lock_fd;        /* -1: none */
    struct stat bound;      /* the file that bind() made at path; no other one is removed */
} endpoint;
/* Where the socket is to be; owned. */
int endpoint_path(const options *o, char **out, dp_error *err);
/* Find the path and lock it.  DP_EBUSY names the process that has locked it.  endpoint_close() has
 * to be called even after a failure. */
int endpoint_open(endpoint *e, const options *o, dp_error *err);
int endpoint_listen(endpoint *e, int64_t mode, dp_error *err);
void endpoint_deafen(endpoint *e); /* close the listening socket, remove its file */
void endpoint_remove(endpoint *e); /* also remove the lock's file, but keep the lock */
void endpoint_close(endpoint *e);

#endif
