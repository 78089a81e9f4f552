/* session.h -- sessions: their contents and their lifetimes.
 *
 * A session owns tensors and other objects, which clients name by handles.  Connections join and
 * leave sessions.  A session without a connection lingers, that is, it waits for a new connection,
 * for the time `linger_ms`; then it ends. */
#ifndef DAEMON_SESSION_H
#define DAEMON_SESSION_H

#include "client_handles.h"
#include "users.h"
#include <stdatomic.h>

typedef struct program_handle {
    uint64_t id;
    dp_program *program; /* owned */
} program_handle;

typedef struct cached_program {
    char *key;               /* owned: the program's content; see programs_recall() */
    size_t key_bytes, bytes; /* length of `key`; bytes charged for program and key */
    dp_program *program;     /* owned */
    uint64_t used;           /* value of programs.uses when the program was last used */
} cached_program;

struct programs {
    pthread_mutex_t lock;
    dp_account *account;     /* borrowed */
    program_handle *handles; /* sorted by id */
    size_t n_handles, cap_handles;
    uint64_t last_handle;
    cached_program cached[LIMIT_PROGRAM_CACHE];
    size_t n_cached;
    uint64_t uses; /* number of uses of cached programs so far */
};
void programs_init(programs *ps, dp_account *account);
void programs_fini(programs *ps);

typedef struct handle {
    uint64_t id;
    dp_tensor *tensor; /* owned; NULL: this handle was released */
} handle;

typedef struct handle_item {
    uint64_t id;
    void *object; /* owned */
} handle_item;

typedef struct handle_list {
    handle_item *items; /* [n], sorted by id */
    size_t n, cap;
} handle_list;
/* -- handles.c; the caller holds session.lock -- */
int handle_list_reserve(handle_list *l, dp_error *err); /* Reserve memory for one more item. */
/* Append an item, for which handle_list_reserve() was called; the list takes over `object`. */
void handle_list_add(handle_list *l, uint64_t id, void *object);
void *handle_list_get(const handle_list *l, uint64_t id); /* NULL: not found */
/* Remove the item and return its object; NULL: not found. */
void *handle_list_take(handle_list *l, uint64_t id);

typedef struct sessions {
    dp_holder_limit limits[DP_HOLDERS]; /* of the account of each session */
    /* of each uid's account for named tensors: what is not named any more counts as intermediate,
     * up to the same limits */
    dp_holder_limit named_limits[DP_HOLDERS];
    dp_group_limits user_limits; /* limits of all sessions of a uid together */
    pthread_mutex_t lock;        /* also of the members of `users` */
    user *users;
    unsigned n_users;
    struct metrics *metrics; /* borrowed: where uids have their figures; NULL: they have none */
    struct session *head;    /* sessions that can be joined */
    struct session *ended;   /* sessions that have ended, for sessions_reap() to release */
    uint64_t last_id;        /* id of the newest session */
    uint64_t n;              /* length of the list `head` */
    /* Called on any thread when sessions_reap() may have a session to end; may be NULL. */
    void (*on_due)(void *arg);
    void *on_due_arg;
    /* Called by sessions_reap() for each session that has ended, after its handles were released;
     * may be NULL. */
    void (*on_end)(void *arg, uint64_t session);
    void *on_end_arg;
} sessions;

