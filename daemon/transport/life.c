/* life.c -- the jobs of a connection, its cancelled requests, and its end.
 *
 * A job counts as outstanding from the time it is read until its answer is completely sent. */
#define _GNU_SOURCE /* memmem */
#include "methods/methods.h"
#include "server.h"
#include "transport/parts.h"
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    SLOW_FREE_BYTES = 256 << 10, /* larger answers are freed on a worker */
};

/* -- jobs -- */

static void dropped(task *t)
{
    dp_free(t->arg);
}

/* The maps of a connection that has ended, and the task that frees them. */
struct drop_maps {
    task task; /* first member */
    maps *maps;
};

static void free_maps(task *t)
{
    maps_free(((struct drop_maps *)t)->maps);
}

/* Free the maps of `c`, on a worker if they have much memory. */
static void drop_maps(struct connection *c)
{
    server *s = c->server;
    struct drop_maps *d =
        maps_bytes(c->state.maps) > SLOW_FREE_BYTES && !s->leaving ? dp_malloc(sizeof(*d)) : NULL;

    if (d == NULL) {
        maps_free(c->state.maps);
        return;
    }
    *d = (struct drop_maps){.task = {.work = free_maps, .done = dropped, .arg = d},
                            .maps = c->state.maps};
    executor_task(&s->executor, &d->task);
}

void connection_unref(struct connection *c)
{
    if (--c->refs > 0)
        return;
    if (atomic_load(&c->watching)) /* not earlier: a worker may have run registry.watch until now */
        changes_watch(&c->server->changes, -1);
    connection_free_gradients(c);
    frame_fini(&c->frame);
    connection_discharge(c);
    dp_keyset_unpin(c->state.pinned);
    drop_maps(c);
    dp_capture_free(c->state.capture);
    dp_free(c->state.shadow);
    sync_drop(&c->state.failures);
    user_unref(c->user);
    dp_free(c);
}

/* Record that `c` sends a request, for fair_threads(). */
static void note_request(struct connection *c, uint64_t now)
{
    server *s = c->server;

    if (atomic_load(&s->last_sender) != c->number) {
        atomic_store(&s->others_sent_at, atomic_load(&s->last_sent_at));
        atomic_store(&s->last_sender, c->number);
    }
    atomic_store(&s->last_sent_at, now);
}

/* Add `n` to the outstanding requests of `u`, which only this thread changes; returns the sum. */
static unsigned add_outstanding(user *u, int n)
{
    unsigned sum = atomic_load_explicit(&u->outstanding, memory_order_relaxed) + (unsigned)n;

    atomic_store_explicit(&u->outstanding, sum, memory_order_relaxed);
    return sum;
}

job *connection_job(struct connection *c, char *line, size_t bytes)
{
    job *j = dp_malloc(sizeof(*j)); /* dp_calloc() would be slow here */

    if (j == NULL)
        return NULL;
    *j = (job){0};
    j->rq.daemon = c->server->calls;
    j->rq.conn = c;
    j->rq.state = &c->state;
    j->rq.line = line;
    j->rq.line_bytes = bytes;
    j->rq.bytes_charged = bytes;
    j->rq.t_read = nanos();
    note_request(c, j->rq.t_read);
    j->number = ++c->n_jobs;
    c->refs++;
    c->outstanding++;
    add_outstanding(c->user, 1);
    c->outstanding_bytes += bytes;
    atomic_fetch_add(&c->server->requests, 1);
    return j;
}

/* The request of `j` is not outstanding any more. */
static void end_outstanding(const job *j)
{
    struct connection *c = j->rq.conn;
    user *u = c->user;
    unsigned left = add_outstanding(u, -1);

    c->outstanding--;
    c->outstanding_bytes -= j->rq.bytes_charged;
    if (j->rq.received != NULL) {
        c->outstanding_fds -= j->rq.received->n;
        u->n_fds -= j->rq.received->n;
    }
    /* not at once when `left` is below the limit, so that connections are not resumed for every
     * single request */
    if (u->held_back && left <= LIMIT_SIZE(UID_OUTSTANDING) / 4 * 3 &&
        u->n_fds <= LIMIT_SIZE(UID_DESCRIPTORS) / 4 * 3) {
        u->held_back = false;
        c->server->resume_due = true;
        uv_async_send(&c->server->async);
    }
}

