/* thread_before_failing.c -- its on_load starts a thread and then refuses; the thread ends later.
 */
#include <dispatchd/plugin.h>
#include <unistd.h>

DP_PLUGIN(thread_before_failing, "1.0")

static void run(dp_ctx *ctx, void *arg)
{
    (void)ctx, (void)arg;
    usleep(100000);
}

static int on_load(dp_ctx *ctx)
{
    uint64_t id;
    int rc = dp_thread_start(ctx, "late", run, NULL, &id);

    return rc ? rc : dp_fail(ctx, DP_ERUNTIME, "no device of kind 'threads' is there");
}

DP_ON_LOAD(on_load)
DP_LIBRARY(thread_before_failing, DP_DEF("f() -> int"))
