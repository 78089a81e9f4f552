/* tensor_properties.c -- properties of tensors other than their elements, and tensors on the
 * storage of another tensor (aten/src/ATen/native/TensorProperties.cpp, TypeProperties.cpp,
 * TensorShape.cpp, VariableMethodStubs.cpp, Memory.cpp).
 *
 * Operators: cudnn_is_acceptable, data, _debug_has_internal_overlap, detach,
 * _has_compatible_shallow_copy_type, is_conj, is_distributed, is_inference, is_neg, is_nonzero,
 * is_pinned, is_same_size, is_set_to, is_vulkan_available, _is_zerotensor, set, _shape_as_tensor,
 * size, stride, _version. */
#include "core/composite.h"
#include <dispatchd/check.h>

/* -- properties -- */

/* aten::_version(Tensor self) -> int */
static int version(dp_ctx *ctx, dp_tensor *self, int64_t *out)
{
    (void)ctx;
    *out = (int64_t)dp_tensor_version(self);
    return 0;
}

/* aten::is_pinned(Tensor self, Device? device=None) -> bool */
static int is_pinned(dp_ctx *ctx, dp_tensor *self, const int64_t *device, bool *out)
{
    (void)ctx, (void)device;
    *out = dp_tensor_is_pinned(self);
    return 0;
}

/* aten::is_inference(Tensor self) -> bool, and others that no tensor is */
static int never(dp_ctx *ctx, dp_tensor *self, bool *out)
{
    (void)ctx, (void)self;
    *out = false;
    return 0;
}
static int is_distributed(dp_ctx *ctx, dp_tensor *self, bool *out)
{
    return never(ctx, self, out);
}
static int is_zerotensor(dp_ctx *ctx, dp_tensor *self, bool *out)
{
    return never(ctx, self, out);
}

/* aten::_has_compatible_shallow_copy_type(Tensor self, Tensor from) -> bool
 * All tensors are strided, so only wrapper tensors differ. */
static int compatible(dp_ctx *ctx, dp_tensor *self, dp_tensor *from, bool *out)
{
    dp_wrapper w = {.size = sizeof(w)};

    (void)ctx;
    *out = dp_wrapper_get(self, &w) == dp_wrapper_get(from, &w);
    return 0;
}

/* aten::_debug_has_internal_overlap(Tensor self) -> int */
static int overlap(dp_ctx *ctx, dp_tensor *self, int64_t *out)
{
    (void)ctx;
    *out = dp_internal_overlap(self);
    return 0;
}

/* aten::is_set_to(Tensor self, Tensor tensor) -> bool */
static int is_set_to(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, bool *out)
{
    DP_VIEW(x, self);
    DP_VIEW(y, other);

    (void)ctx;
    *out = dp_tensor_storage_id(self) == dp_tensor_storage_id(other) &&
           dp_tensor_offset(self) == dp_tensor_offset(other) &&
           dp_same_sizes(x.ndim, x.sizes, y.ndim, y.sizes) &&
           dp_same_sizes(x.ndim, x.strides, y.ndim, y.strides);
    return 0;
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("is_set_to", is_set_to, (T, T), (b)))

/* -- storages -- */

/* aten::data(Tensor self) -> Tensor
 * The result is on the same memory, and has its own version counter. */
static int data(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    DP_VIEW(x, self);
    return dp_as_strided(ctx, self, x.ndim, x.sizes, x.strides, dp_tensor_offset(self), out);
}

/* aten::set_.source_Tensor_storage_offset(Tensor(a!) self, Tensor source, SymInt storage_offset,
 *     SymInt[] size, SymInt[] stride=[]) -> Tensor(a!) */
