/* index.c -- indexing along a dimension by way of gather and the operators that write in place. */
#include "chain.h"
#include <dispatchd/check.h>
#include <string.h>

/* aten::index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor */
static int index_fill(dp_ctx *ctx, dp_tensor *self, int64_t dim, dp_tensor *index, dp_value value,
                      dp_tensor **out)
{
    int64_t preserve = DP_PRESERVE;
    int rc = dp_invoke(ctx, "aten::clone", "Toi>T", self, &preserve, out);

    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::index_fill_.int_Scalar", "TiTs>", *out, dim, index, value);
    if (rc < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* aten::index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor */
static int index_fill_tensor(dp_ctx *ctx, dp_tensor *self, int64_t dim, dp_tensor *index,
                             dp_tensor *value, dp_tensor **out)
{
    int64_t preserve = DP_PRESERVE;
    int rc = dp_invoke(ctx, "aten::clone", "Toi>T", self, &preserve, out);

    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::index_fill_.int_Tensor", "TiTT>", *out, dim, index, value);
    if (rc < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* -- take_along_dim -- */

/* t broadcast with `other` in all dimensions but dim.  *out owned. */
static int broadcast_except(dp_ctx *ctx, dp_tensor *t, dp_tensor *other, int64_t dim,
                            dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX], wide[DP_DIM_MAX];
    DP_VIEW(x, t);
    DP_VIEW(y, other);

    memcpy(sizes, y.sizes, (size_t)y.ndim * sizeof(int64_t));
    if (x.ndim > 0)
        sizes[dim] = x.sizes[dim];
    int rc = dp_broadcast_shapes(ctx, x.ndim, x.sizes, y.ndim, sizes, wide);
    if (rc < 0)
        return rc;
    return dp_invoke(ctx, "aten::expand", "Tli>T", t, wide, (size_t)x.ndim, out);
}

/* Of self and indices what gather takes, owned, and its dim.  Source: _take_along_dim_helper. */
static int prepare_take(dp_ctx *ctx, dp_tensor *self, dp_tensor *indices, const int64_t *given,
                        dp_tensor *ins[2], int64_t *dim)
{
    int64_t flat = -1;
    DP_VIEW(x, self);
    DP_VIEW(i, indices);

    *dim = given ? *given : 0;
    if (given == NULL) {
        int rc = dp_invoke(ctx, "aten::view", "Tli>T", self, &flat, (size_t)1, &ins[0]);
        return rc < 0 ? rc
                      : dp_invoke(ctx, "aten::view", "Tli>T", indices, &flat, (size_t)1, &ins[1]);
    }
    if (x.ndim != i.ndim)
        return dp_fail(ctx, DP_ERUNTIME,
                       "torch.take_along_dim(): input and indices should have the same number of "
                       "dimensions, but got %d dimensions for input, and %d dimensions for indices",
                       x.ndim, i.ndim);
    if (x.ndim == 0)
        return dp_fail(ctx, DP_EINDEX,
                       "Dimension specified as %" PRId64 " but tensor has no dimensions", *dim);
    int rc = wrap_dim(ctx, dim, x.ndim);
    if (rc == 0)
        rc = broadcast_except(ctx, self, indices, *dim, &ins[0]);
    return rc < 0 ? rc : broadcast_except(ctx, indices, self, *dim, &ins[1]);
}

/* aten::take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor */
static int take_along_dim(dp_ctx *ctx, dp_tensor *self, dp_tensor *indices, const int64_t *dim,
                          dp_tensor **out)
{
    int64_t at;
    dp_tensor *ins[2] = {0};
    int rc = prepare_take(ctx, self, indices, dim, ins, &at);

    if (rc == 0)
        rc = dp_invoke(ctx, "aten::gather", "TiT>T", ins[0], at, ins[1], out);
    dp_tensor_unref(ins[0]);
    dp_tensor_unref(ins[1]);
    return rc;
}

/* aten::take_along_dim.out(Tensor self, Tensor indices, int? dim=None, *, Tensor(a!) out)
 *     -> Tensor(a!) */
static int take_along_dim_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *indices, const int64_t *dim,
                              dp_tensor *out)
{
    int64_t at;
    dp_tensor *ins[2] = {0};
    int rc = prepare_take(ctx, self, indices, dim, ins, &at);

    rc = rc < 0 ? dp_refuse(ctx, rc, NULL)
                : dp_invoke(ctx, "aten::gather.out", "TiTbT>", ins[0], at, ins[1], 0, out);
    dp_tensor_unref(ins[0]);
    dp_tensor_unref(ins[1]);
    return rc;
}

/* -- one_hot -- */

static int number_of(dp_ctx *ctx, const char *op, dp_tensor *t, int64_t *out)
{
    dp_tensor *one;
    dp_value number;
    int rc = dp_invoke(ctx, op, "T>T", t, &one);

    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::item", "T>s", one, &number);
    dp_tensor_unref(one);
    *out = rc < 0 ? 0 : as_int(number);
    return rc;
}

/* How many classes: what was asked for, or as many as self's values need. */
static int count_classes(dp_ctx *ctx, dp_tensor *self, int64_t *classes)
{
    int64_t least, most;
    int rc = number_of(ctx, "aten::min", self, &least);

    if (rc == 0)
        rc = number_of(ctx, "aten::max", self, &most);
    if (rc < 0)
        return rc;
    if (least < 0)
        return dp_fail(ctx, DP_ERUNTIME, "Class values must be non-negative.");
    if (*classes != -1 && *classes <= most)
        return dp_fail(ctx, DP_ERUNTIME, "Class values must be smaller than num_classes.");
    if (*classes == -1 && __builtin_add_overflow(most, 1, classes))
        return dp_fail(ctx, DP_ERUNTIME, "class value %" PRId64 " is too large", most);
    return 0;
}

/* aten::one_hot(Tensor self, int num_classes=-1) -> Tensor */
static int one_hot(dp_ctx *ctx, dp_tensor *self, int64_t classes, dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX + 1];
    dp_tensor *made = NULL, *index = NULL;
    DP_VIEW(x, self);
    int rc = check_ndim(ctx, (size_t)x.ndim + 1);

    if (rc == 0 && x.dtype != DP_INT64)
        rc = dp_fail(ctx, DP_ERUNTIME, "one_hot is only applicable to index tensor.");
    if (rc == 0 && x.numel == 0 && classes <= 0)
        rc = dp_fail(ctx, DP_ERUNTIME, "Can not infer total number of classes from empty tensor.");
    if (rc == 0 && x.numel > 0)
        rc = count_classes(ctx, self, &classes);
    if (rc < 0)
        return rc;
    memcpy(sizes, x.sizes, (size_t)x.ndim * sizeof(int64_t));
    sizes[x.ndim] = classes;
    rc = dp_invoke(ctx, "aten::new_zeros", "Tli>T", self, sizes, (size_t)x.ndim + 1, &made);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::unsqueeze", "Ti>T", self, (int64_t)-1, &index);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::scatter_.value", "TiTs>", made, (int64_t)-1, index, dp_int(1));
    dp_tensor_unref(index);
    if (rc < 0)
        made = dp_tensor_unref(made);
    *out = made;
    return rc;
}

