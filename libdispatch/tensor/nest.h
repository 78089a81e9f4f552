/* nest.h -- loop nests over raw host memory, and iterators while they are built. */
#ifndef DPI_NEST_H
#define DPI_NEST_H

#include "room.h"
#include <dispatchd/iter.h>

/* -- strided.c -- */
/* A loop nest over raw host memory; dimension 0 is the innermost. */
typedef struct dpi_nest {
    int n_ops, ndim; /* ndim >= 1 */
    int64_t numel;
    int64_t *sizes;   /* [ndim] */
    int64_t *strides; /* [ndim][n_ops] bytes */
    char *data[DP_ITER_OPERANDS_MAX];
    /* so many operands are of a reduction: dimensions where their stride is 0 are inside */
    int n_reduced;
} dpi_nest;
/* Sort the nest's dimensions by the operands' strides, the smallest innermost; perm [ndim] says
 * where each was before.  Strides of 0 do not count.  linear: the order stays, but for reductions.
 * True: the order was right already. */
bool dpi_nest_order(dpi_nest *nest, int *perm, bool linear);
/* Merge neighbouring dimensions that lie one after the other in memory. */
void dpi_nest_coalesce(dpi_nest *nest);
/* Run the loop over elements [begin, end), in runs along dimension 0. */
void dpi_nest_run(const dpi_nest *nest, int64_t begin, int64_t end, dp_iter_loop loop, void *user);

/* -- transpose.c: nests of two operands, what is written and what is read, that copy.c made -- */
/* The dimension that is innermost in what is read; 0: the one that is in what is written. */
int dpi_nest_source_inner(const dpi_nest *nest);
/* Copy all of it, by tiles of dimension 0 and `across`, not 0.  past: dpi_goes_past(), and the
 * elements that are written lie one after the other. */
int dpi_copy_transposed(const dpi_nest *nest, int source_inner, dp_dtype to, dp_dtype from,
                        bool uncached, int threads, const dpi_stop *stop);

/* -- iter*.c: what is known of an iterator while it is built -- */
typedef struct dpi_iter_plan {
    const dp_iter_config *c;
    dp_iter *it;
    bool fake;           /* outputs become fakes */
    dp_account *account; /* pays for them */
    bool same_shape;     /* all operands that keep their shape have the loop's */
    bool dtypes_differ;  /* own and seen differ for some operand */
    int ndim;
    const int64_t *shape; /* [ndim] of the loop, before dimensions are sorted and merged */
    int out_ndim;
    const int64_t *out_shape; /* [out_ndim] of the outputs: the loop's but in reductions */
    uint32_t resize;          /* bit k: output k is given another shape */
    /* [n] of operand k, which exists and keeps its shape; NULL: an output still to be allocated
     * or resized */
    const dpi_geometry **geometry;
    dp_tensor **fresh; /* [n_out] that were made; owned until init succeeds */
    int64_t *shape_buffer, *out_shape_buffer; /* [DP_DIM_MAX] for shapes that are no operand's */
} dpi_iter_plan;
/* One dimension of n elements; room[1 + k] is operand k's stride, room[1 + it->n + k] is 0. */
static inline void dpi_iter_set_1d(dp_iter *it, int64_t n)
{
    it->ndim = 1;
    it->n_reduced = 0;
    it->n_each = 1;
    it->numel = n;
    it->room[0] = n;
    it->shape = it->room;
    it->strides = it->room + 1;
}
/* iter_types.c: sets device, memoryless and p->fake; dtype, own, seen, converts. */
int dpi_iter_devices(dpi_iter_plan *p, dp_error *err);
int dpi_iter_dtypes(dpi_iter_plan *p, dp_error *err);
/* iter_layout.c: makes the outputs; sets ndim, numel, shape, strides.  a: where they do not fit. */
int dpi_iter_lay_out(dpi_iter_plan *p, dp_arena *a, dp_error *err);
/* iter_run.c: elements that are converted at a time, and one such block: n0 * n1 of them at
 * most. */
int64_t dpi_iter_block(const dp_iter *it);
void dpi_iter_run_block(const dp_iter *it, char *const *data, const int64_t *strides, int64_t n0,
                        int64_t n1, dp_iter_loop2d loop, void *user);

#endif
