/* scatter.c -- scatter, scatter_add and scatter_reduce, which write or reduce elements at the
 * positions given by an index tensor (aten/src/ATen/native/TensorAdvancedIndexing.cpp). */
#include "gather_scatter.h"
#include "core/dense.h"

/* -- checks -- */

static bool smaller(const dp_view *index, const dp_view *t, int64_t except)
{
    for (int d = 0; d < index->ndim; d++)
        if (d != except && index->sizes[d] > (t->ndim ? t->sizes[d] : 1))
            return false;
    return true;
}

/* Check the shapes; `src` NULL: a number is written. */
static int check_shapes(dp_ctx *ctx, const dp_view *x, const dp_view *i, const dp_view *src,
                        int64_t dim)
{
    char index[DP_SHAPE_TEXT], self[DP_SHAPE_TEXT], from[DP_SHAPE_TEXT];
    int ndim = i->ndim ? i->ndim : 1;

    if (ndim != (x->ndim ? x->ndim : 1) || (src && ndim != (src->ndim ? src->ndim : 1)))
        return dp_fail(ctx, DP_ERUNTIME,
                       "Index tensor must have the same number of dimensions as %s tensor",
                       ndim != (x->ndim ? x->ndim : 1) ? "self" : "src");
    if (smaller(i, x, dim) && (!src || smaller(i, src, -1)))
        return 0;
    dp_shape_text(index, i->sizes, (size_t)i->ndim);
    dp_shape_text(self, x->sizes, (size_t)x->ndim);
    return dp_fail(ctx, DP_ERUNTIME,
                   "Expected index %s to be smaller than self %s apart from dimension %" PRId64
                   "%s%s",
                   index, self, dim, src ? " and to be smaller size than src " : "",
                   src ? dp_shape_text(from, src->sizes, (size_t)src->ndim) : "");
}

static int check_scatter(dp_ctx *ctx, const char *name, dp_tensor *self, int64_t dim,
                         dp_tensor *index, dp_tensor *src)
{
    DP_VIEW(x, self);
    DP_VIEW(i, index);
    dp_view s;

    if (i.numel != 0 && i.dtype != DP_INT64)
        return dp_fail(ctx, DP_ERUNTIME, "%s(): Expected dtype int64 for index, got %s", name,
                       dp_dtype_name(i.dtype));
    if (src) {
        s.size = sizeof(s);
        dp_tensor_view(src, &s);
        if (s.dtype != x.dtype)
            return dp_fail(ctx, DP_ERUNTIME,
                           "%s(): Expected self.dtype to be equal to src.dtype, got %s and %s",
                           name, dp_dtype_name(x.dtype), dp_dtype_name(s.dtype));
    }
    return i.numel == 0 ? 0 : check_shapes(ctx, &x, &i, src ? &s : NULL, dim);
}

/* -- writing -- */

/* arguments of a call of scatter, scatter_add or scatter_reduce */
typedef struct scattering {
    const char *name; /* operator's name in error messages */
    gs_op op;
    dp_tensor *self, *index, *src; /* `src` is a 0-dim tensor if `number` */
    int64_t dim;
    bool number;
    bool exclude;   /* the old values of indexed elements of self do not count: */
    dp_value empty; /* value to which these elements are set first */
} scattering;

static int put_empty(dp_ctx *ctx, gs_call *a, const scattering *s)
{
    dp_tensor *t;
    DP_VIEW(x, s->self);
    int rc = dp_scalar_tensor(ctx, s->empty, x.dtype, &t);

    if (rc < 0)
        return rc;
    rc = gs_scatter(ctx, a, GS_SET, t, NULL);
    dp_tensor_unref(t);
    return rc;
}

