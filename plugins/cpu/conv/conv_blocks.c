/* conv_blocks.c -- convolution of blocks of columns, which are multiplied with panels of weights.
 *
 * The results of all samples are flattened to columns, so that small images also fill vectors.  A
 * block of columns is one unit of work.  Its rows, one for each k = (channel, tap), are gathered
 * from planes (conv.h), a part of k at a time, and multiplied with the packed weights.  A panel of
 * columns that is contiguous in the output is accumulated in the output, other panels in scratch
 * memory. */
#include "conv_walk.h"
#include <string.h>

enum {
    BLOCK_COLUMNS = 144, /* approximate number of columns of a block */
    /* approximate bytes of a column that are multiplied at a time, so that panels stay in a core's
     * cache */
    DEPTH_BYTES = 2560,
    RUNS = BLOCK_COLUMNS, /* greatest number of runs of a panel; each run has at least one column */
    /* if there are few blocks, they are balanced for this number of threads */
    THREADS = 4,
};

/* -- columns -- */

/* Columns of a panel, cut into runs of results that are contiguous in the planes. */
typedef struct panel {
    int n, columns;
    bool exact; /* the planes end too soon after the panel to copy whole vectors */
    /* the columns are contiguous in the output; sums are added up there */
    bool in_place;
    /* address of the sums of the group's first channel: in the output or in scratch memory */
    char *c;
    const char *from;          /* address of the first column in the planes */
    int lane[RUNS], len[RUNS]; /* first column of each run; number of columns of each run */
    const void *run[RUNS];
    int64_t to[RUNS]; /* offset of each run in the output's channel 0, in elements */
} panel;

/* Return the address in the planes of result `q` of row `row`, and set *to to its offset in the
 * output. */
static const char *place(const conv_walk *w, int64_t row, int64_t q, int64_t *to)
{
    const conv_planes *p = &w->planes;
    int64_t h = row % p->axis[1].count, d = row / p->axis[1].count;
    int64_t n = w->pass.first + d / p->axis[0].count;

    d %= p->axis[0].count;
    *to = n * w->op.to.outer + (w->op.begin[0] + d * w->op.stride[0]) * w->op.to.at[0] +
          (w->op.begin[1] + h * w->op.stride[1]) * w->op.to.at[1] +
          (w->op.begin[2] + q * w->op.stride[2]) * w->op.to.at[2];
    return p->data +
           (conv_planes_row(p, row) + q * p->axis[2].pace * p->at[2]) * w->loops.class->bytes;
}

/* Set *p to the panel of `columns` columns of an image, from column `first` on. */
static void find_runs(const conv_walk *w, int64_t image, int64_t first, int columns, panel *p)
{
    int64_t results = w->planes.axis[2].count, rows = image * w->planes.axis[1].count, none;
    int dense = 0;

    p->n = 0;
    p->columns = columns;
    p->from = place(w, rows + first / w->blocks.width, first % w->blocks.width, &none);
    for (int64_t at = first; at < first + columns; at += w->blocks.width - at % w->blocks.width) {
        int64_t q = at % w->blocks.width, left = conv_least(results - q, first + columns - at);
        if (left <= 0)
            continue;
        p->lane[p->n] = (int)(at - first);
        p->len[p->n] = (int)left;
        p->run[p->n] = place(w, rows + at / w->blocks.width, q, &p->to[p->n]);
        dense += p->to[p->n] == p->to[0] + p->lane[p->n] ? (int)left : 0;
        p->n++;
    }
    p->in_place = w->op.accumulate_in_output && dense == columns;
    p->exact = !w->planes.copied && first + columns + w->loops.class->lanes > w->pass.columns;
}

/* Gather `depth` rows of the matrix, from row `k` on, without reading the memory after the last
 * column. */
static void gather_exactly(const conv_walk *w, const panel *p, int64_t group, int64_t k,
                           int64_t depth, char *to)
{
    int64_t bytes = w->loops.class->bytes, base = group * w->op.in_channels * w->planes.channel;

    dp_zero_n(to, dp_size_times(depth, w->loops.class->lanes), (size_t)bytes);
    for (int64_t i = 0; i < depth; i++, to += w->loops.class->lanes * bytes)
        for (int r = 0; r < p->n; r++)
            dp_copy_n(to + p->lane[r] * bytes,
                      (const char *)p->run[r] + (base + w->packed.offsets[k + i]) * bytes,
                      (size_t)p->len[r], (size_t)bytes);
}

static void gather(const conv_walk *w, const panel *p, int64_t group, int64_t k, int64_t depth,
                   char *to)
{
    const void *from[RUNS];

    if (w->blocks.spread)
        return;
    if (p->exact) {
        gather_exactly(w, p, group, k, depth, to);
        return;
    }
    for (int r = 0; r < p->n; r++)
        from[r] = (const char *)p->run[r] +
                  group * w->op.in_channels * w->planes.channel * w->loops.class->bytes;
    w->loops.class->gather(to, depth, w->packed.offsets + k, p->n, from, p->lane, p->len);
}

