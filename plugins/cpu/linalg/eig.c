/* eig.c -- eigenvalues and eigenvectors of square matrices
 * (aten/src/ATen/native/BatchLinearAlgebra.cpp; LAPACK routine geev).  The results are complex,
 * also for real matrices.
 *
 * Operators: linalg_eig, linalg_eigvals. */
#include "matrices.h"

typedef struct eig {
    dp_dtype dtype;
    char job; /* V: vectors are computed, N: only values */
    int n, lwork;
    size_t copy, work, rwork, re, im, vectors; /* offsets in the scratch memory */
} eig;

/* Call geev.  For a real matrix, `w` and `im` get the real and the imaginary parts of the values;
 * for a complex one, `w` gets the values. */
static void call(const eig *e, void *a, void *w, void *im, void *vectors, void *work, void *rwork,
                 int *info)
{
    int t = la_index(e->dtype), one = 1;

    if (t < 2)
        lapack_geev[t]("N", &e->job, &e->n, a, &e->n, w, im, NULL, &one, vectors, &e->n, work,
                       &e->lwork, info, 1, 1);
    else
        lapack_geev_complex[t - 2]("N", &e->job, &e->n, a, &e->n, w, NULL, &one, vectors, &e->n,
                                   work, &e->lwork, rwork, info, 1, 1);
}

/* Define the conversion of geev's results for a real matrix to complex values and vectors.  For a
 * pair of conjugate values, geev stores the real part v and the imaginary part u of the vectors in
 * two columns: the vectors are v + iu and v - iu. */
#define TO_COMPLEX(name, type)                                                                     \
    static void name(int64_t n, const type *re, const type *im, const type *from, type *values,    \
                     type *to)                                                                     \
    {                                                                                              \
        for (int64_t j = 0; j < n; j++)                                                            \
            values[2 * j] = re[j], values[2 * j + 1] = im[j];                                      \
        for (int64_t j = 0; to != NULL && j < n; j++) {                                            \
            bool pair = im[j] != 0 && j + 1 < n;                                                   \
            for (int64_t i = 0; i < n; i++) {                                                      \
                type v = from[j * n + i], u = pair ? from[(j + 1) * n + i] : 0;                    \
                type *at = to + 2 * (j * n + i), *next = at + 2 * n;                               \
                at[0] = v, at[1] = u;                                                              \
                if (pair)                                                                          \
                    next[0] = v, next[1] = -u;                                                     \
            }                                                                                      \
            j += pair;                                                                             \
        }                                                                                          \
    }
TO_COMPLEX(to_complex_f32, float)
TO_COMPLEX(to_complex_f64, double)

/* Process one matrix; at[0]: A, at[1]: values, at[2]: info, at[3]: vectors, if they are
 * computed. */
static void one(const mx_batch *b, char *const *at, char *scratch)
{
    const eig *e = b->user;
    bool real = !dp_dtype_is_complex(e->dtype);
    char *re = scratch + e->re, *im = scratch + e->im, *own = scratch + e->vectors;
    char *vectors = e->job == 'V' ? at[3] : NULL;

    dp_copy_n(scratch + e->copy, at[0], dp_size_times(e->n, e->n), dp_dtype_size(e->dtype));
    call(e, scratch + e->copy, real ? re : at[1], im, real ? own : vectors, scratch + e->work,
         scratch + e->rwork, (int *)at[2]);
    if (e->dtype == DP_FLOAT32)
        to_complex_f32(e->n, (float *)re, (float *)im, (float *)own, (float *)at[1],
                       (float *)vectors);
    else if (e->dtype == DP_FLOAT64)
        to_complex_f64(e->n, (double *)re, (double *)im, (double *)own, (double *)at[1],
                       (double *)vectors);
}

static int plan(dp_ctx *ctx, eig *e, mx_batch *b)
{
    double answer[2];
    int info;
    size_t item = dp_dtype_size(e->dtype), n = (size_t)e->n;

    e->lwork = -1;
    call(e, answer, answer, answer, answer, answer, answer, &info);
    e->lwork = mx_lwork(ctx, e->dtype, answer, 1);
    if (e->lwork == 0)
        return DP_ERESOURCE;
    e->copy = mx_reserve(&b->work, n * n, item);
    e->work = mx_reserve(&b->work, (size_t)e->lwork, item);
    e->rwork = mx_reserve(&b->work, 2 * n, item);
    e->re = mx_reserve(&b->work, n, item);
    e->im = mx_reserve(&b->work, n, item);
    e->vectors = mx_reserve(&b->work, e->job == 'V' ? n * n : 0, item);
    b->cost = 25.0 * e->n * e->n * e->n;
    return 0;
}

