/* facts.c -- questions about tensors, numbers and dtypes that need no element, casts by name, and tensors
 * taken as they are (aten/src/ATen/native/TensorProperties.cpp, TypeProperties.cpp,
 * TensorConversions.cpp). */
#include "chain.h"
#include <dispatchd/check.h>

/* -- dtypes -- */

static int check_dtype(dp_ctx *ctx, int64_t d)
{
    if (d >= 0 && d < DP_DTYPE_END && dp_dtype_size((dp_dtype)d) > 0)
        return 0;
    return dp_fail(ctx, DP_ERUNTIME, "there is no dtype of number %" PRId64, d);
}

/* aten::can_cast(ScalarType from, ScalarType to) -> bool */
static int can_cast(dp_ctx *ctx, int64_t from, int64_t to, bool *out)
{
    int rc = check_dtype(ctx, from);

    if (rc == 0)
        rc = check_dtype(ctx, to);
    *out = rc == 0 && dp_can_cast((dp_dtype)from, (dp_dtype)to);
    return rc;
}

/* aten::promote_types(ScalarType type1, ScalarType type2) -> ScalarType */
static int promote_types(dp_ctx *ctx, int64_t a, int64_t b, int64_t *out)
{
    int rc = check_dtype(ctx, a);

    if (rc == 0)
        rc = check_dtype(ctx, b);
    *out = rc == 0 ? dp_promote_types((dp_dtype)a, (dp_dtype)b) : 0;
    return rc;
}

/* aten::result_type.Tensor(Tensor tensor, Tensor other) -> ScalarType */
static int result_of_tensors(dp_ctx *ctx, dp_tensor *a, dp_tensor *b, int64_t *out)
{
    dp_tensor *both[] = {a, b};

    (void)ctx;
    *out = dp_result_type(both, 2);
    return 0;
}

/* aten::result_type.Scalar(Tensor tensor, Scalar other) -> ScalarType */
static int result_of_scalar(dp_ctx *ctx, dp_tensor *a, dp_value b, int64_t *out)
{
    dp_tensor *number;
    int rc = wrap_scalar(ctx, b, &number);

    if (rc < 0)
        return rc;
    rc = result_of_tensors(ctx, a, number, out);
    dp_tensor_unref(number);
    return rc;
}

/* aten::result_type.Scalar_Tensor(Scalar scalar, Tensor tensor) -> ScalarType */
static int result_of_number(dp_ctx *ctx, dp_value a, dp_tensor *b, int64_t *out)
{
    return result_of_scalar(ctx, b, a, out);
}

/* aten::result_type.Scalar_Scalar(Scalar scalar1, Scalar scalar2) -> ScalarType */
static int result_of_scalars(dp_ctx *ctx, dp_value a, dp_value b, int64_t *out)
{
    dp_tensor *number;
    int rc = wrap_scalar(ctx, a, &number);

    if (rc < 0)
        return rc;
    rc = result_of_scalar(ctx, number, b, out);
    dp_tensor_unref(number);
    return rc;
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL_UNBOXED("can_cast", can_cast, (i, i), (b)),
                DP_IMPL_UNBOXED("promote_types", promote_types, (i, i), (i)),
                DP_IMPL_UNBOXED("result_type.Tensor", result_of_tensors, (T, T), (i)),
                DP_IMPL_UNBOXED("result_type.Scalar", result_of_scalar, (T, s), (i)),
                DP_IMPL_UNBOXED("result_type.Scalar_Tensor", result_of_number, (s, T), (i)),
                DP_IMPL_UNBOXED("result_type.Scalar_Scalar", result_of_scalars, (s, s), (i)))

/* -- tensors -- */

/* aten::is_same_size(Tensor self, Tensor other) -> bool */
static int is_same_size(dp_ctx *ctx, dp_tensor *a, dp_tensor *b, bool *out)
{
    DP_VIEW(x, a);
    DP_VIEW(y, b);

    (void)ctx;
    *out = dp_same_sizes(x.ndim, x.sizes, y.ndim, y.sizes);
    return 0;
}

/* aten::is_floating_point(Tensor self) -> bool */
static int is_floating_point(dp_ctx *ctx, dp_tensor *self, bool *out)
{
    DP_VIEW(x, self);

    (void)ctx;
    *out = dp_dtype_is_floating(x.dtype);
    return 0;
}

/* aten::is_complex(Tensor self) -> bool */
static int is_complex(dp_ctx *ctx, dp_tensor *self, bool *out)
{
    DP_VIEW(x, self);

    (void)ctx;
    *out = dp_dtype_is_complex(x.dtype);
    return 0;
}

/* aten::is_signed(Tensor self) -> bool */
static int is_signed(dp_ctx *ctx, dp_tensor *self, bool *out)
{
    DP_VIEW(x, self);

    (void)ctx;
    *out = x.dtype != DP_BOOL && x.dtype != DP_UINT8;
    return 0;
}

/* aten::is_conj(Tensor self) -> bool */
static int is_conj(dp_ctx *ctx, dp_tensor *self, bool *out)
{
    (void)ctx;
    *out = (dp_tensor_keys(self).functionality & DP_FBIT(DP_F_Conjugate)) != 0;
    return 0;
}

/* aten::is_neg(Tensor self) -> bool */
static int is_neg(dp_ctx *ctx, dp_tensor *self, bool *out)
{
    (void)ctx;
    *out = (dp_tensor_keys(self).functionality & DP_FBIT(DP_F_Negative)) != 0;
    return 0;
}

