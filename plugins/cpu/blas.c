/* blas.c -- products that OpenBLAS computes: float32, float64, complex64 and complex128 whose operands it can
 * read where they lie.
 *
 * OpenBLAS is told to use one thread; products are split into panels, which run on the host's pool.  What a
 * panel holds depends on the shape alone and not on the threads: BLAS computes the lines at the end of
 * what it is given with other instructions, so that other panels would be other last bits. */
#include "gemm.h"
#include <cblas.h>
#include <limits.h>

/* Below so many multiplications a tile (gemm.c) is used, as PyTorch uses a loop: at 512, 8x8x8, both took
 * about 0.15 us. */
enum { FEW = 400 };

/* Are the elements of a row next to each other, and the rows apart?  Of columns the same, with sizes and
 * strides exchanged. */
static bool by_rows(int64_t rows, int64_t cols, int64_t row, int64_t col)
{
    return (col == 1 || cols <= 1) && (row >= (cols > 1 ? cols : 1)) && row <= INT_MAX &&
           rows <= INT_MAX;
}

static bool suits(int64_t rows, int64_t cols, int64_t row, int64_t col)
{
    return by_rows(rows, cols, row, col) || by_rows(cols, rows, col, row);
}

bool blas_takes(const gemm *g)
{
    bool has = g->dtype == DP_FLOAT32 || g->dtype == DP_FLOAT64 || dp_dtype_is_complex(g->dtype);

    return has && (g->n == 1 || (double)g->m * (double)g->n * (double)g->k >= FEW) &&
           g->k <= INT_MAX && by_rows(g->m, g->n, g->c_row, g->c_col) && g->n <= INT_MAX &&
           suits(g->m, g->k, g->a_row, g->a_col) && suits(g->k, g->n, g->b_row, g->b_col);
}

/* Describe a matrix to BLAS: its leading dimension, and whether it is row-major (no transpose). */
static CBLAS_TRANSPOSE layout(int64_t rows, int64_t cols, int64_t row, int64_t col, int *lead)
{
    bool row_major = by_rows(rows, cols, row, col);

    *lead = (int)(row_major ? row : col);
    return row_major ? CblasNoTrans : CblasTrans;
}

/* One column. */
static void multiply_vector(const gemm *g)
{
    int lda, m = (int)g->m, k = (int)g->k, x = (int)g->b_row, y = (int)g->c_row;
    CBLAS_TRANSPOSE ta = layout(g->m, g->k, g->a_row, g->a_col, &lda);
    bool rows = ta == CblasNoTrans;
    const double by[2] = {g->alpha.re, g->alpha.im}, old[2] = {g->beta.re, g->beta.im};
    const float by_f[2] = {(float)by[0], (float)by[1]}, old_f[2] = {(float)old[0], (float)old[1]};

    int lines = rows ? m : k, each = rows ? k : m; /* of A as it lies */

    if (g->dtype == DP_FLOAT32)
        cblas_sgemv(CblasRowMajor, ta, lines, each, by_f[0], g->a, lda, g->b, x, old_f[0], g->c, y);
    else if (g->dtype == DP_FLOAT64)
        cblas_dgemv(CblasRowMajor, ta, lines, each, by[0], g->a, lda, g->b, x, old[0], g->c, y);
    else if (g->dtype == DP_COMPLEX64)
        cblas_cgemv(CblasRowMajor, ta, lines, each, by_f, g->a, lda, g->b, x, old_f, g->c, y);
    else
        cblas_zgemv(CblasRowMajor, ta, lines, each, by, g->a, lda, g->b, x, old, g->c, y);
}

