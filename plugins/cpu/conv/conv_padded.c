/* conv_padded.c -- padded copies of the samples that a convolution reads (planes, conv.h),
 * converted to the class of their dtype. */
#include "conv.h"
#include <stdatomic.h>
#include <string.h>

enum {
    /* greatest number of bytes of the samples in memory; a single sample may have more */
    PLANES_BYTES = 4 << 20,
    SLOTS = 32,              /* greatest number of workers with scratch memory */
    ROOMS_BYTES = 256 << 20, /* greatest number of bytes of the scratch memory of all workers */
    CHANNELS = 16            /* number of channels that are copied at a time */
};

static const char too_large[] = "out of memory: a sample of a convolution, with zeros around it";

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* One piece of a copy along an axis: `n` elements of the source, from `src` on with stride `step`,
 * are copied to `at` and the positions after it. */
typedef struct piece {
    int64_t at, src, n, step;
} piece;

/* Return piece `t`, for results that begin at result `first`. */
static piece nth_piece(const conv_axis *a, int64_t t, int64_t first)
{
    int64_t off = (a->by_tap ? a->off[t] : a->low + t) + first * a->step;
    int64_t step = a->step / a->pace, q = off < 0 ? (step - 1 - off) / step : 0;
    int64_t end = off < a->in ? (a->in - 1 - off) / step + 1 : 0;

    end = least(end, a->piece);
    return (piece){t * a->piece + q, q * step + off, end > q ? end - q : 0, step};
}

/* Choose the elements that are copied along axis `a`, and the pieces in which they are copied.
 * `apart`: the elements that a tap reads need not be contiguous.  DP_ERESOURCE: an index
 * overflows. */
static int choose_extent(dp_ctx *ctx, conv_axis *a, bool apart)
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
    huge |= __builtin_add_overflow(last, 1, &a->reach);
    huge |= __builtin_mul_overflow(a->taps, a->count, &all);
    if (huge)
        return dp_fail(ctx, DP_ERESOURCE,
                       "a convolution whose taps are from %lld to %lld elements away",
                       (long long)a->low, (long long)high);
    a->pace = apart ? a->step : 1;
    a->pieces = a->step / a->pace;
    a->piece = apart ? a->reach : a->count + (high - a->low) / a->step;
    a->by_tap = __builtin_mul_overflow(a->pieces, a->piece, &a->extent) || all < a->extent;
    if (a->by_tap)
        a->pace = 1, a->pieces = a->taps, a->piece = a->count, a->extent = all;
    return 0;
}

/* Test whether the samples can be read without a copy: there is no padding, no conversion, and the
 * elements that a tap reads for neighbouring results are contiguous. */
static bool can_lend(const conv_planes *p)
{
    for (int s = 0; s < CONV_SPACE; s++) {
        const conv_axis *a = &p->axis[s];
        if (a->taps == 0 || a->low < 0 || a->low + a->reach > a->in)
            return false;
    }
    return !p->channels_inside && p->bytes == p->class_bytes && p->from.at[2] == 1 &&
           p->axis[2].step == 1;
}

static void lend(conv_planes *p)
{
    p->data = p->from.data;
    p->sample = p->from.outer;
    p->channel = p->from.channel;
    for (int s = 0; s < CONV_SPACE; s++) {
        p->at[s] = p->from.at[s];
        p->axis[s].by_tap = false, p->axis[s].pace = p->axis[s].step;
        p->data += p->axis[s].low * p->at[s] * p->bytes;
    }
}

/* Round `bytes` up to an odd number of cache lines, so that channels are not all mapped to the same
 * sets of the cache. */
static int64_t odd_lines(int64_t bytes)
{
    enum { LINE = 64 };
    return ((bytes + LINE - 1) / LINE | 1) * LINE;
}