/* -- blocks -- */

/* scratch memory of a worker: the panels of a block, gathered rows, and sums that are not added up
 * in the output */
typedef struct room {
    panel *panels;
    char *b, *sums;
    int64_t panel_bytes; /* bytes of a panel in `b` */
} room;

static int64_t round_up(int64_t bytes)
{
    return (bytes + 63) & ~(int64_t)63;
}

static int64_t panels_of_block(const conv_walk *w)
{
    return w->blocks.size / w->loops.class->lanes;
}

static int64_t panel_bytes(const conv_walk *w)
{
    return round_up((DEPTH_BYTES / w->loops.class->bytes + 1) * w->loops.class->lanes *
                    w->loops.class->bytes);
}

int conv_block_rooms(dp_ctx *ctx, conv_walk *w)
{
    w->blocks.size = BLOCK_COLUMNS / w->loops.class->lanes * w->loops.class->lanes;
    int64_t n = panels_of_block(w), rows = w->op.out_channels + w->loops.class->rows;
    uint64_t sums =
        dp_size_times((uint64_t)(w->blocks.size * w->loops.class->bytes), (uint64_t)rows);

    return conv_rooms_init(
        ctx, &w->blocks.rooms,
        dp_size_plus(sums, (uint64_t)(round_up(n * (int64_t)sizeof(panel)) + n * panel_bytes(w))));
}

/* Return the address of the sums of panel `p` from output channel `channel` on, and set *row to the
 * stride of channels. */
static char *tile_at(const conv_walk *w, const panel *p, int64_t channel, int64_t *row)
{
    *row = p->in_place ? w->op.to.channel : w->blocks.size;
    return p->c + channel * *row * w->loops.class->bytes;
}

/* Multiply one panel of weights by one panel of columns. */
static void multiply_tile(const conv_walk *w, const room *r, int j, int64_t group, int64_t i,
                          int64_t k, int64_t depth)
{
    const conv_class *class = w->loops.class;
    const panel *p = &r->panels[j];
    int rows = class->rows, vector = class->lanes / CONV_VECTORS * class->bytes;
    const char *a =
        w->packed.data + ((group * w->packed.panels + i) * w->packed.k + k) * rows * class->bytes;
    const char *b = r->b + j * r->panel_bytes;
    const void *const vectors[] = {b, b + vector, b + 2 * vector};
    conv_tile t = {.rows = (int)conv_least(w->op.out_channels - i * rows, rows),
                   .lanes = p->columns,
                   .fresh = k == 0};

    t.c = tile_at(w, p, i * rows, &t.c_row);
    if (w->op.bias && k == (w->op.separate_taps ? w->packed.k : 0))
        t.bias = w->op.bias + (group * w->op.out_channels + i * rows) * class->bytes;
    if (w->blocks.spread)
        class->tile_at(depth, a,
                       p->from + group * w->op.in_channels * w->planes.channel * class->bytes,
                       w->packed.offsets + k, &t);
    else
        class->tile(depth, a, vectors, class->lanes, &t);
}

static void multiply(const conv_walk *w, const room *r, int n, int64_t group, int64_t k,
                     int64_t depth)
{
    for (int64_t i = 0; i < w->packed.panels; i++)
        for (int j = 0; j < n; j++)
            multiply_tile(w, r, j, group, i, k, depth);
}

/* Convert the sums of panel `p` to elements of the output. */
static void put_sums(const conv_walk *w, const panel *p, int64_t group)
{
    int64_t bytes = w->loops.packing->bytes;

    for (int i = 0; i < p->n; i++)
        w->loops.dtype->narrow(
            w->op.to.data + (p->to[i] + group * w->op.out_channels * w->op.to.channel) * bytes,
            w->op.to.channel, w->op.stride[2] * w->op.to.at[2],
            p->c + p->lane[i] * w->loops.class->bytes, w->blocks.size, w->op.out_channels,
            p->len[i]);
}

/* Return the number of rows of the matrix that are multiplied together, from row `k` on. */
static int64_t next_depth(const conv_walk *w, int64_t k)
{
    int64_t left =
        w->op.separate_taps ? w->op.in_channels - k % w->op.in_channels : w->packed.k - k;
    return conv_least(conv_least(left, w->blocks.depth), w->packed.k - k);
}