struct session {
    atomic_uint refs;
    uint64_t id;
    char key[33];   /* see session_key() */
    char label[32]; /* name of the session for reports about running calls */
    /* Lock of the next four members: sessions.lock. */
    struct session *next;
    user *user; /* counted reference */
    unsigned n_connections;
    bool ended; /* no longer in sessions.head */
    int64_t linger_ms;
    /* time (nanos()) when the session ends if no connection joins; 0: it has connections */
    uint64_t ends_at;
    sessions *all;
    turn_queue turn_queue; /* see users.h */
    /* owned: the account that is charged for tensors and calls of the session */
    dp_account *account;
    /* protects the members from `handles` to `objects`, and `stuck` and `stuck_ends` */
    pthread_mutex_t lock;
    handle *handles; /* sorted by id */
    size_t n_handles, cap_handles;
    size_t n_released; /* number of entries of `handles` whose handle was released */
    uint64_t last_handle;
    client_handles client_handles;
    handle_list generators;
    handle_list objects;
    dp_generators *default_generators; /* owned; has its own lock */
    dp_streams *streams;               /* owned; has its own lock */
    programs programs;                 /* has its own lock */
    dp_flag grad;                      /* see session_grad_flag() */
    request *stuck;      /* calls that were answered at their deadline and still run */
    atomic_uint n_stuck; /* length of the list `stuck` */
    uint64_t stuck_ends; /* number of calls that were in the list `stuck` and have ended */
};
int session_generators_init(struct session *s, dp_error *err);
void session_generators_fini(struct session *s);
void session_objects_drop(struct session *s); /* Release all handles of objects; objects.c. */
void sessions_init(sessions *all, const int64_t *limits); /* `limits` has LIMITS members */
void sessions_fini(sessions *all);
/* Create a session with one connection; owned by the caller.  If there are LIMIT_SESSIONS sessions,
 * a session without a connection is ended.  NULL: failed, see `*err`. */
struct session *session_new(sessions *all, dp_error *err);
struct session *session_new_for(sessions *all, uid_t uid, dp_error *err); /* for another uid */
/* Add a connection to the session of this uid with this key; the reference is owned by the caller.
 * NULL: the uid has no session with this key. */
struct session *session_join(sessions *all, uid_t uid, const char *key);
/* Add a connection to `s`, and a reference for it, which the caller owns.  false: the session has
 * ended. */
bool session_enter(struct session *s);
/* Put other limits in force; `limits` has LIMITS members. */
void sessions_limits(sessions *all, const int64_t *limits);
/* Remove a connection from `s`, and drop its reference.  When it was the last connection, the
 * session begins to linger. */
void session_leave(struct session *s);
/* End every session whose time without a connection is over at `now` (nanos()), and release the
 * handles of all ended sessions.  Returns the time (nanos()) when the next session ends; 0: every
 * session has a connection.  `all_of_them`: end every session without a connection now. */
uint64_t sessions_reap(sessions *all, uint64_t now, bool all_of_them);
uint64_t sessions_count(sessions *all);
uint64_t sessions_ended(sessions *all); /* number of sessions that have ended since the start */

/* -- users.c: which uid has which sessions; any thread -- */

/* Store the names and the values, from `limits` [LIMITS], of the limits of accounts. */
void sessions_limits_init(sessions *all, const int64_t *limits);
/* May `asker` see and end the sessions of this uid?  Only the daemon's own uid may, for others. */
bool session_may_see(const struct session *asker, uid_t uid);
/* Sum up the usage of all sessions, and of the named tensors of all uids, that `asker` may see.
 * Returns the number of these sessions. */
uint64_t sessions_usage(sessions *all, const struct session *asker, dp_usage out[DP_HOLDERS]);
/* List the sessions, or the users, that `asker` may see.  `*out`: owned array; returns its length.
 * DP_ERESOURCE: out of memory. */
int64_t sessions_list(sessions *all, const struct session *asker, session_info **out,
                      dp_error *err);
int64_t users_list(sessions *all, const struct session *asker, user_info **out, dp_error *err);
/* End the session `id` now, though it has connections, which the caller must close.  DP_ENOTFOUND:
 * no such session.  DP_EPERM: it is, or may be, another uid's, and `asker` may not end that.
 * DP_EVALUE: it is the session of `asker`. */
int sessions_end(sessions *all, const struct session *asker, uint64_t id, unsigned *connections,
                 dp_error *err);
bool session_has_ended(struct session *s);
/* Move the session at `*p` to the list of ended sessions, which sessions_reap() releases.  The
 * caller holds the lock. */
void sessions_end_at(sessions *all, struct session **p);
bool sessions_over(sessions *all); /* Does sessions_reap() have ended sessions to release? */

#endif
