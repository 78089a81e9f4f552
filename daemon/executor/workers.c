/* workers.c -- the worker threads, which run jobs and tasks: started when they are needed, ended
 * when there are too many. */
#include "executor/parts.h"
#include <string.h>
#include <time.h>

enum {
    /* waiting time of work after which more workers are started */
    STALLED_NS = 50 * 1000 * 1000,
    TICK_MS = 20, /* interval between two checks for stalled work */
    SPARE_S = 2,  /* idle time after which a worker above `cap` exits */
};

void workers_run_task(executor *ex, task *t)
{
    ex->tasks = t->next;
    ex->n_waiting--;
    pthread_mutex_unlock(&ex->lock);
    t->work(t);
    pthread_mutex_lock(&ex->lock);
    t->next = ex->tasks_done;
    ex->tasks_done = t;
    uv_async_send(ex->async);
}

bool workers_wait(executor *ex)
{
    struct timespec until;
    int rc = 0;

    if (ex->stopping)
        return false;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += SPARE_S;
    ex->n_idle++;
    if (ex->n_workers > ex->cap)
        rc = pthread_cond_timedwait(&ex->wake, &ex->lock, &until);
    else
        pthread_cond_wait(&ex->wake, &ex->lock);
    ex->n_idle--;
    return rc == 0 || ex->n_workers <= ex->cap || ex->n_waiting > 0;
}

sigset_t signals_block(void)
{
    sigset_t ours, old;

    sigemptyset(&ours);
    sigaddset(&ours, SIGTERM);
    sigaddset(&ours, SIGINT);
    pthread_sigmask(SIG_BLOCK, &ours, &old);
    return old;
}

void workers_join_left(worker *w)
{
    if (w->state != LEFT)
        return;
    pthread_join(w->thread, NULL);
    w->state = IDLE;
}

int workers_start(executor *ex, dp_error *err)
{
    worker *w = ex->workers;

    while (w < ex->workers + WORKERS_MOST && w->state == RUNNING)
        w++;
    if (w == ex->workers + WORKERS_MOST)
        return dp_error_set(err, DP_ERESOURCE, "%d workers are running (workers, stuck_workers)",
                            WORKERS_MOST);
    workers_join_left(w);
    w->ex = ex;
    if (dp_ctx_new(ex->reg, &w->ctx, err) < 0)
        return err->code;
    sigset_t old = signals_block();
    int rc = pthread_create(&w->thread, NULL, ex->run, w);
    /* perhaps there is no memory for the stack: free memory that is cached for later tensors, and
     * retry */
    if (rc != 0) {
        dp_memory_trim(0);
        rc = pthread_create(&w->thread, NULL, ex->run, w);
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc != 0) {
        w->ctx = dp_ctx_free(w->ctx);
        return dp_error_set(err, DP_ERESOURCE, "cannot start a worker: %s", strerror(rc));
    }
    w->state = RUNNING;
    ex->n_workers++;
    return 0;
}

bool workers_wake(executor *ex, unsigned max_workers)
{
    dp_error err = DP_ERROR_INIT;

    if (ex->n_waiting > ex->n_idle && ex->n_workers < max_workers + ex->n_to_print &&
        workers_start(ex, &err) < 0)
        log_seldom(LOG_WARN, "executor.start", "workers=%u error=\"%s\"", ex->n_workers,
                   err.message);
    pthread_cond_signal(&ex->wake);
    return ex->n_waiting > ex->n_idle;
}

/* -- stalled work -- */

static void on_tick(uv_timer_t *h)
{
    executor *ex = h->data;
    uint64_t now = nanos();

    pthread_mutex_lock(&ex->lock);
    bool tasks = ex->tasks != NULL && now - ex->tasks->since > STALLED_NS;
    uint64_t since = turns_since(ex);
    bool stalled = tasks || (since != 0 && now - since > STALLED_NS);
    for (unsigned n = stalled ? ex->n_waiting : 0; n > 0; n--)
        workers_wake(ex, LIMIT_WORKERS + tasks);
    /* No worker runs, perhaps because there is no memory to start one.  Run the task on this
     * thread, the main thread, because the task may free memory. */
    if (tasks && ex->n_workers == 0)
        workers_run_task(ex, ex->tasks);
    bool waits = ex->n_waiting > 0;
    pthread_mutex_unlock(&ex->lock);
    if (!waits)
        uv_timer_stop(h);
}

void workers_start_tick(executor *ex)
{
    if (!uv_is_active((uv_handle_t *)&ex->tick))
        uv_timer_start(&ex->tick, on_tick, TICK_MS, TICK_MS);
}

void workers_queue_task(executor *ex, task *t, unsigned max_workers)
{
    pthread_mutex_lock(&ex->lock);
    task **last = &ex->tasks;
    while (*last != NULL)
        last = &(*last)->next;
    *last = t;
    t->next = NULL;
    t->since = nanos();
    ex->n_waiting++;
    bool waits = workers_wake(ex, max_workers);
    pthread_mutex_unlock(&ex->lock);
    if (waits)
        workers_start_tick(ex);
}
