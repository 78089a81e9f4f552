/* server.h -- the daemon around its methods: sessions, executor, connections, server, options.
 *
 * Threads: the loop's thread owns connections and their sockets; workers run requests.  What both
 * touch is under executor.lock and says so.  A request is part of a job: the loop makes it, one
 * thread at a time has it, the loop frees it. */
#ifndef DAEMON_SERVER_H
#define DAEMON_SERVER_H

#include "request.h"
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <uv.h>

/* -- frame.c: bytes in, messages out; no sockets, no loop -- */

/* what frame_next() found */
enum {
    FRAME_MORE,      /* no whole line or body yet: read on */
    FRAME_LINE,      /* a line; if frame.announces, say with frame_expect() what follows it */
    FRAME_BODY,      /* the announced bytes have all come: frame_body() */
    FRAME_LONG,      /* a line over the limit: answer it, and close if frame.announces */
    FRAME_LOST,      /* the over-long line that is being skipped announces bytes: close */
    FRAME_NO_MEMORY, /* close */
};

typedef struct frame {
    size_t max_line;
    char *in; /* in[start, end) has been received and not yet consumed */
    size_t start, end, cap;
    size_t scanned; /* the first `scanned` bytes from start hold no LF */
    int state;
    bool announces; /* the last line holds "attachments" or "fds", quotes included */
    uint8_t *body;  /* attachments so far; NULL while body_bytes > 0: no memory, they are dropped */
    size_t body_bytes, body_have;
} frame;
void frame_init(frame *f, size_t max_line);
void frame_fini(frame *f);
/* Room for received bytes at *p; its size, or 0: no memory.  frame_filled() says how many came. */
size_t frame_space(frame *f, char **p);
void frame_filled(frame *f, size_t n);
/* FRAME_...; *line owned, NUL-terminated, without its LF. */
int frame_next(frame *f, char **line, size_t *bytes);
/* How many bytes follow the line that was found last and announces some; 0: none. */
void frame_expect(frame *f, size_t bytes);
uint8_t *frame_body(frame *f); /* owned; NULL: there was none, or no memory for it */

/* -- jobs -- */

/* job.stage */
enum {
    JOB_NEW,      /* its line was read */
    JOB_PARSED,   /* rq.root is set */
    JOB_ANSWERED, /* rq.out is final, be it because the line could not be parsed */
};

/* Work that is no request: work() on a worker, then done() on the loop's thread, always both. */
typedef struct task {
    struct task *next;
    void (*work)(struct task *t);
    void (*done)(struct task *t);
    void *arg;
    uint64_t since; /* nanos, of executor_task() */
} task;

typedef struct job {
    request rq; /* first: a pointer to a job's request is one to the job */
    struct job *next;
    int stage;
    bool announces;   /* the line holds "attachments" or "fds" */
    bool unreadable;  /* it could not be parsed */
    bool on_loop;     /* runs on the loop's thread now */
    bool moved;       /* placement.c said no: it is to run again on a worker */
    bool long_answer; /* of more than LIMIT_INLINE_BYTES */
    work work;        /* what it said that it would do */
    /* Owned.  Holds what its kernel returned on the loop's thread, for the worker that prints it;
     * mostly NULL. */
    dp_ctx *ctx;
    uint64_t spent;            /* nanos on the thread that ran it last */
    uint64_t number;           /* ascending within its connection */
    size_t answer_bytes, sent; /* line and parts */
    task drop;                 /* frees a long answer on a worker */
} job;

typedef struct job_list {
    job *head, *tail;
} job_list;
void job_push(job_list *l, job *j);
job *job_pop(job_list *l);

/* -- session.c -- */

/* A session's queue in the executor: its connections that have a request to run, first come first
 * served.  executor.lock. */
typedef struct lane {
    struct lane *next;
    struct connection *head, *tail;
    unsigned running; /* workers that run its requests */
    uint64_t since;   /* nanos, when it was listed */
    bool listed;      /* in executor.ready */
} lane;

typedef struct program_handle {
    uint64_t id;
    dp_program *program; /* owned */
} program_handle;

typedef struct program_kept {
    char *key; /* owned */
    size_t key_bytes, bytes;
    dp_program *program; /* owned */
    uint64_t used;
} program_kept;

struct programs {
    pthread_mutex_t lock;
    dp_account *account;     /* borrowed */
    program_handle *handles; /* ascending by id */
    size_t n_handles, cap_handles;
    uint64_t last_handle;
    program_kept kept[LIMIT_PROGRAM_CACHE];
    size_t n_kept;
    uint64_t uses;
};
void programs_init(programs *ps, dp_account *account);
void programs_fini(programs *ps);

