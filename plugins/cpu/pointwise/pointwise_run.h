/* pointwise_run.h -- one run of a pointwise loop: pointwise.c prepares it, pointwise_run.c runs
 * it. */
#ifndef CPU_POINTWISE_RUN_H
#define CPU_POINTWISE_RUN_H

#include "pointwise.h"

enum { PW_OPERANDS_MAX = 1 + PW_INPUTS_MAX, PW_ITEM = 16 };

/* How operand k of the loop gets there.  What is converted goes by the common dtype, in which
 * float16 stays float16, so that a value is rounded as often as in PyTorch. */
typedef struct pw_operand {
    int at;                      /* its number in the iterator; -1: a Scalar */
    int bytes;                   /* of an element, as the loop sees it */
    dp_convert_fn first, second; /* as in memory to common to the loop's, or back; NULL: the same */
    dp_convert_fn move; /* from the loop\'s type to the same: elements brought together, or apart */
    _Alignas(PW_ITEM) char scalar[PW_ITEM]; /* the Scalar, as the loop sees it */
} pw_operand;

typedef struct pw_run {
    pw_state state; /* what the loop is given */
    dp_iter_loop2d loop;
    bool packed;     /* the loop takes whole vectors */
    bool rearranged; /* some operand is a Scalar */
    bool converted;  /* ... has another type in memory */
    int n;           /* operands, the result included */
    int64_t block;   /* elements that are converted at a time */
    pw_operand operand[PW_OPERANDS_MAX];
} pw_run;

/* Over all elements. */
int pw_run_over(dp_ctx *ctx, const dp_iter *it, pw_run *run);

#endif
