/* loops/fold.h -- template of the loops that reduce elements by merging them in pairs.  It is
 * included once for each RD_NAME, the prefix of the names of its functions, and so has no include
 * guard.  The including file first defines
 *
 *     RD_X, RD_A                suffixes of the types of an element and of a partial result
 *     RD_M                      suffix of the type of `about`, an argument of NAME_each_() that has
 *                               one value per output (the mean, in var.h)
 *     NAME_each_(x, about, s)   the partial result for one element
 *     NAME_merge_(a, b)         the merge of two partial results
 *     RD_PARTS, RD_R            optional: 2, and a complex type, where an element is two numbers
 *                               RD_X that are merged separately (sums of complex numbers)
 *
 * `s` is the rd_state.  This header defines row(), which reduces the n0 elements of one output, and
 * rows(), which reduces the n0 elements of each of w neighbouring outputs.  A lane is one of the
 * RD_LANES accumulators of an output (reduce.h). */
#ifndef RD_PARTS
#define RD_PARTS 1
#define RD_R     RD_A
#endif
#define RD_(part) DP_ISA_PASTE(RD_NAME, part)
#define RD_XM     DP_ISA_PASTE(pw_mem, RD_X)
#define RD_XV     DP_ISA_PASTE(pw_val, RD_X)
#define RD_AM     DP_ISA_PASTE(pw_mem, RD_A)
#define RD_MV     DP_ISA_PASTE(pw_val, RD_M)
#define RD_RM     DP_ISA_PASTE(pw_mem, RD_R)
#define RD_ALL    (RD_LANES * RD_PARTS)      /* numbers in all lanes */
#define RD_BYTES  (sizeof(RD_XM) * RD_PARTS) /* bytes of an element */

/* Merge the numbers x [n] into the lanes: x[i] into lane i % RD_ALL.  `first`: the lanes are
 * uninitialized. */
RD_INLINE void RD_(add)(RD_AM *restrict lanes, const RD_XM *restrict x, int64_t n, bool first,
                        RD_MV about, const rd_state *s)
{
    int64_t i = 0, l;

    if (first && n < RD_ALL) {
        for (l = 0; l < n; l++)
            lanes[l] = RD_(each_)((RD_XV)x[l], about, s);
        return;
    }
    RD_AM a[RD_ALL];
    if (first)
        for (l = 0; l < RD_ALL; l++)
            a[l] = RD_(each_)((RD_XV)x[l], about, s);
    else
        for (l = 0; l < RD_ALL; l++)
            a[l] = lanes[l];
    for (i = first ? RD_ALL : 0; i + RD_ALL <= n; i += RD_ALL)
        for (l = 0; l < RD_ALL; l++)
            a[l] = RD_(merge_)(a[l], RD_(each_)((RD_XV)x[i + l], about, s));
    for (l = 0; l < RD_ALL; l++)
        lanes[l] = a[l];
    for (l = 0; i + l < n; l++)
        lanes[l] = RD_(merge_)(lanes[l], RD_(each_)((RD_XV)x[i + l], about, s));
}

/* Merge the first `used` lanes to one result: the upper half into the lower half, repeatedly. */
RD_INLINE RD_RM RD_(all)(RD_AM *lanes, int64_t used)
{
#define RD_HALVE(half)                                                                             \
    _Pragma("GCC ivdep") for (int64_t l = 0; l < half * RD_PARTS; l++) lanes[l] =                  \
        RD_(merge_)(lanes[l], lanes[l + half * RD_PARTS]);
    if (used == RD_LANES) {
        RD_HALVE(32)
        RD_HALVE(16)
        RD_HALVE(8)
        RD_HALVE(4)
        RD_HALVE(2)
        RD_HALVE(1)
    } else {
        for (int64_t half = RD_ALL / 2; half >= RD_PARTS; half /= 2)
            for (int64_t l = 0; l < half && l + half < used * RD_PARTS; l++)
                lanes[l] = RD_(merge_)(lanes[l], lanes[l + half]);
    }
#undef RD_HALVE
    RD_RM all;
    memcpy(&all, lanes, sizeof(all));
    return all;
}

/* Reduce `n0` > 0 elements, `s0` bytes apart. */
static RD_RM RD_(row)(const char *x, int64_t s0, int64_t n0, RD_MV about, const rd_state *s)
{
    RD_ALIGNED RD_AM lanes[RD_ALL];
    RD_ALIGNED RD_XM converted[RD_PACKED * RD_PARTS];

    const bool in_place = s->no_cast && s0 == (int64_t)RD_BYTES; /* no conversion is needed */
    int64_t m = in_place ? n0 : rd_least(n0, RD_PACKED);

    if (!in_place)
        s->load((char *)converted, RD_BYTES, x, s0, m);
    RD_(add)(lanes, in_place ? (const RD_XM *)x : converted, m * RD_PARTS, true, about, s);
    for (int64_t i = m; i < n0; i += m) {
        m = rd_least(n0 - i, RD_PACKED);
        s->load((char *)converted, RD_BYTES, x + i * s0, s0, m);
        RD_(add)(lanes, converted, m * RD_PARTS, false, about, s);
    }
    return RD_(all)(lanes, rd_least(n0, RD_LANES));
}

enum {
    RD_(wide) = RD_WIDE / sizeof(RD_RM),   /* greatest number of outputs in one call of rows() */
    RD_(numbers) = RD_WIDE / sizeof(RD_AM) /* numbers in the partial results of these outputs */
};

