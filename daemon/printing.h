/* printing.h -- limits how many workers print long answers at the same time. */
#ifndef DAEMON_PRINTING_H
#define DAEMON_PRINTING_H

#include "executor/executor.h"

/* If a worker waits in print_begin() to print the answer of `rq`, end its wait: `rq` was cancelled.
 * The caller holds `ex->lock`. */
void printing_call_off(executor *ex, const request *rq);

#endif
