/* loops/clip_grad.h -- template of the loops of clip_grad.h for elements of type T; E is the suffix
 * of T.  levels/clip_grad.c includes this header once per type.
 *
 * Element i of a block is added to lane i % LANES, in double; the lanes are added in pairs.  So the
 * sums are the same, bit for bit, at every vector level. */
#define FN(name) DP_ISA_PASTE(name, E)

/* Return the sum of f(v) over the elements v of x [n]; v is a double. */
#define SUM(f)                                                                                     \
    {                                                                                              \
        double lanes[LANES] = {0};                                                                 \
        int64_t i = 0;                                                                             \
        for (; n - i >= LANES; i += LANES)                                                         \
            for (int l = 0; l < LANES; l++) {                                                      \
                double v = (double)x[i + l];                                                       \
                lanes[l] += f;                                                                     \
            }                                                                                      \
        for (int l = 0; i < n; i++, l++) {                                                         \
            double v = (double)x[i];                                                               \
            lanes[l] += f;                                                                         \
        }                                                                                          \
        for (int half = LANES / 2; half > 0; half /= 2)                                            \
            for (int l = 0; l < half; l++)                                                         \
                lanes[l] += lanes[l + half];                                                       \
        return lanes[0];                                                                           \
    }

static double FN(sum_2)(int64_t n, const T *restrict x)
    SUM(v *v) static double FN(sum_1)(int64_t n, const T *restrict x)
        SUM(fabs(v)) static double FN(sum_0)(int64_t n, const T *restrict x)
            SUM(v != 0) static double FN(sum_p)(int64_t n, const T *restrict x, double p)
                SUM(pow(fabs(v), p))

                    static double FN(extreme)(int64_t n, const T *restrict x, bool most)
{
    T high = 0, low = (T)INFINITY;
    int nans = 0;

    for (int64_t i = 0; i < n; i++) {
        T v = x[i] < 0 ? -x[i] : x[i];
        high = v > high ? v : high;
        low = v < low ? v : low;
        nans |= v != v;
    }
    return nans ? NAN : (double)(most ? high : low);
}

static double FN(sum)(int kind, double p, int64_t n, const void *x)
{
    switch (kind) {
    case CLIP_COUNT:
        return FN(sum_0)(n, x);
    case CLIP_1:
        return FN(sum_1)(n, x);
    case CLIP_2:
        return FN(sum_2)(n, x);
    case CLIP_P:
        return FN(sum_p)(n, x, p);
    default:
        return FN(extreme)(n, x, kind == CLIP_MAX);
    }
}

static void FN(multiply)(int64_t n, void *data, double by)
{
    T *restrict x = data, factor = (T)by;

    for (int64_t i = 0; i < n; i++)
        x[i] *= factor;
}

static void FN(clamp)(int64_t n, void *data, double limit)
{
    T *restrict x = data, high = (T)limit, low = (T)-limit;

    for (int64_t i = 0; i < n; i++) {
        T v = x[i] < low ? low : x[i];
        v = v > high ? high : v;
        x[i] = high == high ? v : high; /* a limit of NaN makes every element NaN */
    }
}

static bool FN(unscale)(int64_t n, void *data, double by)
{
    T *restrict x = data, factor = (T)by;
    int infinite = 0;

    for (int64_t i = 0; i < n; i++) {
        infinite |= x[i] - x[i] != 0; /* of an infinity and of NaN, the difference is NaN */
        x[i] *= factor;
    }
    return infinite != 0;
}

#undef SUM
#undef FN
#undef T
#undef E
