/* loops/softmax.h -- template of the loops of softmax.h for elements of type T; E is the suffix of
 * T.  levels/softmax.c includes this header once per type.
 *
 * The greatest element of a line is subtracted first, so that exp() does not overflow.  If a line
 * has a NaN or +infinity, or if all its elements are -infinity, its sum is NaN, and so are all its
 * results.  A single line is summed in LANES accumulators; each of several neighbouring lines is
 * summed in order.  This makes the results the same, bit for bit, at every vector level. */
#define FN(name) DP_ISA_PASTE(name, E)
#define EXP(x)   DP_ISA_PASTE(dpm_exp, E)(x)
#define LOG(x)   DP_ISA_PASTE(dpm_log, E)(x)

/* -- lines with contiguous elements -- */

/* Set `sum` to the sum of f(i), an expression of index i, for i in [0, n).  f(i) is added to lane
 * i % LANES. */
#define SUM_LINE(sum, n, f)                                                                        \
    {                                                                                              \
        T lanes_[LANES] = {0};                                                                     \
        int64_t i = 0, l, left_;                                                                   \
        for (int64_t end_; n - i >= LANES && (end_ = poll_next(NULL, i, n - n % LANES)) > i;)      \
            for (; i < end_; i += LANES)                                                           \
                for (l = 0; l < LANES; l++)                                                        \
                    lanes_[l] += f(i + l);                                                         \
        left_ = n - i < LANES ? n - i : LANES; /* n - i >= LANES: the loop was stopped */          \
        for (l = 0; l < left_; l++)                                                                \
            lanes_[l] += f(i + l);                                                                 \
        sum = FN(add_lanes)(lanes_);                                                               \
    }

/* Loop over i in [0, n). */
#define EACH_ELEMENT(n)                                                                            \
    for (int64_t i = 0, end_; i < n && (end_ = poll_next(NULL, i, n)) > i;)                        \
        for (; i < end_; i++)

/* Merge LANES lanes to one.  pair(a, b) merges lane l and lane l + half; half is 32, 16, ... 1. */
#define HALVES(pair)                                                                               \
    HALVE(32, pair)                                                                                \
    HALVE(16, pair)                                                                                \
    HALVE(8, pair)                                                                                 \
    HALVE(4, pair)                                                                                 \
    HALVE(2, pair)                                                                                 \
    HALVE(1, pair)
#define HALVE(half, pair)                                                                          \
    _Pragma("GCC ivdep") for (int l = 0; l < half; l++) lanes[l] = pair(lanes[l], lanes[l + half]);
#define ADD(a, b)     ((a) + (b))
#define GREATER(a, b) ((a) > (b) ? (a) : (b))

static inline T FN(add_lanes)(T *lanes)
{
    HALVES(ADD)
    return lanes[0];
}

static inline T FN(greatest)(const T *restrict x, int64_t n)
{
    T lanes[LANES];
    int64_t i = 0;

    for (int l = 0; l < LANES; l++)
        lanes[l] = -(T)INFINITY;
    for (int64_t end; n - i >= LANES && (end = poll_next(NULL, i, n - n % LANES)) > i;)
        for (; i < end; i += LANES)
            for (int l = 0; l < LANES; l++)
                lanes[l] = GREATER(x[i + l], lanes[l]);
    int64_t left = n - i < LANES ? n - i : LANES; /* n - i >= LANES: the loop was stopped */
    for (int64_t l = 0; l < left; l++)
        lanes[l] = GREATER(x[i + l], lanes[l]);
    HALVES(GREATER)
    return lanes[0];
}

static void FN(softmax_line)(const T *restrict x, T *restrict out, int64_t n)
{
    T top = FN(greatest)(x, n), sum;

#define EACH(i) (out[i] = EXP(x[i] - top))
    SUM_LINE(sum, n, EACH)
#undef EACH
    T factor = 1 / sum;
    EACH_ELEMENT(n)
    out[i] *= factor;
}

static void FN(log_softmax_line)(const T *restrict x, T *restrict out, int64_t n)
{
    T top = FN(greatest)(x, n), sum;

#define EACH(i) EXP(x[i] - top)
    SUM_LINE(sum, n, EACH)
#undef EACH
    T less = LOG(sum);
    EACH_ELEMENT(n)
    out[i] = x[i] - top - less;
}

static void FN(backward_line)(const T *restrict x, const T *restrict y, T *restrict out, int64_t n)
{
    T sum;

#define EACH(i) (x[i] * y[i])
    SUM_LINE(sum, n, EACH)
#undef EACH
    EACH_ELEMENT(n)
    out[i] = (x[i] - sum) * y[i];
}

static void FN(log_backward_line)(const T *restrict x, const T *restrict y, T *restrict out,
                                  int64_t n)
{
    T sum;

#define EACH(i) x[i]
    SUM_LINE(sum, n, EACH)
#undef EACH
    EACH_ELEMENT(n)
    out[i] = x[i] - EXP(y[i]) * sum;
}

