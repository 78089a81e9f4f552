/* conv_depthwise.c -- convolutions with few output channels per group, such as depthwise
 * convolutions, which have one.  conv.h explains taps and planes. */
#include "conv_walk.h"
#include <string.h>

enum {
    TAPS = 256,           /* greatest number of taps that are looked up for each result */
    THIN = 3,             /* greatest number of output channels of a group */
    WORTHWHILE = 1 << 16, /* number of products that take longer than waking a thread */
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

bool conv_is_thin(const conv_walk *w)
{
    return w->op.out_channels <= THIN && (!w->op.separate_taps || w->op.in_channels == 1);
}

/* Return the bytes of scratch memory of a worker: the planes of a part, and results that are not
 * computed in the output itself. */
static size_t room_bytes(const conv_walk *w)
{
    int64_t results[] = {w->cut.each[1], w->cut.each[2]};
    uint64_t slack = (uint64_t)(w->loops.class->lanes * w->loops.class->bytes);

    return dp_size_plus(dp_size_plus((uint64_t)conv_part_bytes(&w->planes), slack),
                        w->op.accumulate_in_output
                            ? 0
                            : dp_sizes_product((uint64_t)w->loops.class->bytes, results, 2));
}

/* Compute one part of the results of one group of one sample. */
static void run_part(const conv_walk *w, int64_t sample, int64_t group, int64_t part, char *room,
                     bool fresh)
{
    const conv_planes *p = &w->planes;
    int64_t first[CONV_SPACE], count[CONV_SPACE], bytes = w->loops.class->bytes;
    int64_t down = w->op.stride[1] * w->op.to.at[1], across = w->op.stride[2] * w->op.to.at[2];
    char *apart = room + conv_part_bytes(p) + w->loops.class->lanes * bytes;

    conv_cut_part(&w->cut, part, first, count);
    conv_planes_fill_part(p, sample, group, first, room, fresh || w->cut.parts > 1);
    for (int64_t o = 0; o < w->op.out_channels; o++) {
        int64_t c = group * w->op.out_channels + o,
                at = sample * w->op.to.outer + c * w->op.to.channel;
        for (int s = 0; s < CONV_SPACE; s++)
            at += (w->op.begin[s] + first[s] * w->op.stride[s]) * w->op.to.at[s];
        char *to = w->op.to.data + at * w->loops.packing->bytes;
        w->loops.class->blend(count[1], count[2], w->op.accumulate_in_output ? to : apart,
                              w->op.accumulate_in_output ? down : count[2], w->packed.k,
                              w->packed.data +
                                  (group * w->packed.k * w->loops.class->rows + o) * bytes,
                              w->loops.class->rows, room, p->at[1], w->packed.offsets,
                              w->op.bias ? w->op.bias + c * bytes : NULL);
        if (!w->op.accumulate_in_output)
            w->loops.dtype->narrow(to, down, across, apart, count[2], count[1], count[2]);
    }
}

/* parts of all samples; `each` of them are one item of work */
typedef struct parts {
    const conv_walk *w;
    int64_t all, each;
} parts;

static parts parts_of(const conv_walk *w)
{
    double products = (double)w->cut.each[1] * (double)w->cut.each[2] * (double)w->op.out_channels *
                      (double)(w->packed.k + 1);

    return (parts){w, w->op.n * w->op.groups * w->cut.parts, (int64_t)(WORTHWHILE / products) + 1};
}

static void run_parts(const void *user, int64_t item, char *room, bool fresh)
{
    const parts *p = user;
    const conv_walk *w = p->w;
    int64_t end = least((item + 1) * p->each, p->all);

    for (int64_t i = item * p->each; i < end; i++, fresh = false)
        run_part(w, i / w->cut.parts / w->op.groups, i / w->cut.parts % w->op.groups,
                 i % w->cut.parts, room, fresh);
}

int conv_run_thin(dp_ctx *ctx, conv_walk *w)
{
    const parts p = parts_of(w);
    conv_rooms rooms;
    int rc = conv_rooms_init(ctx, &rooms, room_bytes(w));

    return rc < 0 ? rc : conv_each(ctx, &rooms, (p.all + p.each - 1) / p.each, run_parts, &p);
}

/* -- depthwise walks with innermost channels: a vector has neighbouring channels, and nothing is
 * copied -- */

bool conv_is_pixelwise(const conv_walk *w)
{
    return w->op.in_channels == 1 && w->op.out_channels == 1 && w->planes.from.channel == 1 &&
           w->op.to.channel == 1 && w->loops.packing->bytes == w->loops.class->bytes &&
           w->packed.k <= TAPS;
}

/* The weights and the input elements of the taps of one result that are inside the input. */
typedef struct met {
    int64_t n;
    const void *w[TAPS], *from[TAPS];
} met;

/* Test whether tap `t` of result `q` is inside the input, and set *at to its position. */
static bool meets(const conv_axis *a, int64_t q, int64_t t, int64_t *at)
{
    *at = q * a->step + a->off[t];
    return *at >= 0 && *at < a->in;
}

static void find_met(const conv_walk *w, const char *sample, const int64_t q[CONV_SPACE], met *m)
{
    const conv_axis *a = w->planes.axis;
    const conv_side *f = &w->planes.from;
    int64_t at[CONV_SPACE], bytes = w->loops.class->bytes;

    m->n = 0;
    for (int64_t i = 0; i < a[0].taps; i++)
        for (int64_t j = 0; meets(&a[0], q[0], i, &at[0]) && j < a[1].taps; j++)
            for (int64_t k = 0; meets(&a[1], q[1], j, &at[1]) && k < a[2].taps; k++)
                if (meets(&a[2], q[2], k, &at[2])) {
                    m->w[m->n] = w->packed.data +
                                 ((i * a[1].taps + j) * a[2].taps + k) * w->op.groups * bytes;
                    m->from[m->n++] =
                        sample + (at[0] * f->at[0] + at[1] * f->at[1] + at[2] * f->at[2]) * bytes;
                }
}

/* Set [*begin, *end) to the results of a row for which all taps are inside the input. */
static void find_inner(const conv_axis *a, int64_t *begin, int64_t *end)
{
    *begin = 0, *end = a->count;
    for (int64_t t = 0; t < a->taps; t++) {
        int64_t off = a->off[t], first = off < 0 ? (a->step - 1 - off) / a->step : 0;
        int64_t last = off < a->in ? (a->in - 1 - off) / a->step + 1 : 0;
        *begin = first > *begin ? first : *begin;
        *end = last < *end ? last : *end;
    }
}

/* Compute rows [begin, end) of the results of all samples. */
static void run_pixels(int64_t begin, int64_t end, void *user)
{
    const conv_walk *w = user;
    const conv_axis *a = w->planes.axis;
    int64_t bytes = w->loops.class->bytes, step = w->op.stride[2] * w->op.to.at[2], inner, outer;
    met m;

    find_inner(&a[2], &inner, &outer);
    for (int64_t r = begin; r < end; r++) {
        int64_t n = r / a[1].count / a[0].count;
        int64_t q[] = {r / a[1].count % a[0].count, r % a[1].count, 0};
        const char *sample = w->planes.from.data + n * w->planes.from.outer * bytes;
        char *to = w->op.to.data + (n * w->op.to.outer +
                                    (w->op.begin[0] + q[0] * w->op.stride[0]) * w->op.to.at[0] +
                                    (w->op.begin[1] + q[1] * w->op.stride[1]) * w->op.to.at[1] +
                                    w->op.begin[2] * w->op.to.at[2]) *
                                       bytes;
        for (int64_t many; q[2] < a[2].count; q[2] += many, to += many * step * bytes) {
            many = q[2] == inner && inner < outer ? outer - inner : 1;
            find_met(w, sample, q, &m);
            w->loops.class->blend_channels(w->op.groups, many, to, step, m.n, m.w, m.from,
                                           a[2].step * w->planes.from.at[2], w->op.bias);
        }
    }
}

int conv_run_pixelwise(dp_ctx *ctx, conv_walk *w)
{
    const conv_axis *a = w->planes.axis;
    int64_t size[] = {w->packed.k, w->op.groups};
    double each = (double)a[2].count * (double)w->op.groups * (double)(w->packed.k + 1);

    w->packed.data = dp_alloc(ctx, dp_sizes_product((uint64_t)w->loops.class->bytes, size, 2));
    if (w->packed.data == NULL)
        return DP_ERESOURCE;
    for (int64_t t = 0; t < w->packed.k; t++)
        w->loops.dtype->widen(w->packed.data + t * w->op.groups * w->loops.class->bytes,
                              w->op.groups,
                              w->op.weights.data + conv_weight_at(w, t) * w->loops.packing->bytes,
                              0, w->op.group_step, 1, w->op.groups);
    return dp_parallel_for(ctx, 0, w->op.n * a[0].count * a[1].count,
                           (int64_t)(WORTHWHILE / each) + 1, run_pixels, w);
}

/* -- the gradient by the weight, if a group has one input channel and one output channel -- */

typedef struct dots {
    const conv_shape *s;
    const conv_class *class;
    const gemm_dtype *packing;
    const conv_dtype *dtype;
    conv_planes x, y;
    conv_cut cut;
    conv_side w;
    int64_t taps, *off;
    char *sums; /* a vector of partial sums for each channel and tap */
} dots;

static int64_t slack_bytes(const dots *d)
{
    return d->class->lanes * d->class->bytes;
}

/* Compute the sums of channel `c` over all samples. */
static void run_dots(const void *user, int64_t c, char *room, bool fresh)
{
    const dots *d = user;
    int64_t vector = d->class->lanes / CONV_VECTORS, first[CONV_SPACE], count[CONV_SPACE];
    char *sums = d->sums + c * d->taps * vector * d->class->bytes;
    char *y = room + conv_part_bytes(&d->x) + slack_bytes(d);

    dp_zero_n(sums, dp_size_times(d->taps, vector), (size_t)d->class->bytes);
    for (int64_t i = 0; i < d->s->n * d->cut.parts; i++, fresh = false) {
        bool clear = fresh || d->cut.parts > 1;
        conv_cut_part(&d->cut, i % d->cut.parts, first, count);
        conv_planes_fill_part(&d->x, i / d->cut.parts, c, first, room, clear);
        conv_planes_fill_part(&d->y, i / d->cut.parts, c, first, y, clear);
        d->class->dots(sums, count[1], count[2], d->taps, y, d->y.at[1], room, d->x.at[1], d->off);
    }
}

/* Add up the lanes of each vector of sums, and write the results to w. */
static void put_dots(const dots *d)
{
    int64_t vector = d->class->lanes / CONV_VECTORS, bytes = d->class->bytes;
    const int64_t *k = d->s->kernel;

    for (int64_t c = 0; c < d->s->groups; c++)
        for (int64_t t = 0; t < d->taps; t++) {
            char *sum = d->sums + (c * d->taps + t) * vector * bytes;
            int64_t at = c * d->w.outer + t / k[2] / k[1] * d->w.at[0] +
                         t / k[2] % k[1] * d->w.at[1] + t % k[2] * d->w.at[2];
            for (int64_t half = vector / 2; half > 0; half /= 2)
                d->class->add(half, sum, sum + half * bytes);
            d->dtype->narrow(d->w.data + at * d->packing->bytes, 1, 1, sum, 1, 1, 1);
        }
}

/* Return the planes of one side.  The planes of y have one tap, which reads each result itself. */
static conv_planes planes_of(const dots *d, const conv_side *from)
{
    static int64_t none;
    const conv_shape *s = d->s;
    conv_planes p = {.dtype = d->dtype,
                     .from = *from,
                     .bytes = d->packing->bytes,
                     .class_bytes = d->class->bytes,
                     .channels = s->groups,
                     .per_group = 1};

    for (int i = 0; i < CONV_SPACE; i++)
        p.axis[i] =
            (conv_axis){.in = s->out[i], .count = s->out[i], .step = 1, .taps = 1, .off = &none};
    return p;
}

static int set_planes(dp_ctx *ctx, dots *d, const conv_side *x, const conv_side *y)
{
    const conv_shape *s = d->s;

    d->x = planes_of(d, x), d->y = planes_of(d, y);
    for (int i = 0; i < CONV_SPACE; i++) {
        conv_axis *a = &d->x.axis[i];
        a->in = s->in[i], a->step = s->stride[i], a->taps = s->kernel[i];
        a->off = dp_alloc(ctx, dp_sizes_product(sizeof(int64_t), &s->kernel[i], 1));
        if (a->off == NULL)
            return DP_ERESOURCE;
        for (int64_t t = 0; t < a->taps; t++)
            a->off[t] = t * s->dilation[i] - s->padding[i];
    }
    int rc = conv_planes_cut(ctx, &d->x, &d->cut);
    return rc < 0 ? rc : conv_planes_cut_as(ctx, &d->y, &d->cut);
}

static int make_sums(dp_ctx *ctx, dots *d)
{
    const conv_axis *a = d->x.axis;
    int64_t size[] = {d->s->groups, d->taps, d->class->lanes / CONV_VECTORS};

    d->off = dp_alloc_n(ctx, (size_t)d->taps, sizeof(*d->off));
    d->sums = dp_alloc(ctx, dp_sizes_product((uint64_t)d->class->bytes, size, 3));
    if (d->off == NULL || d->sums == NULL)
        return DP_ERESOURCE;
    for (int64_t t = 0; t < d->taps; t++)
        d->off[t] = conv_place(&a[2], t % a[2].taps) * d->x.at[2] +
                    conv_place(&a[1], t / a[2].taps % a[1].taps) * d->x.at[1] +
                    conv_place(&a[0], t / a[2].taps / a[1].taps) * d->x.at[0];
    return 0;
}

int conv_weight_thin(dp_ctx *ctx, dp_dtype dtype, const conv_shape *s, const conv_side *x,
                     const conv_side *y, const conv_side *w)
{
    const gemm_dtype *packing = &CPU_CHOSEN(gemm_dtypes)[dtype];
    dots d = {.s = s,
              .class = &CPU_CHOSEN(conv_classes)[packing->class],
              .packing = packing,
              .dtype = &CPU_CHOSEN(conv_dtypes)[dtype],
              .w = *w,
              .taps = s->kernel[0] * s->kernel[1] * s->kernel[2]};
    conv_rooms rooms;
    int rc = set_planes(ctx, &d, x, y);

    if (rc == 0)
        rc = make_sums(ctx, &d);
    if (rc == 0)
        rc = conv_rooms_init(ctx, &rooms,
                             dp_size_plus((uint64_t)conv_part_bytes(&d.x),
                                          (uint64_t)(conv_part_bytes(&d.y) + 2 * slack_bytes(&d))));
    if (rc == 0)
        rc = conv_each(ctx, &rooms, s->groups, run_dots, &d);
    if (rc == 0)
        put_dots(&d);
    return rc;
}
