/* linalg_tensor.c -- tensors as matrices: tensorinv, tensorsolve; Vandermonde matrices, products of vectors.
 * Source: aten/src/ATen/native/{LinearAlgebra,BatchLinearAlgebra,Cross}.cpp. */
#include "linalg.h"
#include <string.h>

static int64_t product(const int64_t *sizes, int n)
{
    int64_t p = 1;

    for (int i = 0; i < n; i++)
        p *= sizes[i];
    return p;
}

/* -- tensorinv -- */

static int tensorinv(dp_ctx *ctx, dp_tensor *self, int64_t ind, dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX];
    dp_tensor *matrix = NULL, *inverse = NULL, *info = NULL;
    DP_VIEW(a, self);

    if (ind <= 0 || ind > a.ndim)
        return dp_fail(ctx, ind <= 0 ? DP_ERUNTIME : DP_EVALUE,
                       "Expected a strictly positive integer for 'ind', but got %" PRId64 "%s", ind,
                       ind > 0 ? ", which is more than there are dimensions" : "");
    int n = (int)ind, rest = a.ndim - n;
    const int64_t flat[] = {product(a.sizes + n, rest), product(a.sizes, n)};
    if (flat[0] != flat[1])
        return dp_fail(ctx, DP_ERUNTIME,
                       "Expected self to satisfy the requirement prod(self.shape[ind:]) == "
                       "prod(self.shape[:ind]), but got %" PRId64 " != %" PRId64,
                       flat[0], flat[1]);
    memcpy(sizes, a.sizes + n, (size_t)rest * sizeof(int64_t));
    memcpy(sizes + rest, a.sizes, (size_t)n * sizeof(int64_t));
    int rc = dp_invoke(ctx, "aten::reshape", "Tli>T", self, flat, (size_t)2, &matrix);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::linalg_inv_ex", "T>TT", matrix, &inverse, &info);
    if (rc == 0)
        rc = linalg_check(ctx, info, "inv", true);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::reshape", "Tli>T", inverse, sizes, (size_t)a.ndim, out);
    dp_tensor_unref(matrix);
    dp_tensor_unref(inverse);
    dp_tensor_unref(info);
    return rc;
}

/* aten::linalg_tensorinv(Tensor self, int ind=2) -> Tensor */
static int run_tensorinv(dp_ctx *ctx, const dp_value *args, outs *o)
{
    dp_tensor *made = NULL;
    int rc = tensorinv(ctx, args[0].u.t, args[1].u.i, &made);
    return linalg_give(ctx, rc, made, o, "tensorinv");
}
OUTS_KERNEL(linalg_tensorinv, 2, run_tensorinv)

/* -- tensorsolve -- */

/* self with these dimensions at its end; *out owned. */
static int move_dims(dp_ctx *ctx, dp_tensor *self, const dp_value *dims, dp_tensor **out)
{
    int64_t to[DP_DIM_MAX];
    DP_VIEW(a, self);

    if (dims->tag == DP_TAG_NONE) {
        *out = dp_tensor_ref(self);
        return 0;
    }
    for (uint32_t i = 0; i < dims->len && i < DP_DIM_MAX; i++)
        to[i] = a.ndim - (int64_t)dims->len + i;
    int rc = check_ndim(ctx, dims->len);
    return rc < 0 ? rc
                  : dp_invoke(ctx, "aten::movedim.intlist", "Tlili>T", self, dims->u.ints,
                              (size_t)dims->len, to, (size_t)dims->len, out);
}

static int solve_flat(dp_ctx *ctx, dp_tensor *a, dp_tensor *other, dp_tensor **out)
{
    dp_tensor *matrix = NULL, *row = NULL, *made = NULL;
    const int64_t all = -1;
    DP_VIEW(x, a);
    DP_VIEW(y, other);

    if (y.ndim > x.ndim)
        return dp_fail(ctx, DP_EVALUE,
                       "linalg.tensorsolve: other has %d dimensions, more than self's %d", y.ndim,
                       x.ndim);
    int rest = x.ndim - y.ndim;
    const int64_t *sizes = x.sizes + y.ndim, n = product(sizes, rest), flat[] = {n, n};
    if (n != y.numel)
        return dp_fail(ctx, DP_ERUNTIME,
                       "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
                       "prod(self.shape[:other.ndim]), but got %" PRId64 " != %" PRId64,
                       n, y.numel);
    int rc = dp_invoke(ctx, "aten::reshape", "Tli>T", a, flat, (size_t)2, &matrix);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::reshape", "Tli>T", other, y.numel > 0 ? &all : &y.numel,
                       (size_t)1, &row);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::linalg_solve", "TT>T", matrix, row, &made);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::reshape", "Tli>T", made, sizes, (size_t)rest, out);
    dp_tensor_unref(matrix);
    dp_tensor_unref(row);
    dp_tensor_unref(made);
    return rc;
}

