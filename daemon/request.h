/* request.h -- one request, and the functions of the daemon that its method may call.
 *
 *   bytes -> transport/frame.c   finds one message, and the attachments that follow it
 *         -> transport/          queues requests, and answers, in the order of the messages
 *         -> executor/           chooses the thread that runs the request; see placement.c
 *         -> methods/envelope.c  checks the message, finds the method, writes the answer
 *         -> methods/            the method itself; json/write.c prints into request.out
 *         -> transport/send.c -> bytes
 *
 * A request runs on the main thread, which runs the event loop (libuv) and owns all sockets, or on
 * a worker thread.  Only server.c, transport/ and executor/ use libuv.  Methods use neither sockets
 * nor threads: they reach the daemon's other parts through request.daemon.
 *
 * Over 500 lines: methods include this header alone for all that they use of the daemon. */
#ifndef DAEMON_REQUEST_H
#define DAEMON_REQUEST_H

#include "daemon.h"
#include "json/json.h"
#include <dispatchd/program.h>
#include <dispatchd/shared.h>
#include <stdatomic.h>
#include <sys/types.h>

struct connection;
struct session;
struct request;
struct shadow_call;
typedef struct user user; /* users.h */

/* -- functions of the daemon that a method may call; any thread -- */

typedef struct server_info {
    uint64_t uptime_ms, sessions, connections, requests;
    uint64_t calls_inline, calls_worker, demotions; /* explained in struct placement */
    dp_registry *reg;
    const char *plugin_path; /* value of --plugin-path; may be NULL */
    const char *cache_dir;   /* directory with the copies of plugins; this process alone uses it */
} server_info;

/* A session, and a uid, as server.status and session.list describe them. */
typedef struct session_info {
    uint64_t id;
    uint64_t uid;
    unsigned connections;
    int64_t ends_in_ms; /* time until it ends; -1: it has connections */
    uint64_t bytes;     /* sum over `usage` */
    dp_usage usage[DP_HOLDERS];
} session_info;
typedef struct user_info {
    uint64_t uid;
    unsigned sessions, connections;
    unsigned requests; /* requests that were read and whose answers are not sent */
    unsigned workers;  /* workers that run requests */
    unsigned maps;
    uint64_t bytes; /* sum over `usage` without the named tensors */
    dp_usage usage[DP_HOLDERS];
} user_info;

/* most worker threads: both limits, and one thread more that runs only tasks (job.h) */
enum { WORKERS_MOST = LIMIT_WORKERS + LIMIT_STUCK_WORKERS + 1 };
/* A call that still runs some time (STUCK_NS) after its deadline passed, or after its client
 * left. */
typedef struct stuck_call {
    uint64_t session;
    const char *method;
    uint64_t thread; /* number of the thread, as in dp_running.thread */
    uint64_t nanos;  /* nanoseconds since the call counts as stuck */
} stuck_call;

