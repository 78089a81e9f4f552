/* lines_of_size.h -- template of algorithms on records, included once for each kind of record,
 * after the definition of
 *
 *     NAME(f)        the name f with the suffix of the kind
 *     REC            the type of a record
 *     KEY(r), AT(r)  the key and the index of a record
 *     MAKE(key, at)  a record
 *     KEY_BYTES      bytes of a key
 *
 * Callers can see which of several equal elements topk, kthvalue and mode return.  The algorithms
 * therefore do the same steps as PyTorch, which uses libstdc++ (bits/stl_algo.h, stl_heap.h). */

#define LESS(a, b) (KEY(a) < KEY(b))

static inline void NAME(swap)(REC *a, REC *b)
{
    REC t = *a;
    *a = *b;
    *b = t;
}

/* -- heaps with the greatest record first -- */

static void NAME(adjust)(REC *r, int64_t hole, int64_t n, REC value)
{
    int64_t top = hole, child = hole;

    while (child < (n - 1) / 2) {
        child = 2 * (child + 1);
        if (LESS(r[child], r[child - 1]))
            child--;
        r[hole] = r[child];
        hole = child;
    }
    if (n % 2 == 0 && child == (n - 2) / 2) {
        child = 2 * (child + 1);
        r[hole] = r[child - 1];
        hole = child - 1;
    }
    for (int64_t parent = (hole - 1) / 2; hole > top && LESS(r[parent], value);
         parent = (hole - 1) / 2) {
        r[hole] = r[parent];
        hole = parent;
    }
    r[hole] = value;
}

static void NAME(make_heap)(REC *r, int64_t k)
{
    for (int64_t parent = (k - 2) / 2; k > 1 && parent >= 0; parent--)
        NAME(adjust)(r, parent, k, r[parent]);
}

/* Move the least k of n records to the front, as a heap. */
static void NAME(heap_select)(REC *r, int64_t k, int64_t n)
{
    NAME(make_heap)(r, k);
    poll look = {0};
    for (int64_t i = k; i < n && !poll_stops(&look, 1); i++)
        if (LESS(r[i], r[0])) {
            REC value = r[i];
            r[i] = r[0];
            NAME(adjust)(r, 0, k, value);
        }
}

static void NAME(sort_heap)(REC *r, int64_t n)
{
    poll look = {0};
    while (n-- > 1 && !poll_stops(&look, LN_SIFT)) {
        REC value = r[n];
        r[n] = r[0];
        NAME(adjust)(r, 0, n, value);
    }
}

/* -- partitions -- */

static void NAME(insertion_sort)(REC *r, int64_t n)
{
    poll look = {0};
    for (int64_t i = 1; i < n && !poll_stops(&look, 1); i++) {
        REC value = r[i];
        int64_t at = i;
        for (; at > 0 && LESS(value, r[at - 1]); at--)
            r[at] = r[at - 1];
        r[at] = value;
    }
}

static void NAME(median_to_front)(REC *to, REC *a, REC *b, REC *c)
{
    if (LESS(*a, *b))
        NAME(swap)(to, LESS(*b, *c) ? b : LESS(*a, *c) ? c : a);
    else
        NAME(swap)(to, LESS(*a, *c) ? a : LESS(*b, *c) ? c : b);
}

/* Partition a part of [*begin, *end) without a branch per record (Edelkamp, Weiss: BlockQuicksort).
 * Records on the wrong side of the pivot are exchanged in pairs, in the order in which scans from
 * both ends would find them.  Then *begin and *end are set to the next records on the wrong side,
 * or to records that were not compared. */
static void NAME(exchange)(REC *r, int64_t *begin, int64_t *end, REC pivot)
{
    uint8_t left[LN_BLOCK], right[LN_BLOCK]; /* distances from the ends */
    int n_left = 0, n_right = 0, at_left = 0, at_right = 0;
    int64_t i = *begin, j = *end;

    while (j - i >= 2 * LN_BLOCK) {
        if (n_left == 0)
            for (int k = at_left = 0; k < LN_BLOCK; k++) {
                left[n_left] = (uint8_t)k;
                n_left += !LESS(r[i + k], pivot);
            }
        if (n_right == 0)
            for (int k = at_right = 0; k < LN_BLOCK; k++) {
                right[n_right] = (uint8_t)k;
                n_right += !LESS(pivot, r[j - 1 - k]);
            }
        for (; n_left > 0 && n_right > 0; n_left--, n_right--)
            NAME(swap)(&r[i + left[at_left++]], &r[j - 1 - right[at_right++]]);
        i += n_left == 0 ? LN_BLOCK : 0;
        j -= n_right == 0 ? LN_BLOCK : 0;
    }
    *begin = i + (n_left ? left[at_left] : 0);
    *end = j - (n_right ? right[at_right] : 0);
}

