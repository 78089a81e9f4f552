/* index_dim.c -- index_add, index_copy, index_fill and index_reduce, which write slices of a tensor
 * along a dimension; a vector of indices selects the slices
 * (aten/src/ATen/native/TensorAdvancedIndexing.cpp). */
#include "gather_scatter.h"
#include "core/dense.h"

/* Arguments of a call: slice k of source is written to slice index[k] of self. */
typedef struct slices {
    const char *name; /* operator's name in error messages */
    dp_tensor *self, *index, *source;
    int64_t dim;
    gs_op op;
    dp_tensor *alpha; /* 0-dim, for GS_ADD_SCALED */
    const dp_value
        /* value to which indexed elements of self are set first, if they do not count; else NULL */
        *empty;
} slices;

/* -- checks -- */

static int check_index(dp_ctx *ctx, const slices *s, const dp_view *i)
{
    if (i->ndim > 1)
        return dp_fail(ctx, DP_EINDEX,
                       "%s(): Index is supposed to be a vector, but got dim: %d with type: %s and "
                       "size: %" PRId64,
                       s->name, i->ndim, dp_dtype_name(i->dtype), i->numel);
    if (i->dtype != DP_INT64 && i->dtype != DP_INT32)
        return dp_fail(ctx, DP_ERUNTIME, "%s(): Expected dtype int32/int64 for index but got: %s",
                       s->name, dp_dtype_name(i->dtype));
    return 0;
}

/* Check the arguments of index_add and index_reduce. */
static int check_slices(dp_ctx *ctx, slices *s)
{
    DP_VIEW(x, s->self);
    DP_VIEW(i, s->index);
    DP_VIEW(y, s->source);
    int rc = wrap_dim(ctx, &s->dim, x.ndim);

    if (rc == 0)
        rc = check_index(ctx, s, &i);
    if (rc < 0)
        return rc;
    if (x.dtype != y.dtype)
        return dp_fail(
            ctx, DP_ERUNTIME,
            "%s(): self and source expected to have the same dtype, but got (self) %s and "
            "(source) %s",
            s->name, dp_dtype_name(x.dtype), dp_dtype_name(y.dtype));
    if (s->dim > 0 && s->dim >= y.ndim)
        return dp_fail(ctx, DP_ERUNTIME,
                       "%s(): Indexing dim %" PRId64
                       " is out of bounds of the source tensor with dim %d",
                       s->name, s->dim, y.ndim);
    if (y.ndim == 0 && i.numel != 1)
        return dp_fail(ctx, DP_EINDEX,
                       "Dimension specified as %" PRId64 " but tensor has no dimensions", s->dim);
    int64_t n = y.ndim ? y.sizes[s->dim] : 1;
    if (i.numel != n)
        return dp_fail(ctx, DP_ERUNTIME,
                       "%s(): Number of indices (%" PRId64
                       ") should be equal to source.size(dim): (%" PRId64 "), for dim: %" PRId64,
                       s->name, i.numel, n, s->dim);
    if (x.ndim <= 1 && y.ndim > 1)
        return dp_fail(ctx, DP_ERUNTIME,
                       "source.dim() (%d) must one or zero for given self.dim() (%d)", y.ndim,
                       x.ndim);
    return 0;
}

/* Check arguments as PyTorch's loop over slices does, after it has made a copy of self.  `out` may
 * be NULL; an `out` with other sizes than self is resized, so it is not checked for overlap. */
static int check_picks(dp_ctx *ctx, const slices *s, dp_tensor *out)
{
    dp_tensor *others[] = {s->index, s->source};
    DP_VIEW(x, s->self);
    DP_VIEW(i, s->index);
    DP_VIEW(y, s->source);

    if (out != NULL) {
        DP_VIEW(to, out);
        int rc = to.ndim == x.ndim && (x.ndim == 0 || memcmp(to.sizes, x.sizes,
                                                             (size_t)x.ndim * sizeof(int64_t)) == 0)
                     ? check_apart(ctx, out, others, 2)
                     : 0;
        if (rc < 0)
            return rc;
    }
    if (x.ndim > 1 && y.ndim == 0 && i.numel > 0)
        return dp_fail(ctx, DP_EINDEX, "select() cannot be applied to a 0-dim tensor.");
    if (x.ndim > 1 && x.sizes[s->dim] == 0 && i.numel > 0)
        return dp_fail(ctx, DP_EINDEX, "%s(): self has no slices in dimension %" PRId64, s->name,
                       s->dim);
    return 0;
}

/* Set *out, owned, to a view of the source with a->shape: its slices broadcast to the slices of
 * self. */
