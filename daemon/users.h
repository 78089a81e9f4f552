/* users.h -- one record for each uid that uses the daemon: its sessions and connections, its named
 * tensors, its limits and its figures.
 *
 * Sessions and connections have references to the record.  It stays when the last of them has gone,
 * for two reasons: named tensors outlive sessions, and memory that sessions left in plugins counts
 * for later sessions of the uid.  When LIMIT_UIDS records exist, one that has neither gives way to
 * the next uid.  sessions.lock protects every member, unless a comment says something else. */
#ifndef DAEMON_USERS_H
#define DAEMON_USERS_H

#include "request.h"
#include <stdatomic.h>
#include <sys/types.h>

struct metric_table;
struct sessions;

/* A session's queue in the executor: its connections that have a request to run, sorted by the time
 * since when that request waits (job.since).  Lock: executor.lock. */
typedef struct turn_queue {
    struct turn_queue *next;
    struct user_queue *user; /* borrowed; never changes */
    struct connection *head, *tail;
    unsigned running; /* number of workers that run requests of this session */
    uint64_t since;   /* time (nanos()) when this queue was added to `user` */
    bool listed;      /* this queue is in `user` */
} turn_queue;

/* A uid's queue in the executor: its sessions that may run a request, longest waiting first.  Lock:
 * executor.lock. */
typedef struct user_queue {
    struct user_queue *next;
    turn_queue *head, *tail;
    atomic_uint running; /* number of workers that run requests of this uid; any thread reads it */
    bool limited;        /* at most LIMIT_UID_WORKERS workers run them; never changes */
    bool listed;         /* this queue is in executor.ready */
} user_queue;

typedef struct named_tensor {
    char *name;        /* owned */
    dp_tensor *tensor; /* counted reference */
} named_tensor;

struct user {
    struct user *next;
    struct sessions *all;
    uid_t uid;     /* never changes, like the pointers to accounts and figures */
    unsigned refs; /* sessions and connections of the uid */
    unsigned n_sessions, n_connections; /* of the sessions that can be joined */
    dp_account_group *group;            /* owned: the accounts of all sessions of the uid */
    dp_account *named;                  /* owned: charged for the named tensors; see names.c */
    named_tensor *names;                /* [n_names], sorted by name */
    size_t n_names, cap_names;
    struct metric_table *figures; /* owned; NULL: the uid is the daemon's own */
    user_queue queue;
    /* number of requests that were read and whose answers are not completely sent; the main thread
     * changes it */
    atomic_uint outstanding;
    size_t n_fds;       /* descriptors that came with these requests; main thread only */
    bool held_back;     /* a connection is not read because of these; main thread only */
    atomic_uint n_maps; /* numbers of shared memory of all connections; any thread */
    /* Main thread only: the last loop iteration in which a connection of the uid had a turn, the
     * number of its connections that had one, and that number for the iteration before. */
    uint64_t iteration;
    unsigned n_turns, last_turns;
};

/* -- users.c -- */

/* Return a reference to the record of `uid`, which is made if necessary.  The caller holds
 * sessions.lock.  NULL: LIMIT_UIDS uids use the daemon, or out of memory; see `*err`. */
user *users_get(struct sessions *all, uid_t uid, dp_error *err);
user *user_ref(user *u); /* returns `u` */
void user_unref(user *u);
void users_fini(struct sessions *all);

/* Are as many requests of `u`, or as many descriptors with them, outstanding as another uid than
 * the daemon's own may have?  Main thread. */
static inline bool user_is_busy(const user *u)
{
    return u->queue.limited && (u->n_fds >= LIMIT_SIZE(UID_DESCRIPTORS) ||
                                atomic_load_explicit(&u->outstanding, memory_order_relaxed) >=
                                    LIMIT_SIZE(UID_OUTSTANDING));
}

/* -- names.c -- */

void names_drop(user *u); /* Remove all names. */

#endif
