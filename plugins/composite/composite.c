/* composite.c -- the plugin's declaration, and functions that its files share (core/composite.h).
 *
 * The plugin's operators call other operators, so they work on every backend.  As in PyTorch, an
 * operator with a derivative formula of its own is registered for CompositeExplicitAutograd.  Other
 * operators are registered for CompositeImplicitAutograd; their derivative follows from those of
 * the operators that they call. */
#include "core/composite.h"

DP_PLUGIN(composite, "1.0")

int options_check(dp_ctx *ctx, const options *o)
{
    if (o->layout && *o->layout != DP_LAYOUT_STRIDED)
        return dp_fail(ctx, DP_ERUNTIME, "layout %s is not supported, only strided",
                       dp_layout_name(*o->layout));
    if (o->pin && *o->pin)
        return dp_fail(ctx, DP_ERUNTIME, "there is no accelerator that memory could be pinned for");
    return 0;
}

/* Make a tensor like `t` on `device`, with the strides that empty_like() chooses.  *out owned. */
static int like_elsewhere(dp_ctx *ctx, dp_tensor *t, dp_dtype dtype, dp_device device,
                          dp_memory_format format, dp_tensor **out)
{
    dp_tensor *here;
    int rc = dp_empty_like(ctx, t, dtype, format, &here);

    if (rc < 0)
        return rc;
    DP_VIEW(x, here);
    rc = dp_empty_strided(ctx, x.dtype, device, x.ndim, x.sizes, x.strides, out);
    dp_tensor_unref(here);
    return rc;
}

int like(dp_ctx *ctx, dp_tensor *t, const options *o, const int64_t *format, dp_tensor **out)
{
    dp_dtype dtype = o->dtype ? (dp_dtype)*o->dtype : DP_DTYPE_NONE;
    dp_memory_format f = format ? (dp_memory_format)*format : DP_PRESERVE;
    int rc = options_check(ctx, o);
    DP_VIEW(x, t);

    if (rc == 0)
        rc = check_format(ctx, f, x.ndim);
    if (rc < 0)
        return rc;
    if (o->device && *o->device != x.device)
        return like_elsewhere(ctx, t, dtype, (dp_device)*o->device, f, out);
    return dp_empty_like(ctx, t, dtype, f, out);
}

int call_empty(dp_ctx *ctx, dp_dtype dtype, dp_device device, int ndim, const int64_t *sizes,
               dp_tensor **out)
{
    const int64_t type = dtype, on = device, *none = NULL;

    return dp_invoke(ctx, "aten::empty.memory_format", "lioioioioboi>T", sizes, (size_t)ndim, &type,
                     none, &on, (const bool *)NULL, none, out);
}

int call_empty_like(dp_ctx *ctx, dp_tensor *t, dp_dtype dtype, dp_memory_format format,
                    dp_tensor **out)
{
    const int64_t type = dtype, as = format, *none = NULL;

    return dp_invoke(ctx, "aten::empty_like", "Toioioioboi>T", t,
                     dtype == DP_DTYPE_NONE ? none : &type, none, none, (const bool *)NULL, &as,
                     out);
}

int call_scalar_tensor(dp_ctx *ctx, dp_value scalar, dp_dtype dtype, dp_device device,
                       dp_tensor **out)
{
    const int64_t type = dtype, on = device, *none = NULL;

    return dp_invoke(ctx, "aten::scalar_tensor", "soioioiob>T", scalar,
                     dtype == DP_DTYPE_NONE ? none : &type, none,
                     device == DP_DEVICE_CPU ? none : &on, (const bool *)NULL, out);
}

int wrap_scalar(dp_ctx *ctx, dp_value scalar, dp_tensor **out)
{
    int rc = dp_scalar_tensor(ctx, scalar, DP_DTYPE_NONE, out);
    if (rc == 0)
        dp_tensor_set_wrapped(*out, true);
    return rc;
}

int release_on_error(int rc, dp_tensor **made)
{
    if (rc < 0)
        *made = dp_tensor_unref(*made);
    return rc;
}

int refuse_recorded(dp_ctx *ctx, int rc, dp_tensor **made)
{
    if (rc < 0 || !dp_tensor_requires_grad(*made))
        return rc;
    *made = dp_tensor_unref(*made);
    return dp_refuse(ctx, DP_ERUNTIME,
                     "functions with out=... arguments don't support automatic differentiation, "
                     "but one of the arguments requires grad.");
}

int give_out(dp_ctx *ctx, int rc, dp_tensor *made, dp_tensor *out)
{
    if (rc < 0)
        return rc;
    DP_VIEW(x, made);
    rc = dp_set_output(ctx, &out, x.ndim, x.sizes, NULL, x.dtype, x.device);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::copy_", "TTb>", out, made, (int)false);
    dp_tensor_unref(made);
    return rc;
}

int subview(dp_ctx *ctx, dp_tensor *t, const int64_t *starts, const int64_t *sizes, dp_tensor **out)
{
    DP_VIEW(x, t);
    int64_t offset = dp_tensor_offset(t);

    for (int d = 0; d < x.ndim; d++)
        offset += starts[d] * x.strides[d];
    return dp_as_strided(ctx, t, x.ndim, sizes, x.strides, offset, out);
}

int give_cast(dp_ctx *ctx, int rc, dp_tensor *made, dp_tensor *out)
{
    dp_tensor *cast = NULL;

    if (rc < 0)
        return rc;
    DP_VIEW(x, made);
    DP_VIEW(y, out);
    if (!dp_can_cast(x.dtype, y.dtype))
        rc = dp_refuse(ctx, DP_ERUNTIME,
                       "result type %s can't be cast to the desired output type %s",
                       dp_dtype_name(x.dtype), dp_dtype_name(y.dtype));
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::to.dtype", "Ti>T", made, (int64_t)y.dtype, &cast);
    dp_tensor_unref(made);
    return give_out(ctx, rc, cast, out);
}
