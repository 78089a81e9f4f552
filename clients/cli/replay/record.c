/* record.c -- verb record: runs a command whose calls go through this process to the daemon, and
 * writes them to a file */
#define _GNU_SOURCE /* for pidfd_open() */
#include "replay.h"
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* A socket on which clients of the recorded session connect. */
typedef struct door {
    char folder[64], path[96];
    int listener;
} door;

static bool door_open(door *d)
{
    const char *tmp = getenv("TMPDIR");
    struct sockaddr_un at = {.sun_family = AF_UNIX};

    d->listener = -1;
    snprintf(d->folder, sizeof(d->folder), "%s/record-XXXXXX",
             tmp && strlen(tmp) < 40 ? tmp : "/tmp");
    if (mkdtemp(d->folder) == NULL) {
        fprintf(stderr, "dispatchctl: %s: %s\n", d->folder, strerror(errno));
        return false;
    }
    snprintf(d->path, sizeof(d->path), "%s/socket", d->folder);
    snprintf(at.sun_path, sizeof(at.sun_path), "%s", d->path);
    d->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (d->listener >= 0 && bind(d->listener, (struct sockaddr *)&at, sizeof(at)) == 0 &&
        listen(d->listener, SOMAXCONN) == 0)
        return true;
    fprintf(stderr, "dispatchctl: %s: %s\n", d->path, strerror(errno));
    return false;
}

static void door_close(door *d)
{
    if (d->listener >= 0)
        close(d->listener);
    unlink(d->path);
    rmdir(d->folder);
}

/* Start the command with the socket in its environment, and without the signals that this program
 * has come to ignore.  Returns its process; 0: a message was
 * printed. */
static pid_t start_command(char *const *command, const char *socket, const sigset_t *ignored)
{
    posix_spawnattr_t attributes;
    sigset_t none;
    pid_t pid = 0;

    setenv("DISPATCHD_SOCKET", socket, 1);
    unsetenv("DISPATCHD_SESSION"); /* what was made in that session is not in the recording */
    sigemptyset(&none);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, ignored); /* else it would ignore them, too */
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int rc = posix_spawnp(&pid, command[0], NULL, &attributes, command, environ);
    posix_spawnattr_destroy(&attributes);
    if (rc == 0)
        return pid;
    fprintf(stderr, "dispatchctl: cannot start %s: %s\n", command[0], strerror(rc));
    return 0;
}

/* Ignore a signal, and add it to `ignored` if it was not ignored before. */
static void ignore(int number, sigset_t *ignored)
{
    if (signal(number, SIG_IGN) != SIG_IGN)
        sigaddset(ignored, number);
}

/* Return a descriptor that is readable once one of these signals has come.  They are blocked. */
static int signal_descriptor(bool alone, sigset_t *ignored)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    if (alone)
        sigaddset(&set, SIGINT);
    else
        ignore(SIGINT, ignored); /* it is for the command, whose end ends the recording */
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC);
}

/* Return the exit code of a process as a shell gives it. */
static int exit_code_of(pid_t pid)
{
    int status = 0;

    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Record what passes through the door while the command runs; without a command until a signal. */
static int record_through(recorder *w, const door *d, const char *daemon, char *const *command,
                          sigset_t *ignored)
{
    int stop = signal_descriptor(command[0] == NULL, ignored), ended = -1, rc = CLI_OK;
    pid_t pid = 0;

    if (command[0] == NULL) {
        printf("export DISPATCHD_SOCKET=%s\n", d->path);
        fflush(stdout);
    } else if ((pid = start_command(command, d->path, ignored)) == 0) {
        return CLI_ERROR;
    } else {
        ended = pidfd_open(pid, 0);
    }
    proxy_run(w, d->listener, daemon, ended, stop);
    if (pid != 0) {
        if (waitid(P_PID, (id_t)pid, &(siginfo_t){0}, WEXITED | WNOHANG | WNOWAIT) == 0)
            kill(pid, SIGTERM); /* a signal has ended the recording; else it has ended, too */
        rc = exit_code_of(pid);
    }
    if (ended >= 0)
        close(ended);
    close(stop);
    return rc;
}

int record_verb(cli *c)
{
    bool leave_out = take_flag(c, "--without-large");
    char path[108];
    sigset_t ignored;
    recorder w;
    door d;

    if (!words_fit(c, 1, -1))
        return CLI_USAGE;
    char **command = need(calloc((size_t)c->n_words, sizeof(*command)));
    memcpy(command, c->words + 1, (size_t)(c->n_words - 1) * sizeof(*command));
    if (dpc_socket_path(c->socket, path, sizeof(path)) == NULL) {
        free(command);
        return usage(c, "the path of the daemon's socket is too long");
    }
    int rc = CLI_ERROR;
    sigemptyset(&ignored);
    ignore(SIGXFSZ, &ignored); /* a file over the limit of its size is an error of write() */
    if (recorder_open(&w, c->words[0], command, leave_out)) {
        if (door_open(&d))
            rc = record_through(&w, &d, path, command, &ignored);
        door_close(&d);
        uint64_t calls = w.calls;
        if (!recorder_close(&w))
            rc = CLI_ERROR;
        else if (calls == 0 && rc == CLI_OK)
            fprintf(stderr,
                    "dispatchctl: 0 calls in %s: no client has called by the socket that "
                    "DISPATCHD_SOCKET names\n",
                    c->words[0]);
        else if (!c->quiet)
            fprintf(stderr, "dispatchctl: %llu calls in %s\n", (unsigned long long)calls,
                    c->words[0]);
    }
    free(command);
    return rc;
}
