/* window.c -- axes of windows, and the walk over a result's rows (window.h). */
#include "window.h"
#include <string.h>

enum {
    WORTHWHILE = 16384, /* elements read that are worth a thread */
    SLOTS_MAX = 64,     /* pieces of work, each with a row of its own */
    ROOM_BYTES = 64 << 20,
    CHUNK = 8192 /* elements of a result's row that are made at once */
};

/* -- axes -- */

int wn_windows(dp_ctx *ctx, wn_axis *a, int64_t in, int64_t n)
{
    *a = (wn_axis){.in = in, .out = n, .step = 1, .hop = 1};
    a->begin = dense_array(ctx, n, 2 * sizeof(int64_t));
    a->count = a->begin + n;
    return a->begin ? 0 : DP_ERESOURCE;
}

int wn_taps(dp_ctx *ctx, wn_axis *a, int64_t in, int64_t n, int64_t taps, size_t bytes)
{
    int rc = wn_windows(ctx, a, in, n);

    if (rc < 0)
        return rc;
    a->list = dense_array(ctx, taps, sizeof(int32_t));
    if (bytes > 0)
        a->weights = dense_array(ctx, taps, bytes);
    return a->list && (bytes == 0 || a->weights) ? 0 : DP_ERESOURCE;
}

int wn_places(dp_ctx *ctx, wn_axis *a, int64_t in, int64_t n)
{
    int rc = wn_taps(ctx, a, in, n, n, 0);

    for (int64_t o = 0; rc == 0 && o < n; o++) {
        a->begin[o] = o;
        a->count[o] = 1;
    }
    return rc;
}

/* Are the windows at o and at the next place of its phase alike? */
static bool repeats(const wn_axis *a, int64_t o, int64_t period)
{
    return a->count[o] == a->count[o + period] && a->begin[o + period] - a->begin[o] == a->by;
}

/* Grows [from, to) from the middle, where windows are not cut off, for the shortest period that serves half of
 * the places. */
void wn_seal(wn_axis *a)
{
    a->from = a->to = 0;
    for (a->period = 1; a->period <= WN_PERIOD && 2 * a->period <= a->out; a->period++) {
        int64_t p = a->period, middle = (a->out - p) / 2;
        a->by = a->begin[middle + p] - a->begin[middle];
        a->from = middle + 1;
        a->to = middle;
        while (a->to + p < a->out && repeats(a, a->to, p))
            a->to++;
        while (a->from > 0 && repeats(a, a->from - 1, p))
            a->from--;
        a->to += p;
        if (2 * (a->to - a->from) > a->out)
            return;
    }
    a->from = a->to = 0;
}

int wn_same(dp_ctx *ctx, wn_axis *a, int64_t n)
{
    int rc = wn_windows(ctx, a, n, n);

    for (int64_t o = 0; rc == 0 && o < n; o++) {
        a->begin[o] = o;
        a->count[o] = 1;
    }
    if (rc == 0)
        wn_seal(a);
    return rc;
}

static void turn_windows(const wn_axis *a, wn_axis *t)
{
    int64_t begin = 0, end = 0;

    for (int64_t i = 0; i < a->in; i++) {
        while (begin < a->out && a->begin[begin] + a->count[begin] <= i)
            begin++;
        while (end < a->out && a->begin[end] <= i)
            end++;
        t->begin[i] = begin;
        t->count[i] = end > begin ? end - begin : 0;
    }
    wn_seal(t);
}

static void turn_list(const wn_axis *a, size_t bytes, wn_axis *t)
{
    int64_t at = 0;

    memset(t->count, 0, (size_t)a->in * sizeof(int64_t));
    for (int64_t o = 0; o < a->out; o++)
        for (int64_t k = 0; k < a->count[o]; k++)
            t->count[a->list[a->begin[o] + k * a->hop]]++;
    for (int64_t i = 0; i < a->in; at += t->count[i], i++)
        t->begin[i] = at;
    memset(t->count, 0, (size_t)a->in * sizeof(int64_t));
    for (int64_t o = 0; o < a->out; o++)
        for (int64_t k = 0; k < a->count[o]; k++) {
            int64_t tap = a->begin[o] + k * a->hop, i = a->list[tap];
            int64_t to = t->begin[i] + t->count[i]++;
            t->list[to] = (int32_t)o;
            if (bytes > 0)
                memcpy((char *)t->weights + (size_t)to * bytes,
                       (const char *)a->weights + (size_t)tap * bytes, bytes);
        }
}

int wn_turned(dp_ctx *ctx, const wn_axis *a, size_t bytes, wn_axis *turned)
{
    int64_t taps = 0;

    bytes = a->weights ? bytes : 0;
    for (int64_t o = 0; a->list && o < a->out; o++)
        taps += a->count[o];
    int rc = a->list ? wn_taps(ctx, turned, a->out, a->in, taps, bytes)
                     : wn_windows(ctx, turned, a->out, a->in);
    if (rc < 0)
        return rc;
    if (a->list)
        turn_list(a, bytes, turned);
    else
        turn_windows(a, turned);
    return 0;
}

