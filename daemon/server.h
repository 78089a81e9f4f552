/* server.h -- the daemon's state, which the main thread and the workers share.
 *
 * The main thread runs the event loop, and owns the connections and their sockets; workers run
 * requests. */
#ifndef DAEMON_SERVER_H
#define DAEMON_SERVER_H

#include "canary.h"
#include "changes.h"
#include "executor/executor.h"
#include "metrics.h"
#include "options.h"
#include "placement.h"
#include "session.h"
#include "shadow.h"
#include "store/store.h"
#include "transport/connection.h"
#include "transport/endpoint.h"
#include "transport/spin.h"

typedef struct server {
    const options *options; /* those of the start */
    int argc;               /* the command line, for reload.c */
    char **argv;
    options *reloaded; /* owned: the options that were read at the last SIGHUP; NULL: none */
    const daemon_calls *calls; /* the functions that methods may call */
    uv_loop_t loop;
    uv_poll_t listener;
    uv_async_t async;
    uv_signal_t sigterm, sigint, sighup;
    /* timers: call dp_plugin_reap(); end sessions without a connection; end the drain; accept again
     * after a failure; check connections for descriptors that wait (announce.c) */
    uv_timer_t reap, linger, drain, accept, waiting;
    /* number of file descriptors, over all connections, that were received before the line that
     * announces them */
    unsigned waiting_descriptors;
    task reap_task, linger_task, reload_task;
    bool reaping, lingering; /* reap_task or linger_task is queued or runs */
    struct reload *reload;   /* owned: what reload_task reads; NULL: it neither waits nor runs */
    bool reload_again;       /* SIGHUP came meanwhile */
    /* result of the last dp_plugin_reap(): number of things that could not be released yet */
    size_t reap_left;
    /* dp_plugin_reap() may have code of unloaded plugins, or device memory, to release */
    atomic_bool reap_due;
    dp_registry *reg;
    placement placement;
    executor executor;
    sessions sessions;
    store store;
    notices notices;
    atomic_bool gradients_due; /* notifications of gradients wait (transport/gradients.c) */
    metrics metrics;
    shadow shadow;
    canary canary;
    struct connection *connections;
    /* connections that server.open made and that the main thread does not serve yet, the newest
     * first; lock: connections_lock */
    struct connection *opened;
    /* the main thread holds this lock while it changes the list `connections`; other threads hold
     * it while they read the list */
    pthread_mutex_t connections_lock;
    changes changes;               /* of the registry, for connections that watch it */
    dp_listener registry_listener; /* calls functions of server.c when the registry changes */
    uv_prepare_t turn;             /* calls connections_turn() in each loop iteration */
    spin spin;
    uint64_t iteration; /* number of this loop iteration */
    /* uids whose connections had a turn in this loop iteration, and in the one before */
    unsigned n_turns, last_turns;
    size_t turn_bytes; /* bytes of answers sent in this loop iteration */
    /* Connections that have more to send, or have read more requests, than this loop iteration
     * allows (TURN_BYTES, TURN_NS); they go on in this order in the next iterations. */
    struct connection *deferred, *deferred_tail;
    uint64_t last_connection;
    int watchers; /* libuv has, or there was memory for, watchers of all lower descriptors */
    atomic_uint n_connections; /* length of `connections` and `opened` */
    atomic_uint_fast64_t requests;
    /* Written by the main thread: the number of the connection that sent the newest request, the
     * time of that request, and the time of the newest request from any other connection
     * (nanos()). */
    atomic_uint_fast64_t last_sender, last_sent_at, others_sent_at;
    uint64_t started; /* start time (nanos()) */
    endpoint endpoint;
    char *cache;  /* owned: the directory for copies of plugins; NULL: none yet */
    int cache_fd; /* descriptor of the lock file in `cache`; -1: none */
    /* Each is true when: `loop` is initialised; `listener` is initialised; `executor` is
     * initialised; the daemon drains (see server.c); server_fini() has begun. */
    bool looping, listening, executing, draining, leaving;
    bool resume_due; /* connections_resume() must run; main thread only */
    bool serves_one; /* --serve-fd: the daemon ends with its last connection */
    /* time (nanos()) when the next session without a connection ends; 0: none.  Used by
     * linger_task */
    uint64_t linger_next;
    /* number of ended sessions at the last malloc_trim().  Used by linger_task */
    uint64_t trimmed_after;
    atomic_bool shutdown; /* shutdown was requested, with `drain_ms` */
    /* session.end was called: connections_close_ended() must run; set by a worker, before the
     * request is answered */
    atomic_bool end_due;
    atomic_bool session_due; /* a session may have to end: linger_task must run */
    atomic_int_fast64_t drain_ms;
} server;

/* -- plugins.c -- */

/* Find the file of a plugin from its name or path on the command line; `plugin_path`: directories
 * to search for a name, may be NULL.  `*out` is allocated in `a`. */
int plugin_file(const char *name, const char *plugin_path, dp_arena *a, const char **out,
                dp_error *err);
/* Load the plugins in the directory plugins/ beside the executable (unless --no-plugins is given),
 * then those that --plugin names. */
int plugins_load(server *s, dp_error *err);
/* Run the plugins' hooks for the end of a session; the function for sessions.on_end, with the
 * registry as `reg`.  Called on a worker, or on the main thread when the daemon stops. */
void plugins_session_ended(void *reg, uint64_t session);

/* Return the options in force: those of the last reload, or of the start.  Main thread. */
static inline const options *server_options(const server *s)
{
    return s->reloaded != NULL ? s->reloaded : s->options;
}

/* -- upkeep.c -- */

/* Let a worker end the sessions whose time without a connection is over.  Main thread. */
void upkeep_sessions(server *s);
/* Start the timer that calls dp_plugin_reap().  The timer runs only while there is something to
 * release: with an active timer, each wait for requests costs more.  Main thread. */
int upkeep_plugins(server *s);
/* Keep the figures of plugins that have gone, and let a worker release what they have left.  Any
 * thread. */
void upkeep_plugins_changed(server *s);
void upkeep_session_due(void *server); /* the function for sessions.on_due; any thread */

/* -- reload.c -- */

/* Begin to read the config file again and to reopen the log, after SIGHUP.  Main thread. */
void reload_start(server *s);
void reload_fini(server *s); /* Free what the last reload left. */

/* -- server.c -- */

/* Lock the socket's path, load plugins, bind the socket and listen.  Even after a failure
 * server_fini() must be called. */
int server_init(server *s, const options *o, int argc, char **argv, dp_error *err);
void server_run(server *s); /* Serve until shutdown. */
/* Stop and free everything.  false: a kernel or a thread of a plugin still runs, and the process
 * must exit without freeing the rest. */
bool server_fini(server *s);

#endif
