/* cache.c -- the directory for the private copies of plugins; each process has its own.
 *
 * The directory is BASE/dispatchd-plugins-XXXXXX.  It contains a file `lock`, on which the process
 * holds a flock for as long as it lives.  A daemon that can lock the file in another such directory
 * removes that directory, because its owner is dead.  Opening the file and locking it are two
 * steps, so a daemon checks after locking that the path still names the file which it locked.  A
 * directory without a lock file is removed only if it is empty, because its owner may still live: a
 * cleaner of old files (such as systemd-tmpfiles) may have removed the lock file. */
#define _GNU_SOURCE
#include "cache.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX "dispatchd-plugins-"
#define LOCK   "lock"
enum { TRIES = 16, WALK_DESCRIPTORS = 8, LOCK_PATH_BYTES = PATH_MAX + sizeof("/" LOCK) };

static bool same_file(int fd, const char *path)
{
    struct stat a, b;

    return fstat(fd, &a) == 0 && lstat(path, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/* Lock directory `dir` and return the descriptor of its lock file.  `create`: O_CREAT to create a
 * missing lock file, or 0.  -1: another process holds the lock, or there is no lock file. */
static int lock_directory(const char *dir, int create)
{
    char path[LOCK_PATH_BYTES];

    snprintf(path, sizeof(path), "%s/" LOCK, dir);
    int fd = open(path, O_RDWR | create | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0 && (flock(fd, LOCK_EX | LOCK_NB) < 0 || !same_file(fd, path))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind;
    if (at->level > 1 || (at->level == 1 && strcmp(path + at->base, LOCK) != 0))
        remove(path);
    return 0;
}

/* Remove a directory that this process has locked.  The lock file is removed last; a file of that
 * name that appears afterwards belongs to another process. */
static void remove_locked(const char *dir)
{
    char path[LOCK_PATH_BYTES];

    nftw(dir, remove_entry, WALK_DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
    snprintf(path, sizeof(path), "%s/" LOCK, dir);
    unlink(path);
    rmdir(dir);
}

/* Remove the directories that dead daemons of this user left in `base`. */
static void sweep(const char *base)
{
    DIR *entries = opendir(base);
    struct dirent *d;
    char path[PATH_MAX];
    struct stat st;

    while (entries != NULL && (d = readdir(entries)) != NULL) {
        if (strncmp(d->d_name, PREFIX, sizeof(PREFIX) - 1) != 0)
            continue;
        snprintf(path, sizeof(path), "%s/%s", base, d->d_name);
        if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
            continue;
        int fd = lock_directory(path, 0);
        if (fd < 0) {
            rmdir(path);
            continue;
        }
        remove_locked(path);
        close(fd);
        log_event(LOG_INFO, "cache.sweep", "path='%s'", path);
    }
    if (entries != NULL)
        closedir(entries);
}

int cache_open(const char *base, char **dir, int *lock_fd, dp_error *err)
{
    const char *tmp = getenv("TMPDIR");
    char path[PATH_MAX];

    if (base != NULL && mkdir(base, 0700) < 0 && errno != EEXIST)
        return dp_error_set(err, DP_ERUNTIME, "--cache-dir '%s': %s", base, strerror(errno));
    if (base == NULL)
        base = tmp != NULL && tmp[0] == '/' ? tmp : "/tmp";
    sweep(base);
    for (int i = 0; i < TRIES; i++) {
        snprintf(path, sizeof(path), "%s/" PREFIX "XXXXXX", base);
        if (mkdtemp(path) == NULL)
            return dp_error_set(err, DP_ERUNTIME,
                                "cannot make a directory for copies of plugins in '%s': %s", base,
                                strerror(errno));
        int fd = lock_directory(path, O_CREAT);
        if (fd < 0) /* another daemon removed the directory before it was locked */
            continue;
        *dir = dp_strdup(path);
        if (*dir != NULL) {
            *lock_fd = fd;
            return 0;
        }
        remove_locked(path);
        close(fd);
        return dp_error_set(err, DP_ERESOURCE, "out of memory: the directory of plugins' copies");
    }
    return dp_error_set(err, DP_ERUNTIME, "cannot lock a directory for copies of plugins in '%s'",
                        base);
}

void cache_remove(const char *dir)
{
    if (dir != NULL)
        remove_locked(dir);
}

void cache_close(char *dir, int lock_fd)
{
    if (dir == NULL)
        return;
    remove_locked(dir);
    close(lock_fd);
    dp_free(dir);
}