typedef struct handle {
    uint64_t id;
    dp_tensor *tensor; /* owned; NULL: released */
} handle;

typedef struct generator_handle {
    uint64_t id;
    dp_generator *generator; /* owned */
} generator_handle;

typedef struct session_generators {
    dp_generators *defaults; /* owned; has a lock of its own */
    generator_handle *items; /* [n] in no order */
    size_t n, cap;
} session_generators;

typedef struct sessions {
    dp_holder_limit limits[DP_HOLDERS]; /* of each session's account */
    pthread_mutex_t lock;
    struct session *head; /* those that can be joined */
    struct session *over; /* those that have ended, for sessions_reap() to drop */
    uint64_t last_id;
    uint64_t n; /* at head */
    /* Called when a session may be due for sessions_reap(); any thread.  NULL: nobody. */
    void (*on_left)(void *arg);
    void *on_left_arg;
} sessions;

struct session {
    atomic_uint refs;
    uint64_t id;
    char key[33], label[32];
    /* sessions.lock: */
    struct session *next;
    unsigned n_connections;
    int64_t linger_ms;
    uint64_t ends_at; /* nanos; 0: it has connections */
    sessions *all;
    lane lane;
    dp_account *account;  /* owned: what it holds */
    pthread_mutex_t lock; /* of what follows */
    handle *handles;      /* ascending by id */
    size_t n_handles, cap_handles, n_released;
    uint64_t last_handle;
    session_generators generators; /* generators.c */
    dp_streams *streams;           /* owned; has a lock of its own */
    programs programs;             /* its own lock */
    dp_flag grad;                  /* dp_ctx_set_grad_flag() */
};
int session_generators_init(struct session *s, dp_error *err);
void session_generators_fini(struct session *s);
void sessions_init(sessions *all, const int64_t *limits); /* [LIMITS] in force */
void sessions_fini(sessions *all);
/* A new session with one connection; owned.  NULL: *err.  At LIMIT_SESSIONS it takes the place of a
 * lingering one. */
struct session *session_new(sessions *all, dp_error *err);
/* A session gets one more connection; owned.  NULL: no session has this key. */
struct session *session_join(sessions *all, const char *key);
/* A connection leaves its session; takes.  When it was the last, the session begins to linger. */
void session_leave(struct session *s);
/* Drop every session that has lingered long enough.  Returns when the next one is due (nanos; 0:
 * none is).  all_of_them: whatever has no connection, due or not. */
uint64_t sessions_reap(sessions *all, uint64_t now, bool all_of_them);
uint64_t sessions_count(sessions *all);
void sessions_held(sessions *all, dp_held out[DP_HOLDERS]); /* those that can be joined, together */
bool sessions_over(sessions *all); /* does sessions_reap() have some to drop? */

/* -- placement.c: which requests are known to be short -- */

typedef struct proof { /* for one kernel or method, with one class of sizes and kind of answer */
    uint64_t key;
    uint32_t in_a_row; /* short requests since the last long one */
    uint32_t needed;   /* that many make it proven; grows each time the proof was wrong */
} proof;

enum { PLACEMENT_PROOFS = 4096 };

typedef struct placement {
    dp_registry *reg;
    dp_ctx *loop_ctx;     /* owned: the context of the loop's thread, which alone touches it */
    pthread_mutex_t lock; /* of the proofs */
    proof proofs[PLACEMENT_PROOFS];
    atomic_uint_fast64_t calls_inline, calls_worker, demotions;
} placement;
int placement_init(placement *p, dp_registry *reg, dp_error *err);
void placement_fini(placement *p);
/* Is this work known to be short? */
bool placement_proven(placement *p, const work *w);
/* j has run, or a part of it when it moves: learn from how long that took. */
void placement_note(placement *p, const job *j, const dp_call_facts *f);

/* -- executor.c -- */

typedef struct worker {
    struct executor *ex;
    pthread_t thread;
    dp_ctx *ctx;
    int state; /* executor.lock */
} worker;

typedef struct executor {
    pthread_mutex_t lock; /* of all below, of connections' queues and of lanes */
    pthread_cond_t wake;  /* there may be work */
    pthread_cond_t left;  /* a worker is gone */
    dp_registry *reg;
    placement *placement;
    uv_async_t *async; /* tells the loop that `done` or `tasks_done` has something */
    uv_timer_t tick;   /* loop thread: runs while something waits for a worker */
    lane *ready, *ready_tail;
    task *tasks, *tasks_done;
    job_list done;
    unsigned n_waiting; /* ready connections, and tasks */
    unsigned n_workers, n_idle, cap;
    bool stopping;
    worker workers[LIMIT_WORKERS];
} executor;
int executor_init(executor *ex, uv_loop_t *loop, uv_async_t *async, placement *proofs, unsigned cap,
                  dp_error *err);