static int set_part(dp_ctx *ctx, dp_tensor *self, dp_tensor *source, int64_t offset,
                    const int64_t *sizes, size_t n, const int64_t *strides, size_t n_strides)
{
    int rc = check_ndim(ctx, n);

    if (rc == 0 && n_strides > 0 && n_strides != n)
        rc = dp_fail(ctx, DP_ERUNTIME,
                     "mismatch in length of strides and shape: %zu strides for %zu sizes",
                     n_strides, n);
    if (rc == 0)
        rc = dp_set_storage(ctx, self, source, offset, (int)n, sizes, n_strides ? strides : NULL);
    return rc < 0 ? dp_refuse(ctx, rc, NULL) : 0;
}

/* aten::detach_(Tensor(a!) self) -> Tensor(a!) */
static int detach_(dp_ctx *ctx, dp_tensor *self)
{
    if (dp_tensor_root(self) == NULL)
        return 0;
    return dp_refuse(
        ctx, DP_ERUNTIME,
        "Can't detach views in-place. Use detach() instead. If you are using "
        "DistributedDataParallel (DDP) for training, and gradient_as_bucket_view is set "
        "as True, gradients are views of DDP buckets, and hence detach_() cannot be "
        "called on these gradients.");
}

/* aten::cudnn_is_acceptable(Tensor self) -> bool */
static int cudnn_is_acceptable(dp_ctx *ctx, dp_tensor *self, bool *out)
{
    (void)ctx, (void)self;
    *out = false;
    return 0;
}

/* aten::is_vulkan_available() -> bool */
static int is_vulkan_available(dp_ctx *ctx, bool *out)
{
    return cudnn_is_acceptable(ctx, NULL, out);
}

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

/* aten::is_conj(Tensor self) -> bool */
static int is_conj(dp_ctx *ctx, dp_tensor *self, bool *out)
{
    (void)ctx;
    *out = dp_keyset_has(dp_tensor_keys(self), DP_KEY(DP_F_Conjugate));
    return 0;
}

/* aten::is_neg(Tensor self) -> bool */
static int is_neg(dp_ctx *ctx, dp_tensor *self, bool *out)
{
    (void)ctx;
    *out = dp_keyset_has(dp_tensor_keys(self), DP_KEY(DP_F_Negative));
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

DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL_UNBOXED("_version", version, (T), (i)),
                DP_IMPL_UNBOXED("is_inference", never, (T), (b)),
                DP_IMPL_UNBOXED("is_distributed", is_distributed, (T), (b)),
                DP_IMPL_UNBOXED("_is_zerotensor", is_zerotensor, (T), (b)),
                DP_IMPL_UNBOXED("_has_compatible_shallow_copy_type", compatible, (T, T), (b)),
                DP_IMPL_UNBOXED("_debug_has_internal_overlap", overlap, (T), (i)),
                DP_IMPL_UNBOXED("data", data, (T), (T)),
                DP_IMPL_UNBOXED("set_.source_Tensor_storage_offset", set_part, (T, T, i, li, li),
                                ()),
                DP_IMPL_UNBOXED("cudnn_is_acceptable", cudnn_is_acceptable, (T), (b)),
                DP_IMPL_UNBOXED("is_vulkan_available", is_vulkan_available, (), (b)),
                DP_IMPL_UNBOXED("size.int", size_at, (T, i), (i)),
                DP_IMPL_UNBOXED("stride.int", stride_at, (T, i), (i)),
                DP_IMPL_UNBOXED("_shape_as_tensor", shape_as_tensor, (T), (T)),
                DP_IMPL_UNBOXED("is_nonzero", is_nonzero, (T), (b)),
                DP_IMPL_UNBOXED("is_conj", is_conj, (T), (b)),
                DP_IMPL_UNBOXED("is_neg", is_neg, (T), (b)))
DP_LIBRARY_META(aten, CompositeExplicitAutograd,
                DP_IMPL_UNBOXED("is_pinned", is_pinned, (T, oi), (b)),
                DP_IMPL_UNBOXED("detach_", detach_, (T), ()),
                DP_IMPL_UNBOXED("is_same_size", is_same_size, (T, T), (b)))
