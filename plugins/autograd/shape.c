/* shape.c -- operators for use in gradient formulas only: gradients of views, cat, block_diag,
 * padding and repeat (torch/csrc/autograd/FunctionsManual.cpp).
 *
 * These operators call operators that autograd records, so the gradients can be differentiated.
 *
 * Operators: as_strided_back, block_diag_back, cat_back, constant_pad_nd_back, permute_back,
 * repeat_back, split_back, split_with_sizes_back, unbind_back. */
#include <dispatchd/plugin.h>

/* -- calls -- */

static int call_one(dp_ctx *ctx, const char *name, const dp_value *args, size_t n, dp_tensor **out)
{
    dp_value ret = {0};
    int rc = dp_call_boxed(ctx, dp_op_find(ctx, name), args, n, &ret, 1);

    *out = rc == 0 ? ret.u.t : NULL;
    return rc;
}
#define CALL(ctx, name, out, ...)                                                                  \
    call_one(ctx, name, (dp_value[]){__VA_ARGS__},                                                 \
             sizeof((dp_value[]){__VA_ARGS__}) / sizeof(dp_value), out)

static int slice(dp_ctx *ctx, dp_tensor *t, int64_t dim, int64_t start, int64_t length,
                 dp_tensor **out)
{
    return CALL(ctx, "aten::narrow", out, dp_tensor_value(t), dp_int(dim), dp_int(start),
                dp_int(length));
}

static int reshape(dp_ctx *ctx, dp_tensor *t, const int64_t *sizes, size_t n, dp_tensor **out)
{
    return CALL(ctx, "aten::reshape", out, dp_tensor_value(t), dp_ints(sizes, n));
}

/* Make zeros with the dtype and device of `like`. */
static int zeros(dp_ctx *ctx, dp_tensor *like, const int64_t *sizes, size_t n, dp_tensor **out)
{
    return CALL(ctx, "aten::new_zeros", out, dp_tensor_value(like), dp_ints(sizes, n), {0}, {0},
                {0}, {0});
}

/* If `*dim` is negative, add `ndim`, as PyTorch does.  DP_EINDEX: the tensor has no such
 * dimension. */
static int wrap(dp_ctx *ctx, int64_t *dim, size_t ndim)
{
    int64_t wrapped = *dim < 0 ? *dim + (int64_t)ndim : *dim;

    if (wrapped < 0 || wrapped >= (int64_t)ndim)
        return dp_fail(ctx, DP_EINDEX, "dimension %lld of a tensor with %zu", (long long)*dim,
                       ndim);
    *dim = wrapped;
    return 0;
}

/* Check that `n`, the length of the list called `what`, is in [least, most].  DP_EVALUE: it is
 * not. */
static int check_length(dp_ctx *ctx, const char *what, size_t n, size_t least, size_t most)
{
    if (n >= least && n <= most)
        return 0;
    return dp_fail(ctx, DP_EVALUE, "%s has %zu numbers, want %zu to %zu", what, n, least, most);
}

/* If `rc` is 0, make `list` [n] the call's return; else release the tensors of the list, which is
 * NULL if there was no memory for it.  Return `rc`. */
static int give_list(dp_call *call, dp_tensor **list, size_t n, int rc)
{
    if (rc == 0)
        call->rets[0] = dp_tensors(list, n);
    for (size_t i = 0; list != NULL && i < n && rc < 0; i++)
        dp_tensor_unref(list[i]);
    return rc;
}

static dp_tensor **new_list(dp_ctx *ctx, size_t n)
{
    dp_tensor **list = dp_alloc_n(ctx, n + 1, sizeof(*list));

    for (size_t i = 0; list != NULL && i < n; i++)
        list[i] = NULL;
    return list;
}

/* -- joined tensors -- */