/* Waits for every worker until `deadline` (nanos).  false: some still run, and nothing of what they
 * use may be freed. */
bool executor_stop(executor *ex, uint64_t deadline);
void executor_fini(executor *ex);
/* The rest is for the loop's thread.  submit: queue j behind its connection's others; once answered
 * it comes back through executor_done().  resume: the client has read answers that it had left
 * unread. */
void executor_submit(executor *ex, job *j);
void executor_task(executor *ex, task *t);
void executor_resume(executor *ex, struct connection *c);
job_list executor_done(executor *ex, task **tasks); /* all that came back */
/* Call off what a connection runs on a worker, if its id is *id (NULL: whatever it is): it stops at
 * its next checkpoint.  false: no such request runs. */
bool executor_cancel(executor *ex, struct connection *c, const cJSON *id);
/* Take back a connection's jobs that have not begun, and call off the one that has. */
job_list executor_withdraw(executor *ex, struct connection *c);
/* It is j's turn: may it run on the loop's thread?  Parses it if it is small. */
bool executor_may_begin(executor *ex, job *j);
/* Run j on this thread, through to its answer.  false: it must move to a worker. */
bool executor_run(executor *ex, job *j, dp_ctx *ctx, bool on_loop);
/* SIGTERM and SIGINT are for the loop's thread.  Blocks them; a thread that is started before the
 * caller restores the returned mask is not interrupted by them in a kernel's system call. */
sigset_t signals_block(void);
void job_parse(job *j); /* JOB_NEW to JOB_PARSED, or to JOB_ANSWERED.  Any thread. */
/* Free what came in, and what a kernel returned that was not answered.  Any thread. */
void job_drop(job *j);

/* -- connection.c -- */

typedef struct cancel { /* a call.cancel that was read */
    struct cancel *next;
    cJSON *id;       /* owned */
    uint64_t before; /* it means jobs up to this number */
} cancel;

struct connection {
    struct connection *next, **link; /* of the server's */
    struct server *server;
    /* Loop thread: the server's, one for each job, one for a parse, one until `poll` is closed. */
    int refs;
    uint64_t number;
    uint64_t opened; /* nanos */
    int fd;
    uv_poll_t poll;
    int events; /* that `poll` waits for */
    frame frame;
    job *pending;                   /* its line came; its attachments are being read */
    task parse;                     /* parses a long line that announces attachments */
    bool parsing;                   /* `parse` is under way */
    int fds[4 * LIMIT_DESCRIPTORS]; /* received and not announced yet, first in first out */
    unsigned n_fds;
    job_list out;   /* answered, in order, not wholly sent */
    bool blocked;   /* the socket takes no more for now */
    size_t to_read; /* bytes that may still be read; draining: those that had come by then */
    bool eof;       /* nothing more will be read from the socket */
    bool shut;      /* no more messages are taken, not even those that were read */
    bool closed;
    int64_t budget;       /* nanos that its requests may still take on the loop in this turn */
    unsigned in_executor; /* jobs that executor_submit() got and that have not come back */
    unsigned outstanding; /* jobs that were read and whose answer is not wholly sent */
    size_t outstanding_bytes;
    uint64_t n_jobs;
    atomic_size_t unsent; /* bytes of answers; too many stop the executor */
    conn_state state;     /* belongs to the thread that runs its job */
    /* executor.lock: */
    struct session *session; /* NULL: closed */
    job_list queue;
    bool busy;    /* a worker runs one of its jobs */
    bool ready;   /* it stands in its session's lane */
    bool gone;    /* its client is: nobody waits for answers */
    job *running; /* what that worker runs, once it is parsed; NULL: none */
    struct connection *next_ready;
    cancel *cancels;
    atomic_uint n_cancels; /* so that the lock is not taken when there are none */
};
void connection_accept(struct server *s, int fd); /* takes fd */
/* j is back from the executor; takes.  last: no other job of its connection came back with it. */
void connection_answered(job *j, bool last);
/* Answer what every client has sent by now, and close its connection then.  The loop stops once
 * none is left. */