/* Refuse infinities and NaNs, with which geev would not end.  Source: linalg_eig_out. */
static int check_finite(dp_ctx *ctx, dp_tensor *self)
{
    dp_tensor *finite = NULL, *all = NULL;
    dp_value v;

    if (dp_memoryless(ctx))
        return 0;
    int rc = dp_invoke(ctx, "aten::isfinite", "T>T", self, &finite);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::all", "T>T", finite, &all);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::item", "T>s", all, &v);
    dp_tensor_unref(finite);
    dp_tensor_unref(all);
    if (rc == 0 && as_int(v) == 0)
        rc = dp_fail(ctx, DP_ERUNTIME,
                     "torch.linalg.eig: input tensor should not contain infs or NaNs.");
    return rc;
}

static int check(dp_ctx *ctx, const dp_view *a, dp_tensor *self, const char *name)
{
    int rc = 0;

    if (mx_complex(a->dtype) == DP_DTYPE_NONE)
        rc = a->dtype == DP_FLOAT16
                 ? dp_fail(ctx, DP_ERUNTIME, "\"linalg_eig_out_cpu\" not implemented for 'Half'")
                 : dp_fail(ctx, DP_ERUNTIME, "Unknown Complex ScalarType for %s",
                           dense_type_name(a->dtype));
    if (rc == 0)
        rc = mx_check_square(ctx, a, name);
    if (rc == 0)
        rc = mx_check_fits(ctx, a);
    return rc == 0 ? check_finite(ctx, self) : rc;
}

/* Set `values` and `vectors`; if `vectors` is NULL, compute only values. */
static int decompose(dp_ctx *ctx, dp_tensor *self, dp_tensor *values, dp_tensor *vectors,
                     const char *name)
{
    dp_tensor *columns = NULL, *info = NULL;
    mx_batch b;
    DP_VIEW(a, self);
    eig e = {.dtype = a.dtype, .job = vectors ? 'V' : 'N', .n = (int)mx_rows(&a)};
    int rc = mx_borrow(ctx, self, &columns);

    if (rc == 0)
        rc = mx_empty(ctx, DP_INT32, a.device, a.ndim - 2, a.sizes, false, &info);
    if (rc == 0)
        rc = mx_zero(ctx, info);
    if (rc == 0 && a.numel > 0) {
        mx_begin(&b, one, &e, a.ndim - 2, a.sizes);
        mx_add(&b, columns, 2);
        mx_add(&b, values, 1);
        mx_add(&b, info, 0);
        if (vectors != NULL)
            mx_add(&b, vectors, 2);
        rc = plan(ctx, &e, &b);
        if (rc == 0)
            rc = mx_run(ctx, &b);
    }
    if (rc == 0)
        rc = mx_check_info(ctx, info, name, a.ndim == 2);
    dp_tensor_unref(columns);
    dp_tensor_unref(info);
    return rc;
}

/* aten::linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors) */
static int run_eig(dp_ctx *ctx, const dp_value *args, outs *o)
{
    dp_tensor *values = NULL, *vectors = NULL;
    DP_VIEW(a, args[0].u.t);
    dp_dtype d = mx_complex(a.dtype);
    int rc = check(ctx, &a, args[0].u.t, "linalg.eig");

    if (rc == 0)
        rc = mx_check_cast(ctx, o, 0, d, "torch.linalg.eig", "eigenvalues");
    if (rc == 0)
        rc = mx_check_cast(ctx, o, 1, d, "torch.linalg.eig", "eigenvectors");
    if (rc == 0)
        rc = mx_empty(ctx, d, a.device, a.ndim - 1, a.sizes, false, &values);
    if (rc == 0)
        rc = mx_empty(ctx, d, a.device, a.ndim, a.sizes, true, &vectors);
    if (rc == 0)
        rc = decompose(ctx, args[0].u.t, values, vectors, "torch.linalg.eig");
    rc = mx_give(ctx, rc, o, 0, values, true);
    return mx_give(ctx, rc, o, 1, vectors, true);
}
MX_KERNEL(linalg_eig, 1, run_eig)

/* aten::linalg_eigvals.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!) */
static int run_eigvals(dp_ctx *ctx, const dp_value *args, outs *o)
{
    dp_tensor *values = NULL;
    DP_VIEW(a, args[0].u.t);
    dp_dtype d = mx_complex(a.dtype);
    int rc = check(ctx, &a, args[0].u.t, "linalg.eigvals");

    if (rc == 0)
        rc = mx_check_cast(ctx, o, 0, d, "torch.linalg.eigvals", "eigenvalues");
    if (rc == 0)
        rc = mx_empty(ctx, d, a.device, a.ndim - 1, a.sizes, false, &values);
    if (rc == 0)
        rc = decompose(ctx, args[0].u.t, values, NULL, "torch.linalg.eigvals");
    return mx_give(ctx, rc, o, 0, values, true);
}
MX_KERNEL(linalg_eigvals, 1, run_eigvals)

DP_LIBRARY_META(aten, CPU, DP_IMPL("linalg_eig", linalg_eig), DP_IMPL("linalg_eig.out", linalg_eig),
                DP_IMPL("linalg_eigvals.out", linalg_eigvals))
