/* pinverse_rank.c -- pseudo-inverses and ranks of matrices, computed from the singular values above
 * a tolerance (aten/src/ATen/native/LinearAlgebra.cpp).
 *
 * Operators: linalg_matrix_rank, linalg_pinv, pinverse. */
#include "core/chain.h"
#include "linalg.h"

/* Tolerances; NULL: not given.  They are borrowed from the call or from a chain. */
typedef struct tolerances {
    dp_tensor *atol, *rtol;
} tolerances;

static int check_real(dp_ctx *ctx, const dp_tensor *t, const char *name, const char *which)
{
    if (t == NULL)
        return 0;
    DP_VIEW(v, t);
    if (!dp_dtype_is_complex(v.dtype))
        return 0;
    return dp_fail(ctx, DP_ERUNTIME, "%s: %s tensor of complex type is not supported. Got %s", name,
                   which, linalg_type_name(v.dtype));
}

static dp_tensor *number(chain *c, double value, dp_dtype d, dp_device device)
{
    dp_tensor *t = NULL;

    if (c->rc == 0)
        c->rc = call_empty(c->ctx, d, device, 0, NULL, &t);
    if (c->rc == 0 && chain_keep(c, t) != NULL)
        c->rc = dp_invoke(c->ctx, "aten::fill_.Scalar", "Ts>", t, dp_double(value));
    return c->rc == 0 ? t : NULL;
}

/* Set *rtol to the default: eps times the longer side.  DP_ERUNTIME: the dtype is neither float32
 * nor float64 (or complex). */
static int default_rtol(dp_ctx *ctx, const dp_view *a, double *rtol)
{
    dp_dtype d = linalg_real(a->dtype);

    if (a->ndim < 2)
        return dp_fail(ctx, DP_EINDEX,
                       "Dimension out of range (expected to be in range of [-%d, %d], but got -2)",
                       a->ndim, a->ndim - 1);
    int64_t m = a->sizes[a->ndim - 2], n = a->sizes[a->ndim - 1];

    if (d != DP_FLOAT32 && d != DP_FLOAT64)
        return dp_fail(ctx, DP_ERUNTIME,
                       "This function doesn't handle types other than float and double");
    *rtol = (d == DP_FLOAT64 ? __DBL_EPSILON__ : (double)__FLT_EPSILON__) * (double)(m > n ? m : n);
    return 0;
}

static dp_tensor *choose(chain *c, dp_tensor *condition, dp_tensor *yes, dp_tensor *no)
{
    dp_tensor *made = NULL;

    if (c->rc == 0)
        c->rc = dp_invoke(c->ctx, "aten::where.self", "TTT>T", condition, yes, no, &made);
    return c->rc == 0 ? chain_keep(c, made) : NULL;
}

/* Set the tolerances that are not given: atol is 0; rtol is the default of the dtype, or 0 for
 * matrices whose atol is positive.  Source: get_atol_rtol. */
static void complete(chain *c, const dp_view *a, tolerances *t, const char *name)
{
    dp_tensor *atol = t->atol;
    double rtol;

    c->rc = check_real(c->ctx, t->atol, name, "atol");
    if (c->rc == 0)
        c->rc = check_real(c->ctx, t->rtol, name, "rtol");
    if (c->rc == 0 && t->atol == NULL)
        t->atol = number(c, 0, DP_FLOAT64, a->device);
    if (c->rc < 0 || t->rtol != NULL)
        return;
    c->rc = default_rtol(c->ctx, a, &rtol);
    t->rtol = number(c, rtol, DP_FLOAT64, a->device);
    if (atol != NULL)
        t->rtol = choose(c, chain_Ts(c, "aten::gt.Scalar", atol, dp_int(0)),
                         number(c, 0, DP_FLOAT64, a->device), t->rtol);
}

/* Return the greater of atol and rtol * most, where most has sizes [..., 1]. */
static dp_tensor *threshold(chain *c, const tolerances *t, dp_tensor *most)
{
    dp_tensor *atol = chain_Ts(c, "aten::unsqueeze", t->atol, dp_int(-1));
    dp_tensor *rtol = chain_Ts(c, "aten::unsqueeze", t->rtol, dp_int(-1));

    return chain_TT(c, "aten::max.other", atol, chain_TT(c, "aten::mul.Tensor", rtol, most));
}

static dp_tensor *first_value(chain *c, dp_tensor *values)
{
    dp_tensor *t = NULL;

    if (c->rc == 0)
        c->rc = dp_invoke(c->ctx, "aten::narrow", "Tiii>T", values, (int64_t)-1, (int64_t)0,
                          (int64_t)1, &t);
    return c->rc == 0 ? chain_keep(c, t) : NULL;
}

