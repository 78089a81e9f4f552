/* window_sums.h -- template of the sums over taps of window.h for elements of type T; E is the
 * suffix of T. */

/* Add `n` <= 4 rows, in order, to acc [len]; `first`: set acc to their sum.  `weighed`: row i is
 * multiplied by w[i]. */
WN_INLINE void WN(add_n)(T *restrict acc, const T *const *rows, const T *w, int64_t len, int n,
                         bool weighed, bool first)
{
    const T *a = rows[0], *b = rows[n > 1 ? 1 : 0], *c = rows[n > 2 ? 2 : 0],
            *d = rows[n > 3 ? 3 : 0];
    const T wa = w[0], wb = w[n > 1 ? 1 : 0], wc = w[n > 2 ? 2 : 0], wd = w[n > 3 ? 3 : 0];

    for (int64_t j = 0; j < len; j++) {
        T s = weighed ? wa * a[j] : a[j];
        s = first ? s : acc[j] + s;
        if (n > 1)
            s += weighed ? wb * b[j] : b[j];
        if (n > 2)
            s += weighed ? wc * c[j] : c[j];
        if (n > 3)
            s += weighed ? wd * d[j] : d[j];
        acc[j] = s;
    }
}

static void WN(add_some)(T *acc, const T *const *rows, const T *w, int64_t len, int n, bool weighed,
                         bool first)
{
#define CASE(count, scaled, start)                                                                 \
    case count * 4 + scaled * 2 + start:                                                           \
        WN(add_n)(acc, rows, w, len, count, scaled, start);                                        \
        break;
#define CASES(count) CASE(count, 0, 0) CASE(count, 0, 1) CASE(count, 1, 0) CASE(count, 1, 1)
    switch (n * 4 + weighed * 2 + first) {
        CASES(1)
        CASES(2)
        CASES(3)
        CASES(4)
    }
#undef CASES
#undef CASE
}

static void WN(add_rows)(char *acc, const char *const *rows, const double *weights, int n,
                         int64_t len, bool first)
{
    const T *typed[WN_ROWS];
    T w[WN_ROWS];

    for (int i = 0; i < WN_ROWS; i++) {
        typed[i] = (const T *)rows[i < n ? i : 0];
        w[i] = weights && i < n ? (T)weights[i] : 1;
    }
    WN(add_some)((T *)acc, typed, w, len, n, weights != NULL, first);
}

static int64_t WN(place)(const wn_axis *a, int64_t o, int64_t k)
{
    return a->is_list ? a->taps.list[a->begin[o] + k * a->taps.hop]
                      : a->begin[o] + k * a->windows.step;
}

/* -- sums over taps -- */

/* Compute the elements at index o of the result from the elements at its taps. */
static void WN(add_place)(const wn_row *r, const T *x, T *y, int64_t o)
{
    const wn_axis *a = r->axis;
    const T *rows[WN_ROWS], *weights = wn_weights(a);
    T w[WN_ROWS] = {1, 1, 1, 1};
    int64_t n = a->count[o];

    if (n == 0)
        dp_zero_n(y, (size_t)r->inner, sizeof(T));
    for (int64_t k = 0, m; k < n; k += m) {
        m = n - k < WN_ROWS ? n - k : WN_ROWS;
        for (int64_t i = 0; i < WN_ROWS; i++) {
            int64_t tap = k + (i < m ? i : 0);
            rows[i] = x + WN(place)(a, o, tap) * r->inner;
            w[i] = weights ? weights[a->begin[o] + tap * a->taps.hop] : 1;
        }
        WN(add_some)(y, rows, w, r->inner, (int)m, weights != NULL, k == 0);
    }
}

/* Compute a row in which every element has two taps with weights. */
static void WN(add_pairs)(const wn_row *r, const T *restrict x, T *restrict y)
{
    const wn_axis *a = r->axis;
    const T *w = a->taps.weights;

    for (int64_t o = r->from; o < r->to; o++) {
        const T wa = w[o], wb = w[a->taps.hop + o];
        const T *restrict xa = x + a->taps.list[o] * r->inner;
        const T *restrict xb = x + a->taps.list[a->taps.hop + o] * r->inner;
        T *restrict to = y + o * r->inner;
        for (int64_t c = 0; c < r->inner; c++)
            to[c] = wa * xa[c] + wb * xb[c];
    }
}

/* Compute elements [from, to) of a row in which every element has `n` listed taps, and `hop` is
 * `out`. */
WN_INLINE void WN(add_evenly)(const wn_axis *a, const T *restrict x, T *restrict y, int64_t from,
                              int64_t to, int n, bool weighed)
{
    const T *restrict w = a->taps.weights;
    const int32_t *restrict list = a->taps.list;
    const int64_t hop = a->taps.hop;

    for (int64_t o = from; o < to; o++) {
        T s = weighed ? w[o] * x[list[o]] : x[list[o]];
        for (int k = 1; k < n; k++)
            s += weighed ? w[k * hop + o] * x[list[k * hop + o]] : x[list[k * hop + o]];
        y[o] = s;
    }
}

