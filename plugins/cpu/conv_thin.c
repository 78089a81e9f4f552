/* conv_thin.c -- convolutions with few output channels in a group, of which depthwise ones have one. */
#include "conv_walk.h"
#include <string.h>

enum {
    TAPS = 256, /* that are looked up for each result, at most */
    THIN = 3,   /* output channels of a group, at most */
    PART = 256  /* results that are not made in place are made so many at a time */
};

bool conv_is_thin(const conv_walk *w)
{
    return w->out_channels <= THIN && (!w->apart || w->in_channels == 1);
}

/* n results of output channel o of a group: those of row `row`, from q on. */
static void run_part(const conv_walk *w, int64_t group, int64_t o, int64_t row, int64_t q,
                     int64_t n)
{
    const conv_planes *p = &w->planes;
    int64_t h = row % p->axis[1].count, d = row / p->axis[1].count % p->axis[0].count;
    int64_t sample = w->first + row / p->axis[1].count / p->axis[0].count;
    int64_t bytes = w->class->bytes, rows = w->class->rows, c = group * w->out_channels + o;
    int64_t step = w->stride[2] * w->to.at[2];
    char part[PART * sizeof(uint64_t)] __attribute__((aligned(64)));
    char *to =
        w->to.data +
        (sample * w->to.outer + c * w->to.channel + (w->begin[0] + d * w->stride[0]) * w->to.at[0] +
         (w->begin[1] + h * w->stride[1]) * w->to.at[1] + w->begin[2] * w->to.at[2] + q * step) *
            w->packing->bytes;
    bool direct = w->direct && step == 1;

    w->class->blend(n, direct ? to : part, w->k, w->a + (group * w->k * rows + o) * bytes, rows,
                    p->data + (group * w->in_channels * p->channel + conv_planes_row(p, row) +
                               q * conv_pace(&p->axis[2]) * p->at[2]) *
                                  bytes,
                    w->off, w->bias ? w->bias + c * bytes : NULL);
    if (!direct)
        w->dtype->narrow(to, n, step, part, n, 1, n);
}

/* Rows of results by (group, row). */
static void run_rows(int64_t begin, int64_t end, void *user)
{
    const conv_walk *w = user;
    int64_t n = w->planes.axis[2].count, rows = w->columns / n;

    for (int64_t i = begin; i < end; i++)
        for (int64_t o = 0; o < w->out_channels; o++)
            for (int64_t q = 0; q < n; q += PART)
                run_part(w, i / rows, o, i % rows, q, n - q < PART ? n - q : PART);
}

int conv_run_thin(dp_ctx *ctx, const conv_walk *w)
{
    enum { WORTHWHILE = 1 << 16 };
    int64_t n = w->planes.axis[2].count;
    double each = (double)n * (double)w->out_channels * (double)(w->k + 1);
    int64_t grain = (int64_t)(WORTHWHILE / each) + 1;

    return dp_parallel_for(ctx, 0, w->columns / n * w->groups, grain, run_rows,
                           (void *)(uintptr_t)w);
}

/* -- depthwise where channels lie side by side: they are the vector, and nothing is copied -- */

bool conv_is_pixelwise(const conv_walk *w)
{
    return w->in_channels == 1 && w->out_channels == 1 && w->planes.from.channel == 1 &&
           w->to.channel == 1 && w->packing->bytes == w->class->bytes && w->k <= TAPS;
}

/* What a result's taps meet, as far as there is something. */
typedef struct met {
    int64_t n;
    const void *w[TAPS], *from[TAPS];
} met;

/* Is tap t of result q inside?  *at: where. */
static bool meets(const conv_axis *a, int64_t q, int64_t t, int64_t *at)
{
    *at = q * a->step + a->off[t];
    return *at >= 0 && *at < a->in;
}

static void find_met(const conv_walk *w, const char *sample, const int64_t q[CONV_SPACE], met *m)
{
    const conv_axis *a = w->planes.axis;
    const conv_side *f = &w->planes.from;
    int64_t at[CONV_SPACE], bytes = w->class->bytes;

    m->n = 0;
    for (int64_t i = 0; i < a[0].taps; i++)
        for (int64_t j = 0; meets(&a[0], q[0], i, &at[0]) && j < a[1].taps; j++)
            for (int64_t k = 0; meets(&a[1], q[1], j, &at[1]) && k < a[2].taps; k++)
                if (meets(&a[2], q[2], k, &at[2])) {
                    m->w[m->n] = w->a + ((i * a[1].taps + j) * a[2].taps + k) * w->groups * bytes;
                    m->from[m->n++] =
                        sample + (at[0] * f->at[0] + at[1] * f->at[1] + at[2] * f->at[2]) * bytes;
                }
}

/* The results of a row whose taps are all inside: from *begin on, to *end. */
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

