/* daemon.h -- declarations for every file of the daemon: version, limits, clock, growable arrays,
 * log. */
#ifndef DAEMON_H
#define DAEMON_H

#include <dispatchd/dispatch.h>
#include <dispatchd/program.h>
#include <pthread.h>
#include <stdatomic.h>

#define DISPATCHD_VERSION "0.1.0"

/* Limits that a client can reach: X(NAME, name, default).  server.hello reports each limit by
 * `name`, with the value in force: options and the system's own limits change some of them. */
#define LIMIT_MAP(X)                                                                               \
    X(LINE_BYTES, line_bytes, 1 << 20)              /* --max-line */                               \
    X(ATTACHMENT_BYTES, attachment_bytes, 1 << 30)  /* sum per message; --max-attachment */        \
    X(ATTACHMENTS, attachments, 1024)               /* per message */                              \
    X(DESCRIPTORS, descriptors, 16)                 /* file descriptors per message */             \
    X(WAITING_DESCRIPTORS, waiting_descriptors, 32) /* received before their line; server-wide */  \
    X(OUTSTANDING_DESCRIPTORS, outstanding_descriptors, 32) /* of requests not yet answered */     \
    X(MAPS, maps, 256)                  /* memfds with a number, per connection */                 \
    X(SHARE_FROM, share_from, 64 << 10) /* least `share_from` of session.set */                    \
    X(BATCH, batch, 1000)               /* requests in one batch */                                \
    X(JSON_DEPTH, json_depth, 128)                                                                 \
    X(JSON_NODES, json_nodes, 1 << 20)          /* values in one line */                           \
    X(JSON_NUMBER_BYTES, json_number_bytes, 63) /* longest number */                               \
    X(OUTSTANDING, outstanding, 1000) /* per connection: requests read and not yet answered */     \
    X(OUTSTANDING_BYTES, outstanding_bytes, 1 << 20) /* bytes of the outstanding requests */       \
    X(CANCEL_BYTES, cancel_bytes, 512)       /* a longer call.cancel is queued like a request */   \
    X(INLINE_BYTES, inline_bytes, 4 << 10)   /* longer data is left to worker threads */           \
    X(UNSENT_BYTES, unsent_bytes, 4 << 20)   /* with this much unsent, nothing more is read */     \
    X(ANSWER_BYTES, answer_bytes, 256 << 20) /* JSON text of one answer */                         \
    X(ANSWER_ATTACHMENT_BYTES, answer_attachment_bytes, 1 << 30) /* sum per answer */              \
    X(CONNECTIONS, connections, 1024) /* less if RLIMIT_NOFILE is low */                           \
    X(SILENT_MS, silent_ms, 5000)     /* a client silent for longer may give way to a new one */   \
    X(SESSIONS, sessions, 4096)       /* a new session may end one that has no connection */       \
    X(UIDS, uids, 256) /* a new uid may replace one that holds nothing; never the daemon's own */  \
    X(UID_BYTES, uid_bytes,                                                                        \
      (int64_t)1 << 46) /* all that sessions of a uid hold; by default, the machine's memory */    \
    X(UID_TENSORS, uid_tensors, 1 << 22) /* handles of tensors, of all sessions of a uid */        \
    X(UID_OBJECTS, uid_objects, 1 << 14) /* objects of plugins, and handles of objects */          \
    X(UID_MAPS, uid_maps, 4096)          /* memfds with a number, of all its connections; */       \
    X(UID_MEMFDS, uid_memfds, 8192)      /* memfds; both less if RLIMIT_NOFILE is low */           \
    /* for each uid that is not the daemon's own: */                                               \
    X(UID_SESSIONS, uid_sessions, 1024)                                                            \
    X(UID_CONNECTIONS, uid_connections, 256)                                                       \
    X(UID_OUTSTANDING, uid_outstanding, 1 << 14) /* requests, of all connections of the uid */     \
    X(UID_DESCRIPTORS, uid_descriptors,                                                            \
      4096)                         /* of these requests; less if RLIMIT_NOFILE is low */          \
    X(UID_WORKERS, uid_workers, 64) /* worker threads that run its requests at once */             \
    X(SESSION_MEMFDS, session_memfds, 8192)                                                        \
    X(SESSION_TENSORS, session_tensors, 1 << 20)                                                   \
    X(SESSION_TENSOR_BYTES, session_tensor_bytes,                                                  \
      1 << 30) /* value of --session-bytes; by default, half of the machine's memory */            \
    /* handles of the client that have failed; a new one removes the oldest */                     \
    X(SESSION_FAILED, session_failed, 4096)                                                        \
    X(SYNC_FAILED, sync_failed, 16) /* failures of notifications that session.sync answers */      \
    /* results of calls that no handle names, scratch memory, unsent answers */                    \
    X(SESSION_INTERMEDIATES, session_intermediates, 1 << 24)                                       \
    X(SESSION_INTERMEDIATE_BYTES, session_intermediate_bytes, 1 << 30) /* --session-bytes */       \
    X(SESSION_GENERATORS, session_generators, 1024)                                                \
    X(SESSION_GENERATOR_BYTES, session_generator_bytes, 16 << 20)                                  \
    X(SESSION_NODES, session_nodes, 4 << 20) /* nodes of autograd graphs */                        \
    X(SESSION_NODE_BYTES, session_node_bytes, (int64_t)4 << 30)                                    \
    X(GRAPH_NODES, graph_nodes, 10000)        /* calls and leaves of one answer of grad.graph */   \
    X(CHECK_ELEMENTS, check_elements, 2048)   /* of a grad.check's inputs and outputs together */  \
    X(CHECK_DRAWS, check_draws, 1000)         /* `random.n` of grad.check */                       \
    X(SESSION_OBJECTS, session_objects, 4096) /* objects of plugins, plus their handles */         \
    X(SESSION_OBJECT_BYTES, session_object_bytes, 64 << 20)                                        \
    X(UID_NAMES, uid_names, 4096) /* named tensors of one uid */                                   \
    X(UID_NAMED_BYTES, uid_named_bytes,                                                            \
      1 << 30) /* value of --session-bytes; by default, half of the machine's memory */            \
    X(TENSOR_NAME_BYTES, tensor_name_bytes, 1023)                                                  \
    X(STORE_HEADER_BYTES, store_header_bytes, 16 << 20) /* header of a safetensors file */         \
    X(STORE_TENSORS, store_tensors, 1 << 16)            /* of one file */                          \
    X(SESSION_THREADS, session_threads, 1024)           /* num_threads of session.set */           \
    X(LINGER_MS, linger_ms, 24 * 60 * 60 * 1000)        /* longest `linger_ms` of server.hello */  \
    X(DRAIN_MS, drain_ms, 60 * 60 * 1000)       /* longest `drain_ms` of server.shutdown */        \
    X(PROGRAM_STEPS, program_steps, 10000)      /* steps as the client sends them */               \
    X(PROGRAM_PASSES, program_passes, 64)       /* of one program.pass */                          \
    X(SESSION_PROGRAMS, session_programs, 1024) /* made by program.create */                       \
    X(SESSION_PROGRAM_BYTES, session_program_bytes, 1 << 30) /* programs and their constants */    \
    X(PROGRAM_CACHE, program_cache, 64)                      /* cached programs of program.run */  \
    X(PROGRAM_CACHE_BYTES, program_cache_bytes, 4 << 20)                                           \
    X(PROBE_MS, probe_ms, 10000)          /* time for the trial load of a plugin */                \
    X(WORKERS, workers, 256)              /* most worker threads; see executor.c */                \
    X(STUCK_WORKERS, stuck_workers, 256)  /* replaced workers (executor.c), beside `workers` */    \
    X(WATCH_CHANGES, watch_changes, 64)   /* unsent notifications of a connection */               \
    X(METRIC_SERIES, metric_series, 4096) /* kernels whose calls server.metrics tells apart */     \
    X(METRIC_FALLBACKS, metric_fallbacks, 1024) /* operators and keys that fell back, likewise */  \
    X(STATUS_FALLBACKS, status_fallbacks, 16)   /* of these, in an answer of server.status */      \
    X(SHADOW_QUEUE, shadow_queue, 256)          /* shadow calls that wait, of all connections */   \
    X(SHADOW_BYTES, shadow_bytes, 64 << 20)     /* of their arguments and results */               \
    X(SHADOW_MS, shadow_ms, 10000)              /* time for one shadow call */                     \
    X(CANARY_AHEAD, canary_ahead, 16)           /* calls of a canary that are not compared yet */  \
    X(METRIC_SHADOWS, metric_shadows, 1024)     /* operators, devices and uids that are counted */ \
    X(STATUS_SHADOWS, status_shadows, 16)       /* rows in an answer of server.status */           \
    X(DIMENSIONS, dimensions, DP_DIM_MAX)

