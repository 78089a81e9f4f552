/* placement.h -- which requests are short enough for the loop's thread. */
#ifndef DAEMON_PLACEMENT_H
#define DAEMON_PLACEMENT_H

#include "job.h"

/* statistics of one kernel or method, for one class of sizes and kind of answer */
typedef struct proof {
    uint64_t key;
    uint32_t in_a_row; /* number of short requests since the last long one */
    uint32_t needed; /* value of `in_a_row` that makes the work proven; grows after each demotion */
} proof;

enum { PLACEMENT_PROOFS = 4096 };

typedef struct placement {
    dp_registry *reg;
    dp_ctx *loop_ctx;     /* owned: the context of the loop's thread; used only by that thread */
    pthread_mutex_t lock; /* protects `proofs` */
    proof proofs[PLACEMENT_PROOFS];
    atomic_uint_fast64_t calls_inline, calls_worker, demotions;
} placement;
int placement_init(placement *p, dp_registry *reg, dp_error *err);
void placement_fini(placement *p);
/* Is this work proven to be short? */
bool placement_proven(placement *p, const work *w);
/* Learn from the time that `j` took.  `j` has run completely, or partly if it must move to a
 * worker. */
void placement_note(placement *p, const job *j, const dp_call_stats *f);

#endif
