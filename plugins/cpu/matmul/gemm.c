/* gemm.c -- products of matrices in panels and tiles, on the threads of the thread pool. */
#include "lib/poll.h"
#include "gemm.h"
#include "openblas.h"
#include "lib/dims.h"
#include <string.h>

enum {
    /* greatest number of rows of A, or columns of B, that are packed at a time */
    CHUNK = 4096,
    /* rows of A in a block; their panels stay in a core's cache while the panels of B are read */
    BLOCK_ROWS = 240,
    BLOCK_COLS = 512,   /* columns of B in a block; a block of C is one item of work */
    PANELS_A_PIECE = 8, /* number of panels that a thread packs at a time */
    /* number of steps of a panel that are packed at a time; even, and small enough for the cache */
    PACK_STEPS = 64,
    WORTHWHILE = 1 << 18, /* number of multiplications that take longer than waking a thread */
    /* greatest number of products of a batch that are computed at the same time */
    SLOTS = 32
};

gemm_number gemm_scalar(dp_value v)
{
    gemm_number n = {0, 0, 0};

    if (v.tag == DP_TAG_COMPLEX) {
        n.re = v.u.doubles[0], n.im = v.u.doubles[1];
        n.i = (int64_t)n.re;
    } else {
        n.re = as_double(v);
        n.i = as_int(v);
    }
    return n;
}