/* aten::linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor */
static int run_tensorsolve(dp_ctx *ctx, const dp_value *args, outs *o)
{
    dp_tensor *moved = NULL, *made = NULL;
    int rc = move_dims(ctx, args[0].u.t, &args[2], &moved);

    if (rc == 0)
        rc = solve_flat(ctx, moved, args[1].u.t, &made);
    dp_tensor_unref(moved);
    return linalg_give(ctx, rc, made, o, "tensorsolve");
}
OUTS_KERNEL(linalg_tensorsolve, 3, run_tensorsolve)

/* -- Vandermonde -- */

/* Powers 0 to n - 1 of x [...] in a last dimension; n > 1. */
static int powers(dp_ctx *ctx, dp_tensor *x, int64_t n, dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX + 1], one[DP_DIM_MAX + 1];
    dp_tensor *column = NULL, *wide = NULL, *product = NULL, *ones = NULL;
    DP_VIEW(a, x);
    const int64_t dtype = dp_dtype_is_integral(a.dtype, true) ? DP_INT64 : a.dtype,
                  device = a.device;
    int rc = check_ndim(ctx, (size_t)a.ndim + 1);

    if (rc < 0)
        return rc;
    memcpy(sizes, a.sizes, (size_t)a.ndim * sizeof(int64_t));
    memcpy(one, a.sizes, (size_t)a.ndim * sizeof(int64_t));
    sizes[a.ndim] = n - 1;
    one[a.ndim] = 1;
    rc = dp_invoke(ctx, "aten::unsqueeze", "Ti>T", x, (int64_t)-1, &column);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::expand", "Tlib>T", column, sizes, (size_t)a.ndim + 1, (int)false,
                       &wide);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::cumprod", "Ti>T", wide, (int64_t)-1, &product);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::ones", "lioioioi>T", one, (size_t)a.ndim + 1, &dtype, NULL,
                       &device, &ones);
    if (rc == 0) {
        dp_tensor *const parts[] = {ones, product};
        rc = dp_invoke(ctx, "aten::cat", "lTi>T", parts, (size_t)2, (int64_t)-1, out);
    }
    dp_tensor *const gone[] = {column, wide, product, ones};
    for (int i = 0; i < 4; i++)
        dp_tensor_unref(gone[i]);
    return rc;
}

/* aten::linalg_vander(Tensor x, *, int? N=None) -> Tensor */
static int linalg_vander(dp_ctx *ctx, dp_tensor *x, const int64_t *N, dp_tensor **out)
{
    DP_VIEW(a, x);
    int64_t n = N ? *N : a.ndim > 0 ? a.sizes[a.ndim - 1] : 1;

    if (a.dtype == DP_BOOL)
        return dp_fail(ctx, DP_ERUNTIME,
                       "linalg.vander supports floating point, complex, and integer tensors, but "
                       "got Bool");
    if (n <= 1)
        return dp_fail(ctx, DP_ERUNTIME, "N must be greater than 1.");
    if (a.ndim > 0)
        return powers(ctx, x, n, out);
    dp_tensor *row = NULL;
    int rc = dp_invoke(ctx, "aten::unsqueeze", "Ti>T", x, (int64_t)0, &row);
    if (rc == 0)
        rc = powers(ctx, row, n, out);
    dp_tensor_unref(row);
    return rc;
}

/* aten::vander(Tensor x, int? N=None, bool increasing=False) -> Tensor */
static int vander(dp_ctx *ctx, dp_tensor *x, const int64_t *N, bool increasing, dp_tensor **out)
{
    const int64_t last = -1;
    dp_tensor *made = NULL, *part = NULL;
    DP_VIEW(a, x);

    if (a.ndim != 1)
        return dp_fail(ctx, DP_ERUNTIME, "x must be a one-dimensional tensor.");
    int64_t n = N ? *N : a.sizes[0];
    if (n < 0)
        return dp_fail(ctx, DP_ERUNTIME, "N must be non-negative.");
    int rc = powers(ctx, x, n > 1 ? n : 2, &made);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::narrow", "Tiii>T", made, last, (int64_t)0, n, &part);
    if (rc == 0 && increasing)
        rc = dp_invoke(ctx, "aten::clone", "T>T", part, out);
    else if (rc == 0)
        rc = dp_invoke(ctx, "aten::flip", "Tli>T", part, &last, (size_t)1, out);
    dp_tensor_unref(made);
    dp_tensor_unref(part);
    return rc;
}

/* -- products of vectors -- */