typedef struct daemon_calls {
    void (*info)(struct connection *c, server_info *out);
    /* Sum up the usage of all sessions that `asker` may see: see session_is_owner(). */
    void (*held)(struct connection *c, const struct session *asker, dp_usage out[DP_HOLDERS]);
    /* List the sessions, or the uids, that `asker` may see.  `*out`: owned array; returns its
     * length.  DP_ERESOURCE: out of memory. */
    int64_t (*sessions)(struct connection *c, const struct session *asker, session_info **out,
                        dp_error *err);
    int64_t (*users)(struct connection *c, const struct session *asker, user_info **out,
                     dp_error *err);
    /* End the session `id`, and close its connections, of which `*connections` is the number. */
    int (*session_end)(struct connection *c, const struct session *asker, uint64_t id,
                       unsigned *connections, dp_error *err);
    /* Report that a plugin was loaded or unloaded, or that a load or an unload failed.  The code of
     * an old generation (load) of a plugin may have to be unmapped later, when no call runs in
     * it. */
    void (*plugins_changed)(struct connection *c);
    /* Stop accepting connections, spend at most `drain_ms` on answering requests, then exit. */
    void (*shutdown)(struct connection *c, int64_t drain_ms);
    /* Move the connection into the session with this key; requests that are read later belong to
     * that session.  DP_ENOTFOUND: no session has the key. */
    int (*join)(struct connection *c, const char *key, dp_error *err);
    /* Open another connection in the session of `rq`.  `*fd`: the client's end of its socket, owned
     * by the caller; when that is closed, the connection ends.  DP_ERESOURCE: too many connections,
     * or out of memory or descriptors.  DP_ECANCELLED: the session has ended. */
    int (*open)(struct request *rq, int *fd, dp_error *err);
    /* Return the session that later requests of the connection will belong to; owned by the caller.
     * NULL: the connection is closed. */
    struct session *(*session)(struct connection *c);
    /* Cancel the requests with this `id` that were read from the connection of `rq` before `rq`.
     * `*waiting`: whether that connection has earlier requests that are not answered; if not,
     * nothing is done.  DP_ERESOURCE: out of memory, or too many requests are cancelled already. */
    int (*cancel)(struct request *rq, const cJSON *id, bool *waiting, dp_error *err);
    /* Let the main thread answer `rq` if `rq` has not ended shortly after `deadline` (nanos()): see
     * "deadlines" below. */
    void (*watch)(struct request *rq, uint64_t deadline);
    /* Return the files beneath --data-path, borrowed.  Only clients of the daemon's own uid may
     * name files. */
    struct store *(*store)(struct connection *c);
    /* Send `line`, a message that answers no request, to the client; takes over its memory.  The
     * message is dropped if the client does not read or has left. */
    void (*notify)(struct connection *c, jw *line);
    /* List the stuck calls; returns their number. */
    size_t (*stuck)(struct connection *c, stuck_call out[WORKERS_MOST]);
    /* The connection begins or ends to get notifications about changes of the registry. */
    void (*watch_registry)(struct connection *c, bool watching);
    /* Return what tells the connection of gradients (grad.watch), borrowed; its names are handles.
     * NULL: out of memory. */
    struct dp_grad_watcher *(*watch_gradients)(struct connection *c);
    /* Write the text of server.metrics; `*text` [*bytes] is owned by the caller.  A worker. */
    int (*metrics)(struct request *rq, char **text, size_t *bytes, dp_error *err);
} daemon_calls;

/* -- the request -- */

/* Failures of notifications, which session.sync answers. */
typedef struct sync_failures {
    jw items[LIMIT_SYNC_FAILED]; /* [n], each with the JSON text of one failure; owned */
    unsigned n;
    uint64_t dropped; /* number of failures that were not stored, because of the limit or memory */
} sync_failures;
void sync_drop(sync_failures *failures); /* methods/sync.c: free the failures */

/* Shadow calls of a connection: which of its calls a second backend runs, too, and how near the
 * results must be.  See shadow.h. */
typedef struct shadow_settings {
    char device[DP_KEY_NAME_MAX]; /* "cpu", "npu:0" */
    double share;                 /* of the calls, 0 to 1 */
    double rtol, atol;            /* below 0: by the dtype, as in torch.testing.assert_close() */
    uint64_t draws;               /* number of the last call for shadow_draw() */
} shadow_settings;

/* A connection's dispatcher state (PyTorch: the thread-local included and excluded keys, and modes
 * such as no_grad).  It is copied into request.ctx before a method runs. */
typedef struct conn_state {
    dp_keyset include, exclude;
    /* result of dp_keyset_pin(): the named backends, and the kinds of wrapper tensors (tensors made
     * of other tensors), in `include`, `exclude` or mode.cast_backends.  While they are pinned, no
     * other plugin gets their bits, even if their plugin is unloaded */
    dp_keyset pinned;
    int num_threads; /* threads of a parallel kernel; 0: the default */
    dp_mode mode;
    struct maps *maps;       /* owned; NULL: none */
    sync_failures failures;  /* since the last session.sync */
    dp_capture *capture;     /* owned: records the calls since trace.start; NULL: none does */
    shadow_settings *shadow; /* owned; NULL: no call is shadowed */
} conn_state;

