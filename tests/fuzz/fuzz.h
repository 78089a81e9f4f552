/* fuzz.h -- what every fuzzer needs: checks, and the promise that no code of an input is loaded.
 *
 * A fuzzer is one C file, NAME.c, to whose LLVMFuzzerTestOneInput() libFuzzer gives one input after
 * another.  It is linked with the project's objects, without main.o and probe.o. */
#ifndef FUZZ_H
#define FUZZ_H

#include "request.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Stop with a crash, so that libFuzzer stores the input, unless `ok`.  The other arguments are
 * printed. */
#define FUZZ_CHECK(ok, ...)                                                                        \
    do {                                                                                           \
        if (!(ok)) {                                                                               \
            fprintf(stderr, "%s:%d: %s does not hold: ", __FILE__, __LINE__, #ok);                 \
            fprintf(stderr, __VA_ARGS__);                                                          \
            fprintf(stderr, "\n");                                                                 \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The linker puts this function in the place of dlopen() (-Wl,--wrap): to load a file made by a
 * fuzzer would run whatever is in it. */
void *__wrap_dlopen(const char *path, int flags);
void *__wrap_dlopen(const char *path, int flags)
{
    FUZZ_CHECK(false, "dlopen('%s', %d)", path != NULL ? path : "", flags);
    return NULL;
}

/* This function takes the place of that in probe.c, so that no client loads a file. */
int probe(const char *copy, dp_error *err)
{
    return dp_error_set(err, DP_EPLUGIN, "'%s': fuzzers load no files", copy);
}

#endif
