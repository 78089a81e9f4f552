/* matrix_norm.h -- norms of matrices, for operators that compute with them. */
#ifndef COMPOSITE_MATRIX_NORM_H
#define COMPOSITE_MATRIX_NORM_H

#include <dispatchd/plugin.h>

/* the order of a norm: a number, or "fro" or "nuc" */
typedef struct norm_order {
    double p;
    const char *name; /* NULL: the order is `p` */
} norm_order;

/* arguments of a norm, except its order */
typedef struct norm_args {
    dp_tensor *self;
    int64_t dims[2];
    bool keepdim;
    const int64_t *dtype;
} norm_args;

/* Compute aten::linalg_matrix_norm of n->self over dims [n_dims], which are wrapped and stored in
 * n->dims.  *out owned.  DP_ERUNTIME: n_dims is not 2. */
int matrix_norm(dp_ctx *ctx, norm_args *n, const norm_order *o, const int64_t *dims, size_t n_dims,
                dp_tensor **out);

#endif
