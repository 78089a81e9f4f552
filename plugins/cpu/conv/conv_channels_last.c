/* conv_channels_last.c -- convolutions, and gradients by the input, of tensors in channels-last
 * order.
 *
 * Inputs and results have their channels side by side.  A tile has the sums of some results, at any
 * positions, for some vectors of output channels.  For each result and tap there is the address of
 * the input's channels, or of zeros where the tap (conv.h) is outside the input.  So only the
 * weights are copied. */
#include "conv_walk.h"
#include <string.h>

enum {
    TAPS = 256, /* greatest number of taps */
    DEPTH_BYTES =
        /* bytes of weights of one output channel that are multiplied at a time, so that they stay
         * in a cache */
    512,
    TILES = 16,              /* greatest number of tiles of an item of work */
    PLACES_BYTES = 16 << 10, /* greatest number of bytes of the addresses of an item */
    ITEMS = 32               /* number of items below which items have fewer tiles */
};

typedef struct pixels {
    const conv_walk *w;
    /* number of results of all samples; distance of neighbouring results in the output */
    int64_t results, step;
    int64_t taps, width, panels; /* taps; output channels of a panel; panels */
    int64_t tiles, items;        /* tiles of an item; items of a group */
    char *b;                     /* packed weights, ordered by group, panel, tap and channel */
    const char *zeros;
} pixels;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Return the distance of neighbouring results in the output if it is the same for all results, else
 * 0. */
static int64_t result_step(const conv_walk *w)
{
    const conv_axis *a = w->planes.axis;
    const int64_t size[] = {a[2].count, a[1].count, a[0].count, w->op.n};
    const int64_t stride[] = {w->op.to.at[2], w->op.to.at[1], w->op.to.at[0], w->op.to.outer};
    int64_t step = 0, next = 0;

    for (int i = 0; i < CONV_SPACE + 1; i++) {
        if (size[i] == 1)
            continue;
        if (step != 0 && stride[i] != next)
            return 0;
        step = step != 0 ? step : stride[i];
        next = stride[i] * size[i];
    }
    return step != 0 ? step : w->op.groups * w->op.out_channels;
}

bool conv_is_of_pixels(const conv_walk *w)
{
    enum { LEAST = 8 }; /* least number of input channels for which this method is used */
    bool whole = w->op.stride[0] == 1 && w->op.stride[1] == 1 && w->op.stride[2] == 1;

    return whole && !w->op.separate_taps && w->loops.class->tile_of_places != NULL &&
           w->planes.from.channel == 1 && w->op.to.channel == 1 &&
           w->loops.packing->bytes == w->loops.class->bytes && w->op.in_channels >= LEAST &&
           w->op.out_channels >= w->loops.class->lanes / CONV_VECTORS && w->packed.k > 0 &&
           w->packed.k / w->op.in_channels <= TAPS &&
           result_step(w) >= w->op.groups * w->op.out_channels;
}

/* -- weights -- */

static int64_t panel_lanes(const pixels *p, int64_t panel)
{
    return least(p->w->op.out_channels - panel * p->width, p->width);
}

/* Return panel_lanes(), rounded up to whole vectors. */
static int64_t panel_width(const pixels *p, int64_t panel)
{
    int64_t vector = p->w->loops.class->lanes / CONV_VECTORS;
    return (panel_lanes(p, panel) + vector - 1) / vector * vector;
}

static char *panel_of(const pixels *p, int64_t group, int64_t panel)
{
    return p->b +
           (group * p->panels + panel) * p->w->packed.k * p->width * p->w->loops.class->bytes;
}

static void pack_panels(int64_t begin, int64_t end, void *user)
{
    const pixels *p = user;
    const conv_walk *w = p->w;
    int64_t bytes = w->loops.class->bytes;

    for (int64_t i = begin; i < end; i++) {
        int64_t group = i / p->panels, panel = i % p->panels, width = panel_width(p, panel);
        char *to = panel_of(p, group, panel);
        if (width > panel_lanes(p, panel))
            dp_zero_n(to, dp_size_times(w->packed.k, width), (size_t)bytes);
        for (int64_t t = 0; t < p->taps; t++)
            w->loops.dtype->widen(to + t * w->op.in_channels * width * bytes, width,
                                  w->op.weights.data + (group * w->op.group_step +
                                                        panel * p->width * w->op.weights.outer +
                                                        conv_weight_at(w, t)) *
                                                           bytes,
                                  w->op.weights.channel, w->op.weights.outer, w->op.in_channels,
                                  panel_lanes(p, panel));
    }
}

/* -- results -- */

/* Set places [taps], with stride `rows`, to the addresses of the channels that the taps of result
 * `q` read, or of zeros. */
static void find_places(const pixels *p, const char *sample, const int64_t q[CONV_SPACE],
                        const void **places)
{
    const conv_walk *w = p->w;
    const conv_axis *a = w->planes.axis;
    const conv_side *f = &w->planes.from;
    int64_t at[CONV_SPACE];

    for (int64_t i = 0; i < a[0].taps; i++)
        for (int64_t j = 0; j < a[1].taps; j++)
            for (int64_t k = 0; k < a[2].taps; k++, places += w->loops.class->rows) {
                at[0] = q[0] * a[0].step + a[0].off[i];
                at[1] = q[1] * a[1].step + a[1].off[j];
                at[2] = q[2] * a[2].step + a[2].off[k];
                bool met = at[0] >= 0 && at[0] < a[0].in && at[1] >= 0 && at[1] < a[1].in &&
                           at[2] >= 0 && at[2] < a[2].in;
                int64_t place = at[0] * f->at[0] + at[1] * f->at[1] + at[2] * f->at[2];
                *places = met ? sample + place * w->loops.class->bytes : p->zeros;
            }
}