/* Partition [begin, end), which has more than 3 records; return the index where the second part
 * begins. */
static int64_t NAME(partition)(REC *r, int64_t begin, int64_t end)
{
    int64_t i = begin + 1, j = end;

    NAME(median_to_front)(&r[begin], &r[i], &r[begin + (end - begin) / 2], &r[end - 1]);
    REC pivot = r[begin];
    NAME(exchange)(r, &i, &j, pivot);
    for (;; i++) {
        while (LESS(r[i], pivot))
            i++;
        j--;
        while (LESS(pivot, r[j]))
            j--;
        if (i >= j)
            return i;
        NAME(swap)(&r[i], &r[j]);
    }
}

static int NAME(depth)(int64_t n)
{
    return 2 * (63 - __builtin_clzll((unsigned long long)n));
}

/* Move the record of rank k to index k; no record after it is less (std::nth_element). */
static void NAME(select)(REC *r, int64_t k, int64_t n)
{
    int64_t begin = 0, end = n;

    for (int depth = NAME(depth)(n); end - begin > 3; depth--) {
        if (ln_stops(end - begin))
            return;
        if (depth == 0) {
            NAME(heap_select)(r + begin, k + 1 - begin, end - begin);
            NAME(swap)(&r[begin], &r[k]);
            return;
        }
        int64_t cut = NAME(partition)(r, begin, end);
        if (cut <= k)
            begin = cut;
        else
            end = cut;
    }
    NAME(insertion_sort)(r + begin, end - begin);
}

/* Partition the records into parts of at most 16, in ascending order of the parts.  `depth` is
 * the number of partitions that are still allowed. */
static void NAME(sort_parts)(REC *r, int64_t begin, int64_t end, int depth)
{
    for (; end - begin > 16; depth--) {
        if (ln_stops(end - begin))
            return;
        if (depth == 0) {
            NAME(heap_select)(r + begin, end - begin, end - begin);
            NAME(sort_heap)(r + begin, end - begin);
            return;
        }
        int64_t cut = NAME(partition)(r, begin, end);
        NAME(sort_parts)(r, cut, end, depth - 1);
        end = cut;
    }
}

/* Sort r [n] like std::sort, which does not preserve the order of equal records. */
static void NAME(sort_any)(REC *r, int64_t n)
{
    if (n > 1)
        NAME(sort_parts)(r, 0, n, NAME(depth)(n));
    /* after a stop, records may be far from their positions, and insertion would take n^2 steps */
    if (!ln_stops(n))
        NAME(insertion_sort)(r, n);
}

/* -- operations on a line: the returned records are moved to the front -- */

/* Sort by the bytes of the keys, the least significant byte first; a byte that is equal in all keys
 * is skipped. */
static void NAME(radix_sort)(REC *r, REC *room, int64_t n)
{
    int64_t count[KEY_BYTES][256] = {{0}};
    REC *from = r, *to = room, *t;

    poll look = {0};
    for (int64_t i = 0; i < n && !poll_stops(&look, KEY_BYTES); i++)
        for (int b = 0; b < KEY_BYTES; b++)
            count[b][KEY(r[i]) >> 8 * b & 255]++;
    for (int b = 0; b < KEY_BYTES; b++) {
        int64_t *next = count[b], sum = 0;
        if (next[KEY(r[0]) >> 8 * b & 255] == n)
            continue;
        for (int d = 0; d < 256; d++) {
            int64_t here = next[d];
            next[d] = sum;
            sum += here;
        }
        if (look.stops) /* the counts may be incomplete */
            return;
        for (int64_t i = 0; i < n && !poll_stops(&look, 2); i++)
            to[next[KEY(from[i]) >> 8 * b & 255]++] = from[i];
        t = from, from = to, to = t;
    }
    if (from != r)
        dp_copy_n(r, from, (size_t)n, sizeof(REC));
}

