/* window.c -- the loop over the rows of a result whose elements are sums or maxima over windows
 * (window.h). */
#include "window.h"

enum {
    WORTHWHILE = 16384, /* number of elements read that take longer than waking a thread */
    FEW_ALONE = 4,      /* like WN_FEW, but if `inner` is 1 */
    SLOTS_MAX = 64, /* greatest number of parts of the work, each with scratch memory for a row */
    ROOM_BYTES = 64 << 20,
    SIDE_BY_SIDE = 32, /* greatest number of planes that are interleaved */
    SHORT = 16,        /* greatest number of elements of a row that is too short for vectors */
    SMALL = 1024,      /* greatest number of elements of a plane that is interleaved with others */
    CHUNK = 8192       /* number of elements of a result's row that are computed at a time */
};

typedef struct walk {
    const wn_job *job;
    const wn_loops *loops;
    size_t bytes; /* bytes of an element */
    int64_t slots, units, chunks, chunk;
    bool few; /* the computation is maxima over windows of few elements (max_few) */
    int64_t all[2];
    int64_t *low, *high; /* [chunks] range of the input on which each chunk of a row depends */
    int64_t row_bytes;   /* bytes of the scratch memory for one row */
    int64_t room_bytes;  /* bytes of all scratch memory of a part: rows, and interleaved planes */
    char *room;          /* scratch memory [slots] */
    /* number of planes that are interleaved, so that short rows fill vectors; else 1 */
    int64_t beside;
    int64_t in, out; /* elements of a plane of the input, of the result */
} walk;

static int64_t place_of(const wn_axis *a, int64_t o, int64_t k)
{
    return a->is_list ? a->taps.list[a->begin[o] + k * a->taps.hop]
                      : a->begin[o] + k * a->windows.step;
}

static double weight_of(const walk *w, const wn_axis *a, int64_t o, int64_t k)
{
    if (wn_weights(a) == NULL)
        return 1;
    int64_t at = a->begin[o] + k * a->taps.hop;
    return w->bytes == sizeof(float) ? ((const float *)a->taps.weights)[at]
                                     : ((const double *)a->taps.weights)[at];
}

/* Reduce the input rows on which row (z, y) of the result depends to one row in `room`; if there is
 * only one, use it in place. */
static void gather_rows(const walk *w, const wn_axis *axes, int64_t z, int64_t y, const char *x,
                        int64_t low, int64_t len, char *room, wn_row *r)
{
    const wn_axis *depth = &axes[WN_DEPTH], *height = &axes[WN_HEIGHT];
    int64_t pitch = axes[WN_WIDTH].in * w->job->inner * (int64_t)w->bytes;
    int64_t nz = depth->count[z], ny = height->count[y];
    bool weighed = wn_weights(depth) || wn_weights(height), maximum = w->job->index != NULL;
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
        dp_zero_n(room, (size_t)len, w->bytes);
}

/* Compute maxima over windows of few elements. */
static void max_few(const walk *w, const wn_axis *axes, int64_t z, int64_t y, const char *x,
                    wn_row *r)
{
    const wn_axis *depth = &axes[WN_DEPTH], *height = &axes[WN_HEIGHT];
    int64_t pitch = axes[WN_WIDTH].in * w->job->inner * (int64_t)w->bytes;
    wn_lines lines = {.ids = {depth->begin[z] * height->in + height->begin[y]}};

    for (int64_t i = 0; i < depth->count[z]; i++)
        for (int64_t j = 0; j < height->count[y]; j++, lines.n++) {
            int64_t id = place_of(depth, z, i) * height->in + place_of(height, y, j);
            lines.ids[lines.n] = id;
            lines.rows[lines.n] = x + id * pitch;
        }
    w->loops->max_few(r, &lines);
}

static int64_t divisor(const wn_axis *a, int64_t o)
{
    return a->divide && a->divide[o] ? a->divide[o] : 1;
}

/* position of a row of the result, or of a chunk of it */
typedef struct spot {
    int64_t plane, z, y, chunk;
} spot;

