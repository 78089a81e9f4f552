/* matrix_exp.c -- the exponential of matrices (aten/src/ATen/native/LinearAlgebra.cpp).
 *
 * Method: P. Bader, S. Blanes, F. Casas, "Computing the matrix exponential with an optimized Taylor
 * polynomial approximation", Mathematics 2019, 7, 1174.  The polynomial has the lowest degree of 1,
 * 2, 4, 8, 12 and 18 that is exact enough for the matrix's 1-norm.  If the norm is too large for
 * degree 18, the matrix is halved s times and the result squared s times.
 *
 * Polynomials are computed as linear combinations of few products of matrices, in arrays of n * n
 * elements.
 *
 * Operators: linalg_matrix_exp. */
#include "matmul/gemm.h"
#include "matrices.h"
#include "core/weighted.h"
#include <complex.h>

enum {
    POWERS = 5,
    SUMS = 5,
    DEGREES = 6,
    FEW = 400 /* number of multiplications below which PyTorch's bmm is a plain loop */
};

/* greatest 1-norm for which each degree is exact to the last bit, for float32 and float64 */
static const double limits[2][DEGREES] = {
    {1.192092800768788e-07, 5.978858893805233e-04, 5.116619363445086e-02, 5.800524627688768e-01,
     1.461661507209034e+00, 3.010066362817634e+00},
    {2.220446049250313e-16, 2.580956802971767e-08, 3.397168839976962e-04, 4.991228871115323e-02,
     2.996158913811580e-01, 1.090863719290036e+00}};

/* The state of one matrix's computation. */
typedef struct mexp {
    dp_dtype dtype;
    int64_t n;
    size_t bytes; /* bytes of a matrix */
    /* powers of the matrix: 1, A, A^2, A^3 and A^6, as far as the degree needs them */
    char *a[POWERS];
    char *b[SUMS];
    char *pack; /* scratch memory of matrix products */
} mexp;

static gemm product_of(dp_dtype d, int64_t n)
{
    gemm g = {.dtype = d,
              .m = n,
              .n = n,
              .k = n,
              .a_row = n,
              .a_col = 1,
              .b_row = n,
              .b_col = 1,
              .c_row = n,
              .c_col = 1,
              .alpha = {1, 0, 1}};
    return g;
}

/* Define a product of few elements that sums in PyTorch's order, from the first term to the
 * last. */
#define SMALL_PRODUCT(name, type)                                                                  \
    static void name(int64_t n, type *c, const type *a, const type *b, bool adds)                  \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++)                                                            \
            for (int64_t j = 0; j < n; j++) {                                                      \
                type sum = 0;                                                                      \
                for (int64_t k = 0; k < n; k++)                                                    \
                    sum += a[i * n + k] * b[k * n + j];                                            \
                c[i * n + j] = adds ? c[i * n + j] + sum : sum;                                    \
            }                                                                                      \
    }
SMALL_PRODUCT(small_f32, float)
SMALL_PRODUCT(small_f64, double)
SMALL_PRODUCT(small_c64, float complex)
SMALL_PRODUCT(small_c128, double complex)

/* Compute c = a b or, with `add`, c += a b; `c` must not be `a` or `b`. */
static void multiply(const mexp *e, char *c, const char *a, const char *b, bool adds)
{
    gemm g = product_of(e->dtype, e->n);
    int64_t n = e->n;

    if (n * n * n >= FEW) {
        g.a = a, g.b = b, g.c = c;
        if (adds)
            g.beta = (gemm_number){1, 0, 1};
        gemm_run(NULL, &g, e->pack);
    } else if (e->dtype == DP_FLOAT32) {
        small_f32(n, (float *)c, (const float *)a, (const float *)b, adds);
    } else if (e->dtype == DP_FLOAT64) {
        small_f64(n, (double *)c, (const double *)a, (const double *)b, adds);
    } else if (e->dtype == DP_COMPLEX64) {
        small_c64(n, (float complex *)c, (const float complex *)a, (const float complex *)b, adds);
    } else {
        small_c128(n, (double complex *)c, (const double complex *)a, (const double complex *)b,
                   adds);
    }
}