typedef struct descriptors { /* the descriptors that came with a message */
    size_t n;
    int fds[LIMIT_DESCRIPTORS];       /* owned */
    uint64_t maps[LIMIT_DESCRIPTORS]; /* numbers that the method gave to memfds; 0: none */
} descriptors;

typedef struct answer_part { /* bytes that follow the answer's line */
    dp_tensor *packed;       /* owned: a contiguous tensor in host memory, whose bytes they are */
    const void *data;        /* in `packed` */
    size_t bytes;
} answer_part;

void descriptors_free(descriptors *d); /* Close the descriptors; `d` may be NULL.  descriptors.c */
/* Drop the descriptor that is, or was, sent with the answer.  descriptors.c */
void sent_descriptor_drop(struct request *rq);

/* The last call of op.call that a request made, which is not in the figures yet (measure.c). */
typedef struct metric_call {
    dp_kernel_origin from; /* `id` 0: there is none */
    const char *op;        /* lives as long as the registry */
    uint64_t began, nanos; /* time (nanos()) when it began; how long it took */
    bool failed;
} metric_call;

/* One message and its answer.  transport/life.c creates a request; deadlines.c creates a second
 * request to answer the first one at its deadline.  One thread at a time runs a request; see
 * job.h. */
typedef struct request {
    const daemon_calls *daemon;
    struct connection *conn; /* counted reference */
    conn_state *state;       /* borrowed from the connection */
    struct session *session; /* counted reference */
    char *line;              /* owned, NUL-terminated */
    size_t line_bytes;
    uint8_t *attached; /* owned: all attachments, concatenated */
    size_t n_attachments;
    size_t *attachment_bytes; /* [n_attachments]; owned, like attachment_offset */
    size_t *attachment_offset;
    descriptors *received; /* owned; NULL: no descriptors came with the message */
    /* owned: the parsed message, an object or, for a batch, an array; NULL: not parsed */
    cJSON *root;
    /* the method to call; NULL: unknown method, which is an error */
    const struct method *method;
    /* Name of the method that runs or ran last; in a batch, the method of the current request.
     * NULL: no method has begun.  Any thread may read it. */
    _Atomic(const char *) running;
    dp_ctx *ctx;        /* context of the thread that runs the request; set before a method runs */
    jw out;             /* the answer's line; ends with LF when it is complete */
    answer_part *parts; /* attachments of the answer, in order */
    size_t n_parts, cap_parts;
    dp_shared *shared;   /* owned: memory that got a number by this request; NULL: none */
    uint64_t shared_map; /* the number */
    bool sends_fd;       /* `sent_fd` is sent with the answer */
    int sent_fd;         /* owned */
    uint64_t t_read, t_parsed, t_started; /* times (nanos()) */
    uint64_t bytes_charged; /* bytes of line and attachments, counted for LIMIT_OUTSTANDING_BYTES */
    bool close_after;       /* close the connection after this answer was sent */
    struct run *run;        /* state of the running method; defined in methods/run.c */
    metric_call call;
    /* not 0: the request was cancelled, its client has left, or the daemon stops; any thread may
     * write it */
    dp_cancel_flag cancel;
    uint64_t deadline; /* time (nanos()); 0: none.  In a batch: the deadline of `member` */
    atomic_int phase;  /* PHASE_...; see "deadlines" below */
    /* value of session_stuck_ends() when the request began to wait for a stuck call */
    uint64_t waits_for;
    bool never_waits; /* fail the request instead of waiting for a stuck call */
    bool batch_begun; /* in a batch: `member` was set */
    cJSON *member;    /* in a batch: the request that runs, or runs next; NULL: all have run */
    jw mark;          /* copy of `out` from before the current request of a batch wrote to it */
    struct request *next_stuck; /* link in session.stuck; lock: session.lock */
} request;

