/* dense.h -- what kernels that go over arrays share: checks of dtypes, memory, grain. */
#ifndef CPU_DENSE_H
#define CPU_DENSE_H

#include "lib/dims.h"
#include <dispatchd/dtypes.h>

/* What a float's dtype is computed in: float32, or float64 for itself (at::opmath_type). */
dp_dtype dense_opmath(dp_dtype d);
/* What PyTorch's messages call a dtype: "Float" for float32. */
const char *dense_type_name(dp_dtype d);

#define DENSE_BIT(d)   (1u << (d))
#define DENSE_FLOATS   (DP_DTYPE_BITS(DP_DTYPES_FLOATING) | DENSE_BIT(DP_BFLOAT16))
#define DENSE_INTEGERS DP_DTYPE_BITS(DP_DTYPES_INTEGRAL)
#define DENSE_NUMBERS  (DENSE_FLOATS | DENSE_INTEGERS)
#define DENSE_ALL      (DENSE_NUMBERS | DENSE_BIT(DP_FLOAT16) | DENSE_BIT(DP_BOOL))

/* Fails with DP_ERUNTIME, "what" not implemented for 'Half', unless d is one of `types`. */
int dense_check_type(dp_ctx *ctx, const char *what, dp_dtype d, unsigned types);
/* Fails with DP_ERUNTIME, expected scalar type Float but found Double, unless they are equal. */
int dense_check_same(dp_ctx *ctx, dp_dtype want, dp_dtype got);

void *dense_data(const dp_tensor *t);
/* Memory for n items, freed when the call ends.  NULL: there is none, and ctx has the error. */
void *dense_array(dp_ctx *ctx, int64_t n, size_t item);

/* Grain of a parallel loop: how many of its steps are worth a thread.  `each` is the number of
 * element operations of a step; a double, because products of sizes may exceed an int64. */
int64_t dense_grain(double each);

#endif