/* grad::cat_back(Tensor grad, int[][] sizes, int dim) -> Tensor[] */
static int cat_back(dp_call *call)
{
    dp_ctx *ctx = call->ctx;
    dp_tensor *grad = call->args[0].u.t;
    const dp_value *sizes = &call->args[1];
    dp_tensor **list = new_list(ctx, sizes->len);
    DP_VIEW(g, grad);
    int64_t dim = call->args[2].u.i, start = 0;
    int rc = list != NULL ? wrap(ctx, &dim, (size_t)g.ndim) : DP_ERESOURCE;

    for (uint32_t i = 0; i < sizes->len && rc == 0; i++) {
        const dp_value *s = &sizes->u.values[i];
        bool skipped = s->len == 1 && s->u.ints[0] == 0 && g.ndim != 1; /* cat skips such tensors */
        if (skipped) {
            rc = zeros(ctx, grad, s->u.ints, s->len, &list[i]);
            continue;
        }
        rc = check_length(ctx, "a tensor's sizes", s->len, (size_t)g.ndim, (size_t)g.ndim);
        if (rc == 0)
            rc = slice(ctx, grad, dim, start, s->u.ints[dim], &list[i]);
        if (rc == 0)
            start += s->u.ints[dim];
    }
    return give_list(call, list, sizes->len, rc);
}

/* grad::block_diag_back(Tensor grad, int[][] sizes) -> Tensor[] */
static int block_diag_back(dp_call *call)
{
    dp_ctx *ctx = call->ctx;
    const dp_value *sizes = &call->args[1];
    dp_tensor **list = new_list(ctx, sizes->len);
    int64_t row = 0, column = 0;
    int rc = list != NULL ? 0 : DP_ERESOURCE;

    for (uint32_t i = 0; i < sizes->len && rc == 0; i++) {
        const dp_value *s = &sizes->u.values[i];
        int64_t rows = s->len == 2 ? s->u.ints[0] : 1, columns = s->len ? s->u.ints[s->len - 1] : 1;
        dp_tensor *across = NULL, *block = NULL;
        rc = slice(ctx, call->args[0].u.t, 0, row, rows, &across);
        if (rc == 0)
            rc = slice(ctx, across, 1, column, columns, &block);
        if (rc == 0)
            rc = reshape(ctx, block, s->u.ints, s->len, &list[i]);
        dp_tensor_unref(across);
        dp_tensor_unref(block);
        row += rows;
        column += columns;
    }
    return give_list(call, list, sizes->len, rc);
}

/* Call `op` (cat or, if `stacked`, stack) for the gradients of all pieces of a tensor, in dimension
 * `dim`.  The call's arguments 0 and 1 are the gradients and the sizes of the whole tensor.
 * Undefined gradients become zeros.  lengths[i]: size of piece i in `dim`; not read if
 * `stacked`. */
static int join(dp_call *call, const char *op, const int64_t *lengths, int64_t dim, bool stacked)
{
    dp_ctx *ctx = call->ctx;
    const dp_value *grads = &call->args[0], *sizes = &call->args[1];
    dp_tensor **list = new_list(ctx, grads->len), *like = NULL;
    int64_t piece[DP_DIM_MAX];
    int rc = list != NULL ? 0 : DP_ERESOURCE;

    for (uint32_t i = 0; i < grads->len; i++)
        like = grads->u.tensors[i] != NULL ? grads->u.tensors[i] : like;
    if (rc == 0)
        rc = check_length(ctx, "a tensor's sizes", sizes->len, 1, DP_DIM_MAX);
    if (rc == 0 && like == NULL)
        rc = dp_fail(ctx, DP_EVALUE, "none of %u gradients is defined", grads->len);
    for (uint32_t i = 0; i < grads->len && rc == 0; i++) {
        size_t n = 0;
        for (int64_t d = 0; d < sizes->len; d++)
            if (!stacked || d != dim)
                piece[n++] = d == dim ? lengths[i] : sizes->u.ints[d];
        if (grads->u.tensors[i] != NULL)
            list[i] = dp_tensor_ref(grads->u.tensors[i]);
        else
            rc = zeros(ctx, like, piece, n, &list[i]);
    }
    if (rc == 0)
        rc = CALL(ctx, op, &call->rets[0].u.t, dp_tensors(list, grads->len), dp_int(dim));
    if (rc == 0)
        call->rets[0] = dp_tensor_value(call->rets[0].u.t);
    for (uint32_t i = 0; list != NULL && i < grads->len; i++)
        dp_tensor_unref(list[i]);
    return rc;
}

/* grad::split_back(Tensor?[] grads, int[] sizes, int split_size, int dim) -> Tensor */
static int split_back(dp_call *call)
{
    int64_t dim = call->args[3].u.i, split = call->args[2].u.i;
    size_t n = call->args[0].len;
    int64_t *lengths = dp_alloc_n(call->ctx, n + 1, sizeof(*lengths));
    int rc = lengths != NULL ? wrap(call->ctx, &dim, call->args[1].len) : DP_ERESOURCE;

    if (rc < 0)
        return rc;
    int64_t left = call->args[1].u.ints[dim];
    for (size_t i = 0; i < n; i++) {
        lengths[i] = left < split ? left : split;
        left -= lengths[i];
    }
    return join(call, "aten::cat", lengths, dim, false);
}

