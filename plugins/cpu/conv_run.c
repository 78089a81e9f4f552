/* conv_run.c -- a convolution and its gradient by the input, as panels of columns times panels of weights.
 *
 * Both are walks: results on a lattice of the output, each a sum over channels and taps of what lies a
 * fixed number of elements away.  A convolution is one walk; its gradient by x is one for each remainder that
 * a position of x leaves when divided by the stride, with the taps that can reach such positions.
 *
 * Results are flattened to columns, over samples, too, so that small images fill vectors.  A block of columns
 * is one piece of work: its rows of k (channel, tap) are gathered from planes, a part of k at a time, and
 * multiplied with the packed weights.  A panel of columns that is dense in the output is summed up there,
 * others beside it. */
#include "conv_walk.h"
#include <string.h>

enum {
    BLOCK_COLUMNS = 144, /* of a block, about */
    DEPTH_BYTES = 2560, /* of a column of a panel at a time, about: panels stay in a core's cache */
    RUNS = BLOCK_COLUMNS, /* of a panel, at most: a column each */
    THREADS = 4,          /* that shall have equal shares of few blocks */
};

typedef conv_walk walk;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* -- weights -- */

/* Do the taps of a channel lie side by side, and all of them? */
static bool dense_taps(const walk *w, int64_t taps)
{
    const conv_axis *a = w->planes.axis;

    return taps > 0 && (a[2].taps == 1 || w->w.at[2] == 1) &&
           (a[1].taps == 1 || w->w.at[1] == a[2].taps) &&
           (a[0].taps == 1 || w->w.at[0] == a[1].taps * a[2].taps) && conv_weight_at(w, 0) == 0 &&
           conv_weight_at(w, taps - 1) == taps - 1;
}

/* n rows of weights that lie side by side, of `lines` output channels; to: the first of them, and the next is
 * `next` rows on. */
static void pack_rows(const walk *w, char *to, int64_t next, const char *from, int64_t lines,
                      int64_t n, int64_t step)
{
    int64_t rows = w->class->rows, bytes = rows * w->class->bytes;

    if (lines == rows && w->packing->bytes == w->class->bytes && step == 1)
        w->dtype->narrow(to, 1, next * rows, from, w->w.outer, rows, n);
    else if (next == 1)
        w->packing->pack(to, (int)rows, lines, n, from, w->w.outer, step);
    else
        for (int64_t i = 0; i < n; i++)
            w->packing->pack(to + i * next * bytes, (int)rows, lines, 1,
                             from + i * step * w->packing->bytes, w->w.outer, 0);
}

/* All k rows of a panel. */
static void pack_panel(const walk *w, char *to, const char *from, int64_t lines)
{
    int64_t taps = w->k / w->in_channels, bytes = w->packing->bytes;
    int64_t row = w->class->rows * w->class->bytes;
    int64_t tap = w->by_channel ? 1 : w->in_channels, channel = w->by_channel ? taps : 1;

    if (dense_taps(w, taps) && w->by_channel && w->w.channel == taps)
        pack_rows(w, to, 1, from, lines, w->k, 1);
    else if (dense_taps(w, taps))
        for (int64_t c = 0; c < w->in_channels; c++)
            pack_rows(w, to + c * channel * row, tap, from + c * w->w.channel * bytes, lines, taps,
                      1);
    else
        for (int64_t t = 0; t < taps; t++)
            pack_rows(w, to + t * tap * row, channel, from + conv_weight_at(w, t) * bytes, lines,
                      w->in_channels, w->w.channel);
}

static void pack_panels(int64_t begin, int64_t end, void *user)
{
    const walk *w = user;
    int rows = w->class->rows;

    for (int64_t i = begin; i < end; i++) {
        int64_t first = i % w->panels * rows, lines = least(w->out_channels - first, rows);
        const char *from =
            w->w.data + (i / w->panels * w->w_group + first * w->w.outer) * w->packing->bytes;
        char *to = w->a + i * rows * w->k * w->class->bytes;
        pack_panel(w, to, from, lines);
    }
}

