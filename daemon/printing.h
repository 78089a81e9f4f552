/* printing.h -- limits how many workers print long answers at the same time. */
#ifndef DAEMON_PRINTING_H
#define DAEMON_PRINTING_H

#include "executor/executor.h"

/* Cancel the wait of the worker that waits to print the answer of `rq`, if one waits.  The caller
 * holds `ex->lock`. */
void printing_call_off(executor *ex, const request *rq);

#endif
