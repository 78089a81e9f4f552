/* blas.c -- products that OpenBLAS computes: float32, float64, complex64 and complex128 operands
 * whose strides OpenBLAS can read without a copy.
 *
 * OpenBLAS uses one thread (openblas.c).  Products are split into panels, which run on the host's
 * thread pool.  The size of a panel depends only on the shape, not on the number of threads: BLAS
 * computes the last rows and columns of its operands with other instructions, so other panels would
 * give other last bits. */
#include "gemm.h"
#include "openblas.h"
#include <limits.h>

/* number of multiplications below which a tile (gemm.c) is used, as PyTorch uses a loop; at 8x8x8 =
 * 512, tile and BLAS both took about 0.15 us */
enum { FEW = 400 };

/* Test whether the elements of a row are contiguous, and the rows do not overlap.  A caller that
 * exchanges sizes and strides tests the columns. */
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

/* Compute a product whose B is one column. */
static void multiply_vector(const gemm *g)
{
    int lda, m = (int)g->m, k = (int)g->k, x = (int)g->b_row, y = (int)g->c_row;
    CBLAS_TRANSPOSE ta = layout(g->m, g->k, g->a_row, g->a_col, &lda);
    bool rows = ta == CblasNoTrans;
    const double by[2] = {g->alpha.re, g->alpha.im}, old[2] = {g->beta.re, g->beta.im};
    const float by_f[2] = {(float)by[0], (float)by[1]}, old_f[2] = {(float)old[0], (float)old[1]};

    /* lines of A and elements of a line, in the order of memory */
    int lines = rows ? m : k, each = rows ? k : m;

    if (g->dtype == DP_FLOAT32)
        blas.sgemv(CblasRowMajor, ta, lines, each, by_f[0], g->a, lda, g->b, x, old_f[0], g->c, y);
    else if (g->dtype == DP_FLOAT64)
        blas.dgemv(CblasRowMajor, ta, lines, each, by[0], g->a, lda, g->b, x, old[0], g->c, y);
    else if (g->dtype == DP_COMPLEX64)
        blas.cgemv(CblasRowMajor, ta, lines, each, by_f, g->a, lda, g->b, x, old_f, g->c, y);
    else
        blas.zgemv(CblasRowMajor, ta, lines, each, by, g->a, lda, g->b, x, old, g->c, y);
}

static void multiply_matrix(const gemm *g)
{
    int lda, ldb, m = (int)g->m, n = (int)g->n, k = (int)g->k, ldc = (int)g->c_row;
    CBLAS_TRANSPOSE ta = layout(g->m, g->k, g->a_row, g->a_col, &lda);
    CBLAS_TRANSPOSE tb = layout(g->k, g->n, g->b_row, g->b_col, &ldb);
    const double by[2] = {g->alpha.re, g->alpha.im}, old[2] = {g->beta.re, g->beta.im};
    const float by_f[2] = {(float)by[0], (float)by[1]}, old_f[2] = {(float)old[0], (float)old[1]};

    if (g->dtype == DP_FLOAT32)
        blas.sgemm(CblasRowMajor, ta, tb, m, n, k, by_f[0], g->a, lda, g->b, ldb, old_f[0], g->c,
                   ldc);
    else if (g->dtype == DP_FLOAT64)
        blas.dgemm(CblasRowMajor, ta, tb, m, n, k, by[0], g->a, lda, g->b, ldb, old[0], g->c, ldc);
    else if (g->dtype == DP_COMPLEX64)
        blas.cgemm(CblasRowMajor, ta, tb, m, n, k, by_f, g->a, lda, g->b, ldb, old_f, g->c, ldc);
    else
        blas.zgemm(CblasRowMajor, ta, tb, m, n, k, by, g->a, lda, g->b, ldb, old, g->c, ldc);
}

/* Compute one panel on the calling thread. */
static void multiply(const gemm *g)
{
    blas_enter();
    if (g->n == 1)
        multiply_vector(g);
    else
        multiply_matrix(g);
    blas_leave();
}

static int64_t pieces(int64_t n, int64_t each)
{
    return (n + each - 1) / each;
}

/* Compute a panel in steps of k that take at most some 0.2 s, because a call of BLAS cannot be
 * stopped.  For a narrow panel, BLAS takes as long as for MARGIN more rows and columns. */
