/* gather_scatter.h -- elements of a tensor that an index names along one dimension, and those of
 * another tensor at the index's own places: what gather, scatter, index_select, index_add and their
 * kin are made of. */
#ifndef CPU_ALONG_H
#define CPU_ALONG_H

#include "core/elements.h"

/* One call's indexing.  Borrows its tensors.  A 0-dim tensor counts as one of one dimension. */
typedef struct along {
    int ndim, dim;
    /* of what is moved: the index's, or with a vector of indices self's with their number in dim */
    int64_t shape[DP_DIM_MAX];
    int64_t steps[DP_DIM_MAX]; /* of the index over that shape */
    dp_tensor *self, *index;   /* index is of int64 */
    int64_t size;              /* of self in dim */
    bool checked;              /* no index is outside */
    int code;                  /* of the error when one is, */
    const char *what;          /* and how it begins */
} along;

/* index has as many dimensions as self. */
void along_each(along *a, dp_tensor *self, int64_t dim, dp_tensor *index);
/* index is a vector for dim, the same one everywhere. */
void along_vector(along *a, dp_tensor *self, int64_t dim, dp_tensor *index);
/* The index as int64, with negative ones counted from the end if `wrap`.  *out owned. */
int along_indices(dp_ctx *ctx, dp_tensor *index, int64_t size, bool wrap, dp_tensor **out);
/* a->code if an index is outside of [0, size), with the first in row-major order. */
int along_check(dp_ctx *ctx, along *a);

/* out at each place = self at its index.  out has a->shape.  As along_check(), if that was not
 * asked: then out has some of its elements. */
int along_get(dp_ctx *ctx, along *a, dp_tensor *out);

/* What is done to an element a of self with b of the source. */
typedef enum along_op {
    ALONG_SET,
    ALONG_ADD,
    ALONG_ADD_SCALED, /* a + alpha * b */
    ALONG_MUL,
    ALONG_MAX, /* not of complex numbers, nor is MIN; NaN wins */
    ALONG_MIN,
    ALONG_OPS
} along_op;

/* self at its index = op(that, src at each place), one after the other along dim, whatever the
 * number of threads.  src is of self's dtype and, apart from a 0-dim one, at least a->shape.
 * alpha: 0-dim, of self's dtype; for ADD_SCALED.  As along_check(), if that was not asked: then
 * self has some of it. */
int along_put(dp_ctx *ctx, along *a, along_op op, dp_tensor *src, dp_tensor *alpha);

/* -- results -- */

/* self's elements in *out, in whichever form that came: NULL is made, another one resized; self
 * stays as it is.  a's index is checked before anything is written to a tensor that was there,
 * which may share no memory with others [n].  Afterwards a->self is *out.  Refuses (dp_refuse) for
 * its caller. */
int along_start(dp_ctx *ctx, along *a, dp_tensor *const *others, int n, dp_tensor **out);
/* Hands on rc.  *out, if it was not given, goes when that is a failure. */
int along_end(int rc, bool given, dp_tensor **out);

/* What a `reduce` argument asks for. */
typedef struct along_reduce {
    along_op op;
    bool mean;      /* of what ADD gives: along_mean() */
    dp_value empty; /* of no elements */
} along_reduce;

/* sum, prod, mean, amax or amin; false: none of them. */
bool along_find_reduce(dp_str reduce, dp_dtype dtype, along_reduce *r);
/* Make `out`, to which `add` (index_add_ or scatter_add_) added src at `index` along dim, the means
 * of what it has at each place; without what self had there if `exclude_self`. */
int along_mean(dp_ctx *ctx, const char *add, dp_tensor *out, int64_t dim, dp_tensor *index,
               dp_tensor *src, bool exclude_self);
bool along_is(dp_str text, const char *word);

/* The three forms of an operator, by write_NAME(ctx, self, ..., &out): its result made, in place of
 * self, and out=. */
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
