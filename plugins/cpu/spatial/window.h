/* window.h -- results whose elements are sums or maxima over elements of an input, axis by axis:
 * pooling, resampling, and the gradients of both and of padding.  window.c loops over the rows of a
 * result, levels/window.c has the loops over a row.
 *
 * A row of a result is computed in two steps: the input rows on which it depends are reduced to one
 * row, and then each element of the result is reduced from elements of that row.  The order of sums
 * depends only on the shapes, so the sums have the same bits for any number of threads. */
#ifndef CPU_WINDOW_H
#define CPU_WINDOW_H

#include "core/isa.h"
#include "space.h"

/* Windows: tap k of element o is begin[o] + k * step. */
typedef struct wn_strides {
    int64_t step;
    /* among elements [from, to), those that are `period` apart have equally many taps, and their
     * windows begin `by` apart */
    int64_t from, to, by, period;
} wn_strides;

/* Listed taps: tap k of element o is list[begin[o] + k * hop]. */
typedef struct wn_list {
    int32_t *list;
    /* 1, or `out`: then begin[o] is o, and all elements have the same number of taps */
    int64_t hop;
    void *weights; /* like `list`, of the type in which is computed; NULL: all are 1 */
    /* elements [from, to) have one tap each, with neighbouring inputs and weight 1 */
    int64_t from, to;
} wn_list;

/* The input elements (taps) of each element of a result along one axis.  The arrays are allocated
 * in the memory of the call. */
typedef struct wn_axis {
    int64_t in, out; /* sizes */
    int64_t *begin;  /* [out] */
    int64_t *count;  /* [out] */
    int64_t *divide; /* [out] divisors of the sums, 0 counts as 1; NULL: no division */
    bool is_list;
    union {
        wn_strides windows;
        wn_list taps; /* if `is_list` */
    };
} wn_axis;

/* Return the weights of listed taps; NULL: all are 1. */
static inline void *wn_weights(const wn_axis *a)
{
    return a->is_list ? a->taps.weights : NULL;
}

enum { WN_DEPTH, WN_HEIGHT, WN_WIDTH, WN_AXES };
enum { WN_ROWS = 4 };   /* most rows that are reduced at a time */
enum { WN_PERIOD = 4 }; /* longest period */
enum { WN_FEW = 16 };   /* most elements of a window that is reduced in one step */

/* Arguments to compute the elements from `from` to `to` of one row of a result. */
typedef struct wn_row {
    const wn_axis *axis;
    const char *x;      /* the input's row, from its element 0 */
    const char *which;  /* for maxima: the index of the input row of each element */
    int64_t first;      /* for maxima: the index of the first input row */
    int64_t row_places; /* for maxima: distance between rows */
    char *y;
    int64_t *index;
    int64_t from, to;
    int64_t inner;  /* inner elements of each element */
    int64_t divide; /* sums are divided by this times axis->divide */
} wn_row;

/* The input rows of a row of maxima, from their element 0, and the indices of the rows. */
typedef struct wn_lines {
    const char *rows[WN_FEW];
    int64_t ids[WN_FEW];
    int n;
} wn_lines;

/* The loops for a type.  `which` is int32 for float32, int64 for float64. */
typedef struct wn_loops {
    /* set acc [len] to the sum of n <= WN_ROWS rows, times weights if they are given; `first`
     * false: add to acc */
    void (*add_rows)(char *acc, const char *const *rows, const double *weights, int n, int64_t len,
                     bool first);
    void (*add_places)(const wn_row *r);
    /* set best [len] to the maximum of n <= WN_ROWS rows and, if `first` is false, of itself;
     * `which` gets the row's index from `ids` */
    void (*max_rows)(char *best, char *which, const char *const *rows, const int64_t *ids, int n,
                     int64_t len, bool first);
    void (*max_places)(const wn_row *r);
    void (*no_row)(char *best, char *which, int64_t id, int64_t len); /* set maxima without rows */
    void (*max_few)(const wn_row *r, const wn_lines *w); /* windows of at most WN_FEW elements */
} wn_loops;

enum { WN_F32, WN_F64, WN_I64, WN_TYPES };
DP_ISA_TABLE(wn_loops, wn_types)

/* Make an axis of n windows.  The caller sets `begin` and `count`, and then calls wn_seal().
 * DP_ERESOURCE: over a memory limit. */
int wn_windows(dp_ctx *ctx, wn_axis *a, int64_t in, int64_t n);
/* Make an axis with n elements and `taps` listed taps, with weights of `bytes` bytes each (0: no
 * weights). */
int wn_taps(dp_ctx *ctx, wn_axis *a, int64_t in, int64_t n, int64_t taps, size_t bytes);
void wn_seal(wn_axis *a);
/* Make an axis in which each element has itself as its only tap. */
int wn_same(dp_ctx *ctx, wn_axis *a, int64_t n);
/* Make the transposed axis for gradients: the elements of the result that read each element of the
 * input.  Without a list, both begins and ends of a's windows must be ascending. */
int wn_transposed(dp_ctx *ctx, const wn_axis *a, size_t bytes, wn_axis *transposed);

/* A computation of y, and of the index of a maximum, from the contiguous input x, which has
 * `planes` planes with inner elements at each index of the axes' `in`. */
typedef struct wn_job {
    const wn_axis *axes; /* [WN_AXES] */
    int64_t planes, inner;
    dp_dtype dtype; /* float32, float64; int64 for sums */
    const char *x;
    char *y;
    int64_t *index; /* NULL: sums instead of maxima */
    /* plane p has the axes + p * WN_AXES * by_plane */
    int64_t by_plane;
} wn_job;

/* Run a job.  Errors: DP_ERESOURCE, and those of dp_parallel_for(). */
int wn_run(dp_ctx *ctx, const wn_job *job);

/* Copy elements of x to y.  The axes have a list with one tap per element; an element has `bytes`
 * bytes.  Errors: those of dp_parallel_for(). */
int wn_copy(dp_ctx *ctx, const wn_axis *axes, int64_t planes, int64_t bytes, const char *x,
            char *y);
/* Make an axis with one tap per element, of n elements; the caller sets the list. */
int wn_places(dp_ctx *ctx, wn_axis *a, int64_t in, int64_t n);

#endif
