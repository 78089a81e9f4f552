/* deaf.c -- its on_load has the process ignore the signals that would end it. */
#include <dispatchd/plugin.h>
#include <signal.h>

DP_PLUGIN(deaf, "1.0")

static int on_load(dp_ctx *ctx)
{
    (void)ctx;
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_DFL);
    return 0;
}

DP_ON_LOAD(on_load)
DP_LIBRARY(deaf, DP_DEF("f(Tensor self) -> Tensor"))
