/* variants.h -- overloads derived from another overload, the target; the generated kernels of
 * gen/composite_variants.c call these functions.  Each variant_*() function calls the operator with
 * the full name `target`, with the arguments of the call, except for the differences that the
 * function's comment describes. */
#ifndef COMPOSITE_VARIANTS_H
#define COMPOSITE_VARIANTS_H

#include <dispatchd/plugin.h>

/* Dtype of the result: the dtype of self; bool; the real dtype of a complex self; the complex dtype
 * of a real self. */
enum { VARIANT_SAME, VARIANT_BOOL, VARIANT_REAL, VARIANT_COMPLEX };

/* Call `target`, which takes tensors where the call has Scalars.  For each bit i that is set in
 * `scalars`, argument i is converted to a 0-dim tensor (wrap_scalar() in composite.h). */
int variant_wrapped(dp_call *call, const char *target, uint64_t scalars);
/* Call `target`, the overload with out= as its last argument.  The out= tensor is a new tensor, or,
 * if the call's operator is in-place, the first argument of the call.  `result` is the dtype of the
 * result, VARIANT_SAME to VARIANT_COMPLEX.  DP_ERUNTIME: VARIANT_REAL of a complex tensor in
 * place. */
int variant_by_out(dp_call *call, const char *target, int result);
/* Checks of a written tensor's dtype: the result's dtype can be cast to that dtype; both dtypes are
 * the same. */
enum { VARIANT_CAST, VARIANT_EXACT };
/* Call `target`, the overload without the call's last arguments, the out= tensors.  There is one
 * out= tensor per return of the target; it is resized and gets a copy of that return.  `dtype` is
 * VARIANT_CAST or VARIANT_EXACT.  DP_ERUNTIME: that check fails, or a return requires a
 * gradient. */
int variant_out_of(dp_call *call, const char *target, int dtype);
/* Call `target` for an in-place operator and copy its return to the first argument of the call.
 * `dtype` is VARIANT_CAST or VARIANT_EXACT. */
int variant_in_place_of(dp_call *call, const char *target, int dtype);
/* Prepare args [n] for a call whose result will then be written to the tensor args[0]: if an
 * argument requires a gradient, replace args[0] by a clone, since backward may read the elements
 * that args[0] has before that write.  *copy is the clone, owned by the caller, or NULL. */
int spare_self(dp_ctx *ctx, dp_value *args, uint32_t n, dp_tensor **copy);
/* Call `target`, of which the call's operator is an alias. */
int variant_alias(dp_call *call, const char *target);

#endif
