/* dense.h -- dtype checks, scratch memory and grain sizes for kernels that loop over arrays. */
#ifndef CPU_DENSE_H
#define CPU_DENSE_H

#include "lib/dims.h"
#include <dispatchd/dtypes.h>

/* Return the dtype in which elements of floating dtype `d` are computed: float64 for float64,
 * else float32 (at::opmath_type). */
dp_dtype dense_opmath(dp_dtype d);
/* Return the name of dtype `d` in PyTorch's error messages: "Float" for float32. */
const char *dense_type_name(dp_dtype d);

#define DENSE_BIT(d)   (1u << (d))
#define DENSE_FLOATS   (DP_DTYPE_BITS(DP_DTYPES_FLOATING) | DENSE_BIT(DP_BFLOAT16))
#define DENSE_INTEGERS DP_DTYPE_BITS(DP_DTYPES_INTEGRAL)
#define DENSE_NUMBERS  (DENSE_FLOATS | DENSE_INTEGERS)
#define DENSE_ALL      (DENSE_NUMBERS | DENSE_BIT(DP_FLOAT16) | DENSE_BIT(DP_BOOL))

/* Check that dtype `d` is in `types`, a mask of DENSE_BIT()s.  `what` is the name of the kernel in
 * the error message ("what" not implemented for 'Half').  DP_ERUNTIME: d is not in types. */
int dense_check_type(dp_ctx *ctx, const char *what, dp_dtype d, unsigned types);
/* Check that dtype `got` is equal to `want`.
 * DP_ERUNTIME: they differ (expected scalar type Float but found Double). */
int dense_check_same(dp_ctx *ctx, dp_dtype want, dp_dtype got);

/* Return the address of the first element of `t`. */
void *dense_data(const dp_tensor *t);
/* Allocate memory for `n` items of `item` bytes.  The dispatcher frees the memory when the running
 * operator call ends.  NULL: the allocation failed, and `ctx` has the error. */
void *dense_array(dp_ctx *ctx, int64_t n, size_t item);

/* Return the grain size for dp_parallel_for(): the number of loop steps that take longer than
 * waking a thread.  `each` is the number of element operations in one step; its type is double,
 * because a product of sizes may exceed an int64. */
int64_t dense_grain(double each);

#endif