/* aten::is_nonzero(Tensor self) -> bool */
static int is_nonzero(dp_ctx *ctx, dp_tensor *self, bool *out)
{
    dp_value v = dp_none();
    DP_VIEW(x, self);

    if (x.numel != 1)
        return dp_fail(ctx, DP_ERUNTIME, "Boolean value of Tensor with %s is ambiguous",
                       x.numel ? "more than one value" : "no values");
    int rc = dp_invoke(ctx, "aten::item", "T>s", self, &v);
    if (rc < 0)
        return rc;
    *out = v.tag == DP_TAG_COMPLEX ? v.u.doubles[0] != 0 || v.u.doubles[1] != 0 : as_double(v) != 0;
    return 0;
}

static int wrap_own_dim(dp_ctx *ctx, int64_t *dim, int ndim)
{
    if (ndim > 0)
        return wrap_dim(ctx, dim, ndim);
    return dp_fail(ctx, DP_EINDEX,
                   "Dimension specified as %" PRId64 " but tensor has no dimensions", *dim);
}

/* aten::size.int(Tensor self, int dim) -> int */
static int size_at(dp_ctx *ctx, dp_tensor *self, int64_t dim, int64_t *out)
{
    DP_VIEW(x, self);
    int rc = wrap_own_dim(ctx, &dim, x.ndim);

    *out = rc == 0 ? x.sizes[dim] : 0;
    return rc;
}

/* aten::stride.int(Tensor self, int dim) -> int */
static int stride_at(dp_ctx *ctx, dp_tensor *self, int64_t dim, int64_t *out)
{
    DP_VIEW(x, self);
    int rc = wrap_own_dim(ctx, &dim, x.ndim);

    *out = rc == 0 ? x.strides[dim] : 0;
    return rc;
}

/* aten::_shape_as_tensor(Tensor self) -> Tensor
 * int64, on the CPU */
static int shape_as_tensor(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    DP_VIEW(x, self);
    int64_t ndim = x.ndim;
    int rc = dp_empty(ctx, DP_INT64, DP_DEVICE_CPU, 1, &ndim, DP_CONTIGUOUS, out);

    if (rc < 0 || dp_memoryless(ctx))
        return rc;
    DP_VIEW(y, *out);
    for (int d = 0; d < x.ndim; d++)
        ((int64_t *)y.data)[d] = x.sizes[d];
    return 0;
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("is_floating_point", is_floating_point, (T), (b)),
                DP_IMPL_UNBOXED("is_complex", is_complex, (T), (b)),
                DP_IMPL_UNBOXED("is_signed", is_signed, (T), (b)),
                DP_IMPL_UNBOXED("is_conj", is_conj, (T), (b)),
                DP_IMPL_UNBOXED("is_neg", is_neg, (T), (b)),
                DP_IMPL_UNBOXED("is_nonzero", is_nonzero, (T), (b)),
                DP_IMPL_UNBOXED("size.int", size_at, (T, i), (i)),
                DP_IMPL_UNBOXED("stride.int", stride_at, (T, i), (i)),
                DP_IMPL_UNBOXED("_shape_as_tensor", shape_as_tensor, (T), (T)))

/* aten::lift(Tensor self) -> Tensor
 * There is no functional wrapper to lift it into. */
static int lift(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    (void)ctx;
    *out = dp_tensor_ref(self);
    return 0;
}

/* aten::lift_fresh(Tensor(a) self) -> Tensor(a) */
static int lift_fresh(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    return lift(ctx, self, out);
}

DP_LIBRARY_META(aten, CompositeExplicitAutograd,
                DP_IMPL_UNBOXED("is_same_size", is_same_size, (T, T), (b)),
                DP_IMPL_UNBOXED("lift", lift, (T), (T)),
                DP_IMPL_UNBOXED("lift_fresh", lift_fresh, (T), (T)))

/* -- casts by name -- */

/* aten::_cast_Float(Tensor self, bool non_blocking=False) -> Tensor */
#define CAST(name, dtype)                                                                          \
    static int cast_##name(dp_ctx *ctx, dp_tensor *self, bool non_blocking, dp_tensor **out)       \
    {                                                                                              \
        return dp_invoke(ctx, "aten::to.dtype", "Tib>T", self, (int64_t)dtype, (int)non_blocking,  \
                         out);                                                                     \
    }
CAST(byte, DP_UINT8)
CAST(char, DP_INT8)
CAST(double, DP_FLOAT64)
CAST(float, DP_FLOAT32)
CAST(half, DP_FLOAT16)
CAST(int, DP_INT32)
CAST(long, DP_INT64)
CAST(short, DP_INT16)

DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("_cast_Byte", cast_byte, (T, b), (T)),
                DP_IMPL_UNBOXED("_cast_Char", cast_char, (T, b), (T)),
                DP_IMPL_UNBOXED("_cast_Double", cast_double, (T, b), (T)),
                DP_IMPL_UNBOXED("_cast_Float", cast_float, (T, b), (T)),
                DP_IMPL_UNBOXED("_cast_Half", cast_half, (T, b), (T)),
                DP_IMPL_UNBOXED("_cast_Int", cast_int, (T, b), (T)),
                DP_IMPL_UNBOXED("_cast_Long", cast_long, (T, b), (T)),
                DP_IMPL_UNBOXED("_cast_Short", cast_short, (T, b), (T)))
