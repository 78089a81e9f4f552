/* mm.c -- matrix products.
 *
 * OpenBLAS is told to use one thread (touch_buffers() below).  Large products are split into panels
 * of rows or columns, which run on the host's pool.  Integers and very small products use a plain
 * loop, which BLAS has not or is slower at. */
#include "dense.h"
#include <cblas.h>
#include <limits.h>

/* -- the product itself -- */

/* Are the elements of a row next to each other, and the rows apart?  Of columns the same, with
 * sizes and strides exchanged. */
static bool by_rows(int64_t cols, int64_t row_stride, int64_t col_stride)
{
    return (col_stride == 1 || cols <= 1) && row_stride >= (cols > 1 ? cols : 1);
}

bool gemm_suits(int64_t rows, int64_t cols, int64_t row_stride, int64_t col_stride)
{
    return by_rows(cols, row_stride, col_stride) || by_rows(rows, col_stride, row_stride);
}

int gemm_check(dp_ctx *ctx, const gemm *g)
{
    const int64_t sizes[] = {g->m, g->n, g->k, g->a_row, g->a_col, g->b_row, g->b_col, g->c_row};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
        if (sizes[i] > INT_MAX)
            return dp_fail(ctx, DP_ERUNTIME,
                           "matrix size or stride %lld is more than BLAS takes (%d)",
                           (long long)sizes[i], INT_MAX);
    return 0;
}

/* Describe a matrix to BLAS: its leading dimension, and whether it is row-major (no transpose). */
static CBLAS_TRANSPOSE layout(int64_t cols, int64_t row_stride, int64_t col_stride, int *lead)
{
    bool row_major = by_rows(cols, row_stride, col_stride);

    *lead = (int)(row_major ? row_stride : col_stride);
    return row_major ? CblasNoTrans : CblasTrans;
}

#define BLAS_ROWS(name, type, xgemm)                                                               \
    static void name(const gemm *g, int64_t begin, int64_t end)                                    \
    {                                                                                              \
        int lda, ldb;                                                                              \
        const type *a = (const type *)g->a + begin * g->a_row;                                     \
        CBLAS_TRANSPOSE ta = layout(g->k, g->a_row, g->a_col, &lda);                               \
        CBLAS_TRANSPOSE tb = layout(g->n, g->b_row, g->b_col, &ldb);                               \
        xgemm(CblasRowMajor, ta, tb, (int)(end - begin), (int)g->n, (int)g->k, (type)g->alpha, a,  \
              lda, (const type *)g->b, ldb, (type)g->beta, (type *)g->c + begin * g->c_row,        \
              (int)g->c_row);                                                                      \
    }
BLAS_ROWS(rows_f32, float, cblas_sgemm)
BLAS_ROWS(rows_f64, double, cblas_dgemm)

/* C += alpha A B, one column of A after another. */
#define PLAIN_ROWS(name, type, alpha_)                                                             \
    DENSE_LOOP static void name(const gemm *g, int64_t begin, int64_t end)                         \
    {                                                                                              \
        const type *a = g->a, *b = g->b, alpha = (type)g->alpha_;                                  \
        for (int64_t i = begin; i < end; i++) {                                                    \
            type *restrict c = (type *)g->c + i * g->c_row;                                        \
            for (int64_t p = 0; p < g->k; p++) {                                                   \
                type x = alpha * a[i * g->a_row + p * g->a_col];                                   \
                const type *row = b + p * g->b_row;                                                \
                for (int64_t j = 0; j < g->n; j++)                                                 \
                    c[j] += x * row[j * g->b_col];                                                 \
            }                                                                                      \
        }                                                                                          \
    }
PLAIN_ROWS(plain_f32, float, alpha)
PLAIN_ROWS(plain_f64, double, alpha)
PLAIN_ROWS(plain_i64, uint64_t, int_alpha) /* unsigned, since int64 products wrap */

/* C = beta C: the first step of the plain loops, which only add. */
static void scale_rows(const gemm *g, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i++)
        for (int64_t j = 0; j < g->n; j++) {
            int64_t at = i * g->c_row + j;
            if (g->dtype == DP_FLOAT32)
                ((float *)g->c)[at] = g->beta == 0 ? 0 : (float)g->beta * ((float *)g->c)[at];
            else if (g->dtype == DP_FLOAT64)
                ((double *)g->c)[at] = g->beta == 0 ? 0 : g->beta * ((double *)g->c)[at];
            else
                ((uint64_t *)g->c)[at] =
                    g->int_beta == 0 ? 0 : (uint64_t)g->int_beta * ((uint64_t *)g->c)[at];
        }
}