/* grad::split_with_sizes_back(Tensor?[] grads, int[] sizes, int[] split_sizes, int dim) ->
 * Tensor */
static int split_with_sizes_back(dp_call *call)
{
    int64_t dim = call->args[3].u.i;
    int rc = wrap(call->ctx, &dim, call->args[1].len);

    if (rc == 0)
        rc = check_length(call->ctx, "split_sizes", call->args[2].len, call->args[0].len,
                          call->args[0].len);
    return rc < 0 ? rc : join(call, "aten::cat", call->args[2].u.ints, dim, false);
}

/* grad::unbind_back(Tensor?[] grads, int[] sizes, int dim) -> Tensor */
static int unbind_back(dp_call *call)
{
    int64_t dim = call->args[2].u.i;
    int rc = wrap(call->ctx, &dim, call->args[1].len);

    return rc < 0 ? rc : join(call, "aten::stack", NULL, dim, true);
}

/* -- one tensor -- */

/* grad::constant_pad_nd_back(Tensor grad, int[] pad) -> Tensor */
static int constant_pad_nd_back(dp_ctx *ctx, dp_tensor *grad, const int64_t *pad, size_t n,
                                dp_tensor **out)
{
    int64_t negated[2 * DP_DIM_MAX];
    int rc = check_length(ctx, "pad", n, 0, 2 * DP_DIM_MAX);

    for (size_t i = 0; i < n && rc == 0; i++)
        if (__builtin_sub_overflow(0, pad[i], &negated[i]))
            rc = dp_fail(ctx, DP_EVALUE, "pad: %lld cannot be negated", (long long)pad[i]);
    if (rc < 0)
        return rc;
    return CALL(ctx, "aten::constant_pad_nd", out, dp_tensor_value(grad), dp_ints(negated, n),
                dp_int(0));
}

/* grad::permute_back(Tensor self, int[] dims) -> Tensor */
static int permute_back(dp_ctx *ctx, dp_tensor *self, const int64_t *dims, size_t n,
                        dp_tensor **out)
{
    int64_t inverse[DP_DIM_MAX] = {0};
    int rc = check_length(ctx, "dims", n, 0, DP_DIM_MAX);

    for (size_t i = 0; i < n && rc == 0; i++) {
        int64_t dim = dims[i];
        rc = wrap(ctx, &dim, n);
        if (rc == 0)
            inverse[dim] = (int64_t)i;
    }
    if (rc < 0)
        return rc;
    return CALL(ctx, "aten::permute", out, dp_tensor_value(self), dp_ints(inverse, n));
}

/* grad::repeat_back(Tensor grad, int[] repeats, int[] sizes) -> Tensor */
static int repeat_back(dp_ctx *ctx, dp_tensor *grad, const int64_t *repeats, size_t n,
                       const int64_t *sizes, size_t ndim, dp_tensor **out)
{
    int64_t shape[2 * DP_DIM_MAX], summed[DP_DIM_MAX];
    size_t lead = n - ndim, at = 0;
    dp_tensor *copies = NULL;
    int rc = check_length(ctx, "repeats", n, ndim, DP_DIM_MAX);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < n; i++)
        if (repeats[i] == 0)
            return zeros(ctx, grad, sizes, ndim, out);
    for (size_t i = 0; i < n; i++) {
        summed[i] = (int64_t)at;
        shape[at++] = repeats[i];
        if (i >= lead)
            shape[at++] = sizes[i - lead];
    }
    if (n == 0) {
        *out = dp_tensor_ref(grad);
        return 0;
    }
    if (at > DP_DIM_MAX)
        return dp_fail(ctx, DP_ERUNTIME, "repeat: its gradient needs %zu dimensions, more than %d",
                       at, DP_DIM_MAX);
    rc = reshape(ctx, grad, shape, at, &copies);
    if (rc == 0)
        rc = CALL(ctx, "aten::sum.dim_IntList", out, dp_tensor_value(copies), dp_ints(summed, n),
                  dp_bool(false), {0});
    dp_tensor_unref(copies);
    return rc;
}

/* -- as_strided -- */

