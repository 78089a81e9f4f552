/* batch_linear_algebra.c -- operators of linear algebra that call decompositions: svd, symeig,
 * cholesky_solve, linalg_eigvals, logdet, linalg_matrix_power, matrix_exp_backward
 * (aten/src/ATen/native/BatchLinearAlgebra.cpp, LinearAlgebra.cpp). */
#include "core/chain.h"
#include "linalg.h"
#include <string.h>

/* -- svd -- */

static int zeros(dp_ctx *ctx, const dp_view *a, int64_t side, dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX];

    dp_copy_n(sizes, a->sizes, (size_t)a->ndim, sizeof(int64_t));
    sizes[a->ndim - 2] = sizes[a->ndim - 1] = side;
    int rc = call_empty(ctx, a->dtype, a->device, a->ndim, sizes, out);
    return rc == 0 ? dp_invoke(ctx, "aten::zero_", "T>", *out) : rc;
}

/* Set U, S and V of self; without `vectors`, U and V are zeros. */
static int svd_of(dp_ctx *ctx, dp_tensor *self, bool some, bool vectors, dp_tensor **made)
{
    dp_tensor *vh = NULL;
    DP_VIEW(a, self);
    int rc;

    if (a.ndim < 2)
        return dp_fail(ctx, DP_ERUNTIME,
                       "linalg.svd: input should have at least 2 dimensions, but has %d dimensions "
                       "instead",
                       a.ndim);
    if (vectors) {
        rc =
            dp_invoke(ctx, "aten::linalg_svd", "Tb>TTT", self, (int)!some, &made[0], &made[1], &vh);
    } else {
        rc = dp_invoke(ctx, "aten::linalg_svdvals", "T>T", self, &made[1]);
        if (rc == 0)
            rc = zeros(ctx, &a, a.sizes[a.ndim - 2], &made[0]);
        if (rc == 0)
            rc = zeros(ctx, &a, a.sizes[a.ndim - 1], &vh);
    }
    if (rc == 0)
        rc = linalg_mH(ctx, vh, &made[2]);
    dp_tensor_unref(vh);
    return rc;
}

/* Resize output `i` to the shape of `made`, whose dtype it must have; with `strided`, give it the
 * same strides. */
static int place_same(dp_ctx *ctx, int rc, const dp_tensor *made, outs *o, int i, bool strided)
{
    if (rc < 0 || !o->given)
        return rc;
    DP_VIEW(x, made);
    return dp_set_output(ctx, &o->t[i], x.ndim, x.sizes, strided ? x.strides : NULL, x.dtype,
                         x.device);
}

/* aten::svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V) */
static int run_svd(dp_ctx *ctx, const dp_value *args, outs *o)
{
    dp_tensor *made[3] = {NULL, NULL, NULL};
    int rc = svd_of(ctx, args[0].u.t, args[1].u.b, args[2].u.b, made);

    for (int i = 0; i < 3; i++)
        rc = place_same(ctx, rc, made[i], o, i, args[2].u.b);
    return linalg_fill(ctx, rc, made, o);
}
OUTS_KERNEL(svd, 3, run_svd)

/* -- symeig, cholesky_solve -- */

/* aten::symeig(Tensor self, bool eigenvectors=False, bool upper=True)
 *     -> (Tensor eigenvalues, Tensor eigenvectors) */
static int run_symeig(dp_ctx *ctx, const dp_value *args, outs *o)
{
    dp_tensor *made[2] = {NULL, NULL};
    DP_VIEW(a, args[0].u.t);
    int rc = linalg_check_square(ctx, &a, "linalg.symeig");

    dp_warn(ctx,
            "torch.symeig is deprecated in favor of torch.linalg.eigh and will be removed in a "
            "future PyTorch release.\nThe default behavior has changed from using the upper "
            "triangular portion of the matrix by default to using the lower triangular "
            "portion.\nL, _ = torch.symeig(A, upper=upper)\nshould be replaced with\n"
            "L = torch.linalg.eigvalsh(A, UPLO='U' if upper else 'L')\nand\n"
            "L, V = torch.symeig(A, eigenvectors=True)\nshould be replaced with\n"
            "L, V = torch.linalg.eigh(A, UPLO='U' if upper else 'L')");
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::_symeig_helper", "Tbb>TT", args[0].u.t, (int)args[1].u.b,
                       (int)args[2].u.b, &made[0], &made[1]);
    rc = linalg_place(ctx, rc, made[0], o, 0, "symeig", "eigenvalues");
    rc = linalg_place(ctx, rc, made[1], o, 1, "symeig", "eigenvectors");
    return linalg_fill(ctx, rc, made, o);
}
OUTS_KERNEL(symeig, 3, run_symeig)

