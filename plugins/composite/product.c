/* product.c -- products by way of mm, addmv and mul: mv, outer, addr, kron, inner, tensordot and chains.
 * Source: aten/src/ATen/native/LinearAlgebra.cpp, Blas.cpp, Linear.cpp. */
#include "composite.h"
#include <string.h>

/* out gets made's shape and elements; a dtype that made cannot be cast to is refused.  Takes made, of a
 * call that returned rc. */
static int give_cast(dp_ctx *ctx, int rc, dp_tensor *made, dp_tensor *out)
{
    dp_tensor *cast = NULL;

    if (rc < 0)
        return rc;
    DP_VIEW(x, made);
    DP_VIEW(y, out);
    if (!dp_can_cast(x.dtype, y.dtype))
        rc = dp_refuse(ctx, DP_ERUNTIME,
                       "result type %s can't be cast to the desired output type %s",
                       dp_dtype_name(x.dtype), dp_dtype_name(y.dtype));
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::to.dtype", "Ti>T", made, (int64_t)y.dtype, &cast);
    dp_tensor_unref(made);
    return give_out(ctx, rc, cast, out);
}

/* -- vectors -- */

static int mv_into(dp_ctx *ctx, dp_tensor *self, dp_tensor *vec, dp_tensor *out)
{
    return dp_invoke(ctx, "aten::addmv.out", "TTTssT>", out, self, vec, dp_int(0), dp_int(1), out);
}

/* aten::mv(Tensor self, Tensor vec) -> Tensor
 * self [n, m], vec [m] -> [n]. */
static int mv(dp_ctx *ctx, dp_tensor *self, dp_tensor *vec, dp_tensor **out)
{
    const int64_t one = 1;
    DP_VIEW(x, self);
    DP_VIEW(y, vec);
    int rc = dp_empty(ctx, y.dtype, y.device, 1, x.ndim > 0 ? x.sizes : &one, DP_CONTIGUOUS, out);

    if (rc == 0 && (rc = mv_into(ctx, self, vec, *out)) < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* aten::mv.out: the output is resized before it is added to, so that it fits as addmv's self. */
static int mv_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *vec, dp_tensor *out)
{
    DP_VIEW(x, self);
    int rc = 0;

    if (x.ndim == 2)
        rc = dp_set_output(ctx, &out, 1, x.sizes, NULL, DP_DTYPE_NONE, x.device);
    return rc == 0 ? mv_into(ctx, self, vec, out) : rc;
}

static int dot_into(dp_ctx *ctx, const char *op, dp_tensor *self, dp_tensor *other, dp_tensor *out)
{
    dp_tensor *made = NULL;
    DP_VIEW(x, self);
    DP_VIEW(y, out);

    if (x.dtype != y.dtype)
        return dp_refuse(ctx, DP_ERUNTIME, "result dtype %s does not match input dtype %s",
                         dp_dtype_name(y.dtype), dp_dtype_name(x.dtype));
    int rc = dp_invoke(ctx, op, "TT>T", self, other, &made);
    return give_cast(ctx, rc, made, out);
}

static int dot_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *tensor, dp_tensor *out)
{
    return dot_into(ctx, "aten::dot", self, tensor, out);
}

static int vdot_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, dp_tensor *out)
{
    return dot_into(ctx, "aten::vdot", self, other, out);
}

/* self [n] as [n, 1]. */
static int column(dp_ctx *ctx, dp_tensor *self, dp_tensor *vec2, temps *s)
{
    DP_VIEW(x, self);
    DP_VIEW(y, vec2);

    if (x.ndim != 1 || y.ndim != 1)
        return dp_fail(ctx, DP_ERUNTIME, "outer: Expected 1-D argument %s, but got %d-D",
                       x.ndim != 1 ? "self" : "vec2", x.ndim != 1 ? x.ndim : y.ndim);
    return dp_invoke(ctx, "aten::unsqueeze", "Ti>T", self, (int64_t)1, temps_next(s));
}

/* aten::outer(Tensor self, Tensor vec2) -> Tensor
 * self [n], vec2 [m] -> [n, m], of their common dtype. */