/* -- w <= SM_WIDE neighbouring lines, whose elements are `step` elements apart -- */

#define ROWS                                                                                       \
    for (int64_t i = 0, at = 0; i < n && !poll_stops(&look, w); i++, at += step)                   \
    _Pragma("GCC ivdep") for (int64_t j = 0; j < w; j++)

/* Set `top` to the greatest element of each line, and `sum` to 0. */
SM_INLINE void FN(greatest_of)(T *top, T *sum, const T *x, int64_t n, int64_t step, int64_t w)
{
    poll look = {0};

    for (int64_t j = 0; j < w; j++) {
        top[j] = -(T)INFINITY;
        sum[j] = 0;
    }
    ROWS top[j] = x[at + j] > top[j] ? x[at + j] : top[j];
}

SM_INLINE void FN(softmax_rows)(const T *x, const T *y, T *out, int64_t n, int64_t step, int64_t w)
{
    T top[SM_WIDE], sum[SM_WIDE];
    poll look = {0};

    (void)y;
    FN(greatest_of)(top, sum, x, n, step, w);
    ROWS
    {
        T e = EXP(x[at + j] - top[j]);
        out[at + j] = e;
        sum[j] += e;
    }
    for (int64_t j = 0; j < w; j++)
        sum[j] = 1 / sum[j];
    ROWS out[at + j] *= sum[j];
}

SM_INLINE void FN(log_softmax_rows)(const T *x, const T *y, T *out, int64_t n, int64_t step,
                                    int64_t w)
{
    T top[SM_WIDE], sum[SM_WIDE];
    poll look = {0};

    (void)y;
    FN(greatest_of)(top, sum, x, n, step, w);
    ROWS sum[j] += EXP(x[at + j] - top[j]);
    for (int64_t j = 0; j < w; j++)
        sum[j] = LOG(sum[j]);
    ROWS out[at + j] = x[at + j] - top[j] - sum[j];
}

SM_INLINE void FN(backward_rows)(const T *x, const T *y, T *out, int64_t n, int64_t step, int64_t w)
{
    T sum[SM_WIDE];
    poll look = {0};

    for (int64_t j = 0; j < w; j++)
        sum[j] = 0;
    ROWS sum[j] += x[at + j] * y[at + j];
    ROWS out[at + j] = (x[at + j] - sum[j]) * y[at + j];
}

SM_INLINE void FN(log_backward_rows)(const T *x, const T *y, T *out, int64_t n, int64_t step,
                                     int64_t w)
{
    T sum[SM_WIDE];
    poll look = {0};

    for (int64_t j = 0; j < w; j++)
        sum[j] = 0;
    ROWS sum[j] += x[at + j];
    ROWS out[at + j] = x[at + j] - EXP(y[at + j]) * sum[j];
}
#undef ROWS

/* -- both layouts -- */

#define LINES(name, line, rows)                                                                    \
    static void FN(name)(int64_t begin, int64_t end, void *user)                                   \
    {                                                                                              \
        const sm_job *s = user;                                                                    \
        const T *x = (const T *)s->x, *y = (const T *)s->y;                                        \
        T *out = (T *)s->out;                                                                      \
        (void)y;                                                                                   \
        for (int64_t b = begin; b < end; b++) {                                                    \
            if (s->inner == 1) {                                                                   \
                int64_t at = b * s->length;                                                        \
                line;                                                                              \
                continue;                                                                          \
            }                                                                                      \
            int64_t j = b % s->blocks * SM_WIDE, w = s->inner - j;                                 \
            int64_t at = b / s->blocks * s->length * s->inner + j;                                 \
            if (w == SM_NARROW)                                                                    \
                FN(rows)(x + at, y + (s->y ? at : 0), out + at, s->length, s->inner, SM_NARROW);   \
            else                                                                                   \
                FN(rows)                                                                           \
            (x + at, y + (s->y ? at : 0), out + at, s->length, s->inner,                           \
             w < SM_WIDE ? w : SM_WIDE);                                                           \
        }                                                                                          \
    }
LINES(softmax, FN(softmax_line)(x + at, out + at, s->length), softmax_rows)
LINES(log_softmax, FN(log_softmax_line)(x + at, out + at, s->length), log_softmax_rows)
LINES(backward, FN(backward_line)(x + at, y + at, out + at, s->length), backward_rows)
LINES(log_backward, FN(log_backward_line)(x + at, y + at, out + at, s->length), log_backward_rows)

#undef LINES
#undef ADD
#undef GREATER
#undef HALVE
#undef HALVES
#undef SUM_LINE
#undef EACH_ELEMENT
#undef LOG
#undef EXP
#undef FN
#undef T
#undef E