void gemm_rows(const gemm *g, int64_t begin, int64_t end)
{
    enum { FEW = 400 }; /* below so many multiplications a plain loop beats BLAS, as in PyTorch */
    bool f32 = g->dtype == DP_FLOAT32, f64 = g->dtype == DP_FLOAT64;

    if (g->n == 0 || begin >= end)
        return;
    if ((f32 || f64) && g->k > 0 && (double)g->m * (double)g->n * (double)g->k >= FEW) {
        (f32 ? rows_f32 : rows_f64)(g, begin, end);
        return;
    }
    scale_rows(g, begin, end);
    (f32 ? plain_f32 : f64 ? plain_f64 : plain_i64)(g, begin, end);
}

/* A product in panels of rows, or of columns where it is wider than tall.  What a panel holds depends
 * on the shape alone and not on the threads: BLAS computes the lines at the end of what it is given
 * with other instructions, so that other panels would be other last bits. */
typedef struct panels {
    const gemm *g;
    int64_t lines; /* rows or columns of a panel */
} panels;

static void panels_of_rows(int64_t begin, int64_t end, void *user)
{
    const panels *p = user;

    for (int64_t i = begin; i < end; i++) {
        int64_t to = (i + 1) * p->lines;
        gemm_rows(p->g, i * p->lines, to < p->g->m ? to : p->g->m);
    }
}

static void panels_of_columns(int64_t begin, int64_t end, void *user)
{
    const panels *p = user;
    int64_t bytes = (int64_t)dp_dtype_size(p->g->dtype);

    for (int64_t i = begin; i < end; i++) {
        gemm g = *p->g;
        int64_t from = i * p->lines;
        g.b = (const char *)g.b + from * g.b_col * bytes;
        g.c = (char *)g.c + from * bytes;
        g.n = g.n - from < p->lines ? g.n - from : p->lines;
        gemm_rows(&g, 0, g.m);
    }
}

int gemm_run(dp_ctx *ctx, const gemm *g)
{
    enum {
        WORTHWHILE = 1 << 20, /* a panel has at least so many multiplications, */
        ALIGN = 48,           /* a multiple of so many lines, as BLAS's kernels have them, */
        NARROWEST = 2 * ALIGN,
        WIDEST = 4 * ALIGN, /* wider ones are not faster */
        PANELS = 8
    };
    bool tall = g->m >= g->n;
    int64_t lines = tall ? g->m : g->n, narrow = lines / PANELS;
    double line = (double)g->k * (double)(tall ? g->n : g->m) + 1;

    narrow = narrow < NARROWEST ? NARROWEST : narrow > WIDEST ? WIDEST : narrow;
    if ((double)narrow * line < WORTHWHILE)
        narrow = (int64_t)(WORTHWHILE / line) + 1;
    panels p = {g, (narrow + ALIGN - 1) / ALIGN * ALIGN};
    return dp_parallel_for(ctx, 0, (lines + p.lines - 1) / p.lines, 1,
                           tall ? panels_of_rows : panels_of_columns, &p);
}

/* -- operands -- */

typedef struct matrix {
    dp_tensor *packed; /* owned; holds the elements */
    const void *data;
    int64_t batch, row, col; /* strides, in elements */
} matrix;

/* The last two dimensions of t as a matrix of the class; a 1-dim t is a column.  Uses t's own
 * memory when BLAS can read it there, else a packed copy. */
static int matrix_get(dp_ctx *ctx, dp_tensor *t, dp_dtype class, matrix *m)
{
    DP_VIEW(v, t);
    int64_t one = 1;
    int n = v.ndim;
    int64_t cols = n > 1 ? v.sizes[n - 1] : 1, rows = n > 1 ? v.sizes[n - 2] : v.sizes[0];
    int64_t row = n > 1 ? v.strides[n - 2] : v.strides[0], col = n > 1 ? v.strides[n - 1] : one;

    /* With a stride of 0 the sizes are not bounded by memory, and a plain loop over them might
     * never end.  Copying such a tensor first fails for lack of memory instead. */
    bool repeats = (rows > 1 && row == 0) || (cols > 1 && col == 0);
    bool suits = class == DP_INT64 ? !repeats : gemm_suits(rows, cols, row, col);
    if (v.dtype == class && suits)
        m->packed = dp_tensor_ref(t);
    else {
        int rc = dense_get(ctx, t, class, &m->packed);
        if (rc < 0)
            return rc;
        /* where a size is 1, a packed tensor's stride may be any number */
        row = cols > 1 ? cols : 1;
        col = 1;
        v.size = sizeof(v);
        dp_tensor_view(m->packed, &v);
    }
    m->data = v.data;
    m->row = row;
    m->col = col;
    m->batch = n > 2 && v.sizes[0] > 1 ? v.strides[0] : 0;
    return 0;
}

