/* select_backward.c -- gradients of views and of operators that select elements: a tensor of zeros,
 * in which the selected elements get the gradient (aten/src/ATen/native/TensorAdvancedIndexing.cpp,
 * TensorShape.cpp, ReduceOps.cpp).
 *
 * Operators: cummaxmin_backward, diag_backward, diagonal_backward, gather_backward,
 * index_select_backward, masked_select_backward, select_backward, slice_backward, trace_backward,
 * value_selecting_reduction_backward. */
#include "core/chain.h"

/* A gradient in preparation.  `zeros` is the result; end() copies the gradient to a view of it. */
typedef struct backward {
    chain c;
    dp_tensor *zeros;
} backward;

static backward begin(dp_ctx *ctx, dp_tensor *grad, const int64_t *sizes, size_t n)
{
    backward b = {.c = {.ctx = ctx}};

    b.zeros = CHAIN(&b.c, "aten::new_zeros", "Tli>T", grad, sizes, n);
    return b;
}

static int end(backward *b, dp_tensor *view, dp_tensor *grad, dp_tensor **out)
{
    if (b->c.rc == 0)
        b->c.rc = dp_invoke(b->c.ctx, "aten::copy_", "TT>", view, grad);
    return chain_end(&b->c, b->zeros, out);
}

/* aten::select_backward(Tensor grad_output, SymInt[] input_sizes, int dim, int index) -> Tensor */
static int select_backward(dp_ctx *ctx, dp_tensor *grad, const int64_t *sizes, size_t n,
                           int64_t dim, int64_t index, dp_tensor **out)
{
    backward b = begin(ctx, grad, sizes, n);
    return end(&b, CHAIN(&b.c, "aten::select.int", "Tii>T", b.zeros, dim, index), grad, out);
}

/* aten::slice_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt start, SymInt end,
 *     SymInt step) -> Tensor */
static int slice_backward(dp_ctx *ctx, dp_tensor *grad, const int64_t *sizes, size_t n, int64_t dim,
                          int64_t start, int64_t stop, int64_t step, dp_tensor **out)
{
    backward b = begin(ctx, grad, sizes, n);
    return end(&b,
               CHAIN(&b.c, "aten::slice.Tensor", "Tioioii>T", b.zeros, dim, &start, &stop, step),
               grad, out);
}

/* aten::diagonal_backward(Tensor grad_output, SymInt[] input_sizes, int offset, int dim1, int dim2)
 *     -> Tensor */
static int diagonal_backward(dp_ctx *ctx, dp_tensor *grad, const int64_t *sizes, size_t n,
                             int64_t offset, int64_t dim1, int64_t dim2, dp_tensor **out)
{
    backward b = begin(ctx, grad, sizes, n);
    return end(&b, CHAIN(&b.c, "aten::diagonal", "Tiii>T", b.zeros, offset, dim1, dim2), grad, out);
}

/* aten::index_select_backward(Tensor grad, SymInt[] self_sizes, int dim, Tensor index) -> Tensor */
static int index_select_backward(dp_ctx *ctx, dp_tensor *grad, const int64_t *sizes, size_t n,
                                 int64_t dim, dp_tensor *index, dp_tensor **out)
{
    backward b = begin(ctx, grad, sizes, n);
    dp_tensor *t = CHAIN(&b.c, "aten::index_add", "TiTT>T", b.zeros, dim, index, grad);
    return chain_end(&b.c, t, out);
}

/* aten::gather_backward(Tensor grad, Tensor self, int dim, Tensor index, bool sparse_grad) ->
 * Tensor */
static int gather_backward(dp_ctx *ctx, dp_tensor *grad, dp_tensor *self, int64_t dim,
                           dp_tensor *index, bool sparse, dp_tensor **out)
{
    DP_VIEW(x, self);

    if (sparse)
        return dp_fail(ctx, DP_ENOTIMPL,
                       "gather_backward with sparse_grad: there are no sparse tensors");
    backward b = begin(ctx, grad, x.sizes, (size_t)x.ndim);
    dp_tensor *t = CHAIN(&b.c, "aten::scatter_add", "TiTT>T", b.zeros, dim, index, grad);
    return chain_end(&b.c, t, out);
}

/* aten::masked_select_backward(Tensor grad, Tensor input, Tensor mask) -> Tensor
 * The result has the shape to which input and mask broadcast. */