/* Set *out, owned, to `t` expanded to the broadcast batch dimensions of both tensors; the last two
 * dimensions do not change. */
static int expand_batch(dp_ctx *ctx, dp_tensor *t, const dp_tensor *other, dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX];
    DP_VIEW(x, t);
    DP_VIEW(y, other);
    int n = (x.ndim > y.ndim ? x.ndim : y.ndim) - 2;
    int rc = dp_broadcast_shapes(ctx, x.ndim - 2, x.sizes, y.ndim - 2, y.sizes, sizes);

    sizes[n] = x.sizes[x.ndim - 2];
    sizes[n + 1] = x.sizes[x.ndim - 1];
    return rc < 0
               ? rc
               : dp_invoke(ctx, "aten::expand", "Tlib>T", t, sizes, (size_t)n + 2, (int)false, out);
}

static int check_cholesky_solve(dp_ctx *ctx, const dp_view *b, const dp_view *a)
{
    if (b->ndim < 2 || a->ndim < 2)
        return dp_fail(ctx, DP_ERUNTIME,
                       "%s should have at least 2 dimensions, but has %d dimensions instead",
                       b->ndim < 2 ? "b" : "u", b->ndim < 2 ? b->ndim : a->ndim);
    if (b->dtype != a->dtype)
        return dp_fail(ctx, DP_ERUNTIME,
                       "Expected b and A to have the same dtype, but found b of type %s and A of "
                       "type %s instead.",
                       linalg_type_name(b->dtype), linalg_type_name(a->dtype));
    int64_t rows = a->sizes[a->ndim - 2], cols = a->sizes[a->ndim - 1];
    if (rows != cols)
        return dp_fail(ctx, DP_ERUNTIME,
                       "A must be batches of square matrices, but they are %" PRId64 " by %" PRId64
                       " matrices",
                       rows, cols);
    if (cols == b->sizes[b->ndim - 2])
        return 0;
    return dp_fail(ctx, DP_ERUNTIME,
                   "Incompatible matrix sizes for cholesky_solve: each A matrix is %" PRId64
                   " by %" PRId64 " but each b matrix is %" PRId64 " by %" PRId64,
                   cols, cols, b->sizes[b->ndim - 2], b->sizes[b->ndim - 1]);
}

/* aten::cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor */
static int run_cholesky_solve(dp_ctx *ctx, const dp_value *args, outs *o)
{
    dp_tensor *b = NULL, *a = NULL, *made = NULL;
    DP_VIEW(x, args[0].u.t);
    DP_VIEW(y, args[1].u.t);
    int rc = check_cholesky_solve(ctx, &x, &y);

    if (rc == 0)
        rc = expand_batch(ctx, args[0].u.t, args[1].u.t, &b);
    if (rc == 0)
        rc = expand_batch(ctx, args[1].u.t, args[0].u.t, &a);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::_cholesky_solve_helper", "TTb>T", b, a, (int)args[2].u.b, &made);
    dp_tensor_unref(b);
    dp_tensor_unref(a);
    return linalg_give(ctx, rc, made, o, "cholesky_solve");
}
OUTS_KERNEL(cholesky_solve, 3, run_cholesky_solve)

/* -- eigvals, logdet -- */

/* aten::linalg_eigvals(Tensor self) -> Tensor
 * If autograd records the call, the vectors are computed, too, because the gradient needs them. */
static int linalg_eigvals(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    dp_tensor *vectors = NULL;
    const int64_t none = 0;
    DP_VIEW(a, self);
    dp_dtype d = a.dtype == DP_FLOAT32   ? DP_COMPLEX64
                 : a.dtype == DP_FLOAT64 ? DP_COMPLEX128
                                         : a.dtype;

    if (!linalg_inexact(d))
        return dp_fail(ctx, DP_ERUNTIME, "Unknown Complex ScalarType for %s", linalg_type_name(d));
    if (linalg_recorded(ctx, self)) {
        int rc = dp_invoke(ctx, "aten::linalg_eig", "T>TT", self, out, &vectors);
        dp_tensor_unref(vectors);
        return rc;
    }
    int rc = call_empty(ctx, d, a.device, 1, &none, out);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::linalg_eigvals.out", "TT>", self, *out);
    return release_on_error(rc, out);
}

