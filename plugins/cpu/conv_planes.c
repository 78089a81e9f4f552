/* conv_planes.c -- what a convolution reads: samples with zeros around them, in the class of their dtype. */
#include "conv.h"
#include <stdatomic.h>
#include <string.h>

enum {
    PLANES_BYTES = 4 << 20, /* of samples at hand at the same time; a single one may exceed it */
    SLOTS = 32,             /* workers with memory of their own */
    CHANNELS = 16           /* that are copied together */
};

/* What is copied along an axis, in one piece or by tap: n elements from `src` on, `step` apart, to `at`. */
typedef struct piece {
    int64_t at, src, n, step;
} piece;

static int64_t pieces(const conv_axis *a)
{
    return a->by_tap ? a->taps : 1;
}

static piece nth_piece(const conv_axis *a, int64_t t)
{
    piece p = {0, 0, 0, 1};

    if (!a->by_tap) {
        int64_t end = a->in - a->low < a->extent ? a->in - a->low : a->extent;
        p.at = a->low < 0 ? -a->low : 0;
        p.src = p.at + a->low;
        p.n = end > p.at ? end - p.at : 0;
        return p;
    }
    int64_t off = a->off[t], q = off < 0 ? (a->step - 1 - off) / a->step : 0;
    int64_t end = off < a->in ? (a->in - 1 - off) / a->step + 1 : 0;
    end = end < a->count ? end : a->count;
    p.at = t * a->count + q;
    p.src = q * a->step + off;
    p.step = a->step;
    p.n = end > q ? end - q : 0;
    return p;
}

/* low, extent and by_tap.  DP_ERESOURCE: numbers too large to be added. */
static int choose_extent(dp_ctx *ctx, conv_axis *a, bool dense)
{
    int64_t high = 0, all, last;
    bool huge = false;

    for (int64_t t = 0; t < a->taps; t++) {
        a->low = t == 0 || a->off[t] < a->low ? a->off[t] : a->low;
        high = t == 0 || a->off[t] > high ? a->off[t] : high;
    }
    huge |= __builtin_mul_overflow(a->count > 0 ? a->count - 1 : 0, a->step, &last);
    huge |= __builtin_add_overflow(last, high, &last);
    huge |= __builtin_sub_overflow(last, a->low, &last);
    huge |= __builtin_add_overflow(last, 1, &a->extent);
    huge |= __builtin_mul_overflow(a->taps, a->count, &all);
    if (huge)
        return dp_fail(ctx, DP_ERESOURCE,
                       "a convolution whose taps are from %lld to %lld elements away",
                       (long long)a->low, (long long)high);
    a->by_tap = all < a->extent || (dense && a->step != 1);
    if (a->by_tap)
        a->extent = all;
    return 0;
}

/* Can the samples be read where they lie?  Then nothing is outside of them, and columns are dense. */
static bool can_lend(const conv_planes *p)
{
    for (int s = 0; s < CONV_SPACE; s++) {
        const conv_axis *a = &p->axis[s];
        if (a->taps == 0 || a->by_tap || a->low < 0 || a->low + a->extent > a->in)
            return false;
    }
    return !p->channels_inside && p->bytes == p->class_bytes && p->from.at[2] == 1;
}

static void lend(conv_planes *p)
{
    p->data = p->from.data;
    p->sample = p->from.outer;
    p->channel = p->from.channel;
    for (int s = 0; s < CONV_SPACE; s++) {
        p->at[s] = p->from.at[s];
        p->data += p->axis[s].low * p->at[s] * p->bytes;
    }
}

/* So many bytes or more: an odd number of cache lines, so that channels are not all in one part of a cache. */
static int64_t odd_lines(int64_t bytes)
{
    enum { LINE = 64 };
    return ((bytes + LINE - 1) / LINE | 1) * LINE;
}

int conv_planes_init(dp_ctx *ctx, conv_planes *p, int64_t n, int64_t slack, bool may_lend)
{
    int64_t each = p->channels_inside ? p->width : 1, size[] = {each, 0, 0, 0, 0};
    int64_t groups = p->channels / p->per_group;

    for (int s = 0; s < CONV_SPACE; s++) {
        int rc = choose_extent(ctx, &p->axis[s], !p->channels_inside && s == CONV_SPACE - 1);
        if (rc < 0)
            return rc;
        size[1 + s] = p->axis[s].extent;
    }
    size[4] = p->channels_inside ? groups : p->channels;
    uint64_t bytes = dp_sizes_product((uint64_t)p->class_bytes, size, 5);
    const int64_t fit = bytes < PLANES_BYTES ? (int64_t)(PLANES_BYTES / (bytes + 1)) : 1;
    p->samples = n < fit ? n : fit;
    p->copied = !(may_lend && can_lend(p));
    if (!p->copied) {
        lend(p);
        return 0;
    }
    p->at[2] = each;
    p->at[1] = size[3] * p->at[2];
    p->at[0] = size[2] * p->at[1];
    p->channel = size[1] * p->at[0];
    if (bytes <= INT64_MAX && !p->channels_inside)
        p->channel = odd_lines(p->channel * p->class_bytes) / p->class_bytes;
    int64_t all[] = {p->samples, size[4], p->channel};
    if (bytes <= INT64_MAX)
        bytes = dp_size_plus(dp_sizes_product((uint64_t)p->class_bytes, all, 3),
                             (uint64_t)(slack * p->class_bytes));
    if (bytes > INT64_MAX)
        return dp_fail(ctx, DP_ERESOURCE,
                       "out of memory: a sample of a convolution, with zeros "
                       "around it");
    p->sample = size[4] * p->channel;
    p->data = dp_alloc(ctx, (size_t)bytes);
    if (p->data == NULL)
        return DP_ERESOURCE;
    memset(p->data, 0, (size_t)bytes);
    return 0;
}