#define LIMIT_VALUE_(NAME, name, value) LIMIT_##NAME = (value),
#define LIMIT_INDEX_(NAME, name, value) LIMIT_AT_##NAME,
enum { LIMIT_MAP(LIMIT_VALUE_) };
enum { LIMIT_MAP(LIMIT_INDEX_) LIMITS }; /* indices into limits_in_force */
#undef LIMIT_VALUE_
#undef LIMIT_INDEX_
extern const int64_t limit_defaults[LIMITS]; /* defined in base.c, like limit_names */
extern const char *const limit_names[LIMITS];
/* The limits of the library and of programs, which server.hello reports, too, and nothing can set.
 */
#define LIBRARY_INDEX_(NAME, name, value) LIBRARY_LIMIT_##NAME,
enum { DP_LIMIT_MAP(LIBRARY_INDEX_) DP_PROGRAM_LIMIT_MAP(LIBRARY_INDEX_) LIBRARY_LIMITS };
#undef LIBRARY_INDEX_
typedef struct library_limit {
    const char *name;
    int64_t value;
} library_limit;
extern const library_limit library_limits[LIBRARY_LIMITS]; /* defined in base.c */
/* The limits in force, which a config file may change while the daemon runs (limits.c).  Use
 * LIMIT(), not LIMIT_NAME, except for the size of an array: config files cannot set a limit above
 * the size of such an array. */
