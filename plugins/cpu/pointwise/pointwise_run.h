/* pointwise_run.h -- one run of a pointwise loop: pointwise.c prepares it, pointwise_run.c executes
 * it. */
#ifndef CPU_POINTWISE_RUN_H
#define CPU_POINTWISE_RUN_H

#include "pointwise.h"

enum { PW_OPERANDS_MAX = 1 + PW_INPUTS_MAX, PW_ITEM = 16 };

/* The conversion of one operand of the loop.  Its elements are converted twice, to be rounded as in
 * PyTorch: first to the common dtype, which may be float16, then to the loop's dtype. */
typedef struct pw_operand {
    int at;    /* index of the operand in the iterator; -1: the operand is a Scalar */
    int bytes; /* bytes of an element in the loop */
    /* conversions from memory to the common dtype and on to the loop's dtype, or back; NULL: not
     * needed */
    dp_convert_fn first, second;
    dp_convert_fn move; /* copies elements of the loop's dtype to or from contiguous memory */
    _Alignas(PW_ITEM) char scalar[PW_ITEM]; /* the Scalar in the loop's dtype */
} pw_operand;

/* one run of a loop, shared by all threads */
typedef struct pw_run {
    pw_state state; /* argument of the loop */
    dp_iter_loop2d loop;
    bool packed;     /* the loop takes only whole vectors (pw_row.packed) */
    bool rearranged; /* some operand is a Scalar */
    bool converted;  /* some operand has another dtype in memory */
    int n;           /* number of operands, including the result */
    int64_t block;   /* greatest number of elements that are converted at a time */
    pw_operand operand[PW_OPERANDS_MAX];
} pw_run;

/* Run the loop over all elements of the iterator. */
int pw_run_over(dp_ctx *ctx, const dp_iter *it, pw_run *run);

#endif