/* The geometry of a base or of its view, as arguments of as_strided. */
typedef struct strided {
    const int64_t *sizes, *strides;
    size_t ndim;
    int64_t offset;
} strided;

/* Check the sizes, strides [n_strides] and offset of `s`.  Set *n to the number of elements that
 * the storage must have, and *all to the number of elements of the tensor.  DP_EVALUE: a number is
 * negative or too large for int64, or there is not one stride per size. */
static int check_strided(dp_ctx *ctx, const strided *s, size_t n_strides, int64_t *n, int64_t *all)
{
    int64_t last = s->offset;
    int rc = check_length(ctx, "sizes", s->ndim, 0, DP_DIM_MAX);
    bool bad = s->offset < 0, empty = false;

    if (rc == 0)
        rc = check_length(ctx, "strides", n_strides, s->ndim, s->ndim);
    *all = 1;
    for (size_t i = 0; i < s->ndim && rc == 0; i++) {
        int64_t step;
        bad |= s->sizes[i] < 0 || s->strides[i] < 0;
        empty |= s->sizes[i] == 0;
        bad |= !bad && !empty &&
               (__builtin_mul_overflow(s->sizes[i] - 1, s->strides[i], &step) ||
                __builtin_add_overflow(last, step, &last) ||
                __builtin_mul_overflow(*all, s->sizes[i], all));
    }
    if (rc == 0 && (bad || last == INT64_MAX))
        rc = dp_fail(ctx, DP_EVALUE,
                     "sizes, strides and an offset must not be negative, nor reach past int64");
    *n = empty ? 0 : last + 1;
    *all = empty ? 0 : *all;
    return rc;
}

/* Set *out, int64 [all], to the index of each element of `s` in a storage of `n` elements, on the
 * device of `like`. */
static int indices(dp_ctx *ctx, dp_tensor *like, const strided *s, int64_t n, int64_t all,
                   dp_tensor **out)
{
    DP_VIEW(v, like);
    dp_tensor *range = NULL, *window = NULL;
    int rc =
        CALL(ctx, "aten::arange", &range, dp_int(n), dp_int(DP_INT64), {0}, dp_int(v.device), {0});

    if (rc == 0)
        rc = CALL(ctx, "aten::as_strided", &window, dp_tensor_value(range),
                  dp_ints(s->sizes, s->ndim), dp_ints(s->strides, s->ndim), dp_int(s->offset));
    if (rc == 0)
        rc = reshape(ctx, window, &all, 1, out);
    dp_tensor_unref(range);
    dp_tensor_unref(window);
    return rc;
}

/* Set *out [n] to zeros, to which `values` are added at the indices `where`. */
static int scattered(dp_ctx *ctx, dp_tensor *values, dp_tensor *where, int64_t n, dp_tensor **out)
{
    dp_tensor *empty = NULL;
    int rc = zeros(ctx, values, &n, 1, &empty);

    if (rc == 0)
        rc = CALL(ctx, "aten::index_add", out, dp_tensor_value(empty), dp_int(0),
                  dp_tensor_value(where), dp_tensor_value(values), dp_int(1));
    dp_tensor_unref(empty);
    return rc;
}

/* Divide the gradient of each storage element by the number of base elements that have its index
 * (at least 1), because base elements that share memory share the gradient.  The base is the input
 * of as_strided; `where` has the index of each base element in *storage [n].  *storage is replaced
 * by a new tensor. */
static int share(dp_ctx *ctx, dp_tensor *where, int64_t n, dp_tensor **storage)
{
    dp_tensor *ones = NULL, *counts = NULL, *least = NULL, *made = NULL;
    DP_VIEW(w, where);
    DP_VIEW(s, *storage);
    /* The counts get a real dtype, because clamp_min does not take complex numbers. */
    dp_dtype dtype = s.dtype == DP_COMPLEX64    ? DP_FLOAT32
                     : s.dtype == DP_COMPLEX128 ? DP_FLOAT64
                                                : s.dtype;
    int rc = CALL(ctx, "aten::new_ones", &ones, dp_tensor_value(*storage), dp_ints(w.sizes, 1),
                  dp_int(dtype), {0}, {0}, {0});

    if (rc == 0)
        rc = scattered(ctx, ones, where, n, &counts);
    if (rc == 0)
        rc = CALL(ctx, "aten::clamp_min", &least, dp_tensor_value(counts), dp_int(1));
    if (rc == 0)
        rc =
            CALL(ctx, "aten::div.Tensor", &made, dp_tensor_value(*storage), dp_tensor_value(least));
    dp_tensor_unref(ones);
    dp_tensor_unref(counts);
    dp_tensor_unref(least);
    if (rc < 0)
        return rc;
    dp_tensor_unref(*storage);
    *storage = made;
    return 0;
}

