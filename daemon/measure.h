/* measure.h -- counts what a request did; request.h declares the functions that methods call. */
#ifndef DAEMON_MEASURE_H
#define DAEMON_MEASURE_H

#include "job.h"

/* Count the request of `j`, which has run and whose answer is complete at time `now` (nanos()). */
void measure_request(const job *j, uint64_t now);

#endif
