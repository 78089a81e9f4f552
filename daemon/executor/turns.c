/* turns.c -- chooses the next job to run: uids take turns, so do the sessions of a uid, and the
 * connections of a session.
 *
 * A worker takes the next job from the uid whose requests the fewest workers run, so a uid with
 * many sessions gets no more workers than one with a single session while both wait.
 *
 * The caller of every function in this file holds executor.lock, except for the functions on lists
 * of jobs.
 *
 *   E1: a connection waits, and is in executor.waiting, exactly when it is not busy and its
 *       queue is not empty
 *   E2: a connection is ready, and is in its session's turn queue, exactly when it waits, is not
 *       parked (its first job waits until a stuck call of the session ends) and has fewer than
 *       LIMIT_UNSENT_BYTES of unsent answers
 *   E3: a turn queue is listed (in the queue of its uid) exactly when it is not empty and fewer
 *       than executor.cap (--workers) workers run requests of its session
 *   E4: the queue of a uid is listed (in executor.ready) exactly when it is not empty and, for
 *       another uid than the daemon's own, fewer than LIMIT_UID_WORKERS workers run its requests */
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

/* -- queues of uids -- */

static void list_user(executor *ex, user_queue *q)
{
    if (q->listed || q->head == NULL || (q->limited && q->running >= LIMIT_SIZE(UID_WORKERS)))
        return;
    q->listed = true;
    q->next = NULL;
    user_queue **last = &ex->ready;
    while (*last != NULL)
        last = &(*last)->next;
    *last = q;
}

static void unlist_user(executor *ex, user_queue *q)
{
    user_queue **p = &ex->ready;

    if (!q->listed)
        return;
    while (*p != q)
        p = &(*p)->next;
    *p = q->next;
    q->listed = false;
}

/* Return the uid whose requests the fewest workers run; of several, the one listed first.  NULL:
 * none is listed. */
static user_queue *fewest_running(const executor *ex)
{
    user_queue *fewest = ex->ready;

    for (user_queue *q = ex->ready; q != NULL; q = q->next)
        if (q->running < fewest->running)
            fewest = q;
    return fewest;
}

uint64_t turns_since(const executor *ex)
{
    uint64_t since = 0;

    for (const user_queue *q = ex->ready; q != NULL; q = q->next)
        if (since == 0 || q->head->since < since)
            since = q->head->since;
    return since;
}

/* -- turn queues -- */

void turns_list(executor *ex, turn_queue *l)
{
    user_queue *q = l->user;

    if (!l->listed && l->head != NULL && l->running < ex->cap) {
        l->listed = true;
        l->since = nanos();
        l->next = NULL;
        if (q->head == NULL)
            q->head = l;
        else
            q->tail->next = l;
        q->tail = l;
    }
    list_user(ex, q);
}

static void unlist_turn_queue(executor *ex, turn_queue *l)
{
    turn_queue *before = NULL;
    user_queue *q = l->user;

    if (!l->listed)
        return;
    for (turn_queue *p = q->head; p != l; p = p->next)
        before = p;
    *(before != NULL ? &before->next : &q->head) = l->next;
    if (q->tail == l)
        q->tail = before;
    l->listed = false;
    if (q->head == NULL)
        unlist_user(ex, q);
}

void turns_worker_begins(turn_queue *l)
{
    l->running++;
    l->user->running++;
}

void turns_worker_ends(executor *ex, turn_queue *l)
{
    l->running--;
    l->user->running--;
    turns_list(ex, l);
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
    user_queue *q = fewest_running(ex);

    if (q == NULL)
        return NULL;
    turn_queue *l = q->head;
    unlist_turn_queue(ex, l);
    unlist_user(ex, q); /* the uid and the session go to the end of their lists */
    struct connection *c = l->head;
    turns_end_wait(ex, c);
    c->busy = true;
    turns_worker_begins(l);
    turns_list(ex, l);
    job *j = job_pop(&c->queue);
    j->rq.session = session_ref(c->session);
    return j;
}

/* Let the connection of `j`, which ran for session `s`, run its next job. */
static void free_connection(executor *ex, struct session *s, job *j)
{
    turns_worker_ends(ex, &s->turn_queue);
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
