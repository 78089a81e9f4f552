/* measure.c -- counts what a request did, for all uids and for the uid of its client. */
#include "measure.h"
#include "methods/methods.h"
#include "server.h"

static metrics *metrics_of(const request *rq)
{
    return &rq->conn->server->metrics;
}

static size_t method_index(const method *m)
{
    if (m == NULL)
        return n_methods + 1;
    return m >= methods && m < methods + n_methods ? (size_t)(m - methods) : n_methods;
}

void measure_call(request *rq)
{
    if (rq->call.from.id == 0)
        return;
    metrics_call(metrics_of(rq), rq->conn->user->figures, &rq->call);
    rq->call.from.id = 0;
}

void request_call_begin(request *rq, const dp_bound *b)
{
    measure_call(rq); /* of the request before in a batch */
    metrics_begin(rq->ctx, b, ((job *)rq)->work.kernel, &rq->call);
}

void request_call_end(request *rq, bool failed)
{
    rq->call.nanos = nanos() - rq->call.began;
    rq->call.failed = failed;
}

void measure_fallbacks(request *rq)
{
    size_t n;
    const dp_fallback_count *counts = dp_ctx_fallbacks(rq->ctx, &n);

    if (n == 0)
        return;
    metrics_fallbacks(metrics_of(rq), rq->conn->user->figures, counts, n);
    dp_ctx_fallbacks_clear(rq->ctx);
}

int request_fallbacks(request *rq, const char *op, dp_fallback_count **out, size_t *n,
                      dp_error *err)
{
    const metric_table *own = rq->conn->user->figures;

    return metrics_fallbacks_copy(metrics_of(rq), own != NULL ? own : &metrics_of(rq)->all, op,
                                  dp_ctx_arena(rq->ctx), out, n, err);
}

void request_failed(request *rq, const method *m, int rpc, const dp_error *err)
{
    if (rq->conn != NULL) /* NULL: the answer to a client that gets no connection */
        metrics_failure(metrics_of(rq), rq->conn->user->figures, method_index(m), rpc, err);
}

void measure_request(job *j, uint64_t now)
{
    request *rq = &j->rq;

    metrics_request(metrics_of(rq), rq->conn->user->figures, method_index(rq->method),
                    now - rq->t_read, &rq->call);
    rq->call.from.id = 0;
}
