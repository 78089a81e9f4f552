/* endpoint.c -- the path of the daemon's socket, its lock file, and the listening socket.
 *
 * A running daemon holds a flock on PATH.lock, which contains its process id.  The daemon with the
 * lock owns PATH: it replaces a socket that it finds at PATH, unless a process answers on that
 * socket.  A user may remove both files, and a second daemon may then create them again.  Therefore
 * a daemon removes only the files that it created itself.
 *
 * A socket that the service manager passed belongs to the service manager: the daemon takes no lock
 * for it and does not remove it. */
#define _GNU_SOURCE
#include "transport/endpoint.h"
#include "systemd.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { PATH_BYTES = 512 };

/* Make the directory of this user, with mode 0700, in $TMPDIR or /tmp. */
static int private_directory(char *path, size_t bytes, dp_error *err)
{
    const char *tmp = getenv("TMPDIR");
    struct stat st;

    snprintf(path, bytes, "%s/dispatchd-%ld", tmp != NULL && tmp[0] == '/' ? tmp : "/tmp",
             (long)geteuid());
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return dp_error_set(err, DP_ERUNTIME, "cannot make '%s': %s", path, strerror(errno));
    if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
        (st.st_mode & 0077) != 0)
        return dp_error_set(err, DP_EPERM, "'%s' is not a directory of uid %ld with mode 0700",
                            path, (long)geteuid());
    return 0;
}

int endpoint_path(const options *o, char **out, dp_error *err)
{
    const char *env = getenv("DISPATCHD_SOCKET"), *run = getenv("XDG_RUNTIME_DIR");
    char path[PATH_BYTES], directory[PATH_BYTES / 2];

    if (o->socket != NULL || (env != NULL && env[0] != '\0')) {
        snprintf(path, sizeof(path), "%s", o->socket != NULL ? o->socket : env);
    } else if (run != NULL && run[0] == '/') {
        snprintf(path, sizeof(path), "%s/dispatchd.sock", run);
    } else if (geteuid() == 0) {
        snprintf(path, sizeof(path), "/run/dispatchd.sock");
    } else {
        if (private_directory(directory, sizeof(directory), err) < 0)
            return err->code;
        snprintf(path, sizeof(path), "%s/dispatchd.sock", directory);
    }
    if (path[0] == '\0' || strlen(path) >= sizeof(((struct sockaddr_un *)0)->sun_path))
        return dp_error_set(err, DP_EVALUE, "socket path '%s' has %zu bytes; 1 to %zu fit", path,
                            strlen(path), sizeof(((struct sockaddr_un *)0)->sun_path) - 1);
    *out = dp_strdup(path);
    return *out != NULL ? 0 : dp_error_set(err, DP_ERESOURCE, "out of memory: socket path");
}

static bool is_file(const struct stat *a, const char *path)
{
    struct stat b;

    return lstat(path, &b) == 0 && a->st_dev == b.st_dev && a->st_ino == b.st_ino;
}

static bool same_file(int fd, const char *path)
{
    struct stat st;

    return fstat(fd, &st) == 0 && is_file(&st, path);
}

static int in_use(int fd, const char *path, dp_error *err)
{
    char pid[32] = "";
    ssize_t n = pread(fd, pid, sizeof(pid) - 1, 0);

    pid[n > 0 ? strcspn(pid, "\n") : 0] = '\0';
    return dp_error_set(err, DP_EBUSY, "socket '%s' is served by process %s", path,
                        pid[0] != '\0' ? pid : "(unknown)");
}