static void NAME(sort)(const ln_job *j, REC *r, REC *room)
{
    if (!j->stable)
        NAME(sort_any)(r, j->n);
    else if (j->n <= LN_SHORT)
        NAME(insertion_sort)(r, j->n);
    else
        NAME(radix_sort)(r, room, j->n);
}

static void NAME(top)(const ln_job *j, REC *r, REC *room)
{
    int64_t k = j->k;

    (void)room;
    if (k == 0)
        return;
    if (k <= j->n / LN_FEW) {
        NAME(heap_select)(r, k, j->n);
        NAME(sort_heap)(r, k);
        return;
    }
    NAME(select)(r, k - 1, j->n);
    if (j->sorted && !ln_stops(j->n))
        NAME(sort_any)(r, k - 1);
}

static uint64_t NAME(take)(void *records, int64_t k, uint64_t key, int64_t at)
{
    REC *r = records;

    NAME(adjust)(r, 0, k, MAKE(key, at));
    return KEY(r[0]);
}

/* Find the least k elements of a line, k <= n / LN_FEW, with a heap of only k records. */
static void NAME(top_of)(const ln_job *j, ln_take_less *take_less, const char *x, void *records)
{
    REC *r = records;

    NAME(make_heap)(r, j->k);
    take_less(j, x, NAME(take), r, KEY(r[0]));
    NAME(sort_heap)(r, j->k);
}

/* Partition records [left, right], more than two, as PyTorch does.  Return the index that divides
 * them, and set *next to the beginning of the greater ones. */
static int64_t NAME(divide)(REC *r, int64_t left, int64_t right, int64_t *next)
{
    int64_t a = left + 2, b = right;

    NAME(swap)(&r[left + (right - left) / 2], &r[left + 1]);
    if (LESS(r[right], r[left + 1]))
        NAME(swap)(&r[left + 1], &r[right]);
    if (LESS(r[right], r[left]))
        NAME(swap)(&r[left], &r[right]);
    if (LESS(r[left], r[left + 1]))
        NAME(swap)(&r[left + 1], &r[left]);
    REC pivot = r[left];
    NAME(exchange)(r, &a, &b, pivot);
    for (;; a++) {
        while (LESS(r[a], pivot))
            a++;
        b--;
        while (LESS(pivot, r[b]))
            b--;
        if (b < a)
            break;
        NAME(swap)(&r[a], &r[b]);
    }
    NAME(swap)(&r[left], &r[b]);
    *next = a;
    return b;
}

/* Move the record of rank j->k to the front, by Hoare's selection with a median of three, as in
 * PyTorch (quick_select_template). */
static void NAME(kth)(const ln_job *j, REC *r, REC *room)
{
    int64_t left = 0, right = j->n - 1;

    (void)room;
    while (right > left + 1 && !ln_stops(right - left)) {
        int64_t next, at = NAME(divide)(r, left, right, &next);
        if (at <= j->k)
            left = next;
        if (at >= j->k)
            right = at - 1;
    }
    if (right == left + 1 && LESS(r[right], r[left]))
        NAME(swap)(&r[left], &r[right]);
    r[0] = r[j->k];
}

/* Return the number of NaNs, and set *first to the first one. */
static int64_t NAME(nans)(const ln_job *j, const REC *r, REC *first)
{
    int64_t n = 0;

    for (int64_t i = j->n - 1; j->nan != 0 && i >= 0; i--)
        if (KEY(r[i]) == j->nan) {
            *first = r[i];
            n++;
        }
    return n;
}

/* Move the record of rank k to the front; equal records are ranked by their order. */
static void NAME(rank)(const ln_job *j, REC *r, REC *room, int64_t k)
{
    int64_t less = 0, equal = 0;

    NAME(select)(r, k, j->n);
    if (ln_stops(j->n))
        return;
    REC found = r[k];
    for (int64_t i = 0; i < j->n; i++)
        if (LESS(r[i], found))
            less++;
        else if (KEY(r[i]) == KEY(found))
            room[equal++] = MAKE(AT(r[i]), AT(r[i]));
    if (k - less < 0 || k - less >= equal) /* possible after a stop between these loops */
        return;
    NAME(select)(room, k - less, equal);
    r[0] = MAKE(KEY(found), AT(room[k - less]));
}

static void NAME(median)(const ln_job *j, REC *r, REC *room)
{
    if (NAME(nans)(j, r, room) > 0)
        r[0] = *room;
    else
        NAME(rank)(j, r, room, (j->n - 1) / 2);
}

