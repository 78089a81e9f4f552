/* inner_tensordot.c -- tensordot and inner, computed as one product of matrices
 * (aten/src/ATen/native/Linear.cpp, LinearAlgebra.cpp). */
#include "core/composite.h"
#include <string.h>

typedef struct side {
    dp_tensor *t; /* borrowed from `temps` */
    int ndim;
    /* sizes for the product; those of dimensions that were summed are 1 */
    int64_t sizes[DP_DIM_MAX];
    int64_t dims[DP_DIM_MAX]; /* contracted dimensions */
    bool gone[DP_DIM_MAX];
    int64_t left; /* number of elements of the other dimensions */
} side;

static int side_init(dp_ctx *ctx, side *s, dp_tensor *t, const int64_t *dims, size_t n)
{
    DP_VIEW(x, t);

    s->t = t;
    s->ndim = x.ndim;
    s->left = 1;
    memset(s->gone, 0, sizeof(s->gone));
    dp_copy_n(s->sizes, x.sizes, (size_t)x.ndim, sizeof(int64_t));
    for (size_t i = 0; i < n; i++) {
        s->dims[i] = dims[i];
        int rc = wrap_dim(ctx, &s->dims[i], x.ndim);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* Sum over a contracted dimension if the size of its partner is 1. */
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

/* Check that the contracted sizes are equal, and set *k to their product. */
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

/* Reshape a side to a matrix with the contracted dimensions last or first, and append the sizes of
 * its other dimensions to `sizes`. */
static int as_matrix(dp_ctx *ctx, side *s, size_t n, bool contracted_last, int64_t k,
                     int64_t *sizes, int *n_sizes, dp_tensor **out)
{
    int64_t order[DP_DIM_MAX];
    int at = contracted_last ? 0 : s->ndim > 0 ? (int)n : 0, rc;
    dp_tensor *permuted = NULL;

    for (int d = 0; d < s->ndim; d++)
        if (!s->gone[d]) {
            order[at++] = d;
            sizes[(*n_sizes)++] = s->sizes[d];
            s->left *= s->sizes[d];
        }
    for (size_t i = 0; i < n && s->ndim > 0; i++)
        order[(contracted_last ? at : 0) + (int)i] = s->dims[i];
    const int64_t flat[] = {contracted_last ? s->left : k, contracted_last ? k : s->left};
    rc = dp_invoke(ctx, "aten::permute", "Tli>T", s->t, order, (size_t)s->ndim, &permuted);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::reshape", "Tli>T", permuted, flat, (size_t)2, out);
    dp_tensor_unref(permuted);
    return rc;
}

/* aten::tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor
 * Sums products over pairs of dimensions; the result has the other dimensions of self, then those
 * of other. */
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

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("tensordot.out", tensordot_out, (T, T, li, li, T), ()))
DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("tensordot", tensordot, (T, T, li, li), (T)),
                DP_IMPL_UNBOXED("inner", inner, (T, T), (T)),
                DP_IMPL_UNBOXED("inner.out", inner_out, (T, T, T), ()))
