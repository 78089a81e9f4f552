/* printing.c -- limits how many workers print long answers at the same time. */
#include "printing.h"
#include "server.h"

enum {
    /* an answer of at least this many bytes of text is long: it takes about 1 ms to print */
    LONG_PRINT_BYTES = 128 << 10,
};

/* A worker that waits for its turn to print. */
struct printer {
    struct printer *next;
    const request *rq;
    pthread_cond_t go;
    bool waits, cancelled;
};

/* Return how many workers may print long answers at the same time: one less than the threads of a
 * parallel kernel (by default, the cores), but at least one.  If every core printed, the main
 * thread would have to wait for the end of another thread's time slice before it runs. */
static unsigned printers_max(const server *s)
{
    return s->options->threads > 2 ? (unsigned)s->options->threads - 1 : 1;
}

/* Remove `*p` from the list and wake its worker.  The caller holds the lock. */
static void wake_printer(executor *ex, struct printer **p)
{
    struct printer *woken = *p;

    *p = woken->next;
    woken->waits = false;
    ex->n_to_print--;
    pthread_cond_signal(&woken->go);
}

void printing_call_off(executor *ex, const request *rq)
{
    for (struct printer **p = &ex->printers; *p != NULL; p = &(*p)->next)
        if ((*p)->rq == rq) {
            (*p)->cancelled = true;
            wake_printer(ex, p);
            return;
        }
}

/* Wait for a turn to print.  false: the request was cancelled.  The caller holds the lock. */
static bool wait_to_print(executor *ex, const request *rq)
{
    struct printer self = {.rq = rq, .waits = true}, **last = &ex->printers;

    pthread_cond_init(&self.go, NULL);
    while (*last != NULL)
        last = &(*last)->next;
    *last = &self;
    ex->n_to_print++;
    while (self.waits)
        pthread_cond_wait(&self.go, &ex->lock);
    pthread_cond_destroy(&self.go);
    return !self.cancelled;
}

int print_begin(request *rq, uint64_t bytes, dp_error *err)
{
    bool begins = true;

    if (bytes < LONG_PRINT_BYTES || ((job *)rq)->on_loop)
        return 0;
    executor *ex = &rq->conn->server->executor;
    pthread_mutex_lock(&ex->lock);
    if (atomic_load(&rq->cancel) != 0)
        begins = false;
    else if (ex->n_printing < printers_max(rq->conn->server))
        ex->n_printing++;
    else
        begins = wait_to_print(ex, rq);
    pthread_mutex_unlock(&ex->lock);
    return begins ? 1 : dp_error_set(err, DP_ECANCELLED, "cancelled before its answer was printed");
}

void print_end(request *rq, int begun)
{
    if (begun <= 0)
        return;
    executor *ex = &rq->conn->server->executor;
    pthread_mutex_lock(&ex->lock);
    /* the next waiting worker begins to print, so `n_printing` stays the same */
    if (ex->printers != NULL)
        wake_printer(ex, &ex->printers);
    else
        ex->n_printing--;
    pthread_mutex_unlock(&ex->lock);
}
