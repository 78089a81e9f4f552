/* lu.h -- LU factorization, for lu_factor and for operators such as solve that use its factors. */
#ifndef CPU_LU_H
#define CPU_LU_H

#include "matrices.h"

/* outputs for the factors, and the tensors in which they are computed */
typedef struct lu {
    int at[3]; /* indices of LU, pivots and info among the outputs; -1: not an output */
    dp_tensor *lu, *pivots, *info;
} lu;

/* Make the outputs, and the tensors in `f`, for a matrix with view `a`; nothing is computed. */
int lu_begin(dp_ctx *ctx, outs *o, lu *f, const dp_view *a);
/* Compute the factors of A into f->lu, f->pivots and f->info; f->info is 0 if A is empty. */
int lu_factor(dp_ctx *ctx, outs *o, lu *f, dp_tensor *A);
/* Copy the results to the outputs, if `rc` is 0, and release the tensors of `f`.  Return rc, or the
 * code of a failed copy. */
int lu_end(dp_ctx *ctx, int rc, outs *o, lu *f);
/* Set *out, owned, to the matrix that is to be factored: the transpose of A if A is real and
 * contiguous, because the transpose is column-major, as LAPACK needs; else A.  Set *transposed to
 * whether *out is the transpose. */
int lu_side(dp_ctx *ctx, dp_tensor *A, bool *transposed, dp_tensor **out);

#endif
