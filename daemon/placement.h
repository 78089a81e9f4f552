/* placement.h -- decides which requests are short enough for the main thread, which runs the event
 * loop. */
#ifndef DAEMON_PLACEMENT_H
#define DAEMON_PLACEMENT_H

#include "job.h"

/* statistics about the requests for one kernel or method whose input and estimated output are each
 * in one class of sizes, and that return tensors in one way (work.how) */
typedef struct proof {
    uint64_t key;
    /* number of short requests since the last one that counted as long; see placement_note() */
    uint32_t in_a_row;
    /* value of `in_a_row` from which the work is proven to be short; see demote() */
    uint32_t needed;
} proof;

enum { PLACEMENT_PROOFS = 4096 };

typedef struct placement {
    dp_registry *reg;
    dp_ctx *loop_ctx;     /* owned; used only by the main thread */
    pthread_mutex_t lock; /* protects `proofs` */
    proof proofs[PLACEMENT_PROOFS];
    /* number of calls on the main thread, calls on workers, and calls of demote() */
    atomic_uint_fast64_t calls_inline, calls_worker, demotions;
} placement;
int placement_init(placement *p, dp_registry *reg, dp_error *err);
void placement_fini(placement *p);
/* Were the last requests with this work so short that it may run on the main thread? */
bool placement_proven(placement *p, const work *w);
/* Update the statistics with the time that `j` took.  `j` has run completely, or partly if it must
 * move to a worker. */
void placement_note(placement *p, const job *j, const dp_call_stats *stats);

#endif
