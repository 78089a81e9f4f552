/* stuck.c -- workers whose calls have not ended soon after their deadline or after their client
 * left, and workers that wait for a generator.
 *
 * Another worker may be started to replace such a worker; see executor.c. */
#include "executor/parts.h"
#include "methods/methods.h"

/* -- stuck workers; the caller holds executor.lock -- */

void stuck_list_due(executor *ex, job *j, uint64_t at)
{
    if (j->due == 0) {
        j->next_due = ex->due;
        ex->due = j;
    }
    j->due = j->due != 0 && j->due < at ? j->due : at;
    turns_watch_from(ex, j->due);
}

void stuck_unlist_due(executor *ex, job *j)
{
    job **p = &ex->due;

    if (j->due == 0)
        return;
    while (*p != j)
        p = &(*p)->next_due;
    *p = j->next_due;
    j->due = 0;
}

/* Stop counting `w` as a worker, so that another worker may be started to replace it until `w` ends
 * its job, or its wait.  No effect if LIMIT_STUCK_WORKERS workers are replaced already. */
static void release_slot(executor *ex, worker *w)
{
    if (w->replaced || ex->n_replaced >= LIMIT(STUCK_WORKERS))
        return;
    w->replaced = true;
    ex->n_replaced++;
    ex->n_workers--;
    turns_worker_ends(ex, &w->session->turn_queue);
}

/* Count `w` as a worker again, if it is neither stuck nor waits for a generator. */
static void reclaim_slot(executor *ex, worker *w)
{
    if (!w->replaced || w->stuck_since != 0 || w->waits_at != NULL)
        return;
    w->replaced = false;
    ex->n_replaced--;
    ex->n_workers++;
    turns_worker_begins(&w->session->turn_queue);
}

/* Does a stuck worker run a call of session `s`? */
static bool has_stuck(const executor *ex, const struct session *s)
{
    const worker *w = ex->workers;

    while (w < ex->workers + WORKERS_MOST && (w->stuck_since == 0 || w->session != s))
        w++;
    return w < ex->workers + WORKERS_MOST;
}

void stuck_refuse_waits(executor *ex)
{
    for (worker *w = ex->workers; w < ex->workers + WORKERS_MOST && ex->n_stuck > 0; w++)
        if (w->waits_at != NULL && has_stuck(ex, w->session)) {
            w->wait_refused = true;
            atomic_store(&w->job->rq.cancel, 1);
            dp_generator_wake(w->waits_at);
        }
}

void stuck_begin(executor *ex, worker *w)
{
    if (w->stuck_since != 0)
        return;
    w->stuck_since = nanos();
    ex->n_stuck++;
    release_slot(ex, w);
    if (ex->draining)
        stuck_refuse_waits(ex);
}

uint64_t stuck_end(executor *ex, worker *w)
{
    uint64_t since = w->stuck_since;

    w->stuck_since = 0;
    ex->n_stuck -= since != 0;
    reclaim_slot(ex, w);
    return since;
}

/* -- waiting for a generator: dp_waits -- */

static int fail_leaves(dp_error *err)
{
    return dp_error_set(
        err, DP_EBUSY, "its generator is held by a call that has not ended, and the daemon leaves");
}

/* Called when a kernel must wait for generator `g`.  On the main thread the kernel fails, and the
 * job runs again on a worker.  A worker may be replaced while it waits. */
static int generator_wait_begins(void *arg, dp_generator *g, dp_error *err)
{
    job *j = arg;
    executor *ex = &j->rq.conn->server->executor;

    if (j->on_loop) {
        j->must_move = true;
        return dp_error_set(err, DP_EWORKER, "another request draws from its generator");
    }
    pthread_mutex_lock(&ex->lock);
    worker *w = j->worker;
    bool refused = ex->draining && has_stuck(ex, w->session);
    if (!refused) {
        w->waits_at = g;
        release_slot(ex, w);
        workers_wake(ex, ex->cap);
    }
    pthread_mutex_unlock(&ex->lock);
    return refused ? fail_leaves(err) : 0;
}

static int generator_wait_ends(void *arg, int rc, dp_error *err)
{
    job *j = arg;
    executor *ex = &j->rq.conn->server->executor;

    pthread_mutex_lock(&ex->lock);
    worker *w = j->worker;
    bool refused = w->wait_refused;
    w->waits_at = NULL;
    w->wait_refused = false;
    reclaim_slot(ex, w);
    pthread_mutex_unlock(&ex->lock);
    return rc < 0 && refused ? fail_leaves(err) : rc;
}

const dp_waits stuck_waits = {generator_wait_begins, generator_wait_ends};