/* -- deadlines --
 *
 * A request with a deadline runs on a worker.  If it has not ended shortly after the deadline, the
 * main thread answers it, and the worker drops the kernel's result when the kernel ends.  `phase`
 * decides which of the two threads answers: the one that changes `phase` first. */
enum {
    PHASE_OPEN,  /* no deadline is watched, or the kernel has ended: the worker answers */
    PHASE_READS, /* a deadline is watched; arguments are read, no kernel has begun */
    /* a deadline is watched; a kernel or program runs, and does not change request.run */
    PHASE_CALLS,
    PHASE_ANSWERED, /* the main thread has answered: start no kernel, print nothing */
};
/* Called once, before the kernel or program of a request begins.  false: the main thread has
 * answered the request; return DP_EANSWERED. */
static inline bool deadline_call(request *rq)
{
    int phase = PHASE_READS;

    return atomic_compare_exchange_strong(&rq->phase, &phase, PHASE_CALLS) || phase == PHASE_OPEN;
}
/* Called when the kernel or program has ended, and again at the end of the method.  false: the main
 * thread has answered the request; print nothing and return DP_EANSWERED. */
static inline bool deadline_end(request *rq)
{
    int phase = atomic_load(&rq->phase);

    return phase == PHASE_OPEN || (phase != PHASE_ANSWERED &&
                                   atomic_compare_exchange_strong(&rq->phase, &phase, PHASE_OPEN));
}

/* -- placement.c: which requests may run on the main thread -- */

/* Work that may take long: a kernel call, or a METHOD_LOOP method (methods/methods.h).  op.call
 * asks placement_may_run() before it calls a kernel.  If the answer is false, the method returns
 * DP_EWORKER: its output is dropped, and the same parsed request runs again on a worker, where the
 * answer is always true.  placement_note() then records the time of the whole request under this
 * work. */
typedef struct work {
    /* result of dp_bound_kernel(), or a number for the method; 0: the request ends in an error, so
     * it is short */
    uint64_t kernel;
    const char *op; /* the operator's name; NULL: the work is a method */
    /* bytes of the line, of attachments and of tensor arguments; SIZE_MAX: an argument is in a
     * device's memory, so only workers may run the work */
    size_t bytes;
    /* product of the magnitudes of the numeric arguments, to estimate the output: 2^24 for
     * ones([4096, 4096]); see magnitude() in methods/op.c */
    double asked;
    /* how tensors are returned: RETURN_HANDLE, RETURN_DATA, ... (methods/methods.h) */
    int how;
    const char *method; /* the method's name if `op` is NULL */
} work;
/* May this work run on the current thread?  On the main thread: only if it is proven to be
 * short. */
bool placement_may_run(request *rq, const work *w);
/* May `bytes` bytes be parsed, copied or printed on this thread?  false: return DP_EWORKER, and a
 * worker runs the request again; but if `kernel_ran`, that is, the kernel has already run, the
 * worker continues with the same `rq->run` and `rq->ctx`. */
bool placement_may_take(request *rq, size_t bytes, bool kernel_ran);

/* -- maps.c: the shared memory that a connection names by numbers; the thread that runs a request
 * --
 *
 * A memfd that passes between client and daemon gets a number of the connection (`map` in
 * docs/protocol.md), so that its descriptor is sent only once.  A number holds a reference to the
 * memory until map.release or the end of the connection. */

typedef struct maps maps;
/* Return the number of `s`, and give it one if it has none; `*fresh` tells whether it had none.
 * `*m` is NULL before the first call; `u` is the client's uid, always the same one.  0: out of
 * memory, or over LIMIT_MAPS or LIMIT_UID_MAPS; see `*err`. */
