/* loops/norm.h -- template of the loops of norm.h for elements of type T; E is the suffix of T.
 * levels/norm.c includes this header once per type.
 *
 * Contiguous elements are summed in NM_LANES accumulators; the sums of blocks of NM_BLOCK elements
 * are added in double.  This keeps the rounding errors of long sums small, and makes the results
 * the same, bit for bit, at every vector level. */
#define FN(name)     DP_ISA_PASTE(name, E)
#define FMA(a, b, c) DP_ISA_PASTE(dpm_fma, E)(a, b, c)

/* Merge the upper half of both arrays of lanes into the lower half. */
#define NM_HALF(half)                                                                              \
    _Pragma("GCC ivdep") for (int l = 0; l < half; l++)                                            \
    {                                                                                              \
        a[l] += a[l + half];                                                                       \
        b[l] += b[l + half];                                                                       \
    }
/* Add f(i) and g(i), expressions of an index, for i in [0, n) to the doubles `first` and
 * `second`. */
#define NM_SUMS(first, second, n, f, g)                                                            \
    {                                                                                              \
        poll look_ = {0};                                                                          \
        for (int64_t from = 0; from < (n) && !poll_stops(&look_, NM_BLOCK); from += NM_BLOCK) {    \
            int64_t to = (n)-from < NM_BLOCK ? (n) : from + NM_BLOCK, e_ = from;                   \
            T a[NM_LANES] = {0}, b[NM_LANES] = {0};                                                \
            for (; e_ + NM_LANES <= to; e_ += NM_LANES)                                            \
                for (int l = 0; l < NM_LANES; l++) {                                               \
                    a[l] += f(e_ + l);                                                             \
                    b[l] += g(e_ + l);                                                             \
                }                                                                                  \
            for (int l = 0; e_ + l < to; l++) {                                                    \
                a[l] += f(e_ + l);                                                                 \
                b[l] += g(e_ + l);                                                                 \
            }                                                                                      \
            NM_HALF(16) NM_HALF(8) NM_HALF(4) NM_HALF(2) NM_HALF(1) first += (double)a[0];         \
            second += (double)b[0];                                                                \
        }                                                                                          \
    }
#define NM_NONE(i) 0

/* Return the mean of x [n], and set *squares to the sum of the squared distances from it. */
static inline double FN(moments)(const T *restrict x, int64_t n, double *squares)
{
    double sum = 0, ignored = 0, low = 0;

#define EACH(i) x[i]
    NM_SUMS(sum, ignored, n, EACH, NM_NONE)
#undef EACH
    double mean = sum / (double)n;
    T m = (T)mean;
    *squares = 0;
#define EACH(i)  ((x[i] - m) * (x[i] - m))
#define SMALL(i) (x[i] - m)
    NM_SUMS(*squares, low, n, EACH, SMALL)
#undef SMALL
#undef EACH
    *squares -= low * low / (double)n; /* the part that comes from rounding m */
    *squares = *squares < 0 ? 0 : *squares;
    return mean;
}

/* -- planes -- */

static void FN(plane_moments)(int64_t begin, int64_t end, void *user)
{
    const nm_planes *p = user;
    for (int64_t i = begin; i < end; i++)
        p->sum[i] = FN(moments)((const T *)p->x + i * p->size, p->size, &p->more[i]);
}

static void FN(plane_scale)(int64_t begin, int64_t end, void *user)
{
    const nm_planes *p = user;
    const int64_t n = p->size;
    for (int64_t i = begin; i < end; i++) {
        const T *restrict x = (const T *)p->x + i * n;
        T *restrict y = (T *)p->y + i * n;
        T f = (T)p->f[i], g = (T)p->g[i];
        for (int64_t j = 0; j < n; j++)
            y[j] = FMA(x[j], f, g);
    }
}