static dp_tensor *largest(chain *c, dp_tensor *values)
{
    dp_tensor *t = NULL;
    const int64_t last = -1;

    if (c->rc == 0)
        c->rc = dp_invoke(c->ctx, "aten::amax", "Tlib>T", values, &last, (size_t)1, (int)true, &t);
    return c->rc == 0 ? chain_keep(c, t) : NULL;
}

static dp_tensor *transposed(chain *c, dp_tensor *t)
{
    dp_tensor *made = NULL;

    if (c->rc == 0)
        c->rc = linalg_mH(c->ctx, t, &made);
    return c->rc == 0 ? chain_keep(c, made) : NULL;
}

/* -- pinv -- */

static int check_pinv(dp_ctx *ctx, const dp_view *a)
{
    char text[DP_SHAPE_TEXT];
    dp_dtype d = linalg_real(a->dtype);

    if (a->ndim >= 2 && (d == DP_FLOAT32 || d == DP_FLOAT64))
        return 0;
    return dp_fail(ctx, DP_ERUNTIME,
                   "linalg.pinv(%s{%s}): expected a tensor with 2 or more dimensions of float, "
                   "double, cfloat or cdouble types",
                   linalg_type_name(a->dtype), dp_shape_text(text, a->sizes, (size_t)a->ndim));
}

/* Return v diag(inverse) u^H. */
static dp_tensor *product(chain *c, dp_tensor *v, dp_tensor *inverse, dp_tensor *u)
{
    dp_tensor *row = chain_Ts(c, "aten::unsqueeze", inverse, dp_int(-2));

    return chain_TT(c, "aten::matmul", chain_TT(c, "aten::mul.Tensor", v, row), transposed(c, u));
}

/* Return 1 / values where `size` is greater than the threshold, else 0, in A's dtype. */
static dp_tensor *inverses(chain *c, const dp_view *a, dp_tensor *values, dp_tensor *size,
                           dp_tensor *most, const tolerances *t)
{
    dp_tensor *keeps = chain_TT(c, "aten::gt.Tensor", size, threshold(c, t, most));
    dp_tensor *made = choose(c, keeps, chain_T(c, "aten::reciprocal", values),
                             number(c, 0, linalg_real(a->dtype), a->device));

    dp_tensor *cast = NULL;
    if (c->rc == 0)
        c->rc = dp_invoke(c->ctx, "aten::to.dtype", "Ti>T", made, (int64_t)a->dtype, &cast);
    return c->rc == 0 ? chain_keep(c, cast) : NULL;
}

/* aten::linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? rtol=None,
 *     bool hermitian=False) -> Tensor */
static int pinv(dp_ctx *ctx, dp_tensor *self, dp_tensor *atol, dp_tensor *rtol, bool hermitian,
                dp_tensor **out)
{
    chain c = {.ctx = ctx};
    tolerances t = {atol, rtol};
    dp_tensor *u = NULL, *s = NULL, *v = NULL, *size, *inverse, *most;
    DP_VIEW(a, self);

    c.rc = check_pinv(ctx, &a);
    if (c.rc == 0)
        complete(&c, &a, &t, "torch.linalg.pinv");
    bool by_svd = !hermitian || a.numel == 0;
    if (c.rc == 0 && by_svd)
        c.rc = dp_invoke(ctx, "aten::svd", "T>TTT", self, &u, &s, &v);
    else if (c.rc == 0)
        c.rc = dp_invoke(ctx, "aten::linalg_eigh", "T>TT", self, &s, &u);
    if (c.rc < 0)
        return chain_end(&c, NULL, out);
    chain_keep(&c, u);
    chain_keep(&c, s);
    if (by_svd)
        chain_keep(&c, v);
    size = hermitian && a.numel > 0 ? chain_T(&c, "aten::abs", s) : s;
    if (a.numel == 0) {
        inverse = chain_T(&c, "aten::reciprocal", s);
    } else {
        most = hermitian ? largest(&c, size) : first_value(&c, s);
        inverse = inverses(&c, &a, s, size, most, &t);
    }
    return chain_end(&c, product(&c, by_svd ? v : u, inverse, u), out);
}

static dp_tensor *optional(const dp_value *v)
{
    return v->tag == DP_TAG_TENSOR ? v->u.t : NULL;
}

static int call_pinv(dp_ctx *ctx, dp_tensor *self, dp_tensor *atol, dp_tensor *rtol, bool hermitian,
                     outs *o)
{
    dp_tensor *made = NULL;
    int rc = dp_invoke(ctx, "aten::linalg_pinv.atol_rtol_tensor", "ToToTb>T", self, atol, rtol,
                       (int)hermitian, &made);
    return linalg_give(ctx, rc, made, o, "linalg.pinv");
}