/* beta and alpha as doubles and as integers, for both kinds of class. */
static void scalars(gemm *g, dp_value beta, dp_value alpha)
{
    g->beta = as_double(beta);
    g->int_beta = as_int(beta);
    g->alpha = as_double(alpha);
    g->int_alpha = as_int(alpha);
}

static int check_scalars(dp_ctx *ctx, dp_value beta, dp_value alpha)
{
    if (beta.tag == DP_TAG_COMPLEX || alpha.tag == DP_TAG_COMPLEX)
        return dp_fail(ctx, DP_ERUNTIME, "%s is complex, the matrices are not",
                       beta.tag == DP_TAG_COMPLEX ? "beta" : "alpha");
    return 0;
}

/* Fails unless t can be expanded to sizes [n]; the messages are at::expand's. */
static int check_expand(dp_ctx *ctx, const dp_tensor *t, int n, const int64_t *sizes)
{
    char have[DP_SHAPE_TEXT], want[DP_SHAPE_TEXT];
    DP_VIEW(v, t);

    dp_shape_text(have, v.sizes, (size_t)v.ndim);
    dp_shape_text(want, sizes, (size_t)n);
    if (v.ndim > n)
        return dp_fail(
            ctx, DP_ERUNTIME,
            "expand(torch.%sTensor{%s}, size=%s): the number of sizes provided (%d) must "
            "be greater or equal to the number of dimensions in the tensor (%d)",
            dense_type_name(v.dtype), have, want, n, v.ndim);
    for (int i = 0; i < v.ndim; i++) {
        int to = n - v.ndim + i;
        if (v.sizes[i] != 1 && v.sizes[i] != sizes[to])
            return dp_fail(
                ctx, DP_ERUNTIME,
                "The expanded size of the tensor (%lld) must match the existing size "
                "(%lld) at non-singleton dimension %d.  Target sizes: %s.  Tensor sizes: %s",
                (long long)sizes[to], (long long)v.sizes[i], to, want, have);
    }
    return 0;
}

typedef struct batches {
    gemm g;
    int64_t a, b, c; /* bytes from one matrix of the batch to the next */
} batches;

static void run_batches(int64_t begin, int64_t end, void *user)
{
    const batches *s = user;

    for (int64_t i = begin; i < end; i++) {
        gemm g = s->g;
        g.a = (const char *)g.a + i * s->a;
        g.b = (const char *)g.b + i * s->b;
        g.c = (char *)g.c + i * s->c;
        gemm_rows(&g, 0, g.m);
    }
}

/* Sets the operands and runs the batch; c [n_batch, m, n] is packed. */
static int multiply(dp_ctx *ctx, batches *s, const matrix *a, const matrix *b, void *c,
                    int64_t n_batch)
{
    gemm *g = &s->g;
    int64_t bytes = (int64_t)dp_dtype_size(g->dtype);

    g->a = a->data, g->a_row = a->row, g->a_col = a->col;
    g->b = b->data, g->b_row = b->row, g->b_col = b->col;
    g->c = c, g->c_row = g->n > 1 ? g->n : 1;
    s->a = a->batch * bytes, s->b = b->batch * bytes, s->c = g->m * g->n * bytes;
    int rc = g->dtype == DP_INT64 ? 0 : gemm_check(ctx, g);
    if (rc < 0 || n_batch == 1)
        return rc < 0 ? rc : gemm_run(ctx, g);
    return dp_parallel_for(ctx, 0, n_batch,
                           dense_grain((double)g->m * (double)g->n * (double)(g->k + 1) / 16),
                           run_batches, s);
}