static int spread_source(dp_ctx *ctx, const gs_call *a, const slices *s, dp_tensor **out)
{
    int64_t strides[DP_DIM_MAX] = {0};
    DP_VIEW(y, s->source);
    int from = y.ndim - 1;
    bool fits = true;

    for (int d = a->ndim - 1; d >= 0; d--) {
        if (d == a->dim) {
            strides[d] = y.ndim ? y.strides[s->dim] : 0;
            continue;
        }
        from -= from == s->dim;
        if (from >= 0 && y.sizes[from] != 1)
            strides[d] = y.strides[from];
        fits &= from < 0 || y.sizes[from] == 1 || y.sizes[from] == a->shape[d];
        from--;
    }
    from -= from >= 0 && from == s->dim;
    if (a->shape[a->dim] > 0 && (!fits || from >= 0))
        return dp_fail(ctx, DP_ERUNTIME,
                       "%s(): slices of source do not broadcast to slices of self in dimension %d",
                       s->name, a->dim);
    return dp_as_strided(ctx, s->source, a->ndim, a->shape, strides, dp_tensor_offset(s->source),
                         out);
}

/* -- writing -- */

static int put_first(dp_ctx *ctx, gs_call *a, dp_value value)
{
    dp_tensor *t;
    DP_VIEW(x, a->self);
    int rc = dp_scalar_tensor(ctx, value, x.dtype, &t);

    if (rc < 0)
        return rc;
    rc = gs_scatter(ctx, a, GS_SET, t, NULL);
    dp_tensor_unref(t);
    return rc;
}

/* Write `source`, which was checked and has a->shape, to *out. */
static int put_slices(dp_ctx *ctx, gs_call *a, const slices *s, dp_tensor *source, dp_tensor **out)
{
    bool given = *out != NULL;
    dp_tensor *others[] = {s->index, s->source};
    int rc = gs_start(ctx, a, others, 2, out);

    if (rc < 0)
        return rc;
    if (!a->checked)
        rc = gs_check(ctx, a);
    if (rc == 0 && s->empty)
        rc = put_first(ctx, a, *s->empty);
    if (rc == 0)
        rc = gs_scatter(ctx, a, s->op, source, s->alpha);
    return gs_end(rc, given, out);
}

/* Run the operator into *out; NULL: it is set to a new tensor. */
static int write_slices(dp_ctx *ctx, slices *s, dp_tensor **out)
{
    gs_call a;
    dp_tensor *indices = NULL, *source = NULL;
    int rc = check_slices(ctx, s);

    if (rc == 0)
        rc = check_picks(ctx, s, *out);
    if (rc == 0)
        rc = gs_indices(ctx, s->index, 0, false, &indices);
    if (rc == 0) {
        gs_init_vector(&a, s->self, s->dim, indices);
        a.code = DP_EINDEX;
        a.what = "index out of range in self: ";
        rc = spread_source(ctx, &a, s, &source);
    }
    rc = rc < 0 ? dp_refuse(ctx, rc, NULL) : put_slices(ctx, &a, s, source, out);
    dp_tensor_unref(indices);
    dp_tensor_unref(source);
    return rc;
}

/* -- index_add -- */

static bool is_one(dp_value v)
{
    return v.tag != DP_TAG_COMPLEX && as_double(v) == 1;
}

/* aten::index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) ->
 * Tensor */
static int write_add(dp_ctx *ctx, dp_tensor *self, int64_t dim, dp_tensor *index, dp_tensor *source,
                     dp_value alpha, dp_tensor **out)
{
    DP_VIEW(x, self);
    slices s = {"index_add_", self, index, source, dim, GS_ADD, NULL, NULL};
    int rc = check_fits(ctx, alpha, x.dtype);

    if (rc == 0 && !is_one(alpha)) {
        s.op = GS_ADD_SCALED;
        rc = dp_scalar_tensor(ctx, alpha, x.dtype, &s.alpha);
    }
    rc = rc < 0 ? dp_refuse(ctx, rc, NULL) : write_slices(ctx, &s, out);
    dp_tensor_unref(s.alpha);
    return rc;
}

/* -- index_reduce -- */

/* Refuse dtypes for which PyTorch has no loop. */
static int check_reduce_type(dp_ctx *ctx, const dp_view *x, const slices *s, bool mean)
{
    bool numbers = dp_dtype_is_complex(x->dtype), order = s->op == GS_MAX || s->op == GS_MIN;
    const char *what = NULL;

    if (s->empty && (numbers || x->dtype == DP_BOOL))
        what = "index_reduce_func_exclude_input_init";
    else if (x->ndim <= 1 && (numbers || x->dtype == DP_BOOL))
        what = "index_func_";
    else if (order && numbers)
        what = s->op == GS_MAX ? "maximum_cpu" : "minimum_cpu";
    else if (mean && x->dtype == DP_BOOL)
        what = "div_floor_cpu";
    if (what == NULL)
        return 0;
    return dp_fail(ctx, DP_ERUNTIME, "\"%s\" not implemented for '%s'", what,
                   dense_type_name(x->dtype));
}

