/* request.h -- one request on its way through the daemon, and what its method may use meanwhile.
 *
 *   bytes -> transport/frame.c   one message, and the attachments behind it
 *         -> transport/          keeps requests and answers in order
 *         -> executor/           runs it on the loop's thread or on a worker, as placement.c says
 *         -> methods/envelope.c  checks the message, finds the method, writes the answer around it
 *         -> methods/            the method itself; json/write.c prints into request.out
 *         -> transport/send.c -> bytes
 *
 * Only server.c, transport/ and executor/ know libuv.  Methods know neither sockets nor threads:
 * what they need from above stands in request.daemon. */
#ifndef DAEMON_REQUEST_H
#define DAEMON_REQUEST_H

#include "daemon.h"
#include "json/json.h"
#include <dispatchd/program.h>
#include <stdatomic.h>

struct connection;
struct session;
struct request;

/* -- what a method may ask of the daemon above it; any thread -- */

typedef struct server_info {
    uint64_t uptime_ms, sessions, connections, requests, calls_inline, calls_worker, demotions;
    dp_registry *reg;
    const char *plugin_path; /* --plugin-path; may be NULL */
    const char *cache_dir;   /* where this process alone keeps its copies of plugins */
    const int64_t *limits;   /* [LIMITS], the values in force */
} server_info;

/* A worker that still runs a call after its deadline passed, or after its client left. */
enum { WORKERS_MOST = LIMIT_WORKERS + LIMIT_STUCK_WORKERS + 1 }; /* one for tasks alone */
typedef struct stuck_call {
    uint64_t session;
    const char *method;
    uint64_t thread; /* dp_running.thread of what it runs */
    uint64_t nanos;  /* since it was called off */
} stuck_call;

typedef struct daemon_calls {
    void (*info)(struct connection *c, server_info *out);
    void (*held)(struct connection *c, dp_usage out[DP_HOLDERS]); /* by all sessions together */
    /* Plugins came or went, or tried to: old generations may have to be closed later. */
    void (*plugins_changed)(struct connection *c);
    /* Stop accepting, let what runs finish for at most drain_ms, then leave. */
    void (*shutdown)(struct connection *c, int64_t drain_ms);
    /* Move the connection into the session with this key; requests that are read later belong to
     * it.  DP_ENOTFOUND. */
    int (*join)(struct connection *c, const char *key, dp_error *err);
    /* The session that later requests of the connection will belong to; owned.  NULL: the
     * connection is closed. */
    struct session *(*session)(struct connection *c);
    /* Requests of this connection that were read before rq, carry this id and have not begun will
     * not run.  *waiting: some requests still wait. */
    int (*cancel)(struct request *rq, const cJSON *id, bool *waiting, dp_error *err);
    /* Answer for rq when it has not ended by `deadline` (nanos): see "deadlines" below. */
    void (*watch)(struct request *rq, uint64_t deadline);
    /* Workers that run a call which was called off and has not ended; returns how many. */
    size_t (*stuck)(struct connection *c, stuck_call out[WORKERS_MOST]);
} daemon_calls;

/* -- the request -- */

/* A connection's dispatcher state: installed in request.ctx before a method runs. */
typedef struct conn_state {
    dp_keyset include, exclude;
    dp_keyset pinned; /* backends and kinds of both key sets: their bits stay theirs */
    int num_threads;
    dp_mode mode;
} conn_state;

typedef struct answer_part { /* bytes that follow the answer's line */
    void *data;              /* owned; freed with dp_free */
    size_t bytes;
    dp_account *paid_by; /* counted: who is charged for them */
} answer_part;

static inline void answer_part_free(answer_part *p)
{
    dp_free(p->data);
    dp_account_refund(p->paid_by, DP_HOLDER_INTERMEDIATES, 0, p->bytes);
    dp_account_close(p->paid_by);
}

