/* linalg.c -- helpers for composites of linear algebra, _linalg_check_errors and linalg_lstsq
 * (aten/src/ATen/native/BatchLinearAlgebra.cpp, LinearAlgebra.cpp). */
#include "linalg.h"
#include <dispatchd/check.h>
#include <string.h>

/* -- functions for other files -- */

const char *linalg_type_name(dp_dtype d)
{
    return dp_dtype_aten_name(d);
}

dp_dtype linalg_real(dp_dtype d)
{
    return d == DP_COMPLEX64 ? DP_FLOAT32 : d == DP_COMPLEX128 ? DP_FLOAT64 : d;
}

bool linalg_recorded(dp_ctx *ctx, const dp_tensor *t)
{
    const dp_mode *mode = dp_ctx_mode(ctx);
    return dp_tensor_may_grad(t) && !mode->no_grad && !mode->inference;
}

int linalg_check(dp_ctx *ctx, dp_tensor *info, const char *name, bool is_matrix)
{
    const dp_str s = {name, strlen(name)};
    return dp_invoke(ctx, "aten::_linalg_check_errors", "TSb>", info, s, (int)is_matrix);
}

int linalg_check_matrix(dp_ctx *ctx, const dp_view *v, const char *name, const char *arg)
{
    if (v->ndim >= 2)
        return 0;
    return dp_fail(ctx, DP_ERUNTIME, "%s: The input tensor %s must have at least 2 dimensions.",
                   name, arg);
}

int linalg_check_square(dp_ctx *ctx, const dp_view *v, const char *name)
{
    int rc = linalg_check_matrix(ctx, v, name, "A");

    if (rc < 0 || v->sizes[v->ndim - 1] == v->sizes[v->ndim - 2])
        return rc;
    return dp_fail(ctx, DP_ERUNTIME,
                   "%s: A must be batches of square matrices, but they are %" PRId64 " by %" PRId64
                   " matrices",
                   name, v->sizes[v->ndim - 2], v->sizes[v->ndim - 1]);
}

int linalg_mH(dp_ctx *ctx, dp_tensor *t, dp_tensor **out)
{
    dp_tensor *transposed = NULL;
    DP_VIEW(v, t);
    int rc =
        dp_invoke(ctx, "aten::transpose.int", "Tii>T", t, (int64_t)-2, (int64_t)-1, &transposed);

    if (rc < 0 || !dp_dtype_is_complex(v.dtype)) {
        *out = transposed;
        return rc;
    }
    rc = dp_invoke(ctx, "aten::conj", "T>T", transposed, out);
    dp_tensor_unref(transposed);
    return rc;
}

int linalg_place(dp_ctx *ctx, int rc, const dp_tensor *made, outs *o, int i, const char *name,
                 const char *arg)
{
    if (rc < 0 || !o->given)
        return rc;
    DP_VIEW(x, made);
    DP_VIEW(y, o->t[i]);
    arg = arg ? arg : "result";
    if (!dp_can_cast(x.dtype, y.dtype))
        return dp_fail(
            ctx, DP_ERUNTIME,
            "%s: Expected %s to be safely castable from %s dtype, but got %s with dtype %s", name,
            arg, linalg_type_name(x.dtype), arg, linalg_type_name(y.dtype));
    return dp_set_output(ctx, &o->t[i], x.ndim, x.sizes, NULL, DP_DTYPE_NONE, x.device);
}

int linalg_fill(dp_ctx *ctx, int rc, dp_tensor *const *made, outs *o)
{
    for (uint32_t i = 0; i < o->n; i++) {
        if (rc == 0 && o->given) {
            o->written = true;
            rc = dp_invoke(ctx, "aten::copy_", "TTb>", o->t[i], made[i], (int)false);
        }
        if (rc == 0 && !o->given)
            o->t[i] = made[i];
        else
            dp_tensor_unref(made[i]);
    }
    return rc;
}

int linalg_give(dp_ctx *ctx, int rc, dp_tensor *made, outs *o, const char *name)
{
    return linalg_fill(ctx, linalg_place(ctx, rc, made, o, 0, name, NULL), &made, o);
}

/* -- errors -- */

static bool has(const dp_value *name, const char *part)
{
    return strstr(name->u.s, part) != NULL;
}

/* error messages for a positive `info`, chosen by a part of the operator's name */
static const struct {
    /* text before and after the value of info; `after` NULL: the value is not printed */
    const char *part, *before, *after;
} meanings[] = {
    {"inv", ": The diagonal element ",
     " is zero, the inversion could not be completed because the input matrix is singular."},
    {"solve", ": The solver failed because the input matrix is singular.", NULL},
    {"cholesky",
     ": The factorization could not be completed because the input is not positive-definite (the "
     "leading minor of order ",
     " is not positive-definite)."},
    {"svd",
     ": The algorithm failed to converge because the input matrix is ill-conditioned or has too "
     "many repeated singular values (error code: ",
     ")."},
    {"eig",
     ": The algorithm failed to converge because the input matrix is ill-conditioned or has too "
     "many repeated eigenvalues (error code: ",
     ")."},
    {"lstsq",
     ": The least squares solution could not be computed because the input matrix does not have "
     "full rank (error code: ",
     ")."},
};