/* Where each k lies in the planes, from a group's first channel on. */
static void list_offsets(walk *w)
{
    const conv_planes *p = &w->planes;
    const conv_axis *a = p->axis;
    int64_t taps = w->k / w->in_channels;

    for (int64_t t = 0; t < taps; t++) {
        int64_t at = conv_place(&a[2], t % a[2].taps) * p->at[2] +
                     conv_place(&a[1], t / a[2].taps % a[1].taps) * p->at[1] +
                     conv_place(&a[0], t / a[2].taps / a[1].taps) * p->at[0];
        for (int64_t c = 0; c < w->in_channels; c++)
            w->off[w->by_channel ? c * taps + t : t * w->in_channels + c] = c * p->channel + at;
    }
}

static int pack_weights(dp_ctx *ctx, walk *w)
{
    enum { WORTHWHILE = 1 << 15 };
    int64_t rows = w->class->rows, size[] = {w->groups, 0, rows, w->k};

    size[1] = w->panels = (w->out_channels + rows - 1) / rows;
    w->a = dp_alloc(ctx, dp_sizes_product((uint64_t)w->class->bytes, size, 4));
    w->off = dp_alloc(ctx, dp_sizes_product(sizeof(*w->off), &w->k, 1));
    if (w->a == NULL || w->off == NULL)
        return DP_ERESOURCE;
    list_offsets(w);
    return dp_parallel_for(ctx, 0, w->groups * w->panels, WORTHWHILE / (rows * w->k + 1) + 1,
                           pack_panels, w);
}

/* -- columns -- */

/* Columns of a panel: runs of results that lie side by side in the planes. */
typedef struct panel {
    int n, columns;
    bool exact;                /* the end of memory is too near for whole runs */
    bool in_place;             /* dense in `to`: */
    char *c;                   /* there, of the group's first channel; else beside it */
    const char *from;          /* of the first column */
    int lane[RUNS], len[RUNS]; /* first column of each run, and how many */
    const void *run[RUNS];
    int64_t to[RUNS]; /* in elements, of channel 0 */
} panel;

/* Where result q of row `row` lies in the planes, and in `to`. */
static const char *place(const walk *w, int64_t row, int64_t q, int64_t *to)
{
    const conv_planes *p = &w->planes;
    int64_t h = row % p->axis[1].count, d = row / p->axis[1].count;
    int64_t n = w->first + d / p->axis[0].count;

    d %= p->axis[0].count;
    *to = n * w->to.outer + (w->begin[0] + d * w->stride[0]) * w->to.at[0] +
          (w->begin[1] + h * w->stride[1]) * w->to.at[1] +
          (w->begin[2] + q * w->stride[2]) * w->to.at[2];
    return p->data + (conv_planes_row(p, row) + q * p->axis[2].pace * p->at[2]) * w->class->bytes;
}

/* The runs of `columns` columns of an image, from `first` on. */
static void find_runs(const walk *w, int64_t image, int64_t first, int columns, panel *p)
{
    int64_t results = w->planes.axis[2].count, rows = image * w->planes.axis[1].count, none;
    int dense = 0;

    p->n = 0;
    p->columns = columns;
    p->from = place(w, rows + first / w->width, first % w->width, &none);
    for (int64_t at = first; at < first + columns; at += w->width - at % w->width) {
        int64_t q = at % w->width, left = least(results - q, first + columns - at);
        if (left <= 0)
            continue;
        p->lane[p->n] = (int)(at - first);
        p->len[p->n] = (int)left;
        p->run[p->n] = place(w, rows + at / w->width, q, &p->to[p->n]);
        dense += p->to[p->n] == p->to[0] + p->lane[p->n] ? (int)left : 0;
        p->n++;
    }
    p->in_place = w->direct && dense == columns;
    p->exact = !w->planes.copied && first + columns + w->class->lanes > w->columns;
}

/* `depth` rows of k from `k` on; memory behind the columns is not read. */
static void gather_exactly(const walk *w, const panel *p, int64_t group, int64_t k, int64_t depth,
                           char *to)
{
    int64_t bytes = w->class->bytes, base = group * w->in_channels * w->planes.channel;

    memset(to, 0, (size_t)(depth * w->class->lanes * bytes));
    for (int64_t i = 0; i < depth; i++, to += w->class->lanes * bytes)
        for (int r = 0; r < p->n; r++)
            memcpy(to + p->lane[r] * bytes,
                   (const char *)p->run[r] + (base + w->off[k + i]) * bytes,
                   (size_t)(p->len[r] * bytes));
}