/* Return the number of real numbers in a matrix; a complex matrix has two for each element. */
static size_t reals(const mexp *e)
{
    return e->bytes / (mx_is_double(e->dtype) ? sizeof(double) : sizeof(float));
}

/* Set `to` to the sum of by[k] from[k] over all k. */
static void combine(const mexp *e, char *to, char *const *from, const double *by, int count)
{
    CPU_CHOSEN(wt_combined)[mx_is_double(e->dtype)](reals(e), to, from, by, count);
}

static void add(const mexp *e, char *to, const char *from)
{
    size_t n = reals(e);

    for (size_t i = 0; i < n; i++)
        if (mx_is_double(e->dtype))
            ((double *)to)[i] += ((const double *)from)[i];
        else
            ((float *)to)[i] += ((const float *)from)[i];
}

static void set_identity(const mexp *e, char *to)
{
    memset(to, 0, e->bytes);
    for (int64_t i = 0; i < e->n; i++) {
        int64_t at = i * (e->n + 1) * (dp_dtype_is_complex(e->dtype) ? 2 : 1);
        if (mx_is_double(e->dtype))
            ((double *)to)[at] = 1;
        else
            ((float *)to)[at] = 1;
    }
}

/* Compute the powers of a[1], up to a[count - 1]. */
static void raise(const mexp *e, int count)
{
    set_identity(e, e->a[0]);
    if (count > 2)
        multiply(e, e->a[2], e->a[1], e->a[1], false);
    if (count > 3)
        multiply(e, e->a[3], e->a[1], e->a[2], false);
    if (count > 4)
        multiply(e, e->a[4], e->a[3], e->a[3], false);
}

/* -- the polynomials; each function writes the value to `to` -- */

static void degree_4(const mexp *e, char *to)
{
    static const double inner[] = {1 / 2.0, 1 / 6.0, 1 / 24.0}, outer[] = {1, 1, 0, 1};

    raise(e, 3);
    combine(e, e->b[0], e->a, inner, 3);
    multiply(e, e->a[3], e->a[2], e->b[0], false);
    combine(e, to, e->a, outer, 4);
}

static void degree_8(const mexp *e, char *to)
{
    const double root = 0.1330413469565007072504e+2, x3 = 2. / 3., /* square root of 177 */
        x1 = x3 * ((1. + root) / 88.), x2 = x3 * ((1. + root) / 352.),
                 x4 = (-271. + 29. * root) / (315. * x3), x5 = (-11. + 11. * root) / (1260. * x3),
                 x6 = (-99. + 11. * root) / (5040. * x3), x7 = (89. - root) / (5040. * x3),
                 y2 = (857. - 58. * root) / 630.;
    const double first[] = {x1, x2}, left[] = {x3, 1}, right[] = {x4, x5, x6, x7},
                 all[] = {1, 1, y2, 0, 1};

    raise(e, 3);
    combine(e, e->b[0], e->a + 1, first, 2);
    multiply(e, e->a[3], e->a[2], e->b[0], false);
    combine(e, e->b[0], e->a + 2, left, 2);
    combine(e, e->b[1], e->a, right, 4);
    multiply(e, e->a[4], e->b[0], e->b[1], false);
    combine(e, to, e->a, all, 5);
}

static void degree_12(const mexp *e, char *to)
{
    static const double by[4][4] = {
        {9.0198e-16, 0.46932117595418237389, -0.20099424927047284052, -0.04623946134063071740},
        {5.31597895759871264183, 1.19926790417132231573, 0.01179296240992997031,
         0.01108844528519167989},
        {0.18188869982170434744, 0.05502798439925399070, 0.09351590770535414968,
         0.00610700528898058230},
        {-2.0861320e-13, -0.13181061013830184015, -0.02027855540589259079,
         -0.00675951846863086359}};

    raise(e, 4);
    for (int i = 0; i < 4; i++)
        combine(e, e->b[i], e->a, by[i], 4);
    multiply(e, e->b[2], e->b[3], e->b[3], true);
    add(e, e->b[1], e->b[2]);
    memcpy(to, e->b[0], e->bytes);
    multiply(e, to, e->b[1], e->b[2], true);
}

