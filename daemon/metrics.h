/* metrics.h -- counts and times of requests and calls, which server.metrics answers.
 *
 * The daemon counts per request and per call of op.call, never inside the library: a request takes
 * microseconds, a call of the library tens of nanoseconds.  The counters of one uid are a
 * metric_table.  The table `all` has the counters of all uids together, and each uid that is not
 * the daemon's own has a table of its own (user.figures), which is all that its clients see. */
#ifndef DAEMON_METRICS_H
#define DAEMON_METRICS_H

#include "fallbacks.h"
#include "request.h"
#include <sys/types.h>

enum {
    METRIC_BOUNDS = 15,                 /* upper bounds of a histogram */
    METRIC_BUCKETS = METRIC_BOUNDS + 1, /* the last bucket has no upper bound */
    METRIC_HEADS = 1 << 10,             /* lists of the hash table of series */
};
extern const uint64_t metric_bounds[METRIC_BOUNDS]; /* nanoseconds, ascending */

typedef struct metric_times {
    uint64_t buckets[METRIC_BUCKETS]; /* times that are at most the bound, and above the last one */
    uint64_t nanos;                   /* sum of the times */
} metric_times;

/* The calls of one kernel by op.call.  The series of kernels whose code is unmapped (gone) are
 * folded: one series has the sums for an operator, key and plugin. */
struct metric_series {
    struct metric_series *next; /* in its list of the hash table */
    /* number of the kernel (DP_KERNEL_BELOW()); 0: the series of kernels that are gone */
    uint64_t kernel;
    const char *op; /* lives as long as the registry; "": the series of all calls over the limit */
    char key[DP_KEY_NAME_MAX];
    char plugin[DP_LIMIT_NAME_BYTES + 1];
    uint64_t generation;
    uint64_t errors;
    metric_times times;
};
typedef struct metric_series metric_series;

/* The failures that are counted: one for each code of DP_ERROR_MAP, and the errors of JSON-RPC. */
#define METRIC_FAILURE_(code, number, wire, text) FAILURE_##code,
enum {
    DP_ERROR_MAP(METRIC_FAILURE_) FAILURE_PARSE, /* -32700 */
    FAILURE_REQUEST,                             /* -32600 */
    FAILURE_METHOD,                              /* -32601 */
    FAILURE_PARAMS,                              /* -32602 */
    FAILURES
};
#undef METRIC_FAILURE_
extern const char *const metric_failures[FAILURES];

/* Requests of one method.  The last but one element of metric_table.methods is for batches, the
 * last one for messages without a known method. */
typedef struct metric_method {
    metric_times times;
    uint64_t failures[FAILURES];
} metric_method;

/* Limits of the daemon, of the library and of programs, in this order. */
enum { METRIC_LIMITS = LIMITS + LIBRARY_LIMITS };
const char *metric_limit_name(size_t i); /* i < METRIC_LIMITS */

typedef struct metric_table {
    struct metric_table *next;
    struct metrics *metrics; /* borrowed */
    metric_series *heads[METRIC_HEADS];
    size_t n_series;
    metric_series over;     /* calls of kernels for which there was no series left or no memory */
    metric_method *methods; /* [n_methods + 2], owned */
    uint64_t refusals[METRIC_LIMITS];
    fallback_table fallbacks;
} metric_table;

/* The longest turn of the event loop, for each part (slot) of the time that the figure covers. */
enum { TURN_SLOTS = 5, TURN_SLOT_MS = 15000 };
typedef struct loop_turns {
    uint64_t began; /* time (nanos()) when the turn began; 0: the loop waits.  Main thread only */
    /* number of the slot, by time, whose longest turn an element of `longest` is */
    atomic_uint_fast64_t slot[TURN_SLOTS], longest[TURN_SLOTS];
} loop_turns;

typedef struct metrics {
    /* of the tables.  Every request takes it once, at its end, so it is held for microseconds */
    pthread_mutex_t lock;
    /* taken before `lock` by workers that fold or copy tables; protects `foreign` */
    pthread_mutex_t fold;
    metric_table all;
    metric_table *foreign; /* the tables of other uids */
    loop_turns turns;
} metrics;

int metrics_init(metrics *m, dp_error *err);
void metrics_fini(metrics *m);
/* Make a table for a uid that is not the daemon's own.  NULL: out of memory.  Any thread. */
metric_table *metrics_table_new(metrics *m, dp_error *err);
void metrics_table_free(metric_table *t); /* NULL is allowed; any thread */

/* -- counting; any thread; `own` is the table of the client's uid, NULL for the daemon's own -- */

/* Begin to measure the call `b` in context `ctx`, without a lock.  `kernel`: the result of
 * dp_bound_kernel(); 0: the call will fail, and is not measured. */
void metrics_begin(dp_ctx *ctx, const dp_bound *b, uint64_t kernel, metric_call *out);
void metrics_call(metrics *m, metric_table *own, const metric_call *c); /* Count a call. */
/* Count a request of method `which` (index into `methods`; n_methods: a batch), which took `nanos`,
 * and the call `c`, if `c->from.id` is not 0.  The lock is taken once. */
void metrics_request(metrics *m, metric_table *own, size_t which, uint64_t nanos,
                     const metric_call *c);
/* Count the calls that fell back in a request, which are the `n` counts of its context. */
void metrics_fallbacks(metrics *m, metric_table *own, const dp_fallback_count *counts, size_t n);
/* Count the failure of a request of method `which` (n_methods + 1: none) with `*err`.  `rpc`: the
 * code of JSON-RPC.  If the error is due to a limit (dp_error_refusal()), that refusal is counted,
 * too. */
void metrics_failure(metrics *m, metric_table *own, size_t which, int rpc, const dp_error *err);

/* -- reading -- */

/* A copy of a table's counters, in an arena. */
typedef struct metric_copy {
    /* [n_series], sorted by operator, key, plugin and generation; kernels that are gone first */
    metric_series *series;
    size_t n_series;
    metric_method *methods; /* [n_methods + 2] */
    metric_series over;
    uint64_t refusals[METRIC_LIMITS];
} metric_copy;
/* Copy the counters of table `t` into `a`.  A worker. */
int metrics_copy(metrics *m, const metric_table *t, dp_arena *a, metric_copy *out, dp_error *err);
/* Copy the counts of calls that fell back, of operator `op` or, if that is NULL, of all operators,
 * the operators with the most calls first: *out [*n], in `a`. */
int metrics_fallbacks_copy(metrics *m, const metric_table *t, const char *op, dp_arena *a,
                           dp_fallback_count **out, size_t *n, dp_error *err);
/* Fold the series of kernels whose generation is none of `live` [n], which gets sorted.  A
 * worker. */
void metrics_fold(metrics *m, uint64_t *live, size_t n);

/* -- turns of the event loop -- */

/* The event loop began to work at the time `now` (nanos()), after a wait.  Main thread. */
static inline void turn_begin_at(loop_turns *t, uint64_t now)
{
    if (t->began == 0)
        t->began = now;
}
static inline void turn_begin(loop_turns *t) /* It begins now. */
{
    if (t->began == 0)
        t->began = nanos();
}
void turn_end(loop_turns *t); /* The event loop is about to wait.  Main thread. */
/* Return the length, in nanoseconds, of the longest turn that ended in the last TURN_SLOTS slots.
 * Any thread. */
uint64_t turns_longest(loop_turns *t, uint64_t now);

#endif
