/* file.c -- files beneath --data-path: opens them for reading, and replaces one in one step; and
 * files that clients have opened.
 *
 * A path is resolved by openat2(2) beneath the directory, without symbolic links, so that no link
 * and no "..", whoever makes it at whatever time, leads out of the directory.  A new file is
 * written under a temporary name, which is locked by flock(2) while it is written.  If the process
 * is killed meanwhile, the old file is unchanged, and the next replacement in the directory removes
 * the temporary file, because nobody holds its lock. */
#define _GNU_SOURCE
#include "store/store.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SHOWN = 200, TRIES = 100 };
static const char PREFIX[] = ".dispatchd-", SUFFIX[] = ".tmp";

/* Describe errno, after `what` failed for `path`. */
static int fail(const char *what, const char *path, dp_error *err)
{
    int code = DP_ERUNTIME;

    switch (errno) {
    case ENOENT:
    case ENOTDIR:
        code = DP_ENOTFOUND;
        break;
    case EACCES:
    case EPERM:
    case EROFS:
        code = DP_EPERM;
        break;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
        code = DP_ERESOURCE;
        break;
    default:
        break;
    }
    return dp_error_set(err, code, "%s '%.*s': %s", what, SHOWN, path, strerror(errno));
}

int store_open(store *s, const char *path, dp_error *err)
{
    s->path = path;
    s->dir = path != NULL ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (path == NULL || s->dir >= 0)
        return 0;
    return dp_error_set(err, DP_ERUNTIME, "--data-path: cannot open '%.*s': %s", SHOWN, path,
                        strerror(errno));
}

void store_close(store *s)
{
    if (s->dir >= 0)
        close(s->dir);
    s->dir = -1;
}

/* -- paths -- */

static bool goes_up(const char *path)
{
    for (const char *p = path; p != NULL; p = strchr(p, '/')) {
        p += *p == '/';
        if (strncmp(p, "..", 2) == 0 && (p[2] == '/' || p[2] == '\0'))
            return true;
    }
    return false;
}

static int fail_leaves(const store *s, const char *path, dp_error *err)
{
    return dp_error_set(err, DP_EPERM,
                        "path '%.*s': expected a path relative to --data-path '%.*s', without '..' "
                        "and without symbolic links",
                        SHOWN, path, SHOWN, s->path);
}

/* Open `path` beneath the directory.  Returns the descriptor, or a negative error code. */
static int open_beneath(const store *s, const char *path, const char *named, int flags,
                        dp_error *err)
{
    struct open_how how = {.flags = (uint64_t)(flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK),
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};

    if (s->dir < 0)
        return dp_error_set(err, DP_EPERM,
                            "path '%.*s': this daemon was started without --data-path, so it reads "
                            "and writes no files",
                            SHOWN, named);
    if (named[0] == '/' || goes_up(named))
        return fail_leaves(s, named, err);
    long fd = syscall(SYS_openat2, s->dir, path, &how, sizeof(how));
    if (fd >= 0)
        return (int)fd;
    if (errno == EXDEV || errno == ELOOP)
        return fail_leaves(s, named, err);
    if (errno == ENOSYS)
        return dp_error_set(err, DP_ERUNTIME,
                            "path '%.*s': the system has no openat2, which Linux has from 5.6 on",
                            SHOWN, named);
    return fail("cannot open", named, err);
}

int store_file_open(const store *s, const char *path, int *fd, dp_error *err)
{
    *fd = open_beneath(s, path, path, O_RDONLY, err);
    return *fd < 0 ? *fd : 0;
}

int store_file_bytes(int fd, const char *path, uint64_t *bytes, dp_error *err)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return fail("fstat", path, err);
    if (!S_ISREG(st.st_mode))
        return dp_error_set(err, DP_EVALUE, "'%.*s' is no regular file", SHOWN, path);
    *bytes = (uint64_t)st.st_size;
    return 0;
}

/* -- bytes -- */

int store_read(int fd, const char *path, void *to, size_t bytes, uint64_t offset, dp_error *err)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = pread(fd, (char *)to + done, bytes - done, (off_t)(offset + done));
        if (n == 0)
            return dp_error_set(err, DP_EVALUE,
                                "'%.*s' ends at byte %llu, but %zu more were there when it was "
                                "opened",
                                SHOWN, path, (unsigned long long)(offset + done), bytes - done);
        if (n < 0 && errno != EINTR)
            return fail("cannot read", path, err);
        done += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

int store_write(int fd, const char *path, const void *from, size_t bytes, uint64_t offset,
                dp_error *err)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = pwrite(fd, (const char *)from + done, bytes - done, (off_t)(offset + done));
        if (n < 0 && errno != EINTR)
            return fail("cannot write", path, err);
        done += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

void store_file_advance(int fd, uint64_t offset, uint64_t bytes)
{
    sync_file_range(fd, (off_t)offset, (off_t)bytes, SYNC_FILE_RANGE_WRITE);
    if (offset >= bytes)
        sync_file_range(fd, (off_t)(offset - bytes), (off_t)bytes,
                        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
                            SYNC_FILE_RANGE_WAIT_AFTER);
}

/* Reserve space for `bytes` bytes, if the file system can. */
static int reserve(int fd, const char *path, uint64_t bytes, dp_error *err)
{
    if (bytes == 0 || fallocate(fd, 0, 0, (off_t)bytes) == 0 || errno == EOPNOTSUPP ||
        errno == ENOSYS || errno == EINTR)
        return 0;
    return fail("no space for", path, err);
}

/* -- writing over a file that a client has opened -- */

