/* split.c -- operators that split a tensor into slices (aten/src/ATen/native/TensorShape.cpp).
 *
 * Operators: dsplit, hsplit, tensor_split, unsafe_chunk, unsafe_split, unsafe_split_with_sizes,
 * vsplit. */
#include "core/list.h"

/* -- tensor_split -- */

static int begin_split(dp_ctx *ctx, dp_tensor *self, int64_t *dim)
{
    DP_VIEW(x, self);

    if (x.ndim == 0)
        return dp_fail(
            ctx, DP_ERUNTIME,
            "tensor_split expected at least a 1-dimensional tensor, but got a tensor with "
            "0 dims");
    return wrap_dim(ctx, dim, x.ndim);
}

static void add_slice(list *l, dp_tensor *self, int64_t dim, int64_t start, int64_t end)
{
    list_made(l, dp_invoke(l->ctx, "aten::slice.Tensor", "Tioioi>T", self, dim, &start, &end,
                           list_next(l)));
}

/* aten::tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> Tensor(a)[] */
static int split_sections(dp_ctx *ctx, dp_tensor *self, int64_t sections, int64_t dim,
                          dp_value *out)
{
    int64_t at = 0;
    DP_VIEW(x, self);
    int rc = begin_split(ctx, self, &dim);

    if (rc < 0)
        return rc;
    if (sections <= 0)
        return dp_fail(ctx, DP_ERUNTIME, "number of sections must be larger than 0, got %" PRId64,
                       sections);
    list l = list_of(ctx, (size_t)sections);
    for (int64_t i = 0; l.rc == 0 && i < sections; i++) {
        int64_t size = x.sizes[dim] / sections + (i < x.sizes[dim] % sections);
        add_slice(&l, self, dim, at, at + size);
        at += size;
    }
    return list_end(&l, out);
}

/* aten::tensor_split.indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) -> Tensor(a)[] */
static int split_indices(dp_ctx *ctx, dp_tensor *self, const int64_t *indices, size_t n,
                         int64_t dim, dp_value *out)
{
    int64_t at = 0;
    DP_VIEW(x, self);
    int rc = begin_split(ctx, self, &dim);

    if (rc < 0)
        return rc;
    list l = list_of(ctx, n + 1);
    for (size_t i = 0; l.rc == 0 && i <= n; i++) {
        int64_t end = i < n ? indices[i] : x.sizes[dim];
        add_slice(&l, self, dim, at, end);
        at = end;
    }
    return list_end(&l, out);
}

/* aten::tensor_split.tensor_indices_or_sections(Tensor(a -> *) self, Tensor
 *     tensor_indices_or_sections, int dim=0) -> Tensor(a)[] */
static int split_tensor(dp_ctx *ctx, dp_tensor *self, dp_tensor *where, int64_t dim, dp_value *out)
{
    dp_tensor *packed;
    DP_VIEW(w, where);
    int rc = begin_split(ctx, self, &dim);

    if (rc == 0 && dp_device_backend(w.device) != DP_B_CPU && w.data != NULL)
        rc = dp_fail(ctx, DP_ERUNTIME,
                     "tensor_split expected tensor_indices_or_sections to be on cpu");
    if (rc == 0 && w.dtype != DP_INT64)
        rc = dp_fail(
            ctx, DP_ERUNTIME,
            "tensor_split expected tensor_indices_or_sections to have dtype of long, but got "
            "%s",
            dp_dtype_name(w.dtype));
    if (rc == 0 && w.ndim > 1)
        rc = dp_fail(ctx, DP_ERUNTIME,
                     "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or "
                     "one-dimensional tensor, but got a tensor with %d dims",
                     w.ndim);
    if (rc == 0 && w.data == NULL && w.numel > 0)
        rc = dp_fail(ctx, DP_ENOTIMPL,
                     "tensor_split: expected indices with elements, but they have no memory");
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::contiguous", "T>T", where, &packed);
    if (rc < 0)
        return rc;
    DP_VIEW(p, packed);
    rc = w.ndim == 0 ? split_sections(ctx, self, *(const int64_t *)p.data, dim, out)
                     : split_indices(ctx, self, p.data, (size_t)p.numel, dim, out);
    dp_tensor_unref(packed);
    return rc;
}

/* -- hsplit, vsplit, dsplit -- */

/* Set the dimension that is split; hsplit also splits a vector. */
static int split_dim(dp_ctx *ctx, const char *name, dp_tensor *self, int least, int64_t *dim)
{
    DP_VIEW(x, self);

    if (x.ndim < least)
        return dp_fail(
            ctx, DP_ERUNTIME,
            "torch.%s requires a tensor with at least %d dimension%s, but got a tensor with "
            "%d dimensions!",
            name, least, least > 1 ? "s" : "", x.ndim);
    *dim = least == 1 ? x.ndim > 1 : least == 2 ? 0 : 2;
    return 0;
}

