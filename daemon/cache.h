/* cache.h -- private copies of plugins: their directory, and the trial load of one. */
#ifndef DAEMON_CACHE_H
#define DAEMON_CACHE_H

#include "daemon.h"

/* Make a directory for this process alone below base (NULL: the temporary one) and lock it.  What
 * dead daemons left there is removed.  *dir owned. */
int cache_open(const char *base, char **dir, int *lock_fd, dp_error *err);
void cache_close(char *dir, int lock_fd); /* takes both; dir NULL is fine */
/* For a process that leaves while threads of it run on: plugins stay mapped, nothing is freed. */
void cache_remove(const char *dir);
/* dispatchd --probe: load the file, unload it, print the outcome and exit. */
void probe_file(const char *path) __attribute__((noreturn));

#endif
