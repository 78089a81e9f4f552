/* window.h -- the loops of window.h for elements T, whose numbers of rows are of type I; names end in E. */
#define WN(name) WN_PASTE(name, E)

/* acc [len] = or += up to four rows, one after another. */
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
    return a->list ? a->list[a->begin[o] + k * a->hop] : a->begin[o] + k * a->step;
}

/* -- sums over places -- */

/* The elements at one place of the result, from those at its taps. */
static void WN(add_place)(const wn_row *r, const T *x, T *y, int64_t o)
{
    const wn_axis *a = r->axis;
    const T *rows[WN_ROWS], *weights = a->weights;
    T w[WN_ROWS] = {1, 1, 1, 1};
    int64_t n = a->count[o];

    if (n == 0)
        memset(y, 0, (size_t)r->inner * sizeof(T));
    for (int64_t k = 0, m; k < n; k += m) {
        m = n - k < WN_ROWS ? n - k : WN_ROWS;
        for (int64_t i = 0; i < WN_ROWS; i++) {
            int64_t tap = k + (i < m ? i : 0);
            rows[i] = x + WN(place)(a, o, tap) * r->inner;
            w[i] = weights ? weights[a->begin[o] + tap * a->hop] : 1;
        }
        WN(add_some)(y, rows, w, r->inner, (int)m, weights != NULL, k == 0);
    }
}

/* Every place has two taps with weights. */
static void WN(add_pairs)(const wn_row *r, const T *restrict x, T *restrict y)
{
    const wn_axis *a = r->axis;
    const T *w = a->weights;

    for (int64_t o = r->from; o < r->to; o++) {
        const T wa = w[o], wb = w[a->hop + o];
        const T *restrict xa = x + a->list[o] * r->inner, *restrict xb =
                                                              x + a->list[a->hop + o] * r->inner;
        T *restrict to = y + o * r->inner;
        for (int64_t c = 0; c < r->inner; c++)
            to[c] = wa * xa[c] + wb * xb[c];
    }
}

/* Every place has n taps, and hop is `out`. */
WN_INLINE void WN(add_evenly)(const wn_axis *a, const T *restrict x, T *restrict y, int64_t from,
                              int64_t to, int n, bool weighed)
{
    const T *restrict w = a->weights;
    const int32_t *restrict list = a->list;
    const int64_t hop = a->hop;

    for (int64_t o = from; o < to; o++) {
        T s = weighed ? w[o] * x[list[o]] : x[list[o]];
        for (int k = 1; k < n; k++)
            s += weighed ? w[k * hop + o] * x[list[k * hop + o]] : x[list[k * hop + o]];
        y[o] = s;
    }
}

/* Taps of a list, one element at each place. */
static void WN(add_list)(const wn_axis *a, const T *x, T *y, int64_t from, int64_t to)
{
    const T *w = a->weights;

    if (a->hop == a->out && a->count[from] == 2 && w)
        WN(add_evenly)(a, x, y, from, to, 2, true);
    else if (a->hop == a->out && a->count[from] == 4 && w)
        WN(add_evenly)(a, x, y, from, to, 4, true);
    else
        for (int64_t o = from; o < to; o++) {
            const int32_t *list = a->list + a->begin[o];
            int64_t n = a->count[o];
            T s = 0;
            if (o >= a->from && o < a->to) {
                n = (a->to < to ? a->to : to) - o;
                memcpy(y + o, x + list[0], (size_t)n * sizeof(T));
                o += n - 1;
                continue;
            }
            for (int64_t k = 0; k < n; k++)
                s += w ? w[a->begin[o] + k * a->hop] * x[list[k * a->hop]] : x[list[k * a->hop]];
            y[o] = s;
        }
}

/* Windows that are `by` from one another. */
WN_INLINE void WN(add_even)(const T *x, T *y, int64_t n, int64_t count, int64_t step, int64_t by)
{
    for (int64_t o = 0; o < n; o++)
        y[o] = count > 0 ? x[o * by] : 0;
    for (int64_t k = 1; k < count; k++)
        for (int64_t o = 0; o < n; o++)
            y[o] += x[o * by + k * step];
}

/* n places that are `period` from one another, the first of them o. */
static void WN(add_phase)(const wn_axis *a, const T *x, T *y, int64_t o, int64_t n)
{
    const T *begin = x + a->begin[o];

    if (a->by == 1)
        WN(add_even)(begin, y, n, a->count[o], a->step, 1);
    else if (a->by == 2)
        WN(add_even)(begin, y, n, a->count[o], a->step, 2);
    else
        WN(add_even)(begin, y, n, a->count[o], a->step, a->by);
}