/* Made by connection.c, used by one thread at a time. */
typedef struct request {
    const daemon_calls *daemon;
    struct connection *conn; /* counted */
    conn_state *state;       /* of the connection */
    struct session *session; /* counted */
    char *line;              /* owned, NUL-terminated */
    size_t line_bytes;
    uint8_t *attached; /* owned: all attachments, one behind the other */
    size_t n_attachments;
    size_t *attachment_bytes; /* [n_attachments], owned, as is attachment_offset */
    size_t *attachment_offset;
    cJSON *root; /* the parsed message: an object, or an array (a batch); NULL: not parsed */
    const struct method *method; /* that it asks for; NULL: there is none, which is an error */
    /* The name of the method that runs, of a batch each in turn; NULL: none has begun.  Any
     * thread. */
    _Atomic(const char *) running;
    dp_ctx *ctx;        /* of the thread that runs it; set before a method runs */
    jw out;             /* the answer's line, with its LF once it is complete */
    answer_part *parts; /* attachments of the answer, in order */
    size_t n_parts, cap_parts;
    uint64_t t_read, t_parsed, t_started; /* nanos */
    uint64_t bytes_charged;               /* line and attachments, against OUTSTANDING_BYTES */
    bool close_after;                     /* close the connection once the answer is sent */
    struct run *run;                      /* methods/run.c: what the running method keeps */
    dp_cancel_flag cancel; /* not 0: called off, or nobody waits for the answer.  Any thread */
    uint64_t deadline;  /* nanos; 0: none.  Of a batch: of its request that runs, or the next one */
    atomic_int phase;   /* PHASE_... */
    uint64_t waits_for; /* session_stuck_ends() when it had to wait for a stuck call */
    bool never_waits;   /* for a stuck call: it fails instead */
    bool batch_begun;   /* `member` is set */
    cJSON *member;      /* of a batch: the request that runs, or the next one; NULL: all have run */
    jw mark;            /* `out` before the request that runs wrote to it */
    struct request *next_stuck; /* of its session; under its lock */
} request;

/* -- deadlines --
 *
 * A request with a deadline runs on a worker.  If it has not ended when the deadline is over, the
 * loop's thread answers for it, and the worker drops what the kernel gives once it ends.  `phase`
 * decides between the two: who changes it first. */
enum {
    PHASE_OPEN,     /* nothing is watched, or the kernel has ended: the worker answers */
    PHASE_READS,    /* watched: the arguments are read, no kernel has begun */
    PHASE_CALLS,    /* watched: a kernel runs; until it ends `run` does not change */
    PHASE_ANSWERED, /* the loop's thread has answered: no kernel may begin, nothing is printed */
};
/* Before a kernel begins.  false: return DP_EANSWERED. */
static inline bool deadline_call(request *rq)
{
    int phase = PHASE_READS;

    return atomic_compare_exchange_strong(&rq->phase, &phase, PHASE_CALLS) || phase == PHASE_OPEN;
}
/* Before anything is printed.  false: return DP_EANSWERED. */
static inline bool deadline_end(request *rq)
{
    int phase = atomic_load(&rq->phase);

    return phase == PHASE_OPEN || (phase != PHASE_ANSWERED &&
                                   atomic_compare_exchange_strong(&rq->phase, &phase, PHASE_OPEN));
}

/* -- placement.c: what may run on the loop's thread -- */

/* A method asks before it does something that may take long.  When the answer is no, it returns
 * DP_EWORKER: what it has written is dropped, and the same parsed request runs again on a worker,
 * where the answer is always yes.  How long the whole request took is then noted for the work that
 * it named. */
typedef struct work {
    uint64_t kernel; /* dp_bound_kernel(), or a method's number; 0: an error, always short */
    const char *op;  /* the operator's name; NULL: a method */
    size_t bytes;    /* of the line, and of the tensors among the arguments; SIZE_MAX: never here */
    double asked;    /* product of the numbers among the arguments: ones([4096, 4096]) */
    int how;         /* the answer's RETURN_* */
    const char *method; /* the method's name, when it has no operator */
} work;
/* Is this work known to be short? */
bool placement_may_run(request *rq, const work *w);
/* May so many bytes be parsed, copied or printed here?  keep: the kernel has run already, so the
 * worker goes on with the same rq->run and rq->ctx. */