static int outer(dp_ctx *ctx, dp_tensor *self, dp_tensor *vec2, dp_tensor **out)
{
    temps s = {0};
    int rc = column(ctx, self, vec2, &s);

    if (rc == 0)
        rc = dp_invoke(ctx, "aten::mul.Tensor", "TT>T", temps_last(&s), vec2, out);
    temps_fini(&s);
    return rc;
}

static int outer_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *vec2, dp_tensor *out)
{
    temps s = {0};
    int rc = column(ctx, self, vec2, &s);

    if (rc == 0)
        rc = dp_invoke(ctx, "aten::mul.out", "TTT>", temps_last(&s), vec2, out);
    temps_fini(&s);
    return rc;
}

/* -- addr -- */

static int check_addr_scalar(dp_ctx *ctx, dp_dtype d, dp_value v, const char *name)
{
    if (v.tag == DP_TAG_BOOL && d != DP_BOOL)
        return dp_fail(ctx, DP_ERUNTIME, "Boolean %s only supported for Boolean results.", name);
    if (dp_dtype_is_integral(d, true) && v.tag != DP_TAG_BOOL && v.tag != DP_TAG_INT)
        return dp_fail(
            ctx, DP_ERUNTIME,
            "For integral input tensors, argument %s must not be a floating point number.", name);
    return 0;
}

static bool is_nonzero(dp_value v)
{
    if (v.tag == DP_TAG_COMPLEX)
        return v.u.doubles[0] != 0 || v.u.doubles[1] != 0;
    return as_double(v) != 0;
}

/* alpha vec1 vec2, all of dtype d. */
static int scaled_outer(dp_ctx *ctx, temps *s, dp_dtype d, dp_tensor *vec1, dp_tensor *vec2,
                        dp_value alpha)
{
    dp_tensor *to[2] = {vec1, vec2};
    dp_value by = d == DP_BOOL ? dp_bool(is_nonzero(alpha)) : alpha;
    int rc = 0;

    for (int i = 0; i < 2 && rc == 0; i++) {
        rc = dp_invoke(ctx, "aten::to.dtype", "Ti>T", to[i], (int64_t)d, temps_next(s));
        to[i] = temps_last(s);
    }
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::mul.Scalar", "Ts>T", to[0], by, temps_next(s));
    dp_tensor *scaled = temps_last(s);
    return rc == 0 ? outer(ctx, scaled, to[1], temps_next(s)) : rc;
}

/* Both vectors, and that self expands to their product. */
static int check_addr(dp_ctx *ctx, dp_tensor *self, dp_tensor *vec1, dp_tensor *vec2, temps *s)
{
    DP_VIEW(x, vec1);
    DP_VIEW(y, vec2);

    if (x.ndim != 1 || y.ndim != 1)
        return dp_fail(ctx, DP_ERUNTIME, "addr: Expected 1-D argument %s, but got %d-D",
                       x.ndim != 1 ? "vec1" : "vec2", x.ndim != 1 ? x.ndim : y.ndim);
    const int64_t sizes[] = {x.numel, y.numel};
    return dp_invoke(ctx, "aten::expand", "Tli>T", self, sizes, (size_t)2, temps_next(s));
}

/* aten::addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor
 * beta self + alpha (vec1 x vec2), of the common dtype; where that is bool, or for + and and for *.  If
 * beta is 0, self is not read. */
static int addr(dp_ctx *ctx, dp_tensor *self, dp_tensor *vec1, dp_tensor *vec2, dp_value beta,
                dp_value alpha, dp_tensor **out)
{
    temps s = {0};
    dp_tensor *all[] = {self, vec1, vec2};
    dp_dtype d = dp_result_type(all, 3);
    dp_dtype wide = d == DP_BFLOAT16 || d == DP_FLOAT16 ? DP_FLOAT32 : d; /* rounded once */
    int rc = check_addr(ctx, self, vec1, vec2, &s);

    if (rc == 0)
        rc = check_addr_scalar(ctx, d, beta, "beta");
    if (rc == 0)
        rc = check_addr_scalar(ctx, d, alpha, "alpha");
    if (rc == 0)
        rc = scaled_outer(ctx, &s, wide, vec1, vec2, alpha);
    dp_tensor *sum = rc == 0 ? temps_last(&s) : NULL;
    if (rc == 0 && is_nonzero(beta))
        rc = dp_invoke(ctx, "aten::add_.Tensor", "TTs>", sum, self,
                       d == DP_BOOL ? dp_bool(true) : beta);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::to.dtype", "Ti>T", sum, (int64_t)d, out);
    temps_fini(&s);
    return rc;
}

