/* placement.h -- which requests are known to be short. */
#ifndef DAEMON_PLACEMENT_H
#define DAEMON_PLACEMENT_H

#include "job.h"

typedef struct proof { /* for one kernel or method, with one class of sizes and kind of answer */
    uint64_t key;
    uint32_t in_a_row; /* short requests since the last long one */
    uint32_t needed;   /* that many make it proven; grows each time the proof was wrong */
} proof;

enum { PLACEMENT_PROOFS = 4096 };

typedef struct placement {
    dp_registry *reg;
    dp_ctx *loop_ctx;     /* owned: the context of the loop's thread, which alone touches it */
    pthread_mutex_t lock; /* of the proofs */
    proof proofs[PLACEMENT_PROOFS];
    atomic_uint_fast64_t calls_inline, calls_worker, demotions;
} placement;
int placement_init(placement *p, dp_registry *reg, dp_error *err);
void placement_fini(placement *p);
/* Is this work known to be short? */
bool placement_proven(placement *p, const work *w);
/* j has run, or a part of it when it moves: learn from how long that took. */
void placement_note(placement *p, const job *j, const dp_call_stats *f);

#endif
