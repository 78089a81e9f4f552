/* loops/distance.h -- template of the norms of differences of rows of type T; E is the suffix of T.
 * levels/distance.c includes this header once per type.  Differences are summed in LANES
 * accumulators, so that no bit depends on the vector level. */
#define FN(name) DP_ISA_PASTE(name, E)

#define DS_ADD(a, b)     ((a) + (b))
#define DS_MORE(a, b)    ((a) != (a) || (b) <= (a) ? (a) : (b)) /* NaN wins */
#define DS_GREATER(a, b) ((b) > (a) ? (b) : (a)) /* NaN is ignored in cdist, as in PyTorch */
#define DS_HALF(half, join)                                                                        \
    _Pragma("GCC ivdep") for (int l = 0; l < half; l++) s[l] = join(s[l], s[l + half]);

/* Define a function that computes out [rows], the norms of the differences of `a` and each of the
 * rows `b`.  The lanes of several rows are merged at a time.  `each` is the term of a difference
 * `d`, `join` adds two terms, and `end` converts the sum to the norm. */
#define DS_NORM(name, each, join, end)                                                             \
    static inline void FN(name##_lanes)(const T *restrict a, const T *restrict b, int64_t n,       \
                                        T *restrict four)                                          \
    {                                                                                              \
        T s[LANES] = {0}, d;                                                                       \
        int64_t i = 0;                                                                             \
        for (; i + LANES <= n; i += LANES)                                                         \
            for (int l = 0; l < LANES; l++) {                                                      \
                d = a[i + l] - b[i + l];                                                           \
                s[l] = join(s[l], each);                                                           \
            }                                                                                      \
        for (int l = 0; i + l < n; l++) {                                                          \
            d = a[i + l] - b[i + l];                                                               \
            s[l] = join(s[l], each);                                                               \
        }                                                                                          \
        DS_HALF(8, join) for (int l = 0; l < 4; l++) four[l] = join(s[l], s[l + 4]);               \
    }                                                                                              \
    static void FN(name)(const T *a, const T *b, int64_t n, int64_t rows, T *restrict out)         \
    {                                                                                              \
        T s[4 * ROWS];                                                                             \
        poll look = {0};                                                                           \
        for (int64_t j = 0, w; j < rows && !poll_stops(&look, ROWS * (n < LONG ? n : LONG));       \
             j += w) {                                                                             \
            w = rows - j < ROWS ? rows - j : ROWS;                                                 \
            for (int64_t k = 0; n > 4 && k < w; k++)                                               \
                FN(name##_lanes)(a, b + (j + k) * n, n, s + 4 * k);                                \
            for (int64_t l = 0; n <= 4 && l < 4; l++) /* as above, but all other lanes are 0 */    \
                for (int64_t k = 0; k < w; k++) {                                                  \
                    T d = l < n ? a[l] - b[(j + k) * n + l] : 0;                                   \
                    s[4 * k + l] = join((T)0, each);                                               \
                }                                                                                  \
            for (int64_t k = 0; k < w; k++) {                                                      \
                T even = join(s[4 * k], s[4 * k + 2]), odd = join(s[4 * k + 1], s[4 * k + 3]);     \
                out[j + k] = end(join(even, odd));                                                 \
            }                                                                                      \
        }                                                                                          \
    }
#define DS_PAIRS_OF(name)                                                                          \
    static void FN(name##_pairs)(int64_t begin, int64_t end_, void *user)                          \
    {                                                                                              \
        const ds_job *job = user;                                                                  \
        const int64_t rows = job->rows, n = job->columns;                                          \
        const T *x = job->x;                                                                       \
        for (int64_t i = begin; i < end_; i++)                                                     \
            FN(name)                                                                               \
        (x + i * n, x + (i + 1) * n, n, rows - i - 1, (T *)job->out + i * rows - i * (i + 1) / 2); \
    }
#define DS_ROWS_OF(name)                                                                           \
    static void FN(name##_rows)(int64_t begin, int64_t end_, void *user)                           \
    {                                                                                              \
        const ds_job *job = user;                                                                  \
        const int64_t others = job->others, n = job->columns;                                      \
        for (int64_t i = begin; i < end_; i++)                                                     \
            FN(name)                                                                               \
        ((const T *)job->x + i * n, (const T *)job->y + i / job->rows * others * n, n, others,     \
         (T *)job->out + i * others);                                                              \
    }
DS_NORM(count, (d != d ? d : (T)(d != 0)), DS_ADD, )
DS_NORM(sum, ABS(d), DS_ADD, )
DS_NORM(squares, (d * d), DS_ADD, ROOT)
DS_NORM(most, ABS(d), DS_MORE, )
DS_NORM(greatest, ABS(d), DS_GREATER, )
DS_PAIRS_OF(count)
DS_PAIRS_OF(sum)
DS_PAIRS_OF(squares)
DS_PAIRS_OF(most)
DS_ROWS_OF(count)
DS_ROWS_OF(sum)
DS_ROWS_OF(squares)
DS_ROWS_OF(greatest)

#undef DS_ROWS_OF
#undef DS_PAIRS_OF
#undef DS_NORM
#undef DS_HALF
#undef DS_GREATER
#undef DS_MORE
#undef DS_ADD
#undef ROOT
#undef ABS
#undef FN
#undef T
#undef E
