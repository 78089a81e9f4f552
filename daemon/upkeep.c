/* upkeep.c -- work that the daemon does beside requests: it ends sessions, unmaps the code of
 * unloaded plugins, and gives free memory back to the system.
 *
 * Timers of the main thread start this work; workers do it. */
#include "scrape.h"
#include "server.h"
#include <malloc.h>

enum {
    REAP_MS = 1000, /* interval between two calls of dp_plugin_reap() */
    /* number of ended sessions after which malloc's free memory is given back to the system */
    TRIM_SESSIONS = 250,
};

/* Unmap the code of unloaded plugins that no thread runs any more, and release device memory that
 * no stream uses any more.  When nothing is left to do, give free memory back to the system: a
 * change of the registry frees the dispatch tables that it replaces.  A worker runs this task,
 * because dlclose() may block. */
static void reap_work(task *t)
{
    server *s = t->arg;

    s->reap_left = dp_plugin_reap(s->reg);
    if (s->reap_left == 0)
        malloc_trim(0);
}

static void reap_done(task *t)
{
    server *s = t->arg;

    s->reaping = false;
    if (s->reap_left == 0 && !atomic_load(&s->reap_due))
        uv_timer_stop(&s->reap);
}

static void on_reap(uv_timer_t *h)
{
    server *s = h->data;

    if (s->reaping)
        return;
    s->reaping = true;
    s->reap_task = (task){.work = reap_work, .done = reap_done, .arg = s};
    executor_task(&s->executor, &s->reap_task);
}

int upkeep_plugins(server *s)
{
    return uv_is_active((uv_handle_t *)&s->reap)
               ? 0
               : uv_timer_start(&s->reap, on_reap, REAP_MS, REAP_MS);
}

/* End the sessions whose time without a connection is over.  A worker runs this task, because a
 * session may have a million tensors.  Free memory is given back to the system when the last
 * session has ended, and whenever TRIM_SESSIONS more sessions have ended: later sessions would not
 * reuse all of it, because it is scattered in the C library's heaps. */
static void linger_work(task *t)
{
    server *s = t->arg;

    s->linger_next = sessions_reap(&s->sessions, nanos(), false);
    uint64_t left = sessions_count(&s->sessions), ended = sessions_ended(&s->sessions);
    if (left == 0)
        dp_memory_trim(0);
    if (left == 0 || ended - s->trimmed_after >= TRIM_SESSIONS) {
        malloc_trim(0);
        s->trimmed_after = ended;
    }
}

static void on_linger(uv_timer_t *h)
{
    upkeep_sessions(h->data);
}

static void linger_done(task *t)
{
    server *s = t->arg;
    uint64_t now = nanos(), at = s->linger_next;

    s->lingering = false;
    if (at != 0 && !s->leaving)
        uv_timer_start(&s->linger, on_linger, at > now ? (at - now) / 1000000 + 1 : 1, 0);
}

void upkeep_sessions(server *s)
{
    if (s->leaving)
        return;
    /* the running task may have checked this session before the session had to end, so run the task
     * again */
    if (s->lingering) {
        atomic_store(&s->session_due, true);
        uv_timer_start(&s->linger, on_linger, 1, 0);
        return;
    }
    s->lingering = true;
    s->linger_task = (task){.work = linger_work, .done = linger_done, .arg = s};
    executor_task(&s->executor, &s->linger_task);
}

void upkeep_plugins_changed(server *s)
{
    dp_arena *a = dp_arena_new();

    if (a != NULL)
        scrape_fold(s, a, NULL);
    dp_arena_free(a);
    atomic_store(&s->reap_due, true);
    uv_async_send(&s->async);
}

void upkeep_session_due(void *arg)
{
    server *s = arg;

    atomic_store(&s->session_due, true);
    uv_async_send(&s->async);
}