static int check_logdet(dp_ctx *ctx, const dp_view *a)
{
    int rc = linalg_check_square(ctx, a, "logdet");

    if (rc < 0)
        return rc;
    if (!linalg_inexact(a->dtype))
        return dp_fail(ctx, DP_ERUNTIME,
                       "logdet: Expected a floating point or complex tensor as input. Got %s",
                       linalg_type_name(a->dtype));
    if (a->dtype == DP_FLOAT16 || a->dtype == DP_BFLOAT16)
        return dp_fail(ctx, DP_ERUNTIME, "logdet: Low precision dtypes not supported. Got %s",
                       linalg_type_name(a->dtype));
    return 0;
}

/* aten::logdet(Tensor self) -> Tensor */
static int logdet(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    dp_tensor *sign = NULL, *log = NULL, *nan = NULL, *made;
    DP_VIEW(a, self);

    c.rc = check_logdet(ctx, &a);
    if (c.rc == 0)
        c.rc = dp_invoke(ctx, "aten::linalg_slogdet", "T>TT", self, &sign, &log);
    if (c.rc < 0)
        return c.rc;
    chain_keep(&c, sign);
    chain_keep(&c, log);
    if (dp_dtype_is_complex(a.dtype)) {
        made = chain_TT(&c, "aten::add.Tensor", chain_T(&c, "aten::log", sign), log);
        return chain_end(&c, made, out);
    }
    dp_tensor *negative = chain_Ts(&c, "aten::eq.Scalar", sign, dp_double(-1));
    made = NULL;
    if (c.rc == 0)
        c.rc = dp_invoke(ctx, "aten::masked_fill.Scalar", "TTs>T", log, negative, dp_double(NAN),
                         &nan);
    if (c.rc == 0)
        made = chain_keep(&c, nan);
    return chain_end(&c, made, out);
}

/* -- powers -- */

/* Replace *power by its product with `by`. */
static int multiply_by(dp_ctx *ctx, dp_tensor **power, dp_tensor *by)
{
    dp_tensor *made = NULL;
    int rc = dp_invoke(ctx, "aten::matmul", "TT>T", *power, by, &made);

    if (rc == 0) {
        dp_tensor_unref(*power);
        *power = made;
    }
    return rc;
}

/* Set *out, owned, to self^n by repeated squaring; n > 1. */
static int raise(dp_ctx *ctx, dp_tensor *self, uint64_t n, dp_tensor **out)
{
    dp_tensor *square = dp_tensor_ref(self), *made = NULL;
    int rc = 0;

    for (; n > 0 && rc == 0; n >>= 1) {
        if (n & 1 && made == NULL)
            made = dp_tensor_ref(square);
        else if (n & 1)
            rc = multiply_by(ctx, &made, square);
        if (n > 1 && rc == 0)
            rc = multiply_by(ctx, &square, square);
    }
    dp_tensor_unref(square);
    if (rc < 0)
        made = dp_tensor_unref(made);
    *out = made;
    return rc;
}

static int identity_like(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    dp_tensor *eye = NULL;
    DP_VIEW(a, self);
    const int64_t dtype = a.dtype, device = a.device;
    /* the result is a clone of self, so that, as in PyTorch, it has a gradient, which is 0 */
    int rc = dp_invoke(ctx, "aten::clone", "Toi>T", self, &(int64_t){DP_CONTIGUOUS}, out);

    if (rc == 0)
        rc = dp_invoke(ctx, "aten::eye", "ioioioi>T", a.sizes[a.ndim - 1], &dtype, NULL, &device,
                       &eye);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::copy_", "TTb>", *out, eye, (int)false);
    dp_tensor_unref(eye);
    return release_on_error(rc, out);
}

