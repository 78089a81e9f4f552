/* stubborn.c -- kernels that pass no checkpoint: each runs until there is a file at `path`. */
#include <dispatchd/plugin.h>
#include <time.h>
#include <unistd.h>

DP_PLUGIN(stubborn, "1.0")

static void wait_for(dp_str path)
{
    const struct timespec t = {0, 1000000};

    while (access(path.s, F_OK) != 0)
        nanosleep(&t, NULL);
}

static int hold(dp_ctx *ctx, dp_tensor *self, dp_str path, dp_tensor **out)
{
    (void)ctx;
    wait_for(path);
    *out = dp_tensor_ref(self);
    return 0;
}

/* Writes 7 to every float32 of self, at its end. */
static int hold_(dp_ctx *ctx, dp_tensor *self, dp_str path)
{
    DP_VIEW(x, self);

    (void)ctx;
    wait_for(path);
    for (int64_t i = 0; i < x.numel; i++)
        ((float *)x.data)[i] = 7;
    return 0;
}

static int hold_drawing(dp_ctx *ctx, dp_tensor *self, dp_str path, dp_generator *generator,
                        dp_tensor **out)
{
    int rc = dp_generator_enter(ctx, generator, DP_DEVICE_CPU);

    if (rc < 0)
        return rc;
    wait_for(path);
    dp_generator_leave(ctx);
    *out = dp_tensor_ref(self);
    return 0;
}

DP_LIBRARY(stubborn, DP_DEF("hold(Tensor self, str path) -> Tensor"),
           DP_DEF("hold_(Tensor(a!) self, str path) -> Tensor(a!)"),
           DP_DEF("hold_drawing(Tensor self, str path, *, Generator? generator=None) -> Tensor"))
DP_LIBRARY_IMPL(stubborn, CPU, DP_IMPL_UNBOXED("hold", hold, (T, S), (T)),
                DP_IMPL_UNBOXED("hold_", hold_, (T, S), ()),
                DP_IMPL_UNBOXED("hold_drawing", hold_drawing, (T, S, og), (T)))
