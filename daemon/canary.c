/* canary.c -- chooses the calls that a canary serves, counts how they end, and rolls it back. */
#include "canary.h"
#include "methods/methods.h"
#include "server.h"
#include <stdio.h>
#include <string.h>

/* -- counting -- */

/* No call is chosen any more: the canary is rolled back.  The caller holds the lock. */
static void give_up(canary *c)
{
    atomic_store(&c->chosen, false);
    c->report.state = CANARY_LEAVES;
}

static void roll_back(void *arg);

/* Count a call that canary `generation` served otherwise than the loaded build.  `what`: text for
 * the log.  A call may end after its canary, when there is another one. */
static void count_fault(canary *c, uint64_t generation, const char *op, bool failed,
                        const char *what)
{
    bool enough = false;

    pthread_mutex_lock(&c->lock);
    canary_report *r = &c->report;
    if (r->generation != generation) {
        pthread_mutex_unlock(&c->lock);
        return;
    }
    if (failed)
        r->failed++;
    else
        r->differs++;
    if (r->state == CANARY_RUNS && r->differs + r->failed >= r->differences) {
        snprintf(r->why, sizeof(r->why), "%s %s: %.400s", op, failed ? "failed" : "differs", what);
        give_up(c);
        enough = true;
    }
    log_seldom(LOG_WARN, failed ? "canary.failed" : "canary.differs",
               "plugin='%s' generation=%llu op='%s' %s", r->plugin,
               (unsigned long long)r->generation, op, what);
    pthread_mutex_unlock(&c->lock);
    if (enough && !shadow_errand(&c->server->shadow, roll_back, c->server))
        log_seldom(LOG_WARN, "canary.thread", "the canary serves no calls, but it stays loaded");
}

static void count_compared(canary *c, uint64_t generation)
{
    pthread_mutex_lock(&c->lock);
    c->report.compared += c->report.generation == generation;
    pthread_mutex_unlock(&c->lock);
}

/* The function for shadow_judge.ended. */
static void canary_ended(shadow_judge *j, const shadow_call *call, const shadow_outcome *o)
{
    canary *c = (canary *)j; /* its first member */
    bool compared = o != NULL && !o->cancelled &&
                    (!o->failed || (o->code != DP_ERESOURCE && o->code != DP_EDEADLINE));

    if (compared) {
        count_compared(c, call->canary);
        if (o->differs || o->failed)
            count_fault(c, call->canary, dp_op_name(call->bound.op), false, o->what);
    }
    atomic_fetch_sub(&c->ahead, 1);
}

void canary_init(canary *c, struct server *s)
{
    *c = (canary){.judge.ended = canary_ended, .server = s};
    pthread_mutex_init(&c->changes, NULL);
    pthread_mutex_init(&c->lock, NULL);
}

/* -- the end -- */

static void ended(canary *c, canary_state state)
{
    atomic_store(&c->chosen, false);
    pthread_mutex_lock(&c->lock);
    c->report.state = state;
    pthread_mutex_unlock(&c->lock);
}

/* Roll the canary back that has served too many calls in another way; on the thread of shadow.c. */
static void roll_back(void *arg)
{
    server *s = arg;
    canary *c = &s->canary;
    canary_report r;
    dp_unload_report gone;
    dp_error err = DP_ERROR_INIT;

    pthread_mutex_lock(&c->changes);
    pthread_mutex_lock(&c->lock);
    r = c->report;
    pthread_mutex_unlock(&c->lock);
    bool done = r.state == CANARY_LEAVES &&
                dp_plugin_canary_end(s->reg, r.plugin, false, 0, NULL, NULL, &gone, &err) == 0;
    if (done)
        ended(c, CANARY_ROLLED_BACK);
    pthread_mutex_unlock(&c->changes);
    if (!done)
        return; /* it was ended meanwhile */
    log_event(LOG_WARN, "canary.rolled_back",
              "plugin='%s' generation=%llu calls=%llu compared=%llu why=\"%s\"", r.plugin,
              (unsigned long long)r.generation, (unsigned long long)r.calls,
              (unsigned long long)r.compared, r.why);
    upkeep_plugins_changed(s);
}

static canary *canary_of(const request *rq)
{
    return &rq->conn->server->canary;
}

void request_canary_lock(request *rq)
{
    pthread_mutex_lock(&canary_of(rq)->changes);
}

void request_canary_unlock(request *rq)
{
    pthread_mutex_unlock(&canary_of(rq)->changes);
}

void request_canary_start(request *rq, const canary_settings *how, const dp_plugin_report *plugin)
{
    canary *c = canary_of(rq);

    pthread_mutex_lock(&c->lock);
    c->how = (shadow_settings){.rtol = how->rtol, .atol = how->atol};
    c->report = (canary_report){.state = CANARY_RUNS,
                                .generation = plugin->generation,
                                .share = how->share,
                                .differences = how->differences};
    memcpy(c->report.plugin, plugin->plugin, sizeof(c->report.plugin));
    atomic_store(&c->share, how->share);
    atomic_store(&c->chosen, true);
    pthread_mutex_unlock(&c->lock);
}