/* out [sizes] = beta self + alpha a b; self NULL: alpha a b.  sizes is [m], [m, n] or
 * [batch, m, n]; k is the length of the sums.  The caller has checked shapes and dtypes. */
static int product(dp_ctx *ctx, dp_tensor *self, dp_tensor *a, dp_tensor *b, int ndim,
                   const int64_t *sizes, int64_t k, dp_value beta, dp_value alpha, dp_tensor **out)
{
    matrix ma = {0}, mb = {0};
    dp_tensor *c = NULL;
    DP_VIEW(v, a);
    dp_dtype class = dense_class(v.dtype);
    const int64_t *last = sizes + (ndim > 2);
    batches s = {.g = {.dtype = class, .m = last[0], .n = ndim > 1 ? last[1] : 1, .k = k}};

    scalars(&s.g, beta, alpha);
    bool reads = self != NULL && (class == DP_INT64 ? s.g.int_beta != 0 : s.g.beta != 0);
    if (!reads)
        s.g.beta = 0, s.g.int_beta = 0;
    int rc = dp_empty(ctx, class, v.device, ndim, sizes, DP_CONTIGUOUS, &c);
    if (rc == 0 && (dp_sizes_product(1, sizes, (size_t)ndim) == 0 || dp_memoryless(ctx)))
        return dense_put(ctx, c, v.dtype, DP_CONTIGUOUS, out);
    if (rc == 0 && reads)
        rc = dp_copy(ctx, c, self);
    if (rc == 0)
        rc = matrix_get(ctx, a, class, &ma);
    if (rc == 0)
        rc = matrix_get(ctx, b, class, &mb);
    if (rc == 0)
        rc = multiply(ctx, &s, &ma, &mb, dense_data(c), ndim > 2 ? sizes[0] : 1);
    if (rc == 0) {
        rc = dense_put(ctx, c, v.dtype, DP_CONTIGUOUS, out);
        c = NULL;
    }
    dp_tensor_unref(c);
    dp_tensor_unref(ma.packed);
    dp_tensor_unref(mb.packed);
    return rc;
}

/* -- operators -- */

static int check_shapes(dp_ctx *ctx, const dp_view *a, const dp_view *b)
{
    if (a->sizes[1] == b->sizes[0])
        return 0;
    return dp_fail(ctx, DP_ERUNTIME,
                   "mat1 and mat2 shapes cannot be multiplied (%lldx%lld and %lldx%lld)",
                   (long long)a->sizes[0], (long long)a->sizes[1], (long long)b->sizes[0],
                   (long long)b->sizes[1]);
}

/* aten::mm(Tensor self, Tensor mat2) -> Tensor
 * self [n, m], mat2 [m, p] -> [n, p]. */
static int mm(dp_ctx *ctx, dp_tensor *self, dp_tensor *mat2, dp_tensor **out)
{
    DP_VIEW(a, self);
    DP_VIEW(b, mat2);

    if (a.ndim != 2 || b.ndim != 2)
        return dp_fail(ctx, DP_ERUNTIME, "%s must be a matrix", a.ndim != 2 ? "self" : "mat2");
    int rc = check_shapes(ctx, &a, &b);
    if (rc == 0)
        rc = dense_check_same(ctx, a.dtype, b.dtype);
    if (rc == 0)
        rc = dense_check_type(ctx, "addmm_impl_cpu_", a.dtype, DENSE_NUMBERS);
    if (rc < 0)
        return rc;
    const int64_t sizes[] = {a.sizes[0], b.sizes[1]};
    return product(ctx, NULL, self, mat2, 2, sizes, a.sizes[1], dp_int(0), dp_int(1), out);
}

/* aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor
 * If beta is 0, self is not read, so that a NaN in it does not count.
 * mat1 [n, m], mat2 [m, p]; self broadcasts to [n, p]. */