WN_INLINE void WN(mix)(T (*part)[WN_BLOCK], T *y, int64_t n, int period)
{
    for (int64_t j = 0; j < n; j++)
        for (int r = 0; r < period; r++)
            y[j * period + r] = part[r][j];
}

/* n places of each phase from o on. */
static void WN(add_phases)(const wn_axis *a, const T *x, T *y, int64_t o, int64_t n)
{
    T part[WN_PERIOD][WN_BLOCK];

    for (int64_t r = 0; r < a->period; r++)
        WN(add_phase)(a, x, part[r], o + r, n);
    if (a->period == 1)
        memcpy(y + o, part[0], (size_t)n * sizeof(T));
    else if (a->period == 2)
        WN(mix)(part, y + o, n, 2);
    else
        WN(mix)(part, y + o, n, (int)a->period);
}

static void WN(add_windows)(const wn_axis *a, const T *x, T *y, int64_t from, int64_t to)
{
    for (int64_t o = from; o < to; o++) {
        int64_t count = a->count[o], left = (a->to < to ? a->to : to) - o;
        if (o >= a->from && left >= 2 * a->period) {
            int64_t n = left / a->period < WN_BLOCK ? left / a->period : WN_BLOCK;
            WN(add_phases)(a, x, y, o, n);
            o += n * a->period - 1;
            continue;
        }
        T s = 0;
        for (int64_t k = 0; k < count; k++)
            s += x[a->begin[o] + k * a->step];
        y[o] = s;
    }
}

static void WN(divide_places)(const wn_row *r, T *y)
{
    const int64_t *by = r->axis->divide, inner = r->inner;

    if (inner == 1) {
        for (int64_t o = r->from; o < r->to; o++)
            y[o] /= (T)(r->divide * (by && by[o] ? by[o] : 1));
        return;
    }
    for (int64_t o = r->from; o < r->to; o++) {
        const T d = (T)(r->divide * (by && by[o] ? by[o] : 1));
        T *restrict row = y + o * inner;
        for (int64_t j = 0; j < inner; j++)
            row[j] /= d;
    }
}

static void WN(add_places)(const wn_row *r)
{
    const T *x = (const T *)r->x;
    T *y = (T *)r->y;

    if (r->inner > 1 && r->axis->list && r->axis->hop == r->axis->out && r->axis->weights &&
        r->axis->count[r->from] == 2)
        WN(add_pairs)(r, x, y);
    else if (r->inner > 1)
        for (int64_t o = r->from; o < r->to; o++)
            WN(add_place)(r, x, y + o * r->inner, o);
    else if (r->axis->list)
        WN(add_list)(r->axis, x, y, r->from, r->to);
    else
        WN(add_windows)(r->axis, x, y, r->from, r->to);
    if (r->divide != 1 || r->axis->divide)
        WN(divide_places)(r, y);
}

#ifdef I
/* -- maxima: of equal ones the first in its plane counts, of several NaNs the last -- */

WN_INLINE void WN(max_n)(T *restrict best, I *restrict which, const T *const *rows,
                         const int64_t *ids, int64_t len, int n, bool first)
{
    const T *a = rows[0], *b = rows[n > 1 ? 1 : 0], *c = rows[n > 2 ? 2 : 0],
            *d = rows[n > 3 ? 3 : 0];
    const I ia = (I)ids[0], ib = (I)ids[n > 1 ? 1 : 0], ic = (I)ids[n > 2 ? 2 : 0],
            id = (I)ids[n > 3 ? 3 : 0];

#define STEP(row, own)                                                                             \
    take = (row[j] > v) | (row[j] != row[j]);                                                      \
    v = take ? row[j] : v;                                                                         \
    at = take ? own : at;
    for (int64_t j = 0; j < len; j++) {
        bool take;
        T v = first ? a[j] : best[j];
        I at = first ? ia : which[j];
        if (!first) {
            STEP(a, ia)
        }
        if (n > 1) {
            STEP(b, ib)
        }
        if (n > 2) {
            STEP(c, ic)
        }
        if (n > 3) {
            STEP(d, id)
        }
        best[j] = v;
        which[j] = at;
    }
#undef STEP
}

static void WN(max_rows)(char *best, char *which, const char *const *rows, const int64_t *ids,
                         int n, int64_t len, bool first)
{
    const T *typed[WN_ROWS];

    for (int i = 0; i < WN_ROWS; i++)
        typed[i] = (const T *)rows[i < n ? i : 0];
#define CASE(count, start)                                                                         \
    case count * 2 + start:                                                                        \
        WN(max_n)((T *)best, (I *)which, typed, ids, len, count, start);                           \
        break;
    switch (n * 2 + first) {
        CASE(1, 0)
        CASE(1, 1)
        CASE(2, 0)
        CASE(2, 1)
        CASE(3, 0)
        CASE(3, 1)
        CASE(4, 0)
        CASE(4, 1)
    }
#undef CASE
}

