/* frexp.c -- frexp, which splits numbers into mantissas in [0.5, 1) and exponents
 * (aten/src/ATen/native/UnaryOps.cpp). */
#include "core/dense.h"
#include "core/elements.h"
#include <dispatchd/iter.h>

#define FREXP(name, memory, value, load, store, split)                                             \
    static void name(char *const *data, const int64_t *strides, int64_t n, void *user)             \
    {                                                                                              \
        (void)user;                                                                                \
        for (int64_t i = 0; i < n; i++) {                                                          \
            int exponent = 0;                                                                      \
            value x = load(*(const memory *)(data[2] + i * strides[2]));                           \
            *(memory *)(data[0] + i * strides[0]) = store(split(x, &exponent));                    \
            *(int32_t *)(data[1] + i * strides[1]) = exponent;                                     \
        }                                                                                          \
    }
FREXP(frexp_f32, float, float, , , frexpf)
FREXP(frexp_f64, double, double, , , frexp)
FREXP(frexp_f16, uint16_t, float, dp_float16_to_float, dp_float_to_float16, frexpf)
FREXP(frexp_bf16, uint16_t, float, dp_bfloat16_to_float, dp_float_to_bfloat16, frexpf)

/* aten::frexp.Tensor_out(Tensor self, *, Tensor(a!) mantissa, Tensor(b!) exponent)
 *     -> (Tensor(a!) mantissa, Tensor(b!) exponent) */
static int frexp_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *mantissa, dp_tensor *exponent)
{
    static const dp_iter_loop loops[DP_DTYPE_END] = {[DP_FLOAT32] = frexp_f32,
                                                     [DP_FLOAT64] = frexp_f64,
                                                     [DP_FLOAT16] = frexp_f16,
                                                     [DP_BFLOAT16] = frexp_bf16};
    dp_tensor *outs[] = {mantissa, exponent};
    dp_iter it;
    DP_VIEW(x, self);
    DP_VIEW(m, mantissa);
    DP_VIEW(e, exponent);
    dp_iter_config c = dp_iter_of(DP_ITER_ANY_DTYPE, 2, outs, 1, &self);

    if (!dp_dtype_is_floating(x.dtype))
        return dp_refuse(ctx, DP_ERUNTIME, "torch.frexp() only supports floating-point dtypes");
    if (m.dtype != x.dtype)
        return dp_refuse(ctx, DP_ERUNTIME,
                         "torch.frexp() expects mantissa to have dtype %s but got %s",
                         dp_dtype_name(x.dtype), dp_dtype_name(m.dtype));
    if (e.dtype != DP_INT32)
        return dp_refuse(ctx, DP_ERUNTIME,
                         "torch.frexp() expects exponent to have int dtype but got %s",
                         dp_dtype_name(e.dtype));
    int rc = dp_iter_init(ctx, &c, &it);
    return rc < 0 ? dp_refuse(ctx, rc, NULL) : dp_iter_run_1d(ctx, &it, loops[x.dtype], NULL);
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("frexp.Tensor_out", frexp_out, (T, T, T), ()))
