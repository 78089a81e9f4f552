/* trilinear.c -- products of three tensors, bilinear and _trilinear, computed with two calls of bmm
 * (aten/src/ATen/native/Linear.cpp). */
#include "core/composite.h"
#include <string.h>

/* -- products of two tensors with equal numbers of dimensions, whose sizes are equal or 1; summed
 * dimensions have size 1 in the result -- */

enum { BATCH, LEFT, SUMMED, RIGHT, KINDS };

/* List the dimensions by kind, in the order of `sequence`. */
static void by_kind(const int *kinds, int ndim, const int sequence[KINDS], int64_t *order)
{
    int n = 0;

    for (int s = 0; s < KINDS; s++)
        for (int d = 0; d < ndim; d++)
            if (kinds[d] == sequence[s])
                order[n++] = d;
}

static int64_t count(const int *kinds, int ndim, int kind, const int64_t *sizes)
{
    int64_t n = 1;

    for (int d = 0; d < ndim; d++)
        n *= kinds[d] == kind ? sizes[d] : 1;
    return n;
}

static int permuted(dp_ctx *ctx, dp_tensor *t, const int64_t *order, int ndim,
                    const int64_t flat[3], dp_tensor **out)
{
    dp_tensor *ordered = NULL;
    int rc = dp_invoke(ctx, "aten::permute", "Tli>T", t, order, (size_t)ndim, &ordered);

    if (rc == 0)
        rc = dp_invoke(ctx, "aten::reshape", "Tli>T", ordered, flat, (size_t)3, out);
    dp_tensor_unref(ordered);
    return rc;
}

/* Multiply both sides with one bmm of [batch, left, summed] and [batch, summed, right]. */
static int multiply(dp_ctx *ctx, dp_tensor *const sides[2], const int *kinds, int ndim,
                    const int64_t *sizes, dp_tensor **out)
{
    static const int of_left[] = {BATCH, LEFT, SUMMED, RIGHT},
                     of_right[] = {BATCH, SUMMED, RIGHT, LEFT};
    int64_t order[DP_DIM_MAX], made[DP_DIM_MAX], back[DP_DIM_MAX], n[KINDS];
    temps s = {0};

    for (int kind = 0; kind < KINDS; kind++)
        n[kind] = count(kinds, ndim, kind, sizes);
    const int64_t left[] = {n[BATCH], n[LEFT], n[SUMMED]},
                  right[] = {n[BATCH], n[SUMMED], n[RIGHT]};
    by_kind(kinds, ndim, of_right, order);
    int rc = permuted(ctx, sides[1], order, ndim, right, temps_next(&s));
    by_kind(kinds, ndim, of_left, order);
    if (rc == 0)
        rc = permuted(ctx, sides[0], order, ndim, left, temps_next(&s));
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::bmm", "TT>T", s.made[1], s.made[0], temps_next(&s));
    for (int i = 0; i < ndim; i++) {
        made[i] = kinds[order[i]] == SUMMED ? 1 : sizes[order[i]];
        back[order[i]] = i;
    }
    dp_tensor *product = temps_last(&s);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::view", "Tli>T", product, made, (size_t)ndim, temps_next(&s));
    product = temps_last(&s);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::permute", "Tli>T", product, back, (size_t)ndim, out);
    temps_fini(&s);
    return rc;
}

static int sum_over(dp_ctx *ctx, dp_tensor *t, int64_t dim, dp_tensor **out)
{
    DP_VIEW(x, t);
    int64_t dtype = x.dtype;
    return dp_invoke(ctx, "aten::sum.dim_IntList", "Toliboi>T", t, &dim, (size_t)1, (int)true,
                     &dtype, out);
}

