/* pointwise_more.c -- pointwise operators whose arguments decide which loop runs. */
#include "pointwise.h"
#include <string.h>

extern const pw_op pw_sub, pw_div, pw_div_trunc, pw_div_floor, pw_pow, pw_pow_scalar, pw_gelu,
    pw_gelu_tanh, pw_hardtanh, pw_clamp, pw_clamp_min, pw_clamp_max, pw_clamp_tensor, pw_maximum,
    pw_minimum;

/* aten::rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
 * The inputs are swapped, so that the result gets the strides that sub(other, self) gives it. */
static int rsub(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, dp_value alpha, dp_tensor **out)
{
    const dp_value ins[] = {dp_tensor_value(other), dp_tensor_value(self)}, params[] = {alpha};
    return pw_new(ctx, &pw_sub, ins, params, out);
}

/* -- div with a rounding mode -- */

static const pw_op *division(dp_ctx *ctx, dp_str mode)
{
    if (mode.s == NULL)
        return &pw_div;
    if (strcmp(mode.s, "trunc") == 0)
        return &pw_div_trunc;
    if (strcmp(mode.s, "floor") == 0)
        return &pw_div_floor;
    dp_fail(ctx, DP_ERUNTIME,
            "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '%s'",
            mode.s);
    return NULL;
}

/* aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor */
static int div_mode(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, dp_str mode, dp_tensor **out)
{
    const dp_value ins[] = {dp_tensor_value(self), dp_tensor_value(other)};
    const pw_op *op = division(ctx, mode);
    return op ? pw_new(ctx, op, ins, NULL, out) : DP_ERUNTIME;
}

/* aten::div_.Tensor_mode(Tensor(a!) self, Tensor other, *, str? rounding_mode) -> Tensor(a!) */
static int div_mode_(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, dp_str mode)
{
    const dp_value ins[] = {dp_tensor_value(self), dp_tensor_value(other)};
    const pw_op *op = division(ctx, mode);
    return op ? pw_write(ctx, op, ins, NULL, self) : DP_ERUNTIME;
}

/* -- pow with a Scalar -- */

/* Source: at::native::pow_Tensor_Scalar; such a power would not be an integer. */
static int check_power(dp_ctx *ctx, dp_tensor *self, dp_value exponent)
{
    DP_VIEW(x, self);
    if (dp_dtype_is_integral(x.dtype, true) && exponent.tag == DP_TAG_INT && exponent.u.i < 0)
        return dp_fail(ctx, DP_ERUNTIME, "Integers to negative integer powers are not allowed.");
    return 0;
}

/* aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor */
static int pow_scalar(dp_ctx *ctx, dp_tensor *self, dp_value exponent, dp_tensor **out)
{
    const dp_value ins[] = {dp_tensor_value(self), exponent};
    int rc = check_power(ctx, self, exponent);
    return rc < 0 ? rc : pw_new(ctx, &pw_pow_scalar, ins, NULL, out);
}

/* aten::pow_.Scalar(Tensor(a!) self, Scalar exponent) -> Tensor(a!) */
static int pow_scalar_(dp_ctx *ctx, dp_tensor *self, dp_value exponent)
{
    const dp_value ins[] = {dp_tensor_value(self), exponent};
    int rc = check_power(ctx, self, exponent);
    return rc < 0 ? rc : pw_write(ctx, &pw_pow_scalar, ins, NULL, self);
}

/* aten::pow.Tensor_Scalar_out(Tensor self, Scalar exponent, *, Tensor(a!) out) -> Tensor(a!) */
static int pow_scalar_out(dp_ctx *ctx, dp_tensor *self, dp_value exponent, dp_tensor *dst)
{
    const dp_value ins[] = {dp_tensor_value(self), exponent};
    int rc = check_power(ctx, self, exponent);
    return rc < 0 ? rc : pw_write(ctx, &pw_pow_scalar, ins, NULL, dst);
}

/* aten::pow.Scalar(Scalar self, Tensor exponent) -> Tensor
 * The result is row-major even if the exponent is not. */
static int scalar_pow(dp_ctx *ctx, dp_value self, dp_tensor *exponent, dp_tensor **out)
{
    const dp_value ins[] = {self, dp_tensor_value(exponent)};
    dp_tensor *made = NULL, *packed = NULL;
    int rc = pw_new(ctx, &pw_pow, ins, NULL, &made);

    if (rc < 0 || dp_tensor_is_contiguous(made, DP_CONTIGUOUS)) {
        *out = made;
        return rc;
    }
    rc = dp_empty_like(ctx, made, DP_DTYPE_NONE, DP_CONTIGUOUS, &packed);
    if (rc == 0)
        rc = dp_copy(ctx, packed, made);
    dp_tensor_unref(made);
    if (rc < 0)
        dp_tensor_unref(packed);
    else
        *out = packed;
    return rc;
}

/* -- clamp -- */

