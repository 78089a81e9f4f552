/* scalar.c -- _local_scalar_dense, which returns the one element of a tensor as a Scalar
 * (aten/src/ATen/native/Scalar.cpp). */
#include "lib/dims.h"
#include <string.h>

/* aten::_local_scalar_dense(Tensor self) -> Scalar
 * The first element of self as a Scalar, converted to the widest dtype of its kind. */
static int local_scalar_dense(dp_ctx *ctx, dp_tensor *self, dp_value *out)
{
    static const dp_dtype wide[DP_DTYPE_END] = {
        [DP_UINT8] = DP_INT64,           [DP_INT8] = DP_INT64,
        [DP_INT16] = DP_INT64,           [DP_INT32] = DP_INT64,
        [DP_INT64] = DP_INT64,           [DP_FLOAT16] = DP_FLOAT64,
        [DP_BFLOAT16] = DP_FLOAT64,      [DP_FLOAT32] = DP_FLOAT64,
        [DP_FLOAT64] = DP_FLOAT64,       [DP_COMPLEX64] = DP_COMPLEX128,
        [DP_COMPLEX128] = DP_COMPLEX128, [DP_BOOL] = DP_BOOL};
    DP_VIEW(x, self);
    dp_value v = dp_none();

    if (x.numel == 0)
        return dp_fail(ctx, DP_ERUNTIME, "a Tensor with 0 elements cannot be converted to Scalar");
    dp_convert_fn convert = dp_converter(wide[x.dtype], x.dtype);
    if (dp_dtype_is_complex(x.dtype)) {
        double *parts = dp_alloc(ctx, 2 * sizeof(double)); /* freed when the call ends */
        if (parts == NULL)
            return DP_ERESOURCE;
        convert((char *)parts, sizeof(double[2]), x.data, 0, 1);
        *out = (dp_value){DP_TAG_COMPLEX, 2, {.doubles = parts}};
        return 0;
    }
    convert((char *)&v.u, sizeof(v.u), x.data, 0, 1);
    *out = wide[x.dtype] == DP_INT64     ? dp_int(v.u.i)
           : wide[x.dtype] == DP_FLOAT64 ? dp_double(v.u.d)
                                         : dp_bool(v.u.b);
    return 0;
}

DP_LIBRARY_IMPL(aten, CPU, DP_IMPL_UNBOXED("_local_scalar_dense", local_scalar_dense, (T), (s)))
