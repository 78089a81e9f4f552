/* lu.h -- LU factors, for what follows from them. */
#ifndef CPU_LU_H
#define CPU_LU_H

#include "matrices.h"

/* The outputs that hold factors; where they are computed. */
typedef struct lu {
    int at[3]; /* places of LU, pivots and info among the outputs; -1: it is none */
    dp_tensor *lu, *pivots, *info;
} lu;

/* Makes the outputs of a matrix A of this view, before anything is computed. */
int lu_begin(dp_ctx *ctx, outs *o, lu *f, const dp_view *a);
/* f->lu becomes the factors of A; f->info is 0 of an empty one. */
int lu_factor(dp_ctx *ctx, outs *o, lu *f, dp_tensor *A);
/* The outputs get what was computed, if rc is 0; all that f holds goes.  Returns rc, or a copy's
 * code. */
int lu_end(dp_ctx *ctx, int rc, outs *o, lu *f);
/* What is factored for A: its transpose, if A is real and lies by rows, else A.  *out owned. */
int lu_side(dp_ctx *ctx, dp_tensor *A, bool *turned, dp_tensor **out);

#endif