static void degree_18(const mexp *e, char *to)
{
    static const double by[5][5] = {
        {0., -1.00365581030144618291e-01, -8.02924648241156932449e-03, -8.92138498045729985177e-04,
         0.},
        {0., 3.97849749499645077844e-01, 1.36783778460411720168e+00, 4.98289622525382669416e-01,
         -6.37898194594723280150e-04},
        {-1.09676396052962061844e+01, 1.68015813878906206114e+00, 5.71779846478865511061e-02,
         -6.98210122488052056106e-03, 3.34975017086070470649e-05},
        {-9.04316832390810593223e-02, -6.76404519071381882256e-02, 6.75961301770459654925e-02,
         2.95552570429315521194e-02, -1.39180257516060693404e-05},
        {0., 0., -9.23364619367118555360e-02, -1.69364939002081722752e-02,
         -1.40086798182036094347e-05}};

    raise(e, 5);
    for (int i = 0; i < 5; i++)
        combine(e, e->b[i], e->a, by[i], 5);
    multiply(e, e->b[3], e->b[0], e->b[4], true);
    add(e, e->b[2], e->b[3]);
    memcpy(to, e->b[1], e->bytes);
    multiply(e, to, e->b[2], e->b[3], true);
}

/* -- one matrix -- */

/* Return the 1-norm: the greatest sum of magnitudes in a column. */
static double norm_of(const mexp *e)
{
    double most = 0;
    bool pairs = dp_dtype_is_complex(e->dtype), wide = mx_is_double(e->dtype);
    const double *d = (const double *)e->a[1];
    const float *f = (const float *)e->a[1];

    for (int64_t j = 0; j < e->n; j++) {
        double sum = 0;
        for (int64_t i = 0; i < e->n; i++) {
            int64_t at = i * e->n + j;
            double re = pairs  ? wide ? d[2 * at] : (double)f[2 * at]
                         : wide ? d[at]
                               : (double)f[at],
                   im = !pairs ? 0
                        : wide ? d[2 * at + 1]
                               : (double)f[2 * at + 1];
            sum += pairs ? hypot(re, im) : fabs(re);
        }
        most = sum > most || isnan(sum) ? sum : most;
        if (isnan(most))
            break;
    }
    return most;
}

/* Set `to` to exp(a[1]), computed as exp(a[1] / 2^s) squared s times; a[1] is finite. */
static void scaled(const mexp *e, char *to, double norm, double limit)
{
    enum { MOST = 2000 }; /* limit of s: about twice the exponents of a double */
    double s = ceil(log2(norm / limit)), by;
    int times = s > 0 ? s < MOST ? (int)s : MOST : 0;

    by = ldexp(1, -times);
    combine(e, e->b[0], e->a + 1, &by, 1);
    memcpy(e->a[1], e->b[0], e->bytes);
    degree_18(e, to);
    for (int i = 0; i < times; i++) {
        multiply(e, e->b[0], to, to, false);
        memcpy(to, e->b[0], e->bytes);
    }
}

static void fill_nan(const mexp *e, char *to)
{
    size_t n = reals(e);

    for (size_t i = 0; i < n; i++)
        if (mx_is_double(e->dtype))
            ((double *)to)[i] = NAN;
        else
            ((float *)to)[i] = NAN;
}

static void exponential(const mexp *e, char *to)
{
    static const double to_1[] = {1, 1}, to_2[] = {1, 1, .5};
    const double *limit = limits[mx_is_double(e->dtype)], norm = norm_of(e);
    int degree = 0;

    while (degree < DEGREES - 1 && norm > limit[degree])
        degree++;
    if (!isfinite(norm)) {
        fill_nan(e, to);
    } else if (degree == 0) {
        raise(e, 2);
        combine(e, to, e->a, to_1, 2);
    } else if (degree == 1) {
        raise(e, 3);
        combine(e, to, e->a, to_2, 3);
    } else if (degree == 2) {
        degree_4(e, to);
    } else if (degree == 3) {
        degree_8(e, to);
    } else if (degree == 4) {
        degree_12(e, to);
    } else {
        scaled(e, to, norm, limit[DEGREES - 1]);
    }
}