static int addmm(dp_ctx *ctx, dp_tensor *self, dp_tensor *mat1, dp_tensor *mat2, dp_value beta,
                 dp_value alpha, dp_tensor **out)
{
    DP_VIEW(s, self);
    DP_VIEW(a, mat1);
    DP_VIEW(b, mat2);

    if (a.ndim != 2 || b.ndim != 2)
        return dp_fail(ctx, DP_ERUNTIME, "%s must be a matrix, got %d-D tensor",
                       a.ndim != 2 ? "mat1" : "mat2", a.ndim != 2 ? a.ndim : b.ndim);
    int rc = check_shapes(ctx, &a, &b);
    if (rc < 0)
        return rc;
    if (s.dtype != b.dtype)
        return dp_fail(ctx, DP_ERUNTIME,
                       "self and mat2 must have the same dtype, but they are %s and %s",
                       dense_type_name(s.dtype), dense_type_name(b.dtype));
    const int64_t sizes[] = {a.sizes[0], b.sizes[1]};
    rc = dense_check_same(ctx, a.dtype, b.dtype);
    if (rc == 0)
        rc = dense_check_type(ctx, "addmm_impl_cpu_", a.dtype, DENSE_NUMBERS);
    if (rc == 0)
        rc = check_expand(ctx, self, 2, sizes);
    if (rc == 0)
        rc = check_scalars(ctx, beta, alpha);
    if (rc < 0)
        return rc;
    return product(ctx, self, mat1, mat2, 2, sizes, a.sizes[1], beta, alpha, out);
}

/* aten::baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1)
 *     -> Tensor
 * batch1 [b, n, m], batch2 [b, m, p]; self broadcasts to [b, n, p].  NULL: as bmm. */
static int baddbmm(dp_ctx *ctx, dp_tensor *self, dp_tensor *batch1, dp_tensor *batch2,
                   dp_value beta, dp_value alpha, dp_tensor **out)
{
    DP_VIEW(a, batch1);
    DP_VIEW(b, batch2);

    if (a.ndim != 3 || b.ndim != 3)
        return dp_fail(ctx, DP_ERUNTIME, "%s must be a 3D tensor, got %d-D",
                       a.ndim != 3 ? "batch1" : "batch2", a.ndim != 3 ? a.ndim : b.ndim);
    if (b.sizes[0] != a.sizes[0] || b.sizes[1] != a.sizes[2])
        return dp_fail(
            ctx, DP_ERUNTIME,
            "Expected size for first two dimensions of batch2 tensor to be: [%lld, %lld] "
            "but got: [%lld, %lld].",
            (long long)a.sizes[0], (long long)a.sizes[2], (long long)b.sizes[0],
            (long long)b.sizes[1]);
    const int64_t sizes[] = {a.sizes[0], a.sizes[1], b.sizes[2]};
    int rc = dense_check_same(ctx, a.dtype, b.dtype);
    if (rc == 0)
        rc = dense_check_type(ctx, self ? "baddbmm" : "bmm", a.dtype, DENSE_NUMBERS);
    if (rc == 0 && self) {
        DP_VIEW(s, self);
        rc = dense_check_same(ctx, a.dtype, s.dtype);
    }
    if (rc == 0 && self)
        rc = check_expand(ctx, self, 3, sizes);
    if (rc == 0)
        rc = check_scalars(ctx, beta, alpha);
    if (rc < 0)
        return rc;
    return product(ctx, self, batch1, batch2, 3, sizes, a.sizes[2], beta, alpha, out);
}

/* aten::bmm(Tensor self, Tensor mat2) -> Tensor
 * self [b, n, m], mat2 [b, m, p] -> [b, n, p]. */
static int bmm(dp_ctx *ctx, dp_tensor *self, dp_tensor *mat2, dp_tensor **out)
{
    return baddbmm(ctx, NULL, self, mat2, dp_int(0), dp_int(1), out);
}

/* aten::mv(Tensor self, Tensor vec) -> Tensor
 * self [n, m], vec [m] -> [n]. */
static int mv(dp_ctx *ctx, dp_tensor *self, dp_tensor *vec, dp_tensor **out)
{
    DP_VIEW(a, self);
    DP_VIEW(b, vec);

    if (a.ndim != 2 || b.ndim != 1)
        return dp_fail(ctx, DP_ERUNTIME, "matrix @ vector expected, got %d-D @ %d-D", a.ndim,
                       b.ndim);
    if (a.sizes[1] != b.sizes[0])
        return dp_fail(ctx, DP_ERUNTIME, "size mismatch, got input (%lldx%lld), vec (%lld)",
                       (long long)a.sizes[0], (long long)a.sizes[1], (long long)b.sizes[0]);
    int rc = dense_check_same(ctx, a.dtype, b.dtype);
    if (rc == 0)
        rc = dense_check_type(ctx, "addmv_impl_cpu", a.dtype, DENSE_NUMBERS);
    if (rc < 0)
        return rc;
    return product(ctx, NULL, self, vec, 1, a.sizes, a.sizes[1], dp_int(0), dp_int(1), out);
}

