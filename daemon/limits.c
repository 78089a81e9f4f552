/* limits.c -- the limits in force: the defaults, changed by options, by the config file and by the
 * system's own limits. */
#include "options.h"
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    MIN_CONNECTIONS = 2,
    RESERVED_DESCRIPTORS = 64, /* descriptors for plugins' files, the log and clients' files */
    /* half of those that are not reserved are for connections, rounded up */
    LEAST_DESCRIPTORS = RESERVED_DESCRIPTORS + 2 * MIN_CONNECTIONS - 1
};

/* The values that each limit may have.  A limit without a row is fixed.  A limit whose highest
 * value is its own LIMIT_NAME is the size of arrays: it can only be lowered.  Beyond this table,
 * nothing is needed to make a limit settable, if all of the code uses LIMIT(NAME). */
#define BYTES_MOST ((int64_t)1 << 46)
#define TIME_MOST  ((int64_t)366 * 24 * 60 * 60 * 1000)
static const limit_range ranges[LIMITS] = {
    [LIMIT_AT_LINE_BYTES] = {1024, 1 << 30},
    [LIMIT_AT_ATTACHMENT_BYTES] = {0, BYTES_MOST},
    [LIMIT_AT_ATTACHMENTS] = {0, 1 << 20},
    [LIMIT_AT_OUTSTANDING_DESCRIPTORS] = {1, 1 << 14},
    [LIMIT_AT_MAPS] = {0, 1 << 14},
    [LIMIT_AT_SHARE_FROM] = {4096, BYTES_MOST},
    [LIMIT_AT_WAITING_DESCRIPTORS] = {1, 1 << 14},
    [LIMIT_AT_BATCH] = {1, 1 << 20},
    [LIMIT_AT_JSON_DEPTH] = {16, LIMIT_JSON_DEPTH},
    [LIMIT_AT_JSON_NODES] = {1024, 1 << 28},
    [LIMIT_AT_JSON_NUMBER_BYTES] = {24, LIMIT_JSON_NUMBER_BYTES},
    [LIMIT_AT_OUTSTANDING] = {1, 1 << 20},
    [LIMIT_AT_OUTSTANDING_BYTES] = {1024, BYTES_MOST},
    [LIMIT_AT_CANCEL_BYTES] = {0, 1 << 20},
    [LIMIT_AT_INLINE_BYTES] = {0, 1 << 20},
    [LIMIT_AT_UNSENT_BYTES] = {1024, BYTES_MOST},
    [LIMIT_AT_ANSWER_BYTES] = {64 << 10, (int64_t)16 << 30},
    [LIMIT_AT_ANSWER_ATTACHMENT_BYTES] = {0, BYTES_MOST},
    [LIMIT_AT_CONNECTIONS] = {MIN_CONNECTIONS, 60000},
    [LIMIT_AT_SILENT_MS] = {1, TIME_MOST},
    [LIMIT_AT_SESSIONS] = {1, 1 << 20},
    [LIMIT_AT_UIDS] = {1, 4096},
    [LIMIT_AT_UID_BYTES] = {1, BYTES_MOST},
    [LIMIT_AT_UID_TENSORS] = {1, (int64_t)1 << 40},
    [LIMIT_AT_UID_OBJECTS] = {0, (int64_t)1 << 40},
    [LIMIT_AT_UID_MAPS] = {0, 1 << 20},
    [LIMIT_AT_UID_MEMFDS] = {0, 1 << 20},
    [LIMIT_AT_UID_SESSIONS] = {1, 1 << 20},
    [LIMIT_AT_UID_CONNECTIONS] = {1, 60000},
    [LIMIT_AT_UID_OUTSTANDING] = {1, 1 << 20},
    [LIMIT_AT_UID_DESCRIPTORS] = {1, 1 << 20},
    [LIMIT_AT_UID_WORKERS] = {1, LIMIT_WORKERS},
    [LIMIT_AT_SESSION_MEMFDS] = {0, 1 << 20},
    [LIMIT_AT_SESSION_TENSORS] = {1, (int64_t)1 << 32},
    [LIMIT_AT_SESSION_TENSOR_BYTES] = {1, BYTES_MOST},
    [LIMIT_AT_SESSION_INTERMEDIATES] = {1, (int64_t)1 << 40},
    [LIMIT_AT_SESSION_INTERMEDIATE_BYTES] = {1, BYTES_MOST},
    [LIMIT_AT_SESSION_FAILED] = {1, 1 << 20},
    [LIMIT_AT_SESSION_GENERATORS] = {0, 1 << 24},
    [LIMIT_AT_SESSION_GENERATOR_BYTES] = {0, BYTES_MOST},
    [LIMIT_AT_SESSION_NODES] = {0, (int64_t)1 << 40},
    [LIMIT_AT_SESSION_NODE_BYTES] = {0, BYTES_MOST},
    [LIMIT_AT_GRAPH_NODES] = {1, 1 << 24},
    [LIMIT_AT_CHECK_ELEMENTS] = {1, 1 << 16},
    [LIMIT_AT_CHECK_DRAWS] = {1, 1 << 20},
    [LIMIT_AT_SESSION_OBJECTS] = {0, 1 << 24},
    [LIMIT_AT_SESSION_OBJECT_BYTES] = {0, BYTES_MOST},
    [LIMIT_AT_UID_NAMES] = {0, 1 << 20},
    [LIMIT_AT_UID_NAMED_BYTES] = {0, BYTES_MOST},
    [LIMIT_AT_TENSOR_NAME_BYTES] = {1, LIMIT_TENSOR_NAME_BYTES},
    [LIMIT_AT_STORE_HEADER_BYTES] = {1024, 1 << 30},
    [LIMIT_AT_STORE_TENSORS] = {1, 1 << 20},
    [LIMIT_AT_SESSION_THREADS] = {1, LIMIT_SESSION_THREADS},
    [LIMIT_AT_LINGER_MS] = {0, TIME_MOST},
    [LIMIT_AT_DRAIN_MS] = {0, TIME_MOST},
    [LIMIT_AT_PROGRAM_STEPS] = {1, 1 << 24},
    [LIMIT_AT_PROGRAM_PASSES] = {0, 1 << 16},
    [LIMIT_AT_SESSION_PROGRAMS] = {0, 1 << 24},
    [LIMIT_AT_SESSION_PROGRAM_BYTES] = {0, BYTES_MOST},
    [LIMIT_AT_PROGRAM_CACHE] = {0, LIMIT_PROGRAM_CACHE},
    [LIMIT_AT_PROGRAM_CACHE_BYTES] = {0, BYTES_MOST},
    [LIMIT_AT_PROBE_MS] = {1, 60 * 60 * 1000},
    [LIMIT_AT_WATCH_CHANGES] = {1, 1 << 16},
    [LIMIT_AT_METRIC_SERIES] = {0, 1 << 20},
    [LIMIT_AT_METRIC_FALLBACKS] = {0, 1 << 16},
    [LIMIT_AT_STATUS_FALLBACKS] = {0, 1 << 10},
    [LIMIT_AT_SHADOW_QUEUE] = {0, 1 << 16},
    [LIMIT_AT_SHADOW_BYTES] = {0, BYTES_MOST},
    [LIMIT_AT_SHADOW_MS] = {1, TIME_MOST},
    [LIMIT_AT_CANARY_AHEAD] = {1, 1 << 16},
    [LIMIT_AT_METRIC_SHADOWS] = {0, 1 << 16},
    [LIMIT_AT_STATUS_SHADOWS] = {0, 1 << 16},
    [LIMIT_AT_STUCK_WORKERS] = {0, LIMIT_STUCK_WORKERS},
};