static bool is_zero(const gemm_number *n, dp_dtype d)
{
    return dp_dtype_is_integral(d, false) ? n->i == 0 : n->re == 0 && n->im == 0;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t pieces(int64_t n, int64_t each)
{
    return (n + each - 1) / each;
}

/* Return the row for products of matrices of dtype `d`; products with a vector use the row at index
 * `d`. */
static const gemm_dtype *for_tiles(dp_dtype d)
{
    const gemm_dtype *all = CPU_CHOSEN(gemm_dtypes);
#ifdef __x86_64__
    if (d == DP_BFLOAT16 && all[GEMM_PAIRS].pack != NULL && __builtin_cpu_supports("avx512bf16"))
        return &all[GEMM_PAIRS];
#endif
    return &all[d];
}

/* Return the bytes of one line of a panel of `depth` steps. */
static int64_t line_bytes(const gemm_class *class, int64_t depth)
{
    return pieces(depth, class->step) * class->step * class->bytes;
}

/* One chunk of a product: its panels, and the C to which its tiles are added. */
typedef struct chunk {
    gemm g;
    const gemm_class *class;
    const gemm_dtype *dtype;
    char *a, *b; /* panels of A and of B */
    char *c;     /* C in the class, with contiguous rows */
    int64_t c_row;
    gemm_number alpha, beta;
    /* first row and rows of A; first column and columns of B; first k and number of k */
    int64_t row, rows, col, cols, at, depth;
    int64_t block_rows, block_cols;
    bool packs_b;
} chunk;

static void pack_panels(int64_t begin, int64_t end, void *user)
{
    const chunk *w = user;
    const gemm *g = &w->g;
    int64_t of_b = w->packs_b ? pieces(w->cols, w->class->cols) : 0, bytes = w->dtype->bytes;

    for (int64_t i = begin; i < end; i++) {
        bool b = i < of_b;
        int width = b ? w->class->cols : w->class->rows;
        int64_t first = (b ? i : i - of_b) * width, left = (b ? w->cols : w->rows) - first;
        int64_t line = b ? g->b_col : g->a_row, step = b ? g->b_row : g->a_col;
        const char *from = (const char *)(b ? g->b : g->a) +
                           ((first + (b ? w->col : w->row)) * line + w->at * step) * bytes;
        char *to = (b ? w->b : w->a) + first * line_bytes(w->class, w->depth);
        for (int64_t p = 0; p < w->depth; p += PACK_STEPS)
            w->dtype->pack(to + p * width * w->class->bytes, width, least(left, width),
                           least(w->depth - p, PACK_STEPS), from + p * step * bytes, line, step);
    }
}

static void multiply_block(const chunk *w, int64_t row, int64_t rows, int64_t col, int64_t cols)
{
    const gemm_class *k = w->class;
    int64_t line = line_bytes(k, w->depth);

    for (int64_t j = col; j < col + cols; j += k->cols)
        for (int64_t i = row; i < row + rows; i += k->rows)
            k->tile(w->depth, w->a + i * line, w->b + j * line,
                    w->c + ((w->row + i) * w->c_row + w->col + j) * k->sum_bytes, w->c_row,
                    (int)least(w->rows - i, k->rows), (int)least(w->cols - j, k->cols), &w->alpha,
                    &w->beta);
}

static void multiply_blocks(int64_t begin, int64_t end, void *user)
{
    const chunk *w = user;
    int64_t across = pieces(w->cols, w->block_cols);

    for (int64_t i = begin; i < end; i++) {
        int64_t row = i / across * w->block_rows, col = i % across * w->block_cols;
        multiply_block(w, row, least(w->rows - row, w->block_rows), col,
                       least(w->cols - col, w->block_cols));
    }
}

/* Run fn over [0, n) on several threads; `ctx` NULL: on the calling thread. */
static int each(dp_ctx *ctx, int64_t n, int64_t grain, dp_range_fn fn, void *user)
{
    if (ctx != NULL && n > grain)
        return dp_parallel_for(ctx, 0, n, grain, fn, user);
    fn(0, n, user);
    return 0;
}

/* Choose the sizes of blocks; they are smaller if there would be too few blocks for several
 * threads. */
static void choose_blocks(chunk *w)
{
    enum { ENOUGH = 8 };
    int64_t rows = BLOCK_ROWS / w->class->rows, cols = BLOCK_COLS / w->class->cols;
    int64_t tile = w->class->rows * w->class->cols * w->depth;

    w->block_rows = rows * w->class->rows, w->block_cols = cols * w->class->cols;
    while (rows > 1 && cols > 1 && rows * cols * tile > WORTHWHILE &&
           pieces(w->rows, w->block_rows) * pieces(w->cols, w->block_cols) < ENOUGH) {
        *(w->block_rows > w->block_cols ? &rows : &cols) /= 2;
        w->block_rows = rows * w->class->rows, w->block_cols = cols * w->class->cols;
    }
}

static int run_chunk(dp_ctx *ctx, chunk *w)
{
    int64_t of_b = w->packs_b ? pieces(w->cols, w->class->cols) : 0;
    bool alone = (double)w->rows * (double)w->cols * (double)w->depth < 2 * WORTHWHILE;

    if (alone)
        ctx = NULL;
    choose_blocks(w);
    int rc = each(ctx, of_b + pieces(w->rows, w->class->rows), PANELS_A_PIECE, pack_panels, w);
    if (rc == 0)
        rc = each(ctx, pieces(w->rows, w->block_rows) * pieces(w->cols, w->block_cols), 1,
                  multiply_blocks, w);
    return rc;
}

/* Return the bytes of the panels of A or, with `of_b`, of B. */
static int64_t panel_bytes(const gemm *g, const gemm_class *class, bool of_b)
{
    int64_t width = of_b ? class->cols : class->rows, lines = least(of_b ? g->n : g->m, CHUNK);
    return pieces(lines, width) * width * line_bytes(class, least(g->k, GEMM_DEPTH));
}

/* Test whether sums can be added up in C: its dtype is the class, and its rows are contiguous. */
static bool in_place(const gemm *g)
{
    return CPU_CHOSEN(gemm_dtypes)[g->dtype].bytes >= 4 && g->c_col == 1;
}

/* Return the product with all matrices transposed, if that makes the rows of C contiguous. */
static gemm transposed(const gemm *g)
{
    gemm t = *g;

    if (g->c_col == 1 || g->c_row != 1)
        return t;
    t.m = g->n, t.n = g->m;
    t.a = g->b, t.a_row = g->b_col, t.a_col = g->b_row;
    t.b = g->a, t.b_row = g->a_col, t.b_col = g->a_row;
    t.c_row = g->c_col, t.c_col = g->c_row;
    return t;
}

/* Test whether the product is a matrix times a vector; a product with one row is one after
 * transposition. */
static bool is_vector(const gemm *g)
{
    return g->n == 1 || g->m == 1;
}

static gemm as_vector(const gemm *g)
{
    gemm t = *g;

    if (g->n == 1)
        return t;
    t.m = g->n, t.n = 1;
    t.a = g->b, t.a_row = g->b_col, t.a_col = g->b_row;
    t.b = g->a, t.b_row = g->a_col;
    t.c_row = g->c_col;
    return t;
}

static int64_t round_up(int64_t bytes)
{
    return (bytes + 63) & ~(int64_t)63;
}

size_t gemm_scratch(const gemm *g)
{
    gemm t = transposed(g);
    const gemm_class *classes = CPU_CHOSEN(gemm_classes),
                     *class = &classes[for_tiles(g->dtype)->class];

    if (is_vector(g))
        return (size_t)round_up(g->k * classes[CPU_CHOSEN(gemm_dtypes)[g->dtype].class].bytes);
    if (blas_takes(&t))
        return 0;
    int64_t sums = in_place(&t) ? 0 : t.m * t.n * class->sum_bytes;
    return (size_t)(round_up(panel_bytes(&t, class, false)) +
                    round_up(panel_bytes(&t, class, true)) + round_up(sums));
}

static void finish_rows(int64_t begin, int64_t end, void *user)
{
    const chunk *w = user;
    w->dtype->finish(&w->g, w->c, begin, end);
}

/* Run all chunks of a product that is not empty, in the scratch memory of gemm_scratch(). */
static int run_chunks(dp_ctx *ctx, chunk *w)
{
    const gemm *g = &w->g;
    const gemm_number one = {1, 0, 1};
    int rc = 0;

    for (w->col = 0; rc == 0 && w->col < g->n; w->col += CHUNK)
        for (w->at = 0; rc == 0 && w->at < g->k; w->at += GEMM_DEPTH) {
            w->cols = least(g->n - w->col, CHUNK);
            w->depth = least(g->k - w->at, GEMM_DEPTH);
            if (w->at > 0)
                w->beta = one;
            for (w->row = 0; rc == 0 && w->row < g->m; w->row += CHUNK) {
                w->rows = least(g->m - w->row, CHUNK);
                w->packs_b = w->row == 0;
                rc = run_chunk(ctx, w);
            }
        }
    return rc;
}

static int run_matrix(dp_ctx *ctx, const gemm *g, char *room)
{
    const gemm_number none = {0, 0, 0}, one = {1, 0, 1};
    chunk w = {.g = transposed(g), .alpha = g->alpha, .beta = g->beta};

    w.dtype = for_tiles(g->dtype);
    w.class = &CPU_CHOSEN(gemm_classes)[w.dtype->class];
    w.a = room;
    w.b = w.a + round_up(panel_bytes(&w.g, w.class, false));
    w.c = w.g.c, w.c_row = w.g.c_row;
    bool direct = in_place(&w.g);
    if (!direct) {
        w.c = w.b + round_up(panel_bytes(&w.g, w.class, true));
        w.c_row = w.g.n;
        w.alpha = one, w.beta = none;
    }
    int rc = run_chunks(ctx, &w);
    if (rc == 0 && !direct)
        rc = each(ctx, w.g.m, WORTHWHILE / 8 / (w.g.n + 1) + 1, finish_rows, &w);
    return rc;
}

typedef struct vector {
    gemm g;
    const gemm_dtype *dtype;
    const void *x;
} vector;

static void vector_rows(int64_t begin, int64_t end, void *user)
{
    const vector *v = user;
    v->dtype->vector(&v->g, v->x, begin, end);
}

static int run_vector(dp_ctx *ctx, const gemm *g, void *room)
{
    vector v = {as_vector(g), &CPU_CHOSEN(gemm_dtypes)[g->dtype], room};

    if (v.g.b_row == 1 && v.dtype->bytes >= 4)
        v.x = v.g.b;
    else
        v.dtype->pack(room, 1, 1, v.g.k, v.g.b, 1, v.g.b_row);
    return each(ctx, v.g.m, WORTHWHILE / 8 / (v.g.k + 1) + 1, vector_rows, &v);
}

/* Set C to beta C. */
static void scale(const gemm *g)
{
    const gemm_dtype *d = &CPU_CHOSEN(gemm_dtypes)[g->dtype];
    gemm t = *g;

    t.k = 0;
    t.alpha = (gemm_number){0, 0, 0};
    for (int64_t j = 0; j < g->n; j++) {
        t.c = (char *)g->c + j * g->c_col * d->bytes;
        d->vector(&t, NULL, 0, t.m);
    }
}

/* Test whether OpenBLAS will compute the product; *t is the product as OpenBLAS gets it. */
static bool by_blas(const gemm *g, gemm *t)
{
    *t = is_vector(g) ? as_vector(g) : transposed(g);
    bool dot = t->m == 1 && t->n == 1 && !dp_dtype_is_complex(g->dtype);
    return !dot && blas_takes(t);
}

int gemm_check(dp_ctx *ctx, const gemm *g)
{
    gemm t;

    if (g->k > INT32_MAX)
        return dp_fail(ctx, DP_ERESOURCE,
                       "sums of %" PRId64 " products are more than a product takes (%d)", g->k,
                       INT32_MAX);
    return by_blas(g, &t) ? blas_ready(ctx) : 0;
}

int gemm_run(dp_ctx *ctx, const gemm *g, void *scratch)
{
    if (g->m == 0 || g->n == 0)
        return 0;
    if (g->k == 0 || is_zero(&g->alpha, g->dtype)) {
        scale(g);
        return 0;
    }
    gemm t;
    if (by_blas(g, &t))
        return blas_run(ctx, &t);
    return is_vector(g) ? run_vector(ctx, g, scratch) : run_matrix(ctx, g, scratch);
}

/* -- batches: many products are computed in parallel; few products are each split for several
 * threads -- */

typedef struct batch {
    gemm g;
    int64_t n, slots, a, b, c;
    char *room;
    int64_t room_bytes;
} batch;

static gemm nth(const batch *s, int64_t i)
{
    gemm g = s->g;

    g.a = (const char *)g.a + i * s->a;
    g.b = (const char *)g.b + i * s->b;
    g.c = (char *)g.c + i * s->c;
    return g;
}

static void run_slots(int64_t begin, int64_t end, void *user)
{
    const batch *s = user;
    const int64_t sides[] = {s->g.m, s->g.n, s->g.k};
    int64_t steps = (int64_t)least((int64_t)(dp_sizes_product(1, sides, 3) >> 1), POLL_STEPS);
    poll look = {0};

    for (int64_t slot = begin; slot < end; slot++)
        for (int64_t i = s->n * slot / s->slots;
             i < s->n * (slot + 1) / s->slots && !poll_stops(&look, steps); i++) {
            gemm g = nth(s, i);
            gemm_run(NULL, &g, s->room + slot * s->room_bytes);
        }
}

int gemm_batch(dp_ctx *ctx, const gemm *g, int64_t n, int64_t a, int64_t b, int64_t c)
{
    enum { FEW = 8 };
    double all = (double)n * (double)g->m * (double)g->n * (double)(g->k + 1) *
                 (is_vector(g) ? GEMM_WAITS : 1);
    bool split = n < FEW && all >= WORTHWHILE;
    batch s = {.g = *g, .n = n, .slots = least(n, SLOTS), .a = a, .b = b, .c = c};
    int rc = 0;

    if (split || all < WORTHWHILE)
        s.slots = 1;
    s.room_bytes = (int64_t)gemm_scratch(g);
    s.room = dp_alloc_n(ctx, (size_t)s.room_bytes, (size_t)s.slots);
    if (s.room == NULL)
        return DP_ERESOURCE;
    if (!split)
        return each(ctx, s.slots, 1, run_slots, &s);
    for (int64_t i = 0; i < n && rc == 0; i++) {
        gemm one = nth(&s, i);
        rc = gemm_run(ctx, &one, s.room);
    }
    return rc;
}
