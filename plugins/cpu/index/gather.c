/* gather.c -- gather and index_select, which read elements at the positions given by an index
 * tensor (aten/src/ATen/native/TensorAdvancedIndexing.cpp). */
#include "gather_scatter.h"

/* Check the index of gather; an empty index is not checked. */
static int check_gather(dp_ctx *ctx, const dp_view *x, const dp_view *i, int64_t dim)
{
    char self[DP_SHAPE_TEXT], index[DP_SHAPE_TEXT];

    if (i->numel == 0)
        return 0;
    if (i->dtype != DP_INT64)
        return dp_fail(ctx, DP_ERUNTIME, "gather(): Expected dtype int64 for index, got %s",
                       dp_dtype_name(i->dtype));
    if ((x->ndim ? x->ndim : 1) != (i->ndim ? i->ndim : 1))
        return dp_fail(ctx, DP_ERUNTIME,
                       "Index tensor must have the same number of dimensions as input tensor");
    for (int d = 0; d < i->ndim; d++)
        if (d != dim && i->sizes[d] > (x->ndim ? x->sizes[d] : 1))
            return dp_fail(
                ctx, DP_ERUNTIME,
                "Size does not match at dimension %d expected index %s to be smaller than "
                "self %s apart from dimension %" PRId64,
                d, dp_shape_text(index, i->sizes, (size_t)i->ndim),
                dp_shape_text(self, x->sizes, (size_t)x->ndim), dim);
    return 0;
}

/* Run gather into *out; NULL: it is set to a new tensor. */
static int write_gather(dp_ctx *ctx, dp_tensor *self, int64_t dim, dp_tensor *index,
                        dp_tensor **out)
{
    gs_call a;
    DP_VIEW(x, self);
    DP_VIEW(i, index);
    bool given = *out != NULL;
    int rc = wrap_dim(ctx, &dim, x.ndim);

    if (rc == 0)
        rc = check_gather(ctx, &x, &i, dim);
    if (rc == 0)
        rc = dp_set_output(ctx, out, i.ndim, i.sizes, NULL, x.dtype, x.device);
    if (rc == 0 && given)
        rc = check_apart(ctx, *out, &self, 1);
    if (rc == 0 && given && dp_overlap(*out, index) == 2)
        rc = check_apart(ctx, *out, &index, 1);
    if (rc == 0 && i.numel > 0) {
        gs_init_each(&a, self, dim, index);
        rc = given ? gs_check(ctx, &a) : 0;
    }
    if (rc < 0)
        return dp_refuse(ctx, gs_end(rc, given, out), NULL);
    return i.numel > 0 ? gs_end(gs_gather(ctx, &a, *out), given, out) : 0;
}

/* aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor */
static int gather(dp_ctx *ctx, dp_tensor *self, int64_t dim, dp_tensor *index, bool sparse_grad,
                  dp_tensor **out)
{
    (void)sparse_grad;
    *out = NULL;
    return write_gather(ctx, self, dim, index, out);
}

/* aten::gather.out(Tensor self, int dim, Tensor index, *, bool sparse_grad=False, Tensor(a!) out)
 *     -> Tensor(a!) */
static int gather_out(dp_ctx *ctx, dp_tensor *self, int64_t dim, dp_tensor *index, bool sparse_grad,
                      dp_tensor *out)
{
    (void)sparse_grad;
    return write_gather(ctx, self, dim, index, &out);
}

/* -- index_select -- */

static int check_index_select(dp_ctx *ctx, const dp_view *self, const dp_view *index, int64_t dim)
{
    if (index->ndim > 1)
        return dp_fail(ctx, DP_EINDEX, "index_select(): Index is supposed to be a vector");
    if (index->dtype != DP_INT64 && index->dtype != DP_INT32)
        return dp_fail(ctx, DP_ERUNTIME,
                       "index_select(): Expected dtype int32 or int64 for index, got %s",
                       dp_dtype_name(index->dtype));
    if (self->ndim == 0 && index->numel == 0)
        return dp_fail(ctx, DP_ERUNTIME,
                       "index_select(): Index to scalar can have only 1 value, got 0 value(s)");
    if (self->ndim > 1 && self->sizes[dim] == 0 && index->numel > 0)
        return dp_fail(ctx, DP_ERUNTIME,
                       "index_select(): self indexing axis dim should be positive");
    return 0;
}

/* Copy the selected elements to `out`, which has the result's shape. */
static int select_into(dp_ctx *ctx, dp_tensor *self, int64_t dim, dp_tensor *index, dp_tensor *out)
{
    gs_call a;
    dp_tensor *indices;
    DP_VIEW(x, self);
    int rc = gs_indices(ctx, index, 0, false, &indices);

    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    gs_init_vector(&a, self, dim, indices);
    a.what = "index out of range in self: ";
    a.code = DP_EINDEX;
    rc = gs_check(ctx, &a);
    if (rc < 0)
        rc = dp_refuse(ctx, rc, NULL);
    else if (x.ndim == 0)
        rc = dp_copy(ctx, out, self);
    else
        rc = gs_gather(ctx, &a, out);
    dp_tensor_unref(indices);
    return rc;
}

/* Run index_select into *out; NULL: it is set to a new tensor. */
static int write_select(dp_ctx *ctx, dp_tensor *self, int64_t dim, dp_tensor *index,
                        dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX];
    bool given = *out != NULL;
    DP_VIEW(x, self);
    DP_VIEW(i, index);
    dp_tensor *ins[] = {self, index};
    int rc = wrap_dim(ctx, &dim, x.ndim);

    if (rc == 0)
        rc = check_index_select(ctx, &x, &i, dim);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    dp_copy_n(sizes, x.sizes, (size_t)x.ndim, sizeof(int64_t));
    if (x.ndim > 0)
        sizes[dim] = i.numel;
    if (given)
        rc = check_apart(ctx, *out, ins, 2);
    if (rc == 0)
        rc = dp_set_output(ctx, out, x.ndim, sizes, NULL, x.dtype, x.device);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    return gs_end(select_into(ctx, self, dim, index, *out), given, out);
}

/* aten::index_select(Tensor self, int dim, Tensor index) -> Tensor */
static int index_select(dp_ctx *ctx, dp_tensor *self, int64_t dim, dp_tensor *index,
                        dp_tensor **out)
{
    *out = NULL;
    return write_select(ctx, self, dim, index, out);
}

/* aten::index_select.out(Tensor self, int dim, Tensor index, *, Tensor(a!) out) -> Tensor(a!) */
static int index_select_out(dp_ctx *ctx, dp_tensor *self, int64_t dim, dp_tensor *index,
                            dp_tensor *out)
{
    return write_select(ctx, self, dim, index, &out);
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("gather", gather, (T, i, T, b), (T)),
                DP_IMPL_UNBOXED("gather.out", gather_out, (T, i, T, b, T), ()),
                DP_IMPL_UNBOXED("index_select", index_select, (T, i, T), (T)),
                DP_IMPL_UNBOXED("index_select.out", index_select_out, (T, i, T, T), ()))
