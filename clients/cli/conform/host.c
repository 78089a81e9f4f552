/* host.c -- daemons that verb conform starts for itself: with the plugins to be checked, and again
 * after a kernel has ended them */
#include "conform.h"
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { START_MS = 20000, PLUGINS_MOST = 16, END_TIMES = 200 };

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

char *host_plugin(const char *word)
{
    struct stat st;

    if (strchr(word, '/') == NULL && stat(word, &st) == 0 && S_ISREG(st.st_mode))
        return text_printf("./%s", word);
    return text_printf("%s", word);
}

/* -- files -- */

static void remove_files(const host *h)
{
    unlink(h->log);
    unlink(h->socket);
    unlink(h->lock);
    rmdir(h->folder);
}

/* Daemons that the handler of signals ends, and whose files it removes. */
static const host *volatile open_hosts[2];

static void on_signal(int number)
{
    for (size_t i = 0; i < COUNT(open_hosts); i++)
        if (open_hosts[i] != NULL) {
            if (open_hosts[i]->pid > 0)
                kill(open_hosts[i]->pid, SIGTERM); /* it removes its copies of plugins */
            remove_files(open_hosts[i]);
        }
    signal(number, SIG_DFL);
    raise(number);
}

static void watch_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};

    for (size_t i = 0; i < COUNT(numbers); i++) {
        void (*before)(int) = signal(numbers[i], on_signal);
        if (before != SIG_DFL && before != on_signal)
            signal(numbers[i], before); /* that of the verb, or SIG_IGN of nohup */
    }
}

/* -- start and stop -- */

/* Replace the child by the daemon, which ends with this command however that ends. */
static void become(char *const *argv, pid_t parent)
{
    int null = open("/dev/null", O_RDWR);

    setpgid(0, 0); /* Ctrl-C is for this command, which then ends the daemon */
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(127);
    for (int fd = 0; fd < 3 && null >= 0; fd++)
        dup2(null, fd);
    execvp(argv[0], argv);
    _exit(127);
}

static bool spawn(host *h, char *const *argv)
{
    pid_t parent = getpid();

    if (access(argv[0], X_OK) != 0) {
        fprintf(stderr, "dispatchctl: cannot start %s: %s\n", argv[0], strerror(errno));
        return false;
    }
    h->pid = fork();
    if (h->pid == 0)
        become(argv, parent);
    if (h->pid < 0) {
        fprintf(stderr, "dispatchctl: no process for %s: %s\n", argv[0], strerror(errno));
        h->pid = 0;
    }
    return h->pid > 0;
}

/* Print the last error of the daemon's log, or its last line. */
static void print_log_end(const host *h)
{
    FILE *f = fopen(h->log, "re");
    char line[1024], last[1024] = "it wrote no log";
    bool failed = false;

    while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
        bool fails = strstr(line, " error ") != NULL;
        if (fails || !failed)
            memcpy(last, line, sizeof(last));
        failed = failed || fails;
    }
    if (f != NULL)
        fclose(f);
    last[strcspn(last, "\n")] = '\0';
    fprintf(stderr, "dispatchctl: the daemon that was started has ended: %s\n", last);
}

bool host_connect(cli *c)
{
    dpc_options to = DPC_OPTIONS_INIT;
    dpc_error err;

    to.socket = c->socket;
    to.session_key = c->session;
    to.timeout_ms = CONFORM_CONNECT_MS;
    return dpc_connect(&to, &c->client, &err) == 0 || (print_lost(&err), false);
}

static bool wait_connected(host *h)
{
    static const struct timespec pause = {0, 2000000};
    dpc_options options = DPC_OPTIONS_INIT;
    dpc_error err;

    options.socket = h->socket;
    options.timeout_ms = CONFORM_CONNECT_MS;
    for (int i = 0; i < START_MS / 2; i++) {
        int rc = dpc_connect(&options, &h->c.client, &err);
        if (rc == 0)
            return true;
        if (rc == DPC_ETIMEOUT)
            break;
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
    snprintf(h->lock, sizeof(h->lock), "%s.lock", h->socket);
    snprintf(h->log, sizeof(h->log), "%s/log", h->folder);
    open_hosts[open_hosts[0] != NULL] = h;
    watch_signals();
    h->plugins = plugins;
    h->c.socket = h->socket;
    return start(h);
}

/* Wait for the end of the daemon's process for so many times 10 ms. */
static void wait_ended(host *h, int times)
{
    static const struct timespec pause = {0, 10000000};

    for (int i = 0; i < times && h->pid > 0; i++) {
        if (waitpid(h->pid, NULL, WNOHANG) == h->pid)
            h->pid = 0;
        else
            nanosleep(&pause, NULL);
    }
}

/* End the daemon: by SIGTERM, so that it removes its copies of plugins; a kernel that does not end
 * makes it SIGKILL. */
static void end_daemon(host *h)
{
    disconnect(&h->c);
    if (h->pid > 0)
        kill(h->pid, SIGTERM);
    wait_ended(h, END_TIMES);
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
    /* The report is complete when the process has ended. */
    wait_ended(h, END_TIMES);
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
    for (size_t i = 0; i < COUNT(open_hosts); i++)
        if (open_hosts[i] == h)
            open_hosts[i] = NULL;
    remove_files(h);
}