/* Set the extents and strides of the copies, and *bytes to the bytes of a sample. */
static int lay_out(dp_ctx *ctx, conv_planes *p, uint64_t *bytes)
{
    int64_t each = p->channels_inside ? p->width : 1, size[] = {each, 0, 0, 0, 0};

    for (int s = 0; s < CONV_SPACE; s++) {
        int rc = choose_extent(ctx, &p->axis[s], p->channels_inside);
        if (rc < 0)
            return rc;
        size[1 + s] = p->axis[s].extent;
    }
    size[4] = p->channels_inside ? p->channels / p->per_group : p->channels;
    *bytes = dp_sizes_product((uint64_t)p->class_bytes, size, 5);
    if (*bytes > INT64_MAX)
        return 0;
    p->at[2] = each;
    p->at[1] = size[3] * p->at[2];
    p->at[0] = size[2] * p->at[1];
    p->channel = size[1] * p->at[0];
    if (!p->channels_inside)
        p->channel = odd_lines(p->channel * p->class_bytes) / p->class_bytes;
    p->sample = size[4] * p->channel;
    return 0;
}

int conv_planes_init(dp_ctx *ctx, conv_planes *p, int64_t n, int64_t slack, bool may_lend)
{
    uint64_t bytes;
    int rc = lay_out(ctx, p, &bytes);

    if (rc < 0)
        return rc;
    const int64_t fit = bytes < PLANES_BYTES ? (int64_t)(PLANES_BYTES / (bytes + 1)) : 1;
    p->samples = least(n, fit);
    p->copied = !(may_lend && can_lend(p));
    if (!p->copied) {
        lend(p);
        return 0;
    }
    int64_t all[] = {p->samples, p->sample};
    if (bytes <= INT64_MAX)
        bytes = dp_size_plus(dp_sizes_product((uint64_t)p->class_bytes, all, 2),
                             dp_size_times((uint64_t)slack, (uint64_t)p->class_bytes));
    if (bytes > INT64_MAX)
        return dp_fail(ctx, DP_ERESOURCE, "%s", too_large);
    p->data = dp_alloc(ctx, (size_t)bytes);
    if (p->data == NULL)
        return DP_ERESOURCE;
    memset(p->data, 0, (size_t)bytes);
    return 0;
}

int64_t conv_part_bytes(const conv_planes *p)
{
    return p->per_group * p->channel * p->class_bytes;
}

int conv_planes_cut_as(dp_ctx *ctx, conv_planes *p, const conv_cut *cut)
{
    uint64_t bytes;

    for (int s = 0; s < CONV_SPACE; s++)
        p->axis[s].count = cut->each[s];
    int rc = lay_out(ctx, p, &bytes);
    return rc == 0 && bytes > INT64_MAX ? dp_fail(ctx, DP_ERESOURCE, "%s", too_large) : rc;
}

int conv_planes_cut(dp_ctx *ctx, conv_planes *p, conv_cut *cut)
{
    enum { COLUMNS = 2048, ROWS = 8, PART_BYTES = 24 << 10 };

    cut->parts = 1;
    for (int s = 0; s < CONV_SPACE; s++)
        cut->of[s] = p->axis[s].count, cut->each[s] = 1;
    cut->each[2] = least(cut->of[2], COLUMNS);
    cut->each[1] = least(cut->of[1], ROWS);
    int rc = conv_planes_cut_as(ctx, p, cut);
    if (rc < 0)
        return rc;
    int64_t row = p->at[1] * p->axis[1].pieces * p->per_group * p->class_bytes, more = 0;
    if (row > 0 && conv_part_bytes(p) < PART_BYTES)
        more = (PART_BYTES - conv_part_bytes(p)) / row;
    int64_t rows = least(cut->of[1], cut->each[1] + more), bands = (cut->of[1] + rows - 1) / rows;
    cut->each[1] = (cut->of[1] + bands - 1) / bands;
    for (int s = 0; s < CONV_SPACE; s++)
        cut->parts *= (cut->of[s] + cut->each[s] - 1) / cut->each[s];
    return conv_planes_cut_as(ctx, p, cut);
}

void conv_cut_part(const conv_cut *cut, int64_t i, int64_t first[CONV_SPACE],
                   int64_t count[CONV_SPACE])
{
    for (int s = CONV_SPACE - 1; s >= 0; s--) {
        int64_t n = (cut->of[s] + cut->each[s] - 1) / cut->each[s];
        first[s] = i % n * cut->each[s];
        count[s] = least(cut->of[s] - first[s], cut->each[s]);
        i /= n;
    }
}

/* `n` copies of matrices [rows, cols] */
typedef struct copies {
    /* number of matrices; their strides in the copy and in the source, in elements */
    int64_t n, to, from;
    int64_t rows, cols, to_row, row, col;
} copies;