/* Copies of two dimensions, over a third: `n` of them. */
typedef struct copies {
    int64_t n, to, from; /* how far apart, in elements */
    int64_t rows, cols, to_row, row, col;
} copies;

static void copy_pieces(const conv_planes *p, char *to, const char *from, const copies *c)
{
    for (int64_t i = 0; i < c->n; i++)
        p->dtype->widen(to + i * c->to * p->class_bytes, c->to_row, from + i * c->from * p->bytes,
                        c->row, c->col, c->rows, c->cols);
}

/* One line of planes (d), of `channels` channels; to and from are at the first of them. */
static void fill_lines(const conv_planes *p, char *to, const char *from, int64_t channels)
{
    const conv_side *f = &p->from;

    for (int64_t i = 0; i < pieces(&p->axis[1]); i++)
        for (int64_t j = 0; j < pieces(&p->axis[2]); j++) {
            piece h = nth_piece(&p->axis[1], i), w = nth_piece(&p->axis[2], j);
            int64_t down = h.step * f->at[1], across = w.step * f->at[2];
            copies c = {h.n, p->at[1], down, channels, w.n, p->channel, f->channel, across};
            if (p->channels_inside)
                c = (copies){h.n, p->at[1], down, w.n, channels, p->at[2], across, f->channel};
            else if (f->channel != 1 || across == 1)
                c = (copies){channels, p->channel, f->channel, h.n, w.n, p->at[1], down, across};
            copy_pieces(p, to + (h.at * p->at[1] + w.at * p->at[2]) * p->class_bytes,
                        from + (h.src * f->at[1] + w.src * f->at[2]) * p->bytes, &c);
        }
}

typedef struct filling {
    const conv_planes *p;
    int64_t first, blocks; /* of channels, for each group if they are inside */
} filling;

static void fill_blocks(int64_t begin, int64_t end, void *user)
{
    const filling *f = user;
    const conv_planes *p = f->p;
    int64_t all = p->channels_inside ? p->per_group : p->channels;
    int64_t groups = p->channels / all;

    for (int64_t i = begin; i < end; i++) {
        int64_t c = i % f->blocks * CHANNELS, g = i / f->blocks % groups;
        int64_t n = i / f->blocks / groups, left = all - c;
        char *to =
            p->data + (n * p->sample + g * p->channel + c * (p->channels_inside ? 1 : p->channel)) *
                          p->class_bytes;
        const char *from =
            p->from.data +
            ((f->first + n) * p->from.outer + (g * p->per_group + c) * p->from.channel) * p->bytes;
        for (int64_t t = 0; t < pieces(&p->axis[0]); t++) {
            piece d = nth_piece(&p->axis[0], t);
            for (int64_t k = 0; k < d.n; k++)
                fill_lines(p, to + (d.at + k) * p->at[0] * p->class_bytes,
                           from + (d.src + k * d.step) * p->from.at[0] * p->bytes,
                           left < CHANNELS ? left : CHANNELS);
        }
    }
}

int conv_planes_fill(dp_ctx *ctx, conv_planes *p, int64_t first, int64_t samples)
{
    enum { WORTHWHILE = 1 << 15 }; /* elements for which a second thread is woken */
    int64_t all = p->channels_inside ? p->per_group : p->channels;
    filling f = {p, first, (all + CHANNELS - 1) / CHANNELS};
    int64_t grain = WORTHWHILE / (CHANNELS * p->at[0] * p->axis[0].extent / p->at[2] + 1) + 1;

    if (!p->copied) {
        p->data = p->from.data + first * p->from.outer * p->bytes;
        for (int s = 0; s < CONV_SPACE; s++)
            p->data += p->axis[s].low * p->at[s] * p->bytes;
        return 0;
    }
    return dp_parallel_for(ctx, 0, samples * (p->channels / all) * f.blocks, grain, fill_blocks,
                           &f);
}

int64_t conv_planes_row(const conv_planes *p, int64_t row)
{
    int64_t h = p->axis[1].count, d = p->axis[0].count;

    return row / h / d * p->sample + row / h % d * conv_pace(&p->axis[0]) * p->at[0] +
           row % h * conv_pace(&p->axis[1]) * p->at[1];
}

/* -- workers -- */

int conv_rooms_init(dp_ctx *ctx, conv_rooms *r, size_t bytes)
{
    r->n = SLOTS;
    r->each = dp_size_plus(bytes, 63) & ~(size_t)63;
    r->data = dp_alloc(ctx, dp_size_times(r->each, SLOTS));
    return r->data ? 0 : DP_ERESOURCE;
}

typedef struct work {
    conv_item fn;
    const void *user;
    const conv_rooms *rooms;
    int64_t n;
    atomic_llong next;
} work;

/* Items are handed out one by one, so that only so many rooms are entered as there are threads, and these
 * stay in their caches. */
static void run_slots(int64_t begin, int64_t end, void *user)
{
    work *w = user;

    for (int64_t slot = begin; slot < end; slot++)
        for (int64_t i; (i = atomic_fetch_add(&w->next, 1)) < w->n;)
            w->fn(w->user, i, w->rooms->data + (size_t)slot * w->rooms->each);
}

int conv_each(dp_ctx *ctx, const conv_rooms *rooms, int64_t n, conv_item fn, const void *user)
{
    work w = {.fn = fn, .user = user, .rooms = rooms, .n = n};
    return dp_parallel_for(ctx, 0, n < rooms->n ? n : rooms->n, 1, run_slots, &w);
}
