/* nest.h -- nested loops over host memory, and the plan from which an iterator is built. */
#ifndef DPI_NEST_H
#define DPI_NEST_H

#include "room.h"
#include <dispatchd/iter.h>

/* -- strided.c -- */
/* Nested loops over elements in host memory, one loop for each dimension.  Dimension 0 is the
 * innermost one. */
typedef struct dpi_nest {
    int n_ops, ndim; /* `ndim` is at least 1 */
    int64_t numel;
    int64_t *sizes;   /* [ndim] */
    int64_t *strides; /* [ndim][n_ops] bytes */
    char *data[DP_ITER_OPERANDS_MAX];
    /* number of leading operands that are outputs of a reduction.  Dimensions in which such an
     * operand has stride 0 are reduced, and are kept innermost. */
    int n_reduced;
} dpi_nest;
/* Sort the dimensions of `nest` by the operands' strides, the smallest stride innermost; a stride
 * of 0 does not count.  `linear`: keep the order, but move reduced dimensions inside.  `perm`
 * [ndim] receives the old index of each dimension.  Returns true if the order did not change. */
bool dpi_nest_order(dpi_nest *nest, int *perm, bool linear);
/* Merge neighbouring dimensions into one where each operand can visit both with one stride. */
void dpi_nest_coalesce(dpi_nest *nest);
/* Run `loop` over elements [begin, end), with one call for each row along dimension 0, or part of a
 * row at the ends. */
void dpi_nest_run(const dpi_nest *nest, int64_t begin, int64_t end, dp_iter_loop loop, void *user);

/* -- transpose.c: nests with two operands, made by copy.c: operand 0 is written, operand 1 is read
 * -- */
/* Return the dimension in which the operand that is read has its smallest stride above 0.  0: this
 * is dimension 0, the innermost dimension of the operand that is written. */
int dpi_nest_source_inner(const dpi_nest *nest);
/* Copy all elements, in tiles of dimension 0 and dimension `source_inner`, which is not 0.
 * `uncached`: write with stores that bypass the caches, for copies as large as dpi_goes_past()
 * says; then operand 0 must be contiguous along dimension 0. */
int dpi_copy_transposed(const dpi_nest *nest, int source_inner, dp_dtype to, dp_dtype from,
                        bool uncached, int threads, const dpi_stop *stop);

/* -- iter*.c: state that is needed only while an iterator is built -- */
typedef struct dpi_iter_plan {
    const dp_iter_config *c;
    dp_iter *it;
    bool fake;           /* the outputs become fake tensors */
    dp_account *account; /* account that is charged for new outputs */
    bool same_shape;     /* all operands that are not resized have the loop's shape */
    bool dtypes_differ;  /* `own` and `seen` differ for some operand */
    int ndim;
    const int64_t *shape; /* [ndim] shape of the loop, before dimensions are sorted and merged */
    int out_ndim;
    const int64_t *out_shape; /* [out_ndim] shape of the outputs */
    uint32_t resize;          /* bit k: output k has to be resized */
    /* [n] geometry of operand k; NULL: operand k is an output that will be allocated or resized */
    const dpi_geometry **geometry;
    dp_tensor **fresh; /* [n_out] new outputs, or NULL; owned until init succeeds */
    int64_t *shape_buffer, *out_shape_buffer; /* [DP_DIM_MAX] each */
} dpi_iter_plan;
/* Give the iterator one dimension of `n` elements.  The caller then sets the strides: it->room[1 +
 * k] to that of operand k, and it->room[1 + it->n + k] to 0, because loops of two dimensions read a
 * second stride, too. */
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
/* iter_types.c.  dpi_iter_devices() sets it->device, it->memoryless and p->fake.  dpi_iter_dtypes()
 * sets it->dtype, it->own, it->seen and it->converts. */
int dpi_iter_devices(dpi_iter_plan *p, dp_error *err);
int dpi_iter_dtypes(dpi_iter_plan *p, dp_error *err);
/* iter_layout.c.  Make the outputs and set ndim, numel, shape and strides of the iterator.  `a`:
 * memory for shape and strides if they do not fit into the iterator. */
int dpi_iter_lay_out(dpi_iter_plan *p, dp_arena *a, dp_error *err);
/* iter_run.c.  dpi_iter_block() gives the number of elements that are converted at a time.
 * dpi_iter_run_block() runs `loop` over one block of n0 * n1 elements, at most that number. */
int64_t dpi_iter_block(const dp_iter *it);
void dpi_iter_run_block(const dp_iter *it, char *const *data, const int64_t *strides, int64_t n0,
                        int64_t n1, dp_iter_loop2d loop, void *user);

#endif
