/* scrape.h -- the text of server.metrics. */
#ifndef DAEMON_SCRAPE_H
#define DAEMON_SCRAPE_H

#include "request.h"

struct server;

/* Fold the series of kernels whose code is neither loaded nor mapped any more; `a` gets temporary
 * data.  A worker. */
int scrape_fold(struct server *s, dp_arena *a, dp_error *err);
/* The function for daemon_calls.metrics; a worker. */
int scrape(request *rq, char **text, size_t *bytes, dp_error *err);

#endif
