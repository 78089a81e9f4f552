/* taps.h -- template of the tables of upsample.h: indices and weights, computed in type T as in
 * PyTorch; E is the suffix of the functions' names (aten/src/ATen/native/UpSample.h). */
#define US(name) US_PASTE(name, E)

/* Source: area_pixel_compute_scale */
static T US(scale)(const us_axis *u)
{
    if (u->align)
        return u->out > 1 ? (T)(u->in - 1) / (T)(u->out - 1) : 0;
    return u->scale > 0 ? (T)(1.0 / u->scale) : (T)u->in / (T)u->out;
}

/* Source: area_pixel_compute_source_index */
static T US(source)(const us_axis *u, T scale, int64_t o, bool cubic)
{
    if (u->align)
        return scale * (T)o;
    T place = scale * ((T)o + (T)0.5) - (T)0.5;
    return !cubic && place < 0 ? 0 : place;
}

/* Source: compute_source_index_and_lambda */
static void US(linear)(const us_axis *u, wn_axis *a)
{
    T scale = US(scale)(u), *w = a->taps.weights;

    for (int64_t o = 0; o < u->out; o++) {
        T place = u->in == u->out ? (T)o : US(source)(u, scale, o, false);
        int64_t first = u->in == u->out ? o : within((double)place, u->in);
        T part = u->in == u->out ? 0 : place - (T)first;
        a->taps.list[o] = (int32_t)first;
        a->taps.list[u->out + o] = (int32_t)(first + (u->in != u->out && first < u->in - 1));
        w[o] = 1 - part;
        w[u->out + o] = part;
    }
}

/* Set the taps of nearest neighbours, whose indices are rounded in float32.  Source:
 * HelperInterpNearest, HelperInterpNearestExact. */
static void US(nearest)(const us_axis *u, bool exact, wn_axis *a)
{
    T scale = US(scale)(u);

    for (int64_t o = 0; o < u->out; o++) {
        float place =
            exact ? (float)((double)US(source)(u, scale, o, false) + 0.5) : (float)(scale * (T)o);
        a->taps.list[o] = (int32_t)within((double)floorf(place), u->in);
    }
}

static T US(near)(T x, T A) /* source: cubic_convolution1 */
{
    return ((A + 2) * x - (A + 3)) * x * x + 1;
}
static T US(far)(T x, T A) /* source: cubic_convolution2 */
{
    return ((A * x - 5 * A) * x + 8 * A) * x - 4 * A;
}

/* Source: get_cubic_upsample_coefficients */
static void US(cubic)(const us_axis *u, wn_axis *a)
{
    const T A = (T)-0.75;
    T scale = US(scale)(u);

    for (int64_t o = 0; o < u->out; o++) {
        T place = US(source)(u, scale, o, true), first = (T)floor((double)place), t = place - first;
        T *w = (T *)a->taps.weights + o;
        w[0] = US(far)(t + 1, A);
        w[u->out] = US(near)(t, A);
        w[2 * u->out] = US(near)(1 - t, A);
        w[3 * u->out] = US(far)(1 - t + 1, A);
        for (int k = 0; k < 4; k++)
            a->taps.list[k * u->out + o] = (int32_t)within((double)first + k - 1, u->in);
    }
}

/* Source: aa_filter of HelperInterpLinear, of HelperInterpCubic */
static T US(filter)(T x, bool cubic)
{
    const double A = -0.5;

    x = x < 0 ? -x : x;
    if (!cubic)
        return x < 1 ? (T)(1.0 - (double)x) : 0;
    if (x < 1)
        return (T)(((A + 2) * (double)x - (A + 3)) * (double)x * (double)x + 1);
    return x < 2 ? (T)(((((double)x - 5) * (double)x + 8) * (double)x - 4) * A) : 0;
}

/* Source: interp_size of HelperInterpBase::_compute_weights_aa */
static T US(support)(T scale, bool cubic)
{
    return (cubic ? 2 : 1) * (scale >= 1 ? scale : 1);
}

/* Return an upper bound of the number of taps of an element. */
static double US(most)(const us_axis *u, bool cubic)
{
    double n = 2 * ceil((double)US(support)(US(scale)(u), cubic)) + 1;
    return n < (double)u->in ? n : (double)u->in;
}

/* Find the *n input elements, from index *low on, on which element `o` of the result depends.
 * Source: _compute_weights_aa. */
static void US(span)(const us_axis *u, T scale, int64_t o, bool cubic, T *center, int64_t *low,
                     int64_t *n)
{
    T support = US(support)(scale, cubic);

    *center = (T)((double)scale * ((double)o + 0.5));
    *low = bounded((double)(*center - support) + 0.5, u->in);
    *n = bounded((double)(*center + support) + 0.5, u->in) - *low;
    *n = *n > 0 ? *n : 0;
}

/* Set the taps of antialiased upsampling; there is memory for `most` taps per element. */
static void US(smooth)(const us_axis *u, bool cubic, int64_t most, wn_axis *a)
{
    T scale = US(scale)(u), inverse = scale >= 1 ? (T)(1.0 / (double)scale) : 1, center;
    int64_t low, n, at = 0;

    for (int64_t o = 0; o < u->out; o++, at += n) {
        T total = 0, *w = (T *)a->taps.weights + at;
        US(span)(u, scale, o, cubic, &center, &low, &n);
        n = n < most ? n : most; /* at large indices, rounding may give more */
        a->begin[o] = at;
        a->count[o] = n;
        for (int64_t j = 0; j < n; j++) {
            a->taps.list[at + j] = (int32_t)(low + j);
            w[j] =
                US(filter)((T)(((double)((T)(j + low) - center) + 0.5) * (double)inverse), cubic);
            total += w[j];
        }
        for (int64_t j = 0; j < n && total != 0; j++)
            w[j] /= total;
    }
}

static int US(make)(dp_ctx *ctx, int mode, const us_axis *u, wn_axis *a)
{
    bool cubic = mode == US_CUBIC || mode == US_CUBIC_AA,
         even = mode == US_LINEAR || mode == US_CUBIC;
    double each = !even ? US(most)(u, cubic) : cubic ? 4 : 2, taps = each * (double)u->out;

    if (taps > (double)TAPS_MAX)
        return dp_fail(ctx, DP_ERESOURCE,
                       "resampling %" PRId64 " to %" PRId64 " places in %g steps", u->in, u->out,
                       taps);
    int rc = wn_taps(ctx, a, u->in, u->out, (int64_t)taps, sizeof(T));
    if (rc == 0 && even)
        a->taps.hop = u->out;
    for (int64_t o = 0; rc == 0 && even && o < u->out; o++) {
        a->begin[o] = o;
        a->count[o] = (int64_t)each;
    }
    if (rc == 0 && mode == US_LINEAR)
        US(linear)(u, a);
    else if (rc == 0 && mode == US_CUBIC)
        US(cubic)(u, a);
    else if (rc == 0)
        US(smooth)(u, cubic, (int64_t)each, a);
    return rc;
}
#undef US
#undef T
#undef E