/* aten::index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *,
 *     bool include_self=True) -> Tensor */
static int write_reduce(dp_ctx *ctx, dp_tensor *self, int64_t dim, dp_tensor *index,
                        dp_tensor *source, dp_str reduce, bool include_self, dp_tensor **out)
{
    gs_reduce r;
    bool given = *out != NULL;
    DP_VIEW(x, self);
    slices s = {"index_reduce_", self, index, source, dim, GS_SET, NULL, NULL};

    if (!gs_find_reduce(reduce, x.dtype, &r) || gs_is(reduce, "sum"))
        return dp_refuse(
            ctx, DP_ERUNTIME,
            "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but "
            "got %.*s.",
            (int)reduce.len, reduce.s);
    s.op = r.op;
    s.empty = include_self ? NULL : &r.empty;
    int rc = check_reduce_type(ctx, &x, &s, r.mean);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    rc = write_slices(ctx, &s, out);
    if (rc < 0 || !r.mean)
        return rc;
    rc = gs_mean(ctx, "aten::index_add_", *out, s.dim, s.index, s.source, s.empty);
    return gs_end(rc, given, out);
}

/* -- index_copy -- */

static bool same_slices(const dp_view *x, const dp_view *y, int64_t dim)
{
    int n = x->ndim ? x->ndim - 1 : 0;

    if (n != (y->ndim ? y->ndim - 1 : 0))
        return false;
    for (int d = 0; d < n; d++)
        if (x->sizes[d + (d >= dim)] != y->sizes[d + (d >= dim)])
            return false;
    return true;
}

static int check_copy(dp_ctx *ctx, slices *s)
{
    DP_VIEW(x, s->self);
    DP_VIEW(i, s->index);
    DP_VIEW(y, s->source);
    int rc = wrap_dim(ctx, &s->dim, x.ndim);

    if (rc < 0)
        return rc;
    if (i.ndim > 1)
        return dp_fail(ctx, DP_EINDEX, "index_copy_(): Index should have dimension 1 or 0 (got %d)",
                       i.ndim);
    if (y.ndim == 0 && i.numel != 1)
        return dp_fail(ctx, DP_EINDEX,
                       "index_copy_(): When source is scalar, index should have one element (got "
                       "%" PRId64 ")",
                       i.numel);
    if (y.ndim != x.ndim && y.ndim != 0 && x.ndim != 0)
        return dp_fail(ctx, DP_EINDEX,
                       "index_copy_(): When source and destination are not scalars, their "
                       "dimensionality must match. Source dimensionality (%d), destination "
                       "dimensionality (%d)",
                       y.ndim, x.ndim);
    if (i.dtype != DP_INT64)
        return dp_fail(ctx, DP_ERUNTIME,
                       "index_copy_(): Expected a long tensor for index, but got %s",
                       dp_dtype_name(i.dtype));
    if (x.dtype != y.dtype)
        return dp_fail(ctx, DP_ERUNTIME,
                       "index_copy_(): self and source expected to have the same dtype, but got "
                       "(self) %s and (source) %s",
                       dp_dtype_name(x.dtype), dp_dtype_name(y.dtype));
    if (!same_slices(&x, &y, s->dim))
        return dp_fail(ctx, DP_ERUNTIME,
                       "index_copy_(): Source/destination tensor must have same slice shapes at "
                       "dimension %" PRId64,
                       s->dim);
    if (y.ndim > 0 && i.numel != y.sizes[s->dim])
        return dp_fail(ctx, DP_EINDEX,
                       "index_copy_(): Number of indices (%" PRId64
                       ") should be equal to source.size(dim) (%" PRId64 ")",
                       i.numel, y.sizes[s->dim]);
    return 0;
}

/* aten::index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor */
static int write_copy(dp_ctx *ctx, dp_tensor *self, int64_t dim, dp_tensor *index,
                      dp_tensor *source, dp_tensor **out)
{
    gs_call a;
    DP_VIEW(y, source);
    slices s = {"index_copy_", self, index, source, dim, GS_SET, NULL, NULL};
    int rc = check_copy(ctx, &s);

    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    gs_init_vector(&a, self, s.dim, index);
    a.checked = y.numel == 0;
    a.code = DP_EINDEX;
    a.what = "index_copy_(): ";
    return put_slices(ctx, &a, &s, source, out);
}

