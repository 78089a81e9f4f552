/* loops/norm.h -- means, variances and what is scaled by them, for the type T, named by its end E.
 * Included once for each by levels/norm.c.
 *
 * Runs are added up in LANES, and blocks of BLOCK elements in double, so that long runs stay exact and no
 * bit depends on the vector level. */
#define FN(name)     CPU_PASTE(name, E)
#define FMA(a, b, c) CPU_PASTE(dpm_fma, E)(a, b, c)

/* Both lanes of each pair, by halves. */
#define NM_HALF(half)                                                                              \
    _Pragma("GCC ivdep") for (int l = 0; l < half; l++)                                            \
    {                                                                                              \
        a[l] += a[l + half];                                                                       \
        b[l] += b[l + half];                                                                       \
    }
/* Adds f(i) and g(i), expressions of an index, for i of [0, n) to the doubles first and second. */
#define NM_SUMS(first, second, n, f, g)                                                            \
    for (int64_t from = 0; from < (n); from += NM_BLOCK) {                                         \
        int64_t to = (n)-from < NM_BLOCK ? (n) : from + NM_BLOCK, e_ = from;                       \
        T a[NM_LANES] = {0}, b[NM_LANES] = {0};                                                    \
        for (; e_ + NM_LANES <= to; e_ += NM_LANES)                                                \
            for (int l = 0; l < NM_LANES; l++) {                                                   \
                a[l] += f(e_ + l);                                                                 \
                b[l] += g(e_ + l);                                                                 \
            }                                                                                      \
        for (int l = 0; e_ + l < to; l++) {                                                        \
            a[l] += f(e_ + l);                                                                     \
            b[l] += g(e_ + l);                                                                     \
        }                                                                                          \
        NM_HALF(16) NM_HALF(8) NM_HALF(4) NM_HALF(2) NM_HALF(1) first += (double)a[0];             \
        second += (double)b[0];                                                                    \
    }
#define NM_NONE(i) 0

/* Mean, and the sum of squared distances from it. */
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
    *squares -= low * low / (double)n; /* what m's rounding added */
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
    for (int64_t i = begin; i < end; i++) {
        const T *restrict x = (const T *)p->x + i * p->size;
        T *restrict y = (T *)p->y + i * p->size;
        T f = (T)p->f[i], g = (T)p->g[i];
        for (int64_t j = 0; j < p->size; j++)
            y[j] = FMA(x[j], f, g);
    }
}

static void FN(plane_dots)(int64_t begin, int64_t end, void *user)
{
    const nm_planes *p = user;
    for (int64_t i = begin; i < end; i++) {
        const T *restrict x = (const T *)p->x + i * p->size, *restrict dy =
                                                                 (const T *)p->dy + i * p->size;
        double sum = 0, dot = 0;
        T m = (T)p->mean[i];
#define EACH(j) dy[j]
#define DOT(j)  (dy[j] * (x[j] - m))
        NM_SUMS(sum, dot, p->size, EACH, DOT)
#undef DOT
#undef EACH
        p->sum[i] = sum;
        p->more[i] = dot;
    }
}

static void FN(plane_slope)(int64_t begin, int64_t end, void *user)
{
    const nm_planes *p = user;
    for (int64_t i = begin; i < end; i++) {
        const T *restrict x = (const T *)p->x + i * p->size, *restrict dy =
                                                                 (const T *)p->dy + i * p->size;
        T *restrict y = (T *)p->y + i * p->size;
        T f = (T)p->f[i], k = (T)p->k[i], g = (T)p->g[i], m = (T)p->mean[i];
        for (int64_t j = 0; j < p->size; j++)
            y[j] = dy[j] * f - ((x[j] - m) * k + g);
    }
}

/* -- rows -- */

/* y = (x * rstd + offset) * gamma + beta */
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

/* The mean of a row with an infinity is NaN and that of an empty row is 0, as in PyTorch; and as there the
 * variance, rstd and offset are rounded to T, which shows in rows whose elements are almost equal. */
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
    const T *restrict gamma = r->gamma;
    for (int64_t i = begin; i < end; i++) {
        const T *restrict x = (const T *)r->x + i * r->n, *restrict dy =
                                                              (const T *)r->dy + i * r->n;
        T *restrict y = (T *)r->y + i * r->n;
        T m = ((const T *)r->mean)[i], f = ((const T *)r->rstd)[i];
        double sum = 0, dot = 0;
#define EACH(j)  dy[j]
#define DOT(j)   (dy[j] * (x[j] - m))
#define EACHG(j) (dy[j] * gamma[j])
#define DOTG(j)  (dy[j] * gamma[j] * (x[j] - m))
        if (gamma == NULL)
            NM_SUMS(sum, dot, r->n, EACH, DOT)
        else
            NM_SUMS(sum, dot, r->n, EACHG, DOTG)
        T k = (T)(dot * f * f * f / (double)r->n), g = (T)(sum * f / (double)r->n);
        if (gamma == NULL)
            for (int64_t j = 0; j < r->n; j++)
                y[j] = dy[j] * f - ((x[j] - m) * k + g);
        else
            for (int64_t j = 0; j < r->n; j++)
                y[j] = dy[j] * gamma[j] * f - ((x[j] - m) * k + g);
#undef DOTG
#undef EACHG
#undef DOT
#undef EACH
    }
}