void connections_drain(struct server *s);
void connection_close(struct connection *c); /* queued jobs and unsent answers are dropped */
/* What daemon_calls says. */
int connection_join(struct connection *c, const char *key, dp_error *err);
struct session *connection_session(struct connection *c);
int connection_cancel(request *rq, const cJSON *id, bool *waiting, dp_error *err);

/* -- crash.c -- */

/* From now on a deadly signal, and exit() in a kernel, is reported in the log.  Once, by main. */
void crash_watch(void);
void crash_thread(void); /* a stack for this thread's handlers, so that overflows are reported */

/* -- options.c, endpoint.c, server.c -- */

typedef struct options {
    const char *socket; /* NULL: see endpoint_path() */
    const char *plugin_path, *cache_dir, *log, *describe, *probe;
    const char **plugins; /* [n_plugins] --plugin */
    size_t n_plugins;
    int64_t mode, max_line, max_attachment, session_bytes, workers, threads;
    int log_level;
    bool no_plugins, help, version;
} options;
/* DP_EVALUE names what is wrong. */
int options_parse(options *o, int argc, char **argv, dp_error *err);
void options_fini(options *o);
void options_help(void);

typedef struct endpoint {
    char *path, *lock_path; /* owned */
    int fd, lock_fd;        /* -1: none */
    struct stat bound;      /* the file that bind() made at path; no other one is removed */
} endpoint;
/* Where the socket is to be; owned. */
int endpoint_path(const options *o, char **out, dp_error *err);
/* Find the path and lock it.  DP_EBUSY names the process that has locked it.  endpoint_close() has
 * to be called even after a failure. */
int endpoint_open(endpoint *e, const options *o, dp_error *err);
int endpoint_listen(endpoint *e, int64_t mode, dp_error *err);
void endpoint_deafen(endpoint *e); /* close the listening socket, remove its file */
void endpoint_remove(endpoint *e); /* also remove the lock's file, but keep the lock */
void endpoint_close(endpoint *e);

/* -- cache.c, probe.c: private copies of plugins -- */

/* Make a directory for this process alone below base (NULL: the temporary one) and lock it.  What
 * dead daemons left there is removed.  *dir owned. */
int cache_open(const char *base, char **dir, int *lock_fd, dp_error *err);
void cache_close(char *dir, int lock_fd); /* takes both; dir NULL is fine */
/* For a process that leaves while threads of it run on: plugins stay mapped, nothing is freed. */
void cache_remove(const char *dir);
/* dispatchd --probe: load the file, unload it, print the outcome and exit. */
void probe_file(const char *path) __attribute__((noreturn));

/* -- server.c -- */

typedef struct server {
    const options *options;
    const daemon_calls *calls; /* what methods may ask */
    uv_loop_t loop;
    uv_poll_t listener;
    uv_async_t async;
    uv_signal_t sigterm, sigint;
    uv_timer_t reap, linger, drain, accept;
    task reap_task, linger_task;
    bool reaping, lingering; /* those tasks are under way */
    size_t reap_left;        /* what reap_task could not close yet */
    atomic_bool changed;     /* plugins: there may be something to reap */
    dp_registry *reg;
    placement placement;
    executor executor;
    sessions sessions;
    struct connection *connections;
    uint64_t last_connection;
    atomic_uint n_connections;
    atomic_uint_fast64_t requests;
    /* Written by the loop's thread: which connection sent the newest request, when (nanos), and
     * when any other connection last sent one. */
    atomic_uint_fast64_t asked_by, asked_at, others_at;
    uint64_t started; /* nanos */
    endpoint endpoint;
    char *cache;  /* the directory for copies of plugins; NULL: none yet */
    int cache_fd; /* its lock; -1: none */
    int64_t limits[LIMITS];
    bool looping, listening, executing, draining, leaving;
    uint64_t deadline;    /* nanos, of the drain */
    uint64_t linger_next; /* nanos, when the next session ends; 0: none.  linger_task's */
    atomic_bool shutdown; /* was asked for, with drain_ms */
    atomic_bool left;     /* a session may be due: look for it */
    atomic_int_fast64_t drain_ms;
} server;
/* The file that a plugin's name or path on the command line stands for.  *out in a. */
int plugin_file(const char *word, const char *plugin_path, dp_arena *a, const char **out,
                dp_error *err);
/* Lock, load plugins, bind, listen.  server_fini() has to be called even after a failure. */
int server_init(server *s, const options *o, dp_error *err);
void server_run(server *s); /* until it is told to leave */
/* Free everything.  false: a kernel still runs, and the process must exit without that. */
bool server_fini(server *s);

#endif