static int addr_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *vec1, dp_tensor *vec2, dp_value beta,
                    dp_value alpha, dp_tensor *out)
{
    dp_tensor *made = NULL;
    int rc = addr(ctx, self, vec1, vec2, beta, alpha, &made);
    return give_cast(ctx, rc, made, out);
}

static int addr_in_place(dp_ctx *ctx, dp_tensor *self, dp_tensor *vec1, dp_tensor *vec2,
                         dp_value beta, dp_value alpha)
{
    DP_VIEW(x, self);

    if (x.ndim != 2)
        return dp_fail(ctx, DP_ERUNTIME, "2D tensor expected, got %dD tensor for input", x.ndim);
    return addr_out(ctx, self, vec1, vec2, beta, alpha, self);
}

/* -- kron -- */

/* View t, whose sizes come after ones where `ndim` are more than it has, with a 1 behind each size, or
 * before it. */
static int spread(dp_ctx *ctx, dp_tensor *t, int ndim, int offset, dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX];
    DP_VIEW(x, t);

    for (int i = 0; i < ndim; i++) {
        int d = i - (ndim - x.ndim);
        sizes[2 * i + offset] = d < 0 ? 1 : x.sizes[d];
        sizes[2 * i + 1 - offset] = 1;
    }
    return dp_invoke(ctx, "aten::reshape", "Tli>T", t, sizes, (size_t)ndim * 2, out);
}

/* aten::kron(Tensor self, Tensor other) -> Tensor
 * [a, b ...] x [c, d ...] -> [a c, b d ...]; the shorter shape is filled up with ones in front. */
static int kron(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, dp_tensor **out)
{
    temps s = {0};
    int64_t sizes[DP_DIM_MAX];
    DP_VIEW(x, self);
    DP_VIEW(y, other);
    int n = x.ndim > y.ndim ? x.ndim : y.ndim, rc = check_ndim(ctx, (size_t)n * 2);

    for (int i = 0; i < n; i++) {
        int dx = i - (n - x.ndim), dy = i - (n - y.ndim);
        sizes[i] = (dx < 0 ? 1 : x.sizes[dx]) * (dy < 0 ? 1 : y.sizes[dy]);
    }
    if (rc == 0)
        rc = spread(ctx, self, n, 0, temps_next(&s));
    if (rc == 0)
        rc = spread(ctx, other, n, 1, temps_next(&s));
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::mul.Tensor", "TT>T", s.made[0], s.made[1], temps_next(&s));
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::_unsafe_view", "Tli>T", temps_last(&s), sizes, (size_t)n, out);
    temps_fini(&s);
    return rc;
}

static int kron_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, dp_tensor *out)
{
    dp_tensor *made = NULL;
    int rc = kron(ctx, self, other, &made);
    return give_cast(ctx, rc, made, out);
}

/* -- tensordot -- */

typedef struct side {
    dp_tensor *t; /* borrowed from temps */
    int ndim;
    int64_t sizes[DP_DIM_MAX]; /* as contracted: those that were summed are 1 */
    int64_t dims[DP_DIM_MAX];  /* that are contracted */
    bool gone[DP_DIM_MAX];
    int64_t left; /* elements of the others */
} side;

