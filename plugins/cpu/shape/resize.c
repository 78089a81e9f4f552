/* resize.c -- resize_ and set_, which change a tensor's sizes or storage
 * (aten/src/ATen/native/Resize.cpp, TensorShape.cpp).
 *
 * Operators: resize, set. */
#include "lib/dims.h"

/* aten::resize_(Tensor(a!) self, SymInt[] size, *, MemoryFormat? memory_format=None)
 *     -> Tensor(a!) */
static int resize_(dp_ctx *ctx, dp_tensor *self, const int64_t *sizes, size_t n,
                   const int64_t *format)
{
    int rc = check_ndim(ctx, n);

    if (rc == 0 && format && *format == DP_PRESERVE)
        rc = dp_fail(ctx, DP_ERUNTIME, "Unsupported memory format Preserve");
    if (rc == 0 && format)
        rc = check_format(ctx, *format, (int)n);
    if (rc == 0)
        rc = dp_resize(ctx, self, (int)n, sizes, format ? (dp_memory_format)*format : DP_PRESERVE);
    return rc < 0 ? dp_refuse(ctx, rc, NULL) : 0;
}

/* aten::set_.source_Tensor(Tensor(a!) self, Tensor source) -> Tensor(a!) */
static int set_tensor(dp_ctx *ctx, dp_tensor *self, dp_tensor *source)
{
    DP_VIEW(x, source);
    int rc = self == source ? 0
                            : dp_set_storage(ctx, self, source, dp_tensor_offset(source), x.ndim,
                                             x.sizes, x.strides);
    return rc < 0 ? dp_refuse(ctx, rc, NULL) : 0;
}

/* aten::set_(Tensor(a!) self) -> Tensor(a!): no elements, in a storage of its own */
static int set_empty(dp_ctx *ctx, dp_tensor *self)
{
    int64_t none[1] = {0};
    dp_tensor *empty;
    DP_VIEW(x, self);
    int rc = dp_empty(ctx, x.dtype, x.device, 1, none, DP_CONTIGUOUS, &empty);

    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    rc = set_tensor(ctx, self, empty);
    dp_tensor_unref(empty);
    return rc;
}

DP_LIBRARY_VIEWS(aten, CPU, DP_IMPL_UNBOXED("resize_", resize_, (T, li, oi), ()),
                 DP_IMPL_UNBOXED("set_.source_Tensor", set_tensor, (T, T), ()),
                 DP_IMPL_UNBOXED("set_", set_empty, (T), ()))