DP_LIBRARY_META(aten, CompositeExplicitAutograd,
                DP_IMPL_UNBOXED("index_fill.int_Scalar", index_fill, (T, i, T, s), (T)),
                DP_IMPL_UNBOXED("index_fill.int_Tensor", index_fill_tensor, (T, i, T, T), (T)))
DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("take_along_dim", take_along_dim, (T, T, oi), (T)),
                DP_IMPL_UNBOXED("take_along_dim.out", take_along_dim_out, (T, T, oi, T), ()))
DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL_UNBOXED("one_hot", one_hot, (T, i), (T)))

/* aten::_rowwise_prune(Tensor weight, Tensor mask, ScalarType compressed_indices_dtype) -> (Tensor, Tensor)
 * The rows that are kept, and for each row where it is among them, -1 for others. */
static int rowwise_prune(dp_ctx *ctx, dp_tensor *weight, dp_tensor *mask, int64_t dtype,
                         dp_tensor **rows, dp_tensor **places)
{
    chain c = {.ctx = ctx};
    DP_VIEW(w, weight);
    DP_VIEW(m, mask);

    if (w.ndim != 2)
        return dp_fail(ctx, DP_ERUNTIME, "'weights' should have 2 dimensions.");
    if (m.numel != w.sizes[0])
        return dp_fail(ctx, DP_ERUNTIME,
                       "Number of elements in 'mask' should be equivalent to the number of rows in "
                       "'weights'.");
    if (dtype != DP_INT32 && dtype != DP_INT64)
        return dp_fail(ctx, DP_ERUNTIME,
                       "compressed_indices_dtype should be either int(int32) or long(int64).");
    if (w.dtype == DP_BOOL || dp_dtype_is_complex(w.dtype))
        return dp_refuse_dtype(ctx, "rowwise_prune_helper", w.dtype);
    if (m.dtype != DP_BOOL || m.ndim != 1)
        return dp_fail(ctx, DP_ERUNTIME,
                       "expected a mask of 1 dimension and scalar type Bool but found %d and %s",
                       m.ndim, dp_dtype_aten_name(m.dtype));
    dp_tensor *kept = CHAIN(&c, "aten::nonzero", "T>T", mask);
    kept = CHAIN(&c, "aten::squeeze.dim", "Ti>T", kept, (int64_t)1);
    dp_tensor *found = CHAIN(&c, "aten::index_select", "TiT>T", weight, (int64_t)0, kept);
    dp_tensor *at = CHAIN(&c, "aten::cumsum", "Ti>T", mask, (int64_t)0);
    at = chain_Ts(&c, "aten::sub.Scalar", at, dp_int(1));
    at = CHAIN(&c, "aten::masked_fill.Scalar", "TTs>T", at, chain_T(&c, "aten::logical_not", mask),
               dp_int(-1));
    at = CHAIN(&c, "aten::to.dtype", "Ti>T", at, dtype);
    if (c.rc == 0)
        *places = dp_tensor_ref(at);
    return chain_end(&c, found, rows);
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("_rowwise_prune", rowwise_prune, (T, T, i), (T, T)))
