/* conv_pack.c -- packing of a convolution's weights to panels of output channels, and the offset of
 * each k = (channel, tap) in the planes.  conv.h explains taps and planes. */
#include "conv_walk.h"

/* Test whether the taps of a channel are contiguous in the weight, and the walk uses all of them in
 * order. */
static bool dense_taps(const conv_walk *w, int64_t taps)
{
    const conv_axis *a = w->planes.axis;

    return taps > 0 && (a[2].taps == 1 || w->op.weights.at[2] == 1) &&
           (a[1].taps == 1 || w->op.weights.at[1] == a[2].taps) &&
           (a[0].taps == 1 || w->op.weights.at[0] == a[1].taps * a[2].taps) &&
           conv_weight_at(w, 0) == 0 && conv_weight_at(w, taps - 1) == taps - 1;
}

/* Pack `n` rows of weights of `lines` output channels, `step` apart, to every `next`-th row from
 * `to` on. */
static void pack_rows(const conv_walk *w, char *to, int64_t next, const char *from, int64_t lines,
                      int64_t n, int64_t step)
{
    int64_t rows = w->loops.class->rows, bytes = rows * w->loops.class->bytes;

    if (lines == rows && w->loops.packing->bytes == w->loops.class->bytes && step == 1)
        w->loops.dtype->narrow(to, 1, next * rows, from, w->op.weights.outer, rows, n);
    else if (next == 1)
        w->loops.packing->pack(to, (int)rows, lines, n, from, w->op.weights.outer, step);
    else
        for (int64_t i = 0; i < n; i++)
            w->loops.packing->pack(to + i * next * bytes, (int)rows, lines, 1,
                                   from + i * step * w->loops.packing->bytes, w->op.weights.outer,
                                   0);
}

/* Pack all k rows of a panel. */
static void pack_panel(const conv_walk *w, char *to, const char *from, int64_t lines)
{
    int64_t taps = w->packed.k / w->op.in_channels, bytes = w->loops.packing->bytes;
    int64_t row = w->loops.class->rows * w->loops.class->bytes;
    int64_t tap = w->op.by_channel ? 1 : w->op.in_channels, channel = w->op.by_channel ? taps : 1;

    if (dense_taps(w, taps) && w->op.by_channel && w->op.weights.channel == taps)
        pack_rows(w, to, 1, from, lines, w->packed.k, 1);
    else if (dense_taps(w, taps))
        for (int64_t c = 0; c < w->op.in_channels; c++)
            pack_rows(w, to + c * channel * row, tap, from + c * w->op.weights.channel * bytes,
                      lines, taps, 1);
    else
        for (int64_t t = 0; t < taps; t++)
            pack_rows(w, to + t * tap * row, channel, from + conv_weight_at(w, t) * bytes, lines,
                      w->op.in_channels, w->op.weights.channel);
}

static void pack_panels(int64_t begin, int64_t end, void *user)
{
    const conv_walk *w = user;
    int rows = w->loops.class->rows;

    for (int64_t i = begin; i < end; i++) {
        int64_t first = i % w->packed.panels * rows,
                lines = conv_least(w->op.out_channels - first, rows);
        const char *from = w->op.weights.data +
                           (i / w->packed.panels * w->op.group_step + first * w->op.weights.outer) *
                               w->loops.packing->bytes;
        char *to = w->packed.data + i * rows * w->packed.k * w->loops.class->bytes;
        pack_panel(w, to, from, lines);
    }
}

/* Set the offset in the planes of each k = (channel, tap), relative to a group's first channel. */
static void list_offsets(conv_walk *w)
{
    const conv_planes *p = &w->planes;
    const conv_axis *a = p->axis;
    int64_t taps = w->packed.k / w->op.in_channels;

    for (int64_t t = 0; t < taps; t++) {
        int64_t at = conv_place(&a[2], t % a[2].taps) * p->at[2] +
                     conv_place(&a[1], t / a[2].taps % a[1].taps) * p->at[1] +
                     conv_place(&a[0], t / a[2].taps / a[1].taps) * p->at[0];
        for (int64_t c = 0; c < w->op.in_channels; c++)
            w->packed.offsets[w->op.by_channel ? c * taps + t : t * w->op.in_channels + c] =
                c * p->channel + at;
    }
}

int conv_pack_weights(dp_ctx *ctx, conv_walk *w)
{
    enum { WORTHWHILE = 1 << 15 };
    int64_t rows = w->loops.class->rows, size[] = {w->op.groups, 0, rows, w->packed.k};

    size[1] = w->packed.panels = (w->op.out_channels + rows - 1) / rows;
    w->packed.data = dp_alloc(ctx, dp_sizes_product((uint64_t)w->loops.class->bytes, size, 4));
    w->packed.offsets =
        dp_alloc(ctx, dp_sizes_product(sizeof(*w->packed.offsets), &w->packed.k, 1));
    if (w->packed.data == NULL || w->packed.offsets == NULL)
        return DP_ERESOURCE;
    list_offsets(w);
    return dp_parallel_for(ctx, 0, w->op.groups * w->packed.panels,
                           WORTHWHILE / (rows * w->packed.k + 1) + 1, pack_panels, w);
}
