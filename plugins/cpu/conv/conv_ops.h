/* conv_ops.h -- a convolution of tensors, for the operators that compute convolutions. */
#ifndef CPU_CONV_OPS_H
#define CPU_CONV_OPS_H

#include "conv_check.h"

typedef struct conv_args {
    dp_tensor *input, *weight, *bias; /* bias may be NULL */
    conv_lists lists;
    bool transposed;
    int64_t groups;
} conv_args;

/* the operator's name in error messages, and the dtypes that it takes (DENSE_BIT) */
typedef struct conv_served {
    const char *name;
    unsigned types;
} conv_served;

/* Run a convolution into *out; NULL: a new tensor is made, in the memory format that PyTorch would
 * choose.  `by`.name NULL: the operator is chosen from the arguments. */
int conv_run(dp_ctx *ctx, const conv_args *a, conv_served by, dp_tensor **out);

#endif
