/* gather_scatter.h -- loops over the elements of a tensor at the indices along one dimension, and
 * over the elements of a second tensor with the shape of the index: the base of gather, scatter,
 * index_select and index_add. */
#ifndef CPU_GATHER_SCATTER_H
#define CPU_GATHER_SCATTER_H

#include "core/elements.h"

/* The indexing of one call.  It borrows its tensors.  A 0-dim tensor is treated as a 1-dim
 * tensor. */
typedef struct gs_call {
    int ndim, dim;
    /* shape of the moved elements: that of the index, or, with a vector of indices, that of self
     * with the vector's length in dim */
    int64_t shape[DP_DIM_MAX];
    int64_t steps[DP_DIM_MAX]; /* strides of the index over that shape */
    dp_tensor *self, *index;   /* the index is int64 */
    int64_t size;              /* size of self in dim */
    bool checked;              /* all indices have been checked */
    /* code of the error for an index out of range, and the first words of its message */
    int code;
    const char *what;
} gs_call;

/* Set up an index with as many dimensions as self. */
void gs_init_each(gs_call *a, dp_tensor *self, int64_t dim, dp_tensor *index);
/* Set up a vector of indices along dim, the same one for all other dimensions. */
void gs_init_vector(gs_call *a, dp_tensor *self, int64_t dim, dp_tensor *index);
/* Convert the index to int64; `wrap`: negative indices are counted from the end.  *out owned. */
int gs_indices(dp_ctx *ctx, dp_tensor *index, int64_t size, bool wrap, dp_tensor **out);
/* Check that all indices are in [0, size).  a->code: one is not; the message names the first one in
 * row-major order. */
int gs_check(dp_ctx *ctx, gs_call *a);

/* Set each element of `out`, which has a->shape, to the element of self at its index.  Errors:
 * those of gs_check(), unless it was called before; then `out` is partly written. */
int gs_gather(dp_ctx *ctx, gs_call *a, dp_tensor *out);

/* Operation on an element a of self and an element b of the source. */
typedef enum gs_op {
    GS_SET,
    GS_ADD,
    GS_ADD_SCALED, /* a + alpha * b */
    GS_MUL,
    GS_MAX, /* not for complex numbers, like MIN; NaN wins */
    GS_MIN,
    GS_OPS
} gs_op;

/* Set the element of self at each index to op(that element, element of src).  Elements along dim
 * are handled in order, for any number of threads.  `src` has self's dtype and at least a->shape,
 * or is 0-dim.  `alpha` is 0-dim, of self's dtype, for ADD_SCALED.  Errors: those of gs_check(),
 * unless it was called before; then self is partly written. */
int gs_scatter(dp_ctx *ctx, gs_call *a, gs_op op, dp_tensor *src, dp_tensor *alpha);

/* -- results -- */

/* Copy self to *out, where NULL means that a tensor is made and another tensor is resized; self
 * stays in place.  Before a given tensor is written, the index of `a` is checked, and the tensor
 * must not share memory with others [n].  Then a->self is *out.  Errors are reported with
 * dp_refuse(). */
int gs_start(dp_ctx *ctx, gs_call *a, dp_tensor *const *others, int n, dp_tensor **out);
/* Return `rc`; if it is an error and *out was not `given`, release *out. */
int gs_end(int rc, bool given, dp_tensor **out);

/* operation of a `reduce` argument */
typedef struct gs_reduce {
    gs_op op;
    bool mean;      /* the sum is divided by gs_mean() */
    dp_value empty; /* result for zero elements */
} gs_reduce;

/* Find the operation of sum, prod, mean, amax or amin.  False: `reduce` is another word. */
bool gs_find_reduce(dp_str reduce, dp_dtype dtype, gs_reduce *r);
/* Divide `out`, to which `add` (index_add_ or scatter_add_) has added src at `index` along dim, by
 * the number of summands of each element; `exclude_self`: the old element of self is not a
 * summand. */
int gs_mean(dp_ctx *ctx, const char *add, dp_tensor *out, int64_t dim, dp_tensor *index,
            dp_tensor *src, bool exclude_self);
bool gs_is(dp_str text, const char *word);

/* Define the three variants of an operator, functional, in-place and out=, from write_NAME(ctx,
 * self, ..., &out). */
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