static void drop_answer(task *t)
{
    request *rq = &((job *)t->arg)->rq;

    for (size_t i = 0; i < rq->n_parts; i++)
        dp_tensor_unref(rq->parts[i].packed);
    dp_free(rq->parts);
    jw_fini(&rq->out);
}

void connection_job_free(job *j)
{
    server *s = j->rq.conn->server;

    if (j->notice)
        j->rq.conn->notices--;
    else if (!j->overdue)
        end_outstanding(j);
    job_drop(j);
    connection_unref(j->rq.conn);
    descriptors_free(j->rq.received);
    sent_descriptor_drop(&j->rq);
    dp_free(j->rq.attachment_bytes);
    dp_free(j->rq.attachment_offset);
    j->side_task = (task){.work = drop_answer, .done = dropped, .arg = j};
    if (j->answer_bytes > SLOW_FREE_BYTES && !s->leaving) {
        executor_task(&s->executor, &j->side_task);
        return;
    }
    drop_answer(&j->side_task);
    dropped(&j->side_task);
}

/* -- cancelled requests -- */

int connection_cancel(request *rq, const cJSON *id, bool *waiting, dp_error *err)
{
    const job *j = (const job *)rq;
    struct connection *c = rq->conn;
    executor *ex = &c->server->executor;
    cancel *k;

    /* on a worker, call.cancel runs after all earlier requests: none is left to cancel */
    *waiting = j->on_loop && c->in_executor > 0;
    if (!*waiting)
        return 0;
    if (c->n_cancels >= LIMIT(OUTSTANDING))
        return LIMIT_REACHED(OUTSTANDING, LIMIT(OUTSTANDING) + 1,
                             dp_error_set(err, DP_ERESOURCE,
                                          "%lld requests are cancelled already (outstanding)",
                                          (long long)LIMIT(OUTSTANDING)));
    k = dp_malloc(sizeof(*k));
    if (k != NULL)
        *k = (cancel){NULL, cJSON_Duplicate(id, true), j->number - 1};
    if (k == NULL || k->id == NULL) {
        dp_free(k);
        return dp_error_set(err, DP_ERESOURCE, "out of memory: a cancelled request");
    }
    pthread_mutex_lock(&ex->lock);
    k->next = c->cancels;
    c->cancels = k;
    c->n_cancels++;
    pthread_mutex_unlock(&ex->lock);
    executor_cancel(ex, c, id);
    return 0;
}

void connection_drop_cancels(struct connection *c)
{
    pthread_mutex_lock(&c->server->executor.lock);
    cancel *k = c->cancels;
    c->cancels = NULL;
    c->n_cancels = 0;
    pthread_mutex_unlock(&c->server->executor.lock);
    while (k != NULL) {
        cancel *next = k->next;
        cJSON_Delete(k->id);
        dp_free(k);
        k = next;
    }
}

/* -- the end -- */

void connection_drop_descriptors(struct connection *c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        close(c->fds[i]);
    connection_shift_descriptors(c, n);
}

void connection_shift_descriptors(struct connection *c, size_t n)
{
    c->n_fds -= (unsigned)n;
    c->server->waiting_descriptors -= (unsigned)n;
    dp_move_n(c->fds, c->fds + n, c->n_fds, sizeof(c->fds[0]));
}

void connections_check_drained(server *s)
{
    /* while the daemon leaves, the loop runs once more, to close its handles */
    if ((s->draining || s->serves_one) && !s->leaving && atomic_load(&s->n_connections) == 0)
        uv_stop(&s->loop);
}

static void on_closed(uv_handle_t *h)
{
    connection_unref(h->data);
}

