/* forgets_thread.c -- starts a thread and does not end it when it is unloaded, unless it was told.
 */
#include <dispatchd/plugin.h>
#include <stdatomic.h>
#include <unistd.h>

DP_PLUGIN(forgets_thread, "1.0")

static atomic_bool stop;
static atomic_llong ticks;

static void run(dp_ctx *ctx, void *arg)
{
    (void)ctx, (void)arg;
    while (!atomic_load(&stop)) {
        atomic_fetch_add(&ticks, 1);
        usleep(1000);
    }
}

static int on_load(dp_ctx *ctx)
{
    uint64_t id;

    return dp_thread_start(ctx, "forgotten", run, NULL, &id);
}

static int ticked(dp_ctx *ctx, int64_t *out)
{
    (void)ctx;
    *out = atomic_load(&ticks);
    return 0;
}

static int tell(dp_ctx *ctx, int64_t *out)
{
    atomic_store(&stop, true);
    return ticked(ctx, out);
}

DP_ON_LOAD(on_load)
DP_LIBRARY(forgets_thread, DP_DEF("ticked() -> int"), DP_DEF("tell() -> int"))
DP_LIBRARY_IMPL(forgets_thread, CompositeExplicitAutograd,
                DP_IMPL_UNBOXED("ticked", ticked, (), (i)), DP_IMPL_UNBOXED("tell", tell, (), (i)))
