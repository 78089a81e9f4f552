/* promote.c -- type promotion: the dtype of a result (c10/core/ScalarType.cpp,
 * ATen/native/TypeProperties.cpp).
 *
 * There is no ComplexHalf here: where PyTorch's rules give ComplexHalf, the result is complex64. */
#include "room.h"

#define DEFAULT_DTYPE   DP_FLOAT32
#define DEFAULT_COMPLEX DP_COMPLEX64

enum {
    BOOLEAN = DP_CATEGORY_BOOL,
    INTEGRAL = DP_CATEGORY_INTEGRAL,
    FLOATING = DP_CATEGORY_FLOATING,
    COMPLEX = DP_CATEGORY_COMPLEX
};

static const int8_t category[DP_DTYPE_END] = {
#define ROW(id, number, name, aten, bytes, category) [number] = DP_CATEGORY_##category,
    DP_DTYPE_MAP(ROW)
#undef ROW
};

/* indices of rows and columns of `promoted` */
enum { u1, i1, i2, i4, i8, f2, f4, f8, c8, c16, b1, bf, DTYPES };

static const int8_t column[DP_DTYPE_END] = {
    [DP_UINT8] = u1,     [DP_INT8] = i1,        [DP_INT16] = i2,   [DP_INT32] = i4,
    [DP_INT64] = i8,     [DP_FLOAT16] = f2,     [DP_FLOAT32] = f4, [DP_FLOAT64] = f8,
    [DP_COMPLEX64] = c8, [DP_COMPLEX128] = c16, [DP_BOOL] = b1,    [DP_BFLOAT16] = bf,
};

static const int8_t dtype_of[DTYPES] = {
    [u1] = DP_UINT8,     [i1] = DP_INT8,        [i2] = DP_INT16,   [i4] = DP_INT32,
    [i8] = DP_INT64,     [f2] = DP_FLOAT16,     [f4] = DP_FLOAT32, [f8] = DP_FLOAT64,
    [c8] = DP_COMPLEX64, [c16] = DP_COMPLEX128, [b1] = DP_BOOL,    [bf] = DP_BFLOAT16,
};

/* clang-format off */
static const int8_t promoted[DTYPES][DTYPES] = {
    /*          u1   i1   i2   i4   i8   f2   f4   f8   c8   c16  b1   bf */
    [u1]  = {   u1,  i2,  i2,  i4,  i8,  f2,  f4,  f8,  c8,  c16, u1,  bf },
    [i1]  = {   i2,  i1,  i2,  i4,  i8,  f2,  f4,  f8,  c8,  c16, i1,  bf },
    [i2]  = {   i2,  i2,  i2,  i4,  i8,  f2,  f4,  f8,  c8,  c16, i2,  bf },
    [i4]  = {   i4,  i4,  i4,  i4,  i8,  f2,  f4,  f8,  c8,  c16, i4,  bf },
    [i8]  = {   i8,  i8,  i8,  i8,  i8,  f2,  f4,  f8,  c8,  c16, i8,  bf },
    [f2]  = {   f2,  f2,  f2,  f2,  f2,  f2,  f4,  f8,  c8,  c16, f2,  f4 },
    [f4]  = {   f4,  f4,  f4,  f4,  f4,  f4,  f4,  f8,  c8,  c16, f4,  f4 },
    [f8]  = {   f8,  f8,  f8,  f8,  f8,  f8,  f8,  f8,  c16, c16, f8,  f8 },
    [c8]  = {   c8,  c8,  c8,  c8,  c8,  c8,  c8,  c16, c8,  c16, c8,  c8 },
    [c16] = {   c16, c16, c16, c16, c16, c16, c16, c16, c16, c16, c16, c16 },
    [b1]  = {   u1,  i1,  i2,  i4,  i8,  f2,  f4,  f8,  c8,  c16, b1,  bf },
    [bf]  = {   bf,  bf,  bf,  bf,  bf,  f4,  f4,  f8,  c8,  c16, bf,  bf },
};
/* clang-format on */

/* A quantized dtype promotes only with itself.  DP_DTYPE_NONE: PyTorch refuses the pair. */
dp_dtype dp_promote_types(dp_dtype a, dp_dtype b)
{
    if (dp_dtype_size(a) == 0 || dp_dtype_size(b) == 0)
        return DP_DTYPE_NONE;
    if (dp_dtype_is_quantized(a) || dp_dtype_is_quantized(b))
        return a == b ? a : DP_DTYPE_NONE;
    return dtype_of[promoted[column[a]][column[b]]];
}

