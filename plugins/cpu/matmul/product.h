/* product.h -- products of matrices and vectors, added to a tensor, for mm, bmm and addmv. */
#ifndef CPU_PRODUCT_H
#define CPU_PRODUCT_H

#include "core/dense.h"
#include "gemm.h"

/* dtypes of products: all except Half and Bool */
#define PRODUCT_DTYPES (DENSE_NUMBERS | DP_DTYPE_BITS(DP_DTYPES_COMPLEX))

/* out = beta * self + alpha * a * b, where `a` and `b` are matrices, batches of matrices, or a
 * matrix and a vector */
typedef struct product {
    dp_tensor *self, *a, *b; /* self NULL: alpha * a * b */
    dp_value beta, alpha;
    /* dtype of the result; `a` and `b` have it, too, unless an operand has no elements */
    dp_dtype dtype;
    int ndim;         /* number of dimensions of the result */
    int64_t sizes[3]; /* sizes of the result; the batch is first, if there is one */
    int64_t k;        /* number of summands of an element of the result */
} product;

/* Test whether the Scalar `v` is not 0. */
bool product_is_nonzero(dp_value v);
/* Check that `t` can be expanded to sizes [n]; the messages are those of at::expand. */
int product_check_expand(dp_ctx *ctx, const dp_tensor *t, int n, const int64_t *sizes);
/* Refuse internal overlap, as at::assert_no_internal_overlap does. */
int product_check_overlap(dp_ctx *ctx, const dp_tensor *t);
/* Check the dtypes of `a` and `b`, and that beta and alpha fit them, if the operands have elements.
 * `what` is the kernel that PyTorch names in its error. */
int product_check_types(dp_ctx *ctx, const product *p, const char *what);
/* Compute c = beta * c + alpha * a * b; `c` has memory and the result's shape. */
int product_multiply(dp_ctx *ctx, const product *p, dp_tensor *c);
/* Compute c = beta * c, or c = 0 if p->self is NULL, for all dtypes, if there are no products to
 * add. */
int product_scale(dp_ctx *ctx, const product *p, dp_tensor *c);
/* Make or resize *out, and compute the product into it.  The caller has checked shapes and dtypes
 * of `a` and `b`. */
int product_run(dp_ctx *ctx, product *p, dp_tensor **out);

/* Define the out= and the in-place variant of an operator from its function `name`, whose last
 * argument points to NULL, to the out= argument or to self. */
#define PRODUCT_FORMS(name)                                                                        \
    static int name##_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *a, dp_tensor *b, dp_value beta, \
                          dp_value alpha, dp_tensor *out)                                          \
    {                                                                                              \
        return name(ctx, self, a, b, beta, alpha, &out);                                           \
    }                                                                                              \
    static int name##_in_place(dp_ctx *ctx, dp_tensor *self, dp_tensor *a, dp_tensor *b,           \
                               dp_value beta, dp_value alpha)                                      \
    {                                                                                              \
        return name(ctx, self, a, b, beta, alpha, &self);                                          \
    }

#endif