static int split_evenly(dp_ctx *ctx, const char *name, dp_tensor *self, int64_t sections, int least,
                        dp_value *out)
{
    int64_t dim = 0;
    DP_VIEW(x, self);
    int rc = split_dim(ctx, name, self, least, &dim);

    if (rc < 0)
        return rc;
    if (sections == 0 || sections == -1 || x.sizes[dim] % sections != 0)
        rc = sections == -1 ? 0 /* tensor_split refuses such sections with its own message */
                            : dp_fail(ctx, DP_ERUNTIME,
                                      "torch.%s attempted to split along dimension %" PRId64
                                      ", but the size of the dimension %" PRId64
                                      " is not divisible by the split_size %" PRId64 "!",
                                      name, dim, x.sizes[dim], sections);
    return rc < 0 ? rc : split_sections(ctx, self, sections, dim, out);
}

static int split_at(dp_ctx *ctx, const char *name, dp_tensor *self, const int64_t *indices,
                    size_t n, int least, dp_value *out)
{
    int64_t dim = 0;
    int rc = split_dim(ctx, name, self, least, &dim);

    return rc < 0 ? rc : split_indices(ctx, self, indices, n, dim, out);
}

/* aten::hsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]
 * aten::hsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[] */
#define SPLIT_ALONG(name, least)                                                                   \
    static int name(dp_ctx *ctx, dp_tensor *self, int64_t sections, dp_value *out)                 \
    {                                                                                              \
        return split_evenly(ctx, #name, self, sections, least, out);                               \
    }                                                                                              \
    static int name##_array(dp_ctx *ctx, dp_tensor *self, const int64_t *indices, size_t n,        \
                            dp_value *out)                                                         \
    {                                                                                              \
        return split_at(ctx, #name, self, indices, n, least, out);                                 \
    }
SPLIT_ALONG(hsplit, 1)
SPLIT_ALONG(vsplit, 2)
SPLIT_ALONG(dsplit, 3)

/* -- slices that are not views -- */

/* Replace a list of views by tensors on the same memory that are not views: each has a version
 * counter of its own.  The references to the views are released. */
static int unmark(dp_ctx *ctx, dp_value *views)
{
    list l = list_of(ctx, views->len);

    for (uint32_t i = 0; l.rc == 0 && i < views->len; i++) {
        DP_VIEW(x, views->u.tensors[i]);
        list_made(&l, dp_as_strided(ctx, views->u.tensors[i], x.ndim, x.sizes, x.strides,
                                    dp_tensor_offset(views->u.tensors[i]), list_next(&l)));
    }
    dp_values_release(views, 1);
    return list_end(&l, views);
}

static int unsafe(dp_call *call, const char *target)
{
    int rc = dp_call_boxed(call->ctx, dp_op_find(call->ctx, target), call->args, call->n_args,
                           call->rets, 1);

    return rc < 0 ? rc : unmark(call->ctx, call->rets);
}

/* aten::unsafe_split.Tensor(Tensor self, int split_size, int dim=0) -> Tensor[] */
static int unsafe_split(dp_call *call)
{
    return unsafe(call, "aten::split.Tensor");
}

/* aten::unsafe_split_with_sizes(Tensor self, int[] split_sizes, int dim=0) -> Tensor[] */
static int unsafe_split_with_sizes(dp_call *call)
{
    return unsafe(call, "aten::split_with_sizes");
}

/* aten::unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[] */
static int unsafe_chunk(dp_call *call)
{
    return unsafe(call, "aten::chunk");
}

DP_LIBRARY_META(aten, CompositeExplicitAutograd, DP_IMPL("unsafe_split.Tensor", unsafe_split),
                DP_IMPL("unsafe_split_with_sizes", unsafe_split_with_sizes))
DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL("unsafe_chunk", unsafe_chunk),
                DP_IMPL_UNBOXED("tensor_split.sections", split_sections, (T, i, i), (lT)),
                DP_IMPL_UNBOXED("tensor_split.indices", split_indices, (T, li, i), (lT)),
                DP_IMPL_UNBOXED("tensor_split.tensor_indices_or_sections", split_tensor, (T, T, i),
                                (lT)),
                DP_IMPL_UNBOXED("hsplit.int", hsplit, (T, i), (lT)),
                DP_IMPL_UNBOXED("hsplit.array", hsplit_array, (T, li), (lT)),
                DP_IMPL_UNBOXED("vsplit.int", vsplit, (T, i), (lT)),
                DP_IMPL_UNBOXED("vsplit.array", vsplit_array, (T, li), (lT)),
                DP_IMPL_UNBOXED("dsplit.int", dsplit, (T, i), (lT)),
                DP_IMPL_UNBOXED("dsplit.array", dsplit_array, (T, li), (lT)))
