/* server.h -- what main, server, connection, executor, session, frame, log and options share.
 *
 * Threads: the loop thread owns connections and their sockets; workers run requests.  What both
 * touch is under executor.lock and says so.  A request is a job: the loop makes it, one thread at a
 * time has it, the loop frees it. */
#ifndef DAEMON_SERVER_H
#define DAEMON_SERVER_H

#include "daemon.h"
#include <signal.h>
#include <uv.h>

/* -- frame.c: bytes in, messages out; no sockets, no loop -- */

enum {             /* what frame_next found */
       FRAME_MORE, /* nothing whole: read on */
       FRAME_LINE, /* a line; if frame.announces it waits for frame_expect() */
       FRAME_BODY, /* the announced bytes are all there, or dropped: frame_body() */
       FRAME_LONG, /* a line over the limit: answer it; if frame.announces close, else it is skipped
                    */
       FRAME_LOST, /* the line being skipped announces bytes: close */
       FRAME_NO_MEMORY, /* close */
};

typedef struct frame {
    size_t max_line;
    char *in; /* in[start, end) is not consumed yet */
    size_t start, end, cap;
    size_t scanned; /* bytes from start known to hold no LF */
    int state;
    bool announces; /* the last line holds "attachments" or "fds", quotes included */
    uint8_t *body;  /* attachments so far; NULL with body_bytes > 0: no memory, they are dropped */
    size_t body_bytes, body_have;
} frame;
void frame_init(frame *f, size_t max_line);
void frame_fini(frame *f);
/* Where to put bytes read; 0: no memory.  Then say how many came. */
size_t frame_space(frame *f, char **p);
void frame_filled(frame *f, size_t n);
int frame_next(frame *f, char **line,
               size_t *bytes); /* *line owned, NUL-terminated, without its LF */
/* So many bytes follow the line that announces; 0: none. */
void frame_expect(frame *f, size_t bytes);
uint8_t *frame_body(frame *f); /* owned; NULL: none, or no memory */

/* -- jobs -- */

enum {               /* job.stage */
       JOB_NEW,      /* line read */
       JOB_PARSED,   /* rq.root is set, or the parse failed and rq.out has the answer */
       JOB_ANSWERED, /* rq.out is final */
};

typedef struct job {
    request rq; /* first: a request is its job */
    struct job *next;
    int stage;
    bool announces;  /* the line holds "attachments" or "fds": unreadable, it ends the connection */
    bool unreadable; /* it did not parse */
    bool on_loop;    /* runs on the loop thread now */
    bool moved;      /* executor_may_run said no */
    uint64_t number; /* of its connection, ascending */
    size_t answer_bytes, sent; /* line and parts */
} job;

typedef struct job_list {
    job *head, *tail;
} job_list;
void job_push(job_list *l, job *j);
job *job_pop(job_list *l);

/* -- session.c -- */

typedef struct lane { /* a session's place in the executor; executor.lock */
    struct lane *next;
    struct connection *head, *tail; /* ready to run, first come first served */
    unsigned running;               /* workers inside */
    uint64_t since;                 /* nanos: listed */
    bool listed;
} lane;

typedef struct handle {
    uint64_t id;
    dp_tensor *tensor; /* owned; NULL: released */
} handle;

typedef struct sessions { /* all that can be joined */
    pthread_mutex_t lock;
    struct session *head;
    uint64_t last_id;
    uint64_t n;
} sessions;

struct session {
    atomic_uint refs;
    uint64_t id;
    char key[33];
    struct session *next; /* sessions.lock, and the three below */
    unsigned n_connections;
    int64_t linger_ms;
    uint64_t ends_at; /* nanos; 0: it has connections */
    sessions *all;
    lane lane;
    pthread_mutex_t lock; /* of what follows */
    handle *handles;      /* ascending by id */
    size_t n_handles, cap_handles, n_released;
    uint64_t last_handle;
};
void sessions_init(sessions *all);
void sessions_fini(sessions *all);
/* A new session with one connection; owned.  NULL: *err. */
struct session *session_new(sessions *all, dp_error *err);
/* Count a connection in; owned.  NULL: no such session. */
struct session *session_join(sessions *all, const char *key);
/* Count it out.  takes.  The session ends now or when it has lingered. */
void session_leave(struct session *s);
/* Drop every session that has lingered long enough; when the next one is due (0: none does).
 * all_of_them: those that have no connection, due or not. */
