/* embedding.c -- embeddings and bags of embeddings, which call the operators of backends
 * (aten/src/ATen/native/Embedding.cpp, EmbeddingBag.cpp).
 *
 * Operators: embedding, embedding_backward, embedding_bag, _embedding_bag_backward. */
#include "core/chain.h"
#include <dispatchd/check.h>

#define BAG_ARGS                                                                                   \
    dp_tensor *weight, dp_tensor *indices, dp_tensor *offsets, bool scale, int64_t mode,           \
        bool sparse, dp_tensor *factors, bool last
#define BAG_OUTS dp_tensor **out, dp_tensor **bag_of, dp_tensor **counts, dp_tensor **max_at

static int no_sparse(dp_ctx *ctx, const char *op)
{
    return dp_fail(ctx, DP_ENOTIMPL, "%s with sparse=True needs sparse tensors", op);
}

/* aten::embedding_backward(Tensor grad, Tensor indices, SymInt num_weights, int padding_idx,
 *     bool scale_grad_by_freq, bool sparse) -> Tensor */
static int embedding_backward(dp_ctx *ctx, dp_tensor *grad, dp_tensor *indices, int64_t n,
                              int64_t padding, bool scale, bool sparse, dp_tensor **out)
{
    if (sparse)
        return no_sparse(ctx, "embedding_backward");
    return dp_invoke(ctx, "aten::embedding_dense_backward", "TTiib>T", grad, indices, n, padding,
                     (int)scale, out);
}

/* aten::embedding_bag.padding_idx */
static int embedding_bag_padding(dp_ctx *ctx, BAG_ARGS, const int64_t *padding, BAG_OUTS)
{
    int64_t row = padding ? *padding : -1;
    DP_VIEW(w, weight);

    if (padding != NULL && w.ndim == 0)
        return dp_fail(ctx, DP_EINDEX, "Dimension specified as 0 but tensor has no dimensions");
    if (padding != NULL && (row < -w.sizes[0] || row >= w.sizes[0]))
        return dp_fail(ctx, DP_ERUNTIME,
                       "padding_idx must be within the number of embeddings, -%" PRId64
                       " through %" PRId64 ", but got %" PRId64,
                       w.sizes[0], w.sizes[0] - 1, row);
    if (padding != NULL && row < 0)
        row += w.sizes[0];
    return dp_invoke(ctx,
                     dp_tensor_may_grad(weight) ? "aten::_embedding_bag"
                                                : "aten::_embedding_bag_forward_only",
                     "TTTbiboTbi>TTTT", weight, indices, offsets, (int)scale, mode, (int)sparse,
                     factors, (int)last, row, out, bag_of, counts, max_at);
}

/* aten::embedding_bag */
static int embedding_bag(dp_ctx *ctx, BAG_ARGS, BAG_OUTS)
{
    return embedding_bag_padding(ctx, weight, indices, offsets, scale, mode, sparse, factors, last,
                                 NULL, out, bag_of, counts, max_at);
}

/* Return the bag of each of `n` indices: the number of offsets up to the index, minus 1. */
static dp_tensor *bags_of(chain *c, dp_tensor *offsets, int64_t n)
{
    int64_t wide = n + 1;
    dp_tensor *t = CHAIN(c, "aten::new_zeros", "Tli>T", offsets, &wide, (size_t)1);
    dp_tensor *ones = CHAIN(c, "aten::ones_like", "T>T", offsets);
    t = CHAIN(c, "aten::index_add", "TiTT>T", t, (int64_t)0, offsets, ones);
    t = CHAIN(c, "aten::cumsum", "Ti>T", t, (int64_t)0);
    t = CHAIN(c, "aten::narrow", "Tiii>T", t, (int64_t)0, (int64_t)0, n);
    return chain_Ts(c, "aten::sub.Scalar", t, dp_int(1));
}

/* aten::_embedding_bag_backward(Tensor grad, Tensor indices, Tensor offsets, Tensor offset2bag,
 *     Tensor bag_size, Tensor maximum_indices, int num_weights, bool scale_grad_by_freq, int mode,
 *     bool sparse, Tensor? per_sample_weights, int padding_idx=-1) -> Tensor */
static int embedding_bag_backward(dp_ctx *ctx, dp_tensor *grad, dp_tensor *indices,
                                  dp_tensor *offsets, dp_tensor *bag_of, dp_tensor *counts,
                                  dp_tensor *max_at, int64_t n, bool scale, int64_t mode,
                                  bool sparse, dp_tensor *factors, int64_t padding, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    DP_VIEW(i, indices);
    DP_VIEW(b, bag_of);

    if (sparse)
        return no_sparse(ctx, "_embedding_bag_backward");
    if (i.numel != 0 && b.numel == 0)
        bag_of = bags_of(&c, offsets, i.numel);
    return chain_end(&c,
                     CHAIN(&c, "aten::_embedding_bag_dense_backward", "TTTTTibioTi>T", grad,
                           indices, bag_of, counts, max_at, n, (int)scale, mode, factors, padding),
                     out);
}

/* -- embedding -- */

/* aten::embedding(Tensor weight, Tensor indices, int padding_idx=-1,
 *     bool scale_grad_by_freq=False, bool sparse=False) -> Tensor */
static int embedding(dp_ctx *ctx, dp_tensor *weight, dp_tensor *indices, int64_t padding,
                     bool scale_by_freq, bool sparse, dp_tensor **out)
{
    const dp_dtype integers[] = {DP_INT64, DP_INT32};
    int64_t sizes[DP_DIM_MAX + 1], flat = -1;
    dp_tensor *index, *rows;
    DP_VIEW(w, weight);
    DP_VIEW(i, indices);

    /* these arguments concern only the gradient */
    (void)padding, (void)scale_by_freq, (void)sparse;
    if (w.ndim != 2)
        return dp_fail(ctx, DP_ERUNTIME, "'weight' must be 2-D");
    int rc = dp_check_dtypes(ctx, "embedding", &(dp_checked){indices, "indices", 1}, 2, integers);
    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::reshape", "Tli>T", indices, &flat, (size_t)1, &index);
    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::index_select", "TiT>T", weight, (int64_t)0, index, &rows);
    dp_tensor_unref(index);
    if (rc < 0)
        return rc;
    dp_copy_n(sizes, i.sizes, (size_t)i.ndim, sizeof(int64_t));
    sizes[i.ndim] = w.sizes[1];
    rc = dp_invoke(ctx, "aten::view", "Tli>T", rows, sizes, (size_t)i.ndim + 1, out);
    dp_tensor_unref(rows);
    return rc;
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("embedding_backward", embedding_backward, (T, T, i, i, b, b), (T)),
                DP_IMPL_UNBOXED("embedding_bag", embedding_bag, (T, T, T, b, i, b, oT, b),
                                (T, T, T, T)),
                DP_IMPL_UNBOXED("embedding_bag.padding_idx", embedding_bag_padding,
                                (T, T, T, b, i, b, oT, b, oi), (T, T, T, T)),
                DP_IMPL_UNBOXED("_embedding_bag_backward", embedding_bag_backward,
                                (T, T, T, T, T, T, i, b, i, b, oT, i), (T)))
DP_LIBRARY_META(aten, CompositeExplicitAutograd,
                DP_IMPL_UNBOXED("embedding", embedding, (T, T, i, b, b), (T)))
