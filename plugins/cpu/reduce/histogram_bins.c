/* histogram_bins.c -- counting of points in the bins of a histogram
 * (aten/src/ATen/native/cpu/HistogramKernel.cpp). */
#include "histogram_bins.h"
#include "lib/poll.h"
#include "core/pack.h"
#include <dispatchd/dtypes.h>
#include <string.h>

enum {
    /* greatest number of parts of the points; each part has a histogram of its own */
    SLOTS = 16,
    SLOT_POINTS = 8192, /* least number of points in a part */
    SLOT_SHARE = 4,     /* least ratio of a part's points to the bins of the histogram */
    STEPS = 8,          /* cost of one point for poll_stops() (poll.h) */
};

/* Each intermediate result is rounded to the points' dtype, as ATen rounds it. */
#define COUNTED(X) DP_DTYPES_FLOATING(X) DP_DTYPES_BFLOAT16(X)

#define COUNT(name, dtype, memory, value, load, store)                                             \
    static int64_t above_##name(const memory *edges, int64_t begin, int64_t end, value x)          \
    {                                                                                              \
        while (begin < end) {                                                                      \
            int64_t mid = begin + (end - begin) / 2;                                               \
            if (load(edges[mid]) > x)                                                              \
                end = mid;                                                                         \
            else                                                                                   \
                begin = mid + 1;                                                                   \
        }                                                                                          \
        return begin;                                                                              \
    }                                                                                              \
    /* Return the bin of x in dimension d; -1: x is in no bin. */                                  \
    static int64_t bin_##name(const binning *c, int d, value x)                                    \
    {                                                                                              \
        const memory *edges = c->edges[d];                                                         \
        int64_t n = c->n_edges[d], at;                                                             \
        value first = load(edges[0]), last = load(edges[n - 1]);                                   \
        if (x < first || x > last ||                                                               \
            (x != x && c->method != BINS_SEARCH)) /* PyTorch puts NaN into a bin there */          \
            return -1;                                                                             \
        if (c->method == BINS_SEARCH) {                                                            \
            at = above_##name(edges, 0, n, x) - 1;                                                 \
            return at == n - 1 ? at - 1 : at;                                                      \
        }                                                                                          \
        value share = load(store(load(store(x - first)) / load(store(last - first))));             \
        share = load(store(share * load(store((value)(n - 1)))));                                  \
        at = share >= 0 && share < (value)n ? (int64_t)share : n - 1;                              \
        if (c->method == BINS_LINEAR_LOCAL)                                                        \
            at = above_##name(edges, at > 1 ? at - 1 : 0, at + 2 < n ? at + 2 : n, x) - 1;         \
        return at == n - 1 ? at - 1 : at;                                                          \
    }                                                                                              \
    static void count_##name(int64_t begin, int64_t end, void *user)                               \
    {                                                                                              \
        const binning *c = user;                                                                   \
        const memory *points = c->points, *weights = c->weights;                                   \
        for (int64_t slot = begin; slot < end; slot++) {                                           \
            memory *counts = (memory *)c->counts + slot * c->bins;                                 \
            int64_t each = c->n / c->slots, from = slot * each;                                    \
            int64_t to = slot == c->slots - 1 ? c->n : from + each;                                \
            poll p = {0};                                                                          \
            for (int64_t i = from; i < to && !poll_stops(&p, STEPS); i++) {                        \
                int64_t at = 0, bin = 0;                                                           \
                for (int d = 0; bin >= 0 && d < c->dims; d++) {                                    \
                    bin = bin_##name(c, d, load(points[i * c->dims + d]));                         \
                    at += bin * c->steps[d];                                                       \
                }                                                                                  \
                if (bin >= 0)                                                                      \
                    counts[at] = store(load(counts[at]) + (weights ? load(weights[i]) : 1));       \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static void add_##name(const binning *c)                                                       \
    {                                                                                              \
        memory *sum = c->counts;                                                                   \
        for (int64_t slot = 1; slot < c->slots; slot++)                                            \
            for (int64_t i = 0; i < c->bins; i++)                                                  \
                sum[i] = store(load(sum[i]) + load(sum[slot * c->bins + i]));                      \
    }
COUNTED(COUNT)

static const struct {
    dp_range_fn count;
    void (*add)(const binning *c);
} loops[DP_DTYPE_END] = {
#define LOOPS(name, dtype, ...) [dtype] = {count_##name, add_##name},
    COUNTED(LOOPS)};

int bins_count(dp_ctx *ctx, binning *c, dp_tensor *hist)
{
    DP_VIEW(h, hist);
    size_t size = dp_dtype_size(h.dtype);
    pack p = {.ctx = ctx, .device = h.device};
    dp_tensor *made = NULL;

    if (h.numel == 0 || dp_memoryless(ctx))
        return 0;
    c->bins = h.numel;
    c->slots = h.dtype == DP_BFLOAT16 ? 1 : c->n / SLOT_POINTS;
    if (c->slots > c->n / SLOT_SHARE / c->bins)
        c->slots = c->n / SLOT_SHARE / c->bins;
    c->slots = c->slots < 1 ? 1 : c->slots > SLOTS ? SLOTS : c->slots;
    c->counts = pack_array(&p, c->bins, size * (size_t)c->slots);
    void *packed = pack_new(&p, h.dtype, h.ndim, h.sizes, &made);
    if (p.rc < 0)
        return pack_end(&p);
    dp_zero_n(c->counts, dp_size_times(c->bins, c->slots), size);
    for (int d = c->dims - 1; d >= 0; d--)
        c->steps[d] = d == c->dims - 1 ? 1 : c->steps[d + 1] * (c->n_edges[d + 1] - 1);
    p.rc = dp_parallel_for(ctx, 0, c->slots, 1, loops[h.dtype].count, c);
    if (p.rc < 0)
        return pack_end(&p);
    loops[h.dtype].add(c);
    dp_copy_n(packed, c->counts, (size_t)h.numel, size);
    p.rc = dp_copy(ctx, hist, made);
    return pack_end(&p);
}