/* -- requests that nobody will run, because their client has left -- */

/* `t->arg` is the first of a list of jobs. */
static void abandon(task *t)
{
    dp_error err = DP_ERROR_INIT;

    dp_error_set(&err, DP_ECANCELLED, "the connection was closed before the request ran");
    for (job *j = t->arg; j != NULL; j = j->next) {
        if (j->stage == JOB_NEW)
            job_parse(j);
        if (j->stage == JOB_PARSED)
            request_abandon(&j->rq, &err);
    }
}

static void abandoned(task *t)
{
    for (job *j = t->arg, *next; j != NULL; j = next) {
        next = j->next;
        connection_job_free(j);
    }
}

/* May the request of `j` name handles in a param "into"? */
static bool names_handles(const job *j)
{
    return j->stage != JOB_ANSWERED && j->rq.line != NULL &&
           memmem(j->rq.line, j->rq.line_bytes, "\"into\"", 6) != NULL;
}

/* Free the jobs in `queued`, which have not run.  The handles that they should have made fail:
 * other connections of the session may know them.  A worker does that, because the requests may
 * have to be parsed. */
static void abandon_jobs(struct connection *c, job_list *queued)
{
    job_list named = {NULL, NULL};
    job *j;

    while ((j = job_pop(queued)) != NULL) {
        /* The job's kernel may have run and replaced storages of tensors; freeing the job charges
         * them to its session. */
        j->rq.session = session_ref(c->session);
        if (names_handles(j) && !c->server->leaving)
            job_push(&named, j);
        else
            connection_job_free(j);
    }
    if (named.head == NULL)
        return;
    named.head->side_task = (task){.work = abandon, .done = abandoned, .arg = named.head};
    executor_task(&c->server->executor, &named.head->side_task);
}

void connection_close(struct connection *c)
{
    server *s = c->server;
    job *j;

    if (c->closed)
        return;
    c->closed = true;
    log_event(LOG_DEBUG, "connection.close", "connection=%llu outstanding=%u",
              (unsigned long long)c->number, c->outstanding);
    /* on_closed() drops the poll handle's reference */
    uv_close((uv_handle_t *)&c->poll, on_closed);
    close(c->fd);
    connection_drop_descriptors(c, c->n_fds);
    connection_undefer(c);
    if (s->spin.newest == c)
        s->spin.newest = NULL;
    job_list queued = executor_withdraw(&s->executor, c);
    abandon_jobs(c, &queued);
    while ((j = job_pop(&c->out)) != NULL)
        connection_job_free(j);
    if (c->pending != NULL && !c->parsing) {
        connection_job_free(c->pending);
        c->pending = NULL;
    }
    connection_drop_cancels(c);
    pthread_mutex_lock(&s->executor.lock);
    struct session *session = c->session;
    c->session = NULL;
    pthread_mutex_unlock(&s->executor.lock);
    session_leave(session);
    pthread_mutex_lock(&s->connections_lock);
    *c->link = c->next;
    if (c->next != NULL)
        c->next->link = c->link;
    pthread_mutex_unlock(&s->connections_lock);
    atomic_fetch_sub(&s->n_connections, 1);
    connections_check_drained(s);
    connection_unref(c); /* the reference of the server */
}

/* -- connections that the daemon closes -- */

void connection_say_why(int fd, const dp_error *why)
{
    request rq = {0};

    jw_init(&rq.out);
    request_refuse(&rq, why);
    if (send(fd, rq.out.s, rq.out.len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        log_event(LOG_DEBUG, "connection.refuse", "error=\"%s\"", strerror(errno));
    jw_fini(&rq.out);
}

void connection_close_because(struct connection *c, const dp_error *why)
{
    log_seldom(LOG_WARN, "connection.close", "connection=%llu error=\"%s\"",
               (unsigned long long)c->number, why->message);
    metrics_failure(&c->server->metrics, c->user->figures, n_methods + 1, 0, why);
    connection_say_why(c->fd, why);
    connection_close(c);
}