/* -- running -- */

typedef struct walk {
    const wn_job *job;
    const wn_loops *loops;
    size_t bytes; /* of an element */
    int64_t slots, units, chunks, chunk;
    int64_t all[2];
    int64_t *low, *high; /* [chunks] the places of the input that a chunk depends on */
    int64_t row_bytes;   /* of the room for one row */
    char *room;          /* [slots] */
} walk;

static int64_t place_of(const wn_axis *a, int64_t o, int64_t k)
{
    return a->list ? a->list[a->begin[o] + k * a->hop] : a->begin[o] + k * a->step;
}

static double weight_of(const walk *w, const wn_axis *a, int64_t o, int64_t k)
{
    if (a->weights == NULL)
        return 1;
    int64_t at = a->begin[o] + k * a->hop;
    return w->bytes == sizeof(float) ? ((const float *)a->weights)[at]
                                     : ((const double *)a->weights)[at];
}

/* The rows that row (z, y) of the result depends on, as one in `room`; or the only one as it is. */
static void gather_rows(const walk *w, const wn_axis *axes, int64_t z, int64_t y, const char *x,
                        int64_t low, int64_t len, char *room, wn_row *r)
{
    const wn_axis *depth = &axes[WN_DEPTH], *height = &axes[WN_HEIGHT];
    int64_t pitch = axes[WN_WIDTH].in * w->job->inner * (int64_t)w->bytes;
    int64_t nz = depth->count[z], ny = height->count[y];
    bool weighed = depth->weights || height->weights, maximum = w->job->index != NULL;
    const char *rows[WN_ROWS];
    double weights[WN_ROWS];
    int64_t ids[WN_ROWS];
    char *which = room + w->row_bytes / 2;
    int64_t begin = low * w->job->inner * (int64_t)w->bytes, done = 0;
    int n = 0;

    r->x = room - begin;
    r->which = maximum ? which - begin : NULL;
    r->first = depth->begin[z] * height->in + height->begin[y];
    if (nz * ny == 1 && !weighed) {
        r->first = place_of(depth, z, 0) * height->in + place_of(height, y, 0);
        r->x = x + r->first * pitch;
        r->which = NULL;
        return;
    }
    for (int64_t i = 0; i < nz; i++)
        for (int64_t j = 0; j < ny; j++) {
            ids[n] = place_of(depth, z, i) * height->in + place_of(height, y, j);
            weights[n] = weighed ? weight_of(w, depth, z, i) * weight_of(w, height, y, j) : 1;
            rows[n] = x + ids[n] * pitch + begin;
            if (++n < WN_ROWS && done + n < nz * ny)
                continue;
            if (maximum)
                w->loops->max_rows(room, which, rows, ids, n, len, done == 0);
            else
                w->loops->add_rows(room, rows, weighed ? weights : NULL, n, len, done == 0);
            done += n;
            n = 0;
        }
    if (nz * ny == 0 && maximum)
        w->loops->no_row(room, which, r->first, len);
    else if (nz * ny == 0)
        memset(room, 0, (size_t)len * w->bytes);
}

static int64_t divisor(const wn_axis *a, int64_t o)
{
    return a->divide && a->divide[o] ? a->divide[o] : 1;
}

static void make_row(const walk *w, int64_t unit, char *room)
{
    const wn_job *job = w->job;
    int64_t chunk = unit % w->chunks, row = unit / w->chunks;
    const wn_axis *axes = job->axes;
    int64_t rows = axes[WN_DEPTH].out * axes[WN_HEIGHT].out, plane = row / rows;
    int64_t y = row % axes[WN_HEIGHT].out, z = row / axes[WN_HEIGHT].out % axes[WN_DEPTH].out;
    axes += plane * WN_AXES * job->by_plane;
    const wn_axis *width = &axes[WN_WIDTH];
    int64_t in = axes[WN_DEPTH].in * axes[WN_HEIGHT].in * width->in * job->inner;
    int64_t at = row * width->out * job->inner, left = width->out - chunk * w->chunk;
    wn_row r = {.axis = width,
                .row_places = width->in,
                .from = chunk * w->chunk,
                .inner = job->inner,
                .divide = divisor(&axes[WN_DEPTH], z) * divisor(&axes[WN_HEIGHT], y),
                .y = job->y + at * (int64_t)w->bytes,
                .index = job->index ? job->index + at : NULL};

    r.to = r.from + (left < w->chunk ? left : w->chunk);
    gather_rows(w, axes, z, y, job->x + plane * in * (int64_t)w->bytes, w->low[chunk],
                (w->high[chunk] - w->low[chunk]) * job->inner, room, &r);
    if (job->index)
        w->loops->max_places(&r);
    else
        w->loops->add_places(&r);
}