static void gather(const walk *w, const panel *p, int64_t group, int64_t k, int64_t depth, char *to)
{
    const void *from[RUNS];

    if (w->spread)
        return;
    if (p->exact) {
        gather_exactly(w, p, group, k, depth, to);
        return;
    }
    for (int r = 0; r < p->n; r++)
        from[r] =
            (const char *)p->run[r] + group * w->in_channels * w->planes.channel * w->class->bytes;
    w->class->gather(to, depth, w->off + k, p->n, from, p->lane, p->len);
}

/* -- blocks -- */

/* A worker's memory: the panels of a block, rows of k, and the sums that are not in place. */
typedef struct room {
    panel *panels;
    char *b, *sums;
    int64_t panel_bytes; /* of b */
} room;

static int64_t round_up(int64_t bytes)
{
    return (bytes + 63) & ~(int64_t)63;
}

static int64_t panels_of_block(const walk *w)
{
    return w->block / w->class->lanes;
}

static int64_t panel_bytes(const walk *w)
{
    return round_up((DEPTH_BYTES / w->class->bytes + 1) * w->class->lanes * w->class->bytes);
}

static int make_rooms(dp_ctx *ctx, walk *w)
{
    int64_t n = panels_of_block(w), rows = w->out_channels + w->class->rows;
    uint64_t sums = dp_size_times((uint64_t)(w->block * w->class->bytes), (uint64_t)rows);

    return conv_rooms_init(
        ctx, &w->rooms,
        dp_size_plus(sums, (uint64_t)(round_up(n * (int64_t)sizeof(panel)) + n * panel_bytes(w))));
}

/* Where a tile of panel p is summed up, and how far apart its rows are. */
static char *tile_at(const walk *w, const panel *p, int64_t channel, int64_t *row)
{
    *row = p->in_place ? w->to.channel : w->block;
    return p->c + channel * *row * w->class->bytes;
}

/* One panel of weights by one panel of columns. */
static void multiply_tile(const walk *w, const room *r, int j, int64_t group, int64_t i, int64_t k,
                          int64_t depth)
{
    const conv_class *class = w->class;
    const panel *p = &r->panels[j];
    int rows = class->rows, vector = class->lanes / CONV_VECTORS * class->bytes;
    const char *a = w->a + ((group * w->panels + i) * w->k + k) * rows * class->bytes;
    const char *b = r->b + j * r->panel_bytes;
    const void *const vectors[] = {b, b + vector, b + 2 * vector};
    conv_tile t = {
        .rows = (int)least(w->out_channels - i * rows, rows), .lanes = p->columns, .fresh = k == 0};

    t.c = tile_at(w, p, i * rows, &t.c_row);
    if (w->bias && k == (w->apart ? w->k : 0))
        t.bias = w->bias + (group * w->out_channels + i * rows) * class->bytes;
    if (w->spread)
        class->tile_at(depth, a,
                       p->from + group * w->in_channels * w->planes.channel * class->bytes,
                       w->off + k, &t);
    else
        class->tile(depth, a, vectors, class->lanes, &t);
}

static void multiply(const walk *w, const room *r, int n, int64_t group, int64_t k, int64_t depth)
{
    for (int64_t i = 0; i < w->panels; i++)
        for (int j = 0; j < n; j++)
            multiply_tile(w, r, j, group, i, k, depth);
}

/* Sums that are beside `to`, to it. */
static void put_sums(const walk *w, const panel *p, int64_t group)
{
    int64_t bytes = w->packing->bytes;

    for (int i = 0; i < p->n; i++)
        w->dtype->narrow(w->to.data + (p->to[i] + group * w->out_channels * w->to.channel) * bytes,
                         w->to.channel, w->stride[2] * w->to.at[2],
                         p->c + p->lane[i] * w->class->bytes, w->block, w->out_channels, p->len[i]);
}

