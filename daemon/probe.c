/* probe.c -- the trial load: a child process loads a plugin's file that a client named, before the
 * daemon loads it, because loading may kill the process.
 *
 * Only loading a file shows whether the dynamic linker survives it: a half-written file may have
 * valid headers.  The child process runs this executable as `dispatchd --probe FILE`, and writes a
 * line after the load.  Even if the line reports an error, the daemon then loads the file itself:
 * the process survives the load, and the library's error message says more. */
#define _GNU_SOURCE
#include "cache.h"
#include "request.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* -- the child -- */

/* Return a new descriptor of the pipe at standard output, to which the child writes its line.
 * Standard output becomes /dev/null, so that the plugin cannot write to the pipe. */
static int take_stdout(void)
{
    int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

    if (out < 0 || null < 0 || dup2(null, STDOUT_FILENO) < 0)
        return -1;
    close(null);
    return out;
}

void probe_file(const char *path)
{
    dp_error err = DP_ERROR_INIT;
    /* dlopen() would search the library path for a name without a slash */
    char *real = realpath(path, NULL);
    int out = take_stdout();

    prctl(PR_SET_DUMPABLE, 0); /* no core file: a crash is an expected result here */
    alarm((unsigned)(LIMIT(PROBE_MS) / 1000) +
          1); /* in case the daemon dies and nobody kills the child */
    int rc = dp_plugin_try(real != NULL ? real : path, &err);
    dprintf(out, "%s%s%s\n", rc == 0 ? "loads" : dp_error_name(rc), rc == 0 ? "" : ": ",
            err.message);
    _exit(rc != 0); /* _exit() does not run the plugin's exit handlers */
}

/* -- the daemon -- */

static int fail_trial(const char *what, int error, dp_error *err)
{
    return dp_error_set(err, DP_ERESOURCE, "cannot %s for its trial load: %s", what,
                        strerror(error));
}

/* Start the child.  It inherits the pipe, but no other descriptor, and has default signal handlers
 * and an empty signal mask. */
static int spawn(const char *path, int out, pid_t *pid)
{
    char *argv[] = {"dispatchd", "--probe", (char *)(uintptr_t)path, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, all;

    sigemptyset(&none);
    sigfillset(&all);
    int rc = posix_spawn_file_actions_init(&files);
    if (rc != 0)
        return rc;
    rc = posix_spawnattr_init(&attributes);
    if (rc == 0) {
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
        posix_spawnattr_setsigmask(&attributes, &none);
        posix_spawnattr_setsigdefault(&attributes, &all);
        if ((rc = posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO)) == 0 &&
            (rc = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY,
                                                   0)) == 0 &&
            (rc = posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY,
                                                   0)) == 0 &&
            (rc = posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1)) == 0)
            rc = posix_spawn(pid, "/proc/self/exe", &files, &attributes, argv, environ);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&files);
    return rc;
}

enum { CHILD_WROTE, CHILD_ENDED, CHILD_SILENT };

/* Wait for the first event of the child: it writes a byte, it ends, or LIMIT_PROBE_MS pass. */
static int wait_for_child(int in)
{
    uint64_t end = nanos() + LIMIT_NANOS(PROBE_MS);
    struct pollfd p = {.fd = in, .events = POLLIN};
    char byte;

    for (uint64_t now = nanos(); now < end; now = nanos())
        if (poll(&p, 1, (int)((end - now) / 1000000) + 1) > 0)
            return read(in, &byte, 1) == 1 ? CHILD_WROTE : CHILD_ENDED;
    return CHILD_SILENT;
}

static int verdict(int child_event, int status, dp_error *err)
{
    const char *signal = WIFSIGNALED(status) ? sigabbrev_np(WTERMSIG(status)) : NULL;

    if (child_event == CHILD_WROTE)
        return 0;
    if (child_event == CHILD_SILENT)
        return dp_error_set(err, DP_EPLUGIN, "its trial load took longer than probe_ms = %lld",
                            (long long)LIMIT(PROBE_MS));
    if (WIFSIGNALED(status))
        return dp_error_set(err, DP_EPLUGIN,
                            "its trial load died of signal %d (SIG%s): the file is damaged, or "
                            "code that it runs when it is loaded is wrong",
                            WTERMSIG(status), signal != NULL ? signal : "?");
    return dp_error_set(err, DP_EPLUGIN, "its trial load left the process with status %d",
                        WEXITSTATUS(status));
}

int probe(const char *copy, dp_error *err)
{
    int pipe_[2], status = 0;
    pid_t pid;

    if (pipe2(pipe_, O_CLOEXEC) < 0)
        return fail_trial("make a pipe", errno, err);
    int rc = spawn(copy, pipe_[1], &pid);
    close(pipe_[1]);
    if (rc == 0) {
        int child_event = wait_for_child(pipe_[0]);
        if (child_event != CHILD_ENDED)
            kill(pid, SIGKILL); /* the child is not needed any more */
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
        rc = verdict(child_event, status, err);
    } else {
        rc = fail_trial("start a process", rc, err);
    }
    close(pipe_[0]);
    return rc;
}