/* Compute at::native::sumproduct_pair, with keepdim. */
static int sumproduct(dp_ctx *ctx, dp_tensor *left, dp_tensor *right, const bool *sums,
                      dp_tensor **out)
{
    dp_tensor *sides[] = {dp_tensor_ref(left), dp_tensor_ref(right)};
    int64_t sizes[DP_DIM_MAX];
    int kinds[DP_DIM_MAX], rc = 0;
    DP_VIEW(x, left);
    DP_VIEW(y, right);

    for (int d = 0; d < x.ndim && rc == 0; d++) {
        bool of_left = x.sizes[d] != 1, of_right = y.sizes[d] != 1;
        sizes[d] = of_left ? x.sizes[d] : y.sizes[d];
        kinds[d] = sums[d] ? SUMMED : of_left && of_right ? BATCH : of_left ? LEFT : RIGHT;
        /* the other operand does not have the dimension, so it is summed at once */
        if (sums[d] && of_left != of_right) {
            dp_tensor **side = &sides[of_right], *sum = NULL;
            rc = sum_over(ctx, *side, d, &sum);
            dp_tensor_unref(*side);
            *side = sum;
            sizes[d] = 1;
        }
    }
    if (rc == 0)
        rc = multiply(ctx, sides, kinds, x.ndim, sizes, out);
    dp_tensor_unref(sides[0]);
    dp_tensor_unref(sides[1]);
    return rc;
}

/* -- trilinear -- */

typedef struct factor {
    dp_tensor *t; /* owned */
    bool expanded[DP_DIM_MAX];
} factor;

static int set_flags(dp_ctx *ctx, const int64_t *dims, size_t n, int ndim, bool flags[DP_DIM_MAX])
{
    memset(flags, 0, DP_DIM_MAX);
    for (size_t i = 0; i < n; i++) {
        int64_t d = dims[i];
        int rc = wrap_dim(ctx, &d, ndim);
        if (rc < 0)
            return rc;
        if (flags[d])
            return dp_fail(ctx, DP_ERUNTIME,
                           "dim %" PRId64 " appears multiple times in the list of dims", d);
        flags[d] = true;
    }
    return 0;
}

/* Set f->t to `t` with a dimension of size 1 wherever it will be expanded. */
static int set_factor(dp_ctx *ctx, factor *f, dp_tensor *t, const int64_t *dims, size_t n, int ndim)
{
    DP_VIEW(x, t);
    int rc = set_flags(ctx, dims, n, ndim, f->expanded);

    if (rc == 0 && x.ndim + (int)n != ndim)
        rc = dp_fail(ctx, DP_ERUNTIME, "expected %d dimensions with those expanded, got %d", ndim,
                     x.ndim + (int)n);
    if (rc == 0) /* computed in float32, so that products are rounded only once */
        rc = dp_invoke(ctx, "aten::to.dtype", "Ti>T", t,
                       (int64_t)(x.dtype == DP_BFLOAT16 ? DP_FLOAT32 : x.dtype), &f->t);
    for (int d = 0; d < ndim && rc == 0; d++)
        if (f->expanded[d]) {
            dp_tensor *wide = NULL;
            rc = dp_invoke(ctx, "aten::unsqueeze", "Ti>T", f->t, (int64_t)d, &wide);
            dp_tensor_unref(f->t);
            f->t = wide;
        }
    return rc;
}

/* Set *out to the slice at index `k` of `dim`, or to the only one if the factor is expanded
 * there. */
static int slice(dp_ctx *ctx, const factor *f, int64_t dim, int64_t k, dp_tensor **out)
{
    return dp_invoke(ctx, "aten::narrow", "Tiii>T", f->t, dim, f->expanded[dim] ? 0 : k, (int64_t)1,
                     out);
}

/* Add the product of the slices at index `k` to the result. */
static int add_slice(dp_ctx *ctx, const factor f[3], const bool *sums, int64_t dim, int64_t k,
                     int ndim, dp_tensor *result)
{
    bool first[DP_DIM_MAX], second[DP_DIM_MAX];
    temps s = {0};
    int rc = 0;

    for (int d = 0; d < ndim; d++) {
        first[d] = sums[d] && d != dim && f[2].expanded[d];
        second[d] = sums[d] && d != dim && !f[2].expanded[d];
    }
    for (int i = 0; i < 3 && rc == 0; i++)
        rc = slice(ctx, &f[i], dim, k, temps_next(&s));
    if (rc == 0)
        rc = sumproduct(ctx, s.made[0], s.made[1], first, temps_next(&s));
    if (rc == 0)
        rc = sumproduct(ctx, s.made[3], s.made[2], second, temps_next(&s));
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::narrow", "Tiii>T", result, dim, sums[dim] ? 0 : k, (int64_t)1,
                       temps_next(&s));
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::add_.Tensor", "TTs>", s.made[5], s.made[4], dp_int(1));
    temps_fini(&s);
    return rc;
}