uint64_t sessions_reap(sessions *all, uint64_t now, bool all_of_them);
uint64_t sessions_count(sessions *all);

/* -- executor.c -- */

/* Work beside requests: work() on a worker, then done() on the loop thread, always both. */
typedef struct task {
    struct task *next;
    void (*work)(struct task *t);
    void (*done)(struct task *t);
    void *arg;
    uint64_t since; /* nanos: executor_task() */
} task;

typedef struct proof { /* what is known of one (kernel, size class) */
    uint64_t kernel;
    uint32_t size_class;
    uint32_t in_a_row; /* short calls */
    uint32_t needed;   /* of them; grows with every demotion */
} proof;

enum { EXECUTOR_PROOFS = 4096 };

typedef struct worker {
    struct executor *ex;
    pthread_t thread;
    dp_ctx *ctx;
    int state; /* executor.lock */
} worker;

typedef struct executor {
    pthread_mutex_t lock;      /* of all below, of connections' queues and of lanes */
    pthread_cond_t wake, left; /* there may be work; a worker is gone */
    dp_registry *reg;
    uv_async_t *async; /* tells the loop that `done` or `tasks_done` has something */
    lane *ready, *ready_tail;
    task *tasks, *tasks_done;
    job_list done;
    unsigned n_waiting; /* connections ready, and tasks */
    unsigned n_workers, n_idle, cap;
    bool stopping;
    worker workers[LIMIT_WORKERS];
    pthread_mutex_t proof_lock;
    proof proofs[EXECUTOR_PROOFS];
    atomic_uint_fast64_t calls_inline, calls_worker, demotions;
} executor;
int executor_init(executor *ex, dp_registry *reg, uv_async_t *async, unsigned cap, dp_error *err);
/* Waits for every worker until `deadline` (nanos); false: some still run and nothing may be freed.
 */
bool executor_stop(executor *ex, uint64_t deadline);
void executor_fini(executor *ex);
/* Loop thread, all of these; true: something waits for a worker, so executor_tick() has to be
 * called every EXECUTOR_TICK_MS until it returns false. submit: queue j behind its connection's
 * others; answered it comes back through executor_done(). */
bool executor_submit(executor *ex, job *j);
bool executor_task(executor *ex, task *t);
bool executor_resume(executor *ex, struct connection *c); /* its client has read answers */
enum {
    EXECUTOR_TICK_MS = 20,
    EXECUTOR_OTHERS_MS = 100 /* since another connection's request: it counts as asking */
};
bool executor_tick(executor *ex); /* starts a worker when work has waited for long */
job_list executor_done(executor *ex, task **tasks); /* all that came back */
/* Take a connection's jobs that have not begun back. */
job_list executor_withdraw(executor *ex, struct connection *c);
/* Run j on this thread, through to its answer.  false: it must move to a worker. */
bool executor_run(executor *ex, job *j, dp_ctx *ctx, bool on_loop);
/* SIGTERM and SIGINT are the loop thread's: a thread started between this and restoring what it
 * returns is not woken in the middle of a kernel's system call. */
sigset_t signals_block(void);
void job_parse(job *j); /* JOB_NEW to JOB_PARSED, or JOB_ANSWERED.  Any thread. */

/* -- connection.c -- */

typedef struct cancel { /* a call.cancel that was read */
    struct cancel *next;
    cJSON *id;       /* owned */
    uint64_t before; /* jobs up to this number */
} cancel;