static void WN(no_row)(char *best, char *which, int64_t id, int64_t len)
{
    for (int64_t j = 0; j < len; j++) {
        ((T *)best)[j] = -(T)__builtin_inf();
        ((I *)which)[j] = (I)id;
    }
}

/* Is v in row r better than b in row br?  It is further right. */
#define BETTER(v, r, b, br)                                                                        \
    (((v) > (b)) | (((v) == (b)) & ((r) < (br))) | (((v) != (v)) & (((b) == (b)) | ((r) >= (br)))))

/* n <= WN_BLOCK places whose windows are `by` elements apart, inner elements at each. */
WN_INLINE void WN(max_even)(const wn_row *r, int64_t o, int64_t n, int64_t by, bool rows)
{
    const wn_axis *a = r->axis;
    const T *x = (const T *)r->x + a->begin[o];
    const I *which = rows ? (const I *)r->which + a->begin[o] : NULL;
    T best[WN_BLOCK];
    I row[WN_BLOCK], at[WN_BLOCK];

    for (int64_t j = 0; j < n; j++) {
        best[j] = x[j * by];
        row[j] = rows ? which[j * by] : 0;
        at[j] = 0;
    }
    for (int64_t k = 1; k < a->count[o]; k++) {
        const T *xk = x + k * a->step;
        const I *wk = rows ? which + k * a->step : NULL;
        for (int64_t j = 0; j < n; j++) {
            T v = xk[j * by];
            I id = rows ? wk[j * by] : 0;
            bool take = rows ? BETTER(v, id, best[j], row[j]) : (v > best[j]) | (v != v);
            best[j] = take ? v : best[j];
            row[j] = take ? id : row[j];
            at[j] = take ? (I)k : at[j];
        }
    }
    memcpy((T *)r->y + o, best, (size_t)n * sizeof(T));
    for (int64_t j = 0; j < n; j++)
        r->index[o + j] = (rows ? (int64_t)row[j] : r->first) * r->row_places + a->begin[o] +
                          j * by + (int64_t)at[j] * a->step;
}

static void WN(max_evenly)(const wn_row *r, int64_t o, int64_t n)
{
    int64_t by = r->axis->by;

    if (by == 1)
        r->which ? WN(max_even)(r, o, n, 1, true) : WN(max_even)(r, o, n, 1, false);
    else if (by == 2)
        r->which ? WN(max_even)(r, o, n, 2, true) : WN(max_even)(r, o, n, 2, false);
    else
        r->which ? WN(max_even)(r, o, n, by, true) : WN(max_even)(r, o, n, by, false);
}

/* n <= WN_BLOCK of the elements at place o of the result, from element `from`. */
WN_INLINE void WN(max_block)(const wn_row *r, int64_t o, int64_t from, int64_t n, bool rows)
{
    const wn_axis *a = r->axis;
    const T *x = (const T *)r->x + from;
    const I *which = rows ? (const I *)r->which + from : NULL;
    T best[WN_BLOCK];
    I row[WN_BLOCK], at[WN_BLOCK];

    for (int64_t k = 0; k < a->count[o]; k++) {
        int64_t place = a->begin[o] + k * a->step;
        const T *xk = x + place * r->inner;
        const I *wk = rows ? which + place * r->inner : NULL;
        for (int64_t j = 0; j < n; j++) {
            T v = xk[j];
            I id = rows ? wk[j] : 0;
            bool take =
                k == 0 || (rows ? BETTER(v, id, best[j], row[j]) : (v > best[j]) | (v != v));
            best[j] = take ? v : best[j];
            row[j] = take ? id : row[j];
            at[j] = take ? (I)k : at[j];
        }
    }
    T *y = (T *)r->y + o * r->inner + from;
    int64_t *index = r->index + o * r->inner + from;
    for (int64_t j = 0; j < n; j++) {
        bool none = a->count[o] == 0;
        y[j] = none ? -(T)__builtin_inf() : best[j];
        index[j] = (rows && !none ? (int64_t)row[j] : r->first) * r->row_places + a->begin[o] +
                   (none ? 0 : (int64_t)at[j] * a->step);
    }
}

