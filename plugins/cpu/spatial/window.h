/* window.h -- results whose elements are sums or maxima over places of an input, axis by axis:
 * pooling, resampling, and the gradients of both and of padding.  window.c walks the rows of a
 * result, levels/window.c has the loops.
 *
 * A row of a result is made in two steps: the rows of the input that it depends on become one row,
 * then each of its elements is brought together from places of that.  The order of sums depends on
 * the shapes alone, so they have the same bits on any number of threads. */
#ifndef CPU_WINDOW_H
#define CPU_WINDOW_H

#include "core/isa.h"
#include "space.h"

/* Windows: tap k of place o is begin[o] + k * step. */
typedef struct wn_strides {
    int64_t step;
    /* among places [from, to) those that are `period` apart have equally many taps, and begin `by`
     * apart */
    int64_t from, to, by, period;
} wn_strides;

/* Listed taps: tap k of place o is list[begin[o] + k * hop]. */
typedef struct wn_list {
    int32_t *list;
    int64_t hop;      /* 1, or `out`: then begin[o] is o, and every place has as many taps */
    void *weights;    /* as list, of the type that is computed in; NULL: all are 1 */
    int64_t from, to; /* places [from, to) have one tap each, side by side, weight 1 */
} wn_list;

/* What each place of a result along one axis is made of: places of the input, its taps.  Arrays are
 * request memory. */
typedef struct wn_axis {
    int64_t in, out; /* sizes */
    int64_t *begin;  /* [out] */
    int64_t *count;  /* [out] */
    int64_t *divide; /* [out] what a sum is divided by, 0 is taken for 1; NULL: nothing */
    bool is_list;
    union {
        wn_strides windows;
        wn_list taps; /* if `is_list` */
    };
} wn_axis;

/* The weights of listed taps; NULL: all are 1. */
static inline void *wn_weights(const wn_axis *a)
{
    return a->is_list ? a->taps.weights : NULL;
}

enum { WN_DEPTH, WN_HEIGHT, WN_WIDTH, WN_AXES };
enum { WN_ROWS = 4 };   /* rows that are brought together at a time */
enum { WN_PERIOD = 4 }; /* the longest */
enum { WN_FEW = 16 };   /* places of a window that is not made in two steps */

/* One row of a result, from place `from` to `to`. */
typedef struct wn_row {
    const wn_axis *axis;
    const char *x;      /* the input's row, from its place 0 */
    const char *which;  /* of maxima: the number of the row that each element is from */
    int64_t first;      /* of maxima: the first row's number */
    int64_t row_places; /* of maxima: how far rows are from one another */
    char *y;
    int64_t *index;
    int64_t from, to;
    int64_t inner;  /* elements at each place */
    int64_t divide; /* sums are divided by this times axis->divide */
} wn_row;

/* The rows of the input that a row of maxima depends on, from their place 0, and their numbers. */
typedef struct wn_lines {
    const char *rows[WN_FEW];
    int64_t ids[WN_FEW];
    int n;
} wn_lines;

/* The loops for a type.  `which` is of int32 for float32, of int64 for float64. */
typedef struct wn_loops {
    /* acc [len] gets the sum of n <= WN_ROWS rows, times weights if there are any; or that is
     * added */
    void (*add_rows)(char *acc, const char *const *rows, const double *weights, int n, int64_t len,
                     bool first);
    void (*add_places)(const wn_row *r);
    /* best [len] gets the greatest of n <= WN_ROWS rows, and of itself unless they are the first;
     * the row's number, of ids, is noted for it */
    void (*max_rows)(char *best, char *which, const char *const *rows, const int64_t *ids, int n,
                     int64_t len, bool first);
    void (*max_places)(const wn_row *r);
    void (*no_row)(char *best, char *which, int64_t id, int64_t len); /* where no row is */
    void (*max_few)(const wn_row *r, const wn_lines *w); /* windows of up to WN_FEW places */
} wn_loops;

enum { WN_F32, WN_F64, WN_I64, WN_TYPES };
DP_ISA_TABLE(wn_loops, wn_types)

/* An axis of n windows: begin and count are to be filled in, then wn_seal() called.
 * DP_ERESOURCE. */
int wn_windows(dp_ctx *ctx, wn_axis *a, int64_t in, int64_t n);
/* An axis with n places and `taps` in its list, with weights of `bytes` each (0: none). */
int wn_taps(dp_ctx *ctx, wn_axis *a, int64_t in, int64_t n, int64_t taps, size_t bytes);
void wn_seal(wn_axis *a);
/* Every place is itself. */
int wn_same(dp_ctx *ctx, wn_axis *a, int64_t n);
/* What each place of the input is part of, for gradients.  a's windows begin in ascending order and
 * end so, if it has no list. */
int wn_turned(dp_ctx *ctx, const wn_axis *a, size_t bytes, wn_axis *turned);

/* y, and index of a maximum, where x has `planes` of inner elements at each place of axes' in,
 * packed. */
typedef struct wn_job {
    const wn_axis *axes; /* [WN_AXES] */
    int64_t planes, inner;
    dp_dtype dtype; /* float32, float64; int64 for sums */
    const char *x;
    char *y;
    int64_t *index; /* NULL: sums */
    /* of plane p, axes + p * WN_AXES * by_plane */
    int64_t by_plane;
} wn_job;

/* Errors: DP_ERESOURCE, and those of dp_parallel_for(). */
int wn_run(dp_ctx *ctx, const wn_job *job);

/* y, whose every place is one of x's: the axes have a list with one tap for each.  `bytes` lie at a
 * place.  Errors: those of dp_parallel_for(). */
int wn_copy(dp_ctx *ctx, const wn_axis *axes, int64_t planes, int64_t bytes, const char *x,
            char *y);
/* An axis with one tap for each of n places: its list is to be filled in. */
int wn_places(dp_ctx *ctx, wn_axis *a, int64_t in, int64_t n);

#endif
