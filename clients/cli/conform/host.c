/* host.c -- daemons that verb conform starts for itself: with the plugins to be checked, and again
 * after a kernel has ended them */
#define _GNU_SOURCE /* for pipe2(), posix_spawn flags */
#include "conform.h"
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { START_MS = 20000, PLUGINS_MOST = 16 };

/* Return the path of a file beside this program, owned: "FOLDER/NAME". */
static char *beside(const char *name)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

    if (n <= 0)
        return text_printf("%s", name);
    self[n] = '\0';
    return text_printf("%s/%s", dirname(self), name);
}

char *find_file(const char *const *names)
{
    char *path = NULL;

    for (; *names != NULL; names++) {
        path = beside(*names);
        if (access(path, R_OK) == 0)
            break;
        if (names[1] != NULL) {
            free(path);
            path = NULL;
        }
    }
    return path;
}

/* -- start and stop -- */

static bool spawn(host *h, char *const *argv)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_init(&attributes);
    /* Ctrl-C is for this command, which then ends the daemon. */
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    int rc = posix_spawnp(&h->pid, argv[0], &actions, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (rc != 0)
        fprintf(stderr, "dispatchctl: cannot start %s: %s\n", argv[0], strerror(rc));
    return rc == 0;
}

/* Print the last line of the daemon's log. */
static void print_log_end(const host *h)
{
    FILE *f = fopen(h->log, "re");
    char line[1024], last[1024] = "it wrote no log";

    while (f != NULL && fgets(line, sizeof(line), f) != NULL)
        memcpy(last, line, sizeof(last));
    if (f != NULL)
        fclose(f);
    last[strcspn(last, "\n")] = '\0';
    fprintf(stderr, "dispatchctl: the daemon that was started has ended: %s\n", last);
}

static bool wait_connected(host *h)
{
    static const struct timespec pause = {0, 2000000};
    dpc_options options = DPC_OPTIONS_INIT;
    dpc_error err;

    options.socket = h->socket;
    for (int i = 0; i < START_MS / 2; i++) {
        if (dpc_connect(&options, &h->c.client, &err) == 0)
            return true;
        if (waitpid(h->pid, NULL, WNOHANG) == h->pid) {
            h->pid = 0;
            print_log_end(h);
            return false;
        }
        nanosleep(&pause, NULL);
    }
    fprintf(stderr, "dispatchctl: %s\n", err.message);
    return false;
}

static bool start(host *h)
{
    static const char *const names[] = {"dispatchd", NULL};
    const char *named = getenv("DISPATCHD");
    char *program = named && *named ? text_printf("%s", named) : find_file(names);
    char *argv[8 + 2 * PLUGINS_MOST] = {program, "--socket", h->socket, "--log", h->log};
    int n = 5;

    for (const char *const *p = h->plugins; *p != NULL && n < 5 + 2 * PLUGINS_MOST; p++) {
        argv[n++] = "--plugin";
        argv[n++] = (char *)*p;
    }
    bool ok = spawn(h, argv) && wait_connected(h);
    free(program);
    return ok;
}

bool host_start(host *h, const char *const *plugins)
{
    const char *tmp = getenv("TMPDIR");

    memset(h, 0, sizeof(*h));
    snprintf(h->folder, sizeof(h->folder), "%s/conform-XXXXXX",
             tmp && strlen(tmp) < 40 ? tmp : "/tmp");
    if (mkdtemp(h->folder) == NULL) {
        fprintf(stderr, "dispatchctl: %s: %s\n", h->folder, strerror(errno));
        h->folder[0] = '\0';
        return false;
    }
    snprintf(h->socket, sizeof(h->socket), "%s/socket", h->folder);
    snprintf(h->log, sizeof(h->log), "%s/log", h->folder);
    h->plugins = plugins;
    h->c.socket = h->socket;
    return start(h);
}

static void end_daemon(host *h)
{
    disconnect(&h->c);
    if (h->pid > 0) {
        kill(h->pid, SIGKILL);
        waitpid(h->pid, NULL, 0);
    }
    h->pid = 0;
}

/* Return what the log's last crash report says of the thread that died, in one line; owned. */
static char *crash_text(const host *h)
{
    FILE *f = fopen(h->log, "re");
    char line[2048], *signal = NULL, *call = NULL;

    while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
        char *at = strstr(line, "server.crash ");
        line[strcspn(line, "\n")] = '\0';
        if (at != NULL) {
            free(signal);
            at += strlen("server.crash ");
            signal = text_printf("%.*s", (int)strcspn(at, " "), at);
        }
        at = strstr(line, "server.crash.call thread=0 ");
        if (at != NULL && call == NULL)
            call = text_printf("%s", strstr(at, "depth=") ? strstr(at, "depth=") : at);
    }
    if (f != NULL)
        fclose(f);
    char *text = text_printf("the daemon ended%s%s%s%s", signal ? ": " : "", signal ? signal : "",
                             call ? " in " : "", call ? call : "");
    free(signal);
    free(call);
    return text;
}

char *host_restart(host *h)
{
    static const struct timespec pause = {0, 10000000};

    /* The report is complete when the process has ended. */
    for (int i = 0; i < 200 && h->pid > 0; i++) {
        if (waitpid(h->pid, NULL, WNOHANG) == h->pid)
            h->pid = 0;
        else
            nanosleep(&pause, NULL);
    }
    char *text = crash_text(h);
    end_daemon(h);
    unlink(h->log);
    if (start(h))
        return text;
    free(text);
    return NULL;
}

void host_stop(host *h)
{
    end_daemon(h);
    if (h->folder[0] == '\0')
        return;
    unlink(h->log);
    unlink(h->socket);
    rmdir(h->folder);
}