/* Compute elements [from, to) of an axis with listed taps; `inner` is 1. */
static void WN(add_list)(const wn_axis *a, const T *x, T *y, int64_t from, int64_t to)
{
    const T *w = a->taps.weights;

    if (a->taps.hop == a->out && a->count[from] == 2 && w)
        WN(add_evenly)(a, x, y, from, to, 2, true);
    else if (a->taps.hop == a->out && a->count[from] == 4 && w)
        WN(add_evenly)(a, x, y, from, to, 4, true);
    else
        for (int64_t o = from; o < to; o++) {
            const int32_t *list = a->taps.list + a->begin[o];
            int64_t n = a->count[o];
            T s = 0;
            if (o >= a->taps.from && o < a->taps.to) {
                n = (a->taps.to < to ? a->taps.to : to) - o;
                dp_copy_n(y + o, x + list[0], (size_t)n, sizeof(T));
                o += n - 1;
                continue;
            }
            for (int64_t k = 0; k < n; k++)
                s += w ? w[a->begin[o] + k * a->taps.hop] * x[list[k * a->taps.hop]]
                       : x[list[k * a->taps.hop]];
            y[o] = s;
        }
}

/* Compute y [n].  The windows have `count` taps, `step` apart, and begin `by` elements apart. */
WN_INLINE void WN(add_even)(const T *x, T *y, int64_t n, int64_t count, int64_t step, int64_t by)
{
    for (int64_t o = 0; o < n; o++)
        y[o] = count > 0 ? x[o * by] : 0;
    for (int64_t k = 1; k < count; k++)
        for (int64_t o = 0; o < n; o++)
            y[o] += x[o * by + k * step];
}

/* Compute `n` elements that are `period` apart, from index `o` on; write them to y [n]. */
static void WN(add_phase)(const wn_axis *a, const T *x, T *y, int64_t o, int64_t n)
{
    const T *begin = x + a->begin[o];

    if (a->windows.by == 1)
        WN(add_even)(begin, y, n, a->count[o], a->windows.step, 1);
    else if (a->windows.by == 2)
        WN(add_even)(begin, y, n, a->count[o], a->windows.step, 2);
    else
        WN(add_even)(begin, y, n, a->count[o], a->windows.step, a->windows.by);
}

WN_INLINE void WN(mix)(T (*part)[WN_BLOCK], T *y, int64_t n, int period)
{
    for (int64_t j = 0; j < n; j++)
        for (int r = 0; r < period; r++)
            y[j * period + r] = part[r][j];
}

/* Compute n * period elements from index `o` on: n elements of each phase (index modulo period). */
static void WN(add_phases)(const wn_axis *a, const T *x, T *y, int64_t o, int64_t n)
{
    T part[WN_PERIOD][WN_BLOCK];

    for (int64_t r = 0; r < a->windows.period; r++)
        WN(add_phase)(a, x, part[r], o + r, n);
    if (a->windows.period == 1)
        dp_copy_n(y + o, part[0], (size_t)n, sizeof(T));
    else if (a->windows.period == 2)
        WN(mix)(part, y + o, n, 2);
    else
        WN(mix)(part, y + o, n, (int)a->windows.period);
}

static void WN(add_windows)(const wn_axis *a, const T *x, T *y, int64_t from, int64_t to)
{
    for (int64_t o = from; o < to; o++) {
        int64_t count = a->count[o], left = (a->windows.to < to ? a->windows.to : to) - o;
        if (o >= a->windows.from && left >= 2 * a->windows.period) {
            int64_t n = left / a->windows.period < WN_BLOCK ? left / a->windows.period : WN_BLOCK;
            WN(add_phases)(a, x, y, o, n);
            o += n * a->windows.period - 1;
            continue;
        }
        T s = 0;
        for (int64_t k = 0; k < count; k++)
            s += x[a->begin[o] + k * a->windows.step];
        y[o] = s;
    }
}

static void WN(divide_places)(const wn_row *r, T *y)
{
    const int64_t *by = r->axis->divide, inner = r->inner;

    if (inner == 1) {
        for (int64_t o = r->from; o < r->to; o++)
            y[o] = QUOTIENT(y[o], (T)(r->divide * (by && by[o] ? by[o] : 1)));
        return;
    }
    for (int64_t o = r->from; o < r->to; o++) {
        const T d = (T)(r->divide * (by && by[o] ? by[o] : 1));
        T *restrict row = y + o * inner;
        for (int64_t j = 0; j < inner; j++)
            row[j] = QUOTIENT(row[j], d);
    }
}

static void WN(add_places)(const wn_row *r)
{
    const T *x = (const T *)r->x;
    T *y = (T *)r->y;

    if (r->inner > 1 && r->axis->is_list && r->axis->taps.hop == r->axis->out &&
        r->axis->taps.weights && r->axis->count[r->from] == 2)
        WN(add_pairs)(r, x, y);
    else if (r->inner > 1)
        for (int64_t o = r->from; o < r->to; o++)
            WN(add_place)(r, x, y + o * r->inner, o);
    else if (r->axis->is_list)
        WN(add_list)(r->axis, x, y, r->from, r->to);
    else
        WN(add_windows)(r->axis, x, y, r->from, r->to);
    if (r->divide != 1 || r->axis->divide)
        WN(divide_places)(r, y);
}
