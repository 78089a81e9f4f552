/* copy.c -- copies and conversions; the latter return self when there is nothing to convert. */
#include "composite.h"
#include <string.h>

/* Can src be broadcast to self?  If not, dp_copy() writes nothing. */
static bool broadcasts(dp_tensor *self, dp_tensor *src)
{
    DP_VIEW(x, self);
    DP_VIEW(y, src);

    for (int i = 1; i <= y.ndim && i <= x.ndim; i++)
        if (y.sizes[y.ndim - i] != 1 && y.sizes[y.ndim - i] != x.sizes[x.ndim - i])
            return false;
    return y.ndim <= x.ndim;
}

/* aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!) */
static int copy_(dp_ctx *ctx, dp_tensor *self, dp_tensor *src, bool non_blocking)
{
    int rc = dp_copy(ctx, self, src);

    (void)non_blocking;
    return rc < 0 && !broadcasts(self, src) ? dp_refuse(ctx, rc, NULL) : rc;
}

/* A copy of self in a new tensor with these options. */
static int copied(dp_ctx *ctx, dp_tensor *self, const options *o, const int64_t *format,
                  dp_tensor **out)
{
    dp_tensor *made;
    int rc = like(ctx, self, o, format, &made);

    if (rc < 0)
        return rc;
    rc = dp_copy(ctx, made, self);
    if (rc < 0)
        dp_tensor_unref(made);
    else
        *out = made;
    return rc;
}

/* aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor */
static int clone(dp_ctx *ctx, dp_tensor *self, const int64_t *format, dp_tensor **out)
{
    return copied(ctx, self, &(options){0}, format, out);
}

/* aten::_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None,
 *     Device? device=None, bool? pin_memory=None, bool non_blocking=False,
 *     MemoryFormat? memory_format=None) -> Tensor */
static int to_copy(dp_ctx *ctx, dp_tensor *self, const int64_t *dtype, const int64_t *layout,
                   const int64_t *device, const bool *pin, bool non_blocking, const int64_t *format,
                   dp_tensor **out)
{
    (void)non_blocking;
    return copied(ctx, self, &(options){dtype, layout, device, pin}, format, out);
}

/* aten::contiguous(Tensor(a) self, *, MemoryFormat memory_format=0) -> Tensor(a) */
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

/* Returns self if it already has what is asked for (at::native::to_will_alias). */
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

/* aten::to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False,
 *     MemoryFormat? memory_format=None) -> Tensor(a) */
static int to_dtype(dp_ctx *ctx, dp_tensor *self, int64_t dtype, bool non_blocking, bool copy,
                    const int64_t *format, dp_tensor **out)
{
    return to(ctx, self, &(options){.dtype = &dtype}, non_blocking, copy, format, out);
}

/* aten::to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False,
 *     bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a) */
static int to_device(dp_ctx *ctx, dp_tensor *self, int64_t device, int64_t dtype, bool non_blocking,
                     bool copy, const int64_t *format, dp_tensor **out)
{
    return to(ctx, self, &(options){.dtype = &dtype, .device = &device}, non_blocking, copy, format,
              out);
}

/* aten::to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None,
 *     Device? device=None, bool? pin_memory=None, bool non_blocking=False, bool copy=False,
 *     MemoryFormat? memory_format=None) -> Tensor(a) */
static int to_options(dp_ctx *ctx, dp_tensor *self, const int64_t *dtype, const int64_t *layout,
                      const int64_t *device, const bool *pin, bool non_blocking, bool copy,
                      const int64_t *format, dp_tensor **out)
{
    return to(ctx, self, &(options){dtype, layout, device, pin}, non_blocking, copy, format, out);
}

/* aten::to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False,
 *     MemoryFormat? memory_format=None) -> Tensor(a) */
static int to_other(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, bool non_blocking, bool copy,
                    const int64_t *format, dp_tensor **out)
{
    DP_VIEW(y, other);
    int64_t dtype = y.dtype, device = y.device;
    return to(ctx, self, &(options){.dtype = &dtype, .device = &device}, non_blocking, copy, format,
              out);
}

/* aten::type_as(Tensor self, Tensor other) -> Tensor */
static int type_as(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, dp_tensor **out)
{
    return to_other(ctx, self, other, false, false, NULL, out);
}

/* -- the same bytes, or the same tensor -- */

/* aten::alias(Tensor(a) self) -> Tensor(a)
 * aten::detach(Tensor(a) self) -> Tensor(a) */
static int alias(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    DP_VIEW(x, self);
    return dp_as_strided(ctx, self, x.ndim, x.sizes, x.strides, dp_tensor_offset(self), out);
}

/* aten::positive(Tensor(a) self) -> Tensor(a) */
static int same(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    (void)ctx;
    *out = dp_tensor_ref(self);
    return 0;
}