/* grad::as_strided_back(Tensor grad, int[] sizes, int[] strides, int offset, int[] size,
 * int[] stride, int? storage_offset) -> Tensor */
static int as_strided_back(dp_call *call)
{
    const dp_value *a = call->args;
    dp_ctx *ctx = call->ctx;
    dp_tensor *grad = a[0].u.t, *flat = NULL, *storage = NULL, *from = NULL, *to = NULL,
              *picked = NULL, *out = NULL;
    strided base = {a[1].u.ints, a[2].u.ints, a[1].len, a[3].u.i};
    strided view = {a[4].u.ints, a[5].u.ints, a[4].len,
                    a[6].tag == DP_TAG_INT ? a[6].u.i : a[3].u.i};
    int64_t n, n_base, n_view, all, all_base;
    int rc = check_strided(ctx, &base, a[2].len, &n_base, &all_base);

    if (rc == 0)
        rc = check_strided(ctx, &view, a[5].len, &n_view, &all);
    if (rc < 0)
        return rc;
    int64_t least = base.offset < view.offset ? base.offset : view.offset;
    base.offset -= least;
    view.offset -= least;
    n = n_base > n_view ? n_base : n_view;
    n = n > least ? n - least : 0;
    rc = reshape(ctx, grad, &all, 1, &flat);
    if (rc == 0)
        rc = indices(ctx, grad, &view, n, all, &from);
    if (rc == 0)
        rc = indices(ctx, grad, &base, n, all_base, &to);
    if (rc == 0)
        rc = scattered(ctx, flat, from, n, &storage);
    if (rc == 0)
        rc = share(ctx, to, n, &storage);
    if (rc == 0)
        rc = CALL(ctx, "aten::index_select", &picked, dp_tensor_value(storage), dp_int(0),
                  dp_tensor_value(to));
    if (rc == 0)
        rc = reshape(ctx, picked, base.sizes, base.ndim, &out);
    dp_tensor_unref(flat);
    dp_tensor_unref(storage);
    dp_tensor_unref(from);
    dp_tensor_unref(to);
    dp_tensor_unref(picked);
    if (rc == 0)
        call->rets[0] = dp_tensor_value(out);
    return rc;
}

DP_LIBRARY_FRAGMENT(
    grad, DP_DEF("cat_back(Tensor grad, int[][] sizes, int dim) -> Tensor[]"),
    DP_DEF("block_diag_back(Tensor grad, int[][] sizes) -> Tensor[]"),
    DP_DEF("constant_pad_nd_back(Tensor grad, int[] pad) -> Tensor"),
    DP_DEF("as_strided_back(Tensor grad, int[] sizes, int[] strides, int offset, int[] size, "
           "int[] stride, int? storage_offset) -> Tensor"),
    DP_DEF("permute_back(Tensor self, int[] dims) -> Tensor"),
    DP_DEF("split_back(Tensor?[] grads, int[] sizes, int split_size, int dim) -> Tensor"),
    DP_DEF("split_with_sizes_back(Tensor?[] grads, int[] sizes, int[] split_sizes, int dim) -> "
           "Tensor"),
    DP_DEF("unbind_back(Tensor?[] grads, int[] sizes, int dim) -> Tensor"),
    DP_DEF("repeat_back(Tensor grad, int[] repeats, int[] sizes) -> Tensor"))
DP_LIBRARY_META(grad, CompositeImplicitAutograd, DP_IMPL("cat_back", cat_back),
                DP_IMPL("block_diag_back", block_diag_back),
                DP_IMPL_UNBOXED("constant_pad_nd_back", constant_pad_nd_back, (T, li), (T)),
                DP_IMPL("as_strided_back", as_strided_back),
                DP_IMPL_UNBOXED("permute_back", permute_back, (T, li), (T)),
                DP_IMPL("split_back", split_back),
                DP_IMPL("split_with_sizes_back", split_with_sizes_back),
                DP_IMPL("unbind_back", unbind_back),
                DP_IMPL_UNBOXED("repeat_back", repeat_back, (T, li, li), (T)))