static void FN(plane_dots)(int64_t begin, int64_t end, void *user)
{
    const nm_planes *p = user;
    const int64_t n = p->size;
    for (int64_t i = begin; i < end; i++) {
        const T *restrict x = (const T *)p->x + i * n, *restrict dy = (const T *)p->dy + i * n;
        double sum = 0, dot = 0;
        T m = (T)p->mean[i];
#define EACH(j) dy[j]
#define DOT(j)  (dy[j] * (x[j] - m))
        NM_SUMS(sum, dot, n, EACH, DOT)
#undef DOT
#undef EACH
        p->sum[i] = sum;
        p->more[i] = dot;
    }
}

static void FN(plane_slope)(int64_t begin, int64_t end, void *user)
{
    const nm_planes *p = user;
    const int64_t n = p->size;
    for (int64_t i = begin; i < end; i++) {
        const T *restrict x = (const T *)p->x + i * n, *restrict dy = (const T *)p->dy + i * n;
        T *restrict y = (T *)p->y + i * n;
        T f = (T)p->f[i], k = (T)p->k[i], g = (T)p->g[i], m = (T)p->mean[i];
        for (int64_t j = 0; j < n; j++)
            y[j] = dy[j] * f - ((x[j] - m) * k + g);
    }
}

/* -- rows -- */

/* Compute y = (x * rstd + offset) * gamma + beta for one row. */
static inline void FN(scale_row)(const T *restrict x, const T *restrict gamma,
                                 const T *restrict beta, T *restrict y, int64_t n, T rstd, T offset)
{
    if (gamma != NULL && beta != NULL)
        for (int64_t i = 0; i < n; i++)
            y[i] = FMA(FMA(x[i], rstd, offset), gamma[i], beta[i]);
    else
        for (int64_t i = 0; i < n; i++) {
            T z = FMA(x[i], rstd, offset);
            y[i] = z * (gamma ? gamma[i] : 1) + (beta ? beta[i] : 0);
        }
}

/* Normalize rows.  As in PyTorch, the mean of a row with an infinity is NaN, the mean of an empty
 * row is 0, and the variance, rstd and offset are rounded to T, which is visible in rows of almost
 * equal elements. */
static void FN(row_norm)(int64_t begin, int64_t end, void *user)
{
    const nm_rows *r = user;
    for (int64_t i = begin; i < end; i++) {
        double squares, mean = FN(moments)((const T *)r->x + i * r->n, r->n, &squares);
        T variance = (T)(squares / (double)r->n);
        T rstd = 1 / (T)sqrt((double)(variance + (T)r->eps));
        FN(scale_row)
        ((const T *)r->x + i * r->n, r->gamma, r->beta, (T *)r->y + i * r->n, r->n, rstd,
         (T)-mean * rstd);
        ((T *)r->mean)[i] = (T)(r->n == 0 ? 0 : squares != squares ? NAN : mean);
        ((T *)r->rstd)[i] = rstd;
    }
}

static void FN(row_slope)(int64_t begin, int64_t end, void *user)
{
    const nm_rows *r = user;
    const int64_t n = r->n;
    const T *restrict gamma = r->gamma;
    for (int64_t i = begin; i < end; i++) {
        const T *restrict x = (const T *)r->x + i * n, *restrict dy = (const T *)r->dy + i * n;
        T *restrict y = (T *)r->y + i * n;
        T m = ((const T *)r->mean)[i], f = ((const T *)r->rstd)[i];
        double sum = 0, dot = 0;
#define EACH(j)  dy[j]
#define DOT(j)   (dy[j] * (x[j] - m))
#define EACHG(j) (dy[j] * gamma[j])
#define DOTG(j)  (dy[j] * gamma[j] * (x[j] - m))
        if (gamma == NULL)
            NM_SUMS(sum, dot, n, EACH, DOT)
        else
            NM_SUMS(sum, dot, n, EACHG, DOTG)
        T k = (T)(dot * f * f * f / (double)n), g = (T)(sum * f / (double)n);
        if (gamma == NULL)
            for (int64_t j = 0; j < n; j++)
                y[j] = dy[j] * f - ((x[j] - m) * k + g);
        else
            for (int64_t j = 0; j < n; j++)
                y[j] = dy[j] * gamma[j] * f - ((x[j] - m) * k + g);
#undef DOTG
#undef EACHG
#undef DOT
#undef EACH
    }
}

