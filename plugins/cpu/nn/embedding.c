/* embedding.c -- the gradient of an embedding, and embedding_renorm_, which scales rows so that no
 * row exceeds a norm (aten/src/ATen/native/Embedding.cpp).
 *
 * Operators: embedding_dense_backward, embedding_renorm. */
#include "core/elements.h"
#include <dispatchd/check.h>
#include <stdlib.h>

static int check_indices(dp_ctx *ctx, dp_tensor *indices, const char *function)
{
    const dp_dtype integers[] = {DP_INT64, DP_INT32};
    return dp_check_dtypes(ctx, function, &(dp_checked){indices, "indices", 2}, 2, integers);
}

/* -- backward -- */

/* Divide each row of `out`, a sum, by the number of times that the index has the row. */
static int scale_rows(dp_ctx *ctx, dp_tensor *out, dp_tensor *index)
{
    DP_VIEW(y, out);
    DP_VIEW(i, index);
    int64_t sizes[] = {y.sizes[0], 1}, one[] = {i.numel, 1}, dtype = DP_FLOAT64;
    dp_tensor *counts = NULL, *ones = NULL, *least = NULL;
    int rc = dp_invoke(ctx, "aten::new_zeros", "Tlioi>T", out, sizes, (size_t)2, &dtype, &counts);

    if (rc == 0)
        rc = dp_invoke(ctx, "aten::new_ones", "Tlioi>T", out, one, (size_t)2, &dtype, &ones);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::index_add_", "TiTT>", counts, (int64_t)0, index, ones);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::clamp_min", "Ts>T", counts, dp_int(1), &least);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::div_.Tensor", "TT>", out, least);
    dp_tensor_unref(counts);
    dp_tensor_unref(ones);
    dp_tensor_unref(least);
    return rc;
}

static int zero_row(dp_ctx *ctx, dp_tensor *out, int64_t row)
{
    dp_tensor *t;
    int rc = dp_invoke(ctx, "aten::select.int", "Tii>T", out, (int64_t)0, row, &t);

    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::zero_", "T>", t);
    dp_tensor_unref(t);
    return rc;
}

/* Replace *t, owned, by its rows at `places`. */
static int keep(dp_ctx *ctx, dp_tensor **t, dp_tensor *places)
{
    dp_tensor *was = *t;
    int rc = dp_invoke(ctx, "aten::index_select", "TiT>T", was, (int64_t)0, places, t);

    if (rc == 0)
        dp_tensor_unref(was);
    else
        *t = was;
    return rc;
}

/* Remove from *index [n] the indices that are not in [0, most), and the corresponding elements from
 * *rows. */
static int keep_rows(dp_ctx *ctx, int64_t most, dp_tensor **index, dp_tensor **rows)
{
    int64_t n = 0;
    dp_tensor *all, *places = NULL;
    DP_VIEW(i, *index);
    int rc = dp_empty(ctx, DP_INT64, i.device, 1, &i.numel, DP_CONTIGUOUS, &all);

    if (rc < 0)
        return rc;
    DP_VIEW(a, all);
    for (int64_t j = 0; !dp_memoryless(ctx) && j < i.numel; j++) {
        const char *at = (const char *)i.data + j * i.strides[0] * (int64_t)dp_dtype_size(i.dtype);
        int64_t row = i.dtype == DP_INT32 ? *(const int32_t *)at : *(const int64_t *)at;
        ((int64_t *)a.data)[n] = j;
        n += row >= 0 && row < most;
    }
    if (n < i.numel && !dp_memoryless(ctx)) {
        rc = dp_invoke(ctx, "aten::narrow", "Tiii>T", all, (int64_t)0, (int64_t)0, n, &places);
        if (rc == 0)
            rc = keep(ctx, index, places);
        if (rc == 0)
            rc = keep(ctx, rows, places);
        dp_tensor_unref(places);
    }
    dp_tensor_unref(all);
    return rc;
}

/* Add the rows of the gradient to `out`, whose elements are 0. */
static int add_rows(dp_ctx *ctx, dp_tensor *out, dp_tensor *grad, dp_tensor *indices, bool scale)
{
    DP_VIEW(y, out);
    DP_VIEW(i, indices);
    int64_t flat[] = {i.numel}, rows[] = {i.numel, y.sizes[1]};
    dp_tensor *index = NULL, *source = NULL;
    int rc = dp_invoke(ctx, "aten::reshape", "Tli>T", indices, flat, (size_t)1, &index);

    if (rc == 0)
        rc = dp_invoke(ctx, "aten::reshape", "Tli>T", grad, rows, (size_t)2, &source);
    if (rc == 0 && !scale)
        rc = keep_rows(ctx, y.sizes[0], &index, &source);
    if (rc == 0 && y.sizes[0] > 0)
        rc = dp_invoke(ctx, "aten::index_add_", "TiTT>", out, (int64_t)0, index, source);
    if (rc == 0 && scale && y.sizes[0] > 0)
        rc = scale_rows(ctx, out, index);
    dp_tensor_unref(index);
    dp_tensor_unref(source);
    return rc;
}