/* Take the lock, which is held until the descriptor `*out` is closed. */
static int take_lock(const char *path, const char *lock_path, int *out, dp_error *err)
{
    for (;;) {
        int fd = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
            return dp_error_set(err, DP_ERUNTIME, "cannot open '%s': %s", lock_path,
                                strerror(errno));
        if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
            int rc = errno == EWOULDBLOCK ? in_use(fd, path, err)
                                          : dp_error_set(err, DP_ERUNTIME, "cannot lock '%s': %s",
                                                         lock_path, strerror(errno));
            close(fd);
            return rc;
        }
        if (same_file(fd, lock_path)) {
            *out = fd;
            if (ftruncate(fd, 0) < 0 || dprintf(fd, "%ld\n", (long)getpid()) < 0)
                return dp_error_set(err, DP_ERUNTIME, "cannot write '%s': %s", lock_path,
                                    strerror(errno));
            return 0;
        }
        close(fd); /* its previous holder has just removed this file: open the new one */
    }
}

static struct sockaddr_un address(const char *path)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};

    memcpy(a.sun_path, path, strlen(path) + 1);
    return a;
}

/* Remove a socket that a dead daemon left at `path`.  Any other file at `path` is an error. */
static int remove_stale(const char *path, dp_error *err)
{
    struct sockaddr_un a = address(path);
    struct stat st;

    if (lstat(path, &st) < 0)
        return errno == ENOENT ? 0
                               : dp_error_set(err, DP_ERUNTIME, "'%s': %s", path, strerror(errno));
    if (!S_ISSOCK(st.st_mode))
        return dp_error_set(err, DP_EEXISTS, "'%s' is there and is not a socket", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int rc = fd < 0 ? -1 : connect(fd, (struct sockaddr *)&a, sizeof(a));
    int why = errno;
    if (fd >= 0)
        close(fd);
    if (rc == 0 || why != ECONNREFUSED)
        return dp_error_set(err, DP_EBUSY,
                            "socket '%s' is served by a process without our lock (%s)", path,
                            rc == 0 ? "it answers" : strerror(why));
    if (unlink(path) < 0)
        return dp_error_set(err, DP_ERUNTIME, "cannot remove '%s': %s", path, strerror(errno));
    log_event(LOG_INFO, "socket.replace", "path='%s'", path);
    return 0;
}

/* Store in `*path` (owned) where the listening socket `fd` is bound.  DP_EVALUE: `fd` is not a
 * listening Unix stream socket that has a path. */
static int bound_path(int fd, char **path, dp_error *err)
{
    struct sockaddr_un a = {0};
    socklen_t a_bytes = sizeof(a) - 1, int_bytes = sizeof(int); /* a NUL is left after the path */
    int type = 0, listens = 0;

    if (getsockname(fd, (struct sockaddr *)&a, &a_bytes) < 0 ||
        getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &int_bytes) < 0 ||
        getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &int_bytes) < 0)
        return dp_error_set(err, DP_EVALUE, "LISTEN_FDS: descriptor %d: %s", fd, strerror(errno));
    if (a.sun_family != AF_UNIX || type != SOCK_STREAM || listens == 0 || a.sun_path[0] == '\0')
        return dp_error_set(err, DP_EVALUE,
                            "LISTEN_FDS: descriptor %d is not a listening Unix stream socket that "
                            "has a path",
                            fd);
    *path = dp_strdup(a.sun_path);
    return *path != NULL ? 0 : dp_error_set(err, DP_ERESOURCE, "out of memory: socket path");
}

/* Take the listening socket `fd`, which the service manager passed. */
static int take_passed(endpoint *e, int fd, const char *wanted, dp_error *err)
{
    e->fd = fd;
    e->passed = true;
    if (bound_path(fd, &e->path, err) < 0)
        return err->code;
    if (wanted != NULL && strcmp(wanted, e->path) != 0)
        return dp_error_set(err, DP_EVALUE,
                            "the socket is '%s' by --socket, but the service manager passed '%s'; "
                            "leave one of them out",
                            wanted, e->path);
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 ||
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0)
        return dp_error_set(err, DP_ERUNTIME, "descriptor %d: %s", fd, strerror(errno));
    return 0;
}

