/* gather_scatter.h -- reading and writing of a tensor's elements at given indices along one
 * dimension, for gather, scatter, index_select, index_add and similar operators. */
#ifndef CPU_GATHER_SCATTER_H
#define CPU_GATHER_SCATTER_H

#include "core/elements.h"

/* The indexing of one call.  It borrows its tensors.  A 0-dim tensor is treated as a 1-dim
 * tensor. */
typedef struct gs_call {
    int ndim, dim;
    /* shape of the elements that are read or written: the shape of the index or, for a vector of
     * indices, the shape of self with the vector's length in `dim` */
    int64_t shape[DP_DIM_MAX];
    int64_t steps[DP_DIM_MAX]; /* strides of the index, expanded to that shape */
    dp_tensor *self, *index;   /* the index is int64 */
    int64_t size;              /* size of self in dim */
    bool checked;              /* all indices have been checked */
    /* code of the error for an index out of range, and the first words of its message */
    int code;
    const char *what;
} gs_call;

/* Set up `a` for an index with as many dimensions as self, as in gather. */
void gs_init_each(gs_call *a, dp_tensor *self, int64_t dim, dp_tensor *index);
/* Set up `a` for a vector of indices along `dim`, as in index_select. */
void gs_init_vector(gs_call *a, dp_tensor *self, int64_t dim, dp_tensor *index);
/* Set *out, owned, to the index in int64.  `wrap`: negative indices, which count from the end, are
 * replaced by positive ones. */
int gs_indices(dp_ctx *ctx, dp_tensor *index, int64_t size, bool wrap, dp_tensor **out);
/* Check that all indices are in [0, size).  a->code: an index is out of range; the message names
 * the first such index in row-major order. */
int gs_check(dp_ctx *ctx, gs_call *a);

/* Set each element of `out`, which has a->shape, to the element of self at its index.  An index out
 * of range is an error, a->code, and leaves `out` partly written; callers that must avoid this call
 * gs_check() first. */
int gs_gather(dp_ctx *ctx, gs_call *a, dp_tensor *out);

/* operation on an element a of self and an element b of the source */
typedef enum gs_op {
    GS_SET,
    GS_ADD,
    GS_ADD_SCALED, /* a + alpha * b */
    GS_MUL,
    GS_MAX, /* GS_MAX and GS_MIN do not take complex numbers; NaN wins */
    GS_MIN,
    GS_OPS
} gs_op;

/* Set the element of self at each index to op(that element, element of src).  Along dim, elements
 * are written in order, for any number of threads.  `src` has self's dtype, and in each dimension
 * at least the size of a->shape, or is 0-dim.  `alpha` is a 0-dim tensor of self's dtype, for
 * GS_ADD_SCALED.  An index out of range is an error, a->code, and leaves self partly written;
 * callers that must avoid this call gs_check() first. */
int gs_scatter(dp_ctx *ctx, gs_call *a, gs_op op, dp_tensor *src, dp_tensor *alpha);

/* -- results -- */

/* Begin an operator whose result is self with some elements changed: copy self to *out, and set
 * a->self to *out.  *out NULL: it is set to a new tensor; *out self: nothing is copied; any other
 * *out is resized.  Before a given *out is written, the index is checked, and *out must not share
 * memory with others [n].  Errors are reported with dp_refuse(). */
int gs_start(dp_ctx *ctx, gs_call *a, dp_tensor *const *others, int n, dp_tensor **out);
/* Return `rc`; if it is an error and *out was not `given`, release *out. */
int gs_end(int rc, bool given, dp_tensor **out);

/* operation of a `reduce` argument */
typedef struct gs_reduce {
    gs_op op;
    bool mean;      /* the sum is divided by gs_mean() */
    dp_value empty; /* result for zero elements */
} gs_reduce;

/* Set *r to the operation that `reduce` names: sum, prod, mean, amax or amin.  False: `reduce` is
 * another word. */
bool gs_find_reduce(dp_str reduce, dp_dtype dtype, gs_reduce *r);
/* Divide `out`, to which `add` (index_add_ or scatter_add_) has added src at `index` along dim, by
 * the number of summands of each element; `exclude_self`: the old element of self is not a
 * summand. */
int gs_mean(dp_ctx *ctx, const char *add, dp_tensor *out, int64_t dim, dp_tensor *index,
            dp_tensor *src, bool exclude_self);
/* Test whether `text` is equal to `word`. */
bool gs_is(dp_str text, const char *word);

/* Define the functional, the in-place and the out= variant of an operator from its function
 * write_NAME(ctx, self, ..., &out). */
#define GS_ARGS(...) __VA_ARGS__
#define GS_VARIANTS(name, params, args)                                                            \
    static int name##_new(dp_ctx *ctx, dp_tensor *self, GS_ARGS params, dp_tensor **out)           \
    {                                                                                              \
        *out = NULL;                                                                               \
        return write_##name(ctx, self, GS_ARGS args, out);                                         \
    }                                                                                              \
    static int name##_in(dp_ctx *ctx, dp_tensor *self, GS_ARGS params)                             \
    {                                                                                              \
        return write_##name(ctx, self, GS_ARGS args, &self);                                       \
    }                                                                                              \
    static int name##_out(dp_ctx *ctx, dp_tensor *self, GS_ARGS params, dp_tensor *out)            \
    {                                                                                              \
        return write_##name(ctx, self, GS_ARGS args, &out);                                        \
    }

#endif
