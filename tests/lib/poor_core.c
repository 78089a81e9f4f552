/* poor_core.c -- for LD_PRELOAD: OpenBLAS, and nobody else, finds OPENBLAS_CORETYPE=Prescott unless
 * the environment has the variable, so that it "chooses" its oldest kernels on any machine. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

__attribute__((visibility("default"))) char *getenv(const char *name)
{
    static char poor[] = "Prescott";
    size_t n = strlen(name);
    Dl_info caller;

    for (char **e = environ; e != NULL && *e != NULL; e++)
        if (strncmp(*e, name, n) == 0 && (*e)[n] == '=')
            return *e + n + 1;
    if (strcmp(name, "OPENBLAS_CORETYPE") == 0 && dladdr(__builtin_return_address(0), &caller) &&
        strstr(caller.dli_fname, "openblas"))
        return poor;
    return NULL;
}
