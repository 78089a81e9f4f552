/* printing.h -- the turns in which workers print long answers. */
#ifndef DAEMON_PRINTING_H
#define DAEMON_PRINTING_H

#include "executor/executor.h"

/* Let the worker that waits to print the answer of *rq, if one does, give that up.  Under
 * ex->lock. */
void printing_call_off(executor *ex, const request *rq);

#endif