/* Merge the `w` numbers of each of `n0` rows into the lanes, then all lanes into lanes[0].  `load`
 * describes the conversion of the rows; NULL: the rows need no conversion. */
RD_INLINE void RD_(add_rows)(RD_AM (*restrict lanes)[RD_(numbers)], const char *x, int64_t s0,
                             int64_t n0, int64_t w, const RD_MV *restrict about, const rd_state *s,
                             const rd_rows *load)
{
    for (int64_t i = 0; i < n0; i++, x += s0) {
        if (load != NULL && i % RD_ROWS == 0)
            rd_load_rows(load, x, rd_least(n0 - i, RD_ROWS));
        const RD_XM *restrict row =
            (const RD_XM *)(load == NULL ? x : load->to + i % RD_ROWS * load->row);
        RD_AM *restrict lane = lanes[i % RD_LANES];
        if (i < RD_LANES)
            for (int64_t j = 0; j < w; j++)
                lane[j] = RD_(each_)((RD_XV)row[j], about[j], s);
        else
            for (int64_t j = 0; j < w; j++)
                lane[j] = RD_(merge_)(lane[j], RD_(each_)((RD_XV)row[j], about[j], s));
    }
    int64_t used = rd_least(n0, RD_LANES);
    for (int64_t half = RD_LANES / 2; half > 0; half /= 2)
        for (int64_t l = 0; l < half && l + half < used; l++)
            for (int64_t j = 0; j < w; j++)
                lanes[l][j] = RD_(merge_)(lanes[l][j], lanes[l + half][j]);
}

/* Reduce the `n0` elements of each of `w` <= wide outputs to out [w]; the elements of neighbouring
 * outputs are `s1` bytes apart.  about [wide] has the argument of each_() for each output. */
static void RD_(rows)(RD_RM *out, const char *x, int64_t s0, int64_t s1, int64_t n0, int64_t w,
                      const RD_MV *about, const rd_state *s)
{
    RD_ALIGNED RD_AM lanes[RD_LANES][RD_(numbers)];
    RD_ALIGNED RD_XM converted[RD_ROWS][RD_(numbers)];
    const rd_rows rows = {s, (char *)converted, sizeof(*converted), RD_BYTES, s0, s1, w};
    const rd_rows *load = s->no_cast && s1 == (int64_t)RD_BYTES ? NULL : &rows;

    if (w == RD_(wide))
        RD_(add_rows)(lanes, x, s0, n0, RD_(numbers), about, s, load);
    else
        RD_(add_rows)(lanes, x, s0, n0, w * RD_PARTS, about, s, load);
    dp_copy_n(out, lanes[0], (size_t)w, sizeof(*out));
}

/* -- With RD_STEP: the functions of rd_kernel except `finish` (finish.h).  begin() calls
 * NAME_none_(), the result for zero elements. -- */
#ifdef RD_STEP
RD_INLINE RD_RM RD_(join)(RD_RM a, RD_RM b)
{
#if RD_PARTS == 1
    return RD_(merge_)(a, b);
#else
    RD_AM u[RD_PARTS], v[RD_PARTS];
    memcpy(u, &a, sizeof(a));
    memcpy(v, &b, sizeof(b));
    for (int i = 0; i < RD_PARTS; i++)
        u[i] = RD_(merge_)(u[i], v[i]);
    memcpy(&a, u, sizeof(a));
    return a;
#endif
}

static void RD_(begin)(char *acc, int64_t n, void *user)
{
    RD_RM *a = (RD_RM *)acc;
    (void)user;
    for (int64_t j = 0; j < n; j++)
        a[j] = RD_(none_)();
}

static void RD_(step)(char *acc, char **data, const int64_t *st, int64_t n0, int64_t n,
                      int64_t index, void *user)
{
    static const RD_MV nothing[RD_(numbers)];
    const rd_state *s = user;
    RD_RM *a = (RD_RM *)acc;
    const char *x = data[s->n_out];
    int64_t s0 = st[s->n_out], s1 = st[s->n_out + 1 + s->n_out];
    bool first = index % DP_ITER_CHUNK == 0;

    if (!rd_across(s0, s1, n0, n, s->item)) {
        for (int64_t j = 0; j < n; j++, x += s1) {
            RD_RM b = RD_(row)(x, s0, n0, nothing[0], s);
            a[j] = first ? b : RD_(join)(a[j], b);
        }
        return;
    }
    for (int64_t j = 0; j < n; j += RD_(wide), x += s1 * RD_(wide)) {
        int64_t w = rd_least(n - j, RD_(wide));
        RD_RM b[RD_(wide)];
        RD_(rows)(first ? a + j : b, x, s0, s1, n0, w, nothing, s);
        for (int64_t i = 0; !first && i < w; i++)
            a[j + i] = RD_(join)(a[j + i], b[i]);
    }
}

static void RD_(merge)(char *acc, const char *from, int64_t n, void *user)
{
    RD_RM *a = (RD_RM *)acc;
    const RD_RM *b = (const RD_RM *)from;
    (void)user;
    for (int64_t j = 0; j < n; j++)
        a[j] = RD_(join)(a[j], b[j]);
}
#undef RD_STEP
#endif

#undef RD_
#undef RD_XM
#undef RD_XV
#undef RD_AM
#undef RD_MV
#undef RD_NAME
#undef RD_X
#undef RD_A
#undef RD_M
#undef RD_R
#undef RD_RM
#undef RD_ALL
#undef RD_BYTES
#undef RD_PARTS
