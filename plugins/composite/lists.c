/* lists.c -- operators that take or give lists of tensors: tensor_split and its kin, stacks, atleast_*, grids
 * (aten/src/ATen/native/TensorShape.cpp, TensorTransformations.cpp). */
#include "chain.h"
#include <string.h>

enum { LIST_MAX = 1 << 16 }; /* tensors that one call may return */

/* A list being made; its memory is the call's. */
typedef struct list {
    dp_ctx *ctx;
    dp_tensor **made;
    size_t n, room;
    int rc;
} list;

static list list_of(dp_ctx *ctx, size_t room)
{
    list l = {ctx, NULL, 0, room, 0};

    if (room > LIST_MAX)
        l.rc = dp_fail(ctx, DP_ERESOURCE, "%zu tensors are over the limit of %d for one call", room,
                       LIST_MAX);
    else if ((l.made = dp_alloc(ctx, room * sizeof(dp_tensor *))) == NULL)
        l.rc = DP_ERESOURCE;
    return l;
}

/* Where the next tensor goes, of a call whose code list_made() takes. */
static dp_tensor **list_next(list *l)
{
    return &l->made[l->n];
}

static void list_made(list *l, int rc)
{
    l->rc = rc;
    l->n += rc == 0;
}

static void list_release(list *l)
{
    for (size_t i = 0; i < l->n; i++)
        dp_tensor_unref(l->made[i]);
    l->n = 0;
}

static int list_end(list *l, dp_value *out)
{
    if (l->rc == 0)
        *out = dp_tensors(l->made, l->n);
    else
        list_release(l);
    return l->rc;
}

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

/* aten::tensor_split.tensor_indices_or_sections(Tensor(a -> *) self, Tensor tensor_indices_or_sections,
 *     int dim=0) -> Tensor(a)[] */
static int split_tensor(dp_ctx *ctx, dp_tensor *self, dp_tensor *where, int64_t dim, dp_value *out)
{
    dp_tensor *packed;
    DP_VIEW(w, where);
    int rc = begin_split(ctx, self, &dim);

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
                     "tensor_split has to read its indices, which have no memory here");
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

