/* conv_weight.c -- the gradient of a convolution by its weights: products of panels of y's output
 * channels with the elements of x that the taps read (conv.h explains taps and planes).
 *
 * Channels lie side by side in the planes.  One vector has the channels that a tap reads for one
 * result, so nothing has to be gathered: a row of results adds one product per result.  A unit is a
 * vector of channels and a tap.  A tile has the sums of some output channels for CONV_VECTORS
 * units; the sums stay in the tile until the last sample. */
#include "conv_walk.h"
#include <string.h>

typedef struct grads {
    const conv_class *class;
    const gemm_dtype *packing;
    const conv_dtype *dtype;
    const conv_shape *s;
    conv_planes planes;
    conv_side y, w;
    int64_t taps, vector;          /* number of taps; channels in one vector */
    int64_t per_tap, units, tiles; /* vectors of a tap; units, and tiles of units, of a group */
    /* panels of a group; rows of results in memory; results of a row */
    int64_t panels, rows, row;
    char *a, *sums; /* elements of y, packed to panels; sums of all tiles */
    int64_t first, samples;
    bool fresh;
} grads;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Pack row r of the results in memory, for all panels. */
static void pack_rows(int64_t begin, int64_t end, void *user)
{
    const grads *g = user;
    const conv_axis *axis = g->planes.axis;
    int64_t rows = g->class->rows, bytes = g->packing->bytes;

    for (int64_t i = begin; i < end; i++) {
        int64_t r = i % g->rows, h = r % axis[1].count, d = r / axis[1].count;
        int64_t p = i / g->rows % g->panels, group = i / g->rows / g->panels;
        const char *from = g->y.data + ((g->first + d / axis[0].count) * g->y.outer +
                                        (group * g->s->out_channels + p * rows) * g->y.channel +
                                        d % axis[0].count * g->y.at[0] + h * g->y.at[1]) *
                                           bytes;
        g->packing->pack(g->a + i * g->row * rows * g->class->bytes, (int)rows,
                         least(g->s->out_channels - p * rows, rows), g->row, from, g->y.channel,
                         g->y.at[2]);
    }
}

/* Return the offset in the planes of the elements that unit `u` reads for the first result of a
 * row. */
static int64_t unit_place(const grads *g, int64_t u)
{
    const conv_planes *p = &g->planes;
    int64_t t = least(u, g->units - 1) / g->per_tap, part = least(u, g->units - 1) % g->per_tap;
    int64_t t2 = t % p->axis[2].taps, t1 = t / p->axis[2].taps % p->axis[1].taps;
    int64_t t0 = t / p->axis[2].taps / p->axis[1].taps;

    return conv_place(&p->axis[0], t0) * p->at[0] + conv_place(&p->axis[1], t1) * p->at[1] +
           conv_place(&p->axis[2], t2) * p->at[2] + part * g->vector;
}

static int64_t tile_bytes(const grads *g)
{
    return g->class->rows * g->class->lanes * g->class->bytes;
}

/* Add up one tile of units of a group, for all panels of the group, over all rows in memory. */
static void run_tile(const void *user, int64_t item, char *room, bool fresh)
{
    const grads *g = user;
    const conv_planes *p = &g->planes;
    int64_t group = item / g->tiles, bytes = g->class->bytes, rows = g->class->rows;
    int64_t first = item % g->tiles * CONV_VECTORS, place[CONV_VECTORS];
    int64_t step = p->axis[2].pace * p->at[2];

    (void)room, (void)fresh;
    for (int v = 0; v < CONV_VECTORS; v++)
        place[v] = unit_place(g, first + v);
    for (int64_t r = 0; r < g->rows; r++) {
        const char *at = p->data + (group * p->channel + conv_planes_row(p, r)) * bytes;
        const void *const b[] = {at + place[0] * bytes, at + place[1] * bytes,
                                 at + place[2] * bytes};
        for (int64_t i = 0; i < g->panels; i++) {
            const conv_tile t = {g->sums + (item * g->panels + i) * tile_bytes(g),
                                 g->class->lanes,
                                 (int)rows,
                                 g->class->lanes,
                                 NULL,
                                 g->fresh && r == 0};
            g->class->tile(g->row,
                           g->a + ((group * g->panels + i) * g->rows + r) * g->row * rows * bytes,
                           b, step, &t);
        }
    }
}