/* aten::linalg_matrix_power(Tensor self, int n) -> Tensor */
static int run_power(dp_ctx *ctx, const dp_value *args, outs *o)
{
    dp_tensor *self = args[0].u.t, *base = NULL, *made = NULL;
    int64_t n = args[1].u.i;
    DP_VIEW(a, self);
    int rc = linalg_check_square(ctx, &a, "linalg.matrix_power");

    if (rc == 0 && o->given && n != 0 && n != 1) {
        DP_VIEW(y, o->t[0]);
        if (y.dtype != a.dtype)
            rc = dp_fail(ctx, DP_ERUNTIME,
                         "Expected out tensor to have dtype %s, but got %s instead",
                         dp_dtype_name(a.dtype), dp_dtype_name(y.dtype));
    }
    if (rc == 0 && n == 0)
        rc = identity_like(ctx, self, &made);
    else if (rc == 0 && n == 1)
        rc = dp_invoke(ctx, "aten::clone", "Toi>T", self, &(int64_t){DP_CONTIGUOUS}, &made);
    else if (rc == 0 && n < 0)
        rc = dp_invoke(ctx, "aten::linalg_inv", "T>T", self, &base);
    else
        base = dp_tensor_ref(self);
    if (rc == 0 && base != NULL && n == -1)
        made = dp_tensor_ref(base);
    else if (rc == 0 && base != NULL && made == NULL)
        rc = raise(ctx, base, n < 0 ? -(uint64_t)n : (uint64_t)n, &made);
    dp_tensor_unref(base);
    return linalg_give(ctx, rc, made, o, "matrix_power");
}
OUTS_KERNEL(linalg_matrix_power, 2, run_power)

/* aten::matrix_exp_backward(Tensor self, Tensor grad) -> Tensor
 * The result is a block of the exponential of [A^H, grad; 0, A^H]. */
static int matrix_exp_backward(dp_ctx *ctx, dp_tensor *self, dp_tensor *grad, dp_tensor **out)
{
    dp_tensor *transposed = NULL, *nothing = NULL, *upper = NULL, *lower = NULL, *both = NULL,
              *made = NULL, *part = NULL;
    DP_VIEW(a, self);
    int rc = linalg_check_square(ctx, &a, "matrix_exp_backward");

    if (rc == 0)
        rc = linalg_mH(ctx, self, &transposed);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::zeros_like", "T>T", grad, &nothing);
    if (rc == 0) {
        dp_tensor *const row[] = {transposed, grad};
        rc = dp_invoke(ctx, "aten::cat", "lTi>T", row, (size_t)2, (int64_t)-1, &upper);
    }
    if (rc == 0) {
        dp_tensor *const row[] = {nothing, transposed};
        rc = dp_invoke(ctx, "aten::cat", "lTi>T", row, (size_t)2, (int64_t)-1, &lower);
    }
    if (rc == 0) {
        dp_tensor *const rows[] = {upper, lower};
        rc = dp_invoke(ctx, "aten::cat", "lTi>T", rows, (size_t)2, (int64_t)-2, &both);
    }
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::matrix_exp", "T>T", both, &made);
    int64_t n = rc == 0 ? a.sizes[a.ndim - 1] : 0;
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::narrow", "Tiii>T", made, (int64_t)-2, (int64_t)0, n, &part);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::narrow", "Tiii>T", part, (int64_t)-1, n, n, out);
    dp_tensor *const gone[] = {transposed, nothing, upper, lower, both, made, part};
    for (int i = 0; i < 7; i++)
        dp_tensor_unref(gone[i]);
    return rc;
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL("svd", svd), DP_IMPL("svd.U", svd),
                DP_IMPL_UNBOXED("linalg_eigvals", linalg_eigvals, (T), (T)),
                DP_IMPL_UNBOXED("logdet", logdet, (T), (T)),
                DP_IMPL("linalg_matrix_power", linalg_matrix_power),
                DP_IMPL("linalg_matrix_power.out", linalg_matrix_power),
                DP_IMPL_UNBOXED("matrix_exp_backward", matrix_exp_backward, (T, T), (T)))
DP_LIBRARY_META(aten, CompositeExplicitAutograd, DP_IMPL("symeig", symeig),
                DP_IMPL("symeig.e", symeig), DP_IMPL("cholesky_solve", cholesky_solve),
                DP_IMPL("cholesky_solve.out", cholesky_solve))
