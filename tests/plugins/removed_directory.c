/* removed_directory.c -- moves the process into a directory and removes that, when it is loaded. */
#include <dispatchd/plugin.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

DP_PLUGIN(removed_directory, "1.0")

static int on_load(dp_ctx *ctx)
{
    const char *parent = getenv("TMPDIR");
    char path[4096];

    if (parent == NULL)
        return dp_fail(ctx, DP_ERUNTIME, "TMPDIR is not set");
    snprintf(path, sizeof(path), "%s/removed-XXXXXX", parent);
    if (mkdtemp(path) == NULL || chdir(path) < 0 || rmdir(path) < 0)
        return dp_fail(ctx, DP_ERUNTIME, "it cannot use '%s'", path);
    return 0;
}

DP_ON_LOAD(on_load)
DP_LIBRARY(removed_directory, DP_DEF("f(Tensor self) -> Tensor"))
