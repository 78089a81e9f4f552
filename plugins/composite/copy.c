/* copy.c -- copies, conversions, and tensors that stay as they are. */
#include "composite.h"

/* copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!) */
static int copy_(dp_ctx *ctx, dp_tensor *self, dp_tensor *src, bool non_blocking, dp_tensor **out)
{
    int rc = dp_copy(ctx, self, src);

    (void)non_blocking;
    if (rc)
        return rc;
    dp_tensor_bump_version(self);
    *out = dp_tensor_ref(self);
    return 0;
}

/* A copy of self in a new tensor of these options. */
static int copied(dp_ctx *ctx, dp_tensor *self, const options *o, const int64_t *format,
                  dp_tensor **out)
{
    dp_tensor *made;
    int rc = like(ctx, self, o, format, &made);

    if (rc)
        return rc;
    rc = dp_copy(ctx, made, self);
    if (rc)
        dp_tensor_unref(made);
    else
        *out = made;
    return rc;
}

static int clone(dp_ctx *ctx, dp_tensor *self, const int64_t *format, dp_tensor **out)
{
    return copied(ctx, self, &(options){0}, format, out);
}

static int to_copy(dp_ctx *ctx, dp_tensor *self, const int64_t *dtype, const int64_t *layout,
                   const int64_t *device, const bool *pin, bool non_blocking, const int64_t *format,
                   dp_tensor **out)
{
    (void)non_blocking;
    return copied(ctx, self, &(options){dtype, layout, device, pin}, format, out);
}

static int contiguous(dp_ctx *ctx, dp_tensor *self, int64_t format, dp_tensor **out)
{
    dp_memory_format wanted = format == DP_PRESERVE ? DP_CONTIGUOUS : (dp_memory_format)format;

    if (dp_tensor_is_contiguous(self, wanted)) {
        *out = dp_tensor_ref(self);
        return 0;
    }
    if (format == DP_PRESERVE)
        return dp_fail(ctx, DP_ERUNTIME,
                       "preserve memory format is unsupported by the contiguous operator");
    return dp_invoke(ctx, "aten::clone", "Toi>T", self, &format, out);
}

/* -- to -- */

/* self when it is what is asked for (at::native::to_will_alias). */
static int to(dp_ctx *ctx, dp_tensor *self, const options *o, bool non_blocking, bool copy,
              const int64_t *format, dp_tensor **out)
{
    DP_VIEW(x, self);
    bool same = (!o->dtype || *o->dtype == x.dtype) && (!o->device || *o->device == x.device) &&
                (!o->layout || *o->layout == DP_LAYOUT_STRIDED) && !(o->pin && *o->pin) &&
                (!format || *format == DP_PRESERVE || *format == dp_tensor_suggest_format(self));

    if (!same || copy)
        return dp_invoke(ctx, "aten::_to_copy", "Toioioiobboi>T", self, o->dtype, o->layout,
                         o->device, o->pin, non_blocking, format, out);
    *out = dp_tensor_ref(self);
    return 0;
}

static int to_dtype(dp_ctx *ctx, dp_tensor *self, int64_t dtype, bool non_blocking, bool copy,
                    const int64_t *format, dp_tensor **out)
{
    return to(ctx, self, &(options){.dtype = &dtype}, non_blocking, copy, format, out);
}

static int to_device(dp_ctx *ctx, dp_tensor *self, int64_t device, int64_t dtype, bool non_blocking,
                     bool copy, const int64_t *format, dp_tensor **out)
{
    return to(ctx, self, &(options){.dtype = &dtype, .device = &device}, non_blocking, copy, format,
              out);
}

static int to_options(dp_ctx *ctx, dp_tensor *self, const int64_t *dtype, const int64_t *layout,
                      const int64_t *device, const bool *pin, bool non_blocking, bool copy,
                      const int64_t *format, dp_tensor **out)
{
    return to(ctx, self, &(options){dtype, layout, device, pin}, non_blocking, copy, format, out);
}

static int to_other(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, bool non_blocking, bool copy,
                    const int64_t *format, dp_tensor **out)
{
    DP_VIEW(y, other);
    int64_t dtype = y.dtype, device = y.device;
    return to(ctx, self, &(options){.dtype = &dtype, .device = &device}, non_blocking, copy, format,
              out);
}

static int type_as(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, dp_tensor **out)
{
    return to_other(ctx, self, other, false, false, NULL, out);
}

/* -- the same bytes, or the same tensor -- */

static int alias(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    DP_VIEW(x, self);
    return dp_as_strided(ctx, self, x.ndim, x.sizes, x.strides, dp_tensor_offset(self), out);
}

static int same(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    (void)ctx;
    *out = dp_tensor_ref(self);
    return 0;
}

static int item(dp_ctx *ctx, dp_tensor *self, dp_value *out)
{
    DP_VIEW(x, self);

    if (x.numel != 1)
        return dp_fail(ctx, DP_ERUNTIME,
                       "a Tensor with %" PRId64 " elements cannot be converted to Scalar", x.numel);
    return dp_invoke(ctx, "aten::_local_scalar_dense", "T>s", self, out);
}

DP_LIBRARY_IMPL(aten, CompositeExplicitAutograd, DP_IMPL_UNBOXED("copy_", copy_, (T, T, b), (T)),
                DP_IMPL_UNBOXED("clone", clone, (T, oi), (T)),
                DP_IMPL_UNBOXED("_to_copy", to_copy, (T, oi, oi, oi, ob, b, oi), (T)),
                DP_IMPL_UNBOXED("alias", alias, (T), (T)))
DP_LIBRARY_IMPL(aten, CompositeExplicitAutograd, DP_IMPL_UNBOXED("detach", alias, (T), (T)))
DP_LIBRARY_IMPL(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("contiguous", contiguous, (T, i), (T)),
                DP_IMPL_UNBOXED("to.dtype", to_dtype, (T, i, b, b, oi), (T)),
                DP_IMPL_UNBOXED("to.device", to_device, (T, i, i, b, b, oi), (T)),
                DP_IMPL_UNBOXED("to.dtype_layout", to_options, (T, oi, oi, oi, ob, b, b, oi), (T)),
                DP_IMPL_UNBOXED("to.other", to_other, (T, T, b, b, oi), (T)),
                DP_IMPL_UNBOXED("type_as", type_as, (T, T), (T)),
                DP_IMPL_UNBOXED("positive", same, (T), (T)),
                DP_IMPL_UNBOXED("item", item, (T), (s)))
