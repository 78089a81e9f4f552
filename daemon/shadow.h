/* shadow.h -- shadow calls: a share of a connection's calls of op.call (session.set) runs on a
 * second backend, too, and the results are compared.
 *
 *   op.call -> request_shadow_begin()  copies the arguments to memory of the host
 *           -> the call itself
 *           -> request_shadow_end()    copies the results, and queues both
 *   shadow_run()                       on the thread of shadow.c: runs the operator on copies in
 *                                      the backend's memory, and compares
 *
 * A shadow call has a context of its own, so nothing of it is charged to the session, is recorded
 * or can fail the client's call.  What waits has only memory of the host: it keeps no plugin from
 * being unloaded.  Calls that may give other results by right are not shadowed: those of random
 * operators, of operators whose results have no defined elements, with generators or objects, or
 * with the keys, autocast or recording of a client; nor are views, which compute nothing.
 *
 * canary.c compares the calls of a canary in this way, too: its shadow calls run on the devices of
 * their own arguments, with the code that the canary may replace. */
#ifndef DAEMON_SHADOW_H
#define DAEMON_SHADOW_H

#include "shadow_table.h"

/* A tensor among the arguments; arguments that are one tensor have one copy. */
typedef struct shadow_tensor {
    const dp_tensor *of; /* the client's; compared, and not used after the call has ended */
    uint64_t version;    /* of the client's tensor when it was copied */
    dp_device home;      /* device of the client's tensor */
    bool written;
    dp_tensor *host;   /* owned: the copy in memory of the host */
    dp_tensor *device; /* owned: the argument of the shadow call; NULL: not made yet */
} shadow_tensor;

/* How a shadow call ended. */
typedef struct shadow_outcome {
    bool differs, failed, cancelled;
    int code; /* of the failure */
    double largest;
    char what[512]; /* of a difference or a failure: text for the log */
} shadow_outcome;

/* The one that counts a shadow call.  `ended` is called once for each call, on any thread, without
 * the lock of the shadow.  `o` NULL: it was not run, or could not be compared. */
typedef struct shadow_judge {
    void (*ended)(struct shadow_judge *j, const struct shadow_call *c, const shadow_outcome *o);
} shadow_judge;

typedef struct shadow_call {
    struct shadow_call *next; /* in the queue, or in the list of spare ones */
    shadow_judge *judge;      /* borrowed; NULL: the shadow's table counts the call */
    dp_ctx *ctx;              /* owned; the arrays below are in its memory */
    uint64_t canary;          /* generation of the canary that served the call; 0: none did */
    uid_t uid;
    shadow_settings how; /* `device` "": each argument is on the device of the client's */
    uint64_t bytes;      /* counted for LIMIT_SHADOW_BYTES */
    const char *schema;  /* of the operator when it was bound */
    shadow_tensor *tensors;
    uint32_t n_tensors, cap_tensors;
    /* the operator; `args` [n_args] are copies of the client's, with tensors of `tensors`; the
     * other values are owned */
    dp_bound bound;
    /* [bound.n_rets + bound.n_args] owned copies of the returns, and of the written arguments that
     * are not returned; None elsewhere */
    dp_value *want;
} shadow_call;

typedef struct shadow {
    pthread_mutex_t lock;       /* of all members up to `table` */
    pthread_cond_t wake, ended; /* there may be work; no call runs, or the thread has left */
    pthread_t thread;
    bool started, stopping, left;
    bool running;          /* the thread runs a call */
    unsigned paused;       /* number of request_shadow_pause() in force */
    dp_cancel_flag cancel; /* of the call that runs */
    shadow_call *first;    /* the calls that wait, linked by `next` */
    shadow_call **last;    /* where the next one is linked */
    shadow_call *spare;    /* ended calls, whose contexts are used again */
    unsigned n_spare;
    shadow_table table;
    void (*errand)(void *); /* what the thread does next, with `errand_arg`; NULL: nothing */
    void *errand_arg;
    /* The threads of clients use the members below without the lock.  For the others they only try
     * to take it, since the thread of low priority may be suspended while it has it. */
    atomic_bool closed;          /* `stopping`, or `paused` is not 0 */
    atomic_size_t n;             /* calls between request_shadow_begin() and their end */
    atomic_uint_fast64_t bytes;  /* of these calls */
    atomic_uint_fast64_t missed; /* dropped calls that are not in `table` yet */
} shadow;

void shadow_init(shadow *s);
/* Drop the calls that wait, and end the thread; wait for it until `deadline` (nanos()).  false: it
 * still runs, and nothing that it uses may be freed. */
bool shadow_stop(shadow *s, uint64_t deadline);
/* Free everything; before the registry is freed.  shadow_stop() has returned true. */
void shadow_fini(shadow *s);

/* Take the arguments of the call `b` for a shadow call of `how`, as request_shadow_begin() does for
 * a call that was chosen.  `judge`: counts it, if *out is set.  DP_EBUSY: it was dropped, since
 * there is no room for it. */
int shadow_begin(request *rq, const dp_bound *b, const shadow_settings *how, shadow_judge *judge,
                 shadow_call **out);
/* Is call number `n` among the share that is chosen?  Random, equal for equal `n` (splitmix64). */
bool shadow_draw(uint64_t n, double share);
/* Let the thread call errand(arg) before its next shadow call.  An errand that has not begun is
 * replaced.  false: there is no thread, or it ends. */
bool shadow_errand(shadow *s, void (*errand)(void *), void *arg);

/* -- shadow_copy.c -- */

/* May the call `b` of context `ctx` be shadowed?  *bytes: of its tensor arguments. */
bool shadow_fits(dp_ctx *ctx, const dp_bound *b, uint64_t *bytes);
/* Copy the arguments of `b`; `c` has a context.  A failure is described in that context. */
int shadow_take(shadow_call *c, dp_ctx *ctx, const dp_bound *b);
/* Return the bytes of the results of `b`; UINT64_MAX: they cannot be compared, or another call has
 * written an argument meanwhile. */
uint64_t shadow_result_bytes(const shadow_call *c, const dp_bound *b, const dp_value *rets);
/* Copy the results of `b`. */
int shadow_take_results(shadow_call *c, const dp_bound *b, const dp_value *rets);
/* Make a copy of `t` on `device`, with its strides.  *out owned. */
int shadow_copy(dp_ctx *ctx, const dp_tensor *t, dp_device device, dp_tensor **out);
/* Copy the written arguments back to the client's tensors; `ctx` is the client's. */
int shadow_restore(const shadow_call *c, dp_ctx *ctx);
/* Copy `v`, and its tensors into memory of the host; *out owned. */
int shadow_copy_value(shadow_call *c, const dp_value *v, dp_value *out);
void shadow_release(shadow_call *c); /* Release what the call holds; its context is reset. */

/* -- shadow_run.c -- */

/* Run the call on its device, and compare.  `cancel` ends it early. */
void shadow_run(shadow_call *c, const dp_cancel_flag *cancel, shadow_outcome *out);

/* -- shadow_compare.c -- */

/* Compare `got` with `want`, value number `i` of the results, both in memory of the host.  A
 * difference is described in *out.  A failure is described in the context. */
int shadow_compare(dp_ctx *ctx, const shadow_settings *how, uint32_t i, const dp_value *want,
                   const dp_value *got, shadow_outcome *out);

#endif
