/* window_maxima.h -- template of the maxima of window.h for elements of type T; row indices have
 * type I; E is the suffix of T.  Of several equal maxima, the index is that of the first one in the
 * plane; of several NaNs, that of the last one. */

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

/* Test whether element `v` of row `r` wins over element `b` of row `br`; `v` has the greater index
 * in its row. */
#define BETTER(v, r, b, br)                                                                        \
    (((v) > (b)) | (((v) == (b)) & ((r) < (br))) | (((v) != (v)) & (((b) == (b)) | ((r) >= (br)))))

/* Compute `n` <= WN_BLOCK elements of the result, from index `o` on, whose windows begin `by`
 * elements apart.  `rows`: r->which is set. */
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
        const T *xk = x + k * a->windows.step;
        const I *wk = rows ? which + k * a->windows.step : NULL;
        for (int64_t j = 0; j < n; j++) {
            T v = xk[j * by];
            I id = rows ? wk[j * by] : 0;
            bool take = rows ? BETTER(v, id, best[j], row[j]) : (v > best[j]) | (v != v);
            best[j] = take ? v : best[j];
            row[j] = take ? id : row[j];
            at[j] = take ? (I)k : at[j];
        }
    }
    dp_copy_n((T *)r->y + o, best, (size_t)n, sizeof(T));
    for (int64_t j = 0; j < n; j++)
        r->index[o + j] = (rows ? (int64_t)row[j] : r->first) * r->row_places + a->begin[o] +
                          j * by + (int64_t)at[j] * a->windows.step;
}

static void WN(max_evenly)(const wn_row *r, int64_t o, int64_t n)
{
    int64_t by = r->axis->windows.by;

    if (by == 1)
        r->which ? WN(max_even)(r, o, n, 1, true) : WN(max_even)(r, o, n, 1, false);
    else if (by == 2)
        r->which ? WN(max_even)(r, o, n, 2, true) : WN(max_even)(r, o, n, 2, false);
    else
        r->which ? WN(max_even)(r, o, n, by, true) : WN(max_even)(r, o, n, by, false);
}

/* Compute `n` <= WN_BLOCK of the inner numbers at index `o` of the result, from number `from` on.
 * `rows`: r->which is set. */
WN_INLINE void WN(max_block)(const wn_row *r, int64_t o, int64_t from, int64_t n, bool rows)
{
    const wn_axis *a = r->axis;
    const T *x = (const T *)r->x + from;
    const I *which = rows ? (const I *)r->which + from : NULL;
    T best[WN_BLOCK];
    I row[WN_BLOCK], at[WN_BLOCK];

    for (int64_t k = 0; k < a->count[o]; k++) {
        int64_t place = a->begin[o] + k * a->windows.step;
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
                   (none ? 0 : (int64_t)at[j] * a->windows.step);
    }
}

static void WN(max_places)(const wn_row *r)
{
    const wn_axis *a = r->axis;

    for (int64_t o = r->from; o < r->to; o++) {
        int64_t left = (a->windows.to < r->to ? a->windows.to : r->to) - o;
        if (r->inner == 1 && a->windows.period == 1 && o >= a->windows.from && left > 1 &&
            a->count[o] > 0) {
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

/* -- maxima over windows of few elements, which are read in order -- */

#define STEP(x, own)                                                                               \
    T v = x, b = best[j];                                                                          \
    I w = at[j];                                                                                   \
    bool take = (v > b) | (v != v);                                                                \
    b = take ? v : b;                                                                              \
    w = take ? own : w;                                                                            \
    best[j] = b;                                                                                   \
    at[j] = w;

/* Set y[j], for j < n <= WN_BLOCK, to the maximum of places[k][j] over k < `count`, and index[j] to
 * ids[k] of that maximum; if `count` is 0, to -infinity and ids[0]. */
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

/* Compute the elements at index o of the result. */
static void WN(max_window)(const wn_row *r, const wn_lines *w, int64_t o)
{
    const wn_axis *a = r->axis;
    const T *places[WN_FEW];
    I ids[WN_FEW];
    int n = 0;

    ids[0] = (I)(w->ids[0] * r->row_places + a->begin[o]); /* used even if the window is empty */
    for (int i = 0; i < w->n; i++)
        for (int64_t k = 0; k < a->count[o]; k++, n++) {
            int64_t place = a->begin[o] + k * a->windows.step;
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

/* Compute `n` <= WN_BLOCK elements of the result, from index `o` on, whose windows begin `by`
 * elements apart. */
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
            int64_t place = a->begin[o] + k * a->windows.step;
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
        int64_t left = (a->windows.to < r->to ? a->windows.to : r->to) - o;
        if (r->inner > 1 || a->windows.period != 1 || o < a->windows.from || left < 2) {
            WN(max_window)(r, w, o);
            continue;
        }
        int64_t n = left < WN_BLOCK ? left : WN_BLOCK;
        if (a->windows.by == 1)
            WN(max_windows)(r, w, o, n, 1);
        else if (a->windows.by == 2)
            WN(max_windows)(r, w, o, n, 2);
        else
            WN(max_windows)(r, w, o, n, a->windows.by);
        o += n - 1;
    }
}