uint64_t maps_put(maps **m, user *u, dp_shared *s, bool *fresh, dp_error *err);
/* Return the memory with this number, borrowed; NULL: no such number.  `m` may be NULL. */
dp_shared *maps_get(const maps *m, uint64_t number);
/* Drop the number and its reference.  false: no such number.  `m` may be NULL. */
bool maps_release(maps *m, uint64_t number);
uint64_t maps_bytes(const maps *m); /* bytes of the memory that has numbers; `m` may be NULL */
void maps_free(maps *m);            /* Drop all numbers; `m` may be NULL. */

/* -- measure.c: measurements for server.metrics; any thread -- */

/* Begin and end to measure the kernel of the call `b`, which was described to
 * placement_may_run().  The figures get the call at the end of the request. */
void request_call_begin(request *rq, const dp_bound *b);
void request_call_end(request *rq, bool failed);
/* Count the failure of a request of method `m` (NULL: none is known) with `*err`.  `rpc`: the code
 * of JSON-RPC. */
void request_failed(request *rq, const struct method *m, int rpc, const dp_error *err);

/* Copy the counts of calls that fell back and that the client may see: those of its uid, or for the
 * daemon's own uid of all.  `op`: of this operator only; NULL: of all.  *out [*n], the operators
 * with the most calls first, is allocated in the arena of `rq->ctx`. */
int request_fallbacks(request *rq, const char *op, dp_fallback_count **out, size_t *n,
                      dp_error *err);

/* -- shadow.c: calls that a second backend runs, too; any thread -- */

/* The shadow calls of an operator on a device (shadow_table.h). */
typedef struct shadow_count {
    const char *op; /* lives as long as the registry */
    char device[DP_KEY_NAME_MAX];
    uint64_t calls;   /* calls that ran, or failed, on the device */
    uint64_t differs; /* of these, those whose results differ */
    uint64_t failed;  /* of these, those that failed, or whose results could not be compared */
    uint64_t dropped; /* chosen calls that were not run: over a limit, or out of memory */
    double largest;   /* largest difference between two elements, also within the tolerance */
} shadow_count;

/* Take the arguments of the call `b`, which is about to run, if it is one to shadow; request.state
 * has the settings.  *out NULL: it is not, or it was dropped.  DP_EWORKER: the arguments are too
 * long to be copied on this thread. */
int request_shadow_begin(request *rq, const dp_bound *b, struct shadow_call **out);
/* Queue the call `c` for the thread that runs it again, with its results `rets` [b->n_rets]; takes
 * `c` over.  `rets` NULL: the call has failed, and is not run again. */
void request_shadow_end(request *rq, struct shadow_call *c, const dp_bound *b,
                        const dp_value *rets);
/* Copy the counts that the client may see: those of its uid, or for the daemon's own uid of all.
 * *out [*n], the rows with the most differences and failures first, is allocated in the arena of
 * `rq->ctx`. */
int request_shadows(request *rq, shadow_count **out, size_t *n, dp_error *err);
/* Let no shadow call run until request_shadow_resume(): drop those that wait, and wait at most
 * `timeout_ms` (-1: no limit) for the one that runs. */
void request_shadow_pause(request *rq, int64_t timeout_ms);
void request_shadow_resume(request *rq);

/* -- canary.c: a new build of a plugin that serves some calls on trial; any thread -- */

typedef enum canary_state {
    CANARY_NONE, /* the daemon has had no canary */
    CANARY_RUNS,
    CANARY_LEAVES, /* it serves no calls any more, and is about to be rolled back */
    CANARY_PROMOTED,
    CANARY_ROLLED_BACK
} canary_state;

typedef struct canary_settings {
    double share;         /* of the calls that the canary serves, 0 to 1 */
    double rtol, atol;    /* as in shadow_settings */
    uint64_t differences; /* and failures, after which the canary is rolled back; at least 1 */
} canary_settings;