/* Set the sizes of the result, where summed dimensions have size 1, and the number of slices.
 * Return whether there is anything to add. */
static bool result_sizes(const factor f[3], const bool *sums, int ndim, int64_t dim, int64_t *sizes,
                         int64_t *slices)
{
    bool any = true;

    for (int d = 0; d < ndim; d++) {
        int64_t size = 1;
        for (int i = 0; i < 3; i++) {
            DP_VIEW(x, f[i].t);
            any = any && x.numel > 0;
            if (!f[i].expanded[d])
                size = x.sizes[d];
        }
        sizes[d] = sums[d] ? 1 : size;
        if (d == dim)
            *slices = size;
    }
    return any;
}

static int squeeze(dp_ctx *ctx, dp_tensor *t, const bool *sums, int ndim, dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX];
    size_t n = 0;
    DP_VIEW(x, t);

    for (int d = 0; d < ndim; d++)
        if (!sums[d])
            sizes[n++] = x.sizes[d];
    return dp_invoke(ctx, "aten::reshape", "Tli>T", t, sizes, n, out);
}

static int sum_slices(dp_ctx *ctx, const factor f[3], const bool *sums, int ndim, int64_t dim,
                      dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX], slices = 0;
    dp_tensor *result = NULL;
    bool any = result_sizes(f, sums, ndim, dim, sizes, &slices);
    int rc = dp_invoke(ctx, "aten::new_zeros", "Tli>T", f[0].t, sizes, (size_t)ndim, &result);

    for (int64_t k = 0; any && k < slices && rc == 0; k++) {
        rc = dp_checkpoint(ctx);
        if (rc == 0)
            rc = add_slice(ctx, f, sums, dim, k, ndim, result);
    }
    if (rc == 0)
        rc = squeeze(ctx, result, sums, ndim, out);
    dp_tensor_unref(result);
    return rc;
}

/* aten::_trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] expand3,
 *     int[] sumdim, int unroll_dim=1) -> Tensor
 * The product of all three, each with dimensions of 1 where it is expanded, summed over sumdim. */
static int trilinear(dp_ctx *ctx, dp_tensor *i1, dp_tensor *i2, dp_tensor *i3, const int64_t *e1,
                     size_t n1, const int64_t *e2, size_t n2, const int64_t *e3, size_t n3,
                     const int64_t *sumdim, size_t n_sum, int64_t unroll_dim, dp_tensor **out)
{
    factor f[3] = {{0}};
    dp_tensor *sum = NULL;
    bool sums[DP_DIM_MAX];
    DP_VIEW(x, i1);
    int ndim = x.ndim + (int)n1, rc = check_ndim(ctx, (size_t)ndim);

    if (rc == 0 && (unroll_dim < 0 || unroll_dim >= ndim))
        rc = dp_fail(ctx, DP_ERUNTIME, "unroll_dim must be in [0,%d]", ndim - 1);
    if (rc == 0)
        rc = set_flags(ctx, sumdim, n_sum, ndim, sums);
    if (rc == 0)
        rc = set_factor(ctx, &f[0], i1, e1, n1, ndim);
    if (rc == 0)
        rc = set_factor(ctx, &f[1], i2, e2, n2, ndim);
    if (rc == 0)
        rc = set_factor(ctx, &f[2], i3, e3, n3, ndim);
    if (rc == 0)
        rc = sum_slices(ctx, f, sums, ndim, unroll_dim, &sum);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::to.dtype", "Ti>T", sum, (int64_t)x.dtype, out);
    for (int i = 0; i < 3; i++)
        dp_tensor_unref(f[i].t);
    dp_tensor_unref(sum);
    return rc;
}

