/* config.c -- fuzzes the config file: an input is the content of one. */
#define _GNU_SOURCE
#include "fuzz.h"
#include "options.h"
#include <sys/mman.h>
#include <unistd.h>

static char path[64]; /* of the config file, which is in memory */
static int file = -1;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    file = memfd_create("config", MFD_CLOEXEC);
    FUZZ_CHECK(file >= 0, "no memfd");
    snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    return 0;
}

/* Check that every limit that the file has set is in its range, and that the limits go together. */
static void check_limits(const options *o)
{
    int64_t all[LIMITS];
    dp_error err = DP_ERROR_INIT;

    for (size_t i = 0; i < LIMITS; i++) {
        limit_range r = limits_range(i);
        FUZZ_CHECK(o->limits[i] == -1 || (o->limits[i] >= r.low && o->limits[i] <= r.high),
                   "%s = %lld", limit_names[i], (long long)o->limits[i]);
    }
    int rc = limits_compute(o, all, &err);
    FUZZ_CHECK(rc == 0 || rc == DP_ERESOURCE, "%d: %s", rc, err.message);
    for (size_t i = 0; i < LIMITS; i++)
        FUZZ_CHECK(all[i] >= 0, "%s = %lld", limit_names[i], (long long)all[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *argv[] = {"dispatchd", "--config", path, NULL};
    dp_error err = DP_ERROR_INIT;
    options o;

    FUZZ_CHECK(ftruncate(file, 0) == 0 && pwrite(file, data, size, 0) == (ssize_t)size,
               "cannot write the file");
    int rc = options_parse(&o, 3, argv, &err);
    if (rc == 0)
        check_limits(&o);
    else
        FUZZ_CHECK(rc == DP_EVALUE && strstr(err.message, path) != NULL, "%d: %s", rc, err.message);
    options_fini(&o);
    return 0;
}
