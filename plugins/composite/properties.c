/* properties.c -- what a tensor is apart from its elements, tensors on another's storage, and conversions that
 * only some tensors need (aten/src/ATen/native/TensorProperties.cpp, TensorShape.cpp, AutogradComposite.cpp,
 * ComparisonUtils.cpp, TensorConversions.cpp). */
#include "composite.h"
#include <dispatchd/check.h>
#include <string.h>

/* -- questions -- */

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
 * All that is not made of other tensors is strided. */
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

/* Elements of its dtype that t's storage has. */
static int64_t storage_numel(dp_tensor *t)
{
    DP_VIEW(x, t);
    return (int64_t)(dp_tensor_storage_bytes(t) / dp_dtype_size(x.dtype));
}

/* aten::_has_same_storage_numel(Tensor self, Tensor other) -> bool */
static int same_storage_numel(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, bool *out)
{
    (void)ctx;
    *out = storage_numel(self) == storage_numel(other);
    return 0;
}

/* aten::_assert_tensor_metadata(Tensor a, int[]? size=None, int[]? stride=None, ScalarType? dtype=None)
 *     -> () */
static int assert_metadata(dp_ctx *ctx, dp_tensor *t, const int64_t *sizes, size_t n_sizes,
                           const int64_t *strides, size_t n_strides, const int64_t *dtype)
{
    DP_VIEW(x, t);
    const char *what = NULL;

    if (sizes && !dp_same_sizes(x.ndim, x.sizes, (int)n_sizes, sizes))
        what = "sizes";
    else if (strides && !dp_same_sizes(x.ndim, x.strides, (int)n_strides, strides))
        what = "strides";
    else if (dtype && *dtype != (int64_t)x.dtype)
        what = "dtype";
    return what ? dp_fail(ctx, DP_ERUNTIME, "Tensor %s mismatch!", what) : 0;
}

/* aten::_assert_async(Tensor self) -> () */
static int assert_async(dp_ctx *ctx, dp_tensor *self)
{
    bool yes = false;
    int rc = dp_invoke(ctx, "aten::is_nonzero", "T>b", self, &yes);

    return rc == 0 && !yes ? dp_fail(ctx, DP_ERUNTIME,
                                     "Expected Tensor with single nonzero value, but got zero")
                           : rc;
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL_UNBOXED("_version", version, (T), (i)),
                DP_IMPL_UNBOXED("is_inference", never, (T), (b)),
                DP_IMPL_UNBOXED("is_distributed", is_distributed, (T), (b)),
                DP_IMPL_UNBOXED("_is_zerotensor", is_zerotensor, (T), (b)),
                DP_IMPL_UNBOXED("_has_compatible_shallow_copy_type", compatible, (T, T), (b)),
                DP_IMPL_UNBOXED("_debug_has_internal_overlap", overlap, (T), (i)),
                DP_IMPL_UNBOXED("_assert_tensor_metadata", assert_metadata, (T, oli, oli, oi), ()))
DP_LIBRARY_META(aten, CompositeExplicitAutograd,
                DP_IMPL_UNBOXED("is_pinned", is_pinned, (T, oi), (b)),
                DP_IMPL_UNBOXED("_has_same_storage_numel", same_storage_numel, (T, T), (b)))
DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("is_set_to", is_set_to, (T, T), (b)),
                DP_IMPL_UNBOXED("_assert_async", assert_async, (T), ()))

/* -- storages -- */

/* aten::data(Tensor self) -> Tensor
 * On the same memory, with a version of its own. */
static int data(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    DP_VIEW(x, self);
    return dp_as_strided(ctx, self, x.ndim, x.sizes, x.strides, dp_tensor_offset(self), out);
}

/* aten::lift_fresh_copy(Tensor self) -> Tensor */
static int lift_fresh_copy(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    return dp_invoke(ctx, "aten::clone", "T>T", self, out);
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

/* aten::_new_zeros_with_same_feature_meta(Tensor self, Tensor other, *, int self_num_batch_dims=0) -> Tensor
 * Zeros that lie as other does in a storage as large, one for each of self's first dimensions. */
static int zeros_laid_as(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, int64_t batches,
                         dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX], strides[DP_DIM_MAX], numel = storage_numel(other);
    dp_tensor *flat;
    DP_VIEW(x, self);
    DP_VIEW(y, other);

    if (batches < 0 || batches > x.ndim || batches + y.ndim > DP_DIM_MAX)
        return dp_fail(
            ctx, DP_ERUNTIME,
            "self_num_batch_dims should be of the %d dimensions of self, but is %" PRId64, x.ndim,
            batches);
    for (int64_t d = batches - 1; d >= 0; d--) {
        sizes[d] = x.sizes[d];
        strides[d] = numel;
        if (__builtin_mul_overflow(numel, x.sizes[d], &numel))
            return dp_fail(ctx, DP_ERUNTIME,
                           "dimensions of self are too large for storages of %" PRId64
                           " elements each",
                           storage_numel(other));
    }
    memcpy(sizes + batches, y.sizes, (size_t)y.ndim * sizeof(int64_t));
    memcpy(strides + batches, y.strides, (size_t)y.ndim * sizeof(int64_t));
    int rc = dp_empty(ctx, y.dtype, y.device, 1, &numel, DP_CONTIGUOUS, &flat);
    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::zero_", "T>", flat);
    if (rc == 0)
        rc = dp_as_strided(ctx, flat, (int)batches + y.ndim, sizes, strides,
                           dp_tensor_offset(other), out);
    dp_tensor_unref(flat);
    return rc;
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

DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL_UNBOXED("data", data, (T), (T)),
                DP_IMPL_UNBOXED("set_.source_Tensor_storage_offset", set_part, (T, T, i, li, li),
                                ()))