static int side_init(dp_ctx *ctx, side *s, dp_tensor *t, const int64_t *dims, size_t n)
{
    DP_VIEW(x, t);

    s->t = t;
    s->ndim = x.ndim;
    s->left = 1;
    memset(s->gone, 0, sizeof(s->gone));
    memcpy(s->sizes, x.sizes, (size_t)x.ndim * sizeof(int64_t));
    for (size_t i = 0; i < n; i++) {
        s->dims[i] = dims[i];
        int rc = wrap_dim(ctx, &s->dims[i], x.ndim);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* A contracted dimension whose partner's size is 1 is summed at once. */
static int sum_side(dp_ctx *ctx, side *s, int64_t dim, temps *made)
{
    DP_VIEW(x, s->t);
    int64_t dtype = x.dtype;
    dp_tensor *sum = NULL;
    int rc = dp_invoke(ctx, "aten::sum.dim_IntList", "Toliboi>T", s->t, &dim, (size_t)1, (int)true,
                       &dtype, &sum);

    if (rc < 0)
        return rc;
    if (made->n > 0) {
        dp_tensor_unref(made->made[0]);
        made->n = 0;
    }
    s->t = *temps_next(made) = sum;
    s->sizes[dim] = 1;
    return 0;
}

/* Compare the contracted sizes; *k is their product. */
static int contract(dp_ctx *ctx, side *a, side *b, size_t n, temps *made_a, temps *made_b,
                    int64_t *k)
{
    int rc = 0;

    *k = 1;
    for (size_t i = 0; i < n && rc == 0; i++) {
        int64_t da = a->dims[i], db = b->dims[i], sa = a->ndim > 0 ? a->sizes[da] : 1,
                sb = b->ndim > 0 ? b->sizes[db] : 1;
        if (sb == 1 && a->ndim > 0)
            rc = sum_side(ctx, a, da, made_a);
        else if (sa == 1 && b->ndim > 0)
            rc = sum_side(ctx, b, db, made_b);
        else if (sa != sb)
            return dp_fail(ctx, DP_ERUNTIME,
                           "contracted dimensions need to match, but first has size %lld in dim "
                           "%lld and second has size %lld in dim %lld",
                           (long long)sa, (long long)da, (long long)sb, (long long)db);
        else
            *k *= sa;
    }
    for (size_t i = 0; i < n && rc == 0; i++)
        for (side *s = a; s != NULL; s = s == a ? b : NULL) {
            if (s->gone[s->dims[i]])
                return dp_fail(ctx, DP_ERUNTIME,
                               "dim %lld appears multiple times in the list of dims",
                               (long long)s->dims[i]);
            s->gone[s->dims[i]] = true;
        }
    return rc;
}

/* As a matrix with the contracted dimensions last, or first; the other sizes are added to out. */
static int as_matrix(dp_ctx *ctx, side *s, size_t n, bool contracted_last, int64_t k,
                     int64_t *sizes, int *n_sizes, dp_tensor **out)
{
    int64_t order[DP_DIM_MAX];
    int at = contracted_last ? 0 : s->ndim > 0 ? (int)n : 0, rc;
    dp_tensor *turned = NULL;

    for (int d = 0; d < s->ndim; d++)
        if (!s->gone[d]) {
            order[at++] = d;
            sizes[(*n_sizes)++] = s->sizes[d];
            s->left *= s->sizes[d];
        }
    for (size_t i = 0; i < n && s->ndim > 0; i++)
        order[(contracted_last ? at : 0) + (int)i] = s->dims[i];
    const int64_t flat[] = {contracted_last ? s->left : k, contracted_last ? k : s->left};
    rc = dp_invoke(ctx, "aten::permute", "Tli>T", s->t, order, (size_t)s->ndim, &turned);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::reshape", "Tli>T", turned, flat, (size_t)2, out);
    dp_tensor_unref(turned);
    return rc;
}

/* aten::tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor
 * Sums of products over pairs of dimensions; the others of self, then those of other, are left. */
static int tensordot(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, const int64_t *dims_self,
                     size_t n, const int64_t *dims_other, size_t n_other, dp_tensor **out)
{
    temps s = {0}, summed_a = {0}, summed_b = {0};
    side a, b;
    int64_t sizes[2 * DP_DIM_MAX], k;
    int n_sizes = 0;

    if (n != n_other)
        return dp_fail(ctx, DP_ERUNTIME, "both dimension lists should have same length");
    int rc = check_ndim(ctx, n);
    if (rc == 0)
        rc = side_init(ctx, &a, self, dims_self, n);
    if (rc == 0)
        rc = side_init(ctx, &b, other, dims_other, n);
    if (rc == 0)
        rc = contract(ctx, &a, &b, n, &summed_a, &summed_b, &k);
    if (rc == 0)
        rc = as_matrix(ctx, &a, n, true, k, sizes, &n_sizes, temps_next(&s));
    if (rc == 0)
        rc = as_matrix(ctx, &b, n, false, k, sizes, &n_sizes, temps_next(&s));
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::mm", "TT>T", s.made[0], s.made[1], temps_next(&s));
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::reshape", "Tli>T", temps_last(&s), sizes, (size_t)n_sizes, out);
    temps_fini(&s);
    temps_fini(&summed_a);
    temps_fini(&summed_b);
    return rc;
}

static int tensordot_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, const int64_t *dims_self,
                         size_t n, const int64_t *dims_other, size_t n_other, dp_tensor *out)
{
    dp_tensor *made = NULL;
    int rc = tensordot(ctx, self, other, dims_self, n, dims_other, n_other, &made);
    return give_out(ctx, rc, made, out);
}

/* aten::inner(Tensor self, Tensor other) -> Tensor
 * The last dimensions are contracted; a 0-dim tensor is a factor. */
static int inner(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, dp_tensor **out)
{
    const int64_t last_dim = -1;
    char a[DP_SHAPE_TEXT], b[DP_SHAPE_TEXT];
    DP_VIEW(x, self);
    DP_VIEW(y, other);

    if (x.ndim == 0 || y.ndim == 0)
        return dp_invoke(ctx, "aten::mul.Tensor", "TT>T", self, other, out);
    if (x.sizes[x.ndim - 1] != y.sizes[y.ndim - 1])
        return dp_fail(ctx, DP_ERUNTIME,
                       "inner() the last dimension must match on both input tensors but got shapes "
                       "%s and %s",
                       dp_shape_text(a, x.sizes, (size_t)x.ndim),
                       dp_shape_text(b, y.sizes, (size_t)y.ndim));
    return tensordot(ctx, self, other, &last_dim, 1, &last_dim, 1, out);
}

static int inner_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, dp_tensor *out)
{
    dp_tensor *made = NULL;
    DP_VIEW(x, self);
    DP_VIEW(y, other);

    if (x.ndim == 0 || y.ndim == 0)
        return dp_invoke(ctx, "aten::mul.out", "TTT>", self, other, out);
    int rc = inner(ctx, self, other, &made);
    return give_out(ctx, rc, made, out);
}