/* Add the terms NM_FIRST(l) and NM_SECOND(l) of rows [from, to) to the doubles a[j + l] and
 * b[j + l], for `w` <= NM_WIDE columns.  NM_ROW(i) declares what the terms need of row i.  Blocks
 * of NM_ROWS rows are summed in T. */
#define NM_COLUMNS(w)                                                                              \
    poll look_ = {0};                                                                              \
    for (int64_t i0 = from; i0 < to && !poll_stops(&look_, NM_ROWS * NM_WIDE); i0 += NM_ROWS) {    \
        int64_t i1 = to - i0 < NM_ROWS ? to : i0 + NM_ROWS;                                        \
        T x_[NM_WIDE] = {0}, y_[NM_WIDE] = {0};                                                    \
        for (int64_t i = i0; i < i1; i++) {                                                        \
            NM_ROW(i)                                                                              \
            for (int64_t l = 0; l < (w); l++) {                                                    \
                x_[l] += NM_FIRST(l);                                                              \
                y_[l] += NM_SECOND(l);                                                             \
            }                                                                                      \
        }                                                                                          \
        for (int64_t l = 0; l < (w); l++) {                                                        \
            a[j + l] += (double)x_[l];                                                             \
            b[j + l] += (double)y_[l];                                                             \
        }                                                                                          \
    }
/* Sum the rows of each chunk, NM_WIDE columns at a time.  NM_MEANS(w) declares what the terms need
 * of these columns. */
#define NM_CHUNKS(job)                                                                             \
    for (int64_t c = begin; c < end; c++) {                                                        \
        double *a = (job)->sums + c * 2 * (job)->n, *b = a + (job)->n;                             \
        int64_t from = c * (job)->chunk, n = (job)->n,                                             \
                to = (job)->rows - from < (job)->chunk ? (job)->rows : from + (job)->chunk;        \
        for (int64_t j = 0; j < n; j++)                                                            \
            a[j] = b[j] = 0;                                                                       \
        int64_t j = 0;                                                                             \
        for (; j + NM_WIDE <= n; j += NM_WIDE) {                                                   \
            NM_MEANS(NM_WIDE)                                                                      \
            NM_COLUMNS(NM_WIDE)                                                                    \
        }                                                                                          \
        if (j < n) {                                                                               \
            NM_MEANS(n - j)                                                                        \
            NM_COLUMNS(n - j)                                                                      \
        }                                                                                          \
    }
#define NM_NO_MEANS(w)

static void FN(row_dots)(int64_t begin, int64_t end, void *user)
{
    const nm_rows *r = user;
#define NM_MEANS NM_NO_MEANS
#define NM_ROW(i)                                                                                  \
    const T *restrict x = (const T *)r->x + (i)*n + j, *restrict dy =                              \
                                                           (const T *)r->dy + (i)*n + j;           \
    T m = ((const T *)r->mean)[i], f = ((const T *)r->rstd)[i];
#define NM_FIRST(l)  (dy[l] * ((x[l] - m) * f))
#define NM_SECOND(l) dy[l]
    NM_CHUNKS(r)
#undef NM_FIRST
#undef NM_SECOND
#undef NM_ROW
#undef NM_MEANS
}

/* -- columns -- */

static void FN(column_sums)(int64_t begin, int64_t end, void *user)
{
    const nm_columns *r = user;
#define NM_MEANS     NM_NO_MEANS
#define NM_ROW(i)    const T *restrict x = (const T *)r->x + (i)*n + j;
#define NM_FIRST(l)  x[l]
#define NM_SECOND(l) 0
    NM_CHUNKS(r)
#undef NM_FIRST
#undef NM_SECOND
#undef NM_ROW
#undef NM_MEANS
}

