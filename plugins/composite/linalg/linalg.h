/* linalg.h -- outputs, checks and views of matrices for composite kernels of linear algebra. */
#ifndef COMPOSITE_LINALG_H
#define COMPOSITE_LINALG_H

#include "lib/outs.h"
#include "core/composite.h"

/* linalg_place() and then linalg_fill(), or linalg_give() alone, move `made`, the results of a
 * call, to the outputs `o`.  `rc` is the code of that call.  If rc is an error, no output is
 * changed and rc is returned; else 0, or the code of the step that failed.  Source:
 * checkLinalgCompatibleDtype, resize_output, copy_. */

/* If o->given, resize output `i` to the shape of `made`.  Call this for all outputs before
 * linalg_fill().  DP_ERUNTIME: made cannot be cast to the output's dtype ("name: Expected arg to be
 * safely castable"; `arg` NULL stands for "result"). */
int linalg_place(dp_ctx *ctx, int rc, const dp_tensor *made, outs *o, int i, const char *name,
                 const char *arg);
/* For an out= variant (o->given), copy each made[i] to output i; else set output i to made[i].
 * Release each made[i] that did not become an output. */
int linalg_fill(dp_ctx *ctx, int rc, dp_tensor *const *made, outs *o);
/* Run linalg_place() and linalg_fill() for an operator with one output. */
int linalg_give(dp_ctx *ctx, int rc, dp_tensor *made, outs *o, const char *name);
/* Call aten::_linalg_check_errors. */
int linalg_check(dp_ctx *ctx, dp_tensor *info, const char *name, bool is_matrix);
/* Check that `v` has at least two dimensions, and, for linalg_check_square(), that its matrices are
 * square.  Source: checkIsMatrix, squareCheckInputs. */
int linalg_check_matrix(dp_ctx *ctx, const dp_view *v, const char *name, const char *arg);
int linalg_check_square(dp_ctx *ctx, const dp_view *v, const char *name);
/* Return the name of dtype `d` in PyTorch's error messages: "Float". */
const char *linalg_type_name(dp_dtype d);
/* Return the dtype of the real part of elements of dtype `d`. */
dp_dtype linalg_real(dp_dtype d);
static inline bool linalg_inexact(dp_dtype d)
{
    return dp_dtype_is_floating(d) || dp_dtype_is_complex(d);
}
/* Return a view of the conjugate transposes of the matrices in `t`; *out owned. */
int linalg_mH(dp_ctx *ctx, dp_tensor *t, dp_tensor **out);
/* Test whether autograd records calls with `t`. */
bool linalg_recorded(dp_ctx *ctx, const dp_tensor *t);
static inline dp_value linalg_str(const char *s)
{
    dp_value v = {DP_TAG_STR, (uint32_t)__builtin_strlen(s), {0}};
    v.u.s = s;
    return v;
}

#endif
