/* server.h -- the daemon around its methods: what the loop's thread and the workers share.
 *
 * Threads: the loop's thread owns connections and their sockets; workers run requests. */
#ifndef DAEMON_SERVER_H
#define DAEMON_SERVER_H

#include "executor/executor.h"
#include "options.h"
#include "placement.h"
#include "session.h"
#include "transport/connection.h"
#include "transport/endpoint.h"

typedef struct server {
    const options *options;
    const daemon_calls *calls; /* what methods may ask */
    uv_loop_t loop;
    uv_poll_t listener;
    uv_async_t async;
    uv_signal_t sigterm, sigint;
    uv_timer_t reap, linger, drain, accept, waiting;
    unsigned waiting_descriptors; /* that no line has announced yet, of all connections */
    task reap_task, linger_task;
    bool reaping, lingering; /* those tasks are under way */
    size_t reap_left;        /* what reap_task could not close yet */
    atomic_bool changed;     /* plugins: there may be something to reap */
    dp_registry *reg;
    placement placement;
    executor executor;
    sessions sessions;
    struct connection *connections;
    uv_prepare_t turn; /* begins each turn of the loop */
    size_t turn_bytes; /* sent in this turn */
    /* Connections that have more to send than was left of this turn, first come first served. */
    struct connection *deferred, *deferred_tail;
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
    uint64_t linger_next;   /* nanos, when the next session ends; 0: none.  linger_task's */
    uint64_t trimmed_after; /* sessions that had ended at the last malloc_trim().  linger_task's */
    atomic_bool shutdown;   /* was asked for, with drain_ms */
    atomic_bool left;       /* a session may be due: look for it */
    atomic_int_fast64_t drain_ms;
} server;

/* -- limits.c -- */

/* Fill in s->limits from its options and from what the system allows. */
void limits_init(server *s);
/* DP_ERESOURCE: too few descriptors for even a few connections. */
int limits_check(const server *s, dp_error *err);

/* -- plugins.c -- */

/* The file that a plugin's name or path on the command line stands for.  *out in a. */
int plugin_file(const char *word, const char *plugin_path, dp_arena *a, const char **out,
                dp_error *err);
/* Load the plugins beside the executable, and those that --plugin names. */
int plugins_load(server *s, dp_error *err);
/* sessions.on_end, with the registry: run the hooks of plugins on a session's end.  A worker, or
 * the loop's thread when the daemon ends. */
void plugins_session_ended(void *reg, uint64_t session);

/* -- server.c -- */

/* Lock, load plugins, bind, listen.  server_fini() has to be called even after a failure. */
int server_init(server *s, const options *o, dp_error *err);
void server_run(server *s); /* until it is told to leave */
/* Free everything.  false: a kernel still runs, and the process must exit without that. */
bool server_fini(server *s);

#endif