/* How many of k are multiplied together, from k on. */
static int64_t next_depth(const walk *w, int64_t k)
{
    int64_t left = w->apart ? w->in_channels - k % w->in_channels : w->k - k;
    return least(least(left, w->depth), w->k - k);
}

static void run_block(const void *user, int64_t item, char *memory, bool fresh)
{
    const walk *w = user;
    int64_t blocks = (w->per_image + w->block - 1) / w->block, group = item % w->groups;
    int64_t image = item / w->groups / blocks, first = item / w->groups % blocks * w->block;
    int64_t columns = least(w->per_image - first, w->block), bytes = w->class->bytes;
    int lanes = w->class->lanes, n = 0;
    room r = {(panel *)memory, memory + round_up(panels_of_block(w) * (int64_t)sizeof(panel)), NULL,
              panel_bytes(w)};

    (void)fresh;
    r.sums = r.b + panels_of_block(w) * r.panel_bytes;
    for (int64_t at = 0; at < columns; at += lanes, n++) {
        panel *p = &r.panels[n];
        find_runs(w, image, first + at, (int)least(columns - at, lanes), p);
        p->c = r.sums + at * bytes;
        if (p->in_place)
            p->c = w->to.data + (p->to[0] + group * w->out_channels * w->to.channel) * bytes;
    }
    for (int64_t k = 0, depth; k == 0 || k < w->k; k += depth) {
        depth = next_depth(w, k);
        for (int j = 0; j < n; j++)
            gather(w, &r.panels[j], group, k, depth, r.b + j * r.panel_bytes);
        multiply(w, &r, n, group, k, depth);
        if (w->k == 0)
            break;
    }
    if (w->apart && w->bias && w->k > 0)
        multiply(w, &r, n, group, w->k, 0);
    for (int j = 0; j < n; j++)
        if (!r.panels[j].in_place)
            put_sums(w, &r.panels[j], group);
}

/* -- a walk -- */

/* Parts of k, or of a tap's share of it, that are equally deep. */
static int64_t choose_depth(const walk *w)
{
    int64_t deep = DEPTH_BYTES / w->class->bytes, all = w->apart ? w->in_channels : w->k;
    int64_t parts = (all + deep - 1) / deep;
    return parts > 0 ? (all + parts - 1) / parts : 1;
}

/* Gather columns, or multiply what lies between rows, too?  By what both take, in cycles about. */
static void choose_columns(walk *w)
{
    enum { TILE_STEP = 12, RUN_STEP = 4 };
    const conv_axis *a = w->planes.axis;
    int64_t row = a[1].pace * w->planes.at[1], n = a[2].count;

    w->spread = w->planes.copied && a[2].pace == 1 && w->planes.at[2] == 1 && row >= n &&
                (row - n) * w->panels * TILE_STEP < (n + w->class->lanes) * RUN_STEP;
    w->width = w->spread ? row : n;
    w->images = w->spread ? w->samples * a[0].count : 1;
    w->per_image = w->spread ? (a[1].count - 1) * row + n : w->columns;
}

static int64_t count_blocks(const walk *w)
{
    return (w->per_image + w->block - 1) / w->block * w->images * w->groups;
}

/* What the busiest of some threads would have to do, over a fair share. */
static double find_load(const walk *w, int threads)
{
    double load[THREADS] = {0}, most = 0;
    int64_t all = count_blocks(w), blocks = all / w->images / w->groups;

    for (int64_t i = 0; i < all; i++) {
        int64_t left = w->per_image - i / w->groups % blocks * w->block;
        int idle = 0;
        for (int t = 1; t < threads; t++)
            idle = load[t] < load[idle] ? t : idle;
        load[idle] += (double)least(left, w->block);
        most = load[idle] > most ? load[idle] : most;
    }
    return most * threads / (double)(w->per_image * w->images * w->groups);
}

/* Smaller blocks where there are so few that a thread would wait for others. */
static void choose_block(walk *w)
{
    enum { MANY = 32 };
    const double fair = 1.1;
    int64_t lanes = w->class->lanes;

    w->block = BLOCK_COLUMNS / lanes * lanes;
    while (w->block > lanes && count_blocks(w) < MANY &&
           (find_load(w, 2) > fair || find_load(w, THREADS) > fair))
        w->block -= lanes;
}