#define DOT_FORMS                                                                                  \
    DP_IMPL_UNBOXED("mv", mv, (T, T), (T)), DP_IMPL_UNBOXED("mv.out", mv_out, (T, T, T), ()),      \
        DP_IMPL_UNBOXED("dot.out", dot_out, (T, T, T), ()),                                        \
        DP_IMPL_UNBOXED("vdot.out", vdot_out, (T, T, T), ())

DP_LIBRARY_META(aten, CompositeExplicitAutograd, DOT_FORMS,
                DP_IMPL_UNBOXED("addr", addr, (T, T, T, s, s), (T)),
                DP_IMPL_UNBOXED("addr_", addr_in_place, (T, T, T, s, s), ()),
                DP_IMPL_UNBOXED("addr.out", addr_out, (T, T, T, s, s, T), ()))
DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("addr", addr, (T, T, T, s, s), (T)),
                DP_IMPL_UNBOXED("addr.out", addr_out, (T, T, T, s, s, T), ()),
                DP_IMPL_UNBOXED("tensordot.out", tensordot_out, (T, T, li, li, T), ()))
DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL_UNBOXED("outer", outer, (T, T), (T)),
                DP_IMPL_UNBOXED("outer.out", outer_out, (T, T, T), ()),
                DP_IMPL_UNBOXED("kron", kron, (T, T), (T)),
                DP_IMPL_UNBOXED("kron.out", kron_out, (T, T, T), ()),
                DP_IMPL_UNBOXED("inner", inner, (T, T), (T)),
                DP_IMPL_UNBOXED("inner.out", inner_out, (T, T, T), ()),
                DP_IMPL_UNBOXED("tensordot", tensordot, (T, T, li, li), (T)))
DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL_UNBOXED("ger", outer, (T, T), (T)),
                DP_IMPL_UNBOXED("ger.out", outer_out, (T, T, T), ()))