/* The dimension that is split: of a vector too, for hsplit. */
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
        rc = sections == -1 ? 0 /* what tensor_split says of it */
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
    }                                                                                              \
    DP_LIBRARY_META(aten, CompositeImplicitAutograd,                                               \
                    DP_IMPL_UNBOXED(#name ".int", name, (T, i), (lT)),                             \
                    DP_IMPL_UNBOXED(#name ".array", name##_array, (T, li), (lT)))
SPLIT_ALONG(hsplit, 1)
SPLIT_ALONG(vsplit, 2)
SPLIT_ALONG(dsplit, 3)

/* -- pieces that are no views -- */

/* What a list of views shows, each with a version of its own; takes the views. */
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

/* -- atleast_1d, atleast_2d, atleast_3d -- */

/* t with n dimensions or more: a row, or one plane of a tensor of 3. */
static int at_least(dp_ctx *ctx, dp_tensor *t, int n, dp_tensor **out)
{
    int64_t ones[3] = {1, 1, 1};
    chain c = {.ctx = ctx};
    DP_VIEW(x, t);

    if (x.ndim >= n) {
        *out = dp_tensor_ref(t);
        return 0;
    }
    if (x.ndim == 0)
        return dp_invoke(ctx, "aten::reshape", "Tli>T", t, ones, (size_t)n, out);
    if (x.ndim == 1)
        t = CHAIN(&c, "aten::unsqueeze", "Ti>T", t, (int64_t)0);
    if (n == 3)
        t = CHAIN(&c, "aten::unsqueeze", "Ti>T", t, (int64_t)-1);
    return chain_end(&c, t, out);
}

static list all_at_least(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, int least)
{
    list l = list_of(ctx, n);

    for (size_t i = 0; l.rc == 0 && i < n; i++)
        list_made(&l, at_least(ctx, tensors[i], least, list_next(&l)));
    return l;
}

/* aten::atleast_1d(Tensor self) -> Tensor
 * aten::atleast_1d.Sequence(Tensor[] tensors) -> Tensor[] */
#define AT_LEAST(n)                                                                                \
    static int atleast_##n(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)                          \
    {                                                                                              \
        return at_least(ctx, self, n, out);                                                        \
    }                                                                                              \
    static int atleast_##n##_all(dp_ctx *ctx, dp_tensor *const *tensors, size_t count,             \
                                 dp_value *out)                                                    \
    {                                                                                              \
        list l = all_at_least(ctx, tensors, count, n);                                             \
        return list_end(&l, out);                                                                  \
    }                                                                                              \
    DP_LIBRARY_META(aten, CompositeImplicitAutograd,                                               \
                    DP_IMPL_UNBOXED("atleast_" #n "d", atleast_##n, (T), (T)),                     \
                    DP_IMPL_UNBOXED("atleast_" #n "d.Sequence", atleast_##n##_all, (lT), (lT)))
AT_LEAST(1)
AT_LEAST(2)
AT_LEAST(3)

/* -- copies of all -- */

/* aten::_to_cpu(Tensor[] tensors) -> Tensor[] */
static int to_cpu(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, dp_value *out)
{
    list l = list_of(ctx, n);

    for (size_t i = 0; l.rc == 0 && i < n; i++) {
        DP_VIEW(x, tensors[i]);
        list_made(&l, dp_invoke(ctx, "aten::to.device", "Tii>T", tensors[i], (int64_t)DP_DEVICE_CPU,
                                (int64_t)x.dtype, list_next(&l)));
    }
    return list_end(&l, out);
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL_UNBOXED("_to_cpu", to_cpu, (lT), (lT)))

/* -- stacks -- */

/* *out NULL: made */
static int join(dp_ctx *ctx, list *l, int64_t dim, dp_tensor **out)
{
    if (l->rc == 0)
        l->rc = *out == NULL ? dp_invoke(ctx, "aten::cat", "lTi>T", l->made, l->n, dim, out)
                             : dp_invoke(ctx, "aten::cat.out", "lTiT>", l->made, l->n, dim, *out);
    list_release(l);
    return l->rc;
}

static int check_some(dp_ctx *ctx, const char *name, size_t n)
{
    return n > 0 ? 0 : dp_fail(ctx, DP_ERUNTIME, "%s expects a non-empty TensorList", name);
}

static int write_hstack(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, dp_tensor **out)
{
    int rc = check_some(ctx, "hstack", n);

    if (rc < 0)
        return rc;
    list l = all_at_least(ctx, tensors, n, 1);
    DP_VIEW(first, tensors[0]);
    return join(ctx, &l, first.ndim > 1, out);
}

static int write_vstack(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, dp_tensor **out)
{
    int rc = check_some(ctx, "vstack", n);

    if (rc < 0)
        return rc;
    list l = all_at_least(ctx, tensors, n, 2);
    return join(ctx, &l, 0, out);
}

static int write_dstack(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, dp_tensor **out)
{
    int rc = check_some(ctx, "dstack", n);

    if (rc < 0)
        return rc;
    list l = all_at_least(ctx, tensors, n, 3);
    return join(ctx, &l, 2, out);
}

/* Vectors and numbers become columns. */
static int write_column_stack(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, dp_tensor **out)
{
    int rc = check_some(ctx, "column_stack", n);

    if (rc < 0)
        return rc;
    list l = list_of(ctx, n);
    for (size_t i = 0; l.rc == 0 && i < n; i++) {
        DP_VIEW(x, tensors[i]);
        int64_t column[2] = {x.numel, 1};
        if (x.ndim <= 1)
            list_made(&l, dp_invoke(ctx, "aten::reshape", "Tli>T", tensors[i], column, (size_t)2,
                                    list_next(&l)));
        else {
            *list_next(&l) = dp_tensor_ref(tensors[i]);
            list_made(&l, 0);
        }
    }
    return join(ctx, &l, 1, out);
}

/* aten::hstack(Tensor[] tensors) -> Tensor
 * aten::hstack.out(Tensor[] tensors, *, Tensor(a!) out) -> Tensor(a!) */
#define STACK(name)                                                                                \
    static int name(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, dp_tensor **out)             \
    {                                                                                              \
        *out = NULL;                                                                               \
        return write_##name(ctx, tensors, n, out);                                                 \
    }                                                                                              \
    static int name##_out(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, dp_tensor *out)        \
    {                                                                                              \
        return write_##name(ctx, tensors, n, &out);                                                \
    }                                                                                              \
    DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL_UNBOXED(#name, name, (lT), (T)),      \
                    DP_IMPL_UNBOXED(#name ".out", name##_out, (lT, T), ()))
STACK(hstack)
STACK(vstack)
STACK(dstack)
STACK(column_stack)

/* -- one shape for all -- */

/* aten::broadcast_tensors(Tensor[] tensors) -> Tensor[] */
static int broadcast(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, dp_value *out)
{
    int64_t shape[DP_DIM_MAX], wider[DP_DIM_MAX];
    int ndim = 0;
    list l = list_of(ctx, n);

    for (size_t i = 0; l.rc == 0 && i < n; i++) {
        DP_VIEW(x, tensors[i]);
        l.rc = dp_broadcast_shapes(ctx, ndim, shape, x.ndim, x.sizes, wider);
        ndim = x.ndim > ndim ? x.ndim : ndim;
        if (l.rc == 0)
            memcpy(shape, wider, (size_t)ndim * sizeof(int64_t));
    }
    for (size_t i = 0; l.rc == 0 && i < n; i++)
        list_made(&l, dp_invoke(ctx, "aten::expand", "Tli>T", tensors[i], shape, (size_t)ndim,
                                list_next(&l)));
    return list_end(&l, out);
}

static int check_grid(dp_ctx *ctx, dp_tensor *const *tensors, size_t n)
{
    char text[DP_SHAPE_TEXT];
    int rc = n > 0 ? check_ndim(ctx, n)
                   : dp_fail(ctx, DP_ERUNTIME, "meshgrid expects a non-empty TensorList");

    for (size_t i = 0; rc == 0 && i < n; i++) {
        DP_VIEW(x, tensors[i]);
        DP_VIEW(first, tensors[0]);
        if (x.dtype != first.dtype)
            rc = dp_fail(ctx, DP_ERUNTIME, "meshgrid expects all tensors to have the same dtype");
        else if (x.ndim > 1)
            rc = dp_fail(
                ctx, DP_ERUNTIME,
                "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got shape %s",
                dp_shape_text(text, x.sizes, (size_t)x.ndim));
    }
    return rc;
}

/* Tensor i varies along dimension i; the first two change places if `swapped`. */
static int grid(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, bool swapped, dp_value *out)
{
    int64_t shape[DP_DIM_MAX], line[DP_DIM_MAX];
    int rc = check_grid(ctx, tensors, n);

    if (rc < 0)
        return rc;
    swapped = swapped && n > 1;
    list l = list_of(ctx, n);
    for (size_t i = 0; i < n; i++) {
        DP_VIEW(x, tensors[i]);
        shape[swapped && i < 2 ? 1 - i : i] = x.numel;
    }
    for (size_t i = 0; l.rc == 0 && i < n; i++) {
        chain c = {.ctx = ctx};
        for (size_t d = 0; d < n; d++)
            line[d] = 1;
        line[swapped && i < 2 ? 1 - i : i] = -1;
        dp_tensor *t = CHAIN(&c, "aten::view", "Tli>T", tensors[i], line, n);
        t = CHAIN(&c, "aten::expand", "Tli>T", t, shape, n);
        list_made(&l, chain_end(&c, t, list_next(&l)));
    }
    return list_end(&l, out);
}

/* aten::meshgrid(Tensor[] tensors) -> Tensor[] */
static int meshgrid(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, dp_value *out)
{
    return grid(ctx, tensors, n, false, out);
}

/* aten::meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[] */
static int meshgrid_indexing(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, dp_str indexing,
                             dp_value *out)
{
    bool xy = indexing.len == 2 && memcmp(indexing.s, "xy", 2) == 0;

    if (!xy && (indexing.len != 2 || memcmp(indexing.s, "ij", 2) != 0))
        return dp_fail(
            ctx, DP_ERUNTIME,
            "torch.meshgrid: indexing must be one of \"xy\" or \"ij\", but received: %.*s",
            (int)indexing.len, indexing.s);
    return grid(ctx, tensors, n, xy, out);
}

/* -- flat copies of many -- */

/* aten::flatten_dense_tensors(Tensor[] tensors) -> Tensor */
static int flatten_all(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, dp_tensor **out)
{
    int64_t any = -1;
    list l = list_of(ctx, n);

    for (size_t i = 0; l.rc == 0 && i < n; i++)
        list_made(&l, dp_invoke(ctx, "aten::reshape", "Tli>T", tensors[i], &any, (size_t)1,
                                list_next(&l)));
    *out = NULL;
    if (l.rc == 0 && n == 1) {
        *out = dp_tensor_ref(l.made[0]);
        list_release(&l);
        return 0;
    }
    return join(ctx, &l, 0, out);
}

/* aten::unflatten_dense_tensors(Tensor flat, Tensor[] tensors) -> Tensor[] */
static int unflatten_all(dp_ctx *ctx, dp_tensor *flat, dp_tensor *const *tensors, size_t n,
                         dp_value *out)
{
    int64_t at = 0, none = 0;
    DP_VIEW(f, flat);
    list l = list_of(ctx, n);

    for (size_t i = 0; l.rc == 0 && i < n; i++) {
        chain c = {.ctx = ctx};
        DP_VIEW(x, tensors[i]);
        if (x.numel == 0) {
            list_made(&l, dp_empty(ctx, f.dtype, f.device, 1, &none, DP_CONTIGUOUS, list_next(&l)));
            continue;
        }
        dp_tensor *t = CHAIN(&c, "aten::narrow", "Tiii>T", flat, (int64_t)0, at, x.numel);
        t = CHAIN(&c, "aten::view", "Tli>T", t, x.sizes, (size_t)x.ndim);
        list_made(&l, chain_end(&c, t, list_next(&l)));
        at += x.numel;
    }
    return list_end(&l, out);
}

DP_LIBRARY_META(aten, CompositeExplicitAutograd, DP_IMPL("unsafe_split.Tensor", unsafe_split),
                DP_IMPL("unsafe_split_with_sizes", unsafe_split_with_sizes))
DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("tensor_split.sections", split_sections, (T, i, i), (lT)),
                DP_IMPL_UNBOXED("tensor_split.indices", split_indices, (T, li, i), (lT)),
                DP_IMPL_UNBOXED("tensor_split.tensor_indices_or_sections", split_tensor, (T, T, i),
                                (lT)),
                DP_IMPL("unsafe_chunk", unsafe_chunk),
                DP_IMPL_UNBOXED("broadcast_tensors", broadcast, (lT), (lT)),
                DP_IMPL_UNBOXED("meshgrid", meshgrid, (lT), (lT)),
                DP_IMPL_UNBOXED("meshgrid.indexing", meshgrid_indexing, (lT, S), (lT)),
                DP_IMPL_UNBOXED("flatten_dense_tensors", flatten_all, (lT), (T)),
                DP_IMPL_UNBOXED("unflatten_dense_tensors", unflatten_all, (T, lT), (lT)))