static void WN(max_places)(const wn_row *r)
{
    const wn_axis *a = r->axis;

    for (int64_t o = r->from; o < r->to; o++) {
        int64_t left = (a->to < r->to ? a->to : r->to) - o;
        if (r->inner == 1 && a->period == 1 && o >= a->from && left > 1 && a->count[o] > 0) {
            int64_t n = left < WN_BLOCK ? left : WN_BLOCK;
            WN(max_evenly)(r, o, n);
            o += n - 1;
            continue;
        }
        for (int64_t j = 0, n; j < r->inner; j += n) {
            n = r->inner - j < WN_BLOCK ? r->inner - j : WN_BLOCK;
            if (r->which)
                WN(max_block)(r, o, j, n, true);
            else
                WN(max_block)(r, o, j, n, false);
        }
    }
}
#undef BETTER

/* -- maxima over windows of few places, which are gone through in order -- */

#define STEP(x, own)                                                                               \
    T v = x, b = best[j];                                                                          \
    I w = at[j];                                                                                   \
    bool take = (v > b) | (v != v);                                                                \
    b = take ? v : b;                                                                              \
    w = take ? own : w;                                                                            \
    best[j] = b;                                                                                   \
    at[j] = w;

/* n <= WN_BLOCK elements that lie beside one another, from `j` on, at `count` places with these numbers. */
static void WN(max_lanes)(const T *const *places, const I *ids, int count, T *y, int64_t *index,
                          int64_t n)
{
    T best[WN_BLOCK];
    I at[WN_BLOCK];

    for (int64_t j = 0; j < n; j++) {
        best[j] = -(T)__builtin_inf();
        at[j] = ids[0];
    }
    for (int k = 0; k < count; k++) {
        const T *x = places[k];
        const I own = ids[k];
        for (int64_t j = 0; j < n; j++) {
            STEP(x[j], own)
        }
    }
    for (int64_t j = 0; j < n; j++) {
        y[j] = best[j];
        index[j] = at[j];
    }
}

/* The elements at place o of the result. */
static void WN(max_window)(const wn_row *r, const wn_lines *w, int64_t o)
{
    const wn_axis *a = r->axis;
    const T *places[WN_FEW];
    I ids[WN_FEW];
    int n = 0;

    ids[0] = (I)(w->ids[0] * r->row_places + a->begin[o]); /* also where there are none */
    for (int i = 0; i < w->n; i++)
        for (int64_t k = 0; k < a->count[o]; k++, n++) {
            int64_t place = a->begin[o] + k * a->step;
            places[n] = (const T *)w->rows[i] + place * r->inner;
            ids[n] = (I)(w->ids[i] * r->row_places + place);
        }
    for (int64_t j = 0; j < r->inner; j += WN_BLOCK) {
        int64_t left = r->inner - j, at = o * r->inner + j;
        WN(max_lanes)
        (places, ids, n, (T *)r->y + at, r->index + at, left < WN_BLOCK ? left : WN_BLOCK);
        for (int k = 0; k < n; k++)
            places[k] += WN_BLOCK;
    }
}

/* n <= WN_BLOCK places whose windows are `by` elements apart. */
WN_INLINE void WN(max_windows)(const wn_row *r, const wn_lines *l, int64_t o, int64_t n, int64_t by)
{
    const wn_axis *a = r->axis;
    T *y = (T *)r->y + o, best[WN_BLOCK];
    int64_t *index = r->index + o;
    I at[WN_BLOCK], first = (I)(l->ids[0] * r->row_places + a->begin[o]);

    for (int64_t j = 0; j < n; j++) {
        best[j] = -(T)__builtin_inf();
        at[j] = first;
    }
    for (int i = 0; i < l->n; i++)
        for (int64_t k = 0; k < a->count[o]; k++) {
            int64_t place = a->begin[o] + k * a->step;
            const T *x = (const T *)l->rows[i] + place;
            const I own = (I)(l->ids[i] * r->row_places + place);
            for (int64_t j = 0; j < n; j++) {
                STEP(x[j * by], own)
            }
        }
    for (int64_t j = 0; j < n; j++) {
        y[j] = best[j];
        index[j] = j * by + at[j];
    }
}
#undef STEP

static void WN(max_few)(const wn_row *r, const wn_lines *w)
{
    const wn_axis *a = r->axis;

    for (int64_t o = r->from; o < r->to; o++) {
        int64_t left = (a->to < r->to ? a->to : r->to) - o;
        if (r->inner > 1 || a->period != 1 || o < a->from || left < 2) {
            WN(max_window)(r, w, o);
            continue;
        }
        int64_t n = left < WN_BLOCK ? left : WN_BLOCK;
        if (a->by == 1)
            WN(max_windows)(r, w, o, n, 1);
        else if (a->by == 2)
            WN(max_windows)(r, w, o, n, 2);
        else
            WN(max_windows)(r, w, o, n, a->by);
        o += n - 1;
    }
}
#undef I
#endif
#undef WN
#undef T
#undef E
