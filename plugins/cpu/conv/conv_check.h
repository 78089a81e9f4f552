/* conv_check.h -- the arguments of a convolution, checked: PyTorch's order and messages
 * (aten/src/ATen/native/Convolution.cpp). */
#ifndef CPU_CONV_CHECK_H
#define CPU_CONV_CHECK_H

#include "conv.h"

/* The lists as they came: one value stands for one in each dimension of space. */
typedef struct conv_lists {
    const int64_t *stride, *padding, *dilation, *output_padding;
    size_t n_stride, n_padding, n_dilation, n_output_padding;
} conv_lists;

/* A convolution with checked arguments.  `s` is the correlation: of a transposed one x is the
 * output, and y the input. */
typedef struct conv_plan {
    conv_shape s;
    int dims;               /* of space */
    bool transposed, empty; /* empty: no samples or no channels */
    dp_dtype dtype;
    int64_t sizes[2 + CONV_SPACE]; /* of the output */
} conv_plan;

/* DP_ERUNTIME, as PyTorch refuses them.  bias may be NULL. */
int conv_check(dp_ctx *ctx, dp_tensor *input, dp_tensor *weight, dp_tensor *bias,
               const conv_lists *lists, bool transposed, int64_t groups, conv_plan *p);
/* The gradient of p's output; its sizes and dtype. */
int conv_check_grad(dp_ctx *ctx, dp_tensor *grad, const conv_plan *p);

/* The memory of t; of a weight the first dimension is that of output channels. */
conv_side conv_side_of(dp_tensor *t);

#endif
