/* copy.c -- copies (copy, clone, contiguous), aliases of a tensor's storage (alias, detach) and
 * item (aten/src/ATen/native/Copy.cpp, TensorFactories.cpp, TensorProperties.cpp, TensorShape.cpp,
 * Scalar.cpp).
 *
 * Operators: alias, clone, contiguous, copy, detach, item, _to_copy, view_copy. */
#include "core/composite.h"
#include <string.h>

/* Test whether `src` broadcasts to self; if it does not, dp_copy() writes nothing. */
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

/* Set *out, owned, to a copy of self with these options. */
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

/* -- results on the same storage -- */

/* aten::alias(Tensor(a) self) -> Tensor(a)
 * aten::detach(Tensor(a) self) -> Tensor(a) */
static int alias(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    DP_VIEW(x, self);
    return dp_as_strided(ctx, self, x.ndim, x.sizes, x.strides, dp_tensor_offset(self), out);
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
 * The result is what copy_ would make of self: src in self's dtype, device and shape, or src itself
 * if it has them. */
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

DP_LIBRARY_META(aten, CompositeExplicitAutograd, DP_IMPL_UNBOXED("copy_", copy_, (T, T, b), ()),
                DP_IMPL_UNBOXED("clone", clone, (T, oi), (T)),
                DP_IMPL_UNBOXED("_to_copy", to_copy, (T, oi, oi, oi, ob, b, oi), (T)),
                DP_IMPL_UNBOXED("alias", alias, (T), (T)))
DP_LIBRARY_META(aten, CompositeExplicitAutograd, DP_IMPL_UNBOXED("detach", alias, (T), (T)))
DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL_UNBOXED("copy", copy, (T, T, b), (T)),
                DP_IMPL_UNBOXED("contiguous", contiguous, (T, i), (T)),
                DP_IMPL_UNBOXED("item", item, (T), (s)))

/* aten::view_copy(Tensor self, SymInt[] size) -> Tensor
 * If no such view exists, the result is the copy that reshape makes. */
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