/* Which operator runs with both bounds, with only a lower one, with only an upper one. */
typedef struct clamps {
    const pw_op *both, *low, *high;
} clamps;
static const clamps by_scalar = {&pw_clamp, &pw_clamp_min, &pw_clamp_max};
static const clamps by_tensor = {&pw_clamp_tensor, &pw_maximum, &pw_minimum};

/* ins is {self, min, max}; min or max may be None, and is then removed.  NULL: both are None. */
static const pw_op *bounds(dp_ctx *ctx, const clamps *c, dp_value ins[3])
{
    if (ins[1].tag != DP_TAG_NONE)
        return ins[2].tag != DP_TAG_NONE ? c->both : c->low;
    ins[1] = ins[2];
    if (ins[1].tag != DP_TAG_NONE)
        return c->high;
    dp_fail(ctx, DP_ERUNTIME, "torch.clamp: At least one of 'min' or 'max' must not be None");
    return NULL;
}

/* aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor */
static int clamp(dp_ctx *ctx, dp_tensor *self, const dp_value *min, const dp_value *max,
                 dp_tensor **out)
{
    dp_value ins[] = {dp_tensor_value(self), min ? *min : dp_none(), max ? *max : dp_none()};
    const pw_op *op = bounds(ctx, &by_scalar, ins);
    return op ? pw_new(ctx, op, ins, NULL, out) : DP_ERUNTIME;
}

/* aten::clamp_(Tensor(a!) self, Scalar? min=None, Scalar? max=None) -> Tensor(a!) */
static int clamp_(dp_ctx *ctx, dp_tensor *self, const dp_value *min, const dp_value *max)
{
    dp_value ins[] = {dp_tensor_value(self), min ? *min : dp_none(), max ? *max : dp_none()};
    const pw_op *op = bounds(ctx, &by_scalar, ins);
    return op ? pw_write(ctx, op, ins, NULL, self) : DP_ERUNTIME;
}

/* aten::clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor */
static int clamp_tensor(dp_ctx *ctx, dp_tensor *self, dp_tensor *min, dp_tensor *max,
                        dp_tensor **out)
{
    dp_value ins[] = {dp_tensor_value(self), dp_tensor_value(min), dp_tensor_value(max)};
    const pw_op *op = bounds(ctx, &by_tensor, ins);
    return op ? pw_new(ctx, op, ins, NULL, out) : DP_ERUNTIME;
}

static bool is_negative(dp_value v)
{
    return v.tag == DP_TAG_INT ? v.u.i < 0 : v.tag == DP_TAG_DOUBLE && v.u.d < 0;
}

/* aten::hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor */
static int hardtanh(dp_ctx *ctx, dp_tensor *self, dp_value min, dp_value max, dp_tensor **out)
{
    const dp_value ins[] = {dp_tensor_value(self)}, params[] = {min, max};
    DP_VIEW(x, self);

    if (x.dtype == DP_UINT8 && (is_negative(min) || is_negative(max)))
        return dp_fail(ctx, DP_ERUNTIME,
                       "cannot do hardtanh on an unsigned type with negative limits");
    return pw_new(ctx, &pw_hardtanh, ins, params, out);
}

/* -- gelu -- */

/* aten::gelu(Tensor self, *, str approximate="none") -> Tensor */
static int gelu(dp_ctx *ctx, dp_tensor *self, dp_str approximate, dp_tensor **out)
{
    const dp_value ins[] = {dp_tensor_value(self)};
    bool plain = strcmp(approximate.s, "none") == 0;

    if (!plain && strcmp(approximate.s, "tanh") != 0)
        return dp_fail(ctx, DP_ERUNTIME,
                       "approximate argument must be either none or tanh, not '%s'", approximate.s);
    return pw_new(ctx, plain ? &pw_gelu : &pw_gelu_tanh, ins, NULL, out);
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("rsub.Tensor", rsub, (T, T, s), (T)),
                DP_IMPL_UNBOXED("div.Tensor_mode", div_mode, (T, T, oS), (T)),
                DP_IMPL_UNBOXED("div_.Tensor_mode", div_mode_, (T, T, oS), ()),
                DP_IMPL_UNBOXED("pow.Tensor_Scalar", pow_scalar, (T, s), (T)),
                DP_IMPL_UNBOXED("pow_.Scalar", pow_scalar_, (T, s), ()),
                DP_IMPL_UNBOXED("pow.Tensor_Scalar_out", pow_scalar_out, (T, s, T), ()),
                DP_IMPL_UNBOXED("pow.Scalar", scalar_pow, (s, T), (T)),
                DP_IMPL_UNBOXED("hardtanh", hardtanh, (T, s, s), (T)),
                DP_IMPL_UNBOXED("clamp", clamp, (T, os, os), (T)),
                DP_IMPL_UNBOXED("clamp_", clamp_, (T, os, os), ()),
                DP_IMPL_UNBOXED("clamp.Tensor", clamp_tensor, (T, oT, oT), (T)),
                DP_IMPL_UNBOXED("gelu", gelu, (T, S), (T)))
