/* puts_environment.c -- puts a string of its own memory into the environment. */
#define _XOPEN_SOURCE 700 /* putenv */
#include <dispatchd/plugin.h>
#include <stdlib.h>

static char variable[] = "PUTS_ENVIRONMENT=1";

static int put(dp_ctx *ctx)
{
    (void)ctx;
    return putenv(variable);
}

DP_PLUGIN(puts_environment, "1.0")
DP_ON_LOAD(put)
DP_LIBRARY(puts_environment, DP_DEF("f(Tensor self) -> Tensor"))