/* Round the means of these columns to T. */
#define NM_MEANS(w)                                                                                \
    T m[NM_WIDE];                                                                                  \
    for (int64_t l = 0; l < (w); l++)                                                              \
        m[l] = (T)r->mean[j + l];

static void FN(column_squares)(int64_t begin, int64_t end, void *user)
{
    const nm_columns *r = user;
#define NM_ROW(i)    const T *restrict x = (const T *)r->x + (i)*n + j;
#define NM_FIRST(l)  ((x[l] - m[l]) * (x[l] - m[l]))
#define NM_SECOND(l) (x[l] - m[l])
    NM_CHUNKS(r)
#undef NM_FIRST
#undef NM_SECOND
#undef NM_ROW
}

static void FN(column_dots)(int64_t begin, int64_t end, void *user)
{
    const nm_columns *r = user;
#define NM_ROW(i)                                                                                  \
    const T *restrict x = (const T *)r->x + (i)*n + j, *restrict dy = (const T *)r->dy + (i)*n + j;
#define NM_FIRST(l)  dy[l]
#define NM_SECOND(l) (dy[l] * (x[l] - m[l]))
    NM_CHUNKS(r)
#undef NM_FIRST
#undef NM_SECOND
#undef NM_ROW
}
#undef NM_MEANS

/* Compute rows [begin, end), NM_SPAN columns at a time; the coefficients of these columns are first
 * rounded to T.  NM_SPAN is much larger than NM_WIDE, because writing short parts of many rows is
 * slow. */
#define NM_BLOCKS(job, names, body)                                                                \
    for (int64_t j = 0; j < (job)->n; j += NM_SPAN) {                                              \
        int64_t w = (job)->n - j < NM_SPAN ? (job)->n - j : NM_SPAN;                               \
        T f[NM_SPAN], g[NM_SPAN], k[NM_SPAN], m[NM_SPAN];                                          \
        for (int64_t l = 0; l < w; l++) {                                                          \
            f[l] = (T)(job)->f[j + l];                                                             \
            g[l] = (T)(job)->g[j + l];                                                             \
            k[l] = (job)->k ? (T)(job)->k[j + l] : 0;                                              \
            m[l] = (job)->k ? (T)(job)->mean[j + l] : 0;                                           \
        }                                                                                          \
        for (int64_t i = begin; i < end; i++) {                                                    \
            names T *restrict y = (T *)(job)->y + i * (job)->n + j;                                \
            if (w == NM_WIDE)                                                                      \
                for (int l = 0; l < NM_WIDE; l++)                                                  \
                    y[l] = body;                                                                   \
            else                                                                                   \
                for (int64_t l = 0; l < w; l++)                                                    \
                    y[l] = body;                                                                   \
        }                                                                                          \
        (void)k, (void)m;                                                                          \
    }

static void FN(column_scale)(int64_t begin, int64_t end, void *user)
{
    const nm_columns *c = user;
    NM_BLOCKS(c, const T *restrict x = (const T *)c->x + i * c->n + j;, FMA(x[l], f[l], g[l]))
}

static void FN(column_slope)(int64_t begin, int64_t end, void *user)
{
    const nm_columns *c = user;
    NM_BLOCKS(c, const T *restrict x = (const T *)c->x + i * c->n + j;
              const T *restrict dy = (const T *)c->dy + i * c->n + j;
              , dy[l] * f[l] - ((x[l] - m[l]) * k[l] + g[l]))
}
#undef NM_BLOCKS
#undef NM_NO_MEANS
#undef NM_CHUNKS
#undef NM_COLUMNS
#undef NM_NONE
#undef NM_SUMS
#undef NM_HALF
#undef FMA
#undef FN
#undef T
#undef E