static int fail_with(dp_ctx *ctx, const dp_value *name, const char *which, int info)
{
    const char *text = name->u.s;
    char number[16];

    if (info < 0 && has(name, "svd") && info == -4)
        return dp_fail(ctx, DP_ERUNTIME,
                       "%s%s: The algorithm failed to converge because the input matrix contained "
                       "non-finite values.",
                       text, which);
    if (info < 0)
        return dp_fail(ctx, DP_ERUNTIME, "%s%s: Argument %d has illegal value.", text, which,
                       -info);
    snprintf(number, sizeof(number), "%d", info);
    for (size_t i = 0; i < sizeof(meanings) / sizeof(*meanings); i++)
        if (has(name, meanings[i].part))
            return dp_fail(ctx, DP_ERUNTIME, "%s%s%s%s%s", text, which, meanings[i].before,
                           meanings[i].after ? number : "",
                           meanings[i].after ? meanings[i].after : "");
    if (has(name, "lu_factor"))
        return dp_fail(ctx, DP_ERUNTIME,
                       "%s%s: U[%d,%d] is zero and using it on lu_solve would result in a division "
                       "by zero. If you still want to perform the factorization, consider calling "
                       "linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)",
                       text, which, info, info);
    return dp_fail(ctx, DP_ERUNTIME, "%s: Unknown error code: %d.", text, info);
}

/* Check that `info`, int32 and contiguous on the CPU, is 0; report its first number that is not. */
static int look(dp_ctx *ctx, dp_tensor *info, const dp_value *name, bool is_matrix)
{
    char which[64] = "";
    DP_VIEW(v, info);
    const int32_t *numbers = v.data;

    for (int64_t i = 0; i < v.numel; i++) {
        if (numbers[i] == 0)
            continue;
        if (!is_matrix)
            snprintf(which, sizeof(which), ": (Batch element %" PRId64 ")", i);
        return fail_with(ctx, name, which, numbers[i]);
    }
    return 0;
}

/* aten::_linalg_check_errors(Tensor info, str api_name, *, bool is_matrix) -> () */
static int check_errors(dp_call *call)
{
    dp_tensor *info = call->args[0].u.t, *own = NULL;
    DP_VIEW(v, info);

    if (v.dtype != DP_INT32)
        return dp_fail(call->ctx, DP_ERUNTIME, "_linalg_check_errors: info is %s, not int32",
                       dp_dtype_name(v.dtype));
    if (v.numel == 0 || dp_memoryless(call->ctx))
        return 0;
    int rc = dp_empty(call->ctx, DP_INT32, DP_DEVICE_CPU, v.ndim, v.sizes, DP_CONTIGUOUS, &own);
    if (rc == 0)
        rc = dp_copy(call->ctx, own, info);
    if (rc == 0)
        rc = look(call->ctx, own, &call->args[1], call->args[2].u.b);
    dp_tensor_unref(own);
    return rc;
}

/* aten::linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None)
 *     -> (Tensor solution, Tensor residuals, Tensor rank, Tensor singular_values) */
static int linalg_lstsq(dp_call *call)
{
    enum { IN = 4, OUT = 4 };
    dp_value args[IN + OUT], ignored[OUT] = {dp_none(), dp_none(), dp_none(), dp_none()};
    dp_tensor *made[OUT] = {NULL};
    const int64_t none = 0;
    DP_VIEW(a, call->args[0].u.t);
    dp_dtype real = linalg_real(a.dtype);
    const dp_dtype types[OUT] = {a.dtype, real, DP_INT64, real};
    int rc = 0;

    memcpy(args, call->args, IN * sizeof(dp_value));
    for (int i = 0; i < OUT && rc == 0; i++) {
        rc = dp_empty(call->ctx, types[i], a.device, 1, &none, DP_CONTIGUOUS, &made[i]);
        args[IN + i] = dp_tensor_value(made[i]);
    }
    if (rc == 0)
        rc = dp_call_boxed(call->ctx, dp_op_find(call->ctx, "aten::linalg_lstsq.out"), args,
                           IN + OUT, ignored, OUT);
    if (rc == 0)
        return dp_return_tensors(call, OUT, made);
    for (int i = 0; i < OUT; i++)
        dp_tensor_unref(made[i]);
    return rc;
}

DP_LIBRARY_META(aten, CompositeExplicitAutograd, DP_IMPL("_linalg_check_errors", check_errors),
                DP_IMPL("linalg_lstsq", linalg_lstsq))
