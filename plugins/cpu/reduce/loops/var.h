/* loops/var.h -- template of variance and mean, computed in double.  It is included once for each
 * RD_NAME, the prefix of the names of its functions, after the definition of
 *
 *     RD_X, RD_M                  suffixes of the types of an element and of a mean
 *     RD_O                        suffix of the type of a variance in the output; a mean in the
 *                                 output has type RD_X
 *     NAME_sum_row(), _rows()     sums of elements, of type RD_M (fold.h)
 *     NAME_dev_row(), _rows()     sums of squared deviations from `about`, the mean (fold.h)
 *     NAME_square_(d)             squared magnitude of `d`
 *
 * A step (rd_kernel.step) reads the elements that it reduces to an output twice, the second time
 * from the cache.  The mean and the squared deviations of these elements are merged with those of
 * the steps before by Chan's formula. */
#define RD_(part) DP_ISA_PASTE(RD_NAME, part)
#define RD_XM     DP_ISA_PASTE(pw_mem, RD_X)
#define RD_MV     DP_ISA_PASTE(pw_val, RD_M)
#define RD_OM     DP_ISA_PASTE(pw_mem, RD_O)

typedef struct RD_(acc) {
    double n, squares;
    RD_MV mean;
} RD_(acc);

static void RD_(begin)(char *acc, int64_t n, void *user)
{
    RD_(acc) *a = (RD_(acc) *)acc;
    (void)user;
    for (int64_t j = 0; j < n; j++)
        a[j] = (RD_(acc)){0, 0, NAN};
}

RD_INLINE void RD_(join)(RD_(acc) * a, const RD_(acc) * b)
{
    double n = a->n + b->n;
    RD_MV d = b->mean - a->mean;

    a->squares += b->squares + RD_(square_)(d) * (a->n * b->n / n);
    a->mean += d * (b->n / n);
    a->n = n;
}

static void RD_(step)(char *acc, char **data, const int64_t *st, int64_t n0, int64_t n,
                      int64_t index, void *user)
{
    enum { WIDE = RD_WIDE / sizeof(RD_MV) };
    const rd_state *s = user;
    RD_(acc) *a = (RD_(acc) *)acc;
    const char *x = data[s->n_out];
    int64_t s0 = st[s->n_out], s1 = st[s->n_out + 1 + s->n_out];
    bool across = rd_across(s0, s1, n0, n, s->item), first = index % DP_ITER_CHUNK == 0;
    RD_MV mean[RD_WIDE / sizeof(double)] = {0}; /* as long as the `about` that dev_rows() takes */
    double squares[RD_WIDE / sizeof(double)];
    int64_t w = 1;

    for (int64_t j = 0; j < n; j += w, x += w * s1) {
        w = across ? rd_least(n - j, WIDE) : 1;
        if (across)
            /* sum_rows() ignores `about` */
            RD_(sum_rows)(mean, x, s0, s1, n0, w, (const void *)mean, s);
        else
            mean[0] = RD_(sum_row)(x, s0, n0, 0, s);
        for (int64_t i = 0; i < w; i++)
            mean[i] /= (double)n0;
        if (across)
            RD_(dev_rows)(squares, x, s0, s1, n0, w, mean, s);
        else
            squares[0] = RD_(dev_row)(x, s0, n0, mean[0], s);
        for (int64_t i = 0; i < w; i++) {
            RD_(acc) b = {(double)n0, squares[i], mean[i]};
            if (first)
                a[j + i] = b;
            else
                RD_(join)(&a[j + i], &b);
        }
    }
}

static void RD_(merge)(char *acc, const char *from, int64_t n, void *user)
{
    RD_(acc) *a = (RD_(acc) *)acc;
    (void)user;
    for (int64_t j = 0; j < n; j++)
        RD_(join)(&a[j], (const RD_(acc) *)from + j);
}

static void RD_(finish)(char **data, const int64_t *strides, const char *acc, int64_t n, void *user)
{
    const rd_state *s = user;
    const RD_(acc) *a = (const RD_(acc) *)acc;
    RD_OM var[RD_STORED];
    RD_XM mean[RD_STORED];

    for (int64_t j = 0; j < n; j += RD_STORED) {
        int64_t m = rd_least(n - j, RD_STORED);
        for (int64_t i = 0; i < m; i++) {
            double free = s->n > s->correction && s->n > 0 ? s->n - s->correction : 0;
            double v = a[j + i].squares / free;
            var[i] = (RD_OM)(s->root ? sqrt(v) : v);
            mean[i] = (RD_XM)a[j + i].mean;
        }
        RD_STORE(0, var, j, m);
        if (s->n_out > 1)
            RD_STORE(1, mean, j, m);
    }
}

#undef RD_
#undef RD_XM
#undef RD_MV
#undef RD_OM
#undef RD_NAME
#undef RD_X
#undef RD_M
#undef RD_O
