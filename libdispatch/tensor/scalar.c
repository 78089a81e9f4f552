/* scalar.c -- make a 0-dim tensor from a Scalar. */
#include "room.h"
#include <math.h>

/* The range of values of each dtype.  The upper limit of int64 is the largest double below 2^63. */
static const struct {
    double least, most;
} limits[DP_DTYPE_END] = {
    [DP_UINT8] = {-255, 255}, /* negative integers wrap (c10::overflows) */
    [DP_INT8] = {-128, 127},
    [DP_INT16] = {-32768, 32767},
    [DP_INT32] = {-0x1p31, 0x1p31 - 1},
    [DP_INT64] = {-0x1p63, 0x1.fffffffffffffp62},
    [DP_FLOAT16] = {-65504, 65504},
    [DP_FLOAT32] = {-0x1.fffffep127, 0x1.fffffep127},
    [DP_FLOAT64] = {-0x1.fffffffffffffp1023, 0x1.fffffffffffffp1023},
    [DP_COMPLEX64] = {-0x1.fffffep127, 0x1.fffffep127},
    [DP_COMPLEX128] = {-0x1.fffffffffffffp1023, 0x1.fffffffffffffp1023},
    [DP_BOOL] = {-INFINITY, INFINITY},
    [DP_BFLOAT16] = {-0x1.fep127, 0x1.fep127},
};

static bool fits(double x, dp_dtype d)
{
    if (isnan(x) || isinf(x))
        return !dp_dtype_is_integral(d, false);
    return x >= limits[d].least && x <= limits[d].most;
}

/* Return the dtype of the scalar's value, to which `*from` then points.  DP_DTYPE_NONE: the scalar
 * is neither a number nor a bool. */
static dp_dtype source(const dp_value *v, const void **from)
{
    switch (v->tag) {
    case DP_TAG_INT:
        *from = &v->u.i;
        return DP_INT64;
    case DP_TAG_DOUBLE:
        *from = &v->u.d;
        return DP_FLOAT64;
    case DP_TAG_BOOL:
        *from = &v->u.b;
        return DP_BOOL;
    case DP_TAG_COMPLEX:
        *from = v->u.doubles;
        return DP_COMPLEX128;
    default:
        return DP_DTYPE_NONE;
    }
}

static int check_scalar(const dp_value *v, dp_dtype to, dp_error *err)
{
    bool ok = true;

    if (dp_dtype_is_quantized(to))
        return dp_error_set(err, DP_ERUNTIME,
                            "a number cannot be %s without a scale and a zero point",
                            dp_dtype_name(to));
    if (v->tag == DP_TAG_COMPLEX)
        ok = fits(v->u.doubles[0], to) && (to == DP_BOOL || fits(v->u.doubles[1], to)) &&
             (v->u.doubles[1] == 0 || to == DP_BOOL || dp_dtype_is_complex(to));
    else if (v->tag == DP_TAG_DOUBLE)
        ok = fits(v->u.d, to);
    else if (v->tag == DP_TAG_INT && to != DP_INT64)
        ok = fits((double)v->u.i, to);
    return ok ? DP_OK
              : dp_error_set(err, DP_ERUNTIME,
                             "value cannot be converted to type %s without overflow",
                             dp_dtype_name(to));
}

int dpi_scalar_tensor(dp_account *a, dp_value scalar, dp_dtype dtype, dp_tensor **out,
                      dp_error *err)
{
    const void *from = NULL;
    dp_dtype own = source(&scalar, &from);

    if (own == DP_DTYPE_NONE)
        return dp_error_set(err, DP_ETYPE, "a scalar is a number or a bool, not a value of tag %u",
                            scalar.tag);
    dp_dtype to = dtype == DP_DTYPE_NONE ? own : dtype;
    /* An unknown dtype is refused by dpi_empty_strided(). */
    int rc = dp_dtype_size(to) ? check_scalar(&scalar, to, err) : DP_OK;
    if (rc == DP_OK)
        rc = dpi_empty_strided(to, (dpi_target){DP_DEVICE_CPU, 0, a}, 0, NULL, NULL, out, err);
    if (rc == DP_OK)
        dp_convert(to, dpi_storage_of(*out)->data, own, from, 1);
    return rc;
}
