/* starts_thread.c -- has a thread of its own, which runs for ever: its code must stay mapped. */
#include <dispatchd/plugin.h>
#include <pthread.h>
#include <unistd.h>

DP_PLUGIN(starts_thread, "1.0")

static void *run(void *arg)
{
    for (;;)
        usleep(1000);
    return arg;
}

static int on_load(dp_ctx *ctx)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, run, NULL))
        return dp_fail(ctx, DP_ERESOURCE, "no thread");
    pthread_detach(thread);
    return 0;
}

DP_ON_LOAD(on_load)
DP_LIBRARY(starts_thread, DP_DEF("f(Tensor self) -> Tensor"))