int endpoint_open(endpoint *e, const options *o, dp_error *err)
{
    *e = (endpoint){.fd = -1, .lock_fd = -1};
    if (o->serve_fd >= 0)
        return 0;
    if (systemd_listener() >= 0)
        return take_passed(e, systemd_listener(), o->socket, err);
    if (endpoint_path(o, &e->path, err) < 0)
        return err->code;
    size_t bytes = strlen(e->path) + sizeof(".lock");
    e->lock_path = dp_malloc(bytes);
    if (e->lock_path == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: socket path");
    snprintf(e->lock_path, bytes, "%s.lock", e->path);
    return take_lock(e->path, e->lock_path, &e->lock_fd, err);
}

static int not_served(int64_t n, const char *why, dp_error *err)
{
    return dp_error_set(
        err, DP_EVALUE,
        "--serve-fd: expected a connected Unix stream socket, descriptor %lld is %s", (long long)n,
        why);
}

int endpoint_inherit(int64_t n, int *out, dp_error *err)
{
    int fd = (int)n, type = 0, listens = 0, domain = 0;
    struct sockaddr_un peer;
    socklen_t bytes = sizeof(int), peer_bytes = sizeof(peer);

    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &bytes) < 0)
        return not_served(n, errno == EBADF ? "not open" : "no socket", err);
    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &bytes) < 0 || domain != AF_UNIX)
        return not_served(n, "a socket of another kind", err);
    if (type != SOCK_STREAM)
        return not_served(n, "a Unix socket that is no stream", err);
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) < 0 || listens != 0)
        return not_served(n, "a socket that listens", err);
    if (getpeername(fd, (struct sockaddr *)&peer, &peer_bytes) < 0)
        return not_served(n, "not connected", err);
    /* a number above those of standard input, output and error, which libuv must not close */
    *out = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (*out < 0 || fcntl(*out, F_SETFL, O_NONBLOCK) < 0)
        return dp_error_set(err, DP_ERUNTIME, "--serve-fd %lld: %s", (long long)n, strerror(errno));
    /* the client would not notice the end of the connection while another descriptor is open */
    int null = fd <= STDERR_FILENO ? open("/dev/null", O_RDWR | O_CLOEXEC) : -1;
    if (null >= 0) {
        dup2(null, fd);
        close(null);
    } else {
        close(fd);
    }
    return 0;
}

int endpoint_listen(endpoint *e, int64_t mode, dp_error *err)
{
    if (e->passed)
        return 0; /* listen() again would make this process the peer that clients see */
    const char *path = e->path;
    struct sockaddr_un a = address(path);
    if (remove_stale(path, err) < 0)
        return err->code;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return dp_error_set(err, DP_ERUNTIME, "socket: %s", strerror(errno));
    mode_t old = umask(077);
    int rc = bind(fd, (struct sockaddr *)&a, sizeof(a));
    umask(old);
    if (rc == 0 && lstat(path, &e->bound) == 0 && chmod(path, (mode_t)mode) == 0 &&
        listen(fd, (int)LIMIT(CONNECTIONS)) == 0) {
        e->fd = fd;
        return 0;
    }
    dp_error_set(err, DP_ERUNTIME, "cannot listen on '%s': %s", path, strerror(errno));
    if (rc == 0)
        unlink(path);
    close(fd);
    return err->code;
}

void endpoint_stop_listening(endpoint *e)
{
    if (e->fd < 0)
        return;
    close(e->fd);
    e->fd = -1;
    if (!e->passed && is_file(&e->bound, e->path))
        unlink(e->path);
}

void endpoint_remove(endpoint *e)
{
    endpoint_stop_listening(e);
    if (e->lock_fd >= 0 && same_file(e->lock_fd, e->lock_path))
        unlink(e->lock_path);
}

void endpoint_close(endpoint *e)
{
    endpoint_remove(e);
    if (e->lock_fd >= 0)
        close(e->lock_fd);
    dp_free(e->path);
    dp_free(e->lock_path);
}