DP_LIBRARY_META(aten, CompositeExplicitAutograd, DP_IMPL_UNBOXED("detach_", detach_, (T), ()),
                DP_IMPL_UNBOXED("lift_fresh_copy", lift_fresh_copy, (T), (T)),
                DP_IMPL_UNBOXED("_new_zeros_with_same_feature_meta", zeros_laid_as, (T, T, i), (T)))

/* -- conversions -- */

static int converted(dp_ctx *ctx, dp_tensor *self, bool wanted, int64_t dtype, dp_tensor **out)
{
    if (wanted)
        return dp_invoke(ctx, "aten::to.dtype", "Ti>T", self, dtype, out);
    *out = dp_tensor_ref(self);
    return 0;
}

/* aten::to_dense(Tensor self, ScalarType? dtype=None) -> Tensor */
static int to_dense(dp_ctx *ctx, dp_tensor *self, const int64_t *dtype, dp_tensor **out)
{
    return converted(ctx, self, dtype != NULL, dtype ? *dtype : 0, out);
}

static bool on_host(const dp_view *x)
{
    return dp_device_backend(x->device) == 0;
}

/* aten::_autocast_to_full_precision(Tensor(a) self, bool cuda_enabled, bool cpu_enabled) -> Tensor(a) */
static int to_full(dp_ctx *ctx, dp_tensor *self, bool cuda, bool cpu, dp_tensor **out)
{
    DP_VIEW(x, self);
    bool narrow = x.dtype == DP_FLOAT16 || x.dtype == DP_BFLOAT16;

    (void)cuda;
    return converted(ctx, self, cpu && narrow && on_host(&x), DP_FLOAT32, out);
}

/* aten::_autocast_to_reduced_precision(Tensor(a) self, bool cuda_enabled, bool cpu_enabled,
 *     ScalarType cuda_dtype, ScalarType cpu_dtype) -> Tensor(a) */
static int to_reduced(dp_ctx *ctx, dp_tensor *self, bool cuda, bool cpu, int64_t cuda_dtype,
                      int64_t cpu_dtype, dp_tensor **out)
{
    DP_VIEW(x, self);

    (void)cuda, (void)cuda_dtype;
    return converted(ctx, self, cpu && x.dtype == DP_FLOAT32 && on_host(&x), cpu_dtype, out);
}

/* aten::_dim_arange(Tensor like, int dim) -> Tensor */
static int dim_arange(dp_ctx *ctx, dp_tensor *like, int64_t dim, dp_tensor **out)
{
    const int64_t dtype = DP_INT64;
    int64_t size, device;
    DP_VIEW(x, like);
    int rc = dp_invoke(ctx, "aten::size.int", "Ti>i", like, dim, &size);

    device = x.device;
    return rc < 0 ? rc
                  : dp_invoke(ctx, "aten::arange", "soioioi>T", dp_int(size), &dtype, NULL, &device,
                              out);
}

/* aten::_reshape_from_tensor(Tensor self, Tensor shape) -> Tensor */
static int reshape_from_tensor(dp_ctx *ctx, dp_tensor *self, dp_tensor *shape, dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX];
    DP_VIEW(s, shape);

    if (s.ndim != 1 || s.dtype != DP_INT64)
        return dp_fail(ctx, DP_ERUNTIME,
                       "expected a shape of 1 dimension and scalar type Long, but found %d and %s",
                       s.ndim, dp_dtype_aten_name(s.dtype));
    if (s.numel > 0 && (s.data == NULL || !on_host(&s)))
        return dp_fail(ctx, DP_ENOTIMPL,
                       "_reshape_from_tensor has to read its shape, which has no memory here");
    int rc = check_ndim(ctx, (size_t)s.numel);
    if (rc < 0)
        return rc;
    for (int64_t i = 0; i < s.numel; i++)
        sizes[i] = ((const int64_t *)s.data)[i * s.strides[0]];
    return dp_invoke(ctx, "aten::reshape", "Tli>T", self, sizes, (size_t)s.numel, out);
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("to_dense", to_dense, (T, oi), (T)),
                DP_IMPL_UNBOXED("_autocast_to_full_precision", to_full, (T, b, b), (T)),
                DP_IMPL_UNBOXED("_autocast_to_reduced_precision", to_reduced, (T, b, b, i, i), (T)),
                DP_IMPL_UNBOXED("_dim_arange", dim_arange, (T, i), (T)),
                DP_IMPL_UNBOXED("_reshape_from_tensor", reshape_from_tensor, (T, T), (T)))
