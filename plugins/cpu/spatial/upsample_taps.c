/* upsample_taps.c -- the tables of resampling: loops/taps.h compiled for float32 and float64, and
 * tables for nearest neighbours. */
#include "upsample.h"

#define US_PASTE_(name, end) us_##name##_##end
#define US_PASTE(name, end)  US_PASTE_(name, end)

/* greatest number of taps of a table; longer tables are refused before memory is allocated */
static const int64_t TAPS_MAX = (int64_t)1 << 34;

/* Truncate `v` to an integer in [0, n]; NaN becomes 0. */
static int64_t bounded(double v, int64_t n)
{
    return !(v > 0) ? 0 : v >= (double)n ? n : (int64_t)v;
}

/* Truncate `v` to an integer in [0, n).  It is outside only if the scale does not fit the sizes. */
static int64_t within(double v, int64_t n)
{
    int64_t at = bounded(v, n);
    return at < n ? at : n - 1;
}

#define T float
#define E f32
#include "spatial/loops/taps.h"
#define T double
#define E f64
#include "spatial/loops/taps.h"

/* Set the taps of nearest neighbours as PyTorch does for channels_last tensors and in gradients.
 * Source: nearest_idx, nearest_exact_idx. */
static void nearest_index(const us_axis *u, bool exact, wn_axis *a)
{
    float scale = us_scale_f32(u);

    for (int64_t o = 0; o < u->out; o++) {
        int64_t place = o;
        if (exact)
            place = within((double)floorf((float)(((double)o + 0.5) * (double)scale)), u->in);
        else if (u->out == 2 * u->in)
            place = o >> 1;
        else if (u->out != u->in)
            place = within((double)floorf((float)o * scale), u->in);
        a->taps.list[o] = (int32_t)place;
    }
}

static int nearest(dp_ctx *ctx, bool exact, const us_axis *u, wn_axis *a)
{
    int rc = wn_places(ctx, a, u->in, u->out);

    if (rc < 0)
        return rc;
    if (u->by_index)
        nearest_index(u, exact, a);
    else if (u->wide)
        us_nearest_f64(u, exact, a);
    else
        us_nearest_f32(u, exact, a);
    return 0;
}

int us_make(dp_ctx *ctx, int mode, const us_axis *u, wn_axis *a)
{
    if (mode == US_NEAREST || mode == US_EXACT)
        return nearest(ctx, mode == US_EXACT, u, a);
    return u->wide ? us_make_f64(ctx, mode, u, a) : us_make_f32(ctx, mode, u, a);
}