int store_rewrite_begin(int fd, const char *path, uint64_t bytes, dp_error *err)
{
    return ftruncate(fd, 0) == 0 ? reserve(fd, path, bytes, err) : fail("cannot shrink", path, err);
}

int store_rewrite_sync(int fd, const char *path, dp_error *err)
{
    return fsync(fd) == 0 ? 0 : fail("cannot write to the disk", path, err);
}

void store_rewrite_drop(int fd)
{
    (void)!ftruncate(fd, 0); /* the file system refuses that only where it refused the writing */
}

/* -- replacing a file -- */

static bool is_temporary(const char *name)
{
    size_t n = strlen(name);

    return n >= sizeof(PREFIX) + sizeof(SUFFIX) && strncmp(name, PREFIX, sizeof(PREFIX) - 1) == 0 &&
           strcmp(name + n - (sizeof(SUFFIX) - 1), SUFFIX) == 0;
}

/* Remove the temporary files in `dir` that no process has locked. */
static void remove_leftovers(int dir)
{
    int again = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = again >= 0 ? fdopendir(again) : NULL;

    if (d == NULL && again >= 0)
        close(again);
    for (const struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        if (!is_temporary(e->d_name))
            continue;
        int fd = openat(dir, e->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
            unlinkat(dir, e->d_name, 0);
        if (fd >= 0)
            close(fd);
    }
    if (d != NULL)
        closedir(d);
}

/* Is the new file `fd` locked by us and still there?  Before the lock, remove_leftovers() of
 * another process may have removed the file. */
static bool locked(int fd)
{
    struct stat st;
    bool is = flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;

    return is && fstat(fd, &st) == 0 && st.st_nlink > 0;
}

static int make_temporary(store_replacement *r, dp_error *err)
{
    static atomic_uint_fast64_t number;

    for (int i = 0; i < TRIES; i++) {
        snprintf(r->temporary, sizeof(r->temporary), "%s%ld-%llu%s", PREFIX, (long)getpid(),
                 (unsigned long long)atomic_fetch_add(&number, 1), SUFFIX);
        r->fd =
            openat(r->dir, r->temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (r->fd >= 0 && locked(r->fd))
            return 0;
        if (r->fd < 0 && errno != EEXIST)
            break;
        if (r->fd >= 0)
            close(r->fd);
        r->fd = -1;
    }
    return fail("cannot create a temporary file for", r->path, err);
}

/* Check that `r->name` is free or names a regular file, whose permissions the new file gets. */
static int check_target(const store_replacement *r, dp_error *err)
{
    struct stat st;

    if (fstatat(r->dir, r->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : fail("cannot look at", r->path, err);
    if (S_ISLNK(st.st_mode))
        return dp_error_set(err, DP_EPERM,
                            "'%.*s' is a symbolic link: expected a regular file, or "
                            "none",
                            SHOWN, r->path);
    if (!S_ISREG(st.st_mode))
        return dp_error_set(err, DP_EVALUE, "'%.*s' is no regular file", SHOWN, r->path);
    return fchmod(r->fd, st.st_mode & 0777) == 0 ? 0 : fail("fchmod", r->path, err);
}

static int open_parent(const store *s, store_replacement *r, dp_error *err)
{
    const char *slash = strrchr(r->path, '/');
    size_t bytes = slash != NULL ? (size_t)(slash - r->path) : 0;
    char *parent = dp_malloc(bytes + sizeof("."));

    if (parent == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: a path");
    r->name = slash != NULL ? slash + 1 : r->path;
    memcpy(parent, bytes > 0 ? r->path : ".", bytes > 0 ? bytes : 1);
    parent[bytes > 0 ? bytes : 1] = '\0';
    r->dir = open_beneath(s, parent, r->path, O_RDONLY | O_DIRECTORY, err);
    dp_free(parent);
    if (r->dir < 0)
        return r->dir;
    if (r->name[0] == '\0' || strcmp(r->name, ".") == 0)
        return dp_error_set(err, DP_EVALUE, "path '%.*s': expected the name of a file at its end",
                            SHOWN, r->path);
    if (is_temporary(r->name))
        return dp_error_set(err, DP_EVALUE,
                            "path '%.*s': names '%s*%s' are those of temporary files, which are "
                            "removed",
                            SHOWN, r->path, PREFIX, SUFFIX);
    return 0;
}

int store_replace_begin(const store *s, const char *path, uint64_t bytes, store_replacement *r,
                        dp_error *err)
{
    *r = (store_replacement){.path = path, .dir = -1, .fd = -1};
    int rc = open_parent(s, r, err);

    if (rc < 0)
        return rc;
    remove_leftovers(r->dir);
    rc = make_temporary(r, err);
    if (rc == 0)
        rc = check_target(r, err);
    return rc == 0 ? reserve(r->fd, path, bytes, err) : rc;
}

int store_replace_sync(store_replacement *r, dp_error *err)
{
    return fdatasync(r->fd) == 0 ? 0 : fail("cannot write to the disk", r->path, err);
}

int store_replace_commit(store_replacement *r, dp_error *err)
{
    if (fsync(r->fd) < 0)
        return fail("cannot write to the disk", r->path, err);
    if (renameat(r->dir, r->temporary, r->dir, r->name) < 0)
        return fail("cannot replace", r->path, err);
    close(r->fd);
    r->fd = -1;
    if (fsync(r->dir) < 0)
        return fail("replaced, but cannot write the directory to the disk:", r->path, err);
    return 0;
}

void store_replace_end(store_replacement *r)
{
    if (r->fd >= 0) {
        unlinkat(r->dir, r->temporary, 0);
        close(r->fd);
    }
    if (r->dir >= 0)
        close(r->dir);
    r->dir = r->fd = -1;
}
