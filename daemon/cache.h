/* cache.h -- the directory for private copies of plugins, and the trial load of a plugin's file.
 *
 * The daemon loads a copy of each plugin's file, so that the file can be replaced while it is
 * loaded. */
#ifndef DAEMON_CACHE_H
#define DAEMON_CACHE_H

#include "daemon.h"

/* Make a directory for this process alone in `base` (NULL: $TMPDIR or /tmp) and lock the file
 * `lock` in it, whose descriptor is `*lock_fd`.  Directories that dead daemons left in `base` are
 * removed first.  `*dir` is owned by the caller.  DP_ERUNTIME: the directory cannot be made or
 * locked.  DP_ERESOURCE: out of memory. */
int cache_open(const char *base, char **dir, int *lock_fd, dp_error *err);
/* Remove the directory, close `lock_fd` and free `dir`.  No effect if `dir` is NULL. */
void cache_close(char *dir, int lock_fd);
/* Remove the directory only; no effect if `dir` is NULL.  This is enough for a process that exits
 * while some of its threads still run: plugins stay mapped, and nothing is freed. */
void cache_remove(const char *dir);
/* Do the work of `dispatchd --probe FILE`, the process that the trial load starts: load the file,
 * unload it, print the outcome and exit. */
void probe_file(const char *path) __attribute__((noreturn));

#endif