int request_canary_end(request *rq, const char *plugin, bool promote, int drain_ms,
                       dp_plugin_report *report, dp_unload_report *gone, dp_error *err)
{
    server *s = rq->conn->server;
    canary *c = &s->canary;

    pthread_mutex_lock(&c->lock);
    bool leaves = c->report.state == CANARY_LEAVES && strcmp(c->report.plugin, plugin) == 0;
    if (promote && leaves)
        dp_error_set(err, DP_EBUSY, "the canary of plugin '%s' is being rolled back: %s", plugin,
                     c->report.why);
    pthread_mutex_unlock(&c->lock);
    if (promote && leaves)
        return err->code;
    int rc = dp_plugin_canary_end(s->reg, plugin, promote, drain_ms, dp_ctx_arena(rq->ctx), report,
                                  gone, err);
    if (rc == 0)
        ended(c, promote ? CANARY_PROMOTED : CANARY_ROLLED_BACK);
    return rc;
}

void request_canary_report(request *rq, canary_report *out)
{
    canary *c = canary_of(rq);

    pthread_mutex_lock(&c->lock);
    *out = c->report;
    pthread_mutex_unlock(&c->lock);
}

/* -- calls -- */

/* Draw whether the canary serves the next call. */
static bool draw(canary *c)
{
    uint64_t n = atomic_fetch_add_explicit(&c->drawn, 1, memory_order_relaxed) + 1;

    return shadow_draw(n, atomic_load_explicit(&c->share, memory_order_relaxed));
}

/* Copy the arguments of `b` for the comparison; *copy NULL: there will be none.  DP_EWORKER: this
 * is the main thread.  DP_EBUSY: too many calls are not compared yet, or there is no room. */
static int take(canary *c, request *rq, const dp_bound *b, canary_choice *choice,
                shadow_call **copy)
{
    /* how long the loaded build's kernel takes tells nothing about the new one, which may hang */
    if (!placement_may_take(rq, SIZE_MAX, false))
        return DP_EWORKER;
    bool full = atomic_fetch_add(&c->ahead, 1) >= LIMIT_SIZE(CANARY_AHEAD);
    pthread_mutex_lock(&c->lock);
    shadow_settings how = c->how;
    choice->generation = c->report.generation;
    pthread_mutex_unlock(&c->lock);
    int rc = full ? DP_EBUSY : shadow_begin(rq, b, &how, &c->judge, copy);
    if (*copy != NULL)
        (*copy)->canary = choice->generation;
    else
        atomic_fetch_sub(&c->ahead, 1);
    return rc;
}

/* May the call `b` be repeated if it fails with the canary?  Without copies of its arguments, only
 * if it changes nothing: no argument, no random state and no object. */
static bool may_repeat(request *rq, const dp_bound *b, const shadow_call *copy)
{
    bool may = copy != NULL || (b->written == 0 && !dp_bound_random(rq->ctx, b));

    for (uint32_t i = 0; copy == NULL && may && i < b->n_args; i++)
        may = b->args[i].tag != DP_TAG_GENERATOR && b->args[i].tag != DP_TAG_OBJECT;
    return may;
}

int request_canary_begin(request *rq, const dp_bound *b, canary_choice *choice, shadow_call **copy)
{
    canary *c = canary_of(rq);

    *copy = NULL;
    if (!atomic_load_explicit(&c->chosen, memory_order_relaxed) || rq->state->capture != NULL)
        return 0;
    /* a worker that goes on with the request keeps what the main thread has drawn */
    if (choice->how == CANARY_OPEN)
        choice->how = draw(c) ? CANARY_CHOSEN : CANARY_NOT_CHOSEN;
    if (choice->how != CANARY_CHOSEN || !dp_ctx_canary(rq->ctx, b->op))
        return 0;
    int rc = take(c, rq, b, choice, copy);
    if (rc < 0 || !may_repeat(rq, b, *copy)) {
        dp_ctx_canary(rq->ctx, NULL);
        choice->how = rc == DP_EWORKER ? CANARY_CHOSEN : CANARY_NOT_CHOSEN;
        return rc == DP_EWORKER ? rc : 0;
    }
    choice->how = CANARY_SERVED;
    pthread_mutex_lock(&c->lock);
    c->report.calls += c->report.generation == choice->generation;
    pthread_mutex_unlock(&c->lock);
    return 0;
}

bool request_canary_retry(request *rq, const shadow_call *copy, int code)
{
    dp_ctx_canary(rq->ctx, NULL);
    if (code >= 0 || code == DP_ECANCELLED || code == DP_EDEADLINE)
        return false;
    return copy == NULL || shadow_restore(copy, rq->ctx) == 0;
}

void request_canary_retried(request *rq, const dp_bound *b, const canary_choice *choice,
                            const dp_error *first, const dp_error *loaded)
{
    char what[512];

    if (first->code == DP_ERESOURCE)
        return; /* that may be chance */
    count_compared(canary_of(rq), choice->generation);
    if (loaded->code == first->code)
        return;
    snprintf(what, sizeof(what), "error=\"%.200s\" loaded=\"%.200s\"", first->message,
             loaded->code != 0 ? loaded->message : "no error");
    count_fault(canary_of(rq), choice->generation, dp_op_name(b->op), true, what);
}