typedef struct canary_report {
    canary_state state;
    char plugin[DP_LIMIT_NAME_BYTES + 1];
    uint64_t generation; /* of the canary */
    double share;
    uint64_t differences; /* of canary_settings */
    uint64_t calls;       /* that the canary has served */
    uint64_t compared;    /* of these, those that the loaded build has run, too */
    uint64_t differs;     /* of these, those whose results differ */
    uint64_t failed;      /* of these, those that failed, and did not with the loaded build */
    char why[512];        /* why it was rolled back by itself; "": it was not */
} canary_report;

/* The choice between the two builds for a call; kept in its `run`. */
typedef struct canary_choice {
    enum {
        CANARY_OPEN, /* nothing yet */
        CANARY_NOT_CHOSEN,
        CANARY_CHOSEN,
        CANARY_SERVED /* the context is that of the canary */
    } how;
    uint64_t generation; /* CANARY_SERVED: of the canary, which may have ended meanwhile */
} canary_choice;

/* Between these two no other thread begins or ends a canary, so that the report tells which one the
 * registry has.  Held around dp_plugin_reload(), dp_plugin_unload() and the next two functions. */
void request_canary_lock(request *rq);
void request_canary_unlock(request *rq);
/* Let calls be served by the canary that dp_plugin_reload() has reported. */
void request_canary_start(request *rq, const canary_settings *how, const dp_plugin_report *plugin);
/* Do what dp_plugin_canary_end() does.  DP_EBUSY: it is being rolled back. */
int request_canary_end(request *rq, const char *plugin, bool promote, int drain_ms,
                       dp_plugin_report *report, dp_unload_report *gone, dp_error *err);
void request_canary_report(request *rq, canary_report *out);
/* Choose whether the canary serves the call `b`, which is about to run: choice->how is
 * CANARY_SERVED then, and *copy has its arguments, for request_shadow_end(), or is NULL if its
 * results cannot be compared.  DP_EWORKER: as in request_shadow_begin(), and on the main thread. */
int request_canary_begin(request *rq, const dp_bound *b, canary_choice *choice,
                         struct shadow_call **copy);
/* A call that the canary served has ended with `code`.  true: run it once more, with the loaded
 * build, and tell request_canary_retried() with which errors the two ended; the written arguments
 * are what they were. */
bool request_canary_retry(request *rq, const struct shadow_call *copy, int code);
void request_canary_retried(request *rq, const dp_bound *b, const canary_choice *choice,
                            const dp_error *first, const dp_error *loaded);

/* -- printing.c -- */

/* Wait until this worker may print `bytes` bytes of text.  The number of workers that print long
 * answers at the same time is limited (printers_max()); others wait in order of arrival.  Short
 * texts, and the main thread, do not wait.  Returns the argument for print_end(), or
 * DP_ECANCELLED. */
int print_begin(request *rq, uint64_t bytes, dp_error *err);
void print_end(request *rq, int begun);

/* -- session.c: the tensors of a session by handle; any thread -- */

struct session *session_ref(struct session *s);
struct session *session_unref(struct session *s);
uint64_t session_id(const struct session *s);
uid_t session_uid(const struct session *s); /* the uid whose clients alone may use the session */
/* Is it a session of the daemon's own uid?  Only such sessions may load and unload plugins, stop
 * the daemon, and see what other uids have. */
bool session_is_owner(const struct session *s);
const char *session_key(const struct session *s);       /* 32 hexadecimal digits */
void session_set_linger(struct session *s, int64_t ms); /* 0 <= ms <= LIMIT_LINGER_MS */
/* borrowed: the account that is charged for the session's tensors */
dp_account *session_account(struct session *s);
/* borrowed: set if a tensor of the session ever had a gradient */
dp_flag *session_grad_flag(struct session *s);
/* Create a new handle for `t`; the session takes its own reference to `t`.  Returns 0 and sets
 * `*err` if memory or a limit of the session's account is exhausted. */