/* -- bilinear -- */

static int check_bilinear(dp_ctx *ctx, const dp_view *a, const dp_view *b, const dp_view *w,
                          dp_tensor *bias)
{
    const dp_view *sides[] = {a, b};

    if (a->ndim != b->ndim)
        return dp_fail(ctx, DP_ERUNTIME, "bilinear(): input dimensions do not match: got %d and %d",
                       a->ndim, b->ndim);
    if (a->ndim == 0 || w->ndim != 3)
        return dp_fail(ctx, DP_ERUNTIME,
                       "bilinear(): input is %d-D and weight is %d-D, want 1 and 3", a->ndim,
                       w->ndim);
    for (int d = 0; d < a->ndim - 1; d++)
        if (a->sizes[d] != b->sizes[d])
            return dp_fail(ctx, DP_ERUNTIME,
                           "bilinear(): input batch dimensions do not match at dim %d: got %" PRId64
                           " and %" PRId64,
                           d, a->sizes[d], b->sizes[d]);
    for (int i = 0; i < 2; i++)
        if (sides[i]->sizes[a->ndim - 1] != w->sizes[i + 1])
            return dp_fail(ctx, DP_ERUNTIME,
                           "bilinear(): input%d size does not match weight size: got %" PRId64
                           " but expected %" PRId64,
                           i + 1, sides[i]->sizes[a->ndim - 1], w->sizes[i + 1]);
    if (bias != NULL) {
        DP_VIEW(c, bias);
        if (c.ndim == 0 || c.sizes[0] != w->sizes[0])
            return dp_fail(ctx, DP_ERUNTIME,
                           "bilinear(): bias size does not match weight size: got %" PRId64
                           " but expected %" PRId64,
                           c.ndim == 0 ? 1 : c.sizes[0], w->sizes[0]);
    }
    return 0;
}

/* aten::bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor
 * input1 [..., n], input2 [..., m], weight [o, n, m], bias [o] -> [..., o]. */
static int bilinear(dp_ctx *ctx, dp_tensor *input1, dp_tensor *input2, dp_tensor *weight,
                    dp_tensor *bias, dp_tensor **out)
{
    static const int64_t e1[] = {1, 3}, e2[] = {0}, e3[] = {1, 2}, sumdim[] = {2, 3};
    int64_t sizes[DP_DIM_MAX], rows = 1;
    temps s = {0};
    DP_VIEW(a, input1);
    DP_VIEW(b, input2);
    DP_VIEW(w, weight);
    int rc = check_bilinear(ctx, &a, &b, &w, bias);

    if (rc < 0)
        return rc;
    for (int d = 0; d < a.ndim - 1; d++)
        rows *= sizes[d] = a.sizes[d];
    sizes[a.ndim - 1] = w.sizes[0];
    const int64_t flat1[] = {rows, a.sizes[a.ndim - 1]}, flat2[] = {rows, b.sizes[a.ndim - 1]};
    rc = dp_invoke(ctx, "aten::reshape", "Tli>T", input1, flat1, (size_t)2, temps_next(&s));
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::reshape", "Tli>T", input2, flat2, (size_t)2, temps_next(&s));
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::_trilinear", "TTTlililili>T", s.made[0], weight, s.made[1], e1,
                       (size_t)2, e2, (size_t)1, e3, (size_t)2, sumdim, (size_t)2, temps_next(&s));
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::reshape", "Tli>T", s.made[2], sizes, (size_t)a.ndim,
                       temps_next(&s));
    if (rc == 0 && bias != NULL)
        rc = dp_invoke(ctx, "aten::add.Tensor", "TTs>T", s.made[3], bias, dp_int(1), out);
    else if (rc == 0)
        *out = dp_tensor_ref(s.made[3]);
    temps_fini(&s);
    return rc;
}

DP_LIBRARY_META(aten, CompositeExplicitAutogradNonFunctional,
                DP_IMPL_UNBOXED("_trilinear", trilinear, (T, T, T, li, li, li, li, i), (T)))
DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("bilinear", bilinear, (T, T, T, oT), (T)))
