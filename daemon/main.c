/* main.c -- start the daemon, serve, exit.  Exit status: 0 after a regular stop, or after printing
 * the output of an option such as --help; 1 after a failure; 2 for wrong options, or for a --log
 * file that cannot be opened. */
#define _GNU_SOURCE /* for pthread_setattr_default_np() */
#include "cache.h"
#include "crash.h"
#include "server.h"
#include "systemd.h"
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static void say(const char *message)
{
    fprintf(stderr, "dispatchd: %s\n", message);
}

static int usage(const options *o, const dp_error *err)
{
    options_report(o, err, say);
    fputs("(dispatchd --help lists the options)\n", stderr);
    return 2;
}

static int serve(const options *o, int argc, char **argv)
{
    static server s; /* static, because several hundred KB are much for the stack */
    dp_error err = DP_ERROR_INIT;
    int rc = server_init(&s, o, argc, argv, &err);

    if (rc == 0) {
        systemd_notify("READY=1\nSTATUS=serves %s", s.endpoint.path);
        server_run(&s);
    } else {
        log_event(LOG_ERROR, "server.start", "error=\"%s\"", err.message);
    }
    if (!server_fini(&s)) {
        log_event(LOG_WARN, "server.leave", "error=\"calls still run; leaving without them\"");
        _exit(rc == 0 ? 0 : 1);
    }
    log_event(LOG_INFO, "server.leave", "status=%d", rc == 0 ? 0 : 1);
    return rc == 0 ? 0 : 1;
}

/* Print the answer of plugin.describe in the format of dispatchctl. */
static int describe(const options *o, dp_error *err)
{
    const char *path;
    dp_arena *a = dp_arena_new();
    dp_manifest m;

    if (a == NULL) {
        dp_error_set(err, DP_ERESOURCE, "out of memory: a manifest");
    } else if (plugin_file(o->describe, o->plugin_path, a, &path, err) == 0 &&
               dp_manifest_read(path, a, &m, err) == 0) {
        printf("%s %s, plugin interface %u.%u", m.plugin, m.version, m.abi_major, m.abi_minor);
        if (m.abi_draft != 0)
            printf(", draft %u", m.abi_draft);
        printf("\n\n%s", m.text);
        for (uint32_t i = 0; i < m.n_warnings; i++)
            printf("warning: %s\n", m.warnings[i]);
    }
    dp_arena_free(a);
    if (err->code != 0)
        fprintf(stderr, "dispatchd: %s\n", err->message);
    return err->code != 0;
}

/* Raise the limit of descriptors to the hard limit, but at most to DESCRIPTORS_MOST: every
 * connection needs a descriptor, and messages can bring more.  A limit that is higher already
 * stays. */
static void raise_descriptors(void)
{
    enum { DESCRIPTORS_MOST = 1 << 16 };
    struct rlimit r;

    if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < r.rlim_max &&
        r.rlim_cur < DESCRIPTORS_MOST) {
        r.rlim_cur = r.rlim_max < DESCRIPTORS_MOST ? r.rlim_max : DESCRIPTORS_MOST;
        setrlimit(RLIMIT_NOFILE, &r);
    }
}

/* Set the stack size of this thread and of future threads.  A kernel needs up to several hundred
 * KiB of stack; nested calls need more.  By default a new thread's stack has the size of `ulimit
 * -s`, or 2 MiB if that is unlimited; the main thread's stack grows up to the limit. */
static int size_stacks(dp_error *err)
{
    enum { DEFAULT_BYTES = 8 << 20, MIN_BYTES = 1 << 20 };
    pthread_attr_t attr;
    struct rlimit r;

    if (getrlimit(RLIMIT_STACK, &r) < 0 || pthread_attr_init(&attr) != 0)
        return 0;
    if (r.rlim_cur < DEFAULT_BYTES) {
        r.rlim_cur = r.rlim_max < DEFAULT_BYTES ? r.rlim_max : DEFAULT_BYTES;
        setrlimit(RLIMIT_STACK, &r);
    }
    if (r.rlim_cur < MIN_BYTES)
        return dp_error_set(err, DP_ERESOURCE, "a stack of %llu KiB (ulimit -s), needed are %d",
                            (unsigned long long)r.rlim_cur >> 10, MIN_BYTES >> 10);
    size_t bytes = r.rlim_cur == RLIM_INFINITY || r.rlim_cur < DEFAULT_BYTES ? DEFAULT_BYTES
                                                                             : (size_t)r.rlim_cur;
    pthread_attr_setstacksize(&attr, bytes);
    pthread_setattr_default_np(&attr);
    pthread_attr_destroy(&attr);
    return 0;
}

/* Open descriptors 0, 1 and 2 on /dev/null if the parent process has closed them.  Otherwise a
 * socket could get one of these numbers: output for the terminal would then go to a client, and
 * libuv aborts when it closes such a descriptor. */
static void fill_standard_descriptors(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

/* Bound the free memory that malloc keeps at the top of each thread's arena.  By default the C
 * library raises that bound to twice the largest block that was ever freed, up to 64 MiB: after
 * many clients that did not read their answers, hundreds of MiB would stay allocated. */
static void bound_free_memory(void)
{
    enum {
        /* MAPPED_MIN is the largest value that mallopt() accepts. */
        MAPPED_MIN = 32 << 20,
        TOP_MAX = 8 << 20
    };

    mallopt(M_MMAP_THRESHOLD, MAPPED_MIN);
    mallopt(M_TRIM_THRESHOLD, TOP_MAX);
}

int main(int argc, char **argv)
{
    dp_error err = DP_ERROR_INIT;
    options o;
    int status = 0;

    fill_standard_descriptors();
    signal(SIGPIPE, SIG_IGN);
    /* writing beyond the file size limit is an error of that write, not a reason to exit */
    signal(SIGXFSZ, SIG_IGN);
    cJSON_InitHooks(&(cJSON_Hooks){dp_malloc, dp_free});
    if (options_parse(&o, argc, argv, &err) < 0) {
        status = usage(&o, &err);
    } else if (o.help) {
        options_help();
    } else if (o.version) {
        printf("dispatchd %s\n", DISPATCHD_VERSION);
    } else if (o.check_config) {
        status = 0; /* options_parse() has read the file */
    } else if (o.describe != NULL) {
        status = describe(&o, &err);
    } else if (o.probe != NULL) {
        probe_file(o.probe);
    } else if (o.log != NULL && log_open(o.log, &err) < 0) {
        status = usage(&o, &err);
    } else if (systemd_init(&err) < 0 || size_stacks(&err) < 0) {
        fprintf(stderr, "dispatchd: %s\n", err.message);
        status = 1;
    } else {
        raise_descriptors();
        bound_free_memory();
        log_level_set(o.log_level);
        log_format_set(o.log_format);
        crash_watch();
        status = serve(&o, argc, argv);
    }
    options_fini(&o);
    return status;
}
