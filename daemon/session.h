/* session.h -- sessions: what each holds, how long it lives; one connection after another joins and
 * leaves. */
#ifndef DAEMON_SESSION_H
#define DAEMON_SESSION_H

#include "request.h"
#include <stdatomic.h>

/* A session's queue in the executor: its connections that have a request to run, first come first
 * served.  executor.lock. */
typedef struct turn_queue {
    struct turn_queue *next;
    struct connection *head, *tail;
    unsigned running; /* workers that run its requests */
    uint64_t since;   /* nanos, when it was listed */
    bool listed;      /* in executor.ready */
} turn_queue;

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

typedef struct listed {
    uint64_t id;
    void *what; /* owned */
} listed;

typedef struct handle_list {
    listed *items; /* [n], ascending by id */
    size_t n, cap;
} handle_list;
/* -- handles.c, under session.lock -- */
int handle_list_reserve(handle_list *l, dp_error *err); /* room for one more */
void handle_list_add(handle_list *l, uint64_t id, void *what);
void *handle_list_get(const handle_list *l, uint64_t id); /* NULL: there is none */
void *handle_list_take(handle_list *l, uint64_t id);      /* it is on the list no more */

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
    /* Called by sessions_reap() for each session that has ended, once its handles are gone.  NULL:
     * nobody. */
    void (*on_end)(void *arg, uint64_t session);
    void *on_end_arg;
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
    turn_queue turn_queue;
    dp_account *account;  /* owned: what it holds */
    pthread_mutex_t lock; /* of what follows */
    handle *handles;      /* ascending by id */
    size_t n_handles, cap_handles, n_released;
    uint64_t last_handle;
    handle_list generators;
    handle_list objects;
    dp_generators *default_generators; /* owned; has a lock of its own */
    dp_streams *streams;               /* owned; has a lock of its own */
    programs programs;                 /* its own lock */
    dp_flag grad;                      /* dp_ctx_set_grad_flag() */
    request *stuck; /* calls that were answered at their deadline and still run */
    atomic_uint n_stuck;
    uint64_t stuck_ends; /* how many of those have ended */
};
int session_generators_init(struct session *s, dp_error *err);
void session_generators_fini(struct session *s);
void session_objects_drop(struct session *s);             /* objects.c: all handles of objects */
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
uint64_t sessions_ended(sessions *all); /* since the start */
void sessions_usage(sessions *all,
                    dp_usage out[DP_HOLDERS]); /* those that can be joined, together */
bool sessions_over(sessions *all);             /* does sessions_reap() have some to drop? */

#endif
