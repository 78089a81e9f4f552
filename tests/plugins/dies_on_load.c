/* dies_on_load.c -- a constructor that takes the process with it, as DIES_BY says. */
/* CFLAGS: -D_GNU_SOURCE */
#include <dispatchd/plugin.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

DP_PLUGIN(dies_on_load, "1.0")
DP_LIBRARY(dies_on_load, DP_DEF("f(Tensor self) -> Tensor"))

__attribute__((constructor)) static void die(void)
{
    const char *by = getenv("DIES_BY");

    if (by && strcmp(by, "abort") == 0)
        abort();
    if (by && strcmp(by, "exit") == 0)
        exit(0);
    while (by && strcmp(by, "sleep") == 0)
        pause();
}
