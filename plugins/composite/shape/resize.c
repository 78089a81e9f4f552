/* resize.c -- resize_as_ (aten/src/ATen/native/Resize.cpp).
 *
 * Operators: resize_as. */
#include "core/composite.h"

/* aten::resize_as_(Tensor(a!) self, Tensor the_template, *, MemoryFormat? memory_format=None)
 *     -> Tensor(a!) */
static int resize_as_(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, const int64_t *format)
{
    DP_VIEW(y, other);
    int64_t own = format && *format == DP_PRESERVE ? (int64_t)dp_tensor_suggest_format(other)
                  : format                         ? *format
                                                   : DP_CONTIGUOUS;
    return dp_invoke(ctx, "aten::resize_", "Tlioi>", self, y.sizes, (size_t)y.ndim,
                     format ? &own : NULL);
}

DP_LIBRARY_META(aten, CompositeExplicitAutograd,
                DP_IMPL_UNBOXED("resize_as_", resize_as_, (T, T, oi), ()))
