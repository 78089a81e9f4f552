/* measure.h -- counts what a request did; request.h declares the functions that methods call. */
#ifndef DAEMON_MEASURE_H
#define DAEMON_MEASURE_H

#include "job.h"

/* Count the request of `j`, which has run and whose answer is complete at time `now` (nanos()), and
 * the call that it made. */
void measure_request(job *j, uint64_t now);
/* Count the calls of `rq` that fell back until now and that are not counted yet; its context is
 * about to be reset. */
void measure_fallbacks(request *rq);
/* Count the call that `rq` made, if that is not counted yet: `rq` may end without an answer of its
 * own. */
void measure_call(request *rq);

#endif
