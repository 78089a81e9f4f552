/* systemd.c -- the service manager's protocols, without libsystemd: tells the manager when the
 * daemon is ready and when it stops (sd_notify(3)), and takes a listening socket from the manager
 * (sd_listen_fds(3)). */
#define _GNU_SOURCE
#include "systemd.h"
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { FIRST_FD = 3 /* the first descriptor that is passed: SD_LISTEN_FDS_START */ };

static struct {
    struct sockaddr_un address; /* of $NOTIFY_SOCKET */
    socklen_t address_bytes;    /* 0: nobody waits for messages */
    int listener;
} manager = {.listener = -1};

/* Store the address of $NOTIFY_SOCKET: the path of a socket, or '@' and an abstract name. */
static int set_address(const char *name, dp_error *err)
{
    struct sockaddr_un *a = &manager.address;
    size_t n = strlen(name);

    if ((name[0] != '/' && name[0] != '@') || n < 2 || n >= sizeof(a->sun_path))
        return dp_error_set(err, DP_EVALUE,
                            "NOTIFY_SOCKET is '%s'; expected a path or '@' and a name, of 2 to "
                            "%zu bytes",
                            name, sizeof(a->sun_path) - 1);
    *a = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(a->sun_path, name, n);
    if (name[0] == '@')
        a->sun_path[0] = '\0';
    manager.address_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
    return 0;
}

static bool is_number(const char *text, long want)
{
    char *end;

    return text != NULL && strtol(text, &end, 10) == want && end != text && *end == '\0';
}

int systemd_init(dp_error *err)
{
    const char *notify = getenv("NOTIFY_SOCKET"), *fds = getenv("LISTEN_FDS");
    /* $LISTEN_PID names the process that the descriptors are for: the variables may have been
     * inherited from a parent process that did not remove them. */
    bool passed = fds != NULL && is_number(getenv("LISTEN_PID"), (long)getpid());

    manager.address_bytes = 0;
    manager.listener = -1;
    if (notify != NULL && set_address(notify, err) < 0)
        return err->code;
    if (passed && !is_number(fds, 1))
        return dp_error_set(err, DP_EVALUE, "LISTEN_FDS is '%s'; the daemon serves 1 socket", fds);
    if (passed)
        manager.listener = FIRST_FD;
    unsetenv("NOTIFY_SOCKET");
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    return 0;
}

int systemd_listener(void)
{
    return manager.listener;
}

void systemd_notify(const char *format, ...)
{
    char text[512];
    va_list ap;

    if (manager.address_bytes == 0)
        return;
    va_start(ap, format);
    vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&manager.address,
                         manager.address_bytes) < 0)
        log_event(LOG_WARN, "systemd.notify", "error=\"%s\"", strerror(errno));
    if (fd >= 0)
        close(fd);
}
