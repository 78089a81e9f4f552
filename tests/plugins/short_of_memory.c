/* short_of_memory.c -- lets a test make allocations of the daemon fail.
 *
 * At its load, the plugin connects to the socket that $SHORT_OF_MEMORY names.  For each command
 * that the test writes there (an int64 in the machine's byte order), the plugin's thread answers
 * another int64.  Command n >= 0: the n-th allocation from now on fails, 0: none; the answer is 1
 * if an allocation has failed since the last such command, else 0.  Command -1: the answer is the
 * number of bytes that the C library has handed out.  The thread allocates nothing. */
#define _GNU_SOURCE /* for RTLD_DEFAULT */
#include <dispatchd/plugin.h>
#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

DP_PLUGIN(short_of_memory, "1.0")

enum { IN_USE = -1 };

/* The host's functions are not for plugins, so that this plugin must look them up. */
static void (*arm)(uint64_t n);
static bool (*hit)(void);
static int fd = -1;
static uint64_t thread;

static void serve(dp_ctx *ctx, void *arg)
{
    int64_t command;

    (void)ctx, (void)arg;
    while (recv(fd, &command, sizeof(command), MSG_WAITALL) == sizeof(command)) {
        int64_t answer = hit();
        if (command == IN_USE) {
            struct mallinfo2 info = mallinfo2();
            answer = (int64_t)(info.uordblks + info.hblkhd);
        } else {
            arm((uint64_t)command);
        }
        if (send(fd, &answer, sizeof(answer), MSG_NOSIGNAL) != sizeof(answer))
            break;
    }
    arm(0);
}

static int on_load(dp_ctx *ctx)
{
    const char *path = getenv("SHORT_OF_MEMORY");
    struct sockaddr_un to = {.sun_family = AF_UNIX};

    arm = (void (*)(uint64_t))dlsym(RTLD_DEFAULT, "dp_fault_arm");
    hit = (bool (*)(void))dlsym(RTLD_DEFAULT, "dp_fault_hit");
    if (path == NULL || strlen(path) >= sizeof(to.sun_path) || arm == NULL || hit == NULL)
        return dp_fail(ctx, DP_EVALUE, "SHORT_OF_MEMORY is '%s': expected the path of a socket",
                       path ? path : "");
    dp_copy_n(to.sun_path, path, strlen(path) + 1, 1);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
        return dp_fail(ctx, DP_ERUNTIME, "no connection to '%s'", path);
    return dp_thread_start(ctx, "short_of_memory", serve, NULL, &thread);
}

static int on_unload(dp_ctx *ctx)
{
    shutdown(fd, SHUT_RDWR);
    int rc = dp_thread_join(ctx, thread, 10000);
    close(fd);
    return rc;
}

DP_ON_LOAD(on_load)
DP_ON_UNLOAD(on_unload)
