/* cross.c -- the products of vectors cross and linalg_vecdot, and linalg_diagonal
 * (aten/src/ATen/native/Cross.cpp, LinearAlgebra.cpp). */
#include "linalg.h"

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

/* Set *out to the sums of products along dim; the first factors are conjugated. */
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
    if (o->given)
        rc = refuse_recorded(ctx, rc, &made);
    return linalg_give(ctx, rc, made, o, "linalg.vecdot");
}
OUTS_KERNEL(linalg_vecdot, 3, run_vecdot)

/* aten::cross(Tensor self, Tensor other, int? dim=None) -> Tensor
 * Without dim, the first dimension of size 3 is used. */
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

DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL("cross", cross),
                DP_IMPL("linalg_vecdot.out", linalg_vecdot))
DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL("cross.out", cross),
                DP_IMPL("linalg_vecdot", linalg_vecdot),
                DP_IMPL_UNBOXED("linalg_diagonal", linalg_diagonal, (T, i, i, i), (T)))