uint64_t session_put(struct session *s, dp_tensor *t, dp_error *err);
dp_tensor *session_tensor_get(struct session *s, uint64_t handle); /* owned; NULL: unknown handle */
/* Release the handle and its reference to the tensor.  false: unknown handle. */
bool session_release(struct session *s, uint64_t handle);
/* Charge the new storage of `t` to the session, even beyond its limit.  `t` has a handle, and an
 * operator has replaced its storage. */
void session_moved(struct session *s, const dp_tensor *t);
/* `*out`: owned array of the tensors' handles; returns its length.  Handles that the daemon chose
 * come first, ascending; then those of the client, oldest first; with `failed`, then also the
 * client's handles that have failed.  DP_ERESOURCE: out of memory. */
int64_t session_handles(struct session *s, bool failed, uint64_t **out, dp_error *err);
/* Return the oldest handle of `t`, one that the daemon chose if there is one; 0: `t` has no
 * handle. */
uint64_t session_handle_of(struct session *s, const dp_tensor *t);

/* -- client_handles.c: the errors of handles that have failed; any thread -- */

/* The error of a request whose handles have failed.  Counted and immutable: all handles that failed
 * for the same first error share it. */
typedef struct failure {
    atomic_uint refs;
    int code;               /* DP_E* */
    const char *message;    /* this and the next four are stored behind the struct */
    const char *op, *key;   /* of the error; "" if it has none */
    const char *method;     /* method of the request */
    const char *request_id; /* id of the request as JSON text; "null": none, or a long one */
} failure;
/* Copy `err`, and the method and the id of the failed request.  Owned by the caller; NULL: out of
 * memory. */
failure *failure_new(const dp_error *err, const char *method, const char *request_id);
failure *failure_ref(failure *f);
failure *failure_unref(failure *f);                /* NULL is allowed; returns NULL */
void failure_get(const failure *f, dp_error *err); /* Set `*err` to the first error. */

/* -- reservations.c: handles below zero, which the client chooses; any thread -- */

static inline bool is_client_handle(uint64_t id)
{
    return (int64_t)id < 0;
}
/* Reserve handle `id` for request number `owner`, and charge it to the session.  DP_EEXISTS: `id`
 * is not free; the message tells why.  DP_ERESOURCE: memory or a limit of the account is
 * exhausted. */
int session_reserve(struct session *s, uint64_t id, uint64_t owner, dp_error *err);
/* Let handle `id`, which `owner` has reserved, name `t`; the session takes its own reference.
 * DP_ERESOURCE: a limit of the account is exhausted; `id` is still reserved.  DP_ENOTFOUND: the
 * session has ended, and its reservations with it. */
int session_put_at(struct session *s, dp_tensor *t, uint64_t id, uint64_t owner, dp_error *err);
/* Free `id`, if `owner` has reserved it. */
void session_unreserve(struct session *s, uint64_t id, uint64_t owner);
/* Let handle `id` fail with a reference to `f`, if `id` is free or `owner` has reserved it.  If
 * there is no memory for that, `id` is free. */
void session_fail(struct session *s, uint64_t id, uint64_t owner, failure *f);
/* Return why handle `id` has failed, owned by the caller; NULL: it has not. */
failure *session_failure(struct session *s, uint64_t id);

/* -- session.c: the calls of a session that were answered at their deadline and still run -- */

/* Change the phase of `rq` to PHASE_ANSWERED, because the main thread is about to answer it.  If
 * `rq` runs a kernel or program, set `*calls` to true and list `rq` as stuck; otherwise set
 * `*calls` to false.  false: `rq` has ended, so its worker answers it. */
bool session_stuck_add(struct session *s, request *rq, bool *calls);
void session_stuck_remove(struct session *s, request *rq); /* no effect if `rq` is not listed */
/* Is `shares(r, arg)` true for the request.run `r` of some stuck call?  `*ends` gets the value of
 * session_stuck_ends() at the same moment; `*ends` is unchanged if the session has no stuck
 * call. */
bool session_stuck_find(struct session *s, bool (*shares)(const struct run *r, const void *arg),
                        const void *arg, uint64_t *ends);
