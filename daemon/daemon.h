/* daemon.h -- what every file of the daemon may use: the version, the limits, the clock, arrays
 * that grow, and the log. */
#ifndef DAEMON_H
#define DAEMON_H

#include <dispatchd/dispatch.h>
#include <pthread.h>

#define DISPATCHD_VERSION "0.1.0"

/* Limits a client can meet: X(NAME, name, value).  server.hello reports each under its name, with
 * the value in force: options and the system's own limits change some of them. */
#define LIMIT_MAP(X)                                                                               \
    X(LINE_BYTES, line_bytes, 1 << 20)             /* --max-line */                                \
    X(ATTACHMENT_BYTES, attachment_bytes, 1 << 30) /* all of one message; --max-attachment */      \
    X(ATTACHMENTS, attachments, 1024)              /* of one message */                            \
    X(DESCRIPTORS, descriptors, 16) /* of one message, and waiting for their line */               \
    X(WAITING_DESCRIPTORS, waiting_descriptors, 32) /* of all connections */                       \
    X(BATCH, batch, 1000)                                                                          \
    X(JSON_DEPTH, json_depth, 128)                                                                 \
    X(JSON_NODES, json_nodes, 1 << 20)          /* values in one line */                           \
    X(JSON_NUMBER_BYTES, json_number_bytes, 63) /* one number */                                   \
    X(OUTSTANDING, outstanding, 1000)           /* requests of one connection read ahead */        \
    X(OUTSTANDING_BYTES, outstanding_bytes, 1 << 20)                                               \
    X(CANCEL_BYTES, cancel_bytes, 512)     /* a longer call.cancel is acted on in its turn */      \
    X(INLINE_BYTES, inline_bytes, 4 << 10) /* a worker parses, copies or prints what is longer */  \
    X(UNSENT_BYTES, unsent_bytes, 4 << 20) /* unread answers, beyond which no request is run */    \
    X(ANSWER_BYTES, answer_bytes, 256 << 20)                     /* JSON text of one answer */     \
    X(ANSWER_ATTACHMENT_BYTES, answer_attachment_bytes, 1 << 30) /* all of one answer */           \
    X(CONNECTIONS, connections, 1024) /* fewer if the system allows fewer descriptors */           \
    X(SILENT_MS, silent_ms, 5000)     /* a client that sent no request by then may be replaced */  \
    X(SESSIONS, sessions, 4096)       /* beyond that, lingering ones end early */                  \
    X(SESSION_TENSORS, session_tensors, 1 << 20)                                                   \
    X(SESSION_TENSOR_BYTES, session_tensor_bytes,                                                  \
      1 << 30) /* --session-bytes, or half of memory */                                            \
    X(SESSION_INTERMEDIATES, session_intermediates, 1 << 24)           /* of running programs */   \
    X(SESSION_INTERMEDIATE_BYTES, session_intermediate_bytes, 1 << 30) /* as of tensors */         \
    X(SESSION_GENERATORS, session_generators, 1024)                                                \
    X(SESSION_GENERATOR_BYTES, session_generator_bytes, 16 << 20)                                  \
    X(SESSION_OBJECTS, session_objects, 4096) /* of plugins, and handles of them */                \
    X(SESSION_OBJECT_BYTES, session_object_bytes, 64 << 20)                                        \
    X(SESSION_THREADS, session_threads, 1024) /* num_threads of session.set */                     \
    X(LINGER_MS, linger_ms, 24 * 60 * 60 * 1000)                                                   \
    X(DRAIN_MS, drain_ms, 60 * 60 * 1000)                                                          \
    X(PROGRAM_STEPS, program_steps, 10000)                   /* as a client writes them */         \
    X(SESSION_PROGRAMS, session_programs, 1024)              /* of program.create */               \
    X(SESSION_PROGRAM_BYTES, session_program_bytes, 1 << 30) /* and what they hold */              \
    X(PROGRAM_CACHE, program_cache, 64) /* programs that came inline and are kept */               \
    X(PROGRAM_CACHE_BYTES, program_cache_bytes, 4 << 20)                                           \
    X(PROBE_MS, probe_ms, 10000)         /* trial load of a plugin's file */                       \
    X(WORKERS, workers, 256)             /* threads while calls block; --workers at first */       \
    X(STUCK_WORKERS, stuck_workers, 256) /* inside calls that were called off; beside `workers` */ \
    X(DIMENSIONS, dimensions, DP_DIM_MAX)

#define LIMIT_VALUE_(NAME, name, value) LIMIT_##NAME = (value),
#define LIMIT_INDEX_(NAME, name, value) LIMIT_AT_##NAME,
enum { LIMIT_MAP(LIMIT_VALUE_) };
enum { LIMIT_MAP(LIMIT_INDEX_) LIMITS }; /* indices into server_info.limits */
#undef LIMIT_VALUE_
#undef LIMIT_INDEX_
extern const int64_t limit_defaults[LIMITS]; /* base.c, as is limit_names */
extern const char *const limit_names[LIMITS];

/* -- base.c -- */

uint64_t nanos(void); /* CLOCK_MONOTONIC */
/* Make room for one more item in an array that holds n and came from dp_realloc(), or is NULL.
 * Returns the array, which may have moved.  NULL: no memory; the array and *cap are unchanged. */
void *array_grow(void *array, size_t n, size_t *cap, size_t item);
/* The item with this id among n that ascend by the uint64_t id that each begins with; NULL:
 * none. */
void *array_find(const void *array, size_t n, size_t item, uint64_t id);

/* -- log.c: one line an event, key=value, to stderr or --log FILE -- */

enum { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };
void log_level_set(int level);
int log_open(const char *path, dp_error *err);
int log_descriptor(void);
/* log_event(LOG_INFO, "plugin.load", "plugin='%s' generation=%llu", ...).  Names stand in single
 * quotes. */
void log_event(int level, const char *event, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same for an event that a client can cause as often as it likes: each place in the code writes
 * at most one line a second, and its next line says how many were left out. */
typedef struct log_gate {
    pthread_mutex_t lock;
    uint64_t open_at; /* nanos; events before that are only counted */
    uint64_t left_out;
} log_gate;
void log_gated(log_gate *g, int level, const char *event, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
#define log_seldom(...)                                                                            \
    do {                                                                                           \
        static log_gate gate_ = {PTHREAD_MUTEX_INITIALIZER, 0, 0};                                 \
        log_gated(&gate_, __VA_ARGS__);                                                            \
    } while (0)

#endif
