/* window.h -- results in which each element is a sum or a maximum over some elements of an input,
 * its taps: pooling, upsampling, and the gradients of both and of padding.  Each axis has its own
 * list of taps.  window.c loops over the rows of a result, levels/window.c has the loops over a
 * row.
 *
 * A row of a result is computed in two steps: the input rows on which it depends are reduced to one
 * row, and then each element of the result is reduced from elements of that row.  The order of sums
 * depends only on the shapes, so the sums have the same bits for any number of threads. */
#ifndef CPU_WINDOW_H
#define CPU_WINDOW_H

#include "core/isa.h"
#include "space.h"

/* Windows of taps: tap k of element o has index begin[o] + k * step. */
typedef struct wn_strides {
    int64_t step;
    /* For elements o and o + period in [from, to), the windows have the same number of taps, and
     * the second window begins `by` after the first. */
    int64_t from, to, by, period;
} wn_strides;

/* Listed taps: tap k of element o has index list[begin[o] + k * hop]. */
typedef struct wn_list {
    int32_t *list;
    /* 1; or the axis's `out`, if all elements have the same number of taps and begin[o] is o */
    int64_t hop;
    void *weights; /* weights of the entries of `list`, in the type of the sums; NULL: all 1 */
    /* elements [from, to) have one tap each, of weight 1; the indices of these taps are ascending
     * neighbours */
    int64_t from, to;
} wn_list;

/* The taps of each element of a result along one axis.  The dispatcher frees the arrays when the
 * running operator call ends. */
typedef struct wn_axis {
    int64_t in, out; /* sizes of the input and of the result */
    int64_t *begin;  /* [out], see wn_strides and wn_list */
    int64_t *count;  /* [out] number of taps of each element */
    int64_t *divide; /* [out] divisors of the sums, 0 counts as 1; NULL: no division */
    bool is_list;    /* `taps` is set, not `windows` */
    union {
        wn_strides windows;
        wn_list taps;
    };
} wn_axis;

/* Return the weights of listed taps; NULL: all are 1. */
static inline void *wn_weights(const wn_axis *a)
{
    return a->is_list ? a->taps.weights : NULL;
}

enum { WN_DEPTH, WN_HEIGHT, WN_WIDTH, WN_AXES };
enum { WN_ROWS = 4 };   /* greatest number of rows that are reduced at a time */
enum { WN_PERIOD = 4 }; /* greatest wn_strides.period */
enum { WN_FEW = 16 };   /* greatest number of elements of a window that max_few() can reduce */

/* arguments to compute the elements [from, to) of one row of a result from one row */
typedef struct wn_row {
    const wn_axis *axis; /* the axis along the row */
    const char *x;       /* element 0 of the row that is read */
    const char *which;   /* for maxima: the index of the input row of each element of x, or NULL */
    int64_t first;       /* for maxima: the index of the first input row */
    int64_t row_places;  /* for maxima: elements of an input row */
    char *y;
    int64_t *index; /* for maxima: indices in the plane */
    int64_t from, to;
    int64_t inner;  /* neighbouring numbers at each index (space_inner) */
    int64_t divide; /* sums are divided by this times axis->divide */
} wn_row;

/* the input rows [n] of a row of maxima: addresses of their element 0, and indices of the rows */
typedef struct wn_lines {
    const char *rows[WN_FEW];
    int64_t ids[WN_FEW];
    int n;
} wn_lines;

/* The loops for one type of elements.  `which` has int32 indices if the elements are float32, int64
 * indices if they are float64.  add_places() and max_places() compute the elements of a wn_row.
 * For int64 elements, the members for maxima and no_row are NULL. */
typedef struct wn_loops {
    /* set acc [len] to the sum of n <= WN_ROWS rows, times weights if they are given; `first`
     * false: add to acc */
    void (*add_rows)(char *acc, const char *const *rows, const double *weights, int n, int64_t len,
                     bool first);
    void (*add_places)(const wn_row *r);
    /* set best [len] to the maxima of n <= WN_ROWS rows and, unless `first`, of the old `best`; set
     * which [len] to the indices, from `ids`, of the rows that have the maxima */
    void (*max_rows)(char *best, char *which, const char *const *rows, const int64_t *ids, int n,
                     int64_t len, bool first);
    void (*max_places)(const wn_row *r);
    /* set best [len] to the maxima over no rows, -infinity, and which [len] to `id` */
    void (*no_row)(char *best, char *which, int64_t id, int64_t len);
    void (*max_few)(const wn_row *r, const wn_lines *w); /* windows of at most WN_FEW elements */
} wn_loops;

enum { WN_F32, WN_F64, WN_I64, WN_TYPES };
DP_ISA_TABLE(wn_loops, wn_types)

/* Make an axis of n windows.  The caller sets `begin` and `count`, and then calls wn_seal().
 * DP_ERESOURCE: over a memory limit. */
int wn_windows(dp_ctx *ctx, wn_axis *a, int64_t in, int64_t n);
/* Make an axis with `n` elements and space for `taps` listed taps.  A weight has `bytes` bytes; 0:
 * there are no weights. */
int wn_taps(dp_ctx *ctx, wn_axis *a, int64_t in, int64_t n, int64_t taps, size_t bytes);
/* Find the period of a's windows, and set the members of a->windows except `step`. */
void wn_seal(wn_axis *a);
/* Make an axis in which each element has itself as its only tap. */
int wn_same(dp_ctx *ctx, wn_axis *a, int64_t n);
/* Make the transposed axis, for gradients: the taps of input element i are the elements of the
 * result that have i as a tap.  `bytes` is the size of a weight; if `a` has no weights, it is not
 * used.  If `a` has windows, their step must be 1, and their begins and ends must be ascending. */
int wn_transposed(dp_ctx *ctx, const wn_axis *a, size_t bytes, wn_axis *transposed);

/* A computation of `y` and, for maxima, of their indices, from the contiguous input `x`.  x has
 * `planes` planes; a plane has `inner` neighbouring numbers at each position (space_inner). */
typedef struct wn_job {
    const wn_axis *axes; /* [WN_AXES] */
    int64_t planes, inner;
    dp_dtype dtype; /* float32, float64; int64 for sums */
    const char *x;
    char *y;
    int64_t *index; /* indices of the maxima; NULL: sums are computed instead of maxima */
    /* the axes of plane p begin at axes + p * WN_AXES * by_plane */
    int64_t by_plane;
} wn_job;

/* Run a job.  Errors: DP_ERESOURCE, and those of dp_parallel_for(). */
int wn_run(dp_ctx *ctx, const wn_job *job);

/* Set each element of `y` to the element of `x` at its tap.  The axes have one listed tap per
 * element; an element has `bytes` bytes.  Errors: those of dp_parallel_for(). */
int wn_copy(dp_ctx *ctx, const wn_axis *axes, int64_t planes, int64_t bytes, const char *x,
            char *y);
/* Make an axis of `n` elements with one listed tap each; the caller sets the list. */
int wn_places(dp_ctx *ctx, wn_axis *a, int64_t in, int64_t n);

#endif