static void make_row(const walk *w, spot s, char *room)
{
    const wn_job *job = w->job;
    const wn_axis *axes = job->axes + s.plane * WN_AXES * job->by_plane, *width = &axes[WN_WIDTH];
    int64_t in = axes[WN_DEPTH].in * axes[WN_HEIGHT].in * width->in * job->inner;
    int64_t row = (s.plane * axes[WN_DEPTH].out + s.z) * axes[WN_HEIGHT].out + s.y;
    int64_t at = row * width->out * job->inner, left = width->out - s.chunk * w->chunk;
    const char *x = job->x + s.plane * in * (int64_t)w->bytes;
    wn_row r = {.axis = width,
                .row_places = width->in,
                .from = s.chunk * w->chunk,
                .inner = job->inner,
                .divide = divisor(&axes[WN_DEPTH], s.z) * divisor(&axes[WN_HEIGHT], s.y),
                .y = job->y + at * (int64_t)w->bytes,
                .index = job->index ? job->index + at : NULL};

    r.to = r.from + (left < w->chunk ? left : w->chunk);
    if (w->few) {
        max_few(w, axes, s.z, s.y, x, &r);
        return;
    }
    gather_rows(w, axes, s.z, s.y, x, w->low[s.chunk],
                (w->high[s.chunk] - w->low[s.chunk]) * job->inner, room, &r);
    if (job->index)
        w->loops->max_places(&r);
    else
        w->loops->add_places(&r);
}

/* Compute rows, or chunks of rows, [unit, end). */
static void make_rows(const walk *w, int64_t unit, int64_t end, char *room)
{
    int64_t depth = w->job->axes[WN_DEPTH].out, height = w->job->axes[WN_HEIGHT].out;
    int64_t row = unit / w->chunks;
    spot s = {row / height / depth, row / height % depth, row % height, unit % w->chunks};

    for (; unit < end; unit++) {
        make_row(w, s, room);
        if (++s.chunk < w->chunks)
            continue;
        s.chunk = 0;
        if (++s.y < height)
            continue;
        s.y = 0;
        if (++s.z < depth)
            continue;
        s.z = 0;
        s.plane++;
    }
}

/* Define the interleaving of the elements of n planes, or, if x is interleaved, the inverse. */
#define BESIDE(T)                                                                                  \
    static void beside_##T(const T *restrict x, int64_t n, int64_t places, bool back,              \
                           T *restrict y)                                                          \
    {                                                                                              \
        for (int64_t p = 0; back && p < n; p++)                                                    \
            for (int64_t i = 0; i < places; i++)                                                   \
                y[p * places + i] = x[i * n + p];                                                  \
        for (int64_t i = 0; !back && i < places; i++)                                              \
            for (int64_t p = 0; p < n; p++)                                                        \
                y[i * n + p] = x[p * places + i];                                                  \
    }
BESIDE(uint32_t)
BESIDE(uint64_t)

static void bring_beside(size_t bytes, const void *x, int64_t n, int64_t places, bool back, void *y)
{
    if (bytes == sizeof(uint32_t))
        beside_uint32_t(x, n, places, back, y);
    else
        beside_uint64_t(x, n, places, back, y);
}

/* Compute group `u` of planes with short rows. */
static void make_planes(const walk *w, int64_t u, char *room)
{
    const wn_job *job = w->job;
    int64_t first = u * w->beside, bytes = (int64_t)w->bytes;
    wn_job own = *job;
    walk one = *w;

    one.job = &own;
    own.inner = job->planes - first < w->beside ? job->planes - first : w->beside;
    own.y = room + w->row_bytes;
    own.index = job->index ? (int64_t *)(own.y + w->beside * w->out * bytes) : NULL;
    char *x = own.y + w->beside * w->out * (bytes + (int64_t)sizeof(int64_t));
    bring_beside(w->bytes, job->x + first * w->in * bytes, own.inner, w->in, false, x);
    own.x = x;
    make_rows(&one, 0, own.axes[WN_DEPTH].out * own.axes[WN_HEIGHT].out, room);
    bring_beside(w->bytes, own.y, own.inner, w->out, true, job->y + first * w->out * bytes);
    if (job->index)
        beside_uint64_t((uint64_t *)own.index, own.inner, w->out, true,
                        (uint64_t *)job->index + first * w->out);
}

static void run_slots(int64_t begin, int64_t end, void *user)
{
    const walk *w = user;

    for (int64_t slot = begin; slot < end; slot++) {
        int64_t each = w->units / w->slots, more = w->units % w->slots;
        int64_t first = slot * each + (slot < more ? slot : more), last = first + each;
        char *room = w->room + slot * w->room_bytes;
        last += slot < more;
        if (w->beside == 1)
            make_rows(w, first, last, room);
        for (int64_t u = first; w->beside > 1 && u < last; u++)
            make_planes(w, u, room);
    }
}