extern atomic_int_fast64_t limits_in_force[LIMITS];
#define LIMIT(NAME)                                                                                \
    ((int64_t)atomic_load_explicit(&limits_in_force[LIMIT_AT_##NAME], memory_order_relaxed))
#define LIMIT_SIZE(NAME)  ((size_t)LIMIT(NAME))
#define LIMIT_NANOS(NAME) ((uint64_t)LIMIT(NAME) * 1000000) /* of a limit in milliseconds */
/* Record that the error with this `code`, which was just set, is due to limit NAME.  Returns
 * `code`.  See dp_error_limit(). */
#define LIMIT_REACHED(NAME, asked, code)                                                           \
    dp_error_limit((code), limit_names[LIMIT_AT_##NAME], (uint64_t)LIMIT(NAME), (uint64_t)(asked))

/* -- base.c -- */

uint64_t nanos(void); /* nanoseconds of CLOCK_MONOTONIC */
/* Reserve memory for one more item in an array that has `n` items of `item` bytes each and was
 * allocated by dp_realloc(), or is NULL.  Returns the array, which may have moved.  NULL: out of
 * memory; the array and `*cap` are unchanged. */
void *array_grow(void *array, size_t n, size_t *cap, size_t item);
/* Find the item with this `id` in an array of `n` items of `item` bytes each.  Every item starts
 * with its uint64_t id; the ids ascend.  NULL: not found. */
void *array_find(const void *array, size_t n, size_t item, uint64_t id);

/* -- log.c: one line for each event, as key=value or as a JSON object, to stderr or to --log FILE
 * -- */

enum { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };
enum { LOG_TEXT, LOG_JSON };
enum { LOG_LINE_BYTES = 4096 };  /* longest line, with its LF */
void log_level_set(int level);   /* Log events up to this level only; without a call: LOG_INFO. */
void log_format_set(int format); /* LOG_TEXT, which is the default, or LOG_JSON */
/* Append the log to the file `path` from now on; NULL: to standard error.  Called for the path of
 * the open file, this function creates the file again if it was renamed or removed.  DP_ERUNTIME:
 * the file cannot be opened; the log continues as before. */
int log_open(const char *path, dp_error *err);
int log_descriptor(void); /* standard error if log_open() was not called */
int log_format(void);
/* Write one line: log_event(LOG_INFO, "plugin.load", "plugin='%s' generation=%llu", ...).  `format`
 * has single quotes around values that are names, and double quotes around error messages. */
void log_event(int level, const char *event, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The state of one log_seldom(), a macro for events that a client can cause as often as it likes.
 * Each use of the macro in the source writes at most one line a second; the next line tells how
 * many lines were left out. */
typedef struct log_gate {
    pthread_mutex_t lock;
    uint64_t open_at;  /* time (nanos()) of the next line; earlier events are only counted */
    uint64_t left_out; /* number of events since the last line */
} log_gate;
void log_gated(log_gate *g, int level, const char *event, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
#define log_seldom(...)                                                                            \
    do {                                                                                           \
        static log_gate gate_ = {PTHREAD_MUTEX_INITIALIZER, 0, 0};                                 \
        log_gated(&gate_, __VA_ARGS__);                                                            \
    } while (0)

#endif