/* Set the addresses of the taps of results [first, first + n).  If the last tile has fewer results
 * than rows, repeat the last result. */
static void find_all_places(const pixels *p, int64_t group, int64_t first, int64_t n,
                            const void **places)
{
    const conv_walk *w = p->w;
    const conv_axis *a = w->planes.axis;
    int64_t rows = w->loops.class->rows, bytes = w->loops.class->bytes;

    for (int64_t i = 0; i < (n + rows - 1) / rows * rows; i++) {
        int64_t r = first + least(i, n - 1), image = r / a[2].count / a[1].count;
        int64_t q[] = {image % a[0].count, r / a[2].count % a[1].count, r % a[2].count};
        const char *sample =
            w->planes.from.data +
            (image / a[0].count * w->planes.from.outer + group * w->op.in_channels) * bytes;
        find_places(p, sample, q, places + i / rows * p->taps * rows + i % rows);
    }
}

/* a part of the summands: some taps with all their channels, or some channels of one tap */
typedef struct part {
    int64_t tap, taps, channel, channels;
} part;

static part next_part(const pixels *p, const part *last)
{
    int64_t deep = DEPTH_BYTES / p->w->loops.class->bytes, channels = p->w->op.in_channels;
    part n = {last->tap + last->taps, 0, 0, channels};

    if (last->channel + last->channels < channels && last->taps > 0)
        n.tap = last->tap, n.channel = last->channel + last->channels;
    n.channels = least(channels - n.channel, deep);
    n.taps = channels > deep ? 1 : least(p->taps - n.tap, deep / channels);
    return n;
}

static void multiply(const pixels *p, int64_t group, int64_t first, int64_t n, const part *k,
                     const void *const *places)
{
    const conv_walk *w = p->w;
    int64_t rows = w->loops.class->rows, bytes = w->loops.class->bytes;

    for (int64_t j = 0; j < p->panels; j++) {
        int64_t c = group * w->op.out_channels + j * p->width;
        const char *b = panel_of(p, group, j) +
                        (k->tap * w->op.in_channels + k->channel) * panel_width(p, j) * bytes;
        conv_tile t = {.c_row = p->step, .lanes = (int)panel_lanes(p, j)};

        t.fresh = k->tap == 0 && k->channel == 0;
        if (w->op.bias && t.fresh)
            t.bias = w->op.bias + c * bytes;
        for (int64_t i = 0; i < n; i += rows) {
            t.c = w->op.to.data + ((first + i) * p->step + c) * bytes;
            t.rows = (int)least(n - i, rows);
            w->loops.class->tile_of_places(k->taps, k->channel, k->channels,
                                           places + (i * p->taps) + k->tap * rows, b, &t);
        }
    }
}

static void run_item(const void *user, int64_t item, char *room, bool fresh)
{
    const pixels *p = user;
    int64_t group = item / p->items, each = p->tiles * p->w->loops.class->rows;
    int64_t first = item % p->items * each, n = least(p->results - first, each);
    const void **places = (const void **)room;

    (void)fresh;
    find_all_places(p, group, first, n, places);
    for (part k = next_part(p, &(part){0}); k.tap < p->taps; k = next_part(p, &k))
        multiply(p, group, first, n, &k, places);
}

/* -- the whole convolution -- */

static void choose_sizes(pixels *p)
{
    const conv_walk *w = p->w;
    const conv_axis *a = w->planes.axis;
    int64_t vector = w->loops.class->lanes / CONV_VECTORS, rows = w->loops.class->rows;
    int64_t vectors = (w->op.out_channels + vector - 1) / vector, all;

    p->results = w->op.n * a[0].count * a[1].count * a[2].count;
    p->step = result_step(w);
    p->taps = w->packed.k / w->op.in_channels;
    p->panels = (vectors + CONV_VECTORS - 1) / CONV_VECTORS;
    p->width = (vectors + p->panels - 1) / p->panels * vector;
    p->panels = (w->op.out_channels + p->width - 1) / p->width;
    all = (p->results + rows - 1) / rows;
    p->tiles = least(TILES, PLACES_BYTES / (p->taps * rows * (int64_t)sizeof(void *)));
    p->tiles = least(p->tiles, all * w->op.groups / ITEMS);
    p->tiles = p->tiles > 0 ? p->tiles : 1;
    p->items = (all + p->tiles - 1) / p->tiles;
}

int conv_run_of_pixels(dp_ctx *ctx, const conv_walk *w)
{
    enum { WORTHWHILE = 1 << 15 };
    pixels p = {.w = w};
    conv_rooms rooms;
    int64_t bytes = w->loops.class->bytes;

    choose_sizes(&p);
    int64_t size[] = {w->op.groups, p.panels, w->packed.k, p.width};
    char *zeros = dp_alloc_n(ctx, (size_t)w->op.in_channels, (size_t)bytes);
    p.b = dp_alloc(ctx, dp_sizes_product((uint64_t)bytes, size, 4));
    if (zeros == NULL || p.b == NULL)
        return DP_ERESOURCE;
    dp_zero_n(zeros, (size_t)w->op.in_channels, (size_t)bytes);
    p.zeros = zeros;
    int rc = conv_rooms_init(ctx, &rooms,
                             (size_t)(p.tiles * p.taps * w->loops.class->rows) * sizeof(void *));
    if (rc == 0)
        rc = dp_parallel_for(ctx, 0, w->op.groups * p.panels,
                             WORTHWHILE / (p.width * w->packed.k + 1) + 1, pack_panels, &p);
    return rc < 0 ? rc : conv_each(ctx, &rooms, p.items * w->op.groups, run_item, &p);
}
