/* loops/extremum.h -- template of reductions to the extreme element and its first index (argmax,
 * min.dim).  It is included once for each RD_NAME, the prefix of the names of its functions, after
 * the definition of
 *
 *     RD_X                the suffix of the type of an element
 *     RD_BEST             the RD_NAME of fold.h's reduction to the extreme element, in which NaN
 *                         wins over all numbers
 *     NAME_beats_(a, b)   true if element a wins over b
 *
 * A step (rd_kernel.step) reads the elements that it reduces to an output twice: to find the
 * extreme element, and to find the index of that element. */
#define RD_(part)        DP_ISA_PASTE(RD_NAME, part)
#define RD_OF_BEST(part) DP_ISA_PASTE(RD_BEST, part)
#define RD_XM            DP_ISA_PASTE(pw_mem, RD_X)
#define RD_XV            DP_ISA_PASTE(pw_val, RD_X)

typedef struct RD_(acc) {
    RD_XM value;
    int64_t index;
} RD_(acc);

static void RD_(begin)(char *acc, int64_t n, void *user)
{
    (void)user;
    dp_zero_n(acc, (size_t)n, sizeof(RD_(acc)));
}

RD_INLINE bool RD_(is_nan)(RD_XV x)
{
    RD_XV y = x;
    return x != y; /* never true for integers */
}

/* Return the index of the first of `n` elements that is equal to `best` or is NaN; n if there is no
 * such element. */
RD_INLINE int64_t RD_(find)(const RD_XM *x, int64_t n, RD_XV best)
{
    int64_t i = 0;

    for (; i + RD_LANES <= n; i += RD_LANES) {
        RD_XM any = 0;
        for (int64_t l = 0; l < RD_LANES; l++)
            any = (RD_XM)((RD_XV)x[i + l] == best || RD_(is_nan)((RD_XV)x[i + l]) ? 1 : any);
        if (any != 0)
            break;
    }
    while (i < n && !((RD_XV)x[i] == best || RD_(is_nan)((RD_XV)x[i])))
        i++;
    return i;
}

static int64_t RD_(find_in_row)(const char *x, int64_t s0, int64_t n0, RD_XV best,
                                const rd_state *s)
{
    RD_ALIGNED RD_XM converted[RD_PACKED];

    if (s->no_cast && s0 == (int64_t)sizeof(RD_XM))
        return RD_(find)((const RD_XM *)x, n0, best);
    for (int64_t i = 0; i < n0; i += RD_PACKED) {
        int64_t m = rd_least(n0 - i, RD_PACKED), at;
        s->load((char *)converted, sizeof(RD_XM), x + i * s0, s0, m);
        at = RD_(find)(converted, m, best);
        if (at < m)
            return i + at;
    }
    return 0;
}

/* Set at [w] to the index of the first element of each of `w` outputs that is equal to best [w] or
 * is NaN. */
RD_INLINE void RD_(find_across)(int32_t *restrict at, const char *x, int64_t s0, int64_t s1,
                                int64_t n0, int64_t w, const RD_XM *restrict best,
                                const rd_state *s)
{
    RD_ALIGNED RD_XM converted[RD_OF_BEST(wide)];
    bool in_place = s->no_cast && s1 == (int64_t)sizeof(RD_XM);

    for (int64_t j = 0; j < w; j++)
        at[j] = 0;
    for (int64_t i = n0 - 1; i >= 0; i--) {
        const RD_XM *restrict row = in_place ? (const RD_XM *)(x + i * s0) : converted;
        if (!in_place)
            s->load((char *)converted, sizeof(RD_XM), x + i * s0, s1, w);
        for (int64_t j = 0; j < w; j++)
            at[j] =
                (RD_XV)row[j] == (RD_XV)best[j] || RD_(is_nan)((RD_XV)row[j]) ? (int32_t)i : at[j];
    }
}

/* Merge the element `value` at `index` into `a`.  The index of `a` is smaller, so a wins a tie. */
RD_INLINE void RD_(join)(RD_(acc) * a, RD_XM value, int64_t index)
{
    if (RD_(beats_)((RD_XV)value, (RD_XV)a->value) ||
        (RD_(is_nan)((RD_XV)value) && !RD_(is_nan)((RD_XV)a->value)))
        *a = (RD_(acc)){value, index};
}

static void RD_(step)(char *acc, char **data, const int64_t *st, int64_t n0, int64_t n,
                      int64_t index, void *user)
{
    static const RD_XV nothing[RD_OF_BEST(wide)];
    const rd_state *s = user;
    RD_(acc) *a = (RD_(acc) *)acc;
    const char *x = data[s->n_out];
    int64_t s0 = st[s->n_out], s1 = st[s->n_out + 1 + s->n_out], w = 1;
    bool across = rd_across(s0, s1, n0, n, s->item), first = index % DP_ITER_CHUNK == 0;
    RD_XM best[RD_OF_BEST(wide)];
    int32_t at[RD_OF_BEST(wide)];

    for (int64_t j = 0; j < n; j += w, x += w * s1) {
        if (across) {
            w = rd_least(n - j, RD_OF_BEST(wide));
            RD_OF_BEST(rows)(best, x, s0, s1, n0, w, nothing, s);
            RD_(find_across)(at, x, s0, s1, n0, w, best, s);
        } else {
            best[0] = RD_OF_BEST(row)(x, s0, n0, nothing[0], s);
            at[0] = (int32_t)RD_(find_in_row)(x, s0, n0, (RD_XV)best[0], s);
        }
        for (int64_t i = 0; i < w; i++)
            if (first)
                a[j + i] = (RD_(acc)){best[i], index + at[i]};
            else
                RD_(join)(&a[j + i], best[i], index + at[i]);
    }
}

static void RD_(merge)(char *acc, const char *from, int64_t n, void *user)
{
    RD_(acc) *a = (RD_(acc) *)acc;
    const RD_(acc) *b = (const RD_(acc) *)from;
    (void)user;
    for (int64_t j = 0; j < n; j++)
        RD_(join)(&a[j], b[j].value, b[j].index);
}

static void RD_(finish)(char **data, const int64_t *strides, const char *acc, int64_t n, void *user)
{
    const rd_state *s = user;
    const RD_(acc) *a = (const RD_(acc) *)acc;
    int64_t index[RD_STORED];
    RD_XM value[RD_STORED];
    int last = s->n_out - 1;

    for (int64_t j = 0; j < n; j += RD_STORED) {
        int64_t m = rd_least(n - j, RD_STORED);
        for (int64_t i = 0; i < m; i++) {
            value[i] = a[j + i].value;
            index[i] = a[j + i].index;
        }
        if (last > 0)
            RD_STORE(0, value, j, m);
        RD_STORE(last, index, j, m); /* last, so that index remains if one tensor is both outputs */
    }
}

#undef RD_
#undef RD_OF_BEST
#undef RD_BEST
#undef RD_XM
#undef RD_XV
#undef RD_NAME
#undef RD_X