/* Like dp_promote_types(), but DP_DTYPE_NONE stands for no operand. */
static dp_dtype fold(dp_dtype a, dp_dtype b)
{
    return a == DP_DTYPE_NONE ? b : b == DP_DTYPE_NONE ? a : dp_promote_types(a, b);
}

/* Combine the result dtypes of two groups of operands: return `high`, that of the group with
 * precedence, unless low's category is higher (at::native::combine_categories). */
static dp_dtype combine(dp_dtype high, dp_dtype low)
{
    if (high == DP_DTYPE_NONE || low == DP_DTYPE_NONE)
        return fold(high, low);
    int h = category[high], l = category[low];
    if (h == COMPLEX)
        return high;
    if (l == COMPLEX)
        return h != FLOATING ? low : high == DP_FLOAT64 ? DP_COMPLEX128 : DP_COMPLEX64;
    if (h == FLOATING)
        return high;
    return h == BOOLEAN || l == FLOATING ? dp_promote_types(high, low) : high;
}

/* Return the dtype that a wrapped number of dtype `d` contributes to a result. */
static dp_dtype wrapped_dtype(dp_dtype d)
{
    return category[d] == COMPLEX ? DEFAULT_COMPLEX : category[d] == FLOATING ? DEFAULT_DTYPE : d;
}

/* Return the result dtype if an operand has dtype `quantized`: `quantized` if all operands have
 * this dtype, else DP_DTYPE_NONE. */
static dp_dtype result_of_quantized(dp_tensor *const *tensors, size_t n, dp_dtype quantized)
{
    for (size_t i = 0; i < n; i++)
        if (tensors[i] != NULL && tensors[i]->dtype != quantized)
            return DP_DTYPE_NONE;
    return quantized;
}

static dp_dtype result_of_any(dp_tensor *const *tensors, size_t n)
{
    dp_dtype dimensioned = DP_DTYPE_NONE, scalar = DP_DTYPE_NONE, wrapped = DP_DTYPE_NONE;

    for (size_t i = 0; i < n; i++) {
        const dp_tensor *t = tensors[i];
        if (t == NULL)
            continue;
        if (dp_dtype_is_quantized(t->dtype))
            return result_of_quantized(tensors, n, t->dtype);
        if (t->wrapped)
            wrapped = fold(wrapped, wrapped_dtype(t->dtype));
        else if (dpi_geometry_of(t)->ndim == 0)
            scalar = fold(scalar, t->dtype);
        else
            dimensioned = fold(dimensioned, t->dtype);
    }
    return combine(dimensioned, combine(scalar, wrapped));
}

/* Return the common dtype if all tensors have dimensions and the same dtype; else DP_DTYPE_NONE. */
static inline dp_dtype same_dtype(dp_tensor *const *tensors, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (tensors[i] == NULL || tensors[i]->dtype != tensors[0]->dtype ||
            dpi_geometry_of(tensors[i])->ndim == 0)
            return DP_DTYPE_NONE;
    return n > 0 ? tensors[0]->dtype : DP_DTYPE_NONE;
}

DPI_HOT dp_dtype dp_result_type(dp_tensor *const *tensors, size_t n)
{
    dp_dtype same = same_dtype(tensors, n);

    return DPI_LIKELY(same != DP_DTYPE_NONE) ? same : result_of_any(tensors, n);
}

/* The categories are, from low to high: bool, integral, floating, complex.  Casts within a category
 * and to a higher one are allowed, casts to a lower one are not (at::canCast). */
bool dp_can_cast(dp_dtype from, dp_dtype to)
{
    if (dp_dtype_size(from) == 0 || dp_dtype_size(to) == 0)
        return false;
    int f = category[from], t = category[to];
    /* quantized dtypes are in no category of at::canCast, so only two of its rules apply to them */
    if (dp_dtype_is_quantized(from) || dp_dtype_is_quantized(to))
        return f != COMPLEX && to != DP_BOOL;
    return !(f == COMPLEX && t != COMPLEX) && !(f == FLOATING && t == INTEGRAL) &&
           !(f != BOOLEAN && t == BOOLEAN);
}

/* A copy has no scale and zero point, so it cannot convert quantized elements. */
int dpi_convert_check(dp_dtype to, dp_dtype from, dp_error *err)
{
    return dp_dtype_is_quantized(to) || dp_dtype_is_quantized(from)
               ? dp_error_set(err, DP_ERUNTIME,
                              "a copy cannot convert %s to %s: that takes a scale and a zero point",
                              dp_dtype_name(from), dp_dtype_name(to))
               : DP_OK;
}