/* Process one matrix; at[0]: A, at[1]: result, both row-major. */
static void one(const mx_batch *b, char *const *at, char *scratch)
{
    const dp_view *v = b->user;
    mexp e = {.dtype = v->dtype, .n = mx_rows(v)};

    e.bytes = (size_t)e.n * (size_t)e.n * dp_dtype_size(e.dtype);
    size_t step = (e.bytes + 63) / 64 * 64;
    for (int i = 0; i < POWERS; i++)
        e.a[i] = scratch + (size_t)i * step;
    for (int i = 0; i < SUMS; i++)
        e.b[i] = scratch + (size_t)(POWERS + i) * step;
    e.pack = scratch + (POWERS + SUMS) * step;
    memcpy(e.a[1], at[0], e.bytes);
    exponential(&e, at[1]);
}

/* -- the operator -- */

/* Set *out, owned, to the elements of `made`, which is contiguous and is released, with the strides
 * of self. */
static int as_self(dp_ctx *ctx, dp_tensor *self, dp_tensor *made, dp_tensor **out)
{
    if (dp_tensor_is_contiguous(self, DP_CONTIGUOUS)) {
        *out = made;
        return 0;
    }
    int rc = dp_empty_like(ctx, self, DP_DTYPE_NONE, DP_PRESERVE, out);
    if (rc == 0)
        rc = dp_copy(ctx, *out, made);
    dp_tensor_unref(made);
    return rc;
}

static int run(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    dp_tensor *rows = NULL, *made = NULL;
    mx_batch b;
    DP_VIEW(a, self);
    gemm g = product_of(a.dtype, mx_rows(&a));
    int rc = gemm_check(ctx, &g);

    if (rc == 0)
        rc = mx_contiguous(ctx, self, &rows);
    if (rc == 0)
        rc = mx_empty(ctx, a.dtype, a.device, a.ndim, a.sizes, false, &made);
    if (rc == 0) {
        mx_begin(&b, one, &a, a.ndim - 2, a.sizes);
        b.plain = true;
        mx_add(&b, rows, 2);
        mx_add(&b, made, 2);
        for (int i = 0; i < POWERS + SUMS; i++)
            mx_reserve(&b.work, (size_t)g.n * (size_t)g.n, dp_dtype_size(a.dtype));
        mx_reserve(&b.work, gemm_scratch(&g), 1);
        b.cost = 8.0 * (double)g.n * (double)g.n * (double)g.n;
        rc = mx_run(ctx, &b);
    }
    dp_tensor_unref(rows);
    if (rc == 0)
        return as_self(ctx, self, made, out);
    dp_tensor_unref(made);
    return rc;
}

/* Compute 16-bit floats in float32, so that the result is rounded once. */
static int run_wide(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    dp_tensor *wide = NULL, *made = NULL;
    int rc = dp_empty_like(ctx, self, DP_FLOAT32, DP_PRESERVE, &wide);

    if (rc == 0)
        rc = dp_copy(ctx, wide, self);
    if (rc == 0)
        rc = run(ctx, wide, &made);
    if (rc == 0)
        rc = dp_empty_like(ctx, self, DP_DTYPE_NONE, DP_PRESERVE, out);
    if (rc == 0)
        rc = dp_copy(ctx, *out, made);
    dp_tensor_unref(wide);
    dp_tensor_unref(made);
    return rc;
}

/* aten::linalg_matrix_exp(Tensor self) -> Tensor */
static int matrix_exp(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    DP_VIEW(a, self);
    int rc = mx_check_square(ctx, &a, "linalg.matrix_exp");

    if (rc == 0)
        rc = mx_check_inexact(ctx, "matrix_exp", a.dtype);
    if (rc < 0)
        return rc;
    if (mx_rows(&a) == 0)
        return dp_invoke(ctx, "aten::clone", "T>T", self, out);
    if (mx_rows(&a) == 1)
        return dp_invoke(ctx, "aten::exp", "T>T", self, out);
    rc = dense_check_type(ctx, "log2_vml_cpu", a.dtype, MX_TYPES | DENSE_BIT(DP_BFLOAT16));
    if (rc == 0)
        rc = mx_check_fits(ctx, &a);
    *out = NULL;
    if (rc == 0)
        rc = a.dtype == DP_BFLOAT16 ? run_wide(ctx, self, out) : run(ctx, self, out);
    if (rc < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("linalg_matrix_exp", matrix_exp, (T), (T)))