static int run_blocks(dp_ctx *ctx, walk *w)
{
    choose_columns(w);
    choose_block(w);
    return conv_each(ctx, &w->rooms, count_blocks(w), run_block, w);
}

/* w is set but for what follows from it. */
static int run_walk(dp_ctx *ctx, walk *w)
{
    conv_axis *a = w->planes.axis;
    int64_t k[] = {w->in_channels, a[0].taps, a[1].taps, a[2].taps}, results = 1;
    uint64_t all = dp_sizes_product(1, k, 4);

    for (int s = 0; s < CONV_SPACE; s++)
        results *= a[s].count;
    if (results == 0)
        return 0;
    if (all > INT32_MAX)
        return dp_fail(ctx, DP_ERESOURCE, "a convolution whose sums are of more than %d products",
                       INT32_MAX);
    w->k = (int64_t)all;
    if (conv_is_pixelwise(w))
        return conv_run_pixelwise(ctx, w);
    if (conv_is_of_pixels(w))
        return conv_run_of_pixels(ctx, w);
    w->depth = choose_depth(w);
    int rc = conv_is_thin(w) ? conv_planes_cut(ctx, &w->planes, &w->cut)
                             : conv_planes_init(ctx, &w->planes, w->n, w->class->lanes, true);
    if (rc == 0)
        rc = pack_weights(ctx, w);
    if (conv_is_thin(w))
        return rc < 0 ? rc : conv_run_thin(ctx, w);
    for (w->first = 0; rc == 0 && w->first < w->n; w->first += w->planes.samples) {
        w->samples = least(w->n - w->first, w->planes.samples);
        w->columns = w->samples * results;
        rc = conv_planes_fill(ctx, &w->planes, w->first, w->samples);
        if (rc == 0)
            rc = run_blocks(ctx, w);
    }
    return rc;
}

/* What walks of a dtype have in common. */
static walk walk_of(dp_dtype dtype, const conv_shape *s, const conv_side *from, const conv_side *to,
                    int64_t in_channels, int64_t out_channels)
{
    const gemm_dtype *packing = &CPU_CHOSEN(gemm_dtypes)[dtype];
    walk w = {.class = &CPU_CHOSEN(conv_classes)[packing->class],
              .packing = packing,
              .dtype = &CPU_CHOSEN(conv_dtypes)[dtype],
              .n = s->n,
              .groups = s->groups,
              .in_channels = in_channels,
              .out_channels = out_channels,
              .to = *to};

    w.block = BLOCK_COLUMNS / w.class->lanes * w.class->lanes;
    w.planes.dtype = w.dtype;
    w.planes.from = *from;
    w.planes.bytes = packing->bytes;
    w.planes.class_bytes = w.class->bytes;
    w.planes.channels = s->groups * in_channels;
    w.planes.per_group = in_channels;
    return w;
}

/* Memory of workers, and for the taps of all axes. */
static int make_memory(dp_ctx *ctx, walk *w, const conv_shape *s)
{
    for (int i = 0; i < CONV_SPACE; i++) {
        w->planes.axis[i].off = dp_alloc(ctx, dp_sizes_product(sizeof(int64_t), &s->kernel[i], 1));
        w->tap[i] = dp_alloc(ctx, dp_sizes_product(sizeof(int64_t), &s->kernel[i], 1));
        if (w->planes.axis[i].off == NULL || w->tap[i] == NULL)
            return DP_ERESOURCE;
    }
    return make_rooms(ctx, w);
}

/* The bias in the class, with room for whole tiles. */
static int widen_bias(dp_ctx *ctx, walk *w, const void *bias)
{
    int64_t n = w->groups * w->out_channels;
    char *wide = bias ? dp_alloc(ctx, (size_t)((n + w->class->lanes) * w->class->bytes)) : NULL;

    if (bias && wide == NULL)
        return DP_ERESOURCE;
    if (bias)
        w->dtype->widen(wide, n, bias, n, 1, 1, n);
    w->bias = wide;
    return 0;
}

