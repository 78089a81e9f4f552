/* linalg.h -- what the composites of linear algebra share. */
#ifndef COMPOSITE_LINALG_H
#define COMPOSITE_LINALG_H

#include "lib/outs.h"
#include "core/composite.h"

/* How the results of a call that returned rc, `made`, become outputs.  All return rc, or the code
 * of what failed.  Source: checkLinalgCompatibleDtype, resize_output, copy_. */
/* Output i, if it is given, gets the shape of `made`, and has a dtype that this can be cast to
 * ("name: Expected arg to be safely castable"; arg NULL: "result").  Before any output is
 * filled. */
int linalg_place(dp_ctx *ctx, int rc, const dp_tensor *made, outs *o, int i, const char *name,
                 const char *arg);
/* Every output becomes made[i], which is taken, or a copy of it where it is given. */
int linalg_fill(dp_ctx *ctx, int rc, dp_tensor *const *made, outs *o);
/* Both, of an operator with one output. */
int linalg_give(dp_ctx *ctx, int rc, dp_tensor *made, outs *o, const char *name);
/* aten::_linalg_check_errors */
int linalg_check(dp_ctx *ctx, dp_tensor *info, const char *name, bool is_matrix);
/* Fails unless v has matrices, square ones.  Source: checkIsMatrix, squareCheckInputs. */
int linalg_check_matrix(dp_ctx *ctx, const dp_view *v, const char *name, const char *arg);
int linalg_check_square(dp_ctx *ctx, const dp_view *v, const char *name);
/* What PyTorch's messages call a dtype: "Float". */
const char *linalg_type_name(dp_dtype d);
dp_dtype linalg_real(dp_dtype d);
static inline bool linalg_inexact(dp_dtype d)
{
    return dp_dtype_is_floating(d) || dp_dtype_is_complex(d);
}
/* t's matrices, conjugated and turned: a view; *out owned. */
int linalg_mH(dp_ctx *ctx, dp_tensor *t, dp_tensor **out);
/* Are calls of t recorded for gradients? */
bool linalg_recorded(dp_ctx *ctx, const dp_tensor *t);
static inline dp_value linalg_str(const char *s)
{
    dp_value v = {DP_TAG_STR, (uint32_t)__builtin_strlen(s), {0}};
    v.u.s = s;
    return v;
}

#endif
