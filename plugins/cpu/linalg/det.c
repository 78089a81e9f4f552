/* det.c -- determinants, computed from LU factors (aten/src/ATen/native/LinearAlgebra.cpp).
 *
 * Operators: _linalg_det, _linalg_slogdet. */
#include "lu.h"
#include <complex.h>

static double complex element(dp_dtype d, const void *data, int64_t i)
{
    switch (d) {
    case DP_FLOAT32:
        return ((const float *)data)[i];
    case DP_FLOAT64:
        return ((const double *)data)[i];
    case DP_COMPLEX64:
        return ((const float complex *)data)[i];
    default:
        return ((const double complex *)data)[i];
    }
}

static void set_element(dp_dtype d, void *data, double complex v)
{
    if (d == DP_FLOAT32)
        *(float *)data = (float)creal(v);
    else if (d == DP_FLOAT64)
        *(double *)data = creal(v);
    else if (d == DP_COMPLEX64)
        *(float complex *)data = (float complex)v;
    else
        *(double complex *)data = v;
}

/* Return the sign of the permutation: -1 if it is odd, else 1. */
static int parity(const int32_t *pivots, int64_t n)
{
    int sign = 1;

    for (int64_t i = 0; i < n; i++)
        sign = pivots[i] != i + 1 ? -sign : sign;
    return sign;
}

/* Compute a determinant; at[0]: LU, at[1]: pivots, at[2]: result. */
static void det_one(const mx_batch *b, char *const *at, char *work)
{
    const dp_view *a = b->user;
    int64_t n = mx_rows(a);
    bool real = !dp_dtype_is_complex(a->dtype);
    double complex product = 1;
    double factor = 1;

    (void)work;
    for (int64_t i = 0; i < n; i++) {
        double complex x = element(a->dtype, at[0], i * (n + 1));
        if (real) /* so that the imaginary part of an infinity is not NaN */
            factor *= creal(x);
        else
            product *= x;
    }
    int sign = parity((const int32_t *)at[1], n);
    set_element(a->dtype, at[2], real ? factor * sign : product * sign);
}

/* Compute a sign and a logarithm; at[0]: LU, at[1]: pivots, at[2]: sign, at[3]: logarithm. */
static void slogdet_one(const mx_batch *b, char *const *at, char *work)
{
    const dp_view *a = b->user;
    int64_t n = mx_rows(a);
    double complex sign = parity((const int32_t *)at[1], n);
    double logs = 0;

    (void)work;
    for (int64_t i = 0; i < n; i++) {
        double complex x = element(a->dtype, at[0], i * (n + 1));
        double size = cabs(x);
        logs += log(size);
        if (!dp_dtype_is_complex(a->dtype))
            sign *= creal(x) > 0 ? 1 : creal(x) < 0 ? -1 : 0;
        else
            sign *= size == 0 ? 0 : x / size;
    }
    set_element(a->dtype, at[2], sign);
    set_element(mx_real(a->dtype), at[3], logs);
}

/* Set the first `n_own` outputs, which have one number for each matrix, from the LU factors, which
 * are the next two outputs. */
static int determinants(dp_ctx *ctx, outs *o, dp_tensor *A, mx_one *one, int n_own)
{
    lu f = {.at = {n_own, n_own + 1, -1}};
    dp_tensor *side = NULL, *own[2] = {NULL, NULL};
    bool transposed;
    mx_batch b;
    DP_VIEW(a, A);
    int rc = mx_out(ctx, o, 0, a.dtype, a.ndim - 2, a.sizes, false);

    if (rc == 0 && n_own == 2)
        rc = mx_out(ctx, o, 1, mx_real(a.dtype), a.ndim - 2, a.sizes, false);
    if (rc == 0)
        rc = lu_begin(ctx, o, &f, &a);
    if (rc == 0)
        rc = lu_side(ctx, A, &transposed, &side);
    if (rc == 0)
        rc = lu_factor(ctx, o, &f, side);
    for (int i = 0; i < n_own && rc == 0; i++)
        rc = mx_work(ctx, o, i, 0, &own[i]);
    if (rc == 0) {
        mx_begin(&b, one, &a, a.ndim - 2, a.sizes);
        mx_add(&b, f.lu, 2);
        mx_add(&b, f.pivots, 1);
        for (int i = 0; i < n_own; i++)
            mx_add(&b, own[i], 0);
        b.plain = true;
        b.cost = (double)mx_rows(&a);
        rc = mx_run(ctx, &b);
    }
    for (int i = 0; i < n_own; i++)
        if (own[i] != NULL)
            rc = mx_done(ctx, rc, o, i, own[i]);
    dp_tensor_unref(side);
    return lu_end(ctx, rc, o, &f);
}

static int check_and_run(dp_ctx *ctx, const char *name, dp_tensor *self, outs *o, mx_one *one,
                         int n)
{
    DP_VIEW(a, self);
    int rc = mx_check_square(ctx, &a, name);

    if (rc == 0)
        rc = mx_check_precise(ctx, name, a.dtype);
    return rc == 0 ? determinants(ctx, o, self, one, n) : rc;
}

/* aten::_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots) */
static int run_det(dp_ctx *ctx, const dp_value *args, outs *o)
{
    return check_and_run(ctx, "linalg.det", args[0].u.t, o, det_one, 1);
}
MX_KERNEL(det, 1, run_det)

/* aten::_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots) */
static int run_slogdet(dp_ctx *ctx, const dp_value *args, outs *o)
{
    return check_and_run(ctx, "linalg.slogdet", args[0].u.t, o, slogdet_one, 2);
}
MX_KERNEL(slogdet, 1, run_slogdet)

DP_LIBRARY_META(aten, CPU, DP_IMPL("_linalg_det", det), DP_IMPL("_linalg_det.result", det),
                DP_IMPL("_linalg_slogdet", slogdet), DP_IMPL("_linalg_slogdet.sign", slogdet))