/* Write the sums of a tile of units to w. */
static void put_tile(const grads *g, int64_t item)
{
    int64_t group = item / g->tiles, bytes = g->packing->bytes, rows = g->class->rows;

    for (int v = 0; v < CONV_VECTORS; v++) {
        int64_t u = item % g->tiles * CONV_VECTORS + v, t = u / g->per_tap;
        int64_t c = u % g->per_tap * g->vector, k2 = g->s->kernel[2], k1 = g->s->kernel[1];
        int64_t at = c * g->w.channel + t / k2 / k1 * g->w.at[0] + t / k2 % k1 * g->w.at[1] +
                     t % k2 * g->w.at[2];
        for (int64_t i = 0; u < g->units && i < g->panels; i++) {
            int64_t o = group * g->s->out_channels + i * rows;
            g->dtype->narrow(g->w.data + (at + o * g->w.outer) * bytes, g->w.outer, g->w.channel,
                             g->sums + (item * g->panels + i) * tile_bytes(g) +
                                 v * g->vector * g->class->bytes,
                             g->class->lanes, least(g->s->out_channels - i * rows, rows),
                             least(g->s->in_channels - c, g->vector));
        }
    }
}

static void put_tiles(int64_t begin, int64_t end, void *user)
{
    for (int64_t i = begin; i < end; i++)
        put_tile(user, i);
}

static int set_planes(dp_ctx *ctx, grads *g, const conv_side *x)
{
    const conv_shape *s = g->s;
    conv_planes *p = &g->planes;

    p->dtype = g->dtype;
    p->from = *x;
    p->bytes = g->packing->bytes, p->class_bytes = g->class->bytes;
    p->channels = s->groups * s->in_channels, p->per_group = s->in_channels;
    p->channels_inside = true;
    p->width = g->per_tap * g->vector;
    for (int i = 0; i < CONV_SPACE; i++) {
        conv_axis *a = &p->axis[i];
        a->in = s->in[i], a->count = s->out[i], a->step = s->stride[i], a->taps = s->kernel[i];
        a->off = dp_alloc(ctx, dp_sizes_product(sizeof(int64_t), &s->kernel[i], 1));
        if (a->off == NULL)
            return DP_ERESOURCE;
        for (int64_t t = 0; t < a->taps; t++)
            a->off[t] = t * s->dilation[i] - s->padding[i];
    }
    return conv_planes_init(ctx, p, s->n, g->class->lanes, false);
}

/* Allocate the panels of y for the samples in memory, and all sums. */
static int make_room(dp_ctx *ctx, grads *g)
{
    const conv_shape *s = g->s;
    int64_t a[] = {s->groups, g->panels, g->class->rows, g->planes.samples,
                   s->out[0], s->out[1], g->row};
    int64_t sums[] = {s->groups, g->tiles, g->panels, tile_bytes(g)};

    g->a = dp_alloc(ctx, dp_sizes_product((uint64_t)g->class->bytes, a, 7));
    g->sums = dp_alloc(ctx, dp_sizes_product(1, sums, 4));
    return g->a && g->sums ? 0 : DP_ERESOURCE;
}

static int run_samples(dp_ctx *ctx, grads *g, const conv_rooms *rooms)
{
    const conv_shape *s = g->s;

    g->samples = least(s->n - g->first, g->planes.samples);
    g->rows = g->samples * s->out[0] * s->out[1];
    g->fresh = g->first == 0;
    int rc = conv_planes_fill(ctx, &g->planes, g->first, g->samples);
    if (rc == 0)
        rc = dp_parallel_for(ctx, 0, s->groups * g->panels * g->rows, 16, pack_rows, g);
    return rc < 0 ? rc : conv_each(ctx, rooms, s->groups * g->tiles, run_tile, g);
}

int conv_weight(dp_ctx *ctx, dp_dtype dtype, const conv_shape *s, const conv_side *x,
                const conv_side *y, const conv_side *w)
{
    const gemm_dtype *packing = &CPU_CHOSEN(gemm_dtypes)[dtype];
    grads g = {.class = &CPU_CHOSEN(conv_classes)[packing->class],
               .packing = packing,
               .dtype = &CPU_CHOSEN(conv_dtypes)[dtype],
               .s = s,
               .y = *y,
               .w = *w,
               .row = s->out[2]};
    conv_rooms rooms;

    if (s->in_channels == 1 && s->out_channels == 1)
        return conv_weight_thin(ctx, dtype, s, x, y, w);
    g.taps = s->kernel[0] * s->kernel[1] * s->kernel[2];
    g.vector = g.class->lanes / CONV_VECTORS;
    g.per_tap = (s->in_channels + g.vector - 1) / g.vector;
    g.units = g.taps * g.per_tap;
    g.tiles = (g.units + CONV_VECTORS - 1) / CONV_VECTORS;
    g.panels = (s->out_channels + g.class->rows - 1) / g.class->rows;
    int rc = set_planes(ctx, &g, x);
    if (rc == 0)
        rc = make_room(ctx, &g);
    if (rc == 0)
        rc = conv_rooms_init(ctx, &rooms, 0);
    for (; rc == 0 && g.first < s->n; g.first += g.planes.samples)
        rc = run_samples(ctx, &g, &rooms);
    return rc < 0 ? rc : dp_parallel_for(ctx, 0, s->groups * g.tiles, 1, put_tiles, &g);
}