static int masked_select_backward(dp_ctx *ctx, dp_tensor *grad, dp_tensor *input, dp_tensor *mask,
                                  dp_tensor **out)
{
    int64_t shape[DP_DIM_MAX];
    DP_VIEW(x, input);
    DP_VIEW(m, mask);
    int rc = dp_broadcast_shapes(ctx, x.ndim, x.sizes, m.ndim, m.sizes, shape);

    if (rc < 0)
        return rc;
    chain c = {.ctx = ctx};
    dp_tensor *wide = CHAIN(&c, "aten::expand", "Tli>T", input, shape,
                            (size_t)(x.ndim > m.ndim ? x.ndim : m.ndim));
    dp_tensor *zeros = CHAIN(&c, "aten::zeros_like", "T>T", wide);
    return chain_end(&c, CHAIN(&c, "aten::masked_scatter", "TTT>T", zeros, mask, grad), out);
}

/* aten::trace_backward(Tensor grad, SymInt[] sizes) -> Tensor */
static int trace_backward(dp_ctx *ctx, dp_tensor *grad, const int64_t *sizes, size_t n,
                          dp_tensor **out)
{
    if (n != 2)
        return dp_fail(ctx, DP_ERUNTIME, "expected matrix input");
    backward b = begin(ctx, grad, sizes, n);
    return end(&b, CHAIN(&b.c, "aten::diagonal", "T>T", b.zeros), grad, out);
}

/* aten::diag_backward(Tensor grad, SymInt[] input_sizes, int diagonal) -> Tensor */
static int diag_backward(dp_ctx *ctx, dp_tensor *grad, const int64_t *sizes, size_t n,
                         int64_t diagonal, dp_tensor **out)
{
    if (n == 1)
        return dp_invoke(ctx, "aten::diag", "Ti>T", grad, diagonal, out);
    return diagonal_backward(ctx, grad, sizes, n, diagonal, 0, 1, out);
}

/* aten::value_selecting_reduction_backward(Tensor grad, int dim, Tensor indices, SymInt[] sizes,
 *     bool keepdim) -> Tensor */
static int value_backward(dp_ctx *ctx, dp_tensor *grad, int64_t dim, dp_tensor *indices,
                          const int64_t *sizes, size_t n, bool keepdim, dp_tensor **out)
{
    backward b = begin(ctx, grad, sizes, n);

    if (!keepdim && n > 0) {
        grad = CHAIN(&b.c, "aten::unsqueeze", "Ti>T", grad, dim);
        indices = CHAIN(&b.c, "aten::unsqueeze", "Ti>T", indices, dim);
    }
    return chain_end(&b.c, CHAIN(&b.c, "aten::scatter.src", "TiTT>T", b.zeros, dim, indices, grad),
                     out);
}

/* aten::cummaxmin_backward(Tensor grad, Tensor input, Tensor indices, int dim) -> Tensor */
static int cummaxmin_backward(dp_ctx *ctx, dp_tensor *grad, dp_tensor *input, dp_tensor *indices,
                              int64_t dim, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    DP_VIEW(x, input);

    if (x.numel == 0) {
        *out = dp_tensor_ref(input);
        return 0;
    }
    dp_tensor *zeros = CHAIN(&c, "aten::new_zeros", "Tli>T", input, x.sizes, (size_t)x.ndim);
    return chain_end(&c, CHAIN(&c, "aten::scatter_add", "TiTT>T", zeros, dim, indices, grad), out);
}

DP_LIBRARY_META(aten, CompositeExplicitAutogradNonFunctional,
                DP_IMPL_UNBOXED("select_backward", select_backward, (T, li, i, i), (T)))
DP_LIBRARY_META(aten, CompositeExplicitAutograd,
                DP_IMPL_UNBOXED("slice_backward", slice_backward, (T, li, i, i, i, i), (T)),
                DP_IMPL_UNBOXED("diagonal_backward", diagonal_backward, (T, li, i, i, i), (T)))
DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("index_select_backward", index_select_backward, (T, li, i, T), (T)),
                DP_IMPL_UNBOXED("gather_backward", gather_backward, (T, T, i, T, b), (T)),
                DP_IMPL_UNBOXED("masked_select_backward", masked_select_backward, (T, T, T), (T)),
                DP_IMPL_UNBOXED("trace_backward", trace_backward, (T, li), (T)),
                DP_IMPL_UNBOXED("diag_backward", diag_backward, (T, li, i), (T)),
                DP_IMPL_UNBOXED("value_selecting_reduction_backward", value_backward,
                                (T, i, T, li, b), (T)),
                DP_IMPL_UNBOXED("cummaxmin_backward", cummaxmin_backward, (T, T, T, i), (T)))
