/* conv_ops.h -- a convolution of tensors, for the operators that compute convolutions. */
#ifndef CPU_CONV_OPS_H
#define CPU_CONV_OPS_H

#include "conv_check.h"

/* arguments of a call */
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

/* Run a convolution into *out; if that is NULL, set it to a new tensor in the memory format that
 * PyTorch would choose.  If by.name is NULL, choose the operator's name and dtypes from the
 * arguments, as at::convolution chooses the operator. */
int conv_run(dp_ctx *ctx, const conv_args *a, conv_served by, dp_tensor **out);

#endif