static void copy_pieces(const conv_planes *p, char *to, const char *from, const copies *c)
{
    for (int64_t i = 0; i < c->n; i++)
        p->dtype->widen(to + i * c->to * p->class_bytes, c->to_row, from + i * c->from * p->bytes,
                        c->row, c->col, c->rows, c->cols);
}

/* Copy one line of the planes along the depth axis, for `channels` channels; `to` and `from` are
 * the addresses of the first channel. */
static void fill_lines(const conv_planes *p, char *to, const char *from, int64_t channels,
                       const int64_t first[CONV_SPACE])
{
    const conv_side *f = &p->from;

    for (int64_t i = 0; i < p->axis[1].pieces; i++)
        for (int64_t j = 0; j < p->axis[2].pieces; j++) {
            piece h = nth_piece(&p->axis[1], i, first[1]), w = nth_piece(&p->axis[2], j, first[2]);
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

/* Copy `channels` channels; `to` and `from` are the addresses of the first one. */
static void fill(const conv_planes *p, char *to, const char *from, int64_t channels,
                 const int64_t first[CONV_SPACE])
{
    for (int64_t t = 0; t < p->axis[0].pieces; t++) {
        piece d = nth_piece(&p->axis[0], t, first[0]);
        for (int64_t k = 0; k < d.n; k++)
            fill_lines(p, to + (d.at + k) * p->at[0] * p->class_bytes,
                       from + (d.src + k * d.step) * p->from.at[0] * p->bytes, channels, first);
    }
}

void conv_planes_fill_part(const conv_planes *p, int64_t sample, int64_t group,
                           const int64_t first[CONV_SPACE], char *to, bool fresh)
{
    if (fresh)
        memset(to, 0, (size_t)conv_part_bytes(p));
    fill(p, to,
         p->from.data +
             (sample * p->from.outer + group * p->per_group * p->from.channel) * p->bytes,
         p->per_group, first);
}

typedef struct filling {
    const conv_planes *p;
    /* first sample; number of blocks of channels (of a group, if channels_inside) */
    int64_t first, blocks;
} filling;

static void fill_blocks(int64_t begin, int64_t end, void *user)
{
    static const int64_t start[CONV_SPACE];
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
        fill(p, to, from, least(left, CHANNELS), start);
    }
}

int conv_planes_fill(dp_ctx *ctx, conv_planes *p, int64_t first, int64_t samples)
{
    /* number of elements that take longer to copy than waking a thread */
    enum { WORTHWHILE = 1 << 15 };
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

    return row / h / d * p->sample + row / h % d * p->axis[0].pace * p->at[0] +
           row % h * p->axis[1].pace * p->at[1];
}

/* -- workers -- */

int conv_rooms_init(dp_ctx *ctx, conv_rooms *r, size_t bytes)
{
    r->each = dp_size_plus(bytes, 63) & ~(size_t)63;
    r->n = r->each < ROOMS_BYTES / SLOTS ? SLOTS
           : r->each < ROOMS_BYTES       ? ROOMS_BYTES / (int64_t)r->each
                                         : 1;
    r->data = dp_alloc(ctx, dp_size_times(r->each, (uint64_t)r->n));
    return r->data ? 0 : DP_ERESOURCE;
}

typedef struct work {
    conv_item fn;
    const void *user;
    const conv_rooms *rooms;
    int64_t n;
    atomic_llong next;
} work;

/* Run items until none is left.  Each worker takes the next item when it is free, so only as many
 * parts of the scratch memory are used as there are threads, and these stay in caches. */
static void run_slots(int64_t begin, int64_t end, void *user)
{
    work *w = user;

    for (int64_t slot = begin; slot < end; slot++) {
        bool fresh = true;
        for (int64_t i; dp_stop_code(NULL) == 0 && (i = atomic_fetch_add(&w->next, 1)) < w->n;
             fresh = false)
            w->fn(w->user, i, w->rooms->data + (size_t)slot * w->rooms->each, fresh);
    }
}

int conv_each(dp_ctx *ctx, const conv_rooms *rooms, int64_t n, conv_item fn, const void *user)
{
    work w = {.fn = fn, .user = user, .rooms = rooms, .n = n};
    return dp_parallel_for(ctx, 0, n < rooms->n ? n : rooms->n, 1, run_slots, &w);
}
