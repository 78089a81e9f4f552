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

void request_call_begin(request *rq, const dp_bound *b, metric_call *out)
{
    metrics_begin(metrics_of(rq), rq->conn->user->figures, rq->ctx, b, ((job *)rq)->work.kernel, out);
}

void request_call_end(request *rq, const metric_call *c, bool failed)
{
    metrics_end(metrics_of(rq), rq->conn->user->figures, c, failed);
}

void request_failed(request *rq, const method *m, int rpc, const dp_error *err)
{
    if (rq->conn != NULL) /* NULL: the answer to a client that gets no connection */
        metrics_failure(metrics_of(rq), rq->conn->user->figures, method_index(m), rpc, err);
}

void measure_request(const job *j, uint64_t now)
{
    const request *rq = &j->rq;

    metrics_request(metrics_of(rq), rq->conn->user->figures, method_index(rq->method), now - rq->t_read);
}