/* aten::embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights,
 *     int padding_idx, bool scale_grad_by_freq) -> Tensor
 * An index that is not a row is ignored; with scale_grad_by_freq it is an error (PyTorch writes out
 * of range). */
static int embedding_dense_backward(dp_ctx *ctx, dp_tensor *grad, dp_tensor *indices, int64_t n,
                                    int64_t padding, bool scale, dp_tensor **out)
{
    DP_VIEW(g, grad);
    int rc = check_indices(ctx, indices, "embedding_backward");

    if (rc == 0 && g.ndim == 0)
        rc = dp_fail(ctx, DP_EINDEX, "Dimension specified as -1 but tensor has no dimensions");
    if (rc < 0)
        return rc;
    int64_t sizes[] = {n, g.sizes[g.ndim - 1]};
    rc = dp_invoke(ctx, "aten::new_zeros", "Tli>T", grad, sizes, (size_t)2, out);
    if (rc < 0)
        return rc;
    rc = add_rows(ctx, *out, grad, indices, scale);
    if (rc == 0 && padding >= 0 && padding < n)
        rc = zero_row(ctx, *out, padding);
    if (rc < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* -- renorm -- */

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int renorm_row(dp_ctx *ctx, dp_tensor *self, int64_t row, double max_norm, double norm_type)
{
    dp_tensor *t, *norm = NULL;
    dp_value number;
    int rc = dp_invoke(ctx, "aten::select.int", "Tii>T", self, (int64_t)0, row, &t);

    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::norm.Scalar", "Ts>T", t, dp_double(norm_type), &norm);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::item", "T>s", norm, &number);
    if (rc == 0 && as_double(number) > max_norm)
        rc = dp_invoke(ctx, "aten::mul_.Scalar", "Ts>", t,
                       dp_double(max_norm / (as_double(number) + 1e-7)));
    dp_tensor_unref(norm);
    dp_tensor_unref(t);
    return rc;
}

/* Sort the indices into an array of the call. */
static int sort_indices(dp_ctx *ctx, dp_tensor *indices, int64_t **out)
{
    dp_tensor *packed;
    DP_VIEW(i, indices);
    int rc = dp_empty(ctx, DP_INT64, i.device, 1, &i.numel, DP_CONTIGUOUS, &packed);
    dp_tensor *flat = NULL;

    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::reshape", "Tli>T", indices, &i.numel, (size_t)1, &flat);
    if (rc == 0)
        rc = dp_copy(ctx, packed, flat);
    *out = rc == 0 ? dp_alloc_n(ctx, (size_t)i.numel, sizeof(int64_t)) : NULL;
    if (*out && i.numel > 0) {
        DP_VIEW(p, packed);
        dp_copy_n(*out, p.data, (size_t)i.numel, sizeof(int64_t));
        qsort(*out, (size_t)i.numel, sizeof(int64_t), by_value);
    }
    dp_tensor_unref(flat);
    dp_tensor_unref(packed);
    return rc < 0 ? rc : *out ? 0 : DP_ERESOURCE;
}

/* aten::embedding_renorm_(Tensor(a!) self, Tensor indices, float max_norm, float norm_type)
 *     -> Tensor(a!) */
static int embedding_renorm(dp_ctx *ctx, dp_tensor *self, dp_tensor *indices, double max_norm,
                            double norm_type)
{
    int64_t *sorted;
    DP_VIEW(x, self);
    DP_VIEW(i, indices);
    int rc = check_indices(ctx, indices, "embedding_renorm_");

    if (rc == 0)
        rc = dp_check_dim(ctx, "embedding_renorm_", &(dp_checked){self, "self", 1}, 2);
    if (rc == 0 && dp_memoryless(ctx))
        return 0;
    if (rc == 0)
        rc = sort_indices(ctx, indices, &sorted);
    for (int64_t k = 0; rc == 0 && k < i.numel; k++)
        if (sorted[k] < -x.sizes[0] || sorted[k] >= x.sizes[0])
            rc = dp_fail(ctx, DP_EINDEX,
                         "select(): index %" PRId64 " out of range for tensor of size [%" PRId64
                         ", %" PRId64 "] at dimension 0",
                         sorted[k], x.sizes[0], x.sizes[1]);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    for (int64_t k = 0; rc == 0 && k < i.numel; k++)
        if ((k == 0 || sorted[k] != sorted[k - 1]) && (rc = dp_checkpoint(ctx)) == 0)
            rc = renorm_row(ctx, self, sorted[k], max_norm, norm_type);
    /* the calls of mul_ report their writes themselves */
    return rc < 0 ? dp_refuse(ctx, rc, NULL) : rc;
}

DP_LIBRARY_META(aten, CPU,
                DP_IMPL_UNBOXED("embedding_dense_backward", embedding_dense_backward,
                                (T, T, i, i, b), (T)),
                DP_IMPL_UNBOXED("embedding_renorm_", embedding_renorm, (T, T, f, f), ()))
