/* daemon.h -- what the files of the daemon share.
 *
 * bytes -> frame.c (one message and its attachments) -> connection.c (order, backpressure) ->
 * executor.c (which thread) -> method.c (params checked against proto) -> method_*.c ->
 * json_write.c into the answer -> connection.c -> bytes.  Only server.c, connection.c and
 * executor.c know libuv; method_*.c know neither sockets nor threads. */
#ifndef DAEMON_H
#define DAEMON_H

#include <cjson/cJSON.h>
#include <dispatchd/dispatch.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#define DISPATCHD_VERSION "0.1.0"

/* Limits a client can meet; server.hello reports them by these names in lower case. */
enum {
    LIMIT_LINE_BYTES = 1 << 20,        /* --max-line */
    LIMIT_ATTACHMENT_BYTES = 1 << 30,  /* all of one message; --max-attachment */
    LIMIT_ATTACHMENTS = 1024,          /* of one message */
    LIMIT_OUTSTANDING = 1000,          /* requests of one connection read ahead */
    LIMIT_OUTSTANDING_BYTES = 1 << 20, /* their lines */
    LIMIT_BATCH = 1000,
    LIMIT_JSON_DEPTH = 128,
    LIMIT_CONNECTIONS = 1024,
    LIMIT_SESSION_TENSORS = 1 << 20,
    LIMIT_PROGRAM_STEPS = 10000,
    LIMIT_ANSWER_BYTES = 256 << 20,      /* JSON text of one answer */
    LIMIT_INLINE_PARSE_BYTES = 64 << 10, /* longer lines are parsed on a worker */
    LIMIT_UNSENT_BYTES = 4 << 20,        /* answers a client leaves unread; then it waits */
    LIMIT_DESCRIPTORS = 16,              /* of one message */
    LIMIT_WORKERS = 256, /* threads, when calls block; --workers is what it starts with */
};

/* -- json_write.c: answers, straight into a buffer -- */

typedef struct jw {
    char *s;
    size_t len, cap;
    bool failed; /* no memory, or over LIMIT_ANSWER_BYTES; everything after is dropped */
    uint32_t depth;
    uint64_t comma; /* bit d: level d already has an element */
} jw;
void jw_init(jw *w);
void jw_fini(jw *w);
void jw_object(jw *w);
void jw_object_end(jw *w);
void jw_array(jw *w);
void jw_array_end(jw *w);
void jw_key(jw *w, const char *name);
void jw_str(jw *w, const char *s); /* NULL writes null; invalid UTF-8 becomes U+FFFD */
void jw_strn(jw *w, const char *s, size_t n);
void jw_int(jw *w, int64_t i); /* bare: counts, sizes, ids */
void jw_bool(jw *w, bool b);
void jw_null(jw *w);
void jw_raw(jw *w, const char *s, size_t n); /* one JSON value, already text */
void jw_value_int(jw *w, int64_t i);         /* {"int":"..."} from 2^53 */
void jw_value_double(jw *w, double d);       /* {"float":2} when integral or not finite */
void jw_element(jw *w, dp_dtype dtype,
                const void *p); /* an element of inline data, shortest exact */

/* -- requests -- */

struct server;
struct connection;
struct session;

typedef struct answer_part { /* bytes that follow the answer's line */
    dp_tensor *tensor;       /* owned; keeps data alive; may be NULL */
    void *owned;             /* dp_free'd; may be NULL */
    const void *data;
    size_t bytes;
} answer_part;

/* One JSON-RPC request on its way.  Made by connection.c, used by one thread at a time. */
typedef struct request {
    struct request *next;
    struct connection *conn; /* counted */
    struct session *session; /* counted */
    char *line;              /* owned, NUL-terminated */
    size_t line_bytes;
    uint8_t *attached; /* owned: all attachments, in order */
    size_t n_attachments;
    size_t *attachment_bytes; /* [n_attachments], owned with attachment_offset */
    size_t *attachment_offset;
    cJSON *root;        /* the parsed message (object) or batch (array); NULL until parsed */
    dp_ctx *ctx;        /* of the thread it runs on, reset; set before a method runs */
    jw out;             /* the whole answer line, LF included, when it is done */
    answer_part *parts; /* attachments of the answer, in order */
    size_t n_parts, cap_parts;
    uint64_t t_read, t_parsed, t_started; /* nanos, for timing */
    uint64_t bytes_charged;
    bool close_after; /* answer, then close the connection */
    struct run *run;  /* method.c's, while a method runs */
} request;

/* Adds an attachment to the answer; takes tensor and owned.  Its index, or -1 (no memory). */
int request_attach(request *rq, dp_tensor *tensor, void *owned, const void *data, size_t bytes);

/* A method writes its result object into w (exactly one JSON value), or fails with *err; what it
 * had written is dropped then.  code DP_EPARAMS is answered as -32602. */
enum { DP_EPARAMS = -1000 };
typedef int (*method_fn)(request *rq, const cJSON *params, jw *w, dp_error *err);

enum {                    /* where a method may run */
       METHOD_QUICK = 0,  /* short: on the loop thread when nothing is queued before it */
       METHOD_CALL = 1,   /* executor decides by what it calls (op.call) */
       METHOD_WORKER = 2, /* always a worker */
};

typedef struct method {
    const char *name;
    method_fn fn;
    int where;
    const char *file; /* proto/methods file, for discovery */
} method;
extern const method methods[]; /* method.c, ends with a NULL name */
const method *method_find(const char *name);

/* method.c: handle one parsed message (object or batch) whole: check the envelope, find the method,
 * check params against proto, run it, write the answer line into rq->out (nothing for
 * notifications).  Any thread; rq->ctx is set. */
