/* quantized.c -- tensors of qint8, quint8 and qint32 as storage, and kernels for QuantizedCPU.
 * Scale and zero point are left to the caller: this shows what the dtypes are, not a whole
 * quantizer. */
#include <dispatchd/plugin.h>
#include <dispatchd/iter.h>
#include <math.h>

DP_PLUGIN(quantized, "1.0")

typedef struct steps {
    double scale;
    int64_t least, most;
} steps;

static void round_row(char *const *data, const int64_t *strides, int64_t n, void *user)
{
    const steps *s = (const steps *)user;

    for (int64_t i = 0; i < n; i++) {
        double x = nearbyint(*(const double *)(data[1] + i * strides[1]) / s->scale);
        x = fmin(fmax(x, (double)s->least), (double)s->most);
        if (s->most == INT32_MAX)
            *(int32_t *)(data[0] + i * strides[0]) = (int32_t)x;
        else
            *(uint8_t *)(data[0] + i * strides[0]) = (uint8_t)(int)x;
    }
}

/* pack(Tensor self, float scale, ScalarType dtype) -> Tensor: float64 to whole steps of `scale` */
static int pack(dp_ctx *ctx, dp_tensor *self, double scale, int64_t dtype, dp_tensor **out)
{
    DP_VIEW(x, self);
    steps s = {scale,
               dtype == DP_QUINT8  ? 0
               : dtype == DP_QINT8 ? INT8_MIN
                                   : INT32_MIN,
               dtype == DP_QUINT8  ? UINT8_MAX
               : dtype == DP_QINT8 ? INT8_MAX
                                   : INT32_MAX};
    int rc =
        dp_dtype_is_quantized((dp_dtype)dtype)
            ? dp_empty_strided(ctx, (dp_dtype)dtype, x.device, x.ndim, x.sizes, x.strides, out)
            : dp_fail(ctx, DP_ERUNTIME, "%s is no quantized dtype", dp_dtype_name((dp_dtype)dtype));
    if (rc < 0)
        return rc;
    dp_iter_config c = dp_iter_of(DP_ITER_ANY_DTYPE, 1, out, 1, &self);
    dp_iter it;
    rc = dp_iter_init(ctx, &c, &it);
    if (rc == 0)
        rc = dp_iter_run_1d(ctx, &it, round_row, &s);
    if (rc < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* aten::clone on QuantizedCPU: elements of one dtype are moved as they are */
static int clone(dp_call *call)
{
    dp_tensor *out = NULL;
    int rc = dp_empty_like(call->ctx, call->args[0].u.t, DP_DTYPE_NONE, DP_PRESERVE, &out);

    if (rc == 0)
        rc = dp_copy(call->ctx, out, call->args[0].u.t);
    call->rets[0] = dp_tensor_value(out);
    return rc;
}

/* to_float(Tensor self) -> Tensor: what only a quantizer may do, asked of a copy */
static int to_float(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    int rc = dp_empty_like(ctx, self, DP_FLOAT32, DP_PRESERVE, out);

    if (rc == 0 && (rc = dp_copy(ctx, *out, self)) < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* sum(Tensor self, Tensor other) -> Tensor: a loop that would promote */
static int sum(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, dp_tensor **out)
{
    dp_tensor *both[] = {self, other};
    dp_iter_config c = dp_iter_of(DP_ITER_PROMOTE, 1, out, 2, both);
    dp_iter it;

    *out = NULL;
    return dp_iter_init(ctx, &c, &it);
}

DP_LIBRARY(quantized, DP_DEF("pack(Tensor self, float scale, ScalarType dtype) -> Tensor"),
           DP_DEF("to_float(Tensor self) -> Tensor"),
           DP_DEF("sum(Tensor self, Tensor other) -> Tensor"))
DP_LIBRARY_IMPL(quantized, CPU, DP_IMPL_UNBOXED("pack", pack, (T, f, i), (T)))
DP_LIBRARY_IMPL(quantized, QuantizedCPU, DP_IMPL_UNBOXED("to_float", to_float, (T), (T)),
                DP_IMPL_UNBOXED("sum", sum, (T, T), (T)))
DP_LIBRARY_IMPL(aten, QuantizedCPU, DP_IMPL("clone", clone))