static void multiply_steps(const gemm *g, int64_t bytes)
{
    enum { MARGIN = 16 };
    const double most =
        /* number of multiplications of one step */
        0x1p34 / (double)bytes * (dp_dtype_is_complex(g->dtype) ? 0.5 : 1);
    const gemm_number one = {1, 0, 1};
    double all = (double)(g->m + MARGIN) * (double)(g->n + MARGIN) * (double)g->k;
    int64_t steps = g->n == 1 ? 1 : (int64_t)(all / most) + 1, step = pieces(g->k, steps);
    gemm part = *g;

    for (int64_t k = 0; k < g->k && (k == 0 || dp_stop_code(NULL) == 0); k += step) {
        part.k = g->k - k < step ? g->k - k : step;
        part.a = (const char *)g->a + k * g->a_col * bytes;
        part.b = (const char *)g->b + k * g->b_row * bytes;
        multiply(&part);
        part.beta = one;
    }
}

/* a product whose C is cut into panels */
typedef struct panels {
    const gemm *g;
    int64_t rows, cols; /* rows and columns of a panel */
} panels;

static void run_panels(int64_t begin, int64_t end, void *user)
{
    const panels *p = user;
    int64_t bytes = (int64_t)dp_dtype_size(p->g->dtype), across = pieces(p->g->n, p->cols);

    for (int64_t i = begin; i < end; i++) {
        int64_t row = i / across * p->rows, col = i % across * p->cols;
        gemm g = *p->g;
        g.m = g.m - row < p->rows ? g.m - row : p->rows;
        g.n = g.n - col < p->cols ? g.n - col : p->cols;
        g.a = (const char *)g.a + row * g.a_row * bytes;
        g.b = (const char *)g.b + col * g.b_col * bytes;
        g.c = (char *)g.c + (row * g.c_row + col) * bytes;
        multiply_steps(&g, bytes);
    }
}

/* Return the size of the parts if `n` is cut into `cuts` nearly equal parts, rounded up to a
 * multiple of `align`. */
static int64_t part(int64_t n, int64_t cuts, int64_t align)
{
    return pieces(pieces(n, cuts), align) * align;
}

/* Choose the panels of a matrix.  BLAS packs the panel's share of A and B again for each panel,
 * which for float32 adds about 30 / rows + 30 / cols of the whole time.  The longer side is
 * therefore halved, so that panels are nearly square, until there are ENOUGH panels and no side is
 * LONG. */
static void choose_panels(panels *p)
{
    enum {
        ENOUGH = 4,
        LONG = 1024,
        LEAST = 1 << 20,     /* least number of multiplications of each of two panels */
        LEAST_FEW = 1 << 24, /* least number of multiplications of each of more than two panels */
        ALIGN = 16
    };
    const gemm *g = p->g;
    int64_t down = 1, across = 1;

    for (;;) {
        bool tall = g->m / down >= g->n / across;
        int64_t side = tall ? g->m / down : g->n / across, n = down * across;
        double each = (double)g->m * (double)g->n * (double)g->k / (double)(2 * n);
        if (side < 2 * ALIGN || each < (n == 1 || side >= LONG ? LEAST : LEAST_FEW) ||
            (side < LONG && n >= ENOUGH))
            break;
        *(tall ? &down : &across) *= 2;
    }
    p->rows = part(g->m, down, ALIGN);
    p->cols = part(g->n, across, ALIGN);
}

/* Return the rows of a panel of a matrix times a vector.  The number of panels is even, so that two
 * threads have equal shares. */
static int64_t vector_rows(const gemm *g)
{
    enum {
        /* least number of multiplications of a panel, each counted GEMM_WAITS times */
        LEAST = 1 << 20,
        ALIGN = 16,
        MANY = 16, /* number of panels from which on the alignment is three times as large */
        NARROWEST = 96,
        WIDEST = 192,
        PANELS = 8,
        LONG = 2048, /* greatest number of rows of a panel if the columns of A are contiguous */
        HALVES = 2
    };
    bool adds = !by_rows(g->m, g->k, g->a_row, g->a_col);
    int64_t widest = adds ? LONG : WIDEST, narrow = g->m / (adds ? HALVES : PANELS);
    double row = (double)g->k * GEMM_WAITS + 1;

    narrow = narrow < NARROWEST ? NARROWEST : narrow > widest ? widest : narrow;
    if ((double)narrow * row < LEAST)
        narrow = (int64_t)(LEAST / row) + 1;
    int64_t pairs = g->m / narrow / 2, n = 2 * (pairs > 0 ? pairs : g->m > narrow);
    return part(g->m, n > 0 ? n : 1, n > MANY ? 3 * ALIGN : ALIGN);
}

int blas_run(dp_ctx *ctx, const gemm *g)
{
    panels p = {g, 0, 1};

    if (g->n == 1)
        p.rows = vector_rows(g);
    else
        choose_panels(&p);
    int64_t n = pieces(g->m, p.rows) * pieces(g->n, p.cols);
    if (ctx != NULL)
        return dp_parallel_for(ctx, 0, n, 1, run_panels, &p);
    run_panels(0, n, &p);
    return 0;
}
