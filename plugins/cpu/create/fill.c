/* fill.c -- fill_ and zero_ (aten/src/ATen/native/Fill.cpp), and check_fits() (core/elements.h).
 *
 * Operators: fill, zero. */
#include "core/elements.h"
#include <dispatchd/iter.h>
#include <math.h>

/* Range of each dtype whose range a Scalar can exceed.  Outside of it fill_ fails. */
static const struct {
    const char *name;
    double low, high; /* uint8 accepts negative integers, as their two's complement */
} ranges[DP_DTYPE_END] = {
    [DP_UINT8] = {"uint8_t", -255, 255},
    [DP_INT8] = {"int8_t", -128, 127},
    [DP_INT16] = {"int16_t", -32768, 32767},
    [DP_INT32] = {"int", -2147483648.0, 2147483647.0},
    [DP_INT64] = {"int64_t", -0x1p63, 0x1.fffffffffffffp62},
    [DP_FLOAT16] = {"at::Half", -65504, 65504},
    [DP_BFLOAT16] = {"at::BFloat16", -0x1.fep127, 0x1.fep127},
    [DP_FLOAT32] = {"float", -0x1.fffffep127, 0x1.fffffep127},
};

int check_fits(dp_ctx *ctx, dp_value v, dp_dtype dtype)
{
    double d;

    if (v.tag == DP_TAG_COMPLEX && v.u.doubles[1] != 0 && !dp_dtype_is_complex(dtype) &&
        dtype != DP_BOOL)
        return dp_fail(ctx, DP_ERUNTIME, "value cannot be converted to type %s without overflow",
                       ranges[dtype].name ? ranges[dtype].name : "double");
    if (v.tag == DP_TAG_BOOL || ranges[dtype].name == NULL ||
        (v.tag == DP_TAG_INT && dtype == DP_INT64))
        return 0;
    d = v.tag == DP_TAG_INT ? (double)v.u.i : v.tag == DP_TAG_DOUBLE ? v.u.d : v.u.doubles[0];
    bool special = dp_dtype_is_floating(dtype) && !isfinite(d);
    if (dtype == DP_UINT8 && v.tag != DP_TAG_INT && d < 0)
        d = INFINITY; /* out of range: only integers wrap */
    if (special || (d >= ranges[dtype].low && d <= ranges[dtype].high))
        return 0;
    return dp_fail(ctx, DP_ERUNTIME, "value cannot be converted to type %s without overflow",
                   ranges[dtype].name);
}

typedef struct filling {
    size_t size;
    char *data; /* of elements that lie beside one another */
    _Alignas(DP_DTYPE_SIZE_MAX) char value[DP_DTYPE_SIZE_MAX];
} filling;

static void fill_beside(int64_t begin, int64_t end, void *user)
{
    const filling *f = user;

    copy_elements(f->size, end - begin, f->data + begin * (int64_t)f->size, (int64_t)f->size,
                  f->value, 0);
}

static void fill_row(char *const *data, const int64_t *strides, int64_t n, void *user)
{
    const filling *f = user;

    copy_elements(f->size, n, data[0], strides[0], f->value, 0);
}

/* Where elements share memory (stride 0) it is written once. */
static int fill_strided(dp_ctx *ctx, dp_tensor *self, filling *f)
{
    int64_t sizes[DP_DIM_MAX];
    dp_tensor *once;
    dp_iter it;
    DP_VIEW(x, self);

    for (int d = 0; d < x.ndim; d++)
        sizes[d] = x.strides[d] == 0 && x.sizes[d] > 1 ? 1 : x.sizes[d];
    int rc = dp_as_strided(ctx, self, x.ndim, sizes, x.strides, dp_tensor_offset(self), &once);
    if (rc < 0)
        return rc;
    dp_iter_config c = dp_iter_of(DP_ITER_NULLARY | DP_ITER_NO_OVERLAP_CHECK, 1, &once, 0, NULL);
    rc = dp_iter_init(ctx, &c, &it);
    if (rc == 0)
        rc = dp_iter_run_1d(ctx, &it, fill_row, f);
    dp_tensor_unref(once);
    return rc;
}

/* aten::fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!) */
static int fill_scalar(dp_ctx *ctx, dp_tensor *self, dp_value value)
{
    enum { GRAIN = 32768 };
    DP_VIEW(x, self);
    int rc = check_fits(ctx, value, x.dtype);

    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    filling f = {dp_dtype_size(x.dtype), x.data, {0}};
    write_scalar(value, x.dtype, f.value);
    if (x.numel == 0 || dp_memoryless(ctx))
        return 0;
    if (!dp_tensor_is_dense(self))
        return fill_strided(ctx, self, &f);
    if (x.numel > GRAIN)
        return dp_parallel_for(ctx, 0, x.numel, GRAIN, fill_beside, &f);
    fill_beside(0, x.numel, &f);
    return 0;
}

/* aten::fill_.Tensor(Tensor(a!) self, Tensor value) -> Tensor(a!) */
static int fill_tensor(dp_ctx *ctx, dp_tensor *self, dp_tensor *value)
{
    dp_value scalar = dp_bool(false);
    int rc = 0;
    DP_VIEW(x, value);

    if (x.ndim != 0)
        return dp_refuse(
            ctx, DP_ERUNTIME,
            "fill_ only supports 0-dimension value tensor but got tensor with %d dimensions.",
            x.ndim);
    if (!dp_memoryless(ctx))
        rc = dp_invoke(ctx, "aten::_local_scalar_dense", "T>s", value, &scalar);
    return rc < 0 ? dp_refuse(ctx, rc, NULL) : fill_scalar(ctx, self, scalar);
}

/* aten::zero_(Tensor(a!) self) -> Tensor(a!) */
static int zero_(dp_ctx *ctx, dp_tensor *self)
{
    return fill_scalar(ctx, self, dp_bool(false));
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("fill_.Scalar", fill_scalar, (T, s), ()),
                DP_IMPL_UNBOXED("fill_.Tensor", fill_tensor, (T, T), ()),
                DP_IMPL_UNBOXED("zero_", zero_, (T), ()))