/* aten::linalg_pinv.atol_rtol_tensor_out */
static int run_pinv(dp_ctx *ctx, const dp_value *args, outs *o)
{
    dp_tensor *made = NULL;
    int rc = pinv(ctx, args[0].u.t, optional(&args[1]), optional(&args[2]), args[3].u.b, &made);
    return linalg_give(ctx, rc, made, o, "linalg.pinv");
}
OUTS_KERNEL(pinv_tensors, 4, run_pinv)

/* Convert the tolerances to tensors; those that are not given are set as by get_atol_rtol(float?,
 * float?). */
static int as_tensors(chain *c, const dp_view *a, const dp_value *atol, const dp_value *rtol,
                      tolerances *t)
{
    double by = 0;

    if (rtol->tag != DP_TAG_NONE)
        by = rtol->u.d;
    else
        c->rc = default_rtol(c->ctx, a, &by);
    if (rtol->tag == DP_TAG_NONE && atol->tag != DP_TAG_NONE && atol->u.d > 0)
        by = 0;
    t->atol = number(c, atol->tag != DP_TAG_NONE ? atol->u.d : 0, DP_FLOAT64, a->device);
    t->rtol = number(c, by, DP_FLOAT64, a->device);
    return c->rc;
}

/* aten::linalg_pinv.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None,
 *     bool hermitian=False) -> Tensor */
static int run_pinv_floats(dp_ctx *ctx, const dp_value *args, outs *o)
{
    chain c = {.ctx = ctx};
    tolerances t = {NULL, NULL};
    DP_VIEW(a, args[0].u.t);
    int rc = as_tensors(&c, &a, &args[1], &args[2], &t);

    if (rc == 0)
        rc = call_pinv(ctx, args[0].u.t, t.atol, t.rtol, args[3].u.b, o);
    chain_end(&c, NULL, NULL);
    return rc;
}
OUTS_KERNEL(pinv_floats, 4, run_pinv_floats)

/* aten::linalg_pinv.rcond_tensor(Tensor self, Tensor rcond, bool hermitian=False) -> Tensor */
static int run_pinv_rcond(dp_ctx *ctx, const dp_value *args, outs *o)
{
    chain c = {.ctx = ctx};
    DP_VIEW(a, args[0].u.t);
    int rc = check_real(ctx, args[1].u.t, "torch.linalg.pinv", "rcond");
    dp_tensor *atol = rc == 0 ? number(&c, 0, DP_FLOAT64, a.device) : NULL;

    if (rc == 0)
        rc = c.rc;
    if (rc == 0)
        rc = call_pinv(ctx, args[0].u.t, atol, args[1].u.t, args[2].u.b, o);
    chain_end(&c, NULL, NULL);
    return rc;
}
OUTS_KERNEL(pinv_rcond_tensor, 3, run_pinv_rcond)

/* aten::linalg_pinv(Tensor self, float rcond, bool hermitian=False) -> Tensor */
static int run_pinv_number(dp_ctx *ctx, const dp_value *args, outs *o)
{
    const dp_value with[] = {args[0], dp_double(0), args[1], args[2]};
    return run_pinv_floats(ctx, with, o);
}
OUTS_KERNEL(pinv_rcond, 3, run_pinv_number)

/* aten::pinverse(Tensor self, float rcond=1.0000000000000001e-15) -> Tensor */
static int pinverse(dp_ctx *ctx, dp_tensor *self, double rcond, dp_tensor **out)
{
    return dp_invoke(ctx, "aten::linalg_pinv", "Tfb>T", self, rcond, (int)false, out);
}

/* -- matrix_rank -- */

/* Return the number of singular values above the threshold. */
static dp_tensor *rank_of(chain *c, dp_tensor *self, const tolerances *t, bool hermitian)
{
    const int64_t last = -1;
    dp_tensor *values = NULL, *most, *above, *made = NULL;

    if (c->rc == 0)
        c->rc = dp_invoke(c->ctx, hermitian ? "aten::linalg_eigvalsh" : "aten::linalg_svdvals",
                          "T>T", self, &values);
    if (c->rc == 0)
        chain_keep(c, values);
    if (hermitian)
        values = chain_T(c, "aten::abs", values);
    most = hermitian ? largest(c, values) : first_value(c, values);
    above = chain_TT(c, "aten::gt.Tensor", values, threshold(c, t, most));
    if (c->rc == 0)
        c->rc =
            dp_invoke(c->ctx, "aten::sum.dim_IntList", "Toli>T", above, &last, (size_t)1, &made);
    return c->rc == 0 ? chain_keep(c, made) : NULL;
}

/* Compute ranks.  As in PyTorch, out= is the output of sum, so it may have any dtype to which
 * integers can be cast. */