/* Rows of results of all samples. */
static void run_pixels(int64_t begin, int64_t end, void *user)
{
    const conv_walk *w = user;
    const conv_axis *a = w->planes.axis;
    int64_t bytes = w->class->bytes, step = w->stride[2] * w->to.at[2], inner, outer;
    met m;

    find_inner(&a[2], &inner, &outer);
    for (int64_t r = begin; r < end; r++) {
        int64_t n = r / a[1].count / a[0].count;
        int64_t q[] = {r / a[1].count % a[0].count, r % a[1].count, 0};
        const char *sample = w->planes.from.data + n * w->planes.from.outer * bytes;
        char *to = w->to.data +
                   (n * w->to.outer + (w->begin[0] + q[0] * w->stride[0]) * w->to.at[0] +
                    (w->begin[1] + q[1] * w->stride[1]) * w->to.at[1] + w->begin[2] * w->to.at[2]) *
                       bytes;
        for (int64_t many; q[2] < a[2].count; q[2] += many, to += many * step * bytes) {
            many = q[2] == inner && inner < outer ? outer - inner : 1;
            find_met(w, sample, q, &m);
            w->class->blend_channels(w->groups, many, to, step, m.n, m.w, m.from,
                                     a[2].step * w->planes.from.at[2], w->bias);
        }
    }
}

int conv_run_pixelwise(dp_ctx *ctx, conv_walk *w)
{
    enum { WORTHWHILE = 1 << 16 };
    const conv_axis *a = w->planes.axis;
    int64_t size[] = {w->k, w->groups};
    double each = (double)a[2].count * (double)w->groups * (double)(w->k + 1);

    w->a = dp_alloc(ctx, dp_sizes_product((uint64_t)w->class->bytes, size, 2));
    if (w->a == NULL)
        return DP_ERESOURCE;
    for (int64_t t = 0; t < w->k; t++)
        w->dtype->widen(w->a + t * w->groups * w->class->bytes, w->groups,
                        w->w.data + conv_weight_at(w, t) * w->packing->bytes, 0, w->w_group, 1,
                        w->groups);
    return dp_parallel_for(ctx, 0, w->n * a[0].count * a[1].count, (int64_t)(WORTHWHILE / each) + 1,
                           run_pixels, w);
}

/* -- the gradient by weights of which each has one channel in and one out -- */

typedef struct dots {
    const conv_shape *s;
    const conv_class *class;
    const gemm_dtype *packing;
    const conv_dtype *dtype;
    conv_planes x, y;
    conv_side w;
    int64_t taps, *off, first, samples;
    char *sums; /* a vector for each channel and tap */
} dots;

static void run_dots(int64_t begin, int64_t end, void *user)
{
    const dots *d = user;
    const conv_planes *x = &d->x, *y = &d->y;
    int64_t vector = d->class->lanes / CONV_VECTORS, bytes = d->class->bytes;
    int64_t rows = d->samples * d->s->out[0] * d->s->out[1];

    for (int64_t c = begin; c < end; c++)
        for (int64_t r = 0; r < rows; r++)
            d->class->dots(d->sums + c * d->taps * vector * bytes, d->s->out[2], d->taps,
                           y->data + (c * y->channel + conv_planes_row(y, r)) * bytes,
                           x->data + (c * x->channel + conv_planes_row(x, r)) * bytes, d->off);
}

/* The sums of vectors, in the first element of each, to w. */
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

/* Planes of one side; of y there is one tap, which meets each result itself. */
static int set_side(dp_ctx *ctx, dots *d, conv_planes *p, const conv_side *from, bool is_x)
{
    static int64_t none;
    const conv_shape *s = d->s;

    p->dtype = d->dtype;
    p->from = *from;
    p->bytes = d->packing->bytes, p->class_bytes = d->class->bytes;
    p->channels = s->groups, p->per_group = 1;
    for (int i = 0; i < CONV_SPACE; i++) {
        conv_axis *a = &p->axis[i];
        *a = (conv_axis){.in = s->out[i], .count = s->out[i], .step = 1, .taps = 1, .off = &none};
        if (!is_x)
            continue;
        a->in = s->in[i], a->step = s->stride[i], a->taps = s->kernel[i];
        a->off = dp_alloc(ctx, dp_sizes_product(sizeof(int64_t), &s->kernel[i], 1));
        if (a->off == NULL)
            return DP_ERESOURCE;
        for (int64_t t = 0; t < a->taps; t++)
            a->off[t] = t * s->dilation[i] - s->padding[i];
    }
    return conv_planes_init(ctx, p, s->n, 0, true);
}

static int make_sums(dp_ctx *ctx, dots *d)
{
    const conv_axis *a = d->x.axis;
    int64_t size[] = {d->s->groups, d->taps, d->class->lanes / CONV_VECTORS};
    uint64_t bytes = dp_sizes_product((uint64_t)d->class->bytes, size, 3);

    d->off = dp_alloc(ctx, (size_t)d->taps * sizeof(*d->off));
    d->sums = dp_alloc(ctx, bytes);
    if (d->off == NULL || d->sums == NULL)
        return DP_ERESOURCE;
    memset(d->sums, 0, bytes);
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
    int rc = set_side(ctx, &d, &d.x, x, true);

    if (rc == 0)
        rc = set_side(ctx, &d, &d.y, y, false);
    if (rc == 0)
        rc = make_sums(ctx, &d);
    int64_t each = d.x.samples < d.y.samples ? d.x.samples : d.y.samples;
    for (; rc == 0 && d.first < s->n; d.first += each) {
        d.samples = s->n - d.first < each ? s->n - d.first : each;
        rc = conv_planes_fill(ctx, &d.x, d.first, d.samples);
        if (rc == 0)
            rc = conv_planes_fill(ctx, &d.y, d.first, d.samples);
        if (rc == 0)
            rc = dp_parallel_for(ctx, 0, s->groups, 1, run_dots, &d);
    }
    if (rc == 0)
        put_dots(&d);
    return rc;
}