limit_range limits_range(size_t at)
{
    return ranges[at];
}

/* Return half of the machine's memory in bytes: the default limit for a session's tensors with
 * handles, the default limit for everything else that the session's calls allocate, and for a
 * uid's named tensors.  All sessions of a uid together may have twice as much by default. */
static int64_t half_of_memory(void)
{
    int64_t pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);

    return pages > 0 && bytes > 0 ? pages / 2 * bytes : LIMIT_SESSION_TENSOR_BYTES;
}

/* Return how many descriptors the system's limit leaves for connections and shared memory. */
static int64_t free_descriptors(void)
{
    struct rlimit r;

    if (getrlimit(RLIMIT_NOFILE, &r) < 0 || r.rlim_cur > INT32_MAX)
        return INT32_MAX;
    return (int64_t)r.rlim_cur - RESERVED_DESCRIPTORS;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* By default a uid may have an eighth of the free descriptors in memfds, as many on their way to
 * clients, each of which has a number, and as many with its requests.  So one uid cannot take those
 * of another. */
static void fit_descriptors(int64_t limits[LIMITS], int64_t n)
{
    static const int fitted[] = {LIMIT_AT_UID_MEMFDS, LIMIT_AT_UID_MAPS, LIMIT_AT_UID_DESCRIPTORS};

    for (size_t i = 0; i < sizeof(fitted) / sizeof(fitted[0]); i++)
        limits[fitted[i]] = least(limits[fitted[i]], n / 8 > 0 ? n / 8 : 1);
}

/* Lower the limit of connections to what the system's limit of descriptors allows: shared memory
 * may need half of them.  With fewer than MIN_CONNECTIONS connections, a client would have to wait
 * until another client leaves. */
static int fit_connections(int64_t *connections, int64_t n, dp_error *err)
{
    *connections = least(*connections, n - n / 2);
    if (*connections >= MIN_CONNECTIONS)
        return 0;
    return dp_error_set(err, DP_ERESOURCE,
                        "the limit of descriptors (ulimit -n) is %lld, at least %d are needed: %d "
                        "for files, and twice as many as the %d connections",
                        (long long)n + RESERVED_DESCRIPTORS, LEAST_DESCRIPTORS,
                        RESERVED_DESCRIPTORS, MIN_CONNECTIONS);
}

/* By default a uid that is not the daemon's own may have a quarter of the connections and of the
 * sessions, so that it leaves places for the daemon's own uid and for others. */
static int64_t quarter(int64_t most, int64_t n)
{
    return least(most, n / 4 > 0 ? n / 4 : 1);
}

static void fit_uid(const options *o, int64_t limits[LIMITS])
{
    if (o->limits[LIMIT_AT_UID_CONNECTIONS] < 0)
        limits[LIMIT_AT_UID_CONNECTIONS] =
            quarter(LIMIT_UID_CONNECTIONS, limits[LIMIT_AT_CONNECTIONS]);
    if (o->limits[LIMIT_AT_UID_SESSIONS] < 0)
        limits[LIMIT_AT_UID_SESSIONS] = quarter(LIMIT_UID_SESSIONS, limits[LIMIT_AT_SESSIONS]);
}

int limits_compute(const options *o, int64_t out[LIMITS], dp_error *err)
{
    int64_t descriptors = free_descriptors();

    memcpy(out, limit_defaults, sizeof(limit_defaults));
    out[LIMIT_AT_SESSION_TENSOR_BYTES] = out[LIMIT_AT_SESSION_INTERMEDIATE_BYTES] =
        o->session_bytes > 0 ? o->session_bytes : half_of_memory();
    out[LIMIT_AT_UID_NAMED_BYTES] = out[LIMIT_AT_SESSION_TENSOR_BYTES];
    out[LIMIT_AT_UID_BYTES] = 2 * half_of_memory();
    fit_descriptors(out, descriptors);
    for (int i = 0; i < LIMITS; i++)
        if (o->limits[i] >= 0)
            out[i] = o->limits[i];
    if (fit_connections(&out[LIMIT_AT_CONNECTIONS], descriptors, err) < 0)
        return err->code;
    fit_uid(o, out);
    return 0;
}

void limits_apply(const int64_t values[LIMITS])
{
    for (int i = 0; i < LIMITS; i++)
        atomic_store_explicit(&limits_in_force[i], values[i], memory_order_relaxed);
}