static void run_slots(int64_t begin, int64_t end, void *user)
{
    const walk *w = user;

    for (int64_t slot = begin; slot < end; slot++) {
        int64_t each = w->units / w->slots, more = w->units % w->slots;
        int64_t first = slot * each + (slot < more ? slot : more);
        for (int64_t u = first; u < first + each + (slot < more); u++)
            make_row(w, u, w->room + slot * w->row_bytes);
    }
}

/* What of the input each chunk depends on; all of it where planes differ. */
static int find_chunks(dp_ctx *ctx, walk *w, int64_t *widest)
{
    const wn_axis *a = &w->job->axes[WN_WIDTH];

    w->low = w->all;
    w->high = w->all + 1;
    *widest = w->all[1] = a->in;
    if (w->chunks == 1)
        return 0;
    w->low = dense_array(ctx, w->chunks, 2 * sizeof(int64_t));
    if (w->low == NULL)
        return DP_ERESOURCE;
    w->high = w->low + w->chunks;
    *widest = 0;
    for (int64_t c = 0; c < w->chunks; c++) {
        int64_t end = (c + 1) * w->chunk < a->out ? (c + 1) * w->chunk : a->out;
        w->low[c] = a->in;
        w->high[c] = 0;
        for (int64_t o = c * w->chunk; o < end; o++)
            for (int64_t k = 0; k < a->count[o]; k += a->list || k == 0 ? 1 : a->count[o] - 1) {
                int64_t place = place_of(a, o, k);
                w->low[c] = place < w->low[c] ? place : w->low[c];
                w->high[c] = place >= w->high[c] ? place + 1 : w->high[c];
                if (a->list == NULL && k == a->count[o] - 1)
                    break;
            }
        if (w->high[c] < w->low[c])
            w->low[c] = w->high[c] = 0;
        *widest = w->high[c] - w->low[c] > *widest ? w->high[c] - w->low[c] : *widest;
    }
    return 0;
}

static double mean_count(const wn_axis *a)
{
    double sum = 0;
    for (int64_t o = 0; o < a->out; o++)
        sum += (double)a->count[o];
    return a->out ? sum / (double)a->out : 0;
}

/* The rooms: a row of sums, or of maxima and of numbers of rows as wide. */
static int make_room(dp_ctx *ctx, walk *w, int64_t widest, double work)
{
    enum { ALIGN = 64 };
    double slots = work / WORTHWHILE;
    int64_t row[2] = {widest, w->job->inner};
    uint64_t bytes = dp_sizes_product(w->bytes, row, 2);

    if (bytes > INT64_MAX / 4)
        return dp_fail(ctx, DP_ERESOURCE, "a row of %" PRId64 " x %" PRId64 " elements", row[0],
                       row[1]);
    w->row_bytes = 2 * ((int64_t)(bytes + ALIGN) & ~(int64_t)(ALIGN - 1));
    w->slots = slots < SLOTS_MAX ? (int64_t)slots : SLOTS_MAX;
    if (w->slots > ROOM_BYTES / w->row_bytes)
        w->slots = ROOM_BYTES / w->row_bytes;
    if (w->slots > w->units)
        w->slots = w->units;
    if (w->slots < 1)
        w->slots = 1;
    w->room = dp_alloc(ctx, (size_t)(w->slots * w->row_bytes));
    return w->room ? 0 : DP_ERESOURCE;
}

int wn_run(dp_ctx *ctx, const wn_job *job)
{
    const wn_axis *depth = &job->axes[WN_DEPTH], *height = &job->axes[WN_HEIGHT],
                  *width = &job->axes[WN_WIDTH];
    int type = job->dtype == DP_FLOAT32 ? WN_F32 : job->dtype == DP_FLOAT64 ? WN_F64 : WN_I64;
    int64_t rows[] = {job->planes, depth->out, height->out}, widest = 0;
    walk w = {.job = job, .loops = &CPU_CHOSEN(wn_types)[type]};

    w.bytes = dp_dtype_size(job->dtype);
    if (dp_sizes_product(1, rows, 3) == 0 || width->out == 0 || job->inner == 0)
        return 0;
    if (job->index && dp_size_times((uint64_t)depth->in, (uint64_t)height->in) > INT32_MAX)
        return dp_fail(ctx, DP_ERESOURCE,
                       "a maximum over %" PRId64 " x %" PRId64
                       " rows is more than are told apart (%d)",
                       depth->in, height->in, INT32_MAX);
    w.chunk = job->by_plane || width->out * job->inner <= CHUNK ? width->out
              : job->inner < CHUNK                              ? CHUNK / job->inner
                                                                : 1;
    w.chunks = (width->out + w.chunk - 1) / w.chunk;
    w.units = job->planes * depth->out * height->out * w.chunks;
    int rc = find_chunks(ctx, &w, &widest);
    double taps = mean_count(depth) * mean_count(height) + mean_count(width);
    if (rc == 0)
        rc = make_room(ctx, &w, widest,
                       (taps + 1) * (double)w.units * (double)w.chunk * (double)job->inner);
    return rc < 0 ? rc : dp_parallel_for(ctx, 0, w.slots, 1, run_slots, &w);
}