/* Run the operator into *out; NULL: it is set to a new tensor. */
static int write_scatter(dp_ctx *ctx, scattering *s, dp_tensor **out)
{
    gs_call a;
    bool given = *out != NULL;
    dp_tensor *others[] = {s->index, s->src};
    DP_VIEW(x, s->self);
    DP_VIEW(i, s->index);
    int rc = wrap_dim(ctx, &s->dim, x.ndim);

    if (rc == 0)
        rc = check_scatter(ctx, s->name, s->self, s->dim, s->index, s->number ? NULL : s->src);
    if (rc == 0 && given)
        rc = check_apart(ctx, *out, others, s->number ? 1 : 2);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    gs_init_each(&a, s->self, s->dim, s->index);
    a.checked = i.numel == 0;
    rc = gs_start(ctx, &a, NULL, 0, out);
    if (rc < 0 || i.numel == 0)
        return rc;
    if (s->exclude)
        rc = put_empty(ctx, &a, s);
    if (rc == 0)
        rc = gs_scatter(ctx, &a, s->op, s->src, NULL);
    return gs_end(rc, given, out);
}

/* Scatter a number instead of a tensor `src`. */
static int write_number(dp_ctx *ctx, scattering *s, dp_value value, dp_tensor **out)
{
    DP_VIEW(x, s->self);
    DP_VIEW(i, s->index);
    int rc = i.numel > 0 ? check_fits(ctx, value, x.dtype) : 0;

    if (rc == 0)
        rc = dp_scalar_tensor(ctx, i.numel > 0 ? value : dp_int(0), x.dtype, &s->src);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    s->number = true;
    rc = write_scatter(ctx, s, out);
    dp_tensor_unref(s->src);
    return rc;
}

/* -- scatter -- */

static int find_old_reduce(dp_ctx *ctx, dp_str reduce, gs_op *op)
{
    *op = gs_is(reduce, "add") ? GS_ADD : GS_MUL;
    if (gs_is(reduce, "add") || gs_is(reduce, "multiply"))
        return 0;
    return dp_refuse(ctx, DP_ERUNTIME, "reduce argument must be either add or multiply.");
}

/* aten::scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor */
static int write_src(dp_ctx *ctx, dp_tensor *self, int64_t dim, dp_tensor *index, dp_tensor *src,
                     dp_tensor **out)
{
    scattering s = {"scatter", GS_SET, self, index, src, dim, false, false, dp_none()};
    return write_scatter(ctx, &s, out);
}

/* aten::scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor */
static int write_value(dp_ctx *ctx, dp_tensor *self, int64_t dim, dp_tensor *index, dp_value value,
                       dp_tensor **out)
{
    scattering s = {"scatter", GS_SET, self, index, NULL, dim, true, false, dp_none()};
    return write_number(ctx, &s, value, out);
}

/* aten::scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor */
static int write_reduce(dp_ctx *ctx, dp_tensor *self, int64_t dim, dp_tensor *index, dp_tensor *src,
                        dp_str reduce, dp_tensor **out)
{
    scattering s = {"scatter", GS_SET, self, index, src, dim, false, false, dp_none()};
    int rc = find_old_reduce(ctx, reduce, &s.op);
    return rc < 0 ? rc : write_scatter(ctx, &s, out);
}

/* aten::scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce)
 *     -> Tensor */
static int write_value_reduce(dp_ctx *ctx, dp_tensor *self, int64_t dim, dp_tensor *index,
                              dp_value value, dp_str reduce, dp_tensor **out)
{
    scattering s = {"scatter", GS_SET, self, index, NULL, dim, true, false, dp_none()};
    int rc = find_old_reduce(ctx, reduce, &s.op);
    return rc < 0 ? rc : write_number(ctx, &s, value, out);
}

/* aten::scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor */
static int write_add(dp_ctx *ctx, dp_tensor *self, int64_t dim, dp_tensor *index, dp_tensor *src,
                     dp_tensor **out)
{
    scattering s = {"scatter_add", GS_ADD, self, index, src, dim, false, false, dp_none()};
    return write_scatter(ctx, &s, out);
}

/* -- scatter_reduce -- */

/* Refuse dtypes for which PyTorch has no loop. */
static int check_type(dp_ctx *ctx, dp_str reduce, dp_dtype dtype, const gs_reduce *r)
{
    bool order = r->op == GS_MAX || r->op == GS_MIN;

    if (!(order && dp_dtype_is_complex(dtype)) && !(r->mean && dtype == DP_BOOL))
        return 0;
    return dp_fail(ctx, DP_ERUNTIME,
                   "\"scatter_gather_tensor_cpu_reduce_%.*s\" not implemented for '%s'",
                   (int)reduce.len, reduce.s, dense_type_name(dtype));
}