void request_run(request *rq);
/* Strict parse of rq->line into rq->root; on failure writes the error answer and returns false. */
bool request_parse(request *rq);
/* An error answer without a request: id null. */
void request_refuse(request *rq, int rpc_code, const char *message);

/* Answers rq (parsed, one request object) with *err under its own id and does not run it; nothing
 * when it is a notification.  For call.cancel. */
void request_fail(request *rq, const dp_error *err);
/* connection.c calls request_parse (possibly before the attachments came, so that it can read the
 * announcement), then request_run.  frame.c looks for "attachments" and "fds" as spelled so,
 * unescaped; request_run refuses (-32600) a message whose top-level "attachments" is not as long as
 * n_attachments, so an escaped spelling announces nothing.  Descriptors are consumed and closed: no
 * method takes them. */

/* -- executor.c: where a call may run.  op.call binds and then asks --
 *
 *     id = dp_bound_kernel(rq->ctx, &bound);
 *     if (!executor_may_run(rq, id, bytes))
 *         return DP_EWORKER;               nothing was done; whatever was written is dropped
 *     t = now; rc = dp_call_boxed(...); nanos = now - t;
 *     facts = dp_ctx_facts(rq->ctx);
 *     executor_note(rq, bound.op, id, bytes, &facts, nanos);   also when rc < 0
 *
 * The same request then runs again from the start on a worker (rq->root is kept), where
 * executor_may_run is always true.  bytes is a guess at the work that tells big calls of one kernel
 * from small ones: bytes of the tensors among the arguments, plus 8 * the product of each int list
 * (so ones([1]) and ones([4096, 4096]) differ). */
enum { DP_EWORKER = -1001 };
bool executor_may_run(request *rq, uint64_t kernel_id, size_t bytes);
void executor_note(request *rq, const dp_op *op, uint64_t kernel_id, size_t bytes,
                   const dp_call_facts *f, uint64_t nanos);

/* -- session.c: handles and state; every function locks the session -- */

struct session *session_ref(struct session *s);
struct session *session_unref(struct session *s);
uint64_t session_id(const struct session *s);
const char *session_key(const struct session *s); /* 32 hex digits */
/* A fresh handle for t (shared: takes its own reference).  0: over LIMIT_SESSION_TENSORS or no
 * memory, *err set. */
uint64_t session_put(struct session *s, dp_tensor *t, dp_error *err);
dp_tensor *session_get(struct session *s, uint64_t handle); /* owned; NULL: none */
bool session_release(struct session *s, uint64_t handle);
size_t session_handles(struct session *s, uint64_t **out);         /* owned, dp_free; ascending */
uint64_t session_handle_of(struct session *s, const dp_tensor *t); /* lowest handle of t; 0 none */

/* A connection's dispatcher state: installed in rq->ctx before a method runs. */
typedef struct conn_state {
    dp_keyset include, exclude;
    int num_threads;
} conn_state;
conn_state *connection_state(struct connection *c);
uint64_t connection_number(const struct connection *c);
/* hello with a session_key: moves the connection into that session (same uid), for requests that
 * follow.  DP_ENOTFOUND. */
int connection_join(struct connection *c, const char *key, dp_error *err);
/* The session requests that follow will be in; owned.  NULL: the connection is closed. */
struct session *connection_session(struct connection *c);
void session_set_linger(struct session *s, int64_t ms);

/* -- what methods may ask of the server -- */

typedef struct server_facts {
    uint64_t uptime_ms, sessions, connections, requests, calls_inline, calls_worker, demotions;
    dp_registry *reg;
    const char *plugin_path; /* --plugin-path, may be NULL */
    const char *cache_dir;
    size_t limit_line, limit_attachment;
} server_facts;
void server_facts_get(struct connection *c, server_facts *out); /* any thread */
/* Stop accepting, let what runs finish for drain_ms, then leave.  Any thread. */
void server_shutdown(struct connection *c, int64_t drain_ms);

/* -- base.c -- */

uint64_t nanos(void); /* CLOCK_MONOTONIC */
/* Room for one more item in an array of n, both from dp_realloc(); doubles.  The array, which may
 * have moved; NULL: no memory, and the array and *cap are as they were. */
void *array_grow(void *array, size_t n, size_t *cap, size_t item);

/* -- value.c: JSON <-> dp_value -- */

struct place; /* method.h: "args[1]" in errors */
/* Untyped: numbers, strings, arrays (DP_TAG_LIST), {"tensor":n}, tensor literals.  Memory lives
 * until dp_ctx_reset(rq->ctx), tensors until the method ends.  j was checked against proto's value.
 */
int value_from_json(request *rq, const cJSON *j, const struct place *at, dp_value *out,
                    dp_error *err);
/* Tensor literal {"dtype","shape","data"|"attachment","strides","storage_offset"}; *out owned. */
int tensor_from_json(request *rq, const cJSON *j, const struct place *at, dp_tensor **out,
                     dp_error *err);

enum { RETURN_HANDLE, RETURN_DATA, RETURN_ATTACHMENT };
/* One return value; tensors as descriptors: with a handle, or with data and none. */
int value_to_json(request *rq, jw *w, const dp_value *v, int how, dp_error *err);
/* Members of a descriptor, inside an open object. handle 0: left out. */
void descriptor_to_json(jw *w, const dp_tensor *t, uint64_t handle);
/* "data": nested arrays. */
int data_to_json(jw *w, const dp_tensor *t, dp_error *err);

/* -- log.c: one line an event, key=value, to stderr or --log FILE -- */
enum { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };
void log_level_set(int level);
int log_open(const char *path, dp_error *err);
/* log_event(LOG_INFO, "plugin.load", "plugin", "'%s' generation=%llu", ...): format makes the rest
 * of the line, names in single quotes. */
void log_event(int level, const char *event, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
