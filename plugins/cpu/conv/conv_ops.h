/* conv_ops.h -- a convolution of tensors, for the operators that are one. */
#ifndef CPU_CONV_OPS_H
#define CPU_CONV_OPS_H

#include "conv_check.h"

typedef struct conv_args {
    dp_tensor *input, *weight, *bias; /* bias may be NULL */
    conv_lists lists;
    bool transposed;
    int64_t groups;
} conv_args;

/* Whose error it is, and the dtypes that are taken (DENSE_BIT). */
typedef struct conv_served {
    const char *name;
    unsigned types;
} conv_served;

/* *out NULL: made, in the format that PyTorch's has; else an out= argument.  by.name NULL: as the
 * arguments ask for. */
int conv_run(dp_ctx *ctx, const conv_args *a, conv_served by, dp_tensor **out);

#endif
