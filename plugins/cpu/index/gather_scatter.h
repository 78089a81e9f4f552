/* gather_scatter.h -- loops over the elements of a tensor at the indices along one dimension, and
 * over the elements of a second tensor with the shape of the index: the base of gather, scatter,
 * index_select and index_add. */
#ifndef CPU_ALONG_H
#define CPU_ALONG_H

#include "core/elements.h"

/* The indexing of one call.  It borrows its tensors.  A 0-dim tensor is treated as a 1-dim
 * tensor. */
typedef struct along {
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
} along;

/* Set up an index with as many dimensions as self. */
void along_each(along *a, dp_tensor *self, int64_t dim, dp_tensor *index);
/* Set up a vector of indices along dim, the same one for all other dimensions. */
void along_vector(along *a, dp_tensor *self, int64_t dim, dp_tensor *index);
/* Convert the index to int64; `wrap`: negative indices are counted from the end.  *out owned. */
int along_indices(dp_ctx *ctx, dp_tensor *index, int64_t size, bool wrap, dp_tensor **out);
/* Check that all indices are in [0, size).  a->code: one is not; the message names the first one in
 * row-major order. */
int along_check(dp_ctx *ctx, along *a);

/* Set each element of `out`, which has a->shape, to the element of self at its index.  Errors:
 * those of along_check(), unless it was called before; then `out` is partly written. */
int along_get(dp_ctx *ctx, along *a, dp_tensor *out);

/* Operation on an element a of self and an element b of the source. */
typedef enum along_op {
    ALONG_SET,
    ALONG_ADD,
    ALONG_ADD_SCALED, /* a + alpha * b */
    ALONG_MUL,
    ALONG_MAX, /* not for complex numbers, like MIN; NaN wins */
    ALONG_MIN,
    ALONG_OPS
} along_op;

/* Set the element of self at each index to op(that element, element of src).  Elements along dim
 * are handled in order, for any number of threads.  `src` has self's dtype and at least a->shape,
 * or is 0-dim.  `alpha` is 0-dim, of self's dtype, for ADD_SCALED.  Errors: those of along_check(),
 * unless it was called before; then self is partly written. */
int along_put(dp_ctx *ctx, along *a, along_op op, dp_tensor *src, dp_tensor *alpha);

/* -- results -- */

/* Copy self to *out, where NULL means that a tensor is made and another tensor is resized; self
 * stays in place.  Before a given tensor is written, the index of `a` is checked, and the tensor
 * must not share memory with others [n].  Then a->self is *out.  Errors are reported with
 * dp_refuse(). */
int along_start(dp_ctx *ctx, along *a, dp_tensor *const *others, int n, dp_tensor **out);
/* Return `rc`; if it is an error and *out was not `given`, release *out. */
int along_end(int rc, bool given, dp_tensor **out);

/* operation of a `reduce` argument */
typedef struct along_reduce {
    along_op op;
    bool mean;      /* the sum is divided by along_mean() */
    dp_value empty; /* result for zero elements */
} along_reduce;

/* Find the operation of sum, prod, mean, amax or amin.  False: `reduce` is another word. */
bool along_find_reduce(dp_str reduce, dp_dtype dtype, along_reduce *r);
/* Divide `out`, to which `add` (index_add_ or scatter_add_) has added src at `index` along dim, by
 * the number of summands of each element; `exclude_self`: the old element of self is not a
 * summand. */
int along_mean(dp_ctx *ctx, const char *add, dp_tensor *out, int64_t dim, dp_tensor *index,
               dp_tensor *src, bool exclude_self);
bool along_is(dp_str text, const char *word);

/* Define the three variants of an operator, functional, in-place and out=, from write_NAME(ctx,
 * self, ..., &out). */
#define ALONG_ARGS(...) __VA_ARGS__
#define ALONG_FORMS(name, params, args)                                                            \
    static int name##_new(dp_ctx *ctx, dp_tensor *self, ALONG_ARGS params, dp_tensor **out)        \
    {                                                                                              \
        *out = NULL;                                                                               \
        return write_##name(ctx, self, ALONG_ARGS args, out);                                      \
    }                                                                                              \
    static int name##_in(dp_ctx *ctx, dp_tensor *self, ALONG_ARGS params)                          \
    {                                                                                              \
        return write_##name(ctx, self, ALONG_ARGS args, &self);                                    \
    }                                                                                              \
    static int name##_out(dp_ctx *ctx, dp_tensor *self, ALONG_ARGS params, dp_tensor *out)         \
    {                                                                                              \
        return write_##name(ctx, self, ALONG_ARGS args, &out);                                     \
    }

#endif
