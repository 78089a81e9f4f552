/* cond.c -- linalg_cond, condition numbers computed from singular values or from norms
 * (aten/src/ATen/native/LinearAlgebra.cpp). */
#include "linalg.h"
#include "matrix_norm.h"
#include <string.h>

static int zeros_of(dp_ctx *ctx, const dp_view *a, dp_dtype d, dp_tensor **out)
{
    int rc = call_empty(ctx, d, a->device, a->ndim - 2, a->sizes, out);
    return rc == 0 ? dp_invoke(ctx, "aten::zero_", "T>", *out) : rc;
}

/* Set *out to the greatest singular value divided by the least or, with least_first, the inverse of
 * that. */
static int cond_by_values(dp_ctx *ctx, dp_tensor *self, bool least_first, dp_tensor **out)
{
    dp_tensor *values = NULL, *first = NULL, *last = NULL;
    int rc = dp_invoke(ctx, "aten::linalg_svdvals", "T>T", self, &values);

    if (rc == 0)
        rc = dp_invoke(ctx, "aten::select.int", "Tii>T", values, (int64_t)-1, (int64_t)0, &first);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::select.int", "Tii>T", values, (int64_t)-1, (int64_t)-1, &last);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::div.Tensor", "TT>T", least_first ? last : first,
                       least_first ? first : last, out);
    dp_tensor_unref(values);
    dp_tensor_unref(first);
    dp_tensor_unref(last);
    return rc;
}

/* Set *out to the sum of the singular values times the sum of their reciprocals. */
static int cond_nuclear(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    dp_tensor *values = NULL, *inverse = NULL, *a = NULL, *b = NULL;
    const int64_t last = -1;
    int rc = dp_invoke(ctx, "aten::linalg_svdvals", "T>T", self, &values);

    if (rc == 0)
        rc = dp_invoke(ctx, "aten::reciprocal", "T>T", values, &inverse);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::sum.dim_IntList", "Toli>T", values, &last, (size_t)1, &a);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::sum.dim_IntList", "Toli>T", inverse, &last, (size_t)1, &b);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::mul.Tensor", "TT>T", a, b, out);
    dp_tensor *const gone[] = {values, inverse, a, b};
    for (int i = 0; i < 4; i++)
        dp_tensor_unref(gone[i]);
    return rc;
}

/* Set *out, owned, to the inverse; it is infinite for singular matrices. */
static int inverse_of(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    dp_tensor *info = NULL, *odd = NULL, *column = NULL, *square = NULL;
    int rc = dp_invoke(ctx, "aten::linalg_inv_ex", "T>TT", self, out, &info);

    if (rc == 0)
        rc = dp_invoke(ctx, "aten::gt.Scalar", "Ts>T", info, dp_int(0), &odd);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::unsqueeze", "Ti>T", odd, (int64_t)-1, &column);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::unsqueeze", "Ti>T", column, (int64_t)-1, &square);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::masked_fill_.Scalar", "TTs>", *out, square, dp_double(INFINITY));
    dp_tensor *const gone[] = {info, odd, column, square};
    for (int i = 0; i < 4; i++)
        dp_tensor_unref(gone[i]);
    return rc;
}

/* Set *out to the norm of self times the norm of its inverse. */
static int cond_by_norms(dp_ctx *ctx, dp_tensor *self, const norm_order *ord, dp_tensor **out)
{
    static const int64_t last[] = {-2, -1};
    const double inf = INFINITY, minus = -INFINITY;
    dp_tensor *inverse = NULL, *a = NULL, *b = NULL;
    norm_args n = {.self = self};
    int rc = inverse_of(ctx, self, &inverse);

    if (rc == 0)
        rc = matrix_norm(ctx, &n, ord, last, 2, &a);
    n.self = inverse;
    if (rc == 0)
        rc = matrix_norm(ctx, &n, ord, last, 2, &b);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::mul.Tensor", "TT>T", a, b, out);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::nan_to_num_", "Tofofof>", *out, &inf, &inf, &minus);
    dp_tensor_unref(inverse);
    dp_tensor_unref(a);
    dp_tensor_unref(b);
    return rc;
}

static int check_cond(dp_ctx *ctx, const dp_view *a, const norm_order *o, bool square)
{
    char name[64], number[24];

    if (!square && a->ndim < 2)
        return dp_fail(ctx, DP_ERUNTIME,
                       "linalg.cond: The input tensor must have at least 2 dimensions.");
    snprintf(number, sizeof(number), "%g", o->p);
    snprintf(name, sizeof(name), "linalg.cond(ord=%.24s)", o->name ? o->name : number);
    int rc = square ? linalg_check_square(ctx, a, name) : 0;
    if (rc == 0 && (o->name ? strcmp(o->name, "fro") != 0 && strcmp(o->name, "nuc") != 0
                            : fabs(o->p) != 1 && fabs(o->p) != 2 && !isinf(o->p)))
        rc = dp_fail(ctx, DP_ERUNTIME, "linalg.cond got an invalid norm type: %.100s",
                     o->name ? o->name : number);
    return rc;
}

/* aten::linalg_cond(Tensor self, Scalar? p=None) -> Tensor, and p_str */
static int run_cond(dp_ctx *ctx, const dp_value *args, outs *o)
{
    dp_tensor *self = args[0].u.t, *made = NULL;
    bool named = args[1].tag == DP_TAG_STR;
    norm_order ord = {2, named ? args[1].u.s : NULL};
    DP_VIEW(a, self);

    if (args[1].tag == DP_TAG_COMPLEX)
        return dp_fail(ctx, DP_ERUNTIME, "linalg.cond: the norm type is a complex number");
    if (!named && args[1].tag != DP_TAG_NONE)
        ord.p = as_double(args[1]);
    int rc = check_cond(ctx, &a, &ord, named);
    if (rc == 0 && a.numel == 0)
        rc = zeros_of(ctx, &a, linalg_real(a.dtype), &made);
    else if (rc == 0 && named && strcmp(ord.name, "nuc") == 0)
        rc = cond_nuclear(ctx, self, &made);
    else if (rc == 0 && !named && fabs(ord.p) == 2)
        rc = cond_by_values(ctx, self, ord.p < 0, &made);
    else if (rc == 0 && (named || (rc = check_cond(ctx, &a, &ord, true)) == 0))
        rc = cond_by_norms(ctx, self, &ord, &made);
    return linalg_give(ctx, rc, made, o, "linalg.cond");
}
OUTS_KERNEL(linalg_cond, 2, run_cond)

DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL("linalg_cond", linalg_cond))
DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL("linalg_cond.out", linalg_cond))
DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL("linalg_cond.p_str", linalg_cond))
DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL("linalg_cond.p_str_out", linalg_cond))