static int check_vecdot(dp_ctx *ctx, const dp_view *x, const dp_view *y, const outs *o)
{
    if (!linalg_inexact(x->dtype))
        return dp_fail(
            ctx, DP_ERUNTIME,
            "linalg.vecdot: Expected a floating point or complex tensor as input. Got %s",
            linalg_type_name(x->dtype));
    if (x->dtype != y->dtype)
        return dp_fail(
            ctx, DP_ERUNTIME,
            "linalg.vecdot: Expected x and y to have the same dtype, but found x of type "
            "%s and y of type %s instead",
            linalg_type_name(x->dtype), linalg_type_name(y->dtype));
    if (o->given) {
        DP_VIEW(out, o->t[0]);
        if (out.dtype != x->dtype)
            return dp_fail(ctx, DP_ERUNTIME, "linalg.vecdot: Expected out of dtype%s but found %s",
                           linalg_type_name(x->dtype), linalg_type_name(out.dtype));
    }
    return 0;
}

/* The sum of products along dim, the first factors conjugated. */
static int vecdot(dp_ctx *ctx, dp_tensor *x, dp_tensor *y, int64_t dim, dp_tensor **out)
{
    dp_tensor *conjugate = NULL, *products = NULL;
    int rc = dp_invoke(ctx, "aten::conj", "T>T", x, &conjugate);

    if (rc == 0)
        rc = dp_invoke(ctx, "aten::mul.Tensor", "TT>T", conjugate, y, &products);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::sum.dim_IntList", "Toli>T", products, &dim, (size_t)1, out);
    dp_tensor_unref(conjugate);
    dp_tensor_unref(products);
    return rc;
}

/* aten::linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor */
static int run_vecdot(dp_ctx *ctx, const dp_value *args, outs *o)
{
    dp_tensor *made = NULL;
    DP_VIEW(x, args[0].u.t);
    DP_VIEW(y, args[1].u.t);
    int rc = check_vecdot(ctx, &x, &y, o);

    if (rc == 0 && x.ndim == 1 && y.ndim == 1)
        rc = dp_invoke(ctx, "aten::vdot", "TT>T", args[0].u.t, args[1].u.t, &made);
    else if (rc == 0)
        rc = vecdot(ctx, args[0].u.t, args[1].u.t, args[2].u.i, &made);
    return linalg_give(ctx, rc, made, o, "linalg.vecdot");
}
OUTS_KERNEL(linalg_vecdot, 3, run_vecdot)

/* aten::cross(Tensor self, Tensor other, int? dim=None) -> Tensor
 * Without dim the first dimension of size 3. */
static int run_cross(dp_ctx *ctx, const dp_value *args, outs *o)
{
    DP_VIEW(a, args[0].u.t);
    int64_t dim = args[2].tag == DP_TAG_NONE ? 0 : args[2].u.i;

    while (args[2].tag == DP_TAG_NONE && dim < a.ndim && a.sizes[dim] != 3)
        dim++;
    if (args[2].tag == DP_TAG_NONE && dim >= a.ndim)
        return dp_fail(ctx, DP_ERUNTIME, "no dimension of size 3 in input");
    return o->given ? dp_invoke(ctx, "aten::linalg_cross.out", "TTiT>", args[0].u.t, args[1].u.t,
                                dim, o->t[0])
                    : dp_invoke(ctx, "aten::linalg_cross", "TTi>T", args[0].u.t, args[1].u.t, dim,
                                &o->t[0]);
}
OUTS_KERNEL(cross, 3, run_cross)

/* aten::linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a) */
static int linalg_diagonal(dp_ctx *ctx, dp_tensor *A, int64_t offset, int64_t dim1, int64_t dim2,
                           dp_tensor **out)
{
    return dp_invoke(ctx, "aten::diagonal", "Tiii>T", A, offset, dim1, dim2, out);
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL("linalg_tensorinv", linalg_tensorinv),
                DP_IMPL("linalg_tensorinv.out", linalg_tensorinv),
                DP_IMPL("linalg_tensorsolve", linalg_tensorsolve),
                DP_IMPL("linalg_tensorsolve.out", linalg_tensorsolve),
                DP_IMPL_UNBOXED("linalg_vander", linalg_vander, (T, oi), (T)),
                DP_IMPL_UNBOXED("vander", vander, (T, oi, b), (T)),
                DP_IMPL("linalg_vecdot", linalg_vecdot),
                DP_IMPL("linalg_vecdot.out", linalg_vecdot), DP_IMPL("cross", cross),
                DP_IMPL("cross.out", cross),
                DP_IMPL_UNBOXED("linalg_diagonal", linalg_diagonal, (T, i, i, i), (T)))