static void NAME(nanmedian)(const ln_job *j, REC *r, REC *room)
{
    int64_t nans = NAME(nans)(j, r, room);

    if (nans == j->n) /* rank() would compare keys, but no NaN is equal to another NaN */
        NAME(select)(r, 0, j->n);
    else
        NAME(rank)(j, r, room, (j->n - nans - 1) / 2);
}

/* Find the mode; no NaN is equal to another NaN. */
static void NAME(mode)(const ln_job *j, REC *r, REC *room)
{
    int64_t best = 0, most = 0, count = 0;

    (void)room;
    NAME(sort_any)(r, j->n);
    for (int64_t i = 0; i < j->n; i++) {
        count++;
        if (i < j->n - 1 && KEY(r[i]) == KEY(r[i + 1]) && (j->nan == 0 || KEY(r[i]) != j->nan))
            continue;
        if (count > most) {
            most = count;
            best = i;
        }
        count = 0;
    }
    r[0] = r[best];
}

static void NAME(work)(const ln_job *j, void *records, void *room)
{
    static void (*const works[LN_OPS])(const ln_job *, REC *,
                                       REC *) = {[LN_SORT] = NAME(sort),
                                                 [LN_TOP] = NAME(top),
                                                 [LN_KTH] = NAME(kth),
                                                 [LN_MEDIAN] = NAME(median),
                                                 [LN_NANMEDIAN] = NAME(nanmedian),
                                                 [LN_MODE] = NAME(mode)};

    works[j->op](j, records, room);
}

/* -- conversion between elements and records -- */

/* Define the loading of the first j->held elements of l->w lines. */
#define LOAD(name, dtype, type, sign, inf)                                                         \
    static void NAME(load_##name)(const ln_job *j, const ln_block *l, void *records)               \
    {                                                                                              \
        REC *r = records;                                                                          \
        poll look = {0};                                                                           \
        for (int64_t i = 0; i < j->held && !poll_stops(&look, l->w); i++)                          \
            for (int64_t w = 0; w < l->w; w++) {                                                   \
                type bits = *(const type *)(l->x + i * j->x_step + w * j->x_line);                 \
                r[w * j->held + i] = MAKE((uint64_t)key_##name(bits) ^ j->flip, i);                \
            }                                                                                      \
    }
LN_TYPES(LOAD)
#undef LOAD

/* Define the storing of the first j->m records of each line.  The keys of 0 and NaN stand for
 * several floats (-0 and 0, all NaNs), so these elements are read from the line again. */
#define STORE(name, dtype, type, sign, inf)                                                        \
    static void NAME(store_##name)(const ln_job *j, const ln_block *l, const void *records)        \
    {                                                                                              \
        const REC *r = records;                                                                    \
        for (int64_t i = 0; i < j->m; i++)                                                         \
            for (int64_t w = 0; w < l->w; w++) {                                                   \
                REC from = r[w * j->held + i];                                                     \
                uint64_t key = KEY(from) ^ j->flip;                                                \
                type *to = (type *)(l->value + i * j->value_step + w * j->value_line);             \
                if (inf != 0 && (key == sign || key == (type)-1))                                  \
                    *to = *(const type *)(l->x + (int64_t)AT(from) * j->x_step + w * j->x_line);   \
                else                                                                               \
                    *to = (type)ln_bits(key, sign, inf);                                           \
            }                                                                                      \
    }
LN_TYPES(STORE)
#undef STORE

static void NAME(store_places)(const ln_job *j, const ln_block *l, const void *records)
{
    const REC *r = records;

    for (int64_t i = 0; i < j->m; i++)
        for (int64_t w = 0; w < l->w; w++)
            *(int64_t *)(l->index + i * j->index_step + w * j->index_line) =
                (int64_t)AT(r[w * j->held + i]);
}

static const ln_kind NAME(kind) = {
    .bytes = sizeof(REC),
    .top_of = NAME(top_of),
    .work = NAME(work),
    .store_places = NAME(store_places),
    .types =
        {
#define TYPE(name, dtype, type, sign, inf) [dtype] = {NAME(load_##name), NAME(store_##name)},
            LN_TYPES(TYPE)
#undef TYPE
        },
};

#undef LESS
#undef NAME
#undef REC
#undef KEY
#undef AT
#undef MAKE
#undef KEY_BYTES