/* Columns of a side by which all is 1 wide lie one behind the other: one dimension then. */
static bool flat(const conv_side *a, const int64_t size[CONV_SPACE])
{
    return (size[1] == 1 || a->at[1] == size[2] * a->at[2]) &&
           (size[0] == 1 || a->at[0] == size[1] * size[2] * a->at[2]);
}

static conv_shape flattened(const conv_shape *s, const conv_side *x, const conv_side *y)
{
    conv_shape f = *s;

    for (int i = 0; i < CONV_SPACE; i++)
        if (s->kernel[i] != 1 || s->stride[i] != 1 || s->padding[i] != 0 || s->in[i] != s->out[i])
            return f;
    if (!flat(x, s->in) || !flat(y, s->out))
        return f;
    f.in[2] = f.out[2] = s->in[0] * s->in[1] * s->in[2];
    f.in[0] = f.in[1] = f.out[0] = f.out[1] = 1;
    return f;
}

int conv_forward(dp_ctx *ctx, dp_dtype dtype, const conv_shape *shape, const conv_side *x,
                 const conv_side *weight, const void *bias, const conv_side *y)
{
    const conv_shape s = flattened(shape, x, y);
    walk w = walk_of(dtype, &s, x, y, s.in_channels, s.out_channels);
    int rc = make_memory(ctx, &w, &s);

    w.w = *weight;
    w.w_group = s.out_channels * weight->outer;
    w.direct = y->at[2] == 1 && w.packing->bytes == w.class->bytes;
    w.by_channel = y->channel != 1; /* PyTorch's order, in the last bits */
    for (int i = 0; rc == 0 && i < CONV_SPACE; i++) {
        conv_axis *a = &w.planes.axis[i];
        a->in = s.in[i], a->count = s.out[i], a->step = s.stride[i], a->taps = s.kernel[i];
        w.stride[i] = 1;
        for (int64_t t = 0; t < a->taps; t++) {
            w.tap[i][t] = t;
            a->off[t] = t * s.dilation[i] - s.padding[i];
        }
    }
    if (rc == 0)
        rc = widen_bias(ctx, &w, bias);
    return rc < 0 ? rc : run_walk(ctx, &w);
}

/* The taps that reach the positions of x that leave `r` when divided by the stride. */
static void reach(walk *w, const conv_shape *s, int i, int64_t r)
{
    conv_axis *a = &w->planes.axis[i];
    int64_t stride = s->stride[i];

    a->in = s->out[i], a->step = 1, a->taps = 0, a->low = 0;
    a->count = r < s->in[i] ? (s->in[i] - r + stride - 1) / stride : 0;
    w->begin[i] = r;
    w->stride[i] = stride;
    for (int64_t t = 0; t < s->kernel[i]; t++) {
        int64_t at = r + s->padding[i] - t * s->dilation[i];
        if (at % stride != 0)
            continue;
        a->off[a->taps] = at / stride;
        w->tap[i][a->taps++] = t;
    }
}

int conv_input(dp_ctx *ctx, dp_dtype dtype, const conv_shape *shape, const conv_side *y,
               const conv_side *weight, const void *bias, bool apart, const conv_side *x)
{
    const conv_shape s = flattened(shape, x, y);
    walk all = walk_of(dtype, &s, y, x, s.out_channels, s.in_channels);
    int rc = make_memory(ctx, &all, &s);
    int64_t n = 1, by[CONV_SPACE];

    all.apart = apart;
    all.w = *weight;
    all.w.outer = weight->channel, all.w.channel = weight->outer;
    all.w_group = s.out_channels * weight->outer;
    for (int i = 0; i < CONV_SPACE; i++)
        n *= by[i] = least(s.stride[i], s.in[i]);
    if (rc == 0)
        rc = widen_bias(ctx, &all, bias);
    for (int64_t r = 0; rc == 0 && r < n; r++) {
        walk w = all;
        reach(&w, &s, 0, r / by[2] / by[1]);
        reach(&w, &s, 1, r / by[2] % by[1]);
        reach(&w, &s, 2, r % by[2]);
        w.direct = x->at[2] == 1 && w.stride[2] == 1 && w.packing->bytes == w.class->bytes;
        rc = run_walk(ctx, &w);
    }
    return rc;
}