static void run_block(const void *user, int64_t item, char *memory, bool fresh)
{
    const conv_walk *w = user;
    int64_t blocks = (w->blocks.per_image + w->blocks.size - 1) / w->blocks.size,
            group = item % w->op.groups;
    int64_t image = item / w->op.groups / blocks,
            first = item / w->op.groups % blocks * w->blocks.size;
    int64_t columns = conv_least(w->blocks.per_image - first, w->blocks.size),
            bytes = w->loops.class->bytes;
    int lanes = w->loops.class->lanes, n = 0;
    room r = {(panel *)memory, memory + round_up(panels_of_block(w) * (int64_t)sizeof(panel)), NULL,
              panel_bytes(w)};

    (void)fresh;
    r.sums = r.b + panels_of_block(w) * r.panel_bytes;
    for (int64_t at = 0; at < columns; at += lanes, n++) {
        panel *p = &r.panels[n];
        find_runs(w, image, first + at, (int)conv_least(columns - at, lanes), p);
        p->c = r.sums + at * bytes;
        if (p->in_place)
            p->c =
                w->op.to.data + (p->to[0] + group * w->op.out_channels * w->op.to.channel) * bytes;
    }
    for (int64_t k = 0, depth; k == 0 || k < w->packed.k; k += depth) {
        depth = next_depth(w, k);
        for (int j = 0; j < n; j++)
            gather(w, &r.panels[j], group, k, depth, r.b + j * r.panel_bytes);
        multiply(w, &r, n, group, k, depth);
        if (w->packed.k == 0)
            break;
    }
    if (w->op.separate_taps && w->op.bias && w->packed.k > 0)
        multiply(w, &r, n, group, w->packed.k, 0);
    for (int j = 0; j < n; j++)
        if (!r.panels[j].in_place)
            put_sums(w, &r.panels[j], group);
}

/* Split all rows of the matrix (with separate_taps, the rows of one tap) into parts of nearly equal
 * depth, and return the depth. */
int64_t conv_block_depth(const conv_walk *w)
{
    int64_t deep = DEPTH_BYTES / w->loops.class->bytes,
            all = w->op.separate_taps ? w->op.in_channels : w->packed.k;
    int64_t parts = (all + deep - 1) / deep;
    return parts > 0 ? (all + parts - 1) / parts : 1;
}

/* Choose between gathering columns and, with w->blocks.spread, also multiplying the positions
 * between rows, by an estimate of the cycles that each of them takes. */
static void choose_columns(conv_walk *w)
{
    enum { TILE_STEP = 12, RUN_STEP = 4 };
    const conv_axis *a = w->planes.axis;
    int64_t row = a[1].pace * w->planes.at[1], n = a[2].count;

    w->blocks.spread =
        w->planes.copied && a[2].pace == 1 && w->planes.at[2] == 1 && row >= n &&
        (row - n) * w->packed.panels * TILE_STEP < (n + w->loops.class->lanes) * RUN_STEP;
    w->blocks.width = w->blocks.spread ? row : n;
    w->blocks.images = w->blocks.spread ? w->pass.samples * a[0].count : 1;
    w->blocks.per_image = w->blocks.spread ? (a[1].count - 1) * row + n : w->pass.columns;
}

static int64_t count_blocks(const conv_walk *w)
{
    return (w->blocks.per_image + w->blocks.size - 1) / w->blocks.size * w->blocks.images *
           w->op.groups;
}

/* Return the work of the busiest of `threads` threads divided by an equal share; 1 is the best. */
static double find_load(const conv_walk *w, int threads)
{
    double load[THREADS] = {0}, most = 0;
    int64_t all = count_blocks(w), blocks = all / w->blocks.images / w->op.groups;

    for (int64_t i = 0; i < all; i++) {
        int64_t left = w->blocks.per_image - i / w->op.groups % blocks * w->blocks.size;
        int idle = 0;
        for (int t = 1; t < threads; t++)
            idle = load[t] < load[idle] ? t : idle;
        load[idle] += (double)conv_least(left, w->blocks.size);
        most = load[idle] > most ? load[idle] : most;
    }
    return most * threads / (double)(w->blocks.per_image * w->blocks.images * w->op.groups);
}

/* Choose the number of columns of a block: smaller blocks, if there are so few blocks that threads
 * would wait for one another. */
static void choose_block(conv_walk *w)
{
    enum { MANY = 32 };
    const double fair = 1.1;
    int64_t lanes = w->loops.class->lanes;

    w->blocks.size = BLOCK_COLUMNS / lanes * lanes;
    while (w->blocks.size > lanes && count_blocks(w) < MANY &&
           (find_load(w, 2) > fair || find_load(w, THREADS) > fair))
        w->blocks.size -= lanes;
}

int conv_run_blocks(dp_ctx *ctx, conv_walk *w)
{
    choose_columns(w);
    choose_block(w);
    return conv_each(ctx, &w->blocks.rooms, count_blocks(w), run_block, w);
}