/* aten::item(Tensor self) -> Scalar */
static int item(dp_ctx *ctx, dp_tensor *self, dp_value *out)
{
    DP_VIEW(x, self);

    if (x.numel != 1)
        return dp_fail(ctx, DP_ERUNTIME,
                       "a Tensor with %" PRId64 " elements cannot be converted to Scalar", x.numel);
    return dp_invoke(ctx, "aten::_local_scalar_dense", "T>s", self, out);
}

/* aten::copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor
 * What copy_ would make of self: src with its dtype, device and shape; src itself where that is so. */
static int copy(dp_ctx *ctx, dp_tensor *self, dp_tensor *src, bool non_blocking, dp_tensor **out)
{
    dp_tensor *made = NULL;
    DP_VIEW(x, self);
    int rc = dp_invoke(ctx, "aten::to.other", "TTb>T", src, self, (int)non_blocking, &made);

    if (rc < 0)
        return rc;
    DP_VIEW(y, made);
    if (x.ndim == y.ndim && memcmp(x.sizes, y.sizes, (size_t)x.ndim * sizeof(int64_t)) == 0) {
        *out = made;
        return 0;
    }
    rc = dp_invoke(ctx, "aten::expand_copy", "Tli>T", made, x.sizes, (size_t)x.ndim, out);
    dp_tensor_unref(made);
    return rc;
}

/* A new tensor as self, filled with a tensor's value, or where that is NULL a Scalar. */
static int filled(dp_ctx *ctx, dp_tensor *self, dp_tensor *tensor, dp_value scalar, dp_tensor **out)
{
    dp_tensor *made = NULL;
    int rc = dp_invoke(ctx, "aten::empty_like", "T>T", self, &made);

    if (rc == 0)
        rc = tensor ? dp_invoke(ctx, "aten::fill_.Tensor", "TT>", made, tensor)
                    : dp_invoke(ctx, "aten::fill_.Scalar", "Ts>", made, scalar);
    if (rc < 0)
        dp_tensor_unref(made);
    else
        *out = made;
    return rc;
}

/* aten::fill.Scalar(Tensor self, Scalar value) -> Tensor */
static int fill_scalar(dp_ctx *ctx, dp_tensor *self, dp_value value, dp_tensor **out)
{
    return filled(ctx, self, NULL, value, out);
}

/* aten::fill.Tensor(Tensor self, Tensor value) -> Tensor */
static int fill_tensor(dp_ctx *ctx, dp_tensor *self, dp_tensor *value, dp_tensor **out)
{
    return filled(ctx, self, value, dp_none(), out);
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL_UNBOXED("copy", copy, (T, T, b), (T)))
DP_LIBRARY_META(aten, CompositeExplicitAutograd, DP_IMPL_UNBOXED("copy_", copy_, (T, T, b), ()),
                DP_IMPL_UNBOXED("fill.Scalar", fill_scalar, (T, s), (T)),
                DP_IMPL_UNBOXED("fill.Tensor", fill_tensor, (T, T), (T)),
                DP_IMPL_UNBOXED("clone", clone, (T, oi), (T)),
                DP_IMPL_UNBOXED("_to_copy", to_copy, (T, oi, oi, oi, ob, b, oi), (T)),
                DP_IMPL_UNBOXED("alias", alias, (T), (T)))
DP_LIBRARY_META(aten, CompositeExplicitAutograd, DP_IMPL_UNBOXED("detach", alias, (T), (T)))
DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("contiguous", contiguous, (T, i), (T)),
                DP_IMPL_UNBOXED("to.dtype", to_dtype, (T, i, b, b, oi), (T)),
                DP_IMPL_UNBOXED("to.device", to_device, (T, i, i, b, b, oi), (T)),
                DP_IMPL_UNBOXED("to.dtype_layout", to_options, (T, oi, oi, oi, ob, b, b, oi), (T)),
                DP_IMPL_UNBOXED("to.other", to_other, (T, T, b, b, oi), (T)),
                DP_IMPL_UNBOXED("type_as", type_as, (T, T), (T)),
                DP_IMPL_UNBOXED("positive", same, (T), (T)),
                DP_IMPL_UNBOXED("item", item, (T), (s)))

/* aten::view_copy(Tensor self, SymInt[] size) -> Tensor
 * Where there is no such view: as reshape copies it. */
static int view_copy(dp_ctx *ctx, dp_tensor *self, const int64_t *size, size_t n, dp_tensor **out)
{
    dp_tensor *seen;
    int rc = dp_invoke(ctx, "aten::reshape", "Tli>T", self, size, n, &seen);

    if (rc < 0)
        return rc;
    if (dp_tensor_storage_id(seen) != dp_tensor_storage_id(self)) {
        *out = seen;
        return 0;
    }
    rc = dp_invoke(ctx, "aten::clone", "T>T", seen, out);
    dp_tensor_unref(seen);
    return rc;
}

DP_LIBRARY_META(aten, CompositeExplicitAutogradNonFunctional,
                DP_IMPL_UNBOXED("view_copy", view_copy, (T, li), (T)))