/* One panel, on this thread. */
static void multiply(const gemm *g)
{
    if (g->n == 1) {
        multiply_vector(g);
        return;
    }
    int lda, ldb, m = (int)g->m, n = (int)g->n, k = (int)g->k, ldc = (int)g->c_row;
    CBLAS_TRANSPOSE ta = layout(g->m, g->k, g->a_row, g->a_col, &lda);
    CBLAS_TRANSPOSE tb = layout(g->k, g->n, g->b_row, g->b_col, &ldb);
    const double by[2] = {g->alpha.re, g->alpha.im}, old[2] = {g->beta.re, g->beta.im};
    const float by_f[2] = {(float)by[0], (float)by[1]}, old_f[2] = {(float)old[0], (float)old[1]};

    if (g->dtype == DP_FLOAT32)
        cblas_sgemm(CblasRowMajor, ta, tb, m, n, k, by_f[0], g->a, lda, g->b, ldb, old_f[0], g->c,
                    ldc);
    else if (g->dtype == DP_FLOAT64)
        cblas_dgemm(CblasRowMajor, ta, tb, m, n, k, by[0], g->a, lda, g->b, ldb, old[0], g->c, ldc);
    else if (g->dtype == DP_COMPLEX64)
        cblas_cgemm(CblasRowMajor, ta, tb, m, n, k, by_f, g->a, lda, g->b, ldb, old_f, g->c, ldc);
    else
        cblas_zgemm(CblasRowMajor, ta, tb, m, n, k, by, g->a, lda, g->b, ldb, old, g->c, ldc);
}

/* A product in panels of rows, or of columns where it is wider than tall. */
typedef struct panels {
    const gemm *g;
    int64_t lines; /* rows or columns of a panel */
} panels;

static void run_panels(int64_t begin, int64_t end, void *user)
{
    const panels *p = user;
    int64_t bytes = (int64_t)dp_dtype_size(p->g->dtype);
    bool tall = p->g->m >= p->g->n;

    for (int64_t i = begin; i < end; i++) {
        gemm g = *p->g;
        int64_t from = i * p->lines, *size = tall ? &g.m : &g.n;
        *size = *size - from < p->lines ? *size - from : p->lines;
        if (tall)
            g.a = (const char *)g.a + from * g.a_row * bytes;
        else
            g.b = (const char *)g.b + from * g.b_col * bytes;
        g.c = (char *)g.c + from * (tall ? g.c_row : 1) * bytes;
        multiply(&g);
    }
}

/* Lines of a panel: a multiple of ALIGN, of three times as many where there are more than MANY panels, as
 * BLAS's kernels have them. */
static int64_t panel_lines(const gemm *g)
{
    enum {
        WORTHWHILE = 1 << 20, /* a panel has at least so many multiplications */
        ALIGN = 16,
        MANY = 16,
        NARROWEST = 96,
        WIDEST = 192, /* wider ones are not faster, */
        PANELS = 8,
        LONG =
            2048, /* but where rows of A are added: of each a panel reads no more than its lines */
        HALVES = 2
    };
    bool tall = g->m >= g->n, adds = g->n == 1 && !by_rows(g->m, g->k, g->a_row, g->a_col);
    int64_t lines = tall ? g->m : g->n, widest = adds ? LONG : WIDEST;
    int64_t narrow = lines / (adds ? HALVES : PANELS);
    double line = (double)g->k * (double)(tall ? g->n : g->m) * (g->n == 1 ? GEMM_WAITS : 1) + 1;

    narrow = narrow < NARROWEST ? NARROWEST : narrow > widest ? widest : narrow;
    if ((double)narrow * line < WORTHWHILE)
        narrow = (int64_t)(WORTHWHILE / line) + 1;
    /* an even number of them, so that two threads have equal shares */
    int64_t pairs = lines / narrow / 2, n = 2 * (pairs > 0 ? pairs : lines > narrow);
    int64_t each = n > 0 ? (lines + n - 1) / n : lines, align = n > MANY ? 3 * ALIGN : ALIGN;
    return (each + align - 1) / align * align;
}

int blas_run(dp_ctx *ctx, const gemm *g)
{
    int64_t lines = g->m >= g->n ? g->m : g->n;
    panels p = {g, panel_lines(g)};
    int64_t n = (lines + p.lines - 1) / p.lines;

    if (ctx != NULL)
        return dp_parallel_for(ctx, 0, n, 1, run_panels, &p);
    run_panels(0, n, &p);
    return 0;
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

int blas_start(dp_ctx *ctx)
{
    static float zeros[64 * 64];

    openblas_set_num_threads(1);
    return dp_parallel_for(ctx, 0, 1024, 1, touch, zeros);
}
