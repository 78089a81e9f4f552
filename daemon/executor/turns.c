/* turns.c -- chooses the next job to run: sessions take turns, and so do the connections of a
 * session.
 *
 * The caller of every function in this file holds executor.lock, except for the functions on lists
 * of jobs.
 *
 *   E1: a connection waits, and is in executor.waiting, exactly when it is not busy and its
 *       queue is not empty
 *   E2: a connection is ready, and is in its session's turn queue, exactly when it waits, is not
 *       parked (its first job waits until a stuck call of the session ends) and has fewer than
 *       LIMIT_UNSENT_BYTES of unsent answers
 *   E3: a turn queue is listed (in executor.ready) exactly when it is not empty and fewer than
 *       executor.cap (--workers) workers run requests of its session */
#include "executor/parts.h"

/* -- lists of jobs -- */

void job_push(job_list *l, job *j)
{
    j->next = NULL;
    if (l->head == NULL)
        l->head = j;
    else
        l->tail->next = j;
    l->tail = j;
}

void jobs_push_front(job_list *l, job *j)
{
    j->next = l->head;
    if (l->head == NULL)
        l->tail = j;
    l->head = j;
}

job *job_pop(job_list *l)
{
    job *j = l->head;

    if (j != NULL)
        l->head = j->next;
    return j;
}

/* -- turn queues -- */

void turns_list(executor *ex, turn_queue *l)
{
    if (l->listed || l->head == NULL || l->running >= ex->cap)
        return;
    l->listed = true;
    l->since = nanos();
    l->next = NULL;
    if (ex->ready == NULL)
        ex->ready = l;
    else
        ex->ready_tail->next = l;
    ex->ready_tail = l;
}

static void unlist_turn_queue(executor *ex, turn_queue *l)
{
    turn_queue *before = NULL;

    if (!l->listed)
        return;
    for (turn_queue *p = ex->ready; p != l; p = p->next)
        before = p;
    *(before != NULL ? &before->next : &ex->ready) = l->next;
    if (ex->ready_tail == l)
        ex->ready_tail = before;
    l->listed = false;
}

void turns_enter(executor *ex, struct connection *c)
{
    if (c->ready || !c->waits || c->parked != NULL ||
        atomic_load(&c->unsent) >= LIMIT_SIZE(UNSENT_BYTES))
        return;
    turn_queue *l = &c->session->turn_queue;
    uint64_t since = c->queue.head->since;
    struct connection **p = &l->head;
    if (l->tail != NULL && l->tail->queue.head->since <= since)
        p = &l->tail->next_ready;
    while (*p != NULL && (*p)->queue.head->since <= since)
        p = &(*p)->next_ready;
    c->ready = true;
    c->next_ready = *p;
    *p = c;
    if (c->next_ready == NULL)
        l->tail = c;
    ex->n_waiting++;
    turns_list(ex, l);
}

static void leave_turn_queue(executor *ex, struct connection *c)
{
    struct connection *before = NULL;

    if (!c->ready)
        return;
    turn_queue *l = &c->session->turn_queue;
    for (struct connection *p = l->head; p != c; p = p->next_ready)
        before = p;
    *(before != NULL ? &before->next_ready : &l->head) = c->next_ready;
    if (l->tail == c)
        l->tail = before;
    c->ready = false;
    ex->n_waiting--;
    if (l->head == NULL)
        unlist_turn_queue(ex, l);
}

/* -- connections that wait -- */

void turns_watch_from(executor *ex, uint64_t at)
{
    if (ex->watch_at != 0 && ex->watch_at <= at)
        return;
    ex->watch_at = at;
    ex->watch_moved = true;
    uv_async_send(ex->async);
}

uint64_t turns_check_time(const struct connection *c)
{
    const job *j = c->queue.head;

    if (j->ctx != NULL) /* the kernel has run: a worker only prints the answer */
        return 0;
    if (j->stage == JOB_ANSWERED || atomic_load(&c->n_cancels) > 0)
        return j->since;
    return j->stage == JOB_NEW ? j->since + PARSE_AFTER_NS : j->rq.deadline;
}

void turns_await(executor *ex, struct connection *c)
{
    job *j = c->queue.head;

    if (c->busy || j == NULL)
        return;
    if (!c->waits) {
        j->since = j->since != 0 ? j->since : nanos();
        c->waits = true;
        c->next_waiting = ex->waiting;
        c->link_waiting = &ex->waiting;
        if (c->next_waiting != NULL)
            c->next_waiting->link_waiting = &c->next_waiting;
        ex->waiting = c;
        c->check_at = turns_check_time(c);
        if (c->check_at != 0)
            turns_watch_from(ex, c->check_at);
    }
    turns_enter(ex, c);
}

void turns_end_wait(executor *ex, struct connection *c)
{
    if (!c->waits)
        return;
    leave_turn_queue(ex, c);
    c->parked = NULL;
    c->waits = false;
    *c->link_waiting = c->next_waiting;
    if (c->next_waiting != NULL)
        c->next_waiting->link_waiting = c->link_waiting;
}

job *turns_take(executor *ex)
{
    turn_queue *l = ex->ready;

    if (l == NULL)
        return NULL;
    unlist_turn_queue(ex, l);
    struct connection *c = l->head;
    turns_end_wait(ex, c);
    c->busy = true;
    l->running++;
    turns_list(ex, l);
    job *j = job_pop(&c->queue);
    j->rq.session = session_ref(c->session);
    return j;
}

/* Let the connection of `j`, which ran for session `s`, run its next job. */
static void free_connection(executor *ex, struct session *s, job *j)
{
    s->turn_queue.running--;
    turns_list(ex, &s->turn_queue);
    j->rq.conn->busy = false;
    turns_await(ex, j->rq.conn);
}

void turns_put_back(executor *ex, struct session *s, job *j)
{
    atomic_fetch_add(&j->rq.conn->unsent, j->answer_bytes);
    job_push(&ex->done, j);
    free_connection(ex, s, j);
}

void turns_park(executor *ex, struct session *s, job *j)
{
    struct connection *c = j->rq.conn;

    jobs_push_front(&c->queue, j);
    if (!ex->draining && session_stuck_ends(s) == j->rq.waits_for)
        c->parked = s;
    free_connection(ex, s, j);
}

void turns_unpark_all(executor *ex, const struct session *s)
{
    for (struct connection *c = ex->waiting; c != NULL; c = c->next_waiting)
        if (c->parked != NULL && (s == NULL || c->parked == s)) {
            c->parked = NULL;
            turns_enter(ex, c);
        }
}