/* Find the range of the input that each chunk reads; it is the whole axis if planes differ. */
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
            for (int64_t k = 0; k < a->count[o]; k += a->is_list || k == 0 ? 1 : a->count[o] - 1) {
                int64_t place = place_of(a, o, k);
                w->low[c] = place < w->low[c] ? place : w->low[c];
                w->high[c] = place >= w->high[c] ? place + 1 : w->high[c];
                if (!a->is_list && k == a->count[o] - 1)
                    break;
            }
        if (w->high[c] < w->low[c])
            w->low[c] = w->high[c] = 0;
        *widest = w->high[c] - w->low[c] > *widest ? w->high[c] - w->low[c] : *widest;
    }
    return 0;
}

static int64_t most_count(const wn_axis *a)
{
    int64_t most = 0;
    for (int64_t o = 0; o < a->out; o++)
        most = a->count[o] > most ? a->count[o] : most;
    return most;
}

/* Test whether all maxima are over few elements, whose indices fit in an int32. */
static bool has_few(const wn_job *job, bool alone)
{
    const wn_axis *depth = &job->axes[WN_DEPTH], *height = &job->axes[WN_HEIGHT],
                  *width = &job->axes[WN_WIDTH];

    return job->index && !job->by_plane && !width->is_list &&
           (double)depth->in * (double)height->in * (double)width->in < INT32_MAX &&
           (double)most_count(depth) * (double)most_count(height) * (double)most_count(width) <=
               (alone ? FEW_ALONE : WN_FEW);
}

static double mean_count(const wn_axis *a)
{
    double sum = 0;
    for (int64_t o = 0; o < a->out; o++)
        sum += (double)a->count[o];
    return a->out ? sum / (double)a->out : 0;
}

static int64_t count_beside(const wn_job *job, int64_t in, int64_t out)
{
    bool small = job->axes[WN_WIDTH].out < SHORT && in <= SMALL && out <= SMALL;
    return job->inner == 1 && !job->by_plane && small && job->planes >= SIDE_BY_SIDE / 4
               ? SIDE_BY_SIDE
               : 1;
}

static int64_t places_of(const wn_job *job, bool out)
{
    int64_t n = 1;
    for (int d = 0; d < WN_AXES; d++)
        n *= out ? job->axes[d].out : job->axes[d].in;
    return n;
}

/* Allocate the scratch memory: a row of sums, or of maxima and of their row indices. */
static int make_room(dp_ctx *ctx, walk *w, int64_t widest, double work)
{
    enum { ALIGN = 64 };
    double slots = work / WORTHWHILE;
    int64_t row[2] = {widest, w->job->inner * w->beside};
    uint64_t bytes = dp_sizes_product(w->bytes, row, 2);

    if (bytes > INT64_MAX / 4)
        return dp_fail(ctx, DP_ERESOURCE, "a row of %" PRId64 " x %" PRId64 " elements", row[0],
                       row[1]);
    w->row_bytes = 2 * ((int64_t)(bytes + ALIGN) & ~(int64_t)(ALIGN - 1));
    w->room_bytes = w->row_bytes;
    if (w->beside > 1)
        w->room_bytes += w->beside * ((w->in + w->out) * (int64_t)w->bytes +
                                      w->out * (int64_t)sizeof(*w->job->index));
    w->slots = slots < SLOTS_MAX ? (int64_t)slots : SLOTS_MAX;
    if (w->slots > ROOM_BYTES / w->room_bytes)
        w->slots = ROOM_BYTES / w->room_bytes;
    if (w->slots > w->units)
        w->slots = w->units;
    if (w->slots < 1)
        w->slots = 1;
    w->room = dp_alloc_n(ctx, (size_t)w->slots, (size_t)w->room_bytes);
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
    w.in = places_of(job, false);
    w.out = places_of(job, true);
    w.beside = count_beside(job, w.in, w.out);
    w.units = w.beside > 1 ? (job->planes + w.beside - 1) / w.beside
                           : job->planes * depth->out * height->out * w.chunks;
    int rc = find_chunks(ctx, &w, &widest);
    w.few = has_few(job, job->inner * w.beside == 1);
    double taps = mean_count(depth) * mean_count(height) + mean_count(width);
    if (rc == 0)
        rc = make_room(ctx, &w, widest,
                       (taps + 1) * (double)w.out * (double)job->planes * (double)job->inner);
    return rc < 0 ? rc : dp_parallel_for(ctx, 0, w.slots, 1, run_slots, &w);
}