bool placement_may_take(request *rq, size_t bytes, bool keep);

/* -- printing.c -- */

/* Wait until a worker may print so many bytes of text: for each core but one, one prints a long
 * answer at a time, in the order of coming.  Returns what print_end() is to be told, or
 * DP_ECANCELLED. */
int print_begin(request *rq, uint64_t bytes, dp_error *err);
void print_end(request *rq, int begun);

/* -- session.c: the tensors that handles name; every function locks the session -- */

struct session *session_ref(struct session *s);
struct session *session_unref(struct session *s);
uint64_t session_id(const struct session *s);
const char *session_key(const struct session *s);       /* 32 hex digits */
void session_set_linger(struct session *s, int64_t ms); /* [0, LIMIT_LINGER_MS] */
dp_account *session_account(struct session *s);         /* borrowed: what it holds */
dp_flag *session_grad_flag(struct session *s); /* borrowed: some tensor of it had a gradient */
/* A fresh handle for t, of which the session takes a reference of its own.  0: no memory, or over a
 * limit of its account; *err is set. */
uint64_t session_put(struct session *s, dp_tensor *t, dp_error *err);
dp_tensor *session_tensor_get(struct session *s, uint64_t handle); /* owned; NULL: no such handle */
bool session_release(struct session *s, uint64_t handle);
/* t, which has a handle, has another storage now. */
void session_moved(struct session *s, const dp_tensor *t);
size_t session_handles(struct session *s, uint64_t **out); /* owned, ascending */
/* The lowest handle of t; 0: it has none. */
uint64_t session_handle_of(struct session *s, const dp_tensor *t);

/* -- session.c: its stuck calls, those that were answered when their deadline had passed and still
 * run -- */

/* The loop's thread answers for rq: change its phase, and list it if a kernel runs.  false: it has
 * ended. */
bool session_stuck_add(struct session *s, request *rq, bool *calls);
void session_stuck_remove(struct session *s, request *rq); /* if it is listed */
/* Does shares(r, what) hold for the `run` of a stuck call?  *ends: session_stuck_ends() then. */
bool session_stuck_find(struct session *s, bool (*shares)(const struct run *r, const void *what),
                        const void *what, uint64_t *ends);
uint64_t session_stuck_ends(struct session *s); /* how many stuck calls have ended */

/* -- generators.c: those of a session -- */

dp_generators *session_default_generators(struct session *s); /* borrowed */
/* These three do for generators what session_put, session_tensor_get and session_release do for
 * tensors. */
uint64_t session_generator_put(struct session *s, dp_generator *g, dp_error *err);
dp_generator *session_generator_get(struct session *s, uint64_t handle);
bool session_generator_release(struct session *s, uint64_t handle);
/* A kernel holds one of them now: who wants it as well may wait for long. */
bool session_draws(struct session *s);

/* -- objects.c: handles of objects; as those of tensors -- */

uint64_t session_object_put(struct session *s, dp_object *o, dp_error *err);
dp_object *session_object_get(struct session *s, uint64_t handle);
bool session_object_release(struct session *s, uint64_t handle);
size_t session_objects(struct session *s, uint64_t **out);

/* -- programs.c: a session's programs; every function locks them -- */

typedef struct programs programs;
programs *session_programs(struct session *s); /* borrowed */
/* A handle for p (shared: takes its own reference).  0: over a limit or no memory, *err set. */
uint64_t programs_put(programs *ps, dp_program *p, dp_error *err);
dp_program *programs_get(programs *ps, uint64_t handle); /* owned; NULL: none */
bool programs_release(programs *ps, uint64_t handle);
/* Programs that came inline, by their content; what was used least lately goes.  Any bytes do as
 * key.  recall: owned, NULL: none.  remember: shared, or not when there is no room for it. */
dp_program *programs_recall(programs *ps, const char *key, size_t bytes);
void programs_remember(programs *ps, const char *key, size_t bytes, dp_program *p);

/* -- probe.c -- */

/* dp_load_options.probe: a child process loads this file first, in case that kills it.  Any
 * thread. */
int probe(const char *copy, dp_error *err);

#endif