struct connection {
    struct connection *next, **link; /* of the server's */
    struct server *server;
    int refs; /* loop thread: the server's, one a job, one a parse, one until the handle is closed
               */
    uint64_t number;
    int fd;
    uv_poll_t poll;
    int events; /* that uv_poll waits for */
    frame frame;
    job *pending;                   /* its attachments are being read */
    task parse;                     /* of a long line that announces some */
    bool parsing;                   /* parse is under way */
    int fds[4 * LIMIT_DESCRIPTORS]; /* received, not announced yet, first in first out */
    unsigned n_fds;
    job_list out; /* answered, in order, not wholly sent */
    bool blocked; /* the socket takes no more */
    bool eof;     /* nothing more will be read from the socket */
    bool shut;    /* nothing more will be taken, not even what was read */
    bool closed;
    unsigned budget;      /* requests that may still run on the loop in this turn */
    unsigned in_executor; /* jobs there */
    unsigned outstanding; /* read, answer not wholly sent */
    size_t outstanding_bytes;
    uint64_t n_jobs;
    atomic_size_t unsent; /* answers not sent: stops the executor */
    conn_state state;     /* of whichever thread runs its job */
    /* executor.lock: */
    struct session *session; /* NULL: closed */
    job_list queue;
    bool busy, ready; /* a worker is in it; it is in its lane */
    struct connection *next_ready;
    cancel *cancels;
    atomic_uint n_cancels; /* read without the lock: mostly there are none */
};
void connection_accept(struct server *s, int fd); /* takes fd */
/* j is back from the executor.  takes.  settle: nothing else of its connection came with it. */
void connection_answered(job *j, bool settle);
void connection_drain(struct connection *c); /* read what is there, then no more */
void connection_close(struct connection *c); /* queued jobs and unsent answers are dropped */

/* -- options.c, endpoint.c, server.c -- */

typedef struct options {
    const char *socket; /* NULL: the usual place */
    const char *plugin_path, *cache_dir, *log;
    const char **plugins; /* [n_plugins] --plugin */
    size_t n_plugins;
    int64_t mode, max_line, max_attachment, workers, threads;
    int log_level;
    bool no_plugins, help, version;
} options;
/* DP_EVALUE names what is wrong. */
int options_parse(options *o, int argc, char **argv, dp_error *err);
void options_fini(options *o);
void options_help(void);

/* Where the socket is to be; owned. */
int endpoint_path(const options *o, char **out, dp_error *err);
/* DP_EBUSY names the process that has it. */
int endpoint_lock(const char *path, const char *lock_path, int *out, dp_error *err);
int endpoint_listen(const char *path, int64_t mode, int *out, dp_error *err);

enum { SERVER_DRAIN_MS = 5000 };

typedef struct server {
    const options *options;
    uv_loop_t loop;
    uv_poll_t listener;
    uv_async_t async;
    uv_signal_t sigterm, sigint;
    uv_timer_t tick, reap, linger, drain;
    task reap_task, linger_task;
    bool reaping, lingering; /* those tasks are under way */
    dp_registry *reg;
    dp_ctx *ctx; /* of the loop thread */
    executor executor;
    sessions sessions;
    struct connection *connections;
    uint64_t last_connection;
    atomic_uint n_connections;
    atomic_uint_fast64_t requests;
    /* Written by the loop thread: the connection that sent the newest request, when (nanos), and
     * when another than that last did. */
    atomic_uint_fast64_t asked_by, asked_at, others_at;
    uint64_t started; /* nanos */
    char *path, *lock_path;
    int fd, lock_fd; /* -1: none */
    bool looping, listening, executing, draining, leaving;
    uint64_t deadline;    /* nanos: of the drain */
    uint64_t linger_next; /* nanos: when the next session ends; 0: none.  Of linger_task */
    atomic_bool shutdown; /* asked for; drain_ms says how */
    atomic_bool left;     /* a session lost a connection */
    atomic_int_fast64_t drain_ms;
} server;
/* Lock, load plugins, bind, listen.  On failure too server_fini() has to be called. */
int server_init(server *s, const options *o, dp_error *err);
void server_run(server *s); /* until it is told to leave */
/* Frees all; false: a kernel still runs and the process must leave as it is. */
bool server_fini(server *s);
void server_tick_start(server *s);   /* loop thread: work waits for a worker */
void server_session_left(server *s); /* any thread: a session may be about to end */
void server_check_drained(server *s);

#endif
