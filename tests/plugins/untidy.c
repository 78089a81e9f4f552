/* untidy.c -- changes what it can of the process when it is loaded, and when it is unloaded. */
/* CFLAGS: -D_GNU_SOURCE */
#include <dispatchd/plugin.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

DP_PLUGIN(untidy, "1.0")

static void __attribute__((constructor)) at_load(void)
{
    umask(0);
}

static void __attribute__((destructor)) at_unload(void)
{
    umask(0);
}

static int on_load(dp_ctx *ctx)
{
    struct rlimit files;
    cpu_set_t cpus, one;
    sigset_t set;

    if (getrlimit(RLIMIT_NOFILE, &files) < 0 || sched_getaffinity(0, sizeof(cpus), &cpus) < 0)
        return dp_fail(ctx, DP_ERUNTIME, "it cannot read what it wants to change");
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &cpus))
            CPU_SET(i, &one);
    sched_setaffinity(getpid(), sizeof(one), &one);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    sigemptyset(&set);
    sigaddset(&set, SIGSEGV);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    setlocale(LC_ALL, "C.UTF-8");
    umask(0);
    fesetround(FE_UPWARD);
    files.rlim_cur = 3; /* nothing can be opened any more */
    setrlimit(RLIMIT_NOFILE, &files);
    return chdir("/proc") < 0 ? dp_fail(ctx, DP_ERUNTIME, "no /proc") : 0;
}

static int on_unload(dp_ctx *ctx)
{
    umask(077);
    return chdir("/") < 0 ? dp_fail(ctx, DP_ERUNTIME, "no /") : 0;
}

DP_ON_LOAD(on_load)
DP_ON_UNLOAD(on_unload)
DP_LIBRARY(untidy, DP_DEF("f(Tensor self) -> Tensor"))