static void dot_run(dp_dtype class, const void *x, const void *y, int64_t n, void *out)
{
    enum { PIECE = 1 << 30 }; /* elements for one call of BLAS, which counts in int */
    double sum = 0;
    uint64_t whole = 0;

    for (int64_t i = 0; class != DP_INT64 && i < n; i += PIECE) {
        int m = (int)(n - i < PIECE ? n - i : PIECE);
        sum += class == DP_FLOAT32
                   ? (double)cblas_sdot(m, (const float *)x + i, 1, (const float *)y + i, 1)
                   : cblas_ddot(m, (const double *)x + i, 1, (const double *)y + i, 1);
    }
    for (int64_t i = 0; class == DP_INT64 && i < n; i++)
        whole += ((const uint64_t *)x)[i] * ((const uint64_t *)y)[i];
    if (class == DP_FLOAT32)
        *(float *)out = (float)sum;
    else if (class == DP_FLOAT64)
        *(double *)out = sum;
    else
        *(uint64_t *)out = whole;
}

/* aten::dot(Tensor self, Tensor tensor) -> Tensor
 * self [n], tensor [n] -> []. */
static int dot(dp_ctx *ctx, dp_tensor *self, dp_tensor *tensor, dp_tensor **out)
{
    dp_tensor *x = NULL, *y = NULL, *r = NULL;
    DP_VIEW(a, self);
    DP_VIEW(b, tensor);

    if (a.ndim != 1 || b.ndim != 1)
        return dp_fail(ctx, DP_ERUNTIME, "1D tensors expected, but got %dD and %dD tensors", a.ndim,
                       b.ndim);
    if (a.dtype != b.dtype)
        return dp_fail(ctx, DP_ERUNTIME,
                       "dot : expected both vectors to have same dtype, but found %s and %s",
                       dense_type_name(a.dtype), dense_type_name(b.dtype));
    if (a.numel != b.numel)
        return dp_fail(
            ctx, DP_ERUNTIME,
            "inconsistent tensor size, expected tensor [%lld] and src [%lld] to have the "
            "same number of elements, but got %lld and %lld elements respectively",
            (long long)a.numel, (long long)b.numel, (long long)a.numel, (long long)b.numel);
    int rc = dense_check_type(ctx, "dot", a.dtype, DENSE_NUMBERS);
    dp_dtype class = dense_class(a.dtype);
    if (rc == 0)
        rc = dense_get(ctx, self, class, &x);
    if (rc == 0)
        rc = dense_get(ctx, tensor, class, &y);
    if (rc == 0)
        rc = dp_empty(ctx, class, a.device, 0, NULL, DP_CONTIGUOUS, &r);
    if (rc == 0) {
        if (!dp_memoryless(ctx))
            dot_run(class, dense_data(x), dense_data(y), a.numel, dense_data(r));
        rc = dense_put(ctx, r, a.dtype, DP_CONTIGUOUS, out);
    }
    dp_tensor_unref(x);
    dp_tensor_unref(y);
    return rc;
}

/* -- load -- */

/* A product, to make OpenBLAS allocate a buffer for this thread. */
static void touch(int64_t begin, int64_t end, void *user)
{
    enum { SIDE = 64 };
    float *x = user, y[SIDE * SIDE];

    for (int64_t i = begin; i < end; i++)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, SIDE, SIDE, SIDE, 1, x, SIDE, x,
                    SIDE, 0, y, SIDE);
}

/* One thread for each call of OpenBLAS.  It ends the process when it cannot allocate a thread's
 * buffer, so let every thread of the pool allocate its buffer now. */
int mm_touch_buffers(dp_ctx *ctx)
{
    static float zeros[64 * 64];

    openblas_set_num_threads(1);
    return dp_parallel_for(ctx, 0, 1024, 1, touch, zeros);
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("mm", mm, (T, T), (T)),
                DP_IMPL_UNBOXED("addmm", addmm, (T, T, T, s, s), (T)),
                DP_IMPL_UNBOXED("bmm", bmm, (T, T), (T)),
                DP_IMPL_UNBOXED("baddbmm", baddbmm, (T, T, T, s, s), (T)),
                DP_IMPL_UNBOXED("mv", mv, (T, T), (T)), DP_IMPL_UNBOXED("dot", dot, (T, T), (T)))