/* aten::scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *,
 *     bool include_self=True) -> Tensor */
static int write_two(dp_ctx *ctx, dp_tensor *self, int64_t dim, dp_tensor *index, dp_tensor *src,
                     dp_str reduce, bool include_self, dp_tensor **out)
{
    gs_reduce r;
    bool given = *out != NULL;
    DP_VIEW(x, self);
    DP_VIEW(i, index);
    int rc = wrap_dim(ctx, &dim, x.ndim);

    if (rc == 0 && !gs_find_reduce(reduce, x.dtype, &r))
        rc = dp_fail(ctx, DP_ERUNTIME,
                     "reduce argument must be either sum, prod, mean, amax or amin.");
    if (rc == 0 && i.numel > 0)
        rc = check_type(ctx, reduce, x.dtype, &r);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    scattering s = {"scatter", r.op, self, index, src, dim, false, !include_self, r.empty};
    rc = write_scatter(ctx, &s, out);
    if (rc < 0 || !r.mean)
        return rc;
    rc = gs_mean(ctx, "aten::scatter_add_", *out, s.dim, s.index, s.src, s.exclude);
    return gs_end(rc, given, out);
}

GS_VARIANTS(src, (int64_t dim, dp_tensor *index, dp_tensor *src), (dim, index, src))
GS_VARIANTS(value, (int64_t dim, dp_tensor *index, dp_value value), (dim, index, value))
GS_VARIANTS(reduce, (int64_t dim, dp_tensor *index, dp_tensor *src, dp_str reduce),
            (dim, index, src, reduce))
GS_VARIANTS(value_reduce, (int64_t dim, dp_tensor *index, dp_value value, dp_str reduce),
            (dim, index, value, reduce))
GS_VARIANTS(add, (int64_t dim, dp_tensor *index, dp_tensor *src), (dim, index, src))
GS_VARIANTS(two, (int64_t dim, dp_tensor *index, dp_tensor *src, dp_str reduce, bool include_self),
            (dim, index, src, reduce, include_self))

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("scatter.src", src_new, (T, i, T, T), (T)),
                DP_IMPL_UNBOXED("scatter_.src", src_in, (T, i, T, T), ()),
                DP_IMPL_UNBOXED("scatter.src_out", src_out, (T, i, T, T, T), ()),
                DP_IMPL_UNBOXED("scatter.value", value_new, (T, i, T, s), (T)),
                DP_IMPL_UNBOXED("scatter_.value", value_in, (T, i, T, s), ()),
                DP_IMPL_UNBOXED("scatter.value_out", value_out, (T, i, T, s, T), ()),
                DP_IMPL_UNBOXED("scatter.reduce", reduce_new, (T, i, T, T, S), (T)),
                DP_IMPL_UNBOXED("scatter_.reduce", reduce_in, (T, i, T, T, S), ()),
                DP_IMPL_UNBOXED("scatter.reduce_out", reduce_out, (T, i, T, T, S, T), ()),
                DP_IMPL_UNBOXED("scatter.value_reduce", value_reduce_new, (T, i, T, s, S), (T)),
                DP_IMPL_UNBOXED("scatter_.value_reduce", value_reduce_in, (T, i, T, s, S), ()),
                DP_IMPL_UNBOXED("scatter.value_reduce_out", value_reduce_out, (T, i, T, s, S, T),
                                ()),
                DP_IMPL_UNBOXED("scatter_add", add_new, (T, i, T, T), (T)),
                DP_IMPL_UNBOXED("scatter_add_", add_in, (T, i, T, T), ()),
                DP_IMPL_UNBOXED("scatter_add.out", add_out, (T, i, T, T, T), ()),
                DP_IMPL_UNBOXED("scatter_reduce.two", two_new, (T, i, T, T, S, b), (T)),
                DP_IMPL_UNBOXED("scatter_reduce_.two", two_in, (T, i, T, T, S, b), ()),
                DP_IMPL_UNBOXED("scatter_reduce.two_out", two_out, (T, i, T, T, S, b, T), ()))