/* -- index_fill -- */

static int check_fill(dp_ctx *ctx, dp_tensor *self, int64_t *dim, dp_tensor *index, dp_value value)
{
    DP_VIEW(x, self);
    DP_VIEW(i, index);
    int rc = 0, overlap = dp_overlap(self, index);

    if (i.dtype != DP_INT64)
        return dp_fail(ctx, DP_EINDEX, "index_fill_(): Expected dtype int64 for index.");
    if (overlap == 1 || overlap == 2)
        return check_apart(ctx, self, &index, 1);
    if (value.tag == DP_TAG_COMPLEX && !dp_dtype_is_complex(x.dtype))
        return dp_fail(
            ctx, DP_ERUNTIME,
            "index_fill_(): Converting complex Scalar to non-complex type is not supported");
    if (dp_internal_overlap(self) == 1)
        dp_warn(ctx, "Use of index_fill_ on expanded tensors is deprecated. Please clone() the "
                     "tensor before performing this operation.");
    rc = wrap_dim(ctx, dim, x.ndim);
    if (rc == 0 && i.ndim > 1)
        rc = dp_fail(ctx, DP_ERUNTIME, "Index has to be a vector/scalar");
    return rc < 0 ? rc : check_fits(ctx, value, x.dtype);
}

/* aten::index_fill_.int_Scalar(Tensor(a!) self, int dim, Tensor index, Scalar value) ->
 * Tensor(a!) */
static int index_fill(dp_ctx *ctx, dp_tensor *self, int64_t dim, dp_tensor *index, dp_value value)
{
    gs_call a;
    dp_tensor *indices = NULL;
    DP_VIEW(x, self);
    int rc = check_fill(ctx, self, &dim, index, value);

    if (rc == 0)
        rc = gs_indices(ctx, index, x.ndim ? x.sizes[dim] : 1, true, &indices);
    if (rc == 0) {
        gs_init_vector(&a, self, dim, indices);
        a.code = DP_EINDEX;
        rc = x.numel > 0 ? gs_check(ctx, &a) : 0;
    }
    rc = rc < 0 ? dp_refuse(ctx, rc, NULL) : put_first(ctx, &a, value);
    dp_tensor_unref(indices);
    return rc;
}

/* aten::index_fill_.int_Tensor(Tensor(a!) self, int dim, Tensor index, Tensor value) ->
 * Tensor(a!) */
static int index_fill_tensor(dp_ctx *ctx, dp_tensor *self, int64_t dim, dp_tensor *index,
                             dp_tensor *value)
{
    dp_value number;
    DP_VIEW(v, value);

    if (v.ndim != 0)
        return dp_refuse(
            ctx, DP_ERUNTIME,
            "index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            "%d dimension(s).",
            v.ndim);
    int rc = dp_invoke(ctx, "aten::_local_scalar_dense", "T>s", value, &number);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    return dp_invoke(ctx, "aten::index_fill_.int_Scalar", "TiTs>", self, dim, index, number);
}

GS_VARIANTS(add, (int64_t dim, dp_tensor *index, dp_tensor *source, dp_value alpha),
            (dim, index, source, alpha))
GS_VARIANTS(copy, (int64_t dim, dp_tensor *index, dp_tensor *source), (dim, index, source))
GS_VARIANTS(reduce,
            (int64_t dim, dp_tensor *index, dp_tensor *source, dp_str reduce, bool include_self),
            (dim, index, source, reduce, include_self))

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("index_add", add_new, (T, i, T, T, s), (T)),
                DP_IMPL_UNBOXED("index_add_", add_in, (T, i, T, T, s), ()),
                DP_IMPL_UNBOXED("index_add.out", add_out, (T, i, T, T, s, T), ()),
                DP_IMPL_UNBOXED("index_copy", copy_new, (T, i, T, T), (T)),
                DP_IMPL_UNBOXED("index_copy_", copy_in, (T, i, T, T), ()),
                DP_IMPL_UNBOXED("index_copy.out", copy_out, (T, i, T, T, T), ()),
                DP_IMPL_UNBOXED("index_reduce", reduce_new, (T, i, T, T, S, b), (T)),
                DP_IMPL_UNBOXED("index_reduce_", reduce_in, (T, i, T, T, S, b), ()),
                DP_IMPL_UNBOXED("index_reduce.out", reduce_out, (T, i, T, T, S, b, T), ()),
                DP_IMPL_UNBOXED("index_fill_.int_Scalar", index_fill, (T, i, T, s), ()),
                DP_IMPL_UNBOXED("index_fill_.int_Tensor", index_fill_tensor, (T, i, T, T), ()))