/* Sums over the rows of each chunk: of first(i, j) and second(i, j), for element j of row i. */
#define CHUNKS(job, first, second)                                                                 \
    for (int64_t c = begin; c < end; c++) {                                                        \
        double *restrict a = job->sums + c * 2 * job->n, *restrict b = a + job->n;                 \
        int64_t from = c * job->chunk,                                                             \
                to = job->rows - from < job->chunk ? job->rows : from + job->chunk;                \
        for (int64_t j = 0; j < job->n; j++)                                                       \
            a[j] = b[j] = 0;                                                                       \
        for (int64_t i = from; i < to; i++) {                                                      \
            ROW_OF(job, i)                                                                         \
            _Pragma("GCC ivdep") for (int64_t j = 0; j < job->n; j++)                              \
            {                                                                                      \
                a[j] += (double)(first);                                                           \
                b[j] += (double)(second);                                                          \
            }                                                                                      \
        }                                                                                          \
    }

static void FN(row_dots)(int64_t begin, int64_t end, void *user)
{
    const nm_rows *r = user;
#define ROW_OF(r, i)                                                                               \
    const T *restrict x = (const T *)r->x + i * r->n, *restrict dy = (const T *)r->dy + i * r->n;  \
    T m = ((const T *)r->mean)[i], f = ((const T *)r->rstd)[i];
    CHUNKS(r, dy[j] * ((x[j] - m) * f), dy[j])
#undef ROW_OF
}

/* -- columns -- */

static void FN(column_sums)(int64_t begin, int64_t end, void *user)
{
    const nm_columns *c_ = user;
#define ROW_OF(r, i) const T *restrict x = (const T *)r->x + i * r->n;
    CHUNKS(c_, x[j], 0)
#undef ROW_OF
}

static void FN(column_squares)(int64_t begin, int64_t end, void *user)
{
    const nm_columns *c_ = user;
    const double *restrict mean = c_->mean;
#define ROW_OF(r, i) const T *restrict x = (const T *)r->x + i * r->n;
    CHUNKS(c_, ((double)x[j] - mean[j]) * ((double)x[j] - mean[j]), 0)
#undef ROW_OF
}

static void FN(column_dots)(int64_t begin, int64_t end, void *user)
{
    const nm_columns *c_ = user;
    const double *restrict mean = c_->mean;
#define ROW_OF(r, i)                                                                               \
    const T *restrict x = (const T *)r->x + i * r->n, *restrict dy = (const T *)r->dy + i * r->n;
    CHUNKS(c_, dy[j], (double)dy[j] * ((double)x[j] - mean[j]))
#undef ROW_OF
}

static void FN(column_scale)(int64_t begin, int64_t end, void *user)
{
    const nm_columns *c = user;
    const double *restrict f = c->f, *restrict g = c->g;
    for (int64_t i = begin; i < end; i++) {
        const T *restrict x = (const T *)c->x + i * c->n;
        T *restrict y = (T *)c->y + i * c->n;
        for (int64_t j = 0; j < c->n; j++)
            y[j] = FMA(x[j], (T)f[j], (T)g[j]);
    }
}

static void FN(column_slope)(int64_t begin, int64_t end, void *user)
{
    const nm_columns *c = user;
    const double *restrict f = c->f, *restrict k = c->k, *restrict g = c->g,
                           *restrict mean = c->mean;
    for (int64_t i = begin; i < end; i++) {
        const T *restrict x = (const T *)c->x + i * c->n, *restrict dy =
                                                              (const T *)c->dy + i * c->n;
        T *restrict y = (T *)c->y + i * c->n;
        for (int64_t j = 0; j < c->n; j++)
            y[j] = dy[j] * (T)f[j] - ((x[j] - (T)mean[j]) * (T)k[j] + (T)g[j]);
    }
}

#undef CHUNKS
#undef NM_NONE
#undef NM_SUMS
#undef NM_HALF
#undef FMA
#undef FN
#undef T
#undef E
