/* sleeps.c -- kernels that take their time: `ms` milliseconds, or until a file exists. */
#include <dispatchd/plugin.h>
#include <time.h>
#include <unistd.h>

DP_PLUGIN(sleeps, "1.0")

static int sleeps(dp_ctx *ctx, dp_tensor *self, int64_t ms, dp_tensor **out)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};

    if (ms < 0)
        return dp_fail(ctx, DP_EVALUE, "cannot sleep for %lld ms", (long long)ms);
    nanosleep(&t, NULL);
    *out = dp_tensor_ref(self);
    return 0;
}

static int until(dp_ctx *ctx, dp_tensor *self, dp_str path, dp_tensor **out)
{
    (void)ctx;
    while (access(path.s, F_OK) != 0)
        nanosleep(&(struct timespec){0, 2000000}, NULL);
    *out = dp_tensor_ref(self);
    return 0;
}

DP_LIBRARY(sleeps, DP_DEF("sleep(Tensor self, int ms) -> Tensor"),
           DP_DEF("until(Tensor self, str path) -> Tensor"))
DP_LIBRARY_IMPL(sleeps, CPU, DP_IMPL_UNBOXED("sleep", sleeps, (T, i), (T)),
                DP_IMPL_UNBOXED("until", until, (T, S), (T)))