static int count(dp_ctx *ctx, dp_tensor *self, tolerances t, bool hermitian, outs *o)
{
    chain c = {.ctx = ctx};
    dp_tensor *made = NULL, *rank;
    DP_VIEW(a, self);
    int rc = linalg_check_matrix(ctx, &a, "torch.linalg.matrix_rank", "input");

    if (rc < 0)
        return rc;
    complete(&c, &a, &t, "torch.linalg.matrix_rank");
    if (c.rc == 0 && a.numel == 0) {
        c.rc = call_empty(ctx, DP_INT64, a.device, a.ndim - 2, a.sizes, &made);
        if (c.rc == 0)
            c.rc = dp_invoke(ctx, "aten::zero_", "T>", made);
        rc = chain_end(&c, NULL, NULL);
        return linalg_give(ctx, rc, made, o, "torch.linalg.matrix_rank");
    }
    rank = rank_of(&c, self, &t, hermitian);
    rc = chain_end(&c, rank, &made);
    return linalg_give(ctx, rc, made, o, "torch.linalg.matrix_rank");
}

/* aten::linalg_matrix_rank.atol_rtol_tensor(Tensor input, *, Tensor? atol=None, Tensor? rtol=None,
 *     bool hermitian=False) -> Tensor */
static int run_rank(dp_ctx *ctx, const dp_value *args, outs *o)
{
    tolerances t = {optional(&args[1]), optional(&args[2])};
    return count(ctx, args[0].u.t, t, args[3].u.b, o);
}
OUTS_KERNEL(rank_tensors, 4, run_rank)

/* aten::linalg_matrix_rank.atol_rtol_float */
static int run_rank_floats(dp_ctx *ctx, const dp_value *args, outs *o)
{
    chain c = {.ctx = ctx};
    tolerances t = {NULL, NULL};
    DP_VIEW(a, args[0].u.t);
    int rc = linalg_check_matrix(ctx, &a, "torch.linalg.matrix_rank", "input");

    if (rc == 0)
        rc = as_tensors(&c, &a, &args[1], &args[2], &t);
    if (rc == 0)
        rc = count(ctx, args[0].u.t, t, args[3].u.b, o);
    chain_end(&c, NULL, NULL);
    return rc;
}
OUTS_KERNEL(rank_floats, 4, run_rank_floats)

/* aten::linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) -> Tensor
 * tol is absolute. */
static int run_rank_number(dp_ctx *ctx, const dp_value *args, outs *o)
{
    const dp_value with[] = {args[0], args[1], dp_double(0), args[2]};
    return run_rank_floats(ctx, with, o);
}
OUTS_KERNEL(rank_number, 3, run_rank_number)

/* aten::linalg_matrix_rank.tol_tensor(Tensor input, Tensor tol, bool hermitian=False) -> Tensor */
static int run_rank_tol(dp_ctx *ctx, const dp_value *args, outs *o)
{
    chain c = {.ctx = ctx};
    DP_VIEW(a, args[0].u.t);
    tolerances t = {args[1].u.t, number(&c, 0, DP_FLOAT64, a.device)};
    int rc = c.rc == 0 ? count(ctx, args[0].u.t, t, args[2].u.b, o) : c.rc;

    chain_end(&c, NULL, NULL);
    return rc;
}
OUTS_KERNEL(rank_tol, 3, run_rank_tol)

/* clang-format off */
DP_LIBRARY_META(aten, CompositeExplicitAutogradNonFunctional,
                DP_IMPL_UNBOXED("linalg_pinv.atol_rtol_tensor", pinv, (T, oT, oT, b), (T)))
DP_LIBRARY_META(aten, CompositeExplicitAutograd,
                DP_IMPL("linalg_pinv.atol_rtol_tensor_out", pinv_tensors))
DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL("linalg_pinv.atol_rtol_float", pinv_floats),
                DP_IMPL("linalg_pinv.atol_rtol_float_out", pinv_floats),
                DP_IMPL("linalg_pinv", pinv_rcond), DP_IMPL("linalg_pinv.out", pinv_rcond),
                DP_IMPL("linalg_pinv.rcond_tensor", pinv_rcond_tensor),
                DP_IMPL("linalg_pinv.out_rcond_tensor", pinv_rcond_tensor),
                DP_IMPL_UNBOXED("pinverse", pinverse, (T, f), (T)),
                DP_IMPL("linalg_matrix_rank.atol_rtol_tensor", rank_tensors),
                DP_IMPL("linalg_matrix_rank.atol_rtol_tensor_out", rank_tensors),
                DP_IMPL("linalg_matrix_rank.atol_rtol_float", rank_floats),
                DP_IMPL("linalg_matrix_rank.atol_rtol_float_out", rank_floats),
                DP_IMPL("linalg_matrix_rank", rank_number),
                DP_IMPL("linalg_matrix_rank.out", rank_number),
                DP_IMPL("linalg_matrix_rank.tol_tensor", rank_tol),
                DP_IMPL("linalg_matrix_rank.out_tol_tensor", rank_tol))
/* clang-format on */
