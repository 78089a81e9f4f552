/* limits.c -- the limits in force: the defaults, changed by options and by the system's own
 * limits. */
#include "server.h"
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    MIN_CONNECTIONS = 2,
    RESERVED_DESCRIPTORS = 64 /* descriptors for plugins' files, the log and clients' files */
};

/* Return half of the machine's memory in bytes: the default limit for a session's tensors with
 * handles, and the default limit for everything else that the session's calls allocate. */
static int64_t half_of_memory(void)
{
    int64_t pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);

    return pages > 0 && bytes > 0 ? pages / 2 * bytes : LIMIT_SESSION_TENSOR_BYTES;
}

void limits_init(server *s)
{
    int64_t *limits = s->limits;
    struct rlimit r;

    memcpy(limits, limit_defaults, sizeof(limit_defaults));
    limits[LIMIT_AT_LINE_BYTES] = s->options->max_line;
    limits[LIMIT_AT_ATTACHMENT_BYTES] = s->options->max_attachment;
    limits[LIMIT_AT_SESSION_TENSOR_BYTES] = limits[LIMIT_AT_SESSION_INTERMEDIATE_BYTES] =
        s->options->session_bytes > 0 ? s->options->session_bytes : half_of_memory();
    if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < LIMIT_CONNECTIONS + RESERVED_DESCRIPTORS)
        limits[LIMIT_AT_CONNECTIONS] = (int64_t)r.rlim_cur - RESERVED_DESCRIPTORS;
}

/* With fewer than MIN_CONNECTIONS connections, a client would have to wait until another client
 * leaves. */
int limits_check(const server *s, dp_error *err)
{
    int64_t connections = s->limits[LIMIT_AT_CONNECTIONS];

    if (connections >= MIN_CONNECTIONS)
        return 0;
    return dp_error_set(err, DP_ERESOURCE,
                        "the limit of descriptors (ulimit -n) is %lld, at least %d are needed: %d "
                        "for files and %d for connections",
                        (long long)connections + RESERVED_DESCRIPTORS,
                        RESERVED_DESCRIPTORS + MIN_CONNECTIONS, RESERVED_DESCRIPTORS,
                        MIN_CONNECTIONS);
}
