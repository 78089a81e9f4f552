/* main.c -- start, serve, leave.  Exit status: 0 told to leave, 1 could not start, 2 usage. */
#include "server.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static int usage(const dp_error *err)
{
    fprintf(stderr, "dispatchd: %s\n(dispatchd --help lists the options)\n", err->message);
    return 2;
}

static int serve(const options *o)
{
    static server s; /* some hundred KB */
    dp_error err = DP_ERROR_INIT;
    int rc = server_init(&s, o, &err);

    if (rc == 0)
        server_run(&s);
    else
        log_event(LOG_ERROR, "server.start", "error=\"%s\"", err.message);
    if (!server_fini(&s)) {
        log_event(LOG_WARN, "server.leave", "error=\"calls still run; leaving without them\"");
        _exit(rc == 0 ? 0 : 1);
    }
    log_event(LOG_INFO, "server.leave", "status=%d", rc == 0 ? 0 : 1);
    return rc == 0 ? 0 : 1;
}

/* One descriptor a connection, and messages bring more: take what the system allows. */
static void raise_descriptors(void)
{
    struct rlimit r;

    if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < r.rlim_max) {
        r.rlim_cur = r.rlim_max;
        setrlimit(RLIMIT_NOFILE, &r);
    }
}

int main(int argc, char **argv)
{
    dp_error err = DP_ERROR_INIT;
    options o;
    int status = 0;

    signal(SIGPIPE, SIG_IGN);
    raise_descriptors();
    cJSON_InitHooks(&(cJSON_Hooks){dp_malloc, dp_free});
    if (options_parse(&o, argc, argv, &err) < 0) {
        status = usage(&err);
    } else if (o.help) {
        options_help();
    } else if (o.version) {
        printf("dispatchd %s\n", DISPATCHD_VERSION);
    } else if (o.log != NULL && log_open(o.log, &err) < 0) {
        status = usage(&err);
    } else {
        log_level_set(o.log_level);
        status = serve(&o);
    }
    options_fini(&o);
    return status;
}