uint64_t session_stuck_ends(struct session *s); /* number of stuck calls that have ended */

/* -- generators.c: the generators of a session -- */

dp_generators *session_default_generators(struct session *s); /* borrowed */
/* The next three functions work like session_put(), session_tensor_get() and session_release(), but
 * for generators. */
uint64_t session_generator_put(struct session *s, dp_generator *g, dp_error *err);
dp_generator *session_generator_get(struct session *s, uint64_t handle);
bool session_generator_release(struct session *s, uint64_t handle);
/* Does a kernel hold the lock of one of the session's generators now?  A second kernel that needs
 * the same generator may wait long. */
bool session_draws(struct session *s);

/* -- objects.c: handles of plugins' objects; the functions work like those for tensors -- */

uint64_t session_object_put(struct session *s, dp_object *o, dp_error *err);
dp_object *session_object_get(struct session *s, uint64_t handle);
bool session_object_release(struct session *s, uint64_t handle);
/* `*out`: owned array of the handles, ascending; returns its length.  DP_ERESOURCE: out of
 * memory. */
int64_t session_objects(struct session *s, uint64_t **out, dp_error *err);

/* -- programs.c: a session's programs, which have a lock of their own -- */

typedef struct programs programs;
programs *session_programs(struct session *s); /* borrowed */
/* Create a handle for `p`, with a reference of its own.  Returns 0 and sets `*err` if memory or a
 * limit is exhausted. */
uint64_t programs_put(programs *ps, dp_program *p, dp_error *err);
dp_program *programs_get(programs *ps, uint64_t handle); /* owned; NULL: unknown handle */
bool programs_release(programs *ps, uint64_t handle);
/* A cache of programs whose steps were sent in program.run; if it is full, the least recently used
 * program is removed.  `key` is the content of the program, as `bytes` bytes.  programs_recall()
 * returns a reference owned by the caller, or NULL.  programs_remember() takes its own reference to
 * `p`; it does nothing if `p` alone exceeds the cache's limit, or if there is no memory. */
dp_program *programs_recall(programs *ps, const char *key, size_t bytes);
void programs_remember(programs *ps, const char *key, size_t bytes, dp_program *p);

/* -- names.c: named tensors, which belong to a uid and outlive sessions; any thread -- */

user *session_user(const struct session *s); /* borrowed: the record of the session's uid */
/* Give `t` a name of `u`, which takes its own reference.  The name must not be longer than
 * LIMIT_TENSOR_NAME_BYTES.  Pass a tensor to which no handle refers (dp_tensor_detached()), because
 * nobody may resize it.  DP_EEXISTS: the name is taken.  DP_ERESOURCE: a limit of the uid's account
 * is reached, or out of memory.  After an error nothing has changed. */
int names_add(user *u, const char *name, dp_tensor *t, dp_error *err);
dp_tensor *names_get(user *u, const char *name); /* owned; NULL: no such name */
/* Remove the name and return its tensor, owned; NULL: no such name. */
dp_tensor *names_take(user *u, const char *name);
/* Return the tensor, owned, of the first name that sorts after `name`, and replace `name` by that
 * name; NULL: there is none.  The first name of all sorts after "". */
dp_tensor *names_next(user *u, char name[LIMIT_TENSOR_NAME_BYTES + 1]);
/* Get what the named tensors of `u` use: DP_HOLDER_NAMES, and DP_HOLDER_TENSORS for unlinked
 * tensors that are still in use. */
void names_usage(const user *u, dp_usage out[DP_HOLDERS]);

/* -- probe.c -- */

/* Let a child process load and unload the file `copy` first, in case loading kills the process.
 * This is the function for dp_load_options.probe.  0: the child survived the load, even if the load
 * failed with an error.  DP_EPLUGIN: the child died, or the load took too long.  DP_ERESOURCE: no
 * child could be started.  Any thread. */
int probe(const char *copy, dp_error *err);

#endif
